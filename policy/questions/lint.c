/* SPDX-License-Identifier: Apache-2.0 */
/* lint.c - findings: kept, ordered, printed; and those that need a host. */
#include "policy/questions/lint.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/fold.h"
#include "policy/compile/ruleset.h"
#include "policy/engine.h"
#include "policy/plan/floor.h"

/* Findings: kept, ordered, told. See lint.h. */

const char *pol_lint_name(enum pol_lint_code code)
{
	static const char *const names[] = {
#define X(code, name) [POL_LINT_##code] = name,
		POL_LINTS(X)
#undef X
	};

	return names[code];
}

struct pol_finding *pol_lint_add(struct pol_lint *l, enum pol_lint_code code, const char *where,
				 const char *rule, const char *fmt, ...)
{
	b_auto(b_str_release) struct b_str text = {0};
	va_list ap;

	for (size_t i = 0; i < l->n; i++) {
		struct pol_finding *f = &l->v[i];

		if (f->code == code && strcmp(f->where, where) == 0 && strcmp(f->rule, rule) == 0) {
			f->seen++;
			return f;
		}
	}
	va_start(ap, fmt);
	b_str_addfv(&text, fmt, ap);
	va_end(ap);
	b_grow(l->v, l->n, l->cap);
	l->v[l->n] = (struct pol_finding){
		.code = code,
		.where = b_arena_strndup(&l->arena, where, strlen(where)),
		.rule = b_arena_strndup(&l->arena, rule, strlen(rule)),
		.text = b_arena_strndup(&l->arena, b_str_c(&text), text.len),
		.seen = 1,
	};
	return &l->v[l->n++];
}

void pol_lint_release(struct pol_lint *l)
{
	free(l->v);
	b_arena_release(&l->arena);
	*l = (struct pol_lint){.n = 0};
}

/* "file:line:col" apart; 0 where it is another kind of origin. */
struct place {
	size_t file; /* length of the name */
	unsigned long line, col;
};

static struct place place_of(const char *where)
{
	struct place none = {strlen(where), 0, 0}, p = none;
	size_t end = none.file;

	for (int part = 0; part < 2; part++) {
		unsigned long value = 0, unit = 1;
		size_t i = end;

		while (i > 0 && where[i - 1] >= '0' && where[i - 1] <= '9' && end - i < 9) {
			value += unit * (unsigned long)(where[--i] - '0');
			unit *= 10;
		}
		if (i == end || i == 0 || where[i - 1] != ':')
			return none;
		end = i - 1;
		*(part == 0 ? &p.col : &p.line) = value;
	}
	p.file = end;
	return p;
}

static int by_place(const void *a, const void *b)
{
	const struct pol_finding *x = a, *y = b;
	struct place p = place_of(x->where), q = place_of(y->where);
	int c = strncmp(x->where, y->where, p.file > q.file ? p.file : q.file);

	if (c == 0 || (p.file == q.file && memcmp(x->where, y->where, p.file) == 0)) {
		if (p.line != q.line)
			return p.line < q.line ? -1 : 1;
		if (p.col != q.col)
			return p.col < q.col ? -1 : 1;
		if (x->code != y->code)
			return x->code < y->code ? -1 : 1;
		return strcmp(x->rule, y->rule);
	}
	return c;
}

static void sort(struct pol_lint *l)
{
	if (l->n > 1)
		qsort(l->v, l->n, sizeof *l->v, by_place);
}

void pol_lint_text(struct pol_lint *l, struct b_str *out)
{
	sort(l);
	for (size_t i = 0; i < l->n; i++) {
		const struct pol_finding *f = &l->v[i];

		b_str_add_visible(out, f->where, strlen(f->where));
		b_str_add(out, ": ");
		b_str_add_visible(out, f->text, strlen(f->text));
		b_str_addf(out, " [%s]\n", pol_lint_name(f->code));
	}
}

void pol_lint_json(struct pol_lint *l, struct b_str *out)
{
	struct b_json j = {.out = out};

	sort(l);
	b_json_open(&j, '[');
	for (size_t i = 0; i < l->n; i++) {
		const struct pol_finding *f = &l->v[i];
		struct place p = place_of(f->where);

		b_json_open(&j, '{');
		b_json_bytes(&j, "file", f->where, p.file);
		b_json_key(&j, "line");
		b_json_u64(&j, p.line);
		b_json_key(&j, "column");
		b_json_u64(&j, p.col);
		b_json_key(&j, "code");
		b_json_str(&j, pol_lint_name(f->code));
		b_json_bytes(&j, "rule", f->rule, strlen(f->rule));
		b_json_bytes(&j, "message", f->text, strlen(f->text));
		b_json_close(&j, '}');
	}
	b_json_close(&j, ']');
	b_str_addc(out, '\n');
}

