/* SPDX-License-Identifier: Apache-2.0 */
/* explain.c - which rule decides and what holds it, the rules in force, and the tests in a
 * document. */
#include "policy/questions/explain.h"

#include <string.h>

#include "base/err.h"
#include "base/json.h"
#include "base/opt.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/compile/requests.h"
#include "policy/document/layers.h"
#include "policy/document/model.h"
#include "policy/engine.h"
#include "policy/front/tree.h"
#include "policy/plan/floor.h"
#include "policy/questions/connect.h"
#include "policy/rules/build.h"

static bool covers(const struct pol_grant *g, const char *path, size_t len)
{
	size_t n = strlen(g->path);

	if (!g->is_dir)
		return n == len && memcmp(g->path, path, n) == 0;
	return sbx_path_under(path, len, g->path, n);
}

static bool is_carved_itself(const struct pol_floor *f, const char *path, size_t len)
{
	for (size_t i = 0; i < f->ncarved; i++)
		if (strlen(f->carved[i]) == len && memcmp(f->carved[i], path, len) == 0)
			return true;
	return false;
}

static bool is_carved(const struct pol_floor *f, const char *path, size_t len)
{
	return is_carved_itself(f, path, len) ||
	       is_carved_itself(f, path, sbx_path_parent(path, len));
}

/* What a floor has for an operation on a path. */
struct carriers {
	const struct pol_grant *grant; /* Landlock's */
	bool is_brokered, is_listed, is_held;
};

static void find_carriers(const struct pol_floor *f, enum sbx_op op, const char *path, size_t len,
			  struct carriers *c)
{
	static const unsigned rights[SBX_OP_COUNT] = {
		[SBX_READ] = POL_GRANT_READ,
		[SBX_MODIFY] = POL_GRANT_WRITE,
		[SBX_EXEC] = POL_GRANT_EXEC,
	};

	*c = (struct carriers){0};
	for (size_t i = 0; i < f->nbrokered; i++)
		c->is_brokered |=
			(f->brokered[i].rights & rights[op]) && covers(&f->brokered[i], path, len);
	for (size_t i = 0; i < f->ngrants; i++) {
		const struct pol_grant *g = &f->grants[i];

		if (!covers(g, path, len))
			continue;
		c->is_listed |= op == SBX_READ && (g->rights & POL_GRANT_LIST);
		/* Of several, the exact one says more than a lax one. */
		if ((g->rights & rights[op]) && (!c->grant || c->grant->lax))
			c->grant = g;
	}
	for (size_t i = 0; op == SBX_READ && i < f->nheld; i++)
		c->is_held |= sbx_path_under(path, len, f->held[i], strlen(f->held[i]));
}

static const char *landlock(const struct pol_floor *f, const char *path, size_t len)
{
	return is_carved(f, path, len) ? "landlock-carved" : "landlock";
}

static const char *why_allowed(const struct pol_floor *f, const struct carriers *c,
			       const char *path, size_t len)
{
	bool is_itself = is_carved_itself(f, path, len);

	if (c->grant)
		return c->grant->lax ? "shim only: needs the broker"
				     : landlock(f, c->grant->path, strlen(c->grant->path));
	if (c->is_brokered)
		return is_itself ? "broker" : "broker, for programs with the shim";
	return is_itself && c->is_listed ? "landlock-carved" : "kernel refuses: needs the broker";
}

static const char *why_denied(const struct pol_floor *f, const struct carriers *c, const char *path,
			      size_t len)
{
	if (c->is_held)
		return "file permissions";
	if (c->grant)
		return "shim only: needs the broker";
	return c->is_listed ? "landlock, but names can be listed" : landlock(f, path, len);
}

const char *pol_explain_floor(const struct pol_floor *f, enum sbx_op op, const char *path,
			      bool allowed)
{
	size_t len = strlen(path);
	struct carriers c;

	if (op == SBX_CONNECT)
		return f->traps & POL_TRAP_SOCKETS ? "broker" : "seccomp";
	find_carriers(f, op, path, len, &c);
	/* Changes all go through it, reads and starts where some of them must. */
	if (c.is_brokered && (op == SBX_MODIFY || f->read_level == POL_READ_ALL ||
			      (op == SBX_EXEC && f->traps & POL_TRAP_EXEC)))
		return "broker";
	return (allowed ? why_allowed : why_denied)(f, &c, path, len);
}

