/* load.h - reads a policy file that nobody but its user or root can have written. */
#pragma once

#include <stddef.h>

struct b_err;
struct b_str;

/* Appends the file to *out. B_POLICY, naming the file and the remedy: not a regular file (never
 * blocks on a FIFO), larger than POL_MAX_FILE, writable by group or others, owned by a user who
 * is neither root nor the caller, unreadable, missing. What is checked is what is read: one
 * descriptor serves both. */
int pol_policy_read(const char *path, struct b_str *out, struct b_err *err);
/* The same with another limit of bytes. */
int pol_trusted_read(const char *path, size_t limit, struct b_str *out, struct b_err *err);