/* Findings that need a host: what exists, which secrets are open, what the floor
 * cannot hold. */

struct host_lint {
	struct pol_lint *lint;
	struct pol_engine *engine;
	const char *ws;
};

/* What the workspace has there: 'd', 'f', or 0 for nothing. */
static char type_of(const struct host_lint *h, const char *rel)
{
	b_auto(b_str_release) struct b_str path = {0};
	struct stat st;

	b_str_addf(&path, "%s/%s", h->ws, rel);
	if (lstat(path.s, &st) < 0)
		return 0;
	return S_ISDIR(st.st_mode) ? 'd' : 'f';
}

static bool has_tree(struct b_arena *a, const struct pol_texts *texts, const char *rule,
		     bool negated)
{
	const char *tree = b_arena_printf(a, "%s/**", rule);

	for (size_t i = 0; i < texts->n; i++) {
		bool other;
		const char *s = pol_rule_normalise(a, texts->v[i].s, "rule", &other, NULL);

		if (s && other == negated && (strcmp(s, tree) == 0 || strcmp(s, "**") == 0))
			return true;
	}
	return false;
}

static void lint_directories(struct host_lint *h, const struct pol_texts *texts)
{
	for (size_t i = 0; i < texts->n; i++) {
		const struct pol_text *t = &texts->v[i];
		b_auto(b_str_release) struct b_str where = {0};
		bool negated, below;
		size_t len;
		const char *rule =
			pol_rule_normalise(&h->lint->arena, t->s, "rule", &negated, NULL);

		if (!rule || !pol_rule_is_subtree(rule, &len, &below) || below || len == 0 ||
		    type_of(h, rule) != 'd' || has_tree(&h->lint->arena, texts, rule, negated))
			continue;
		b_str_addf(&where, "%s:%u:%u", t->pos.file, t->pos.line, t->pos.col);
		pol_lint_add(h->lint, POL_LINT_DIRECTORY, where.s, rule,
			     "rule `%s` names the directory alone, nothing in it: `%s/**` covers "
			     "both",
			     t->s, rule);
	}
}

/* A name with brackets that exists is meant as it stands. */
static void drop_existing(struct host_lint *h)
{
	struct pol_lint *l = h->lint;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		const char *rule = l->v[i].rule + (l->v[i].rule[0] == '!');
		size_t len = strcspn(rule, "*?");

		while (len > 0 && rule[len] != '\0' && rule[len - 1] != '/')
			len--;
		if (l->v[i].code == POL_LINT_LITERAL && !strchr(rule, '\\') && len > 0 &&
		    type_of(h, b_arena_strndup(&l->arena, rule, len)))
			continue;
		l->v[n++] = l->v[i];
	}
	l->n = n;
}

/* ---- secrets ---- */

static int take_secret(void *arg, const char *path, size_t len)
{
	struct host_lint *h = arg;
	b_auto(b_str_release) struct b_str name = {0};
	struct sbx_verdict v;

	sbx_explain(&h->engine->image, SBX_READ, path, len, &v);
	pol_engine_shown(h->engine, path, &name);
	pol_lint_add(h->lint, POL_LINT_SECRET, v.origin, v.matched,
		     "rule `%s` opens secrets: %s can be read", v.matched, b_str_c(&name))
		->is_exact = true;
	return 0;
}

/* What the sets close to reading, and rules behind them open. */
static int lint_sets(struct host_lint *h, struct b_err *err)
{
	const struct pol_list *list = &h->engine->rules.op[SBX_READ];
	b_auto_free struct pol_rule *v = b_calloc(list->n + 1, sizeof *v);
	struct pol_list closed = {v, 0, list->n};
	struct pol_verdicts verdicts;
	const struct pol_side sides[] = {{&h->engine->image, SBX_READ},
					 {&verdicts.image, SBX_READ}};
	int rc;

	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].tier != POL_TIER_SET || list->v[i].allow)
			continue;
		v[closed.n] = list->v[i];
		v[closed.n].layer = POL_LAYER_MAIN;
		v[closed.n++].allow = true;
	}
	if (closed.n == 0)
		return 0;
	if (pol_verdicts_of(&closed, &verdicts, err) < 0)
		return -1;
	rc = pol_each_state(sides, 2, POL_WHERE(1 | 2), take_secret, h, err);
	pol_verdicts_release(&verdicts);
	return rc < 0 ? -1 : 0;
}

