/* SPDX-License-Identifier: Apache-2.0 */
/* path.h - lexical paths for code that runs inside other people's processes.
 * [AS-safe] [MT-safe] [no-alloc] */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SBX_PATH_MAX 4096 /* PATH_MAX of Linux, NUL included */

#define SBX_PATH_DOTDOT	  0x1u /* had "..": lexical text may differ from the kernel's meaning */
#define SBX_PATH_TRAILING 0x2u /* ended in '/' or "/.": must be a directory */
#define SBX_PATH_MAGIC	  0x4u /* starts with /proc, /dev/fd, /dev/std*: magic links possible */

/*
 * Joins `path` to the absolute `cwd` unless it is absolute itself, drops "." and empty
 * components, folds ".." lexically, and writes the result NUL-terminated to buf.
 * Returns its length (>= 1; "/" is the root) or 0 when it does not fit in `size`, is
 * empty, or cwd was needed and is unknown (cwd_len 0). *out_flags gets SBX_PATH_*.
 */
size_t sbx_path_join(char *buf, size_t size, const char *cwd, size_t cwd_len, const char *path,
		     unsigned *out_flags);

/* Did `asked`, as a program gave it, lead to the canonical `path` in another way than by its own
 * names: through a symlink, or ".."? */
bool sbx_path_is_led(const char *asked, const char *path, size_t len);

/* Is `path` equal to `dir` or below it? Both canonical. */
bool sbx_path_under(const char *path, size_t path_len, const char *dir, size_t dir_len);

/* Length of the parent of a canonical path ("/a/b" -> 2, "/a" -> 1, "/" -> 1). */
size_t sbx_path_parent(const char *path, size_t len);
