/* SPDX-License-Identifier: Apache-2.0 */
/* caliban's own arguments of bubblewrap: policy/plan/bwrap.c against tests/vectors. */
#include "policy/plan/mounts.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/plan/floor.h"
#include "tests/support/tsv.h"

/* The rows tell their policy in words. */
static const struct {
	const char *id, *table;
} policies[] = {
	{"caliban_bwrap-001", ""},
	{"caliban_bwrap-002", "enable_weaker_nested_sandbox = true\n"},
	{"caliban_bwrap-003", "[sandbox.filesystem]\nallow_read = [\"/etc/foo\"]\n"},
	{"caliban_bwrap-004", "[sandbox.filesystem]\nallow_write = [\"/proj\"]\n"},
	{"caliban_bwrap-005", "[sandbox.filesystem]\ndeny_read = [\"/h/.aws/credentials\"]\n"},
	{"caliban_bwrap-006", "[sandbox.filesystem]\ndeny_read = [\"/h/secrets\"]\n"},
	{"caliban_bwrap-007", "[sandbox.filesystem]\ndeny_write = [\"/proj/.env\"]\n"},
	{"caliban_bwrap-009", "[sandbox.network]\nhttp_proxy_port = 8888\n"},
	{"caliban_bwrap-010", "[sandbox.network]\nallow_all_outbound = true\n"},
	{"caliban_bwrap-011",
	 "[sandbox.network]\nallow_all_outbound = true\nhttp_proxy_port = 8888\n"},
	{"caliban_bwrap-012", "[sandbox.network]\nallow_local_binding = true\n"},
	{"caliban_bwrap-013",
	 "[sandbox.filesystem]\nallow_write = "
	 "[\"/tmp/caf\xc3\xa9/\xd1\x80\xd0\xb0\xd0\xb1\xd0\xbe\xd1\x82\xd0\xb0\"]\n"},
};

static char fake_type(void *ctx, const char *path)
{
	(void)ctx;
	return strcmp(path, "/h/.aws/credentials") == 0 ? 'f' : 'd';
}
static const struct pol_fsview fake = {.type = fake_type};

static const char *table_of(const char *id)
{
	for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
		if (strcmp(policies[i].id, id) == 0)
			return policies[i].table;
	cr_assert_fail("%s: its policy is not known", id);
	return NULL;
}

Test(policy_caliban_bwrap, rows)
{
	struct tsv *t = tsv_load("tests/vectors/caliban_bwrap.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const char *id = t->rows[i].cells[0], *at;
		json_t *want = tsv_json(&t->rows[i], "argv"), *got = json_array();
		b_auto(b_str_release) struct b_str text = {0}, out = {0};
		struct b_err err;

		b_str_addf(&text, "[sandbox]\nenabled = true\n%s", table_of(id));
		cr_assert_eq(pol_caliban_bwrap("c", text.s, text.len, &fake, &out, &err), 0,
			     "%s: %s", id, err.msg);
		for (at = out.s; at < out.s + out.len; at += strlen(at) + 1)
			json_array_append_new(got, json_string(at));
		cr_expect(json_equal(want, got), "%s: %s", id, json_dumps(got, 0));
		json_decref(want);
		json_decref(got);
	}
	cr_expect_eq(t->n_rows, sizeof policies / sizeof *policies);
	tsv_free(t);
}

Test(policy_caliban_bwrap, what_the_language_refuses_has_no_arguments)
{
	static const char text[] = "[sandbox]\nunknown = true\n";
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	cr_expect_eq(pol_caliban_bwrap("c", text, sizeof text - 1, &fake, &out, &err), -1);
	cr_expect_eq(err.kind, B_POLICY);
	cr_expect_eq(out.len, 0);
}
