#include "policy/explain.h"

#include <string.h>

#include "base/json.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/back/floor.h"
#include "policy/engine.h"
#include "policy/model.h"

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
		return is_itself ? "broker" : "broker, for witnessed programs";
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
		b_str_add(out, ", which denies another spelling of it: names are not told apart "
			       "there");
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
}
