/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worldstate.c - the world on disk: made, brought back to what it was after each program, and
 * looked through from outside for what may not have changed.
 */
#include "worldstate.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define SECRET_SIZE 8192
#define LOOK	    (1u << 17) /* bytes of a file that are looked at */

/* ---- hashing ---- */

static uint64_t hash_on(uint64_t h, const void *data, size_t n)
{
	const unsigned char *p = data;

	for (size_t i = 0; i < n; i++)
		h = (h ^ p[i]) * 0x100000001b3u;
	return h;
}
#define HASH_START 0xcbf29ce484222325u

static bool holds(const char *data, size_t n, const unsigned char *token)
{
	return n >= AK_TOKEN && memmem(data, n, token, AK_TOKEN) != NULL;
}

static void look_at_content(const struct ak_world *w, struct ak_entry *e)
{
	static char room[LOOK];
	int fd = open(e->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOATIME);
	ssize_t n = -1;

	if (fd < 0)
		fd = open(e->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		n = pread(fd, room, sizeof room, 0);
		close(fd);
	}
	e->hash = hash_on(HASH_START, room, n > 0 ? (size_t)n : 0);
	e->has_canary = n > 0 && holds(room, (size_t)n, w->token[0]);
}

static void look_at_attrs(const struct ak_world *w, struct ak_entry *e)
{
	char names[1024], value[256];
	ssize_t n = llistxattr(e->path, names, sizeof names), got;

	e->attrs = HASH_START;
	for (ssize_t i = 0; i < n; i += (ssize_t)strlen(names + i) + 1) {
		got = lgetxattr(e->path, names + i, value, sizeof value);
		e->attrs = hash_on(e->attrs, names + i, strlen(names + i) + 1);
		e->attrs = hash_on(e->attrs, value, got > 0 ? (size_t)got : 0);
		if (got > 0 && holds(value, (size_t)got, w->token[0]))
			e->has_canary = true;
	}
}

/* ---- the inventory ---- */

static const char *below(const struct ak_world *w, const char *path)
{
	size_t n = strlen(w->base);

	return path[n] == '/' ? path + n + 1 : path + n;
}

/* Of the run's own: not of the world. */
static bool is_aside(const char *rel)
{
	return !strncmp(rel, "state", 5) || !strncmp(rel, "cache", 5) || !strncmp(rel, "run", 3) ||
	       !strncmp(rel, "bin", 3) || !strcmp(rel, "out/host.sock") ||
	       !strncmp(rel, "out/proc", 8) || !strncmp(rel, "out/h/", 6);
}

/* A program may have closed its own files to their user: then the look itself opens them. */
static void open_up(const struct ak_entry *e)
{
	mode_t mode = e->st.st_mode & 07777, least = S_ISDIR(e->st.st_mode) ? 0700 : 0400;

	if (geteuid() != 0 && !S_ISLNK(e->st.st_mode) && (mode & least) != least)
		(void)chmod(e->path, mode | least);
}

static uint64_t born(const char *path)
{
	struct statx x;

	if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW, STATX_BTIME, &x) < 0 ||
	    !(x.stx_mask & STATX_BTIME))
		return 0;
	return (uint64_t)x.stx_btime.tv_sec * 1000000000u + x.stx_btime.tv_nsec;
}

static void take(const struct ak_world *w, struct ak_state *s, const char *path)
{
	struct ak_entry *e = &s->v[s->n];
	char target[PATH_MAX];
	struct dirent *d;
	ssize_t n;
	DIR *dir;

	if (s->n == AK_ENTRIES || is_aside(below(w, path)) || strlen(path) > 3000)
		return;
	memset(e, 0, sizeof *e);
	if (lstat(path, &e->st) < 0)
		return;
	e->born = born(path);
	e->path = strdup(path);
	s->n++;
	open_up(e);
	if (S_ISREG(e->st.st_mode))
		look_at_content(w, e);
	if (S_ISLNK(e->st.st_mode)) {
		n = readlink(path, target, sizeof target);
		e->hash = hash_on(HASH_START, target, n > 0 ? (size_t)n : 0);
	}
	look_at_attrs(w, e);
	if (!S_ISDIR(e->st.st_mode))
		return;
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		char sub[PATH_MAX];

		if (strcmp(d->d_name, ".") && strcmp(d->d_name, "..") &&
		    snprintf(sub, sizeof sub, "%s/%s", path, d->d_name) < (int)sizeof sub)
			take(w, s, sub);
	}
	if (dir)
		closedir(dir);
}