static void json_match(void *arg, const struct pol_rule *r, bool decides)
{
	struct b_json *j = arg;

	b_json_open(j, '{');
	b_json_bytes(j, "matched_rule", r->matched, strlen(r->matched));
	b_json_bytes(j, "rule", r->origin, strlen(r->origin));
	b_json_key(j, "allow");
	b_json_bool(j, r->allow);
	b_json_key(j, "tier");
	b_json_str(j, pol_tier_name(r->tier));
	b_json_key(j, "decides");
	b_json_bool(j, decides);
	b_json_close(j, '}');
}

void pol_explain_json(const struct pol_answer *a, const char *floor, const struct pol_engine *e,
		      struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	b_json_key(&j, "op");
	b_json_str(&j, sbx_op_name(a->op));
	b_json_bytes(&j, "path", a->path, strlen(a->path));
	b_json_key(&j, "allowed");
	b_json_bool(&j, a->allowed);
	b_json_bytes(&j, "matched_rule", a->matched, strlen(a->matched));
	b_json_bytes(&j, "rule", a->origin, strlen(a->origin));
	if (a->folded) {
		b_json_key(&j, "folded");
		b_json_bool(&j, true);
	}
	if (a->overrode) {
		b_json_key(&j, "overrode");
		b_json_open(&j, '{');
		b_json_bytes(&j, "matched_rule", a->overrode->matched,
			     strlen(a->overrode->matched));
		b_json_bytes(&j, "rule", a->overrode->origin, strlen(a->overrode->origin));
		b_json_close(&j, '}');
	} else {
		b_json_key(&j, "overrode");
		b_json_null(&j);
	}
	b_json_key(&j, "floor");
	if (floor)
		b_json_str(&j, floor);
	else
		b_json_null(&j);
	if (e) {
		b_json_key(&j, "matches");
		b_json_open(&j, '[');
		pol_engine_matches(e, a, json_match, &j);
		b_json_close(&j, ']');
	}
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static void add_rule(const char *before, const char *matched, const char *origin, struct b_str *out)
{
	b_str_add(out, before);
	b_str_add_visible(out, matched, strlen(matched));
	b_str_add(out, " (");
	b_str_add_visible(out, origin, strlen(origin));
	b_str_addc(out, ')');
}

void pol_explain_text(const struct pol_answer *a, const char *floor, struct b_str *out)
{
	b_str_addf(out, "%-7s  %-7s  ", a->allowed ? "allowed" : "denied", sbx_op_name(a->op));
	b_str_add_visible(out, a->path, strlen(a->path));
	add_rule("  by rule ", a->matched, a->origin, out);
	if (a->overrode)
		add_rule(", against ", a->overrode->matched, a->overrode->origin, out);
	if (a->folded)
		b_str_add(out, ", which denies another spelling of it: that file system treats "
			       "both as one name");
	if (floor)
		b_str_addf(out, "  [%s]", floor);
	b_str_addc(out, '\n');
}

static void text_match(void *arg, const struct pol_rule *r, bool decides)
{
	struct b_str *out = arg;

	b_str_addf(out, "  %c %-5s  %-7s", decides ? '>' : ' ', r->allow ? "allow" : "deny",
		   pol_tier_name(r->tier));
	add_rule("  ", r->matched, r->origin, out);
	b_str_addc(out, '\n');
}

void pol_explain_matches(const struct pol_answer *a, const struct pol_engine *e, struct b_str *out)
{
	pol_engine_matches(e, a, text_match, out);
}

static void show_requests(const struct pol_http_rules *rules, struct b_str *out)
{
	for (size_t i = 0; rules && i < rules->n; i++) {
		const struct pol_http_rule *r = &rules->v[i];

		b_str_add(out, i ? ", " : " http ");
		b_str_add(out, r->allow ? "" : "!");
		b_str_add_visible(out, r->matched, strlen(r->matched));
	}
	if (rules && rules->is_audit)
		b_str_add(out, " (audit)");
}

static void show_connects(const struct pol_connects *list, const char *what, struct b_str *out)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_connect *c = &list->v[i];

		b_str_add(out, c->allow ? "  allow   " : "  deny    ");
		b_str_add_visible(out, c->to.s, strlen(c->to.s));
		for (size_t k = 0; k < c->by.n; k++) {
			b_str_add(out, k ? ", " : " by ");
			b_str_add_visible(out, c->by.v[k].s, strlen(c->by.v[k].s));
		}
		show_requests(c->http, out);
		b_str_addf(out, "  (%s", what);
		b_str_add_visible(out, c->to.pos.file, strlen(c->to.pos.file));
		b_str_addf(out, ":%u:%u)\n", c->to.pos.line, c->to.pos.col);
	}
}

