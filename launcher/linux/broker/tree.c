/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - what lies below a directory that is to be moved, where the automata alone cannot say
 * that every name may be there.
 *
 * Called with the lock of moves held alone: no broker of this user makes or moves anything
 * meanwhile. The second look (after.c) sees acts of another user's runs and of the host.
 * Directories are opened below the moved one, symlinks are names like others. Only those are
 * read below which some name would be judged otherwise at the new place.
 */
#include "launcher/linux/broker/broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/linux/broker/compare.h"
#include "launcher/linux/broker/names.h"

#define BUDGET	     50000u /* names: some 50 ms */
#define BENEATH_COST 50u    /* what comparing two automata costs, in names, */
#define DIR_COST     4u	    /* opening a directory, */
#define LINK_COST    16u    /* looking where a link leads, */
#define LONG_NAME    32u    /* so many bytes of a name */
#define MEMO	     64u

/* States at the old and at the new place. */
struct pair {
	uint32_t from, to;
};

/* The states of a directory in one image. */
struct track {
	struct pair at[SBX_OP_COUNT]; /* after its slash */
	bool is_open[SBX_OP_COUNT];   /* the operation is not settled below it */
};

/* A directory that is still to be read. */
struct spot {
	struct spot *next;
	struct track *by; /* of each image */
	size_t len;
	char *rel; /* below the moved directory, "" = that one */
};

/* What was found of the pairs of one image. */
struct memo {
	struct {
		struct pair at;
		bool is_known, moves;
	} v[SBX_OP_COUNT][MEMO];
};

struct look {
	struct br_call *c;
	const struct br_end *to;
	size_t nimages;
	int root;
	unsigned left; /* of the budget */
	bool is_without_links;
	struct spot *todo;
	struct br_tree *out;
	struct memo *memo; /* of each image */
};

static struct spot *new_spot(const struct look *l, size_t len)
{
	struct spot *s = b_calloc(1, sizeof *s + l->nimages * sizeof *s->by + len + 1);

	s->by = (void *)(s + 1);
	s->rel = (char *)(s->by + l->nimages);
	s->len = len;
	return s;
}

static uint32_t walk_on(struct br_image i, enum sbx_op op, uint32_t state, const char *name)
{
	for (; *name; name++)
		state = sbx_step(i.img, op, state, (unsigned char)*name);
	return state;
}

static bool charge(struct look *l, unsigned n)
{
	l->left = l->left > n ? l->left - n : 0;
	return l->left > 0;
}

static bool beneath_moves(struct look *l, struct br_image i, enum sbx_op op, struct pair at)
{
	unsigned slot = (at.from * 31u + at.to) % MEMO;
	struct memo *memo = &l->memo[i.number];

	if (at.from == at.to)
		return true;
	if (!memo->v[op][slot].is_known || memcmp(&memo->v[op][slot].at, &at, sizeof at) != 0) {
		charge(l, BENEATH_COST);
		memo->v[op][slot].at = at;
		memo->v[op][slot].is_known = true;
		memo->v[op][slot].moves = sbx_move_beneath(i.img, op, at.from, at.to);
	}
	return memo->v[op][slot].moves;
}

static enum br_tree_answer end_with(struct look *l, enum br_tree_answer a, enum sbx_op op,
				    const struct spot *dir, const char *name)
{
	size_t n = strlen(name);

	l->out->against = op;
	l->out->len = 0;
	if (a != BR_TREE_REFUSED || dir->len + n + 2 > sizeof l->out->name)
		return a;
	memcpy(l->out->name, dir->rel, dir->len);
	if (dir->len)
		l->out->name[l->out->len = dir->len] = '/';
	l->out->len += dir->len > 0;
	memcpy(l->out->name + l->out->len, name, n + 1);
	l->out->len += n;
	return a;
}

/* Some operation that is open below the directory, to be named. */
static enum sbx_op open_op(const struct look *l, const struct spot *dir)
{
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t n = 0; n < l->nimages; n++)
			if (dir->by[n].is_open[op])
				return (enum sbx_op)op;
	return SBX_READ;
}

