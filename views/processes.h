/* SPDX-License-Identifier: Apache-2.0 */
/* processes.h - the images that began in a run, gathered from its log: for the tree, the trace and
 * the page. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aud_entry;
struct b_str;

enum { VIEW_TS = 40 }; /* a time of a line, and more than that */

struct view_image {
	int64_t seq; /* of the line that started it */
	int64_t pid, ppid;
	size_t parent;	    /* index; SIZE_MAX = nobody that is known */
	size_t child, next; /* first child, next sibling: index + 1, 0 = none */
	char *path, *argv;  /* argv: as a LIST; "" = not told */
	char *cwd;	    /* where it began; "" = not told */
	char *started;
	char ended[VIEW_TS]; /* of its last word, or its exit */
	uint64_t events, changed, denied;
	int64_t status, signal;
	bool has_exit, has_status, is_unwitnessed;
	bool is_claimed;  /* its path, words and directory are a program's own word */
	bool is_replaced; /* by another image, in the same process */
};

struct view_images {
	struct view_image *v;
	size_t n, cap;
	struct view_latest *latest; /* uthash: of each pid the image it is now */
	struct view_latest *by_seq;
	int64_t last_proc; /* of the event before: most are of the same image */
	size_t last_at;
	char *cwd; /* of the run; NULL = not told */
};

void view_images_add(struct view_images *, const struct aud_entry *);
/* Links parents and children; after the last event. */
void view_images_link(struct view_images *);
void view_images_release(struct view_images *);
/* The words of the image for a shell, on one line; its path when they were not told. */
void view_image_command(const struct view_image *, struct b_str *out);
