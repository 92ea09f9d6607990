/* SPDX-License-Identifier: Apache-2.0 */
/* network.c - rules on endpoints into an image. How a host is a path: core/image.h. */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/automata.h"
#include "policy/compile/endpoints.h"
#include "policy/compile/past.h"
#include "policy/compile/requests.h"
#include "policy/compile/ruleset.h"

/* ---- a rule's host as paths ---- */

/* Labels from the last to the first, a slash before each. */
static void add_labels(struct b_str *out, const char *host)
{
	size_t end = strlen(host);

	for (size_t i = end; i-- > 0;) {
		if (i > 0 && host[i - 1] != '.')
			continue;
		b_str_addc(out, '/');
		b_str_addn(out, host + i, end - i);
		end = i > 0 ? i - 1 : 0;
	}
}

static void add_port(struct b_str *out, const struct pol_endpoint *e, bool is_single)
{
	if (is_single)
		b_str_addf(out, "/:%04x", e->low);
}

struct lowered {
	struct b_arena arena;
	struct pol_list list;
	uint32_t *map; /* by rule of `list`: which endpoint it is of */
	size_t map_cap;
};

static void lower(struct lowered *l, enum pol_shape shape, const struct b_str *base,
		  const char *glob, const struct pol_endpoint *e, uint32_t at)
{
	const struct pol_rule r = {
		.allow = e->allow,
		.shape = shape,
		.base = b_arena_strndup(&l->arena, b_str_c(base), base->len),
		.base_len = base->len,
		.glob = glob,
		.matched = e->matched,
		.origin = e->origin,
	};

	b_grow(l->list.v, l->list.n, l->list.cap);
	if (l->map_cap != l->list.cap) {
		l->map_cap = l->list.cap;
		l->map = b_realloc(l->map, l->map_cap, sizeof *l->map);
	}
	l->map[l->list.n] = at;
	l->list.v[l->list.n++] = r;
}

/* Whole digits of the prefix; what is left of a digit becomes all digits that begin so. */
static void lower_range(struct lowered *l, const struct pol_endpoint *e, uint32_t at, bool single)
{
	static const char digits[] = "0123456789abcdef";
	const struct sbx_cidr *c = &e->range;
	unsigned whole = c->bits / 4u, rest = c->bits % 4u, most = c->addr.is_v6 ? 32 : 8;
	unsigned ways = rest ? 1u << (4 - rest) : 1;

	for (unsigned way = 0; way < ways; way++) {
		b_auto(b_str_release) struct b_str path = {0};
		unsigned n = whole + (rest ? 1 : 0);

		add_port(&path, e, single);
		b_str_add(&path, c->addr.is_v6 ? "/6" : "/4");
		for (unsigned i = 0; i < n; i++) {
			unsigned digit = i & 1 ? c->addr.b[i / 2] & 15u : c->addr.b[i / 2] >> 4;

			b_str_addc(&path, '/');
			b_str_addc(&path, digits[digit | (i == whole ? way : 0)]);
		}
		lower(l, n == most ? POL_EXACT : POL_TREE, &path, NULL, e, at);
	}
}

/* The labels of a pattern, `**` as any number of them, behind those that have no wildcard. */
static void lower_glob(struct lowered *l, const struct pol_endpoint *e, uint32_t at, bool single)
{
	b_auto(b_str_release) struct b_str path = {0}, base = {0};
	const char *star, *slash, *p;
	size_t len;

	add_labels(&path, e->host);
	star = path.s + strcspn(path.s, "*?");
	for (slash = star; *slash != '/';)
		slash--;
	add_port(&base, e, single);
	b_str_add(&base, "/n");
	b_str_addn(&base, path.s, (size_t)(slash - path.s));
	p = slash + 1;
	len = strlen(p);
	/* `**` is at the end here, where it was in front, and stands for one label at least */
	if (len >= 2 && strcmp(p + len - 2, "**") == 0 && (len == 2 || p[len - 3] == '/'))
		p = b_arena_printf(&l->arena, "%.*s*/**", (int)(len - 2), p);
	else
		p = b_arena_strndup(&l->arena, p, len);
	lower(l, POL_GLOB, &base, p, e, at);
}

