/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lineage.c - the programs that a caller goes back to, where rules on endpoints name programs.
 *
 * The parent is not enough: when it has ended, another process takes its place, and it may have
 * executed another program since it started the caller. The image identifies the program: fork(2)
 * copies it with the addresses that the kernel has drawn for it, and only the next execve(2) ends
 * it. So each execve(2) traps, is remembered with the programs of the image that it is called from,
 * and is let go on. The image that is found at that process's next call has those programs and its
 * own; all processes that were forked from it have the same, however deep, and whether or not those
 * between are still there.
 *
 * An image of which nothing is known is partial (core/connect.h): the process that became it ended
 * before anybody called execve(2) again, or others have been used since. So are all images
 * of a run inside a run, which some program of the outer one has started, and those of a run
 * without random addresses.
 *
 * A program that a rule names must be the one that it was at first (integrity.h): it is looked at
 * when a process that runs it wants a connection, or is about to become another program, which is
 * before anything can go back to it. Meanwhile its file cannot change.
 */
#include "launcher/linux/broker/lineage.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/connect.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/integrity.h"

/* Slots for a value; the least recently used one is replaced. */
#define WAYS	  8
#define BUCKETS	  2048
#define UNSETTLED 64
#define CLIMBS	  64 /* forks without execve(2) between a process and one that is known */

struct image {
	uint64_t dev, ino, code, stack; /* ino 0: it cannot be looked into */
};

/* The programs of an image, its own among them. */
struct known {
	uint64_t used; /* a count of uses; 0 = free */
	struct image image;
	struct sbx_programs by, own; /* `own` is of its program alone, */
	bool has_own;		     /* which was looked at for a connection */
};

/* A process that has called execve(2). */
struct leaving {
	uint64_t used;
	pid_t pid;
	uint64_t since; /* when it was made: a number has one owner at a time */
	struct image from;
	struct sbx_programs by;
};

