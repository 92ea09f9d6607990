/* lint_host.c - findings that need a host: what exists, which secrets are open, what the floor
 * cannot hold. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/back/floor.h"
#include "policy/compare.h"
#include "policy/engine.h"
#include "policy/lint.h"
#include "policy/lint_priv.h"

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
				     "credentials: denyRead closes it",
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
				     "%s rule `%s` cannot be held by this host: %s: %s",
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
	return lint_sets(&h, err) < 0 ? -1 : lint_layers(&h, err);
}