void pol_explain_effective(const struct pol_effective *e, struct b_str *out)
{
	b_str_add(out, "profile ");
	b_str_add_visible(out, e->name, strlen(e->name));
	b_str_addc(out, '\n');
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		b_str_addf(out, "%s:%s\n", sbx_op_name((enum sbx_op)op), e->n[op] ? "" : " []");
		for (size_t i = 0; i < e->n[op]; i++) {
			const struct pol_eff_rule *r = &e->v[op][i];

			b_str_add(out, r->is_exception ? "  except  "
				       : r->negated    ? "  deny    "
						       : "  allow   ");
			b_str_add_visible(out, r->rule, strlen(r->rule));
			b_str_addf(out, "  (%s", r->is_global_deny ? "global, " : "");
			b_str_add_visible(out, r->pos.file, strlen(r->pos.file));
			b_str_addf(out, ":%u:%u)\n", r->pos.line, r->pos.col);
		}
	}
	if (e->connect.n + e->deny_connect.n)
		b_str_add(out, "connect:\n");
	show_connects(&e->connect, "", out);
	show_connects(&e->deny_connect, "global, ", out);
}

/* The rules that an engine decides by, for people: `sbx-policy show --effective`. */

static void show_rule(const struct pol_rule *r, struct b_str *out)
{
	struct b_str where = {0};

	b_str_addf(&where, "%s%s", r->base_len || r->shape == POL_GLOB ? r->base : "/",
		   r->shape != POL_TREE ? ""
		   : r->base_len	? "/**"
					: "**");
	if (r->shape == POL_GLOB)
		b_str_addf(&where, "/%s", r->glob);
	b_str_addf(out, "  %-5s  %-7s  ", r->allow ? "allow" : "deny", pol_tier_name(r->tier));
	b_str_add_visible(out, where.s, where.len);
	if (strcmp(where.s, r->matched) != 0) {
		b_str_add(out, "  as ");
		b_str_add_visible(out, r->matched, strlen(r->matched));
	}
	b_str_add(out, "  (");
	b_str_add_visible(out, r->origin, strlen(r->origin));
	b_str_addf(out, "%s%s)\n", r->twin ? ", by its real path" : "",
		   r->folds ? ", in either case" : "");
	b_str_release(&where);
}

/* A layer that is not alone is told where it begins. */
static void show_layered(const struct pol_list *list, size_t i, struct b_str *out)
{
	static const char *const names[] = {"managed", "main", "project"};
	unsigned number = list->v[i].layer;

	if ((i == 0 || list->v[i - 1].layer != number) && pol_layer_end(list, 0) < list->n)
		b_str_addf(out, "  layer %s%s\n",
			   names[number < POL_LAYER_PROJECT ? number : POL_LAYER_PROJECT],
			   i == 0 ? ": all layers must allow" : "");
	show_rule(&list->v[i], out);
}

/* The word at index i of "a|b|c". */
static void add_word(struct b_str *out, enum pol_setting s, int i)
{
	const char *w = pol_setting_words(s);

	while (i-- > 0)
		w += strcspn(w, "|") + 1;
	b_str_addf(out, "%s %.*s, ", pol_setting_name(s), (int)strcspn(w, "|"), w);
}