static struct ak_state *inventory(const struct ak_world *w)
{
	struct ak_state *s = calloc(1, sizeof *s);

	if (!s)
		abort();
	take(w, s, w->base);
	return s;
}

void ak_state_free(struct ak_state *s)
{
	for (unsigned i = 0; s && i < s->n; i++)
		free(s->v[i].path);
	free(s);
}

const struct ak_entry *ak_find_entry(const struct ak_state *s, const char *path)
{
	for (unsigned i = 0; s && i < s->n; i++)
		if (!strcmp(s->v[i].path, path))
			return &s->v[i];
	return NULL;
}

/* ---- making it ---- */

/* By descriptors: programs make paths longer than any path may be. */
static void remove_at(int at, const char *name, unsigned depth)
{
	struct dirent *d;
	DIR *dir;
	int fd;

	if (unlinkat(at, name, 0) == 0 || unlinkat(at, name, AT_REMOVEDIR) == 0 || depth > 300)
		return;
	(void)fchmodat(at, name, 0700, 0);
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	dir = fd < 0 ? NULL : fdopendir(fd);
	while (dir && (d = readdir(dir)))
		if (strcmp(d->d_name, ".") && strcmp(d->d_name, ".."))
			remove_at(dirfd(dir), d->d_name, depth + 1);
	if (dir)
		closedir(dir);
	unlinkat(at, name, AT_REMOVEDIR);
}

void ak_remove_tree(const char *path)
{
	remove_at(AT_FDCWD, path, 0);
}

/* The content of a row: as it is told, or a canary of its number. */
static size_t content_of(const struct ak_world *w, unsigned row, char *room)
{
	const struct ak_row *r = &ak_rows[row];
	const unsigned char *token = w->token[0];

	if (r->text)
		return (size_t)snprintf(room, SECRET_SIZE, "%s", r->text);
	if (!strcmp(r->path, "ws/dac/mine") && w->is_root &&
	    !(ak_rules(w->policy, r->path) & AK_NO_READ))
		token = w->token[2];
	else if (!(ak_rules(w->policy, r->path) & AK_NO_READ))
		token = (const unsigned char *)"not-a-secret";
	for (size_t n = 0; n < SECRET_SIZE; n += 16)
		snprintf(room + n, SECRET_SIZE - n, "%.12s%03u\n", (const char *)token, row);
	return SECRET_SIZE - 1;
}

static void make_row_path(struct ak_world *w, unsigned row)
{
	const char *path = ak_rows[row].path, *mark = strchr(path, '%');
	char name[128];

	snprintf(name, sizeof name, "%s", path);
	if (mark) { /* no name that may not be listed: the usual one */
		bool is_secret = ak_rules(w->policy, path) & AK_NO_READ;

		snprintf(name, sizeof name, "%.*s%.12s%03u", (int)(mark - path), path,
			 is_secret ? (const char *)w->token[1] : "a-name-inside", row);
	}
	snprintf(w->paths[row], sizeof w->paths[row], "%.31s/%.95s", w->base, name);
}

static void make_object(const struct ak_world *w, unsigned row, const char *path)
{
	const struct ak_row *r = &ak_rows[row];
	char room[SECRET_SIZE + 64];
	size_t n;
	int fd;

	switch (r->type) {
	case AK_DIR:
		mkdir(path, r->mode);
		break;
	case AK_LINK:
		(void)!symlink(r->text, path);
		return;
	case AK_FIFO:
		mkfifo(path, r->mode);
		break;
	case AK_FILE:
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd < 0)
			return;
		n = content_of(w, row, room);
		(void)!write(fd, room, n);
		close(fd);
		if (!r->text && ak_rules(w->policy, r->path) & AK_NO_READ)
			setxattr(path, "user.secret", room, 15, 0);
		break;
	}
	chmod(path, r->mode);
}

static void make_row(const struct ak_world *w, unsigned row, const char *path)
{
	make_object(w, row, path);
	if (w->owner != geteuid())
		(void)!lchown(path, w->owner, w->owner);
	if (w->owner != geteuid() && ak_rows[row].type != AK_LINK)
		chmod(path, ak_rows[row].mode);
}

/* Is this as it was made? What nobody changed has its ctime still. */
static bool is_as_made(const struct ak_state *made, const char *path, const struct stat *st)
{
	const struct ak_entry *e = ak_find_entry(made, path);

	return e && e->st.st_ino == st->st_ino && e->st.st_ctim.tv_sec == st->st_ctim.tv_sec &&
	       e->st.st_ctim.tv_nsec == st->st_ctim.tv_nsec;
}

