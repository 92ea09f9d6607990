/* SPDX-License-Identifier: Apache-2.0 */
/* http_rules.c - `http` of an entry of `connect`: the requests that its endpoint takes, in order,
 * the last that matches wins. */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/compile/requests.h"
#include "policy/front/tree.h"

#define MAX_RULES 1024 /* of one endpoint */

static const char *origin_of(struct b_arena *a, const struct pol_pos *pos)
{
	return b_arena_printf(a, "%s:%u:%u", pos->file, pos->line, pos->col);
}

/* Letters and dashes, as all methods are; or a star. */
static bool is_method(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(s[i] >= 'A' && s[i] <= 'Z') && !(s[i] >= 'a' && s[i] <= 'z') && s[i] != '-')
			return n == 1 && s[0] == '*';
	return n > 0;
}

/* "GET /repos/x", "!* /admin/x" */
static int take_text(struct pol_front *f, const struct pol_ynode *node, struct pol_http_rule *out)
{
	struct b_arena *a = &f->doc->arena;
	const char *s = node->s, *space, *wrong;

	if (pol_yaml_expect(node, POL_Y_STR, "http", f->err) < 0)
		return -1;
	*out = (struct pol_http_rule){
		.allow = *s != '!', .query = POL_GLOB_TEXT, .origin = origin_of(a, &node->pos)};
	s += *s == '!';
	space = strchr(s, ' ');
	if (!space || !is_method(s, (size_t)(space - s)) ||
	    (space[1] != '/' && strcmp(space + 1, "**") != 0))
		return pol_pos_fail(f->err, &node->pos,
				    "http: `%s`: expected read-only, read-write, full, or a method "
				    "and a path as in `GET /repos/**`; `*` is every method, `!` in "
				    "front denies",
				    node->s);
	wrong = pol_glob_check(space + 1);
	if (wrong)
		return pol_pos_fail(f->err, &node->pos, "http: `%s` %s", node->s, wrong);
	if (*s != '*')
		out->method = b_arena_strndup(a, s, (size_t)(space - s));
	if (strcmp(space + 1, "**") != 0)
		out->path = space + 1;
	return 0;
}

/* A pattern, or a list of them. */
static int take_values(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value, struct pol_http_param *out)
{
	size_t n = value->kind == POL_Y_SEQ ? value->n : 1;
	const char **glob = b_arena_alloc(&f->doc->arena, (n + 1) * sizeof *glob);

	if (n == 0)
		return pol_pos_fail(f->err, &value->pos, "query: `%s` has no value", key->s);
	for (size_t i = 0; i < n; i++) {
		const struct pol_ynode *one = value->kind == POL_Y_SEQ ? value->v[i] : value;
		const char *wrong;

		if (pol_yaml_expect(one, POL_Y_STR, "query", f->err) < 0)
			return -1;
		wrong = pol_glob_check(one->s);
		if (wrong)
			return pol_pos_fail(f->err, &one->pos, "query: `%s` %s", one->s, wrong);
		glob[i] = one->s;
	}
	*out = (struct pol_http_param){.key = key->s, .glob = glob, .nglobs = n};
	return 0;
}

static int take_query(struct pol_front *f, const struct pol_ynode *map, struct pol_http_rule *out)
{
	struct pol_http_param *v;

	if (pol_yaml_expect(map, POL_Y_MAP, "query", f->err) < 0)
		return -1;
	if (map->n > SBX_REQUEST_PARAMS)
		return pol_pos_fail(f->err, &map->pos, "query: more than %u keys",
				    SBX_REQUEST_PARAMS);
	v = b_arena_alloc(&f->doc->arena, (map->n + 1) * sizeof *v);
	for (size_t i = 0; i < map->n; i++)
		if (take_values(f, map->v[2 * i], map->v[2 * i + 1], &v[i]) < 0)
			return -1;
	out->param = v;
	out->nparams = map->n;
	return 0;
}

static int take_mapping(struct pol_front *f, const struct pol_ynode *map, struct pol_http_rule *out)
{
	const struct pol_ynode *to = pol_yaml_get(map, "to"), *query = pol_yaml_get(map, "query");

	for (size_t i = 0; i < map->n; i++) {
		const struct pol_ynode *key = map->v[2 * i];

		if (strcmp(key->s, "to") != 0 && strcmp(key->s, "query") != 0)
			return pol_pos_fail(f->err, &key->pos,
					    "unknown field `%s` in http, expected to or query",
					    key->s);
	}
	if (!to)
		return pol_pos_fail(f->err, &map->pos, "missing field `to` in http");
	if (take_text(f, to, out) < 0)
		return -1;
	return query ? take_query(f, query, out) : 0;
}

static bool take_preset(struct b_arena *a, const struct pol_ynode *node, struct pol_http_rules *out)
{
	static const char *const words[] = POL_ACCESS_WORDS;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (pol_yaml_is_text(node, words[i])) {
			pol_http_rules_access(a, out, (enum pol_access)i, origin_of(a, &node->pos));
			return true;
		}
	return false;
}

/* What can be read and not compiled (a pattern that is too long) is said here, at its place. */
static int try_compile(struct pol_front *f, const struct pol_ynode *list,
		       const struct pol_http_rules *rules)
{
	struct pol_requests ignored = {0};
	struct b_err why;
	uint32_t set;
	int rc = pol_requests_add(&ignored, rules, &set, &why);

	pol_requests_release(&ignored);
	return rc < 0 ? pol_pos_fail(f->err, &list->pos, "http: %s", why.msg) : 0;
}

int pol_front_http(struct pol_front *f, const struct pol_ynode *list,
		   const struct pol_http_rules **out)
{
	struct b_arena *a = &f->doc->arena;
	struct pol_http_rules *rules = b_arena_alloc(a, sizeof *rules);

	if (pol_yaml_expect(list, POL_Y_SEQ, "http", f->err) < 0)
		return -1;
	if (list->n == 0 || list->n > MAX_RULES)
		return pol_pos_fail(f->err, &list->pos, "http: expected 1 to %d entries",
				    MAX_RULES);
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_ynode *node = list->v[i];
		struct pol_http_rule one;

		if (take_preset(a, node, rules))
			continue;
		if ((node->kind == POL_Y_MAP ? take_mapping(f, node, &one)
					     : take_text(f, node, &one)) < 0)
			return -1;
		pol_http_rules_add(a, rules, &one);
	}
	*out = rules;
	return try_compile(f, list, rules);
}
