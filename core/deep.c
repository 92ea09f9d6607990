/* SPDX-License-Identifier: Apache-2.0 */
/* deep.c - see deep.h. */
#include "core/deep.h"

#include <errno.h>
#include <string.h>

#include "core/decide.h"
#include "core/event.h"

/* struct linux_dirent64: ino, off, reclen, type, name. */
enum { ENTRY_RECLEN = 16, ENTRY_TYPE = 18, ENTRY_NAME = 19, TYPE_DIR = 4 };
/* Room for entries: what the kernel needs for the longest name, and what is worth asking for. */
enum { ENTRIES_LEAST = 512, ENTRIES_MOST = 16384 };

struct climb {
	const struct sbx_deep_sys *sys;
	char *room;
	size_t pos;    /* the known end of the path begins here; the room before it is free */
	unsigned left; /* of SBX_DEEP_WORK */
};

enum { ASKED_WORK = 8 };

/* The other callers wait while the broker searches, so that a program that keeps creating entries
 * must not prolong it. */
static bool charge(struct climb *c, unsigned n)
{
	c->left = c->left > n ? c->left - n : 0;
	return c->left > 0;
}

/* An unknown inode number or mount is not compared. */
static bool is_same(const struct sbx_deep_id *a, const struct sbx_deep_id *b)
{
	return a->ino == b->ino && a->dev == b->dev &&
	       (a->mount == b->mount || !a->mount || !b->mount);
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (!name[1] || (name[1] == '.' && !name[2]));
}

/* Whether the entry is the directory. The listed inode number is cheap, but it is the covered
 * directory's under a mount, and may be any on a stacked file system: the second pass asks for each
 * directory. */
static bool is_entry(const struct climb *c, int up, const char *entry, const struct sbx_deep_id *id,
		     bool by_number)
{
	unsigned char type = (unsigned char)entry[ENTRY_TYPE];
	struct sbx_deep_id found;
	uint64_t ino;

	memcpy(&ino, entry, sizeof ino);
	if (is_dots(entry + ENTRY_NAME) || (by_number && ino != id->ino))
		return false;
	if (!by_number && type && type != TYPE_DIR)
		return false;
	return c->sys->identify(up, entry + ENTRY_NAME, &found) == 0 && is_same(&found, id);
}

/* 1: *out_name is the name, written before the known part; 0: not found; or -errno. */
static long look(struct climb *c, int up, const struct sbx_deep_id *id, bool by_number,
		 const char **out_name)
{
	size_t size = c->pos < ENTRIES_MOST ? c->pos : ENTRIES_MOST;
	int list = c->sys->list(up);
	long n, found = 0;

	if (list < 0)
		return list;
	while (!found && (n = c->sys->entries(list, c->room, size)) != 0) {
		uint16_t reclen;
		size_t at;

		if (n < 0)
			found = n;
		for (at = 0; n > 0 && !found && at + ENTRY_NAME < (size_t)n; at += reclen) {
			memcpy(&reclen, c->room + at + ENTRY_RECLEN, sizeof reclen);
			if (!reclen)
				break;
			if (!charge(c, by_number ? 1 : ASKED_WORK)) {
				found = -EACCES;
				break;
			}
			if (!is_entry(c, up, c->room + at, id, by_number))
				continue;
			*out_name = c->room + at + ENTRY_NAME;
			found = 1;
		}
	}
	c->sys->close(list);
	return found;
}

/* "/name" of `dir`, whose parent is `up`, in front of what is found. */
static long take_name(struct climb *c, int dir, int up)
{
	struct sbx_deep_id here, above;
	const char *name = NULL;
	long rc = c->sys->identify(dir, "", &here);
	size_t n;

	if (rc == 0)
		rc = c->sys->identify(up, "", &above);
	if (rc < 0)
		return rc;
	if (is_same(&here, &above))
		return -EXDEV; /* a root, and the kernel has no name for it */
	if (c->pos < ENTRIES_LEAST)
		return -ENAMETOOLONG;
	if (here.dev == above.dev && here.mount == above.mount)
		rc = look(c, up, &here, true, &name);
	/* the caller does not search for a directory without a name (some file systems report no
	 * links for any) */
	if (rc == 0 && !here.is_gone)
		rc = look(c, up, &here, false, &name);
	if (rc <= 0)
		return rc ? rc : -ENOENT;
	n = strlen(name);
	if (n + 1 >= c->pos)
		return -ENAMETOOLONG;
	c->pos -= n + 1;
	memmove(c->room + c->pos + 1, name, n);
	c->room[c->pos] = '/';
	return 0;
}

/* The rest is `n` bytes of the kernel's at the beginning of the room. */
static long join(struct climb *c, size_t n)
{
	size_t tail = SBX_DEEP_ROOM - 1 - c->pos;

	if (c->room[0] != '/')
		return -EXDEV;
	if (n == 1 && tail)
		n = 0;
	if (n + tail > SBX_DEEP_MAX || n >= c->pos)
		return -ENAMETOOLONG;
	memmove(c->room + n, c->room + c->pos, tail + 1);
	return (long)(n + tail);
}

