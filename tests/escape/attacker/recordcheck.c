/* SPDX-License-Identifier: Apache-2.0 */
/*
 * recordcheck.c - the record of a run beside what was really done in it.
 *
 *	unrecorded  something changed, or a call was refused, and no event says so
 *	untrue      an event says that something was done that the policy denies, or that was not
 *
 * The command is a program without the shim, so all is told by the broker: each change, and each
 * refusal. It writes false events into the shim's channel (forge.c), which are its own word. What
 * it does not tell is in docs/THREAT-MODEL.md: reads that are allowed, or that modes refuse, what
 * the static filter refuses, and what is done through a descriptor, for which the event of its open
 * stands.
 */
#include "attack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAKES	1u
#define WRITES	2u
#define MOVES	4u
#define REMOVES 8u
#define MODE	16u
#define OWNER	32u
#define ATTRS	64u
#define TIMES	128u

/* What an event of a call says was done, and what the record names the calls. */
static const struct {
	const char *call, *told_as;
	unsigned does;
} calls[] = {
	{"open", "open", MAKES | WRITES},
	{"openat", "openat", MAKES | WRITES},
	{"openat2", "openat2", MAKES | WRITES},
	{"creat", "creat", MAKES | WRITES},
	{"mkdir", "mkdir", MAKES},
	{"mkdirat", "mkdirat", MAKES},
	{"mknod", "mknod", MAKES},
	{"mknodat", "mknodat", MAKES},
	{"symlink", "symlink", MAKES},
	{"symlinkat", "symlinkat", MAKES},
	{"bind", "bind", MAKES},
	{"link", "link", MAKES | MOVES},
	{"linkat", "linkat", MAKES | MOVES},
	{"rename", "rename", MAKES | MOVES | REMOVES},
	{"renameat", "renameat", MAKES | MOVES | REMOVES},
	{"renameat2", "renameat2", MAKES | MOVES | REMOVES},
	{"unlink", "unlink", REMOVES},
	{"unlinkat", "unlinkat", REMOVES},
	{"rmdir", "rmdir", REMOVES},
	{"truncate", "truncate", WRITES},
	{"chmod", "chmod", MODE},
	{"fchmod", "fchmodat", MODE},
	{"fchmodat", "fchmodat", MODE},
	{"fchmodat2", "fchmodat", MODE},
	{"chown", "chown", OWNER | MODE}, /* which takes set-id bits away */
	{"lchown", "lchown", OWNER | MODE},
	{"fchown", "fchownat", OWNER | MODE},
	{"fchownat", "fchownat", OWNER | MODE},
	{"utime", "utime", TIMES},
	{"utimes", "utimes", TIMES},
	{"futimesat", "futimesat", TIMES},
	{"utimensat", "utimensat", TIMES},
	{"setxattr", "setxattr", ATTRS | MODE}, /* an access list makes the mode */
	{"lsetxattr", "setxattr", ATTRS | MODE},
	{"fsetxattr", "setxattr", ATTRS | MODE},
	{"removexattr", "removexattr", ATTRS},
	{"lremovexattr", "removexattr", ATTRS},
	{"fremovexattr", "removexattr", ATTRS},
	{"getxattr", "getxattr", 0},
	{"lgetxattr", "getxattr", 0},
	{"fgetxattr", "getxattr", 0},
	{"listxattr", "listxattr", 0},
	{"llistxattr", "listxattr", 0},
	{"flistxattr", "listxattr", 0},
	{"connect", "connect", 0},
	{"ptrace", "ptrace", 0},
};

/* The events that cover a change; any of them covers changed times. */
static const unsigned covers[AK_C_COUNT] = {
	[AK_C_MADE] = MAKES,  [AK_C_GONE] = REMOVES,   [AK_C_MODE] = MODE, [AK_C_OWNER] = OWNER,
	[AK_C_ATTRS] = ATTRS, [AK_C_CONTENT] = WRITES, [AK_C_TIMES] = ~0u,
};
static const char *const changes[AK_C_COUNT] = {
	[AK_C_MADE] = "was made",
	[AK_C_GONE] = "was removed",
	[AK_C_MODE] = "has another mode",
	[AK_C_OWNER] = "has another owner",
	[AK_C_ATTRS] = "has other attributes",
	[AK_C_CONTENT] = "has another content",
	[AK_C_TIMES] = "has other times",
};