static void lower_endpoint(struct lowered *l, const struct pol_endpoint *e, uint32_t at,
			   bool single)
{
	b_auto(b_str_release) struct b_str path = {0};

	if (e->shape == POL_HOST_RANGE) {
		lower_range(l, e, at, single);
		return;
	}
	if (e->shape == POL_HOST_GLOB) {
		lower_glob(l, e, at, single);
		return;
	}
	add_port(&path, e, single);
	if (e->shape != POL_HOST_ALL)
		b_str_add(&path, "/n");
	if (e->shape == POL_HOST_NAME || e->shape == POL_HOST_ONE || e->shape == POL_HOST_DEEP)
		add_labels(&path, e->host);
	if (e->shape == POL_HOST_ONE)
		b_str_add(&path, "/*");
	lower(l, e->shape == POL_HOST_NAME || e->shape == POL_HOST_ONE ? POL_EXACT : POL_TREE,
	      &path, NULL, e, at);
}

/* ---- programs ---- */

struct patterns {
	const struct pol_past *past; /* whose programs they are */
	struct sbx_image_by *by;
	size_t nby, by_cap;
};

/* 1 + place of the set, 0 = all programs. */
static uint32_t intern_by(struct patterns *p, const struct pol_endpoint *e)
{
	struct sbx_image_by by = {{0}};

	if (e->by.n == 0)
		return 0;
	for (size_t i = 0; i < e->by.n; i++) {
		int bit = pol_past_program(p->past, &e->by.v[i]);

		B_ASSERT(bit >= 0); /* pol_past_add() lets no such rule pass */
		by.bit[bit / 64] |= UINT64_C(1) << bit % 64;
	}
	for (size_t i = 0; i < p->nby; i++)
		if (memcmp(&p->by[i], &by, sizeof by) == 0)
			return (uint32_t)i + 1;
	b_grow(p->by, p->nby, p->by_cap);
	p->by[p->nby++] = by;
	return (uint32_t)p->nby;
}

static int write_list(struct pol_writer *w, const struct pol_list *list,
		      struct sbx_image_layer *out, struct b_err *err)
{
	*out = (struct sbx_image_layer){.nrules = (uint32_t)list->n};
	pol_write_literals(w, list, out);
	return pol_write_groups(w, list, out, err);
}

static int write_programs(struct pol_writer *w, const struct patterns *p, struct sbx_image_net *out,
			  struct b_err *err)
{
	b_auto_free struct sbx_image_program *v = b_calloc(p->past->nprograms + 1, sizeof *v);

	for (size_t i = 0; i < p->past->nprograms; i++) {
		const struct pol_program *one = p->past->program[i];
		struct pol_rule r = {.allow = true,
				     .shape = one->glob ? POL_GLOB : POL_EXACT,
				     .base = one->glob ? "" : one->text,
				     .base_len = one->glob ? 0 : strlen(one->text),
				     .glob = one->glob,
				     .matched = one->text,
				     .origin = one->text};
		const struct pol_list list = {&r, one->glob || one->ino ? 1 : 0, 1};

		v[i].dev = one->dev;
		v[i].ino = one->ino;
		if (write_list(w, &list, &v[i].rules, err) < 0)
			return -1;
	}
	out->nprograms = (uint32_t)p->past->nprograms;
	out->programs = pol_writer_append(w, v, p->past->nprograms * sizeof *v);
	out->nbys = (uint32_t)p->nby;
	out->bys = pol_writer_append(w, p->by, p->nby * sizeof *p->by);
	return 0;
}

/* ---- parts ---- */

struct net {
	const struct pol_endpoints *all;
	struct pol_writer *w;
	struct patterns patterns;
	struct pol_requests requests;
	uint32_t *by; /* by endpoint */
	struct sbx_image_net_part *parts;
	size_t nparts, parts_cap;
};

static bool is_single(const struct pol_endpoint *e)
{
	return e->low == e->high;
}

/* Which part of its layer the endpoint is in. */
static struct sbx_image_net_part part_of(const struct net *n, size_t i)
{
	const struct pol_endpoint *e = &n->all->v[i];
	bool single = is_single(e);

