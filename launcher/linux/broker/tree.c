/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tree.c - what lies below a directory that is to be moved, where the automata alone cannot say
 * that every name may be there.
 *
 * Called with the lock of moves held alone: no broker of this user makes or moves anything
 * meanwhile. What others do, another user's runs or the host, the second look sees (after.c).
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

#define BUDGET	     50000u /* names: some 50 ms */
#define BENEATH_COST 50u    /* what comparing two automata costs, in names */
#define MEMO	     64u

/* States at the old and at the new place. */
struct pair {
	uint32_t from, to;
};

/* A directory that is still to be read. */
struct spot {
	struct spot *next;
	struct pair at[SBX_OP_COUNT]; /* after its slash */
	bool is_open[SBX_OP_COUNT];   /* the operation is not settled below it */
	size_t len;
	char rel[]; /* below the moved directory, "" = that one */
};

struct look {
	struct br_call *c;
	const struct br_end *to;
	const struct sbx_image *img;
	int root;
	unsigned left; /* of the budget */
	bool is_without_links;
	struct spot *todo;
	struct br_tree *out;
	struct {
		struct pair at;
		bool is_known, moves;
	} memo[SBX_OP_COUNT][MEMO];
};

static uint32_t walk_on(const struct look *l, enum sbx_op op, uint32_t state, const char *name)
{
	for (; *name; name++)
		state = sbx_step(l->img, op, state, (unsigned char)*name);
	return state;
}

static bool charge(struct look *l, unsigned n)
{
	l->left = l->left > n ? l->left - n : 0;
	return l->left > 0;
}

static bool beneath_moves(struct look *l, enum sbx_op op, struct pair at)
{
	unsigned slot = (at.from * 31u + at.to) % MEMO;

	if (at.from == at.to && !l->img->hdr->inside)
		return true;
	if (!l->memo[op][slot].is_known || memcmp(&l->memo[op][slot].at, &at, sizeof at) != 0) {
		charge(l, BENEATH_COST);
		l->memo[op][slot].at = at;
		l->memo[op][slot].is_known = true;
		l->memo[op][slot].moves = sbx_move_beneath(l->img, op, at.from, at.to);
	}
	return l->memo[op][slot].moves;
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
static enum sbx_op open_op(const struct spot *dir)
{
	int op = 0;

	while (op + 1 < SBX_OP_COUNT && !dir->is_open[op])
		op++;
	return (enum sbx_op)op;
}

static void push(struct look *l, struct spot *s, const struct spot *dir, const char *name)
{
	size_t n = strlen(name), len = dir->len + (dir->len > 0) + n;
	struct spot *to = b_malloc(sizeof *to + len + 1);

	*to = *s;
	to->len = len;
	memcpy(to->rel, dir->rel, dir->len);
	if (dir->len)
		to->rel[dir->len] = '/';
	memcpy(to->rel + len - n, name, n + 1);
	to->next = l->todo;
	l->todo = to;
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

/* A link is a directory to who follows it. Nobody looks where one leads whose name
 * stands for something protected. */
static bool link_moves(struct look *l, enum sbx_op op, const struct spot *dir, int fd,
		       const char *name)
{
	return (op != SBX_MODIFY && op != SBX_READ) ||
	       (op == SBX_READ && may_lead(l, dir, fd, name));
}

/* One name in the directory `fd`. */
static enum br_tree_answer meet(struct look *l, const struct spot *dir, int fd, const char *name,
				mode_t type)
{
	struct spot below = {0};
	bool is_open = l->is_without_links;

	if (l->is_without_links && type == S_IFLNK)
		return end_with(l, BR_TREE_REFUSED, SBX_MODIFY, dir, name);
	for (int i = 0; i < SBX_OP_COUNT; i++) {
		enum sbx_op op = (enum sbx_op)i;
		struct pair at = dir->at[op];

		if (!dir->is_open[op])
			continue;
		at = (struct pair){walk_on(l, op, at.from, name), walk_on(l, op, at.to, name)};
		if (!sbx_move_name(l->img, op, at.from, at.to) && is_asked(op, fd, name, type))
			return end_with(l, BR_TREE_REFUSED, op, dir, name);
		if (type != S_IFDIR && type != S_IFLNK)
			continue;
		below.at[op].from = sbx_step(l->img, op, at.from, '/');
		below.at[op].to = sbx_step(l->img, op, at.to, '/');
		below.is_open[op] = !beneath_moves(l, op, below.at[op]);
		if (type == S_IFLNK && below.is_open[op] && !link_moves(l, op, dir, fd, name))
			return end_with(l, BR_TREE_REFUSED, op, dir, name);
		is_open |= below.is_open[op];
	}
	if (!charge(l, 1))
		return end_with(l, BR_TREE_UNSEEN, open_op(dir), dir, name);
	if (is_open && type == S_IFDIR)
		push(l, &below, dir, name);
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
			return errno ? end_with(l, BR_TREE_UNSEEN, open_op(dir), dir, "") : a;
		if (is_dots(e->d_name))
			continue;
		a = meet(l, dir, dirfd(d), e->d_name, type_of(dirfd(d), e));
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

	if (fd < 0 && errno == ENOENT)
		return BR_TREE_MOVES; /* the host took it away */
	d = fd < 0 ? NULL : fdopendir(fd);
	if (!d) {
		if (fd >= 0)
			close(fd);
		return end_with(l, BR_TREE_UNSEEN, open_op(dir), dir, "");
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

static uint32_t below(const struct look *l, enum sbx_op op, const struct br_end *e)
{
	return sbx_step(l->img, op, sbx_walk(l->img, op, e->path, e->len), '/');
}

static void start_at(struct look *l, const struct br_end *from)
{
	struct spot *s = b_calloc(1, sizeof *s + 1);

	for (int i = 0; i < SBX_OP_COUNT; i++) {
		enum sbx_op op = (enum sbx_op)i;

		s->at[op].from = below(l, op, from);
		s->at[op].to = below(l, op, l->to);
		s->is_open[op] = !beneath_moves(l, op, s->at[op]);
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
	l->img = c->b->plan->image;
	l->left = c->b->plan->tree_budget ? c->b->plan->tree_budget : BUDGET;
	l->out = out;
	l->is_without_links = out->is_without_links;
	l->root = openat(where->at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (l->root < 0)
		return BR_TREE_UNSEEN;
	start_at(l, from);
	a = look_through(l);
	close(l->root);
	return a;
}