static const char *told_as(const char *call)
{
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
		if (!strcmp(calls[i].call, call))
			return calls[i].told_as;
	return NULL;
}

static unsigned does(const struct ak_event *e)
{
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++)
		if (!strcmp(calls[i].told_as, e->call))
			return calls[i].does;
	return 0;
}

/* ---- the events of one program ---- */

#define EVENTS 3000 /* different ones */
struct told {
	const struct ak_event *done[EVENTS]; /* each once: races repeat them */
	unsigned n;
};

/* Nobody waits for what the broker does for a process that was killed meanwhile, and an event
 * has the time at which it is written, after the act. */
#define LATE_NS 2000000000

static bool is_in(const struct ak_act *a, const struct ak_event *e)
{
	return e->ns >= a->from && e->ns <= a->until;
}
static bool is_in_or_late(const struct ak_act *a, const struct ak_event *e)
{
	return e->ns >= a->from && e->ns <= a->until + LATE_NS;
}

static bool is_done(const struct ak_event *e)
{
	return !e->is_denied && !e->err && !strcmp(e->op, "modify");
}

static bool same(const struct ak_event *a, const struct ak_event *b)
{
	return !strcmp(a->path, b->path) && !strcmp(a->path2, b->path2) &&
	       !strcmp(a->call, b->call);
}

static void collect(const struct ak_log *log, const struct ak_act *a, struct told *out)
{
	out->n = 0;
	for (size_t i = 0; i < log->n && out->n < EVENTS; i++) {
		unsigned k = 0;

		if (!is_in_or_late(a, &log->v[i]) || !is_done(&log->v[i]))
			continue;
		while (k < out->n && !same(out->done[k], &log->v[i]))
			k++;
		if (k == out->n)
			out->done[out->n++] = &log->v[i];
	}
}

/* ---- the names that an object had meanwhile ---- */

#define NAMES 64
struct names {
	char *v[NAMES];
	unsigned n;
};

static bool has_name(const struct names *s, const char *path)
{
	for (unsigned i = 0; i < s->n; i++)
		if (!strcmp(s->v[i], path))
			return true;
	return false;
}

static void add_name(struct names *s, const char *path, const char *rest)
{
	char *name = NULL;

	if (s->n == NAMES || strlen(path) + strlen(rest) > 3000)
		return;
	if (asprintf(&name, "%s%s", path, rest) < 0)
		abort();
	if (has_name(s, name))
		free(name);
	else
		s->v[s->n++] = name;
}

/* What is left of `path` below `dir`, "" for itself; NULL: it lies elsewhere. */
static const char *rest_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	if (!n || strncmp(path, dir, n) != 0 || (path[n] && path[n] != '/'))
		return NULL;
	return path + n;
}

/* By renames and links, of the object or of a directory that it lay in. */
static void follow(struct names *s, const struct told *t)
{
	for (unsigned before = 0; before != s->n;) {
		before = s->n;
		for (unsigned i = 0; i < t->n; i++) {
			const struct ak_event *e = t->done[i];

			for (unsigned k = 0; does(e) & MOVES && *e->path && k < before; k++) {
				const char *from = rest_below(s->v[k], e->path),
					   *to = rest_below(s->v[k], e->path2);

				if (from)
					add_name(s, e->path2, from);
				if (to)
					add_name(s, e->path, to);
			}
		}
	}
}

static void names_of(const struct ak_change *c, const struct told *t, struct names *out)
{
	out->n = 0;
	add_name(out, c->path, "");
	for (unsigned i = 0; i < AK_OBJECT_NAMES && c->also[i]; i++)
		add_name(out, c->also[i], "");
	follow(out, t);
}

static void release(struct names *s)
{
	while (s->n)
		free(s->v[--s->n]);
}

