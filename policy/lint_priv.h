/* lint_priv.h - the parts of lint that ask this host. Private to policy/lint*.c. */
#pragma once

#include "policy/lint.h"

/* lint_names.c: names beside what a rule denies that differ in case or form alone. `ws` is the
 * workspace, "" = the root directory. */
void pol_lint_names(struct pol_lint *, const struct pol_engine *, const char *ws);
