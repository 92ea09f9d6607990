/* SPDX-License-Identifier: Apache-2.0 */
/* sandbox_net.c - keys of `spec.sandbox` on the network beside `connect`: single ports both ways,
 * limits, the proxy by which the world is reached. */
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/document/settings.h"
#include "policy/front/tree.h"

static bool is_scalar(const struct pol_ynode *n)
{
	return (n->kind == POL_Y_INT || n->kind == POL_Y_STR) && strlen(n->s) == n->len;
}

static int take_ports(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value, bool has_ranges,
		      void (*take)(struct pol_front *, const struct pol_ynode *port))
{
	if (pol_yaml_expect(value, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < value->n; i++) {
		unsigned short low, high;

		if (++f->nrules > POL_MAX_RULES)
			return pol_pos_fail(f->err, &value->v[i]->pos, "more than %d rules",
					    POL_MAX_RULES);
		if (!is_scalar(value->v[i]) ||
		    pol_port_parse(value->v[i]->s, &low, has_ranges ? &high : NULL) < 0)
			return pol_pos_fail(f->err, &value->v[i]->pos, "%s: expected a port%s",
					    key->s, has_ranges ? " or a range of them" : "");
		take(f, value->v[i]);
	}
	return 0;
}

static void add_local(struct pol_front *f, const struct pol_ynode *port)
{
	const struct pol_connect c = {
		.allow = true,
		.to = {.s = b_arena_printf(&f->doc->arena, "localhost:%s", port->s),
		       .pos = port->pos}};

	pol_connects_add(f->doc, &f->doc->settings.connect, c);
}

int pol_front_local(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *value)
{
	return take_ports(f, key, value, true, add_local);
}

static void add_published(struct pol_front *f, const struct pol_ynode *port)
{
	pol_texts_add(f->doc, &f->doc->settings.publish,
		      (struct pol_text){.s = port->s, .pos = port->pos});
}

int pol_front_publish(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	if (take_ports(f, key, value, false, add_published) < 0)
		return -1;
	if (f->doc->settings.publish.n > POL_PUBLISH_MAX)
		return pol_pos_fail(f->err, &value->pos, "%s: more than %d ports", key->s,
				    POL_PUBLISH_MAX);
	return 0;
}

static int take_size(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value, unsigned long long *out)
{
	if (is_scalar(value) && pol_size_parse(value->s, out) == 0)
		return 0;
	return pol_pos_fail(f->err, &value->pos,
			    "%s: expected a number of bytes, as 500K, 10M or 2G", key->s);
}

static int take_connections(struct pol_front *f, const struct pol_ynode *key,
			    const struct pol_ynode *value)
{
	unsigned long long *out = &f->doc->settings.net_limits.connections;

	if (is_scalar(value) && b_parse_u64(value->s, 1ull << 40, out) == 0 && *out)
		return 0;
	return pol_pos_fail(f->err, &value->pos, "%s: expected a number of connections", key->s);
}

static int take_bytes(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	return take_size(f, key, value, &f->doc->settings.net_limits.bytes);
}

static int take_rate(struct pol_front *f, const struct pol_ynode *key,
		     const struct pol_ynode *value)
{
	return take_size(f, key, value, &f->doc->settings.net_limits.rate);
}

int pol_front_net_limits(struct pol_front *f, const struct pol_ynode *key,
			 const struct pol_ynode *value)
{
	static const struct pol_key rows[] = {
		{.name = "connections", .take = take_connections},
		{.name = "bytes", .take = take_bytes},
		{.name = "rate", .take = take_rate},
	};

	return pol_front_map(f, value, key->s, true, rows, sizeof rows / sizeof *rows);
}

int pol_front_upstream(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	struct pol_upstream ignored;

	if (pol_yaml_expect(value, POL_Y_STR, key->s, f->err) < 0)
		return -1;
	if (strlen(value->s) != value->len || pol_upstream_parse(value->s, &ignored) < 0)
		return pol_pos_fail(f->err, &value->pos,
				    "%s: expected the URL of a proxy, as http://proxy.example:3128",
				    key->s);
	f->doc->settings.upstream = (struct pol_text){.s = value->s, .pos = value->pos};
	return 0;
}
