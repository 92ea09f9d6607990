/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/clean.c: below which directories no rule can differ. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/decide.h"
#include "core/path.h"
#include "tests/support/engine.h"
#include "tests/support/full.h"

/* Rules of all operations that files know: "+ /w/" for each, then those of one. */
static void start(struct engine *e, bool folds)
{
	static const enum sbx_op ops[] = {SBX_READ, SBX_MODIFY, SBX_EXEC};

	engine_init(e);
	e->folds = folds;
	for (unsigned i = 0; i < 3; i++)
		engine_rule_for(e, ops[i], "+ /w/");
}

static bool clean(const struct engine *e, const char *path)
{
	return sbx_clean_below(&e->image, path, strlen(path));
}

Test(core_clean, a_literal_soils_what_leads_to_it_and_nothing_beside)
{
	struct engine e;

	start(&e, false);
	engine_rule_for(&e, SBX_MODIFY, "- /w/.git/hooks/");
	engine_rule_for(&e, SBX_MODIFY, "- /w/a/b.json");
	engine_compile(&e);
	cr_expect_not(clean(&e, "/"));
	cr_expect_not(clean(&e, "/w"));
	cr_expect_not(clean(&e, "/w/.git"));
	cr_expect_not(clean(&e, "/w/a"));
	cr_expect_not(clean(&e, "/w/.git/hooks"), "all is denied there");
	cr_expect_not(clean(&e, "/elsewhere"));
	cr_expect(clean(&e, "/w/src"));
	cr_expect(clean(&e, "/w/.git/objects"));
	cr_expect(clean(&e, "/w/a/c"));
	cr_expect(clean(&e, "/w/.github"), "a name is no beginning of another");
	cr_expect(clean(&e, "/w/a/b.json"), "of what is below the denied name no rule speaks");
	engine_release(&e);
}

Test(core_clean, every_operation_counts)
{
	static const enum sbx_op ops[] = {SBX_READ, SBX_MODIFY, SBX_EXEC};

	for (unsigned i = 0; i < 3; i++) {
		struct engine e;

		start(&e, false);
		engine_rule_for(&e, ops[i], "- /w/src/x");
		engine_compile(&e);
		cr_expect_not(clean(&e, "/w/src"), "%s", sbx_op_name(ops[i]));
		cr_expect(clean(&e, "/w/doc"), "%s", sbx_op_name(ops[i]));
		engine_release(&e);
	}
}

Test(core_clean, a_pattern_soils_wherever_it_may_match)
{
	struct engine e;

	start(&e, false);
	engine_rule_for(&e, SBX_READ, "- /w **/*.env");
	engine_compile(&e);
	cr_expect_not(clean(&e, "/w"));
	cr_expect_not(clean(&e, "/w/src/deep/er"));
	engine_release(&e);

	start(&e, false);
	engine_rule_for(&e, SBX_MODIFY, "- /w/keys *.pem");
	engine_compile(&e);
	cr_expect_not(clean(&e, "/w/keys"));
	cr_expect(clean(&e, "/w/keys/below"), "the pattern does not go there");
	cr_expect(clean(&e, "/w/src"));
	engine_release(&e);
}

Test(core_clean, where_sockets_are_told_apart_nothing_is_clean)
{
	struct engine e;

	start(&e, false);
	engine_rule_for(&e, SBX_CONNECT, "+ /w/run/s.sock");
	engine_rule_for(&e, SBX_CONNECT, "+ /w/socks/");
	engine_compile(&e);
	cr_expect_not(clean(&e, "/w/run"));
	cr_expect_not(clean(&e, "/w/socks"), "a socket that moves there could be connected to");
	cr_expect(clean(&e, "/w/src"));
	engine_release(&e);
}

Test(core_clean, another_spelling_of_a_denied_name_is_not_clean)
{
	struct engine e;

	start(&e, true);
	engine_rule_for(&e, SBX_MODIFY, "- /w/.Claude/hooks/");
	engine_compile(&e);
	cr_expect_not(clean(&e, "/w/.Claude"));
	cr_expect_not(clean(&e, "/w/.claude"));
	cr_expect_not(clean(&e, "/w/.CLAUDE"));
	cr_expect(clean(&e, "/w/src"));
	engine_release(&e);
}

/* What a clean directory promises, by trying: drawn rules, directories, and names below. How many
 * were clean. */
static unsigned hold_against_names(struct draw *d, unsigned names)
{
	static const enum sbx_op ops[] = {SBX_READ, SBX_MODIFY, SBX_EXEC};
	char text[DRAWN_MAX], below[DRAWN_MAX], line[DRAWN_MAX + 16], dir[2 * DRAWN_MAX],
		path[4 * DRAWN_MAX];
	unsigned met = 0;
	struct engine e;

	start(&e, draw(d, 2));
	for (unsigned i = draw(d, 4); i-- > 0;) {
		draw_glob(d, false, text);
		snprintf(line, sizeof line, "%c /w %s", draw(d, 3) ? '-' : '+', text);
		engine_rule_for(&e, ops[draw(d, 3)], line);
	}
	engine_compile(&e);
	for (unsigned i = 0; i < names; i++) {
		if (draw_path(d, text) < 2 || draw_path(d, below) < 2)
			continue;
		snprintf(dir, sizeof dir, "/w%s", text);
		snprintf(path, sizeof path, "%s%s", dir, below);
		if (!clean(&e, dir))
			continue;
		met++;
		for (unsigned k = 0; k < 3; k++)
			cr_assert(sbx_decide(&e.image, ops[k], path, strlen(path)),
				  "%s is clean, %s %s", dir, sbx_op_name(ops[k]), path);
		cr_assert(clean(&e, path), "%s is clean, %s not", dir, path);
	}
	engine_release(&e);
	return met;
}

Test(core_clean, what_is_below_a_clean_directory_is_allowed_and_clean)
{
	unsigned met = 0;
	struct draw d;

	draw_seed(&d, 17);
	for (int round = 0; round < (is_full() ? 2000 : 60); round++)
		met += hold_against_names(&d, 40);
	cr_expect_gt(met, 100, "%u", met);
}