static void show_effect(const struct pol_effect *e, struct b_str *out)
{
	b_str_add(out, "\nsandbox    ");
	add_word(out, POL_SET_reads, (int)e->reads);
	add_word(out, POL_SET_network, (int)e->network);
	add_word(out, POL_SET_unixSockets, (int)e->unix_);
	b_str_addf(out, "%s, %s, %s\n", e->scratch ? "scratch" : "no scratch",
		   e->cache ? "cache" : "no cache", e->lax ? "not strict" : "strict");
}

/* The path is the rule's, which may be any text. */
static void show_kind(const struct pol_opened_kind *k, struct b_str *out)
{
	b_str_addf(out, "    %s: ", k->by);
	b_str_add_visible(out, k->matched, strlen(k->matched));
	b_str_addf(out, " (%s)", k->origin);
	if (k->n > 1)
		b_str_addf(out, " and %zu more", k->n - 1);
	b_str_addc(out, '\n');
}

static void show_opened(const struct pol_engine *e, struct b_str *out)
{
	if (e->nopened)
		b_str_add(out, "\nopened, although programs outside run or obey it\n");
	for (size_t i = 0; i < e->nopened; i++) {
		const struct pol_opened *o = &e->opened[i];

		b_str_add(out, "  ");
		b_str_add_visible(out, o->matched, strlen(o->matched));
		b_str_add(out, " (");
		b_str_add_visible(out, o->origin, strlen(o->origin));
		b_str_add(out, ") ");
		b_str_add_visible(out, o->text, strlen(o->text));
		b_str_addc(out, '\n');
		for (size_t k = 0; o->nkinds > 1 && k < o->nkinds; k++)
			show_kind(&o->kinds[k], out);
	}
}

void pol_engine_show(const struct pol_engine *e, struct b_str *out)
{
	b_str_addf(out, "policy     ");
	b_str_add_visible(out, e->policy_name, strlen(e->policy_name));
	b_str_add(out, "\nprofile    ");
	b_str_add_visible(out, e->rules.profile, strlen(e->rules.profile));
	for (size_t i = 0; i < e->rules.nworkspaces; i++) {
		b_str_add(out, "\nworkspace  ");
		b_str_add_visible(out, e->rules.workspaces[i], strlen(e->rules.workspaces[i]));
	}
	show_effect(&e->effect, out);
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		const struct pol_list *list = &e->rules.op[op];

		if (op == SBX_EXEC) {
			b_str_add(out, "\nexec: the rules of read\n");
			continue;
		}
		b_str_addf(out, "\n%s: the last rule that matches decides\n",
			   sbx_op_name((enum sbx_op)op));
		for (size_t i = 0; i < list->n; i++)
			show_layered(list, i, out);
		if (list->n == 0)
			b_str_add(out, "  nothing is allowed\n");
	}
	if (e->rules.net.n || e->effect.network == POL_NET_WATCH || e->effect.publish.n)
		pol_connect_show(e, out);
	show_opened(e, out);
}

/* ---- tests in a document ---- */

static int take_op(struct pol_test *t, const struct pol_ynode *value, struct b_err *err)
{
	if (pol_yaml_expect(value, POL_Y_STR, "op", err) < 0)
		return -1;
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		if (strcmp(value->s, sbx_op_name((enum sbx_op)op)) != 0)
			continue;
		t->op = (enum sbx_op)op;
		return 0;
	}
	return pol_pos_fail(err, &value->pos,
			    "op is `%s`, expected one of read, modify, exec, connect", value->s);
}

static int take_allowed(struct pol_test *t, const struct pol_ynode *value, struct b_err *err)
{
	if (pol_yaml_expect(value, POL_Y_BOOL, "allowed", err) < 0)
		return -1;
	t->has_allowed = true;
	t->allowed = value->s[0] == 't' || value->s[0] == 'T';
	return 0;
}

#define TAKE_TEXT(key, field)                                                                      \
	static int take_##field(struct pol_test *t, const struct pol_ynode *value,                 \
				struct b_err *err)                                                 \
	{                                                                                          \
		t->field = value->s;                                                               \
		return pol_yaml_expect(value, POL_Y_STR, key, err);                                \
	}