/* ---- what is kept ---- */

/* PATH_MAX with the NUL; the name behind the last slash of a piece begins the next one. */
enum { PIECE = 4096 };

/* Goes along a path of `len` bytes, in pieces that the kernel takes: is it `id`? */
static bool leads_to(const struct climb *c, const char *path, size_t len,
		     const struct sbx_deep_id *id)
{
	struct sbx_deep_id found;
	size_t done = 0;
	int at = -1;
	bool is_it;

	while (done < len) {
		size_t n = len - done;
		int next;

		if (n >= PIECE)
			for (n = PIECE - 1; n && path[done + n] != '/';)
				n--;
		memcpy(c->room, path + done, n);
		c->room[n] = '\0';
		next = n ? c->sys->down(at, c->room) : -EINVAL;
		if (at >= 0)
			c->sys->close(at);
		if (next < 0)
			return false;
		at = next;
		done += n + (done + n < len); /* the slash */
	}
	is_it = at >= 0 && c->sys->identify(at, "", &found) == 0 && is_same(&found, id);
	if (at >= 0)
		c->sys->close(at);
	return is_it;
}

/* Length of the cached path that leads to the directory, 0: none. `level` counts from where the
 * search began. A program that goes up, or on to a sibling, asks for the parent of the last one. */
static size_t recall(const struct climb *c, const struct sbx_deep_memo *memo, int here, int level)
{
	struct sbx_deep_id id;
	size_t len;

	if (!memo || !memo->len || c->pos < PIECE || c->sys->identify(here, "", &id) < 0)
		return 0;
	len = memo->len;
	if (!is_same(&id, &memo->id)) {
		while (len && memo->text[len - 1] != '/')
			len--;
		len = level < 2 && len ? len - 1 : 0;
	}
	return len && leads_to(c, memo->text, len, &id) ? len : 0;
}

static void keep(const struct climb *c, struct sbx_deep_memo *memo, int dir, long len)
{
	if (!memo || len <= 0)
		return;
	memo->len = c->sys->identify(dir, "", &memo->id) == 0 ? (size_t)len : 0;
	memcpy(memo->text, c->room, memo->len);
}

/* ---- */

/* The kernel's text of the first directory above that has one, or what is kept of one below it,
 * at the beginning of the room: its length, or -errno. */
static long climb(struct climb *c, int dir, const struct sbx_deep_memo *memo)
{
	int here = dir, level;
	long n;

	for (level = 0;; level++) {
		int up;

		n = c->sys->text(here, c->room, c->pos);
		if (n != -ENAMETOOLONG)
			break;
		n = (long)recall(c, memo, here, level);
		if (n) {
			if ((size_t)n < c->pos)
				memcpy(c->room, memo->text, (size_t)n);
			break;
		}
		up = c->sys->up(here);
		n = up < 0 ? up : take_name(c, here, up);
		if (here != dir)
			c->sys->close(here);
		here = up;
		if (n < 0)
			break;
	}
	if (here != dir && here >= 0)
		c->sys->close(here);
	return n;
}

long sbx_deep_text(const struct sbx_deep_sys *sys, int dir, char *room, struct sbx_deep_memo *memo)
{
	struct climb c = {
		.sys = sys, .room = room, .pos = SBX_DEEP_ROOM - 1, .left = SBX_DEEP_WORK};
	long n;

	room[c.pos] = '\0';
	n = climb(&c, dir, memo);
	if (n <= 0)
		return n ? n : -EXDEV;
	n = join(&c, (size_t)n);
	keep(&c, memo, dir, n);
	return n;
}

bool sbx_deep_append(char *room, size_t *len, const char *name, size_t n)
{
	size_t at = *len == 1 ? 0 : *len;

	if (n > SBX_DEEP_MAX || at + 1 + n > SBX_DEEP_MAX)
		return false;
	room[at] = '/';
	memcpy(room + at + 1, name, n);
	*len = at + 1 + n;
	room[*len] = '\0';
	return true;
}

uint32_t sbx_deep_rule(const struct sbx_image *img, const struct sbx_event *ev, const char *path,
		       size_t len, const char *path2, size_t len2)
{
	bool is_move = ev->flags & SBX_EVF_MOVE && !(ev->flags & SBX_EVF_ALLOWED);
	enum sbx_op op = (enum sbx_op)(is_move ? ev->aux : ev->op);

	if (len2 &&
	    (ev->flags & SBX_EVF_PATH2_DENIED || (is_move && sbx_decide(img, op, path, len))))
		return (uint32_t)(sbx_attribute(img, op, path2, len2) + 1);
	return (uint32_t)(sbx_attribute(img, op, path, len) + 1);
}