/* ---- is a change told? ---- */

/* The directory itself was moved, with all that is in it. */
static bool moved_with(const struct ak_event *e, const char *path)
{
	return does(e) & MOVES && (rest_below(path, e->path) || rest_below(path, e->path2));
}

static bool is_in_dir(const char *path, const struct names *dirs)
{
	const char *slash = strrchr(path, '/');
	char dir[4200];

	snprintf(dir, sizeof dir, "%.*s", (int)(slash ? slash - path : 0), path);
	return has_name(dirs, dir);
}

static bool speaks_of(const struct ak_event *e, const struct ak_change *c, const struct names *s)
{
	if (!(does(e) & covers[c->kind]))
		return false;
	/* a name has come or gone: that very name is told */
	if (c->kind == AK_C_MADE || c->kind == AK_C_GONE)
		return !strcmp(e->path, c->path) || !strcmp(e->path2, c->path) ||
		       moved_with(e, c->path);
	if (has_name(s, e->path))
		return true;
	/* the times of a directory are those of its names, too */
	return c->kind == AK_C_TIMES &&
	       (has_name(s, e->path2) || is_in_dir(e->path, s) || is_in_dir(e->path2, s));
}

/* Whoever made a file with something in it has opened it to write, or linked or moved it. */
static bool has_writer(const struct told *t, const struct names *s)
{
	for (unsigned i = 0; i < t->n; i++) {
		const struct ak_event *e = t->done[i];

		if ((does(e) & WRITES && has_name(s, e->path)) ||
		    (does(e) & MOVES && (has_name(s, e->path2) || has_name(s, e->path))))
			return true;
	}
	return s->n > 1;
}

static bool is_told(const struct ak_change *c, const struct told *t)
{
	struct names s;
	bool found = false;

	names_of(c, t, &s);
	for (unsigned i = 0; i < t->n && !found; i++)
		found = speaks_of(t->done[i], c, &s);
	if (found && c->kind == AK_C_MADE && c->has_content)
		found = has_writer(t, &s);
	if (s.n == NAMES) /* too many to follow */
		found = true;
	release(&s);
	return found;
}

static void check_changes(const struct ak_world *w, const struct told *t, const struct ak_act *a,
			  struct ak_outcome *out)
{
	/* outsiders change things as well, and are in no record */
	if (a->prog.flags & AK_HOST || t->n == EVENTS)
		return;
	for (unsigned i = 0; i < a->changes.n; i++) {
		const struct ak_change *c = &a->changes.v[i];

		if (!is_told(c, t))
			ak_world_note(out, AK_F_UNRECORDED, "%.60s %s, and no event says so",
				      c->path + strlen(w->base) + 1, changes[c->kind]);
	}
}

/* ---- is a refusal told? ---- */

static uint64_t seen_as(const struct ak_act *a, const char *as)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < a->prog.n; i++) {
		const char *other = told_as(ak_calls[a->prog.op[i].call].name);

		if (other && !strcmp(other, as))
			n += a->refused[i];
	}
	return n;
}

/* `a` NULL: of the whole run. */
static uint64_t refused_as(const struct ak_log *log, const struct ak_act *a, const char *as)
{
	uint64_t n = 0;

	for (size_t i = 0; i < log->n; i++) {
		const struct ak_event *e = &log->v[i];

		if (e->is_brokers && (e->is_denied || e->err == EACCES) && (!a || is_in(a, e)) &&
		    !strcmp(e->call, as))
			n += e->count;
	}
	return n;
}

static void note_refusals(struct ak_outcome *out, const char *call, uint64_t seen, uint64_t told)
{
	ak_world_note(out, AK_F_UNRECORDED, "%s was refused %u times, and events say so of %u",
		      call, (unsigned)seen, (unsigned)told);
}

static void check_refusals(const struct ak_log *log, const struct ak_act *a, struct ak_outcome *out)
{
	for (unsigned i = 0; i < a->prog.n; i++) {
		const char *name = ak_calls[a->prog.op[i].call].name, *as = told_as(name);
		uint64_t seen, told;

		if (!a->refused[i] || !as)
			continue;
		seen = seen_as(a, as);
		told = refused_as(log, a, as);
		if (told < seen) {
			note_refusals(out, name, seen, told);
			out->found[out->nfound - 1].op = (uint8_t)i;
			return;
		}
	}
}

