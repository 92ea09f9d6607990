/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops.h - the names a sandbox profile may use: operations and their parents, values of filters,
 * filters. Facts of macOS 10.15 to 14.4; a name that is not here is `unbound variable`, which is
 * what sandbox-exec says.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define SBPL_OP_NONE (-1)

/* Index of an operation (aliases resolved), or SBPL_OP_NONE. */
int sbpl_op_find(const char *name);
const char *sbpl_op_name(int op);
/* What is asked when no rule names `op`; SBPL_OP_NONE above `default`. */
int sbpl_op_parent(int op);
/* Allowed under (version 1) (deny default) unless a rule names it or a parent below default. */
bool sbpl_op_is_open(int op);
size_t sbpl_op_count(void);

enum sbpl_vnode {
	SBPL_V_ANY, /* in a question: not known; matches no vnode-type filter */
	SBPL_V_REGULAR_FILE,
	SBPL_V_DIRECTORY,
	SBPL_V_BLOCK_DEVICE,
	SBPL_V_CHARACTER_DEVICE,
	SBPL_V_SYMLINK,
	SBPL_V_SOCKET,
	SBPL_V_FIFO,
	SBPL_V_TTY
};
/* SBPL_V_ANY: no such type. */
enum sbpl_vnode sbpl_vnode_find(const char *name);

/* What a filter's arguments must be. The last three never match a path. */
enum sbpl_filter_kind {
	SBPL_F_NONE, /* no such filter */
	SBPL_F_LITERAL,
	SBPL_F_SUBPATH,
	SBPL_F_PREFIX,
	SBPL_F_REGEX,
	SBPL_F_VNODE,
	SBPL_F_ALL,
	SBPL_F_ANY,
	SBPL_F_NOT,
	SBPL_F_ADDRESS, /* local, remote: a protocol and "host:port" */
	SBPL_F_STRINGS, /* about a name that is no path */
	SBPL_F_VALUES	/* numbers and words */
};
enum sbpl_filter_kind sbpl_filter_find(const char *name);
/* A word that stands for itself as an argument of a filter: ip, self, SOCK_STREAM ... */
bool sbpl_is_word(const char *name);
/* A name that may stand in (with NAME). */
bool sbpl_is_modifier(const char *name);
