/* SPDX-License-Identifier: Apache-2.0 */
/* connects.c - `connect` and `denyConnect`: endpoints with the programs they are for, and paths of
 * sockets. */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/compile/endpoints.h"
#include "policy/document/settings.h"
#include "policy/front/tree.h"

#define MAX_BY 64 /* programs of one entry */

/* An entry that is being read. */
struct entry {
	struct pol_connect c;
	const struct pol_ynode *key;
};

static int check_socket(struct pol_front *f, struct entry *e)
{
	struct pol_text *to = &e->c.to;

	if (to->s[0] == '.')
		to->s = b_arena_printf(&f->doc->arena, "${WORKSPACE}/%s", to->s + 2);
	if (e->c.by.n)
		return pol_pos_fail(
			f->err, &e->c.by.v[0].pos,
			"%s: `by` works only with endpoints: a socket is open to every program",
			e->key->s);
	if (e->c.http)
		return pol_pos_fail(f->err, &to->pos, "%s: `http` works only with endpoints",
				    e->key->s);
	return pol_root_check(to, e->key->s, f->err);
}

/* Connections to other ports may use any protocol. */
static int check_inspected(struct pol_front *f, const struct entry *e,
			   const struct pol_endpoint *at)
{
	if (POL_ANY_PORT(at))
		return pol_pos_fail(f->err, &e->c.to.pos, "%s: `http` needs a port: write `%s:443`",
				    e->key->s, e->c.to.s);
	return 0;
}

static int check_endpoint(struct pol_front *f, const struct entry *e)
{
	struct pol_endpoint at;
	struct b_err why;

	if (pol_endpoint_parse(&f->doc->arena, e->c.to.s, &at, &why) == 0)
		return e->c.http ? check_inspected(f, e, &at) : 0;
	return pol_pos_fail(f->err, &e->c.to.pos, "%s: %s", e->key->s, why.msg);
}

static int take_to(struct pol_front *f, struct entry *e, const struct pol_ynode *value)
{
	const char *s;

	if (pol_yaml_expect(value, POL_Y_STR, e->key->s, f->err) < 0)
		return -1;
	s = value->s;
	if (*s == '!') {
		if (!e->c.allow)
			return pol_pos_fail(f->err, &value->pos,
					    "%s: `%s`: a denial here has no exceptions: name it in "
					    "`connect` and deny the others there, with `!`",
					    e->key->s, s);
		e->c.allow = false;
		s++;
	}
	e->c.to = (struct pol_text){.s = s, .pos = value->pos};
	return 0;
}

static int take_program(struct pol_front *f, struct entry *e, const struct pol_ynode *value)
{
	struct pol_text t = {.s = value->s, .pos = value->pos};

	if (pol_yaml_expect(value, POL_Y_STR, "by", f->err) < 0 ||
	    pol_root_check(&t, "by", f->err) < 0)
		return -1;
	if (e->c.by.n == MAX_BY)
		return pol_pos_fail(f->err, &value->pos, "by: more than %d programs", MAX_BY);
	pol_texts_add(f->doc, &e->c.by, t);
	return 0;
}

static int take_by(struct pol_front *f, struct entry *e, const struct pol_ynode *value)
{
	if (value->kind == POL_Y_STR)
		return take_program(f, e, value);
	if (pol_yaml_expect(value, POL_Y_SEQ, "by", f->err) < 0)
		return -1;
	if (value->n == 0)
		return pol_pos_fail(f->err, &value->pos,
				    "by: the list is empty: leave `by` out to mean every program");
	for (size_t i = 0; i < value->n; i++)
		if (take_program(f, e, value->v[i]) < 0)
			return -1;
	return 0;
}

static int take_mapping(struct pol_front *f, struct entry *e, const struct pol_ynode *map)
{
	const struct pol_ynode *to = pol_yaml_get(map, "to"), *by = pol_yaml_get(map, "by"),
			       *http = pol_yaml_get(map, "http");

	for (size_t i = 0; i < map->n; i++) {
		const struct pol_ynode *key = map->v[2 * i];

		if (strcmp(key->s, "to") != 0 && strcmp(key->s, "by") != 0 &&
		    strcmp(key->s, "http") != 0)
			return pol_pos_fail(f->err, &key->pos,
					    "unknown field `%s` in %s, expected to, by or http",
					    key->s, e->key->s);
	}
	if (!to)
		return pol_pos_fail(f->err, &map->pos, "missing field `to` in %s", e->key->s);
	if (take_to(f, e, to) < 0)
		return -1;
	if (by && take_by(f, e, by) < 0)
		return -1;
	if (!http)
		return 0;
	if (!e->c.allow)
		return pol_pos_fail(
			f->err, &http->pos,
			"%s: `http` belongs to rules that allow: deny requests there, with `!`",
			e->key->s);
	return pol_front_http(f, http, &e->c.http);
}

static int take_entry(struct pol_front *f, struct entry *e, const struct pol_ynode *value)
{
	if ((value->kind == POL_Y_MAP ? take_mapping(f, e, value) : take_to(f, e, value)) < 0)
		return -1;
	return pol_is_socket_path(e->c.to.s) ? check_socket(f, e) : check_endpoint(f, e);
}

int pol_front_connects(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *list, bool allow, struct pol_connects *out)
{
	if (pol_yaml_expect(list, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		struct entry e = {.c.allow = allow, .key = key};

		if (++f->nrules > POL_MAX_RULES)
			return pol_pos_fail(f->err, &list->v[i]->pos, "more than %d rules",
					    POL_MAX_RULES);
		if (take_entry(f, &e, list->v[i]) < 0)
			return -1;
		pol_connects_add(f->doc, out, e.c);
	}
	return 0;
}
