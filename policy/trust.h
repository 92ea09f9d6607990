/*
 * trust.h - which project files the user lets say more than the policy says.
 *
 * A file is trusted by its path and its content: a change ends it. The list is a file of the
 * user's configuration, one `SHA-256  PATH` a line, which no command of ours may change.
 */
#pragma once

#include <stddef.h>

#include "base/sha256.h"

struct b_err;
struct b_str;

enum pol_trust { POL_UNTRUSTED, POL_TRUST_CHANGED, POL_TRUSTED };

/* `config` from pol_config_dir(), NULL = none; `path` canonical. A list that cannot be read, or
 * that others could have written, trusts nothing. */
enum pol_trust pol_trust_of(const char *config, const char *path, const char hash[B_SHA256_HEX]);
/* Trusts the file as it is now; hash NULL: no longer. */
int pol_trust_set(const char *config, const char *path, const char *hash, struct b_err *err);
/* The list as it stands. */
void pol_trust_list(const char *config, struct b_str *out);
