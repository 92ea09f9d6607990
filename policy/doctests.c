#include "policy/doctests.h"

#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "policy/front/yaml.h"

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
			    "matched_rule, rule, profile",
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
