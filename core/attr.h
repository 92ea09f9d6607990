/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attr.h - which extended attributes are a file's content, and which belong to its metadata.
 *
 * The kernel asks for leave to read before it shows user.* (and for more before trusted.*). It
 * shows the names of all attributes, and the values of security.* (labels, capabilities) and
 * system.* (access lists), to a process that may see the file's mode: these are as free as stat(2).
 * xattr_permission() in fs/xattr.c.
 */
#pragma once

#include <stdbool.h>

static inline bool sbx_attr_begins(const char *name, const char *prefix)
{
	while (*prefix && *name == *prefix)
		name++, prefix++;
	return !*prefix;
}

static inline bool sbx_attr_is_free(const char *name)
{
	return sbx_attr_begins(name, "security.") || sbx_attr_begins(name, "system.");
}
