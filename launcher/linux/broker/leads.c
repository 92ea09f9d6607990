/* SPDX-License-Identifier: Apache-2.0 */
/*
 * leads.c - finds where a program that follows a symlink later will arrive.
 *
 * The broker follows names that the command cannot change: a link of the host, or of /proc, can
 * lead back to where the command may make anything (`/proc/self/root/WORKSPACE/evil`). From the
 * first name that the command can change, the broker judges the text: whatever the command makes at
 * that name, it judges then. It refuses `..` behind such a name, because the target is not known
 * yet.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/decide.h"
#include "core/path.h"
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/compare.h"
#include "launcher/linux/broker/names.h"

#define LINKS 40 /* as the kernel follows (path_resolution(7)) */

enum met {
	MET_DIR,  /* a directory: follow the rest */
	MET_END,  /* the end: judge `at` */
	MET_FILE, /* not a directory, and the command cannot replace it */
	MET_WRONG /* refuse: a magic link, a loop, no permission, `..` behind a changeable name */
};

struct way {
	struct br_image image;
	char *at; /* SBX_DEEP_ROOM bytes: canonical, "" = the root */
	size_t len;
	char rest[2 * PATH_MAX]; /* of the text */
	unsigned links;
};

/* The next name of the rest, NUL = none, into name[NAME_MAX + 1]. False: it is too long. */
static bool take_name(struct way *w, char *name)
{
	char *from = w->rest + strspn(w->rest, "/");
	size_t n = strcspn(from, "/");

	if (n > NAME_MAX)
		return false;
	memcpy(name, from, n);
	name[n] = '\0';
	memmove(w->rest, from + n, strlen(from + n) + 1);
	return true;
}

static bool add(struct way *w, const char *name)
{
	size_t n = strlen(name);

	if (w->len + n + 2 > SBX_DEEP_ROOM)
		return false;
	w->at[w->len] = '/';
	memcpy(w->at + w->len + 1, name, n + 1);
	w->len += n + 1;
	return true;
}

static void cut(struct way *w)
{
	while (w->len && w->at[--w->len] != '/')
		;
	w->at[w->len] = '\0';
}

/* All of the rest, as text. */
static enum met add_rest(struct way *w)
{
	char name[NAME_MAX + 1];

	for (;;) {
		if (!take_name(w, name) || !strcmp(name, ".."))
			return MET_WRONG;
		if (!*name)
			return MET_END;
		if (strcmp(name, ".") != 0 && !add(w, name))
			return MET_WRONG;
	}
}

/* Standard input, output or error of the program that follows the link: /dev/stdout leads there. */
static bool is_stdio(const char *text)
{
	static const char fds[] = "/proc/self/fd/";
	size_t n = sizeof fds - 1;

	return strncmp(text, fds, n) == 0 && text[n] >= '0' && text[n] <= '2' && !text[n + 1];
}

static enum met follow(struct way *w, int fd)
{
	char text[2 * PATH_MAX];
	struct statfs fs;
	ssize_t n = readlinkat(fd, "", text, PATH_MAX);

	if (n <= 0 || n == PATH_MAX || ++w->links > LINKS || fstatfs(fd, &fs) < 0 ||
	    fs.f_type == PROC_SUPER_MAGIC || (size_t)n + strlen(w->rest) >= sizeof text)
		return MET_WRONG;
	strcpy(text + n, w->rest);
	strcpy(w->rest, text);
	if (*text == '/')
		w->len = 0;
	else
		cut(w);
	w->at[w->len] = '\0';
	return is_stdio(text) ? MET_FILE : MET_DIR;
}

/* Looks at the object with the name `at`. */
static enum met look(struct way *w)
{
	b_auto_fd int fd = -1;
	struct stat st;

	if (br_image_allows(w->image, SBX_MODIFY, w->at, w->len))
		return add_rest(w);
	fd = open(w->at, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? add_rest(w) : MET_WRONG;
	if (fstat(fd, &st) < 0)
		return MET_WRONG;
	if (S_ISLNK(st.st_mode))
		return follow(w, fd);
	return S_ISDIR(st.st_mode) ? MET_DIR : MET_FILE;
}

static enum met go(struct way *w)
{
	enum met met = is_stdio(w->rest) ? MET_FILE : MET_DIR;
	char name[NAME_MAX + 1];

	while (met == MET_DIR) {
		if (!take_name(w, name))
			return MET_WRONG;
		if (!*name)
			return MET_END;
		if (!strcmp(name, ".."))
			cut(w);
		else if (strcmp(name, ".") != 0)
			met = add(w, name) ? look(w) : MET_WRONG;
	}
	return met;
}

/* By one image: it knows names that may be changed, and what is denied below others. */
static bool leads_by(struct br_image image, const char *link, size_t len, const char *target,
		     char *room)
{
	struct br_pair p = {.from = link, .from_len = len, .to = room};
	struct way w = {.image = image, .at = room};
	size_t parent = sbx_path_parent(link, len);

	if (strlen(target) >= PATH_MAX)
		return false;
	strcpy(w.rest, target);
	if (*target != '/') {
		w.len = parent - (parent == 1); /* of "/name" */
		memcpy(room, link, w.len);
	}
	room[w.len] = '\0';
	switch (go(&w)) {
	case MET_END:
	case MET_DIR:
		break;
	case MET_FILE:
		p.is_file = true;
		break;
	case MET_WRONG:
		return false;
	}
	if (!w.len)
		strcpy(room, "/");
	p.to_len = strlen(room);
	return br_leads(image, &p);
}

bool br_text_leads(const struct br_call *c, const char *link, size_t len, const char *target)
{
	b_auto_free char *room = b_malloc(SBX_DEEP_ROOM);

	for (size_t i = 0; i < br_image_count(c); i++)
		if (!leads_by(br_image_at(c, i), link, len, target, room))
			return false;
	return true;
}