struct br_lineage {
	uint64_t uses;
	bool is_partial; /* the programs of no process are known completely */
	struct known known[BUCKETS][WAYS];
	struct leaving leaving[BUCKETS][WAYS];
	struct leaving *unsettled[UNSETTLED]; /* what they became was not seen yet; NULL = free */
	unsigned next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct br_integrity *integrity; /* NULL: no program was looked at */

/* ---- a process as it is now ---- */

struct seen {
	pid_t pid, parent;
	uint64_t since;
	struct image image;
	struct sbx_exe exe;
	struct stat st;	     /* of its program, if `image` has one */
	char path[PATH_MAX]; /* as /proc has it, for the record too */
};

static int open_at(const struct br_broker *b, pid_t pid, const char *what, int flags)
{
	char name[32];

	snprintf(name, sizeof name, "%d/%s", (int)pid, what);
	return openat(b->proc, name, flags | O_CLOEXEC);
}

void br_program_name(const struct br_call *c, pid_t pid, char path[PATH_MAX])
{
	char name[32];
	ssize_t n;

	snprintf(name, sizeof name, "%d/exe", (int)pid);
	n = readlinkat(c->b->proc, name, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = '\0';
}

/* The path only where it leads to the same file. */
static void look_at_exe(const struct br_call *c, struct seen *s)
{
	b_auto_fd int file = open_at(c->b, s->pid, "exe", O_PATH), again = -1;
	struct stat st, there;

	br_program_name(c, s->pid, s->path);
	if (file < 0 || fstat(file, &st) < 0)
		return;
	s->image.dev = s->exe.dev = st.st_dev;
	s->image.ino = s->exe.ino = st.st_ino;
	s->st = st;
	again = s->path[0] ? open(s->path, O_PATH | O_CLOEXEC) : -1;
	if (again >= 0 && fstat(again, &there) == 0 && there.st_dev == st.st_dev &&
	    there.st_ino == st.st_ino) {
		s->exe.path = s->path;
		s->exe.path_len = strlen(s->path);
	}
}

static void look_at(const struct br_call *c, pid_t pid, struct seen *s)
{
	enum { PARENT = 4, SINCE = 22, CODE = 26, STACK = 28 }; /* fields of proc_pid_stat(5) */
	b_auto_fd int fd = open_at(c->b, pid, "stat", O_RDONLY);
	uint64_t field[STACK + 1] = {0};
	char text[1024], *at, *end;
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	s->pid = pid;
	s->image = (struct image){0};
	s->exe = (struct sbx_exe){0};
	text[n > 0 ? n : 0] = '\0';
	at = strrchr(text, ')');
	at = at && strlen(at) > 4 ? at + 4 : NULL; /* behind the state, a letter */
	for (unsigned i = PARENT; at && i <= STACK; i++, at = end)
		field[i] = strtoull(at, &end, 10);
	s->parent = (pid_t)field[PARENT];
	s->since = field[SINCE];
	look_at_exe(c, s);
	s->image.code = field[CODE];
	s->image.stack = field[STACK];
	if (!s->image.stack)
		s->image.ino = 0;
}

/* Whether addresses are random. The setting of the run's first process applies to all. */
static bool draws_addresses(struct br_call *c)
{
	b_auto_fd int kernel =
		openat(c->b->proc, "sys/kernel/randomize_va_space", O_RDONLY | O_CLOEXEC);
	b_auto_fd int own = open_at(c->b, br_tgid(c), "personality", O_RDONLY);
	char text[2][16] = {"", ""};

	if (kernel < 0 || read(kernel, text[0], sizeof text[0] - 1) <= 0 || text[0][0] == '0')
		return false;
	return own >= 0 && read(own, text[1], sizeof text[1] - 1) > 0 &&
	       !(strtoul(text[1], NULL, 16) & ADDR_NO_RANDOMIZE);
}

/* ---- what is remembered ---- */

static bool is_same(const struct image *a, const struct image *b)
{
	return a->ino && a->dev == b->dev && a->ino == b->ino && a->code == b->code &&
	       a->stack == b->stack;
}

static struct known *known_place(struct br_lineage *l, const struct image *of, bool is_new)
{
	uint64_t hash = (of->stack >> 4) * 31 + (of->code >> 12) * 17 + of->ino;
	struct known *v = l->known[(hash ^ hash >> 17) % BUCKETS], *oldest = v;

	for (unsigned i = 0; i < WAYS; i++) {
		if (v[i].used && is_same(&v[i].image, of)) {
			v[i].used = ++l->uses;
			return &v[i];
		}
		if (v[i].used < oldest->used)
			oldest = &v[i];
	}
	if (!is_new)
		return NULL;
	*oldest = (struct known){.used = ++l->uses, .image = *of};
	return oldest;
}

static struct leaving *leaving_place(struct br_lineage *l, const struct seen *s, bool is_new)
{
	struct leaving *v = l->leaving[(unsigned)s->pid % BUCKETS], *oldest = v;

	for (unsigned i = 0; i < WAYS; i++) {
		if (v[i].used && v[i].pid == s->pid && v[i].since == s->since)
			return &v[i];
		if (v[i].used < oldest->used)
			oldest = &v[i];
	}
	if (!is_new)
		return NULL;
	*oldest = (struct leaving){.used = ++l->uses, .pid = s->pid, .since = s->since};
	return oldest;
}

/* The programs that came with the execve(2) which made the image of this process, if it called it
 * itself. One that failed has left the image as it was. */
static bool came_with(struct br_lineage *l, const struct seen *s, struct sbx_programs *out)
{
	const struct leaving *e = leaving_place(l, s, false);

	if (!e || is_same(&e->from, &s->image))
		return false;
	*out = e->by;
	return true;
}

/* By the process itself, by what is known of its image, or by a process that it was forked from and
 * that has the same. With the lock. */
static bool find(const struct br_call *c, struct br_lineage *l, const struct seen *s,
		 struct sbx_programs *out)
{
	const struct known *k;
	struct seen above = {.parent = s->parent};

	if (came_with(l, s, out))
		return true;
	k = s->image.ino ? known_place(l, &s->image, false) : NULL;
	if (k) {
		*out = k->by;
		return true;
	}
	for (unsigned i = 0; s->image.ino && i < CLIMBS && above.parent > 1; i++) {
		look_at(c, above.parent, &above);
		if (!is_same(&above.image, &s->image))
			return false;
		if (came_with(l, &above, out))
			return true;
	}
	return false;
}

static void add(struct sbx_programs *to, const struct sbx_programs *more)
{
	for (size_t i = 0; i < sizeof to->bit / sizeof *to->bit; i++) {
		to->bit[i] |= more->bit[i];
		to->replaced[i] |= more->replaced[i];
	}
	to->is_partial |= more->is_partial;
}

/* With the programs that it goes back to; `own`, NULL = not looked at, is its own. */
static void remember(struct br_lineage *l, const struct seen *s, const struct sbx_programs *own,
		     struct sbx_programs *by)
{
	struct known *k;

	if (own)
		add(by, own);
	by->is_partial |= l->is_partial;
	if (!s->image.ino)
		return;
	k = known_place(l, &s->image, true);
	k->by = *by;
}

/* Looks at what other processes have become: they may end before a process that they started makes
 * a call. With the lock. */
static void settle(const struct br_call *c, struct br_lineage *l)
{
	struct seen s;

	for (unsigned i = 0; i < UNSETTLED; i++) {
		struct leaving *e = l->unsettled[i];
		struct sbx_programs by;

		if (!e)
			continue;
		look_at(c, e->pid, &s);
		if (s.since == e->since && (!s.image.ino || is_same(&e->from, &s.image)))
			continue; /* not yet */
		l->unsettled[i] = NULL;
		by = e->by;
		if (s.since == e->since)
			remember(l, &s, NULL, &by);
	}
}

/* All programs of the image of this process. With the lock. */
static void recall(struct br_call *c, const struct seen *s, const struct sbx_programs *own,
		   struct sbx_programs *out)
{
	struct br_lineage *l = c->b->lineage;

	if (!l) { /* the process that becomes the command: no other exists yet */
		l = c->b->lineage = b_calloc(1, sizeof *l);
		l->is_partial = c->b->plan->is_started_inside || !draws_addresses(c);
		*out = (struct sbx_programs){0};
	} else {
		settle(c, l);
		if (!find(c, l, s, out))
			*out = (struct sbx_programs){.is_partial = true};
	}
	remember(l, s, own, out);
}

/* ---- its own program ---- */

/* Patterns that every program meets say nothing of it. */
static struct sbx_programs met_by_all(const struct sbx_image *image)
{
	static const struct sbx_exe odd[] = {{.path = "/\001", .path_len = 2},
					     {.path = "/\001/\001", .path_len = 4}};
	struct sbx_programs a, b;

	sbx_connect_programs(image, &odd[0], 1, &a);
	sbx_connect_programs(image, &odd[1], 1, &b);
	for (size_t i = 0; i < sizeof a.bit / sizeof *a.bit; i++)
		a.bit[i] &= b.bit[i];
	return a;
}

struct look {
	struct br_call *c;
	const struct seen *s;
	struct br_program program;
	enum br_reading reading;
	char hash[B_SHA256_HEX];
};

/* 0, or -EAGAIN: too many calls wait already. */
static int ask_integrity(struct look *k, const char *key, bool *out_is_intact)
{
	enum br_integrity_is is =
		br_integrity_ask(integrity, key, &k->program, k->reading, k->hash);

	if (is == BR_UNREAD) {
		if (!br_may_block(k->c))
			return -EAGAIN;
		k->reading = br_integrity_read(k->c, k->s->pid, &k->program, k->hash);
		br_end_block(k->c);
		is = br_integrity_ask(integrity, key, &k->program, k->reading, k->hash);
	}
	*out_is_intact = is == BR_INTACT;
	return 0;
}

/* Patterns of `of` are met if the program is what it was under this key. */
static int settle_bits(struct look *k, const char *key, const uint64_t *of, const uint64_t *all,
		       struct sbx_programs *out)
{
	enum { N = SBX_PROGRAMS_MAX / 64 };
	bool asks = false, is_intact = true;
	int rc = 0;

	for (int i = 0; i < N; i++)
		asks |= of[i] & ~all[i];
	if (asks)
		rc = ask_integrity(k, key, &is_intact);
	for (int i = 0; i < N; i++) {
		out->bit[i] |= is_intact ? of[i] : of[i] & all[i];
		out->replaced[i] |= is_intact ? 0 : of[i] & ~all[i];
	}
	return rc;
}

/* The patterns that the caller's own program meets: a file that a rule names by its inode, whatever
 * it is called; another by its path. Without the lock. 0 or -EAGAIN. */
static int look_at_own(struct br_call *c, const struct seen *s, bool connects,
		       struct sbx_programs *out)
{
	const struct sbx_image *image = c->b->plan->image;
	const struct sbx_exe nameless = {.dev = s->exe.dev, .ino = s->exe.ino};
	struct sbx_programs met, by_file, all = met_by_all(image);
	struct look k = {.c = c, .s = s};
	char key[64];
	int rc;

	*out = (struct sbx_programs){0};
	if (!s->image.ino)
		return 0;
	br_program_set(&k.program, &s->st, connects);
	sbx_connect_programs(image, &s->exe, 1, &met);
	sbx_connect_programs(image, &nameless, 1, &by_file);
	sbx_connect_displaced(image, &s->exe, out);
	for (size_t i = 0; i < sizeof met.bit / sizeof *met.bit; i++)
		met.bit[i] &= ~by_file.bit[i];
	snprintf(key, sizeof key, "%llx:%llx", (unsigned long long)s->exe.dev,
		 (unsigned long long)s->exe.ino);
	rc = settle_bits(&k, key, by_file.bit, all.bit, out);
	if (rc == 0 && s->exe.path)
		rc = settle_bits(&k, s->path, met.bit, all.bit, out);
	return rc;
}

/* What was found for this image before: while it is there, its file is the same. */
static bool recall_own(struct br_call *c, const struct seen *s, struct sbx_programs *out)
{
	const struct br_lineage *l;
	const struct known *k = NULL;

	pthread_mutex_lock(&lock);
	if (!integrity)
		integrity = br_integrity_new();
	l = c->b->lineage;
	if (l && !l->is_partial && s->image.ino)
		k = known_place(c->b->lineage, &s->image, false);
	if (k && k->has_own)
		*out = k->own;
	else
		k = NULL;
	pthread_mutex_unlock(&lock);
	return k;
}

/* With the lock. */
static void keep_own(struct br_lineage *l, const struct seen *s, const struct sbx_programs *own)
{
	struct known *k = s->image.ino ? known_place(l, &s->image, true) : NULL;

	if (!k)
		return;
	k->own = *own;
	k->has_own = true;
}

/* ---- the calls ---- */

int br_lineage_of(struct br_call *c, char path[PATH_MAX], struct sbx_programs *out)
{
	struct sbx_programs own = {0};
	struct seen s;
	int rc = 0;

	look_at(c, br_tgid(c), &s);
	if (!recall_own(c, &s, &own))
		rc = look_at_own(c, &s, true, &own);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&lock);
	recall(c, &s, &own, out);
	keep_own(c->b->lineage, &s, &own);
	pthread_mutex_unlock(&lock);
	memcpy(path, s.path, sizeof s.path);
	return 0;
}

int br_lineage_goes_on(struct br_call *c)
{
	struct sbx_programs by, own = {0};
	struct br_lineage *l;
	struct leaving *e;
	struct seen s;
	int rc = 0;

	if (!(c->b->plan->traps & POL_TRAP_PROGRAMS))
		return 0;
	look_at(c, br_tgid(c), &s);
	if (!recall_own(c, &s, &own))
		rc = look_at_own(c, &s, false, &own);
	if (rc < 0)
		return rc;
	pthread_mutex_lock(&lock);
	recall(c, &s, &own, &by);
	l = c->b->lineage;
	e = leaving_place(l, &s, true);
	e->used = ++l->uses;
	e->from = s.image;
	e->by = by;
	l->unsettled[l->next++ % UNSETTLED] = e;
	pthread_mutex_unlock(&lock);
	return 0;
}