/* A directory below `dir`, with its states in the images. */
static void push(struct look *l, struct spot *below, const struct spot *dir, const char *name)
{
	memcpy(below->rel, dir->rel, dir->len);
	if (dir->len)
		below->rel[dir->len] = '/';
	strcpy(below->rel + dir->len + (dir->len > 0), name);
	below->next = l->todo;
	l->todo = below;
}

/* Connecting is asked of sockets alone, and only of those that the host may have made. */
static bool is_asked(enum sbx_op op, int fd, const char *name, mode_t type)
{
	struct stat st;

	return op != SBX_CONNECT ||
	       (type == S_IFSOCK &&
		(fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !br_made_socket(&st)));
}

/* The symlink, at its new place. */
static bool may_lead(struct look *l, const struct spot *dir, int fd, const char *name)
{
	b_auto_free char *link = b_malloc(SBX_DEEP_ROOM);
	char target[PATH_MAX];
	ssize_t n = readlinkat(fd, name, target, sizeof target - 1);
	int len = snprintf(link, SBX_DEEP_ROOM, "%s/%s%s%s", l->to->path, dir->rel,
			   dir->len ? "/" : "", name);

	if (n < 0 || len < 0 || (size_t)len >= SBX_DEEP_ROOM)
		return false;
	target[n] = '\0';
	return br_text_may_lead(l->c, link, (size_t)len, target);
}

/* A link counts as a directory for programs that follow it. The target of a link is not examined if
 * its name may stand for a protected one. */
static bool link_moves(struct look *l, enum sbx_op op, const struct spot *dir, int fd,
		       const char *name)
{
	return (op != SBX_MODIFY && op != SBX_READ) ||
	       (op == SBX_READ && may_lead(l, dir, fd, name));
}

/* One name in a directory. */
struct name {
	const struct spot *dir;
	int fd; /* of the directory */
	const char *text;
	mode_t type;
};

/* Asks one image of one operation: false when it objects; `below` for a directory or link. */
static bool ask(struct look *l, const struct name *name, struct br_image i, enum sbx_op op,
		struct track *below)
{
	struct pair at = name->dir->by[i.number].at[op];

	at = (struct pair){walk_on(i, op, at.from, name->text), walk_on(i, op, at.to, name->text)};
	if (!sbx_move_name(i.img, op, at.from, at.to) &&
	    is_asked(op, name->fd, name->text, name->type))
		return false;
	if (name->type != S_IFDIR && name->type != S_IFLNK)
		return true;
	below->at[op].from = sbx_step(i.img, op, at.from, '/');
	below->at[op].to = sbx_step(i.img, op, at.to, '/');
	below->is_open[op] = !beneath_moves(l, i, op, below->at[op]);
	if (name->type != S_IFLNK || !below->is_open[op])
		return true;
	charge(l, LINK_COST);
	return link_moves(l, op, name->dir, name->fd, name->text);
}

/* By all images. -1, or the operation that objects. */
static int ask_all(struct look *l, const struct name *name, struct spot *below, bool *out_open)
{
	for (size_t n = 0; n < l->nimages; n++) {
		struct br_image i = br_image_at(l->c, n);

		for (int op = 0; op < SBX_OP_COUNT; op++) {
			if (!name->dir->by[n].is_open[op])
				continue;
			if (!ask(l, name, i, (enum sbx_op)op, &below->by[n]))
				return op;
			*out_open |= below->by[n].is_open[op];
		}
	}
	return -1;
}

static enum br_tree_answer meet(struct look *l, const struct name *name)
{
	const struct spot *dir = name->dir;
	b_auto_free struct spot *below = NULL;
	bool is_open = l->is_without_links;
	int against;

	if (l->is_without_links && name->type == S_IFLNK)
		return end_with(l, BR_TREE_REFUSED, SBX_MODIFY, dir, name->text);
	below = new_spot(l, dir->len + (dir->len > 0) + strlen(name->text));
	against = ask_all(l, name, below, &is_open);
	if (against >= 0)
		return end_with(l, BR_TREE_REFUSED, (enum sbx_op)against, dir, name->text);
	if (!charge(l, 1 + (unsigned)strlen(name->text) / LONG_NAME))
		return end_with(l, BR_TREE_UNSEEN, open_op(l, dir), dir, name->text);
	if (is_open && name->type == S_IFDIR)
		push(l, b_take_ptr(&below), dir, name->text);
	return BR_TREE_MOVES;
}