/* Files that usually hold credentials, where a project has them. */
static void lint_workspace(struct host_lint *h)
{
	static const char *const names[] = {
		".env",	       ".env.local", ".env.production",	 ".npmrc",	     ".netrc",
		".pypirc",     ".pgpass",    ".git-credentials", "credentials.json", "secrets.yaml",
		"secrets.yml", "id_rsa",     "id_ed25519",	 "id_ecdsa",
	};

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		b_auto(b_str_release) struct b_str path = {0};
		struct sbx_verdict v;

		if (type_of(h, names[i]) != 'f')
			continue;
		b_str_addf(&path, "%s/%s", h->ws, names[i]);
		sbx_explain(&h->engine->image, SBX_READ, path.s, path.len, &v);
		if (v.allowed)
			pol_lint_add(h->lint, POL_LINT_SECRET, v.origin, names[i],
				     "rule `%s` lets the command read ./%s, which looks like "
				     "credentials: close it with denyRead",
				     v.matched, names[i]);
	}
}

static void lint_opened(struct host_lint *h)
{
	for (size_t i = 0; i < h->engine->nopened; i++) {
		const struct pol_opened *o = &h->engine->opened[i];

		pol_lint_add(h->lint, POL_LINT_OBEYED, o->origin, o->matched, "rule `%s` %s",
			     o->matched, o->text)
			->is_exact = true;
	}
}

static void lint_floor(struct host_lint *h, const struct pol_floor *floor)
{
	for (size_t i = 0; i < floor->ngaps; i++) {
		const struct pol_gap *g = &floor->gaps[i];

		if (g->fatal)
			pol_lint_add(h->lint, POL_LINT_NOT_ENFORCED,
				     *g->origin ? g->origin : h->engine->policy_name, g->rule,
				     "%s rule `%s` cannot be enforced on this host: %s: %s",
				     sbx_op_name(g->op), g->rule, g->why, g->remedy);
	}
}

/* ---- layers ---- */

/* Does all that the rule decides in its layer stay closed by another one? */
static int lint_layer_rule(struct host_lint *h, enum sbx_op op, size_t i, struct b_err *err)
{
	const struct pol_list *list = &h->engine->rules.op[op];
	b_auto(b_str_release) struct b_str path = {0}, any = {0};
	struct pol_verdicts decided;
	const struct pol_side sides[] = {{&decided.image, SBX_READ}, {&h->engine->image, op}};
	struct sbx_verdict v;
	int rc;

	if (h->lint->work + list->n > POL_LINT_WORK) {
		h->lint->unexamined++;
		return 0;
	}
	h->lint->work += list->n;
	if (pol_verdicts_decided(list, i, &decided, err) < 0)
		return -1;
	rc = pol_find_path(sides, 2, POL_WHERE(1 | 2), &any, err);
	if (rc == 0)
		rc = pol_find_path(sides, 1, POL_WHERE(1), &path, err) < 0 ? -1 : 0;
	pol_verdicts_release(&decided);
	if (rc != 0 || path.len == 0)
		return rc < 0 ? -1 : 0;
	sbx_explain(&h->engine->image, op, path.s, path.len, &v);
	pol_lint_add(h->lint, POL_LINT_WEAKENED, list->v[i].origin, list->v[i].matched,
		     "%s rule `%s` opens what another document closes, and it stays closed: `%s` "
		     "(%s)",
		     sbx_op_name(op), list->v[i].matched, v.matched, v.origin)
		->is_exact = true;
	return 0;
}

/* A document without profiles allows all by a rule that stands where the document begins. */
static bool is_written(const struct pol_rule *r)
{
	size_t n = strlen(r->origin);

	return n < 4 || strcmp(r->origin + n - 4, ":1:1") != 0;
}

static int lint_layers(struct host_lint *h, struct b_err *err)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		const struct pol_list *list = &h->engine->rules.op[op];

		if (list->n == 0 || list->v[0].layer == list->v[list->n - 1].layer)
			continue;
		for (size_t i = 0; i < list->n; i++)
			if (list->v[i].allow && list->v[i].tier == POL_TIER_PROFILE &&
			    is_written(&list->v[i]) &&
			    lint_layer_rule(h, (enum sbx_op)op, i, err) < 0)
				return -1;
	}
	return 0;
}