	return (struct sbx_image_net_part){
		.by = n->by[i],
		.low = single ? 0 : e->low,
		.high = single ? 65535 : e->high,
		.is_single = single,
	};
}

static bool same_part(const struct sbx_image_net_part *a, const struct sbx_image_net_part *b)
{
	return a->by == b->by && a->low == b->low && a->high == b->high &&
	       a->is_single == b->is_single;
}

static int write_part(struct net *n, uint8_t layer, struct sbx_image_net_part *part,
		      struct b_err *err)
{
	struct lowered l = {0};
	int rc;

	for (size_t i = 0; i < n->all->n; i++) {
		const struct sbx_image_net_part mine = part_of(n, i);

		if (n->all->v[i].layer == layer && same_part(&mine, part))
			lower_endpoint(&l, &n->all->v[i], (uint32_t)i, part->is_single);
	}
	rc = write_list(n->w, &l.list, &part->rules, err);
	part->map = pol_writer_append(n->w, l.map, l.list.n * sizeof *l.map);
	free(l.list.v);
	free(l.map);
	b_arena_release(&l.arena);
	return rc;
}

static int write_layer(struct net *n, uint8_t number, struct sbx_image_net_layer *out,
		       struct b_err *err)
{
	size_t first = n->nparts;

	for (size_t i = 0; i < n->all->n; i++) {
		struct sbx_image_net_part part = part_of(n, i);
		bool is_known = n->all->v[i].layer != number;

		for (size_t k = first; k < n->nparts && !is_known; k++)
			is_known = same_part(&n->parts[k], &part);
		if (is_known)
			continue;
		if (write_part(n, number, &part, err) < 0)
			return -1;
		b_grow(n->parts, n->nparts, n->parts_cap);
		n->parts[n->nparts++] = part;
	}
	out->first_part = (uint32_t)first;
	out->nparts = (uint32_t)(n->nparts - first);
	return 0;
}

/* ---- what rules are besides ---- */

/* A range of any port, or of more than the loopback interface, leaves the run its own interface. */
static bool is_of_host(const struct pol_endpoint *e)
{
	return e->shape == POL_HOST_RANGE && !POL_ANY_PORT(e) &&
	       e->range.bits >= (e->range.addr.is_v6 ? 128 : 8) &&
	       sbx_addr_class(&e->range.addr) == SBX_ADDR_LOOPBACK;
}

static uint32_t flags_of(const struct pol_endpoint *e)
{
	uint32_t flags = is_of_host(e) ? SBX_NET_HOSTS : 0;

	if (e->shape == POL_HOST_NAME)
		flags |= SBX_NET_EXACT;
	if (e->shape != POL_HOST_RANGE)
		flags |= SBX_NET_NAME;
	return flags | (e->is_shut ? SBX_NET_SHUT : 0) | (e->places ? SBX_NET_LISTED : 0);
}

static bool is_watched(const struct net *n, const struct pol_endpoint *e)
{
	for (size_t i = 0; i < n->all->nlayers; i++)
		if (n->all->layer[i].number == e->layer)
			return n->all->layer[i].is_watched;
	return false;
}

/* *out: the number of its set + 1. */
static int add_requests(struct net *n, const struct pol_endpoint *e, uint32_t *out,
			struct b_err *err)
{
	struct pol_http_rules rules;
	uint32_t set;

	if (!e->requests)
		return 0;
	rules = *e->requests;
	rules.is_audit |= is_watched(n, e);
	if (pol_requests_add(&n->requests, &rules, &set, err) < 0)
		return b_wrap(err, "%s", e->origin);
	*out = set + 1;
	return 0;
}

static void write_requests(struct net *n, struct sbx_image_requests *out)
{
	struct sbx_requests r;

	pol_requests_view(&n->requests, &r);
	*out = (struct sbx_image_requests){.nsets = r.nsets,
					   .nrules = r.nrules,
					   .nparams = r.nparams,
					   .nglobs = r.nglobs,
					   .nranges = r.nranges,
					   .nops = r.nops,
					   .ntext = r.ntext};
	out->sets = pol_writer_append(n->w, r.set, r.nsets * sizeof *r.set);
	out->rules = pol_writer_append(n->w, r.rule, r.nrules * sizeof *r.rule);
	out->params = pol_writer_append(n->w, r.param, r.nparams * sizeof *r.param);
	out->globs = pol_writer_append(n->w, r.glob, r.nglobs * sizeof *r.glob);
	out->ranges = pol_writer_append(n->w, r.range, r.nranges * sizeof *r.range);
	out->ops = pol_writer_append(n->w, r.op, r.nops * sizeof *r.op);
	out->text = pol_writer_append(n->w, r.text, r.ntext);
}

