/* summary.h - one run on one screen: what `sbx-audit` prints without a command word. */
#pragma once

#include <stdbool.h>

struct aud_run;
struct b_err;
struct b_str;

/* Reads the whole log. Lines that are no events are counted and named, not fatal. -1 only when
 * the log cannot be read. */
int aud_summary(const struct aud_run *, bool colour, struct b_str *out, struct b_err *err);
