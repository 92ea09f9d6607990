/* SPDX-License-Identifier: Apache-2.0 */
/* open_priv.h - what open.c (which opens) and ask_open.c (which only judges) share. */
#pragma once

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/image.h"

struct shim_judged {
	bool allowed;
	enum sbx_op op; /* that decided, or that the event names */
	uint64_t key;
};

struct shim_open {
	unsigned call;
	int dirfd;
	const char *path;
	int flags;
	mode_t mode;
	char *buf;
	size_t len; /* of the path of what was opened; 0 = not known */
};

struct shim_judged shim_open_judge(int flags, bool is_new, const char *path, size_t len);
/* A denial stands behind what the kernel would have said. */
int shim_open_deny(const struct shim_open *, const struct shim_judged *, int kernel_says);

/* The parent of a name that does not exist yet, held and read back; `name` points into the
 * path. -errno: the kernel's answer for such a path. SHIM_NO_TEXT: the parent has none, or the name
 * does not fit behind it. */
#define SHIM_NO_TEXT (-1000)
int shim_open_parent(struct shim_open *, int at, const char *path, const char **name);

static inline bool shim_is_own_limit(int err)
{
	return err == -EMFILE || err == -ENFILE;
}