int pol_lint_host(struct pol_lint *l, struct pol_doc *doc, struct pol_engine *engine,
		  const struct pol_floor *floor, struct b_err *err)
{
	struct host_lint h = {l, engine, engine->rules.workspaces[0]};

	if (strcmp(h.ws, "/") == 0)
		h.ws = "";
	drop_existing(&h);
	lint_directories(&h, &doc->deny_read);
	lint_directories(&h, &doc->deny_modify);
	for (size_t i = 0; i < doc->nprofiles; i++) {
		lint_directories(&h, &doc->profiles[i].read);
		lint_directories(&h, &doc->profiles[i].modify);
	}
	lint_workspace(&h);
	pol_lint_names(l, engine, h.ws);
	lint_floor(&h, floor);
	lint_opened(&h);
	if (lint_sets(&h, err) < 0 || lint_layers(&h, err) < 0)
		return -1;
	return pol_lint_found(l, doc, engine, err);
}

/* Names that look like what a rule denies, and are another file only where names are
 * told apart: on a disk without case, in a clone on another system, they are that file. */

#define RULES_MAX 2000 /* compared with one another */

struct names {
	struct pol_lint *lint;
	const struct pol_rule *rule;
	const char *name; /* of the rule, in its directory */
	const char *folded;
};

static const char *folded(struct pol_lint *l, const char *text)
{
	size_t len = strlen(text), size = SBX_FOLD_MAX * len + 1;
	char *out = b_arena_alloc(&l->arena, size);

	(void)sbx_fold_text(out, size, text, len, SBX_FOLD_TRIMS);
	return out;
}

static int meet_entry(void *arg, const char *name, char type)
{
	struct names *n = arg;

	(void)type;
	if (strcmp(name, n->name) != 0 && strcmp(folded(n->lint, name), n->folded) == 0)
		pol_lint_add(n->lint, POL_LINT_LOOKALIKE, n->rule->origin, n->rule->matched,
			     "`%s` is in the same directory as what rule `%s` denies, and is the "
			     "same name on a file system that ignores case and form",
			     name, n->rule->matched)
			->is_exact = true;
	return 0;
}

/* Each name of a literal rule below the workspace, in the directory where it would be. */
static void look_along(struct pol_lint *l, const struct pol_rule *r, const char *path, size_t ws)
{
	for (const char *at = path + ws; *at == '/';) {
		size_t n = strcspn(at + 1, "/");
		const char *dir = b_arena_strndup(&l->arena, path, (size_t)(at - path));
		const char *name = b_arena_strndup(&l->arena, at + 1, n);
		struct names names = {l, r, name, folded(l, name)};
		const struct pol_fsview *fs = pol_fsview_host();

		if (fs->list(fs->ctx, *dir ? dir : "/", meet_entry, &names) < 0)
			return;
		at += 1 + n;
	}
}

static const char *path_of(struct pol_lint *l, const struct pol_rule *r)
{
	return r->shape == POL_GLOB ? b_arena_printf(&l->arena, "%s/%s", r->base, r->glob)
				    : b_arena_strndup(&l->arena, r->base, r->base_len);
}

static bool is_below(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* A rule that allows what another denies by another spelling. */
static void compare(struct pol_lint *l, const struct pol_list *list, size_t i)
{
	const char *path = path_of(l, &list->v[i]), *text = folded(l, path);

	for (size_t k = 0; k < list->n; k++) {
		const struct pol_rule *r = &list->v[k];
		const char *other = r->allow ? path : path_of(l, r);

		if (strcmp(other, path) != 0 && strcmp(folded(l, other), text) == 0)
			pol_lint_add(l, POL_LINT_LOOKALIKE, list->v[i].origin, list->v[i].matched,
				     "rule `%s` allows what `%s` (%s) denies on a file system that "
				     "ignores case and form",
				     list->v[i].matched, r->matched, r->origin)
				->is_exact = true;
	}
}

void pol_lint_names(struct pol_lint *l, const struct pol_engine *engine, const char *ws)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		const struct pol_list *list = &engine->rules.op[op];

		for (size_t i = 0; i < list->n && list->n <= RULES_MAX; i++) {
			const struct pol_rule *r = &list->v[i];
			const char *path;

			if (r->allow && r->tier == POL_TIER_PROFILE)
				compare(l, list, i);
			if (r->allow || (r->shape == POL_GLOB && !pol_glob_is_literal(r->glob)))
				continue;
			path = path_of(l, r);
			if (is_below(path, ws))
				look_along(l, r, path, strlen(ws));
		}
	}
}
