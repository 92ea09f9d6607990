/* SPDX-License-Identifier: Apache-2.0 */
/* canonical.c - the path that the kernel means: symlinks resolved, roots made absolute. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

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
	bool missing; /* `done` does not exist: nothing below it can be a link */
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

bool pol_only_root_changes(const char *dir)
{
	struct stat st;

	return stat(*dir ? dir : "/", &st) == 0 && st.st_uid == 0 &&
	       !(st.st_mode & (S_IWGRP | S_IWOTH));
}

bool pol_link_is_hosts(const char *dir, const char *const *homes, size_t nhomes)
{
	bool is_of_home = false;

	for (size_t i = 0; i < nhomes; i++) {
		if (strcmp(dir, homes[i]) == 0)
			return true;
		is_of_home |= sbx_path_under(dir, strlen(dir), homes[i], strlen(homes[i]));
	}
	return !is_of_home && pol_only_root_changes(dir);
}

static bool is_below_any(const char *path, const char *const *dirs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (sbx_path_under(path, strlen(path), dirs[i], strlen(dirs[i])))
			return true;
	return false;
}

struct placing {
	struct b_arena *arena;
	const char *const *workspaces;
	size_t n;
	const char *link; /* the first that is not the host's, or NULL */
};

static bool judge_link(void *arg, const char *link, size_t len)
{
	struct placing *p = arg;
	size_t up = sbx_path_parent(link, len), nhomes;
	const char *dir = b_arena_strndup(p->arena, link, up);
	const char **homes = pol_own_homes(p->arena, &nhomes);

	if (!p->link &&
	    (is_below_any(dir, p->workspaces, p->n) || !pol_link_is_hosts(dir, homes, nhomes)))
		p->link = b_arena_strndup(p->arena, link, len);
	return true;
}

const char *pol_hosts_place(struct b_arena *a, const char *spelled, const char *const *workspaces,
			    size_t n, const char **out_link)
{
	struct placing p = {a, workspaces, n, NULL};
	const char *real = pol_canonical_links(a, spelled, judge_link, &p);

	*out_link = p.link ? p.link : spelled;
	return real && (!p.link || is_below_any(real, workspaces, n)) ? real : NULL;
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
		if ((size_t)n >= sizeof link || !pol_only_root_changes(dir))
			return false;
		path = b_arena_printf(a, "%s%.*s%s", link[0] == '/' ? "" : dir, (int)n, link,
				      path + name + len);
		name = 1;
		hops++;
	}
	return false;
}

/* ---- absolute roots ---- */

/* ".." would mean two things in a glob. */
const char *pol_components(struct b_arena *a, const char *text)
{
	char *s = b_arena_strndup(a, text, strlen(text)), *to = s;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return NULL;
		if (n > 0 && !(n == 1 && p[0] == '.')) {
			if (to != s)
				*to++ = '/';
			memcpy(to, p, n);
			to += n;
		}
		p += n + (p[n] == '/');
	}
	*to = '\0';
	return s;
}

/* A glob-free text is a tree, as people expect of an option that takes a directory. */
static struct pol_rule lower(struct pol_build *b, const struct pol_absolute *t)
{
	struct b_arena *a = &b->rs->arena;
	struct pol_rule r = {
		.allow = t->allow, .tier = t->tier, .shape = POL_TREE, .origin = t->origin};
	size_t len = strlen(t->path), prefix;
	bool below;

	if (t->is_exact) {
		r.shape = POL_EXACT;
		r.base = len ? pol_build_join(b, t->dir, t->path) : t->dir;
		r.matched = b_arena_printf(a, "%s%s", t->lead, t->path);
		return r;
	}
	if (len == 0 ||
	    (!t->folds && (t->is_literal || pol_rule_is_subtree(t->path, &len, &below)))) {
		r.base = len ? pol_build_join(b, t->dir, b_arena_strndup(a, t->path, len)) : t->dir;
		r.matched = b_arena_printf(a, "%s%.*s%s", t->lead, (int)len, t->path,
					   len ? "/**" : "**");
		return r;
	}
	below = t->folds && !strpbrk(t->path, "*?");
	r.shape = POL_GLOB;
	r.base = t->dir;
	r.glob = below ? b_arena_printf(a, "%s/**", t->path) : t->path;
	r.matched = b_arena_printf(a, "%s%s", t->lead, r.glob);
	r.base_is_root = true;
	r.folds = t->folds;
	prefix = *t->lead && !t->folds ? pol_glob_literal_prefix(t->path) : 0;
	if (prefix > 0) {
		r.base = pol_build_join(b, t->dir, b_arena_strndup(a, t->path, prefix));
		r.glob = t->path + prefix + 1;
		r.base_is_root = false;
	}
	return r;
}