static bool is_row(const struct ak_world *w, const char *path, unsigned *out)
{
	for (unsigned i = 0; i < ak_nrows; i++)
		if (!strcmp(w->paths[i], path)) {
			*out = i;
			return true;
		}
	return false;
}

static mode_t type_of(const struct ak_row *r)
{
	return (mode_t[]){
		[AK_DIR] = S_IFDIR, [AK_FILE] = S_IFREG, [AK_LINK] = S_IFLNK, [AK_FIFO] = S_IFIFO}
		[r->type];
}

/* What is not of the world, or not as it was made. Directories that stay are put right. */
static void weed(const struct ak_world *w, const char *dir, const struct ak_state *made)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char path[PATH_MAX];
		struct stat st;
		unsigned row;

		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (snprintf(path, sizeof path, "%s/%s", dir, e->d_name) >= (int)sizeof path ||
		    is_aside(below(w, path)) || lstat(path, &st) < 0)
			continue;
		if (!is_row(w, path, &row) || (st.st_mode & S_IFMT) != type_of(&ak_rows[row]) ||
		    st.st_uid != w->owner) {
			ak_remove_tree(path);
		} else if (S_ISDIR(st.st_mode)) {
			const struct ak_entry *was = ak_find_entry(made, path);

			chmod(path, ak_rows[row].mode);
			if (was && was->st.st_ino != st.st_ino) {
				ak_remove_tree(path);
				continue;
			}
			removexattr(path, "user.ak");
			removexattr(path, "user.secret");
			weed(w, path, made);
		} else if (!is_as_made(made, path, &st)) {
			unlink(path);
		}
	}
	if (d)
		closedir(d);
}

