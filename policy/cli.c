/* cli.c - rules from the command line: last, so they win; a set rule they open is told. */
#include <string.h>

#include "base/err.h"
#include "policy/absolute.h"
#include "policy/glob.h"
#include "policy/workspace.h"

static int fail(const struct pol_cli_rule *c, const char *why, struct b_err *err)
{
	return b_fail(err, B_USAGE, 0, "%s %s: %s", c->option, c->text, why);
}

/* Where the text starts: *out_dir NULL when that is each workspace. */
static int find_dir(struct pol_build *b, const struct pol_cli_rule *c, struct pol_absolute *out,
		    struct b_err *err)
{
	const char *text = c->text;

	if (text[0] == '/') {
		out->dir = out->lead = "/";
		return 0;
	}
	if (text[0] != '~' || (text[1] != '/' && text[1] != '\0')) {
		out->lead = "";
		return 0;
	}
	out->dir = pol_home(&b->rs->arena);
	out->lead = "~/";
	return out->dir ? 0 : fail(c, "no home directory", err);
}

static int parse(struct pol_build *b, const struct pol_cli_rule *c, struct pol_absolute *out,
		 struct b_err *err)
{
	struct b_arena *a = &b->rs->arena;

	*out = (struct pol_absolute){
		.op = c->op,
		.allow = c->allow,
		.is_exact = c->is_file,
		.tier = POL_TIER_CLI,
		.what = b_arena_printf(a, "%s %s", c->option, c->text),
		.origin = b_arena_printf(a, "cli:%s:%u", c->option, c->nth),
	};
	if (*c->text == '\0')
		return fail(c, "empty, expected a path or glob", err);
	if (strlen(c->text) > POL_MAX_RULE_LEN)
		return fail(c, "too long", err);
	if (find_dir(b, c, out, err) < 0)
		return -1;
	out->path = pol_components(a, c->text + (*out->lead == '~'));
	return out->path ? 0 : fail(c, "contains `..`: give an absolute path", err);
}

/* Below the directory, as far as no wildcard comes. */
static bool is_planted(struct pol_build *b, const char *dir, const char *path)
{
	size_t n = strpbrk(path, "*?") ? pol_glob_literal_prefix(path) : strlen(path);

	return pol_build_is_planted(
		b, pol_build_join(b, dir, b_arena_strndup(&b->rs->arena, path, n)));
}

/* A file of the person's, by its real path: no wildcard counts. One that a run may have led
 * elsewhere is named by that path, or not at all. */
static int add_file(struct pol_build *b, const struct pol_cli_rule *c, struct b_err *err)
{
	struct pol_cli_rule real = *c;
	struct pol_absolute t;

	if (pol_file_given(&b->rs->arena, c->text, &real.text, err) < 0)
		return b_wrap(err, "%s", c->option);
	if (parse(b, &real, &t, err) < 0)
		return -1;
	if (pol_build_is_planted(b, pol_given_path(&b->rs->arena, c->text))) {
		pol_build_notice(b,
				 "%s: `%s` passes through a symlink out of the workspace to %s: "
				 "not followed: name that itself",
				 t.origin, c->text, real.text);
		return 0;
	}
	t.twin = POL_TWIN_NONE;
	pol_build_absolute(b, &t);
	return 0;
}

int pol_build_cli(struct pol_build *b, struct b_err *err)
{
	for (size_t i = 0; i < b->rq->nrules; i++) {
		const struct pol_cli_rule *c = &b->rq->rules[i];
		struct pol_absolute t;

		if (c->is_file) {
			if (add_file(b, c, err) < 0)
				return -1;
			continue;
		}
		if (parse(b, c, &t, err) < 0)
			return -1;
		/* A relative text speaks of the workspace, where an earlier run may have planted a
		 * link; an absolute one of the host, whose links are followed, but for such. */
		t.twin = POL_TWIN_WORKSPACE;
		if (t.dir) {
			t.twin = is_planted(b, t.dir, t.path) ? POL_TWIN_PLANTED : POL_TWIN_ALWAYS;
			pol_build_absolute(b, &t);
			continue;
		}
		for (size_t w = 0; w < b->rs->nworkspaces; w++) {
			t.dir = b->rs->workspaces[w];
			pol_build_absolute(b, &t);
		}
	}
	return 0;
}
