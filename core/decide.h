/* SPDX-License-Identifier: Apache-2.0 */
/*
 * decide.h - the only code that decides. Walks an image; no allocation, no library,
 * no system call. Everything here is [AS-safe] [MT-safe] [no-alloc].
 *
 * Paths are canonical absolute byte strings ("/", "/a/b"), any bytes but NUL, no
 * trailing slash. A path that is not of that shape is denied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/image.h"

bool sbx_decide(const struct sbx_image *, enum sbx_op, const char *path, size_t len);

/* Index of the deciding rule in the image's rule table, or -1: the last that matches; of several
 * layers, that of the first which denies, else that of the main one. */
int sbx_attribute(const struct sbx_image *, enum sbx_op, const char *path, size_t len);

struct sbx_verdict {
	bool allowed;
	int rule;	     /* -1: none matched */
	const char *matched; /* rule text or sentinel; points into the image or static */
	const char *origin;  /* "builtin:default" when no rule matched; never empty */
};
/* Both at once, with texts. */
void sbx_explain(const struct sbx_image *, enum sbx_op, const char *path, size_t len,
		 struct sbx_verdict *out);

/* Fills in the texts of a rule (-1: none matched). Does not change `allowed`. */
void sbx_explain_rule(const struct sbx_image *, enum sbx_op, int rule, struct sbx_verdict *out);

enum sbx_subtree {
	SBX_SUBTREE_ALLOW, /* path and everything below it, existing or not, is allowed */
	SBX_SUBTREE_DENY,
	SBX_SUBTREE_MIXED
};
enum sbx_subtree sbx_subtree(const struct sbx_image *, enum sbx_op, const char *path, size_t len);

/*
 * True if the directory is clean: below it no rule can differ, by any spelling of a name. Every
 * object there, existing or not, may be read, modified and executed, and no socket may be connected
 * to. A change below or between clean directories changes no verdict, so that the kernel alone may
 * decide there (docs/adr/016). Every directory below a clean one is clean. The answer does not
 * cover the directory itself.
 */
bool sbx_clean_below(const struct sbx_image *, const char *path, size_t len);

/* States, for walks below a path (plans, moves). A state is valid for its image and op. */
uint32_t sbx_walk(const struct sbx_image *, enum sbx_op, const char *path, size_t len);
uint32_t sbx_step(const struct sbx_image *, enum sbx_op, uint32_t state, unsigned char byte);
unsigned sbx_state_flags(const struct sbx_image *, enum sbx_op, uint32_t state);

/*
 * May the object at `from` appear at `to` (rename or hard link)? Not when something that is denied
 * at or below `from` would be allowed at or below `to`, for any operation; nor, for modify, when
 * something allowed below `from` would land where it is denied (planting), nor, for read, the same
 * of what lies below a directory, the directory itself, and a hard link: a descriptor that is open,
 * or the old name, would read what is later written at the denied one. (A file that is renamed so
 * is made anew by the broker.) Connecting is asked of sockets, and of what lies below directories.
 * A file compares its own verdicts; a directory compares the automata's states by a product walk of
 * at most SBX_MOVE_BUDGET pairs: out of budget = refused. *out_op (may be NULL) names the operation
 * that objects. Modify permission on both ends is asked separately.
 */
#define SBX_MOVE_BUDGET	 512
#define SBX_MOVES_DIR	 1u /* it is a directory */
#define SBX_MOVES_SOCKET 2u /* it is a socket, which the host may have made */
#define SBX_MOVES_KEPT	 4u /* the old name stays */
bool sbx_move_allowed(const struct sbx_image *, const char *from, size_t from_len, const char *to,
		      size_t to_len, unsigned what, enum sbx_op *out_op);
/* The same without 4 KiB of stack: `room` holds the pairs. It is not used for files. */
#define SBX_MOVE_ROOM (SBX_MOVE_BUDGET * 8 + 8)
struct sbx_move_ends {
	const char *from;
	size_t from_len;
	const char *to;
	size_t to_len;
};
bool sbx_move_allowed_in(void *room, const struct sbx_image *, const struct sbx_move_ends *,
			 unsigned what, enum sbx_op *out_op);
/* A cheap test for any kind of object. True: allowed. False: use the call above. */
bool sbx_move_free(const struct sbx_image *, const char *from, size_t from_len, const char *to,
		   size_t to_len);

/*
 * The same for who looks at what really lies below a moved directory, name by name: `from` and
 * `to` are the states of one name at the old and at the new place. May this name move along?
 * And, by states after its slash, whatever lies beneath it, existing or not? Out of budget: no.
 */
bool sbx_move_name(const struct sbx_image *, enum sbx_op, uint32_t from, uint32_t to);
bool sbx_move_beneath(const struct sbx_image *, enum sbx_op, uint32_t from, uint32_t to);

/*
 * True if a symlink at `link` may lead to `target`. It may not if some object may be modified below
 * the target but not below the link's name: a program that follows the link takes one for the other
 * (`.git` -> `evil`, whose hooks are not protected). It may not if the target may be read and the
 * link may not, nor if that is so for names below them where the command can make anything: the
 * host would write denied data to a place that may be read. A name below which more is denied than
 * below others beside it (`.git`) leads to no place that only others can fill: another run may. It
 * uses the budget above.
 */
bool sbx_link_allowed(const struct sbx_image *, const char *link, size_t link_len,
		      const char *target, size_t target_len);
/* The part of it that concerns what is a file for good: may it be read by the link's name if it may
 * be read by its own? */
bool sbx_link_reads(const struct sbx_image *, const char *link, size_t link_len, const char *target,
		    size_t target_len);
/* Cheaper: true = allowed wherever it leads. */
bool sbx_link_free(const struct sbx_image *, const char *link, size_t len);
