/* SPDX-License-Identifier: Apache-2.0 */
/*
 * learn.c - the smallest readable policy under which the same work passes; see views.h.
 *
 * Only what a profile decides is learned: what the launcher allows anyway (the system's files, the
 * scratch) needs no rule, and what a set of secret or protected paths denies gets none, even where
 * an option had opened it. A directory with LEARN_MANY names or more counts as a whole; a name that
 * came and went, or became a symlink, which no name that is granted alone may be, stands for all of
 * its directory. Every event is then asked of the policy again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/sbx.h"
#include "views/learn_net.h"
#include "views/views.h"

enum { LEARN_MANY = 4, RULES_MAX = 24, NODES_MAX = 500000, ASKED_MAX = 200 };

enum { DO_READ, DO_MODIFY, DO_COUNT };
static const char *const op_names[DO_COUNT] = {"read", "modify"};

/* A name below its parent; the root is the workspace. */
struct node {
	UT_hash_handle hh;
	char *path; /* "./a/b" */
	struct node *parent, *child, *next;
	uint64_t calls[DO_COUNT]; /* of the name itself */
	uint64_t names[DO_COUNT]; /* below it, with it */
	uint64_t below[DO_COUNT]; /* calls of all these */
	bool was_written, is_gone;
	bool was_executed, is_link;
};

struct rule {
	char *text;
	uint64_t calls;
};

struct rules {
	struct rule *v;
	size_t n, cap;
};

struct lesson {
	struct node *table; /* uthash, by path */
	struct rules rules[DO_COUNT];
	struct {
		char **v;
		size_t n, cap;
	} beside;			   /* options that the work needs, too */
	uint64_t asked, refused, left_out; /* left_out: calls on names beyond NODES_MAX */
	uint64_t unasked;		   /* names that are too long for a question */
	struct view_endpoints endpoints;
	struct b_str missed; /* what the policy does not allow after all */
};

static void release(struct lesson *l)
{
	struct node *n = l->table, *next;
	size_t i, k;

	view_endpoints_release(&l->endpoints);
	HASH_CLEAR(hh, l->table);
	for (; n; n = next) {
		next = n->hh.next;
		free(n->path);
		free(n);
	}
	for (k = 0; k < DO_COUNT; k++) {
		for (i = 0; i < l->rules[k].n; i++)
			free(l->rules[k].v[i].text);
		free(l->rules[k].v);
	}
	for (i = 0; i < l->beside.n; i++)
		free(l->beside.v[i]);
	free(l->beside.v);
	b_str_release(&l->missed);
}

/* ---- gathering ---- */

static struct node *node_of(struct lesson *l, const char *path, size_t len)
{
	const char *slash;
	struct node *n;

	HASH_FIND(hh, l->table, path, len, n);
	if (n || HASH_COUNT(l->table) >= NODES_MAX)
		return n;
	n = b_calloc(1, sizeof *n);
	n->path = b_strndup(path, len);
	HASH_ADD_KEYPTR(hh, l->table, n->path, len, n);
	slash = memrchr(path, '/', len);
	if (slash)
		n->parent = node_of(l, path, (size_t)(slash - path));
	if (n->parent) {
		n->next = n->parent->child;
		n->parent->child = n;
	}
	return n;
}

static void note(struct lesson *l, const char *path, int op, uint64_t calls, bool *out_is_new)
{
	struct node *n = node_of(l, path, strlen(path)), *up;
	bool is_new;

	if (!n) {
		l->left_out += calls;
		return;
	}
	is_new = !n->calls[op];
	*out_is_new = is_new;
	n->calls[op] += calls;
	for (up = n; up; up = up->parent) {
		up->names[op] += is_new;
		up->below[op] += calls;
	}
}

static void note_beside(struct lesson *l, const char *text)
{
	size_t i;

	for (i = 0; i < l->beside.n; i++)
		if (strcmp(l->beside.v[i], text) == 0)
			return;
	if (l->beside.n == ASKED_MAX)
		return;
	b_grow(l->beside.v, l->beside.n, l->beside.cap);
	l->beside.v[l->beside.n++] = b_strdup(text);
}

