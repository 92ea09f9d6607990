/* load.h - reads policy files, checked for who can have written them: what is checked is what is
 * read, as one descriptor serves both. Never blocks on a FIFO. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_err;
struct b_str;

/* Appends the file to *out. B_POLICY, naming the file and the remedy: not a regular file, larger
 * than POL_MAX_FILE, writable by group or others, owned by a user who is neither root nor the
 * caller, unreadable, missing. */
int pol_policy_read(const char *path, struct b_str *out, struct b_err *err);
/* The same with another limit of bytes. */
int pol_trusted_read(const char *path, size_t limit, struct b_str *out, struct b_err *err);
/* The host's: root's, and so is the directory it lies in. *out_there false: there is none. */
int pol_managed_read(const char *path, struct b_str *out, bool *out_there, struct b_err *err);
/* A project's: anybody may have written it, so it may only tighten. No symlink. */
int pol_project_read(const char *path, struct b_str *out, bool *out_there, struct b_err *err);
