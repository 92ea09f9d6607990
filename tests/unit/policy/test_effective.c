/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/document/merge.c. */
#include "policy/document/model.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"

static struct pol_doc doc;

static void setup(void)
{
	const char *text =
		"schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n"
		"  denyRead: [secret/**]\n  denyModify: [.o/**, \"!.o/x\"]\n"
		"  fsProfiles:\n    w: {read: [./src/**, \"!src/y\"], modify: [src/a]}\n";
	struct b_err err = {0};

	cr_assert_eq(pol_orbit_parse("p", text, strlen(text), &doc, &err), 0, "%s", err.msg);
}

static void teardown(void)
{
	pol_doc_release(&doc);
}

/* "+a -b" of one operation; a global deny as `--b`, an exception as `-+b`. */
static const char *shown(const struct pol_effective *e, enum sbx_op op)
{
	b_auto(b_str_release) struct b_str s = {0};

	for (size_t i = 0; i < e->n[op]; i++)
		b_str_addf(&s, "%s%s%s%s", i ? " " : "", e->v[op][i].is_global_deny ? "-" : "",
			   e->v[op][i].negated ? "-" : "+", e->v[op][i].rule);
	return b_arena_strndup(&doc.arena, b_str_c(&s), s.len);
}

Test(policy_effective, denies_follow_the_profile_each_in_its_list, .init = setup, .fini = teardown)
{
	struct pol_effective e;

	cr_assert_eq(pol_doc_effective(&doc, "w", &e, NULL), 0);
	cr_expect_str_eq(e.name, "w");
	cr_expect_str_eq(shown(&e, SBX_READ), "+src/** -src/y --secret/**");
	cr_expect_str_eq(shown(&e, SBX_MODIFY), "+src/a --.o/** -+.o/x");
	cr_expect(e.v[SBX_MODIFY][2].is_exception);
	cr_expect_not(e.v[SBX_READ][1].is_exception);
	cr_expect_eq(e.v[SBX_READ][0].pos.line, 8);
}

Test(policy_effective, unrestricted_is_made_up_and_denied_like_the_rest, .init = setup,
     .fini = teardown)
{
	struct pol_effective e;

	cr_assert_eq(pol_doc_effective(&doc, "unrestricted", &e, NULL), 0);
	cr_expect_str_eq(shown(&e, SBX_READ), "+** --secret/**");
	cr_expect_str_eq(shown(&e, SBX_MODIFY), "+** --.o/** -+.o/x");
	cr_expect_str_eq(e.v[SBX_READ][0].pos.file, "p");
}

Test(policy_effective, an_unknown_profile_is_an_error_that_names_the_known, .init = setup,
     .fini = teardown)
{
	struct pol_effective e;
	struct b_err err;

	cr_expect_eq(pol_doc_effective(&doc, "nope", &e, &err), -1);
	cr_expect_eq(err.kind, B_PROFILE);
	cr_expect_str_eq(err.msg,
			 "no fsProfile `nope` in policy `t`, expected `w` or `unrestricted`");
}