/* What an option or a preset opened outside of the workspace has to be opened so again. */
static void note_outside(struct lesson *l, const struct aud_entry *e)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (b_has_prefix(e->rule, "preset:")) {
		const char *name = e->rule + sizeof "preset:" - 1;

		b_str_add(&text, "--preset ");
		b_str_add_visible(&text, name, strcspn(name, ":"));
	} else if (b_has_prefix(e->rule, "cli:")) {
		const char *name = e->rule + sizeof "cli:" - 1;

		b_str_add_visible(&text, name, strcspn(name, ":"));
		b_str_addc(&text, ' ');
		view_text(&text, e->matched_rule);
	} else {
		return;
	}
	note_beside(l, text.s);
}

static bool is_inside(const char *path)
{
	return path[0] == '.' && (!path[1] || path[1] == '/');
}

static void note_event(struct lesson *l, const struct aud_entry *e)
{
	int op = strcmp(e->op, "modify") == 0 ? DO_MODIFY : DO_READ;
	const char *const paths[] = {e->path, e->path2};
	bool is_new = false;
	size_t i;

	if (!e->has_verdict || !e->allowed || aud_entry_is_denied(e) || e->is_claim)
		return;
	if (strcmp(e->op, "connect") == 0) {
		view_endpoints_note(&l->endpoints, e);
		return;
	}
	for (i = 0; i < 2; i++) {
		if (!*paths[i])
			continue;
		if (!is_inside(paths[i])) {
			note_outside(l, e);
			continue;
		}
		note(l, paths[i], op, (uint64_t)e->count, &is_new);
	}
	if (strcmp(e->op, "exec") == 0 && is_inside(e->path)) {
		struct node *n = node_of(l, e->path, strlen(e->path));

		if (n)
			n->was_executed = true;
	}
	if (op == DO_MODIFY && is_inside(e->path)) {
		struct node *n = node_of(l, e->path, strlen(e->path));

		if (n && (strstr(e->call, "unlink") || strstr(e->call, "rename") ||
			  strcmp(e->call, "remove") == 0))
			n->is_gone = n->was_written;
		else if (n)
			n->was_written = true;
		if (n && b_has_prefix(e->call, "symlink"))
			n->is_link = true;
	}
}

/* ---- rules ---- */

/* The name came from the command: it must not read as an exception, as a home or as a list of
 * names. What the language has no other word for is a question mark, any one byte. */
static void add_name(struct b_str *out, const char *path)
{
	const char *first = path[0] == '.' && path[1] == '/' ? path + 2 : path;

	for (path = *first == '!' ? path : first; *path; path++)
		b_str_addc(out, *path == '*' || (path == first && *path == '~') ? '?' : *path);
}

/* Takes the text. */
static void add_text(struct rules *r, char *text, uint64_t calls)
{
	for (size_t i = 0; i < r->n; i++) {
		if (strcmp(r->v[i].text, text) != 0)
			continue;
		r->v[i].calls += calls;
		free(text);
		return;
	}
	b_grow(r->v, r->n, r->cap);
	r->v[r->n++] = (struct rule){text, calls};
}

static void add_rule(struct rules *r, const char *path, const char *tail, uint64_t calls)
{
	struct b_str text = {0};

	if (path[0] == '.' && !path[1])
		path = *tail ? "" : ".";
	add_name(&text, path);
	b_str_add(&text, *path ? tail : tail + (*tail == '/'));
	add_text(r, b_str_take(&text), calls);
}

static bool is_temporary(const struct node *n)
{
	size_t len = strlen(n->path);

	return n->is_gone && !(len > 5 && strcmp(n->path + len - 5, ".lock") == 0);
}

/* Bytes that no rule can say stand for their directory. */
static bool is_sayable(const char *path)
{
	return b_utf8_valid(path, strlen(path));
}

