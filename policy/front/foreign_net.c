/* SPDX-License-Identifier: Apache-2.0 */
/* foreign_net.c - rules on the network of other systems as entries of `connect`: what each language
 * means by its hosts, in the words of ours. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/host.h"
#include "policy/compile/requests.h"
#include "policy/front/dialect.h"

static void add(struct pol_front *f, struct pol_connects *list, const struct pol_connect *c)
{
	pol_connects_add(f->doc, list, *c);
}

/* ---- srt ---- */

/* `*.x` is any depth and never the apex; a name with an empty label, which srt takes, is nobody's.
 */
int pol_srt_domain(struct pol_front *f, const struct pol_ynode *item, bool allow)
{
	struct b_arena *a = &f->doc->arena;
	struct pol_connect c = {
		.to = {.s = item->s, .pos = item->pos}, .allow = allow, .is_foreign = true};

	if (++f->nrules > POL_MAX_RULES)
		return pol_pos_fail(f->err, &item->pos, "more than %d rules", POL_MAX_RULES);
	if (strstr(item->s, "..")) {
		pol_foreign_note(f->doc, &item->pos, "`%s` is not the name of a host", item->s);
		return 0;
	}
	if (strncmp(item->s, "*.", 2) == 0)
		c.to.s = b_arena_printf(a, "*%s", item->s);
	add(f, allow ? &f->doc->profiles[0].connect : &f->doc->deny_connect, &c);
	return 0;
}

int pol_foreign_denied_address(struct pol_front *f, const struct pol_ynode *item)
{
	const struct pol_connect c = {.to = {.s = item->s, .pos = item->pos}, .is_foreign = true};
	struct sbx_cidr range;

	if (!sbx_cidr_parse(item->s, item->len, &range))
		return pol_pos_fail(f->err, &item->pos,
				    "`%s`, expected an address or a range like 10.0.0.0/8",
				    item->s);
	add(f, &f->doc->deny_connect, &c);
	return 0;
}

/* The proxy at a port of the host: names are its own affair, and nothing else is reached. */
void pol_foreign_proxy(struct pol_front *f, const struct pol_ynode *port)
{
	const struct pol_connect c = {
		.to = {.s = b_arena_printf(&f->doc->arena, "localhost:%s", port->s),
		       .pos = port->pos},
		.allow = true,
		.is_foreign = true,
	};

	add(f, &f->doc->profiles[0].connect, &c);
}

/* ---- OpenShell ---- */

/* The rules for one endpoint, for all its ports. */
struct endpoint {
	struct pol_connect c;
	const char *host; /* "*": any */
};

/* Patterns with classes or alternatives have no word in our language. */
static bool is_plain(const char *path)
{
	return path[0] == '/' && !strpbrk(path, "[]{}\\");
}

/* true: at least one program is left. */
static bool take_programs(struct pol_front *f, const struct pol_ynode *binaries,
			  struct pol_texts *out)
{
	for (size_t i = 0; binaries && binaries->kind == POL_Y_SEQ && i < binaries->n; i++) {
		const struct pol_ynode *path = pol_yaml_get(binaries->v[i], "path");

		if (!path || path->kind != POL_Y_STR)
			continue;
		if (is_plain(path->s))
			pol_texts_add(f->doc, out,
				      (struct pol_text){.s = path->s, .pos = path->pos});
		else
			pol_foreign_note(f->doc, &path->pos,
					 "binary `%s`: expected an absolute path, with only * and "
					 "? as wildcards",
					 path->s);
	}
	return out->n > 0;
}

static void add_port(struct pol_front *f, const struct endpoint *e, const struct pol_ynode *port)
{
	bool in_brackets = strchr(e->host, ':') && e->host[0] != '[';
	struct pol_connect c = e->c;

	if (!port->s)
		return;
	c.to = (struct pol_text){
		.s = b_arena_printf(&f->doc->arena, in_brackets ? "[%s]:%s" : "%s:%s", e->host,
				    port->s),
		.pos = port->pos,
	};
	add(f, &f->doc->profiles[0].connect, &c);
}

/* NULL: nobody looks into them. */
static const struct pol_http_rules *requests_of(struct pol_front *f, const char *policy,
						const struct pol_ynode *endpoint)
{
	struct pol_http_rules *rules;

	if (!pol_openshell_is_judged(endpoint))
		return NULL;
	rules = b_arena_alloc(&f->doc->arena, sizeof *rules);
	(void)pol_openshell_requests(&f->doc->arena, endpoint, rules);
	rules->name = policy;
	if (rules->is_audit)
		pol_foreign_note(f->doc, &endpoint->pos,
				 "network policy `%s`: requests that no rule allows are recorded, "
				 "but pass: `enforcement: enforce` refuses them",
				 policy);
	return rules;
}

static void add_endpoint(struct pol_front *f, const char *policy, const struct pol_ynode *node,
			 const struct pol_texts *by)
{
	const struct pol_ynode *host = pol_yaml_get(node, "host");
	const struct pol_ynode *ips = pol_yaml_get(node, "allowed_ips");
	const struct pol_ynode *port = pol_yaml_get(node, "port"), *ports;
	struct endpoint e = {
		.c = {.allow = true, .is_shut = true, .is_foreign = true, .by = *by},
		.host = host && host->s && *host->s ? host->s : "*",
	};

	for (size_t i = 0; ips && ips->kind == POL_Y_SEQ && i < ips->n; i++)
		pol_texts_add(f->doc, &e.c.places,
			      (struct pol_text){.s = ips->v[i]->s, .pos = ips->v[i]->pos});
	e.c.has_places = e.c.places.n > 0;
	e.c.http = requests_of(f, policy, node);
	if (port)
		add_port(f, &e, port);
	ports = pol_yaml_get(node, "ports");
	for (size_t i = 0; ports && ports->kind == POL_Y_SEQ && i < ports->n; i++)
		add_port(f, &e, ports->v[i]);
}

static void add_policy(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *policy)
{
	const struct pol_ynode *endpoints = pol_yaml_get(policy, "endpoints");
	struct pol_texts by = {0};

	if (!take_programs(f, pol_yaml_get(policy, "binaries"), &by)) {
		pol_foreign_note(f->doc, &key->pos,
				 "`%s` has no binaries: no program may connect by it", key->s);
		return;
	}
	for (size_t i = 0; endpoints && endpoints->kind == POL_Y_SEQ && i < endpoints->n; i++)
		add_endpoint(f, key->s, endpoints->v[i], &by);
}

static int by_key_reversed(const void *a, const void *b)
{
	const struct pol_ynode *const *x = a, *const *y = b;

	return strcmp((*y)->s, (*x)->s);
}

/* The smallest key that matches is the policy that is named: it comes last. */
void pol_openshell_connect(struct pol_front *f, const struct pol_ynode *policies)
{
	b_auto_free const struct pol_ynode **keys = b_calloc(policies->n + 1, sizeof *keys);

	for (size_t i = 0; i < policies->n; i++)
		keys[i] = policies->v[2 * i];
	qsort(keys, policies->n, sizeof *keys, by_key_reversed);
	for (size_t i = 0; i < policies->n; i++)
		add_policy(f, keys[i], pol_yaml_get(policies, keys[i]->s));
}
