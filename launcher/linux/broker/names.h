/* SPDX-License-Identifier: Apache-2.0 */
/* names.h - names that are more than a place: of links (links.c), and those that keep what they are
 * (kept.c). */
#pragma once

#include "launcher/linux/broker/broker.h"

/* ---- links.c ---- */

/* May a symlink be at this end that leads to `target`, a text that is relative to its parent? */
bool br_may_lead(struct br_call *, const struct br_end *, const char *target);
/* The same by the texts alone: `link` is canonical. */
bool br_text_may_lead(struct br_call *, const char *link, size_t len, const char *target);
/* When `from` is a symlink: may it be at `to`? */
bool br_may_lead_from(struct br_call *, const struct br_end *from, const struct br_end *to);

/* ---- leads.c ---- */

/* By the text alone, as leads.c says, for a link that is not free to lead anywhere. */
bool br_text_leads(const struct br_call *, const char *link, size_t len, const char *target);

/* ---- kept.c ---- */

/* Is the name granted for itself, and no other beside it? After br_find_parent(). */
bool br_is_grant_root(struct br_call *, const struct br_end *);
/* Is it a name that is not made, removed or moved: one in /dev, or of a file outside that is
 * standard output? After br_find_parent(). */
bool br_is_kept_name(const struct br_call *, const struct br_end *);
/* Is it such a file? */
bool br_is_stream(const struct br_call *, const struct br_end *);
/* Does somebody outside stand in it, or below it? It does not move. */
bool br_is_stood_in(const struct br_call *, const struct br_end *);
/* Refused, unless the kernel would have refused anyway. */
struct br_answer br_deny_root(struct br_call *, const struct br_end *, int kernel_says);
/* The same for another reason: SBX_EVF_ROOT, SBX_EVF_STOOD_IN or SBX_EVF_GIT_LINK. */
struct br_answer br_deny_name(struct br_call *, const struct br_end *, unsigned why,
			      int kernel_says);

/* ---- kept.c ---- */

/* Is it in /dev, by whatever name, where no name is made, removed or moved? After
 * br_find_parent(). */
bool br_is_device_name(const struct br_call *, const struct br_end *);
/* A device outside of /dev that no rule names, and that is none of those without state? */
bool br_is_stray_device(const struct br_call *, const struct br_end *, const struct stat *);
/* b->dev_fs */
void br_find_dev(struct br_broker *);

/* ---- links.c ---- */

/* Does the name lie where the host's git writes, in a git directory that the policy protects? No
 * symlink comes to be there. After br_find_parent(). */
bool br_is_gits_name(struct br_call *, const char *path, size_t len);
/* Refused, unless the kernel would have refused anyway. */
struct br_answer br_deny_git_link(struct br_call *, const struct br_end *, int kernel_says);

/* ---- kept.c ---- */

/* Notes the terminals that are there before the command runs. */
void br_find_terminals(const struct lau_broker_plan *);
/* Is it a terminal that was there before, or is another user's? Of an end with `st`. */
bool br_is_host_terminal(const struct br_call *, const struct br_end *);

/* ---- clean.c ---- */

/* May files and directories beside this end's name, and at it, change without the broker? After
 * br_find_parent(). */
bool br_changes_alone(struct br_call *, const struct br_end *);
/* Must what is at `from` not come to be at `to`, although the rules would let it? Where the kernel
 * decides alone it may be swapped while the broker looks; and a directory may be, or hold, one that
 * Landlock grants, or that is filled meanwhile. The caller is told EXDEV, and copies. */
bool br_stays(struct br_call *, const struct br_end *from, const struct br_end *to, bool is_dir);