static void derive(struct rules *r, const struct node *n, int op, unsigned depth)
{
	enum { DEPTH_MAX = 60 };
	const struct node *c;

	if (!n->names[op])
		return;
	if (n->parent && (n->names[op] >= LEARN_MANY + !!n->calls[op] || depth == DEPTH_MAX) &&
	    is_sayable(n->path)) {
		add_rule(r, n->path, "/**", n->below[op]);
		return;
	}
	/* a rule on a file alone cannot let it be executed when it is made in the run: Landlock
	 * needs one on a directory that is there before */
	if (op == DO_READ && n->was_executed && n->was_written && n->parent)
		add_rule(r, n->parent->path, "/**", n->parent->below[op]);
	if (n->calls[op] && n->parent && (is_temporary(n) || n->is_link || !is_sayable(n->path)))
		add_rule(r, n->parent->path, "/*", n->calls[op]);
	else if (n->calls[op])
		add_rule(r, n->path, "", n->calls[op]);
	for (c = n->child; c; c = c->next)
		derive(r, c, op, depth + 1);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct rule *)a)->text, ((const struct rule *)b)->text);
}

static void forget(struct rules *r)
{
	while (r->n)
		free(r->v[--r->n].text);
}

/* Is all that `text` says said by `have`, another rule? */
static bool says_more(const char *have, const char *text)
{
	size_t n = strlen(have);
	const char *slash = strrchr(text, '/');
	size_t parent = slash ? (size_t)(slash - text) + 1 : 0;

	if (strcmp(have, "**") == 0)
		return true;
	if (n >= 3 && strcmp(have + n - 3, "/**") == 0)
		return strncmp(have, text, n - 3) == 0 && (text[n - 3] == '/' || !text[n - 3]);
	return have[n - 1] == '*' && n - 1 == parent && strncmp(have, text, parent) == 0 &&
	       text[parent] && !strchr(text + parent, '*');
}

static bool is_covered(const struct rules *r, const char *text)
{
	size_t i;

	for (i = 0; i < r->n; i++)
		if (strcmp(r->v[i].text, text) == 0 || says_more(r->v[i].text, text))
			return true;
	return false;
}

/* Rules that another one says, too. */
static void drop_covered(struct rules *r)
{
	size_t i, k;

	for (i = 0; i < r->n; i++)
		for (k = 0; k < r->n; k++) {
			if (i == k || !says_more(r->v[k].text, r->v[i].text) ||
			    strcmp(r->v[k].text, r->v[i].text) == 0)
				continue;
			r->v[k].calls += r->v[i].calls;
			free(r->v[i].text);
			r->v[i--] = r->v[--r->n];
			break;
		}
}

static void make_rules(struct lesson *l)
{
	struct node *root = node_of(l, ".", 1);
	size_t i;
	int op;

	for (op = 0; op < DO_COUNT; op++) {
		struct rules *r = &l->rules[op];

		derive(r, root, op, 0);
		drop_covered(r);
		if (r->n > RULES_MAX) {
			forget(r);
			add_rule(r, ".", "/**", root->below[op]);
		}
	}
	/* the language asks that what may be changed may be read */
	for (i = 0; i < l->rules[DO_MODIFY].n; i++)
		if (!is_covered(&l->rules[DO_READ], l->rules[DO_MODIFY].v[i].text))
			add_text(&l->rules[DO_READ], b_strdup(l->rules[DO_MODIFY].v[i].text), 0);
	drop_covered(&l->rules[DO_READ]);
	for (op = 0; op < DO_COUNT; op++)
		if (l->rules[op].n)
			qsort(l->rules[op].v, l->rules[op].n, sizeof(struct rule), by_text);
}

static void write_policy(const struct view_learn *how, struct lesson *l, struct b_str *out)
{
	struct b_json j = {.out = out};
	size_t i;
	int op;

	b_str_add(out, "# Learned by sbx-audit from");
	for (i = 0; i < how->n && i < 8; i++)
		b_str_addf(out, " %s", how->runs[i].id);
	b_str_addf(
		out,
		"%s.\n# A directory with %d names or more counts as a whole. Secret and protected "
		"paths stay denied.\n",
		how->n > 8 ? " ..." : "", LEARN_MANY);
	for (i = 0; i < l->beside.n; i++)
		b_str_addf(out, "# also needed: %s\n", l->beside.v[i]);
	b_str_add(out, "schemaVersion: 2\nkind: Policy\nmetadata:\n  name: learned\nspec:\n"
		       "  fsProfiles:\n    learned:\n");
	for (op = 0; op < DO_COUNT; op++) {
		const struct rules *r = &l->rules[op];

		b_str_addf(out, "      %s:%s\n", op_names[op], r->n ? "" : " []");
		for (i = 0; i < r->n; i++) {
			b_str_add(out, "        - ");
			j.need_comma = false;
			b_json_str(&j, r->v[i].text);
			if (r->v[i].calls)
				b_str_addf(out, " # %" PRIu64 "\n", r->v[i].calls);
			else
				b_str_add(out, " # needed for a modify rule\n");
		}
	}
	view_endpoints_write(&l->endpoints, out);
}

