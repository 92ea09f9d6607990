/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/front/presets.h"

#include <criterion/criterion.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"

static size_t compared;

static void compare(const struct pol_ynode *made, const struct pol_ynode *read, const char *file)
{
	size_t parts = read->kind == POL_Y_MAP ? 2 * read->n : read->n;

	compared++;
	cr_assert_eq(made->kind, read->kind);
	cr_expect_str_eq(made->pos.file, file);
	cr_expect_eq(made->pos.line, read->pos.line);
	cr_expect_eq(made->pos.col, read->pos.col);
	cr_expect_eq(made->weight, read->weight);
	cr_expect_eq(made->height, read->height);
	cr_assert_eq(made->n, read->n);
	cr_assert_eq(made->len, read->len);
	cr_assert_eq(!made->s, !read->s);
	if (read->s)
		cr_expect(memcmp(made->s, read->s, read->len + 1) == 0, "%s", made->s);
	for (size_t i = 0; i < parts; i++)
		compare(made->v[i], read->v[i], file);
}

Test(policy_presets, trees_are_what_the_reader_makes_of_the_texts)
{
	struct b_err err = {0};

	cr_assert_geq(pol_presets_n, 3);
	for (unsigned i = 0; i < pol_presets_n; i++) {
		const struct pol_preset *p = &pol_presets[i];
		b_auto(b_arena_release) struct b_arena arena = {0};
		struct pol_ynode *root;

		cr_assert_eq(pol_yaml_parse(&arena, p->file, p->text, p->len, &root, &err), 0, "%s",
			     err.msg);
		compare(pol_preset_root(p), root, p->file);
	}
	cr_expect_gt(compared, 200);
}

Test(policy_presets, are_found_by_name)
{
	cr_assert(pol_preset_find("default"));
	cr_expect_str_eq(pol_preset_find("default")->file, "builtin:default");
	cr_expect_str_eq(pol_preset_find("secrets")->file, "preset:secrets");
	cr_expect_null(pol_preset_find("none"));
}