static mode_t type_of(int fd, const struct dirent *d)
{
	struct stat st;

	if (d->d_type != DT_UNKNOWN)
		return DTTOIF(d->d_type);
	/* what cannot be looked at is read as a directory: that fails */
	return fstatat(fd, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ? S_IFDIR : st.st_mode & S_IFMT;
}

static bool is_dots(const char *name)
{
	return !strcmp(name, ".") || !strcmp(name, "..");
}

static enum br_tree_answer read_entries(struct look *l, const struct spot *dir, DIR *d)
{
	enum br_tree_answer a = BR_TREE_MOVES;
	struct dirent *e;

	for (;;) {
		errno = 0;
		e = readdir(d);
		if (!e)
			return errno ? end_with(l, BR_TREE_UNSEEN, open_op(l, dir), dir, "") : a;
		if (is_dots(e->d_name))
			continue;
		a = meet(l, &(struct name){dir, dirfd(d), e->d_name, type_of(dirfd(d), e)});
		if (a != BR_TREE_MOVES)
			return a;
	}
}

static enum br_tree_answer look_into(struct look *l, const struct spot *dir)
{
	const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
				     .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
	int fd = (int)syscall(SYS_openat2, l->root, dir->len ? dir->rel : ".", &how, sizeof how);
	enum br_tree_answer a;
	DIR *d;

	charge(l, DIR_COST);
	if (fd < 0 && errno == ENOENT)
		return BR_TREE_MOVES; /* the host took it away */
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return end_with(l, BR_TREE_UNSEEN, open_op(l, dir), dir, "");
	}
	a = read_entries(l, dir, d);
	closedir(d);
	return a;
}

static enum br_tree_answer look_through(struct look *l)
{
	enum br_tree_answer a = BR_TREE_MOVES;

	while (l->todo && a == BR_TREE_MOVES) {
		b_auto_free struct spot *dir = l->todo;

		l->todo = dir->next;
		a = look_into(l, dir);
	}
	while (l->todo) {
		struct spot *dir = l->todo;

		l->todo = dir->next;
		free(dir);
	}
	return a;
}

static uint32_t below(struct br_image i, enum sbx_op op, const struct br_end *e)
{
	return sbx_step(i.img, op, sbx_walk(i.img, op, e->path, e->len), '/');
}

static void start_at(struct look *l, const struct br_end *from)
{
	struct spot *s = new_spot(l, 0);

	for (size_t n = 0; n < l->nimages; n++)
		for (int o = 0; o < SBX_OP_COUNT; o++) {
			struct br_image i = br_image_at(l->c, n);
			struct track *by = &s->by[n];
			enum sbx_op op = (enum sbx_op)o;

			by->at[op] = (struct pair){below(i, op, from), below(i, op, l->to)};
			by->is_open[op] = !beneath_moves(l, i, op, by->at[op]);
		}
	l->todo = s;
}

enum br_tree_answer br_tree_moves(struct br_call *c, const struct br_end *from,
				  const struct br_end *to, const struct br_end *where,
				  struct br_tree *out)
{
	b_auto_free struct look *l = b_calloc(1, sizeof *l);
	size_t n = strcspn(where->name, "/");
	char name[NAME_MAX + 1];
	enum br_tree_answer a;

	memcpy(name, where->name, n);
	name[n] = '\0';
	out->len = 0;
	l->c = c;
	l->to = to;
	l->left = c->b->plan->tree_budget ? c->b->plan->tree_budget : BUDGET;
	l->out = out;
	l->is_without_links = out->is_without_links;
	l->root = openat(where->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (l->root < 0)
		return BR_TREE_UNSEEN;
	l->nimages = br_image_count(c);
	l->memo = b_calloc(l->nimages, sizeof *l->memo);
	start_at(l, from);
	a = look_through(l);
	close(l->root);
	free(l->memo);
	return a;
}