static bool under(const char *path, const char *dir)
{
	return dir[0] == '\0' || sbx_path_under(path, strlen(path), dir, strlen(dir));
}

/* May allow rule r open something that set rule s closes? */
static bool opens(const struct pol_rule *r, const struct pol_rule *s)
{
	if (pol_rule_matches(r, s->base, s->base_len))
		return true;
	return s->shape == POL_TREE && r->base_len > 0 && under(r->base, s->base);
}

static void tell_reopened(struct pol_build *b, const char *what, const struct pol_rule *r,
			  enum sbx_op op)
{
	const struct pol_list *list = &b->rs->op[op];
	const struct pol_rule *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *s = &list->v[i];

		/* what is obeyed outside is told once all rules are there: obeyed.c */
		if (s->layer != pol_build_layer_number(b) || s->tier != POL_TIER_SET || s->twin ||
		    s->allow || s->obeyed_by || !opens(r, s))
			continue;
		first = first ? first : s;
		n++;
	}
	if (n == 1)
		pol_build_notice(b, "%s re-opens `%s` for %s (%s)", what, first->matched,
				 sbx_op_name(op), first->origin);
	else if (n > 1)
		pol_build_notice(b, "%s re-opens `%s` and %zu more for %s (%s)", what,
				 first->matched, n - 1, sbx_op_name(op), first->origin);
}

/* Does a set close the path that the rule names? */
static bool is_closed(const struct pol_build *b, const struct pol_rule *r, enum sbx_op op)
{
	const struct pol_list *list = &b->rs->op[op];

	for (size_t i = 0; i < list->n && r->shape == POL_TREE; i++) {
		const struct pol_rule *s = &list->v[i];

		if (s->tier == POL_TIER_SET && !s->allow && s->layer == pol_build_layer_number(b) &&
		    pol_rule_matches(s, r->base, r->base_len))
			return true;
	}
	return false;
}

/* Is it the temporary name of the file that the rule `r` opens, by which that is saved? */
static bool is_temporary(const struct pol_rule *s, const struct pol_rule *r)
{
	size_t n = s->base_len;

	if (s->shape == POL_EXACT)
		return n == r->base_len + 5 && memcmp(s->base, r->base, r->base_len) == 0 &&
		       strcmp(s->base + r->base_len, ".lock") == 0;
	return s->shape == POL_GLOB && r->base_len > n + 1 && memcmp(s->base, r->base, n) == 0 &&
	       r->base[n] == '/' && b_has_prefix(s->glob, r->base + n + 1) &&
	       strcmp(s->glob + (r->base_len - n - 1), ".tmp.*") == 0;
}

/* Whoever may change a file that a set closes may save it. */
static void open_temporaries(struct pol_build *b, const struct pol_rule *r)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];
	size_t n = list->n;

	for (size_t i = 0; i < n; i++) {
		const struct pol_rule *s = &list->v[i];
		struct pol_rule t = *r;

		if (!s->obeyed_by || s->allow || s->layer != pol_build_layer_number(b) ||
		    !is_temporary(s, r))
			continue;
		t.shape = s->shape;
		t.base = s->base;
		t.glob = s->glob;
		t.twin = t.saves = true; /* a part of the rule before it */
		pol_build_add(b, POL_OPS(SBX_MODIFY) | POL_OPS(SBX_READ), &t, POL_TWIN_NONE);
	}
}

void pol_build_absolute(struct pol_build *b, const struct pol_absolute *t)
{
	struct pol_rule r = lower(b, t);
	unsigned ops = POL_OPS(t->op);

	pol_build_at(&r, r.base);
	if (t->only_closed && !is_closed(b, &r, t->op))
		return;
	/* What may be changed may be read: a directory that can be written and not listed is of no
	 * use to the programs that people name it for. */
	if (t->allow && t->op == SBX_MODIFY) {
		tell_reopened(b, t->what, &r, SBX_READ);
		ops |= POL_OPS(SBX_READ);
	}
	if (t->allow)
		tell_reopened(b, t->what, &r, t->op);
	pol_build_add(b, ops, &r, t->twin);
	if (t->allow && t->op == SBX_MODIFY && r.shape != POL_GLOB)
		open_temporaries(b, &r);
	if (t->allow && t->op == SBX_MODIFY)
		pol_build_git_behind(b, &r);
}