static void random_token(unsigned char *out, const char *start)
{
	static const char of[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
	unsigned char raw[AK_TOKEN] = {0};
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	(void)!read(fd, raw, sizeof raw);
	close(fd);
	for (unsigned i = 0; i < AK_TOKEN; i++)
		out[i] = start[i] ? (unsigned char)start[i]
				  : (unsigned char)of[raw[i] % (sizeof of - 1)];
}

void ak_world_make(struct ak_world *w)
{
	random_token(w->token[0], "Ck\0\0\0\0\0\0\0\0\0\0");
	random_token(w->token[1], "Nk\0\0\0\0\0\0\0\0\0\0");
	random_token(w->token[2], "Dk\0\0\0\0\0\0\0\0\0\0");
	umask(022);
	w->paths = calloc(ak_nrows, sizeof *w->paths);
	if (!w->paths)
		abort();
	for (unsigned i = 0; i < ak_nrows; i++) {
		make_row_path(w, i);
		make_row(w, i, w->paths[i]);
	}
}

struct ak_state *ak_world_reset(struct ak_world *w, struct ak_state *before)
{
	struct stat st;

	if (before) {
		weed(w, w->base, before);
		for (unsigned i = 0; i < ak_nrows; i++)
			if (lstat(w->paths[i], &st) < 0)
				make_row(w, i, w->paths[i]);
		ak_state_free(before);
	}
	return inventory(w);
}

/* ---- what may not have changed ---- */

void ak_world_note(struct ak_outcome *o, enum ak_find kind, const char *fmt, ...)
{
	va_list ap;

	if (o->nfound >= AK_FINDINGS)
		return;
	o->found[o->nfound].kind = (uint8_t)kind;
	o->found[o->nfound].op = AK_AFTERWARDS;
	va_start(ap, fmt);
	vsnprintf(o->found[o->nfound].text, sizeof o->found[0].text, fmt, ap);
	va_end(ap);
	o->nfound++;
}

static bool same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* What differs, in words; NULL: nothing. Outsiders copy what they touch, as editors do. */
static const char *difference(const struct ak_entry *a, const struct ak_entry *b, bool is_loose,
			      bool is_touched)
{
	if (a->st.st_mode != b->st.st_mode)
		return "mode";
	if (a->st.st_uid != b->st.st_uid || a->st.st_gid != b->st.st_gid)
		return "owner";
	if (a->attrs != b->attrs)
		return "attributes";
	if (is_loose)
		return NULL;
	if (S_ISREG(a->st.st_mode) && a->hash != b->hash)
		return "content";
	if (is_touched)
		return NULL;
	if (S_ISLNK(a->st.st_mode) && a->hash != b->hash)
		return "target";
	if (a->st.st_ino != b->st.st_ino)
		return "object";
	if (!same_time(a->st.st_mtim, b->st.st_mtim))
		return "mtime";
	if (!same_time(a->st.st_ctim, b->st.st_ctim))
		return "ctime";
	return NULL;
}

static void check_kept(struct ak_world *w, const struct ak_state *before, struct ak_state *now,
		       struct ak_outcome *out)
{
	for (unsigned i = 0; i < before->n; i++) {
		const struct ak_entry *e = &before->v[i], *is = ak_find_entry(now, e->path);
		const char *rel = below(w, e->path), *what;
		unsigned no = ak_rules(w->policy, rel);
		bool touched = ak_is_touched(rel);

		if (!(no & AK_NO_MODIFY) || !*rel)
			continue;
		if (!is && !touched) {
			ak_world_note(out, AK_F_REMOVED, "%s is gone", rel);
			continue;
		}
		what = is ? difference(e, is, no & AK_LOOSE, touched) : NULL;
		if (what)
			ak_world_note(out, AK_F_CHANGED, "%s: %s", rel, what);
	}
}

static void check_new(struct ak_world *w, const struct ak_state *before, struct ak_state *now,
		      struct ak_outcome *out)
{
	for (unsigned i = 0; i < now->n; i++) {
		const struct ak_entry *e = &now->v[i];
		const char *rel = below(w, e->path);
		unsigned no = ak_rules(w->policy, rel);

		if (no & AK_NO_MODIFY && !ak_find_entry(before, e->path) && !ak_is_touched(rel))
			ak_world_note(out, AK_F_CREATED, "%s is there", rel);
		if (e->has_canary && !(no & AK_NO_READ))
			ak_world_note(out, AK_F_LAUNDERED, "%s holds a canary", rel);
	}
}

/* Names that are protected and not there must not come to be there by way of a link either: who
 * runs or obeys them follows links. */
static void check_reached(struct ak_world *w, const struct ak_state *before, struct ak_outcome *out)
{
	char path[256];

	for (unsigned i = 0; i < ak_nnames; i++) {
		if (strncmp(ak_names[i], "ws/", 3) != 0 || w->policy == AK_OPENSHELL ||
		    !(ak_rules(w->policy, ak_names[i]) & AK_NO_MODIFY))
			continue;
		snprintf(path, sizeof path, "%s/%s", w->base, ak_names[i]);
		if (!ak_find_entry(before, path) && access(path, F_OK) == 0)
			ak_world_note(out, AK_F_CREATED, "%s can be reached", ak_names[i]);
	}
}

/* Who makes a program that takes on another's identity gains it outside. */
static void check_identities(struct ak_world *w, struct ak_state *now, struct ak_outcome *out)
{
	for (unsigned i = 0; i < now->n; i++)
		if (S_ISREG(now->v[i].st.st_mode) && now->v[i].st.st_mode & 06000)
			ak_world_note(out, AK_F_MODE, "%s is set-id", below(w, now->v[i].path));
}

static bool has_inode(const struct ak_state *s, const struct stat *st)
{
	for (unsigned i = 0; i < s->n; i++)
		if (s->v[i].st.st_ino == st->st_ino)
			return true;
	return false;
}

/* Who has dropped root makes nothing for root, and changes nothing of root's that is not open to
 * others: whoever acts in its name must not, either. */
static void check_as_nobody(struct ak_world *w, const struct ak_state *before, struct ak_state *now,
			    struct ak_outcome *out)
{
	for (unsigned i = 0; i < now->n; i++) {
		const struct ak_entry *e = &now->v[i], *was = ak_find_entry(before, e->path);

		if (e->st.st_uid == 0 && !was && !has_inode(before, &e->st))
			ak_world_note(out, AK_F_MODE, "%s was made for root", below(w, e->path));
		if (!was || was->st.st_ino != e->st.st_ino || was->st.st_mode & 002 ||
		    !S_ISREG(e->st.st_mode))
			continue;
		if (was->st.st_mode != e->st.st_mode || was->st.st_uid != e->st.st_uid ||
		    was->hash != e->hash || was->attrs != e->attrs)
			ak_world_note(out, AK_F_DAC, "%s of root's was changed", below(w, e->path));
	}
}

void ak_world_check(struct ak_world *w, const struct ak_state *before, bool was_nobody,
		    struct ak_outcome *out, struct ak_changes *changes)
{
	struct ak_state *now = inventory(w);

	check_kept(w, before, now, out);
	check_new(w, before, now, out);
	check_reached(w, before, out);
	check_identities(w, now, out);
	if (was_nobody)
		check_as_nobody(w, before, now, out);
	ak_world_changes(before, now, changes);
	ak_state_free(now);
}