TAKE_TEXT("path", path)
TAKE_TEXT("matched_rule", matched)
TAKE_TEXT("rule", rule)
TAKE_TEXT("profile", profile)
TAKE_TEXT("exe", exe)

static const struct row {
	const char *name;
	bool required;
	int (*take)(struct pol_test *, const struct pol_ynode *value, struct b_err *);
} rows[] = {
	{"op", true, take_op},
	{"path", true, take_path},
	{"allowed", false, take_allowed},
	{"matched_rule", false, take_matched},
	{"rule", false, take_rule},
	{"profile", false, take_profile},
	{"exe", false, take_exe},
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct row *find(const struct pol_ynode *key)
{
	for (size_t i = 0; i < ROWS; i++)
		if (strlen(rows[i].name) == key->len && memcmp(rows[i].name, key->s, key->len) == 0)
			return &rows[i];
	return NULL;
}

static int fail_unknown(const struct pol_ynode *key, struct b_err *err)
{
	struct b_near near = B_NEAR_INIT;

	for (size_t i = 0; i < ROWS; i++)
		b_near_offer(&near, key->s, key->len, rows[i].name, strlen(rows[i].name));
	if (near.text)
		return pol_pos_fail(err, &key->pos,
				    "unknown field `%s` in a test, did you mean `%s`?", key->s,
				    near.text);
	return pol_pos_fail(err, &key->pos,
			    "unknown field `%s` in a test, expected one of op, path, allowed, "
			    "matched_rule, rule, profile, exe",
			    key->s);
}

static int take_test(struct pol_test *t, const struct pol_ynode *node, struct b_err *err)
{
	if (pol_yaml_expect(node, POL_Y_MAP, "a test", err) < 0)
		return -1;
	t->pos = node->pos;
	for (size_t i = 0; i < ROWS; i++)
		if (rows[i].required && !pol_yaml_get(node, rows[i].name))
			return pol_pos_fail(err, &node->pos, "missing field `%s` in a test",
					    rows[i].name);
	for (size_t i = 0; i < node->n; i++) {
		const struct row *row = find(node->v[2 * i]);

		if (!row)
			return fail_unknown(node->v[2 * i], err);
		if (row->take(t, node->v[2 * i + 1], err) < 0)
			return -1;
	}
	if (!t->has_allowed && !t->matched && !t->rule)
		return pol_pos_fail(err, &node->pos,
				    "a test that expects nothing: allowed, matched_rule or rule is "
				    "missing");
	return 0;
}

static int take_all(struct pol_tests *out, const struct pol_ynode *root, struct b_err *err)
{
	const struct pol_ynode *list = root->kind == POL_Y_SEQ ? root : pol_yaml_get(root, "tests");

	if (root->kind != POL_Y_SEQ && root->kind != POL_Y_MAP)
		return pol_yaml_expect(root, POL_Y_SEQ, "a file of tests", err);
	if (!list || list->kind == POL_Y_NULL)
		return 0;
	if (pol_yaml_expect(list, POL_Y_SEQ, "tests", err) < 0)
		return -1;
	if (list->n > POL_MAX_TESTS)
		return pol_pos_fail(err, &list->pos, "more than %d tests", POL_MAX_TESTS);
	out->v = b_arena_alloc(&out->arena, (list->n + 1) * sizeof *out->v);
	for (; out->n < list->n; out->n++)
		if (take_test(&out->v[out->n], list->v[out->n], err) < 0)
			return -1;
	return 0;
}

int pol_tests_parse(const char *name, const char *text, size_t len, struct pol_tests *out,
		    struct b_err *err)
{
	struct pol_ynode *root;
	const char *file;

	*out = (struct pol_tests){.n = 0};
	file = b_arena_strndup(&out->arena, name, strlen(name));
	if (pol_yaml_parse(&out->arena, file, text, len, &root, err) == 0 &&
	    take_all(out, root, err) == 0)
		return 0;
	pol_tests_release(out);
	return -1;
}

void pol_tests_release(struct pol_tests *t)
{
	b_arena_release(&t->arena);
	*t = (struct pol_tests){.n = 0};
}