void ak_record_check_counts(const struct ak_log *log, const struct ak_act *acts, unsigned n,
			    struct ak_outcome *out)
{
	for (unsigned i = 0; i < sizeof calls / sizeof *calls; i++) {
		uint64_t seen = 0, told = refused_as(log, NULL, calls[i].told_as);

		for (unsigned k = 0; k < n; k++)
			seen += seen_as(&acts[k], calls[i].told_as);
		if (told < seen)
			note_refusals(out, calls[i].told_as, seen, told);
	}
}

/* ---- are the events true? ---- */

static bool may_not_be(const struct ak_world *w, const char *path)
{
	size_t n = strlen(w->base);

	if (strncmp(path, w->base, n) != 0 || path[n] != '/')
		return false;
	path += n + 1;
	return (!strncmp(path, "ws/", 3) || !strncmp(path, "home/", 5) ||
		!strncmp(path, "out/", 4)) &&
	       ak_rules(w->policy, path) & AK_NO_MODIFY;
}

static bool is_there(const struct ak_changes *c, const char *path)
{
	uint64_t h = ak_hash_name(path);

	for (unsigned i = 0; i < c->nthere; i++)
		if (c->there[i] == h)
			return true;
	return false;
}

/* Where one call came after the other the last word on a name is what is there. What the broker
 * ends for a process that was killed is told while the next program runs, and was done before its
 * world was made anew: an event of another process says nothing of this world. */
static void check_last(const struct ak_world *w, const struct ak_log *log, const struct ak_act *a,
		       const struct ak_event *e, struct ak_outcome *out)
{
	const char *path = *e->path2 ? e->path2 : e->path, *wrong = NULL;
	const char *rest = rest_below(path, w->base);

	/* no longer than the inventory looks */
	if (!e->is_brokers || e->pid != a->pid || !rest || strncmp(rest, "/ws/", 4) != 0 ||
	    strlen(path) > 3000)
		return;
	for (const struct ak_event *next = e + 1; next < log->v + log->n; next++)
		if (is_in_or_late(a, next) && is_done(next) &&
		    (rest_below(path, next->path) || rest_below(path, next->path2)))
			return;
	if (does(e) == REMOVES && is_there(&a->changes, path))
		wrong = "removed, and it is there";
	if (does(e) & MAKES && !(does(e) & WRITES) && !is_there(&a->changes, path))
		wrong = "made, and it is not there";
	if (wrong)
		ak_world_note(out, AK_F_UNTRUE, "an event says that %.50s was %s", rest + 1, wrong);
}

static void check_truth(const struct ak_world *w, const struct ak_log *log, const struct told *t,
			const struct ak_act *a, struct ak_outcome *out)
{
	for (unsigned i = 0; i < t->n; i++) {
		const struct ak_event *e = t->done[i];
		const char *bad = may_not_be(w, e->path)    ? e->path
				  : may_not_be(w, e->path2) ? e->path2
							    : NULL;

		if (bad && e->is_brokers)
			ak_world_note(out, AK_F_UNTRUE, "an event says that %s changed %.50s",
				      e->call, bad + strlen(w->base) + 1);
	}
	if (a->prog.flags & (AK_RACE | AK_FORK | AK_HOST))
		return;
	for (size_t i = 0; i < log->n; i++)
		if (is_in(a, &log->v[i]) && is_done(&log->v[i]))
			check_last(w, log, a, &log->v[i], out);
}

void ak_record_check(const struct ak_world *w, const struct ak_log *log, const struct ak_act *a,
		     bool is_each_told, struct ak_outcome *out)
{
	static struct told t;

	collect(log, a, &t);
	check_changes(w, &t, a, out);
	if (is_each_told)
		check_refusals(log, a, out);
	check_truth(w, log, &t, a, out);
}
