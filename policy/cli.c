/* cli.c - rules from the command line: last, so they win; a set rule they open is told. */
#include <string.h>

#include "base/err.h"
#include "core/path.h"
#include "policy/build.h"
#include "policy/glob.h"
#include "policy/workspace.h"

/* One --read, --modify, --deny-read or --deny-modify. */
struct rule_text {
	const struct pol_cli_rule *cli;
	const char *dir;  /* where a relative text starts; NULL: each workspace */
	const char *path; /* relative to dir, components rebuilt; "" = dir itself */
};

static int fail(const struct pol_cli_rule *c, const char *why, struct b_err *err)
{
	return b_fail(err, B_USAGE, 0, "%s %s: %s", c->option, c->text, why);
}

/* Drops empty and "." components; refuses "..", which would mean two things in a glob. */
static int rebuild(struct pol_build *b, const struct pol_cli_rule *c, const char *text,
		   const char **out, struct b_err *err)
{
	char *s = b_arena_strndup(&b->rs->arena, text, strlen(text)), *to = s;

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, "/");

		if (n == 2 && p[0] == '.' && p[1] == '.')
			return fail(c, "contains `..`: give an absolute path", err);
		if (n > 0 && !(n == 1 && p[0] == '.')) {
			if (to != s)
				*to++ = '/';
			memcpy(to, p, n);
			to += n;
		}
		p += n + (p[n] == '/');
	}
	*to = '\0';
	*out = s;
	return 0;
}

static int parse(struct pol_build *b, const struct pol_cli_rule *c, struct rule_text *out,
		 struct b_err *err)
{
	const char *text = c->text;

	*out = (struct rule_text){.cli = c, .path = ""};
	if (*text == '\0')
		return fail(c, "empty, expected a path or glob", err);
	if (strlen(text) > POL_MAX_RULE_LEN)
		return fail(c, "too long", err);
	if (text[0] == '/') {
		out->dir = "/";
	} else if (text[0] == '~' && (text[1] == '/' || text[1] == '\0')) {
		out->dir = pol_home(&b->rs->arena);
		if (!out->dir)
			return fail(c, "no home directory", err);
		text++;
	}
	return rebuild(b, c, text, &out->path, err);
}

/* A glob-free text is a tree, as people expect of an option that takes a directory. */
static struct pol_rule lower(struct pol_build *b, const struct rule_text *t, const char *dir)
{
	const struct pol_cli_rule *c = t->cli;
	const char *lead = !t->dir ? "" : strcmp(t->dir, "/") == 0 ? "/" : "~/";
	struct pol_rule r = {
		.allow = c->allow,
		.tier = POL_TIER_CLI,
		.shape = POL_TREE,
		.origin = b_arena_printf(&b->rs->arena, "cli:%s:%u", c->option, c->nth),
	};
	size_t len = 0, prefix;
	bool below;

	if (*t->path == '\0' || pol_rule_is_subtree(t->path, &len, &below)) {
		r.base = len ? pol_build_join(b, dir, b_arena_strndup(&b->rs->arena, t->path, len))
			     : dir;
		r.matched = b_arena_printf(&b->rs->arena, "%s%.*s%s", lead, (int)len, t->path,
					   len ? "/**" : "**");
		return r;
	}
	r.shape = POL_GLOB;
	r.matched = b_arena_printf(&b->rs->arena, "%s%s", lead, t->path);
	r.base = dir;
	r.glob = t->path;
	r.base_is_root = true;
	prefix = t->dir ? pol_glob_literal_prefix(t->path) : 0;
	if (prefix > 0) {
		r.base = pol_build_join(b, dir, b_arena_strndup(&b->rs->arena, t->path, prefix));
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

static void tell_reopened(struct pol_build *b, const struct pol_cli_rule *c,
			  const struct pol_rule *r, enum sbx_op op)
{
	const struct pol_list *list = &b->rs->op[op];
	const struct pol_rule *first = NULL;
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct pol_rule *s = &list->v[i];

		if (s->tier != POL_TIER_SET || s->twin || s->allow || !opens(r, s))
			continue;
		first = first ? first : s;
		n++;
	}
	if (n == 1)
		pol_build_notice(b, "%s %s re-opens `%s` for %s (%s)", c->option, c->text,
				 first->matched, sbx_op_name(op), first->origin);
	else if (n > 1)
		pol_build_notice(b, "%s %s re-opens `%s` and %zu more for %s (%s)", c->option,
				 c->text, first->matched, n - 1, sbx_op_name(op), first->origin);
}

/* A relative text speaks of the workspace, where an earlier run may have planted a link; an
 * absolute one of the host, whose links are followed. */
static void add(struct pol_build *b, const struct pol_cli_rule *c, struct pol_rule *r,
		enum pol_twin twin)
{
	unsigned ops = POL_OPS(c->op);

	pol_build_at(r, r->base);
	/* What may be changed may be read: a directory that can be written and not listed is of no
	 * use to the programs that people name it for. */
	if (c->allow && c->op == SBX_MODIFY) {
		tell_reopened(b, c, r, SBX_READ);
		ops |= POL_OPS(SBX_READ);
	}
	if (c->allow)
		tell_reopened(b, c, r, c->op);
	pol_build_add(b, ops, r, twin);
}

int pol_build_cli(struct pol_build *b, struct b_err *err)
{
	for (size_t i = 0; i < b->rq->nrules; i++) {
		const struct pol_cli_rule *c = &b->rq->rules[i];
		struct rule_text t;
		struct pol_rule r;

		if (parse(b, c, &t, err) < 0)
			return -1;
		if (t.dir) {
			r = lower(b, &t, t.dir);
			add(b, c, &r, POL_TWIN_ALWAYS);
			continue;
		}
		for (size_t w = 0; w < b->rs->nworkspaces; w++) {
			r = lower(b, &t, b->rs->workspaces[w]);
			add(b, c, &r, POL_TWIN_WORKSPACE);
		}
	}
	return 0;
}