/* ---- the proof ---- */

static void note_missed(struct lesson *l, const struct node *n, int op, const char *rule)
{
	if (++l->refused > 20)
		return;
	b_str_addf(&l->missed, "# not allowed: %s ", op_names[op]);
	view_text(&l->missed, n->path);
	b_str_add(&l->missed, " (");
	view_text(&l->missed, rule);
	b_str_add(&l->missed, ")\n");
}

static void replay(struct lesson *l, struct sbx_policy *policy)
{
	static const enum sbx_policy_operation ops[] = {SBX_POLICY_READ, SBX_POLICY_MODIFY};
	struct sbx_answer a;
	struct node *n;
	int op;

	for (n = l->table; n; n = n->hh.next)
		for (op = 0; op < DO_COUNT; op++) {
			if (!n->calls[op])
				continue;
			if (sbx_policy_check_resolved(policy, ops[op], n->path, &a, NULL) < 0) {
				l->unasked++;
				continue;
			}
			l->asked++;
			if (!a.allowed)
				note_missed(l, n, op, a.rule);
		}
}

static int prove(struct lesson *l, const struct aud_run *run, const struct b_str *text,
		 struct b_err *err)
{
	char name[] = "/tmp/sbx-learn-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC), rc = -1;
	struct sbx_load how = {.policy = name,
			       .workspace = run->nworkspaces ? run->workspaces[0] : NULL};
	struct sbx_policy *policy = NULL;
	struct sbx_error why;

	if (fd < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", name, strerror(errno));
	if (b_write_all(fd, text->s, text->len) < 0)
		b_fail(err, B_SYSTEM, errno, "%s: %s", name, strerror(errno));
	else if (sbx_policy_load(&how, &policy, &why) < 0)
		b_fail(err, B_POLICY, 0, "learn: %s", why.message);
	else
		rc = 0;
	if (rc == 0)
		replay(l, policy);
	close(fd);
	unlink(name);
	sbx_policy_free(policy);
	return rc;
}

static void write_proof(const struct lesson *l, struct b_str *out)
{
	if (l->left_out)
		b_str_addf(out,
			   "# %" PRIu64 " calls were left out: the runs have more than %d names.\n",
			   l->left_out, NODES_MAX);
	if (l->unasked)
		b_str_addf(out,
			   "# %" PRIu64 " names of the runs could not be asked of it: they are too "
			   "long.\n",
			   l->unasked);
	if (l->refused)
		b_str_addf(out,
			   "# %" PRIu64 " of %" PRIu64 " names of the runs are not allowed:\n%s",
			   l->refused, l->asked, b_str_c(&l->missed));
	else
		b_str_addf(out,
			   "# All %" PRIu64 " names of the runs were asked of it again: allowed.\n",
			   l->asked);
}

int view_learn(struct view *v, const struct view_learn *how, struct b_err *err)
{
	b_auto(release) struct lesson l = {.table = NULL};
	b_auto(b_str_release) struct b_str text = {0};
	size_t i;

	node_of(&l, ".", 1);
	for (i = 0; i < how->n; i++) {
		b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
		int got;

		v->run = &how->runs[i];
		if (aud_reader_open(&r, v->run, err) < 0)
			return -1;
		while ((got = view_next(v, &r, err)) > 0)
			note_event(&l, &r.e);
		if (got < 0)
			return -1;
	}
	make_rules(&l);
	write_policy(how, &l, &text);
	if (prove(&l, &how->runs[0], &text, err) < 0)
		return -1;
	write_proof(&l, v->out);
	b_str_addn(v->out, text.s, text.len);
	return !l.refused && !l.left_out && !l.unasked;
}
