#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "policy/names.h"
#include "policy/workspace.h"

#define MAX_HOPS 40 /* MAXSYMLINKS of Linux */

struct walk {
	struct b_arena *arena;
	char done[PATH_MAX];	 /* canonical so far, "" = the root */
	char todo[2 * PATH_MAX]; /* what is still to be walked */
	size_t len;
	unsigned hops;
	struct pol_names *names; /* of the directories that the walk began in, NULL = none */
	bool may_list;		 /* they are homes or workspaces */
	pol_link_fn *each;	 /* is shown every link that is followed; NULL = nobody */
	void *arg;
	bool missing;		 /* `done` does not exist: nothing below it can be a link */
};

static void pop(struct walk *w)
{
	while (w->len > 0 && w->done[w->len - 1] != '/')
		w->len--;
	if (w->len > 0)
		w->len--;
	w->done[w->len] = '\0';
	w->missing = false;
}

/* Puts a link's text in front of the rest. False when it does not fit. */
static bool follow(struct walk *w, const char *link, const char *rest)
{
	size_t a = strlen(link), b = strlen(rest);

	if (++w->hops > MAX_HOPS || a + 1 + b + 1 > sizeof w->todo)
		return false;
	memmove(w->todo + a + 1, rest, b + 1); /* rest lies in todo itself */
	memcpy(w->todo, link, a);
	w->todo[a] = '/';
	if (link[0] == '/')
		w->len = 0;
	else
		pop(w);
	w->done[w->len] = '\0';
	return true;
}

static bool in_proc(const struct walk *w)
{
	return strncmp(w->done, "/proc/", 6) == 0;
}

/* Where the next component is looked for. Before the first link only: what that leads to is not
 * asked for again and again. */
static bool names_at(const struct walk *w, struct pol_names_at *out)
{
	*out = (struct pol_names_at){w->done, w->len, w->may_list};
	return w->names && !w->hops && !w->missing;
}

/* One component; `rest` is what follows it. False: give up. */
static bool enter(struct walk *w, const char *name, size_t n, const char *rest)
{
	enum pol_name known = POL_NAME_UNKNOWN;
	struct pol_names_at at;
	char link[PATH_MAX];
	bool is_asked = names_at(w, &at);
	ssize_t got;

	if (w->len + 1 + n + 1 > sizeof w->done)
		return false;
	if (is_asked)
		known = pol_names_look(w->names, w->arena, &at, name, n);
	w->done[w->len++] = '/';
	memcpy(w->done + w->len, name, n);
	w->len += n;
	w->done[w->len] = '\0';
	w->missing |= known == POL_NAME_MISSING;
	if (w->missing || known == POL_NAME_PLAIN || in_proc(w))
		return true;
	/* readlink alone: EINVAL says it is no link, the rest that nothing can be found there. */
	got = readlink(w->done, link, sizeof link - 1);
	if (got <= 0) {
		w->missing = got < 0 && errno != EINVAL;
		if (is_asked)
			pol_names_tell(w->names, w->arena, &at, name, n,
				       w->missing ? POL_NAME_MISSING : POL_NAME_PLAIN);
		return true;
	}
	link[got] = '\0';
	if (w->each && !w->each(w->arg, w->done, w->len))
		return false;
	return follow(w, link, rest);
}

/* Walks w.todo from w.done. NULL: the kernel refuses it, too (a loop, or too long). */
static const char *walk(struct b_arena *a, struct walk *w)
{
	char *p = w->todo;

	while (*p) {
		size_t n = strcspn(p, "/");
		char *rest = p + n + (p[n] == '/');
		unsigned hops = w->hops;

		if (n == 2 && p[0] == '.' && p[1] == '.')
			pop(w);
		else if (n > 0 && !(n == 1 && p[0] == '.') && !enter(w, p, n, rest))
			return NULL;
		p = w->hops == hops ? rest : w->todo;
	}
	return w->len ? b_arena_strndup(a, w->done, w->len) : "/";
}

const char *pol_canonical(struct b_arena *a, const char *path)
{
	return pol_canonical_below(a, "/", path, NULL);
}

static bool begin(struct walk *w, struct b_arena *a, const char *dir, size_t n, const char *path,
		  struct pol_names *names)
{
	size_t len = strlen(path);

	if (n + 1 + len >= PATH_MAX)
		return false;
	w->len = n;
	w->hops = 0;
	w->missing = false;
	w->names = names;
	w->may_list = n > 0;
	w->each = NULL;
	w->arena = a;
	memcpy(w->done, dir, n);
	w->done[n] = '\0';
	memcpy(w->todo, path, len + 1);
	return true;
}

static const char *resolve(struct b_arena *a, const char *dir, size_t n, const char *path,
			   struct pol_names *names)
{
	struct walk w;

	return begin(&w, a, dir, n, path, names) ? walk(a, &w) : NULL;
}

bool pol_is_missing_below(struct b_arena *a, const char *dir, const char *path,
			  struct pol_names *names)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
	struct walk w;

	return begin(&w, a, dir, n, path, names) && walk(a, &w) && w.missing;
}

const char *pol_canonical_below(struct b_arena *a, const char *dir, const char *path,
				struct pol_names *names)
{
	size_t n = strcmp(dir, "/") == 0 ? 0 : strlen(dir);
	const char *real = resolve(a, dir, n, path, names);

	return real ? real
		    : b_arena_printf(a, "%.*s%s%s", (int)n, dir, path[0] == '/' ? "" : "/", path);
}

const char *pol_canonical_strict(struct b_arena *a, const char *path, struct b_err *err)
{
	const char *real = resolve(a, "/", 0, path, NULL);

	if (!real)
		b_fail(err, B_USAGE, ELOOP, "path `%s`: a loop of symbolic links, or too long",
		       path);
	return real;
}

const char *pol_canonical_links(struct b_arena *a, const char *path, pol_link_fn *each, void *arg)
{
	struct walk w;

	if (!begin(&w, a, "/", 0, path, NULL))
		return NULL;
	w.each = each;
	w.arg = arg;
	return walk(a, &w);
}

static bool only_root_changes(const char *dir)
{
	struct stat st;

	return stat(dir, &st) == 0 && st.st_uid == 0 && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

bool pol_links_are_roots(struct b_arena *a, const char *path)
{
	size_t name = 1; /* where the component begins that is looked at; before it is no link */
	char link[PATH_MAX];

	for (int hops = 0; hops <= MAX_HOPS;) {
		size_t len = strcspn(path + name, "/");
		const char *dir = b_arena_strndup(a, path, name);
		ssize_t n;

		n = len ? readlink(b_arena_strndup(a, path, name + len), link, sizeof link) : -1;
		if (n < 0) {
			if (!path[name + len])
				return true;
			name += len + 1;
			continue;
		}
		if ((size_t)n >= sizeof link || !only_root_changes(dir))
			return false;
		path = b_arena_printf(a, "%s%.*s%s", link[0] == '/' ? "" : dir, (int)n, link,
				      path + name + len);
		name = 1;
		hops++;
	}
	return false;
}
