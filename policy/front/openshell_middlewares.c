/* SPDX-License-Identifier: Apache-2.0 */
/* openshell_middlewares.c - `network_middlewares` of an OpenShell policy: checked, and a loss. */
#include <string.h>

#include "base/err.h"
#include "policy/front/dialect.h"

enum { MAX_MIDDLEWARES = 10, MAX_PATTERNS = 32 };

#define WITH(f, node, ...) pol_pos_fail((f)->err, &(node)->pos, __VA_ARGS__)

static size_t patterns(const struct pol_ynode *selector)
{
	size_t n = 0;

	if (selector->kind == POL_Y_STR)
		return 1;
	for (size_t i = 0; i < selector->n; i++)
		n += patterns(selector->kind == POL_Y_MAP ? selector->v[2 * i + 1]
							  : selector->v[i]);
	return n;
}

static int take_selection(struct pol_front *f, const struct pol_ynode *key,
			  const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {{.name = "include", .take = pol_foreign_texts},
					      {.name = "exclude", .take = pol_foreign_texts}};

	return pol_front_map(f, value, key->s, true, rows, 2);
}

static int take_named(struct pol_front *f, const struct pol_ynode *m)
{
	static const struct pol_key rows[] = {
		{.name = "name", .take = pol_foreign_string},
		{.name = "middleware", .required = true, .take = pol_foreign_string},
		{.name = "order", .take = pol_foreign_anything},
		{.name = "config", .take = pol_foreign_anything},
		{.name = "on_error", .take = pol_foreign_string},
		{.name = "endpoints", .take = take_selection},
	};

	return pol_front_map(f, m, "a middleware", true, rows, sizeof rows / sizeof *rows);
}

static const struct pol_ynode *entry_of(const struct pol_ynode *all, size_t i)
{
	return all->v[all->kind == POL_Y_MAP ? 2 * i + 1 : i];
}

static int check_middleware(struct pol_front *f, const struct pol_ynode *all, size_t i)
{
	static const char *const keys[] = {"selectors", "selector", "endpoints"};
	const struct pol_ynode *m = entry_of(all, i), *order = pol_yaml_get(m, "order");
	const struct pol_ynode *selector = NULL;
	size_t n;

	if (pol_yaml_expect(m, POL_Y_MAP, "a middleware", f->err) < 0)
		return -1;
	if (all->kind == POL_Y_MAP && take_named(f, m) < 0)
		return -1;
	for (size_t k = 0; !selector && k < sizeof keys / sizeof *keys; k++)
		selector = pol_yaml_get(m, keys[k]);
	n = selector ? patterns(selector) : 0;
	if (n > MAX_PATTERNS)
		return WITH(f, selector, "too many selector patterns (%zu > %d)", n, MAX_PATTERNS);
	for (size_t k = 0; order && order->s && k < i; k++) {
		const struct pol_ynode *other = pol_yaml_get(entry_of(all, k), "order");

		if (other && other->s && strcmp(other->s, order->s) == 0)
			return WITH(f, order, "network middlewares use duplicate order %s",
				    order->s);
	}
	return 0;
}

int pol_openshell_middlewares(struct pol_front *f, const struct pol_ynode *key,
			      const struct pol_ynode *value)
{
	if (value->kind != POL_Y_MAP && pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	if (value->n > MAX_MIDDLEWARES)
		return WITH(f, value, "too many network middlewares (%zu > %d)", value->n,
			    MAX_MIDDLEWARES);
	for (size_t i = 0; i < value->n; i++)
		if (check_middleware(f, value, i) < 0 && pol_front_found(f) < 0)
			return -1;
	if (value->n > 0)
		pol_foreign_loss(
			f->doc, &key->pos,
			"network middlewares are not supported: the command has no network");
	return 0;
}