static int write_facts(struct net *n, struct sbx_image_net *out, struct b_err *err)
{
	b_auto_free struct sbx_image_net_rule *facts = b_calloc(n->all->n + 1, sizeof *facts);
	b_auto(b_str_release) struct b_str places = {0};

	for (size_t i = 0; i < n->all->n; i++) {
		const struct pol_endpoint *e = &n->all->v[i];

		facts[i] = (struct sbx_image_net_rule){
			.flags = flags_of(e),
			.first_place = (uint32_t)(places.len / sizeof *e->places),
			.nplaces = e->places ? (uint32_t)e->nplaces : 0,
			.low = e->low,
			.high = e->high,
		};
		if (add_requests(n, e, &facts[i].requests, err) < 0)
			return -1;
		if (facts[i].nplaces)
			b_str_addn(&places, (const char *)e->places,
				   e->nplaces * sizeof *e->places);
	}
	out->nrules = (uint32_t)n->all->n;
	out->facts = pol_writer_append(n->w, facts, n->all->n * sizeof *facts);
	out->nplaces = (uint32_t)(places.len / sizeof(struct sbx_cidr));
	out->places = pol_writer_append(n->w, places.s, places.len);
	out->ntrusted = (uint32_t)n->all->ntrusted;
	out->trusted = pol_writer_append(n->w, n->all->trusted,
					 n->all->ntrusted * sizeof *n->all->trusted);
	write_requests(n, &out->requests);
	return 0;
}

/* Where an answer may change: ports at which those of a rule begin, and behind their end. */
static void write_ports(struct net *n, struct sbx_image_net *out)
{
	b_auto_free uint8_t *is_edge = b_calloc(65537, 1);
	b_auto_free uint16_t *ports = b_calloc(65536, sizeof *ports);

	is_edge[1] = 1;
	for (size_t i = 0; i < n->all->n; i++) {
		is_edge[n->all->v[i].low] = 1;
		is_edge[n->all->v[i].high + 1] = 1;
	}
	for (unsigned port = 1; port < 65536; port++)
		if (is_edge[port])
			ports[out->nports++] = (uint16_t)port;
	out->ports = pol_writer_append(n->w, ports, out->nports * sizeof *ports);
}

static int write_all(struct net *n, struct sbx_image_net *out, struct b_err *err)
{
	for (size_t i = 0; i < n->all->n; i++)
		n->by[i] = intern_by(&n->patterns, &n->all->v[i]);
	for (size_t i = 0; i < n->all->nlayers; i++) {
		out->layer[i].is_open = n->all->layer[i].is_open;
		out->layer[i].is_watched = n->all->layer[i].is_watched;
		out->layer[i].is_main = n->all->layer[i].number == POL_LAYER_MAIN;
		if (write_layer(n, n->all->layer[i].number, &out->layer[i], err) < 0)
			return -1;
	}
	out->nlayers = (uint32_t)n->all->nlayers;
	out->nparts = (uint32_t)n->nparts;
	out->parts = pol_writer_append(n->w, n->parts, n->nparts * sizeof *n->parts);
	if (write_facts(n, out, err) < 0)
		return -1;
	write_ports(n, out);
	return write_programs(n->w, &n->patterns, out, err);
}

int pol_write_net(struct pol_writer *w, const struct pol_endpoints *all,
		  const struct pol_past *past, struct sbx_image_net *out, struct b_err *err)
{
	struct net n = {.all = all,
			.w = w,
			.patterns.past = past,
			.by = b_calloc(all->n + 1, sizeof *n.by)};
	int rc = write_all(&n, out, err);

	free(n.by);
	free(n.parts);
	free(n.patterns.by);
	pol_requests_release(&n.requests);
	return rc;
}
