/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - see connect.h; how a host is a path: image.h. */
#include "core/connect.h"

#include "core/decide_priv.h"
#include "core/request.h"

/* "/:01bb", "/n", and of each of at most 127 labels the slash beside the letters; or 32 digits with
 * slashes. */
#define PATH_SIZE   (SBX_HOST_MAX + 16)
#define PORT_PREFIX 6

/* A question: the path of a host with the port in front. */
struct asked {
	const struct sbx_image *img;
	uint16_t port;
	const struct sbx_programs *programs; /* NULL: none */
	size_t len;			     /* with the port */
	bool is_name;
	char path[PATH_SIZE];
};

static void put_port(struct asked *q, uint16_t port)
{
	static const char digits[] = "0123456789abcdef";

	q->port = port;
	q->path[0] = '/';
	q->path[1] = ':';
	for (int i = 0; i < 4; i++)
		q->path[2 + i] = digits[port >> (12 - 4 * i) & 15];
	q->len = PORT_PREFIX;
}

/* The labels from the last to the first. */
static bool ask_name(struct asked *q, const char *name, size_t len)
{
	size_t end = len;

	if (len == 0 || len > SBX_HOST_MAX)
		return false;
	q->is_name = true;
	q->path[q->len++] = '/';
	q->path[q->len++] = 'n';
	for (size_t i = len; i-- > 0;) {
		if (name[i] == '/' || name[i] == '\0')
			return false;
		if (i > 0 && name[i - 1] != '.')
			continue;
		q->path[q->len++] = '/';
		for (size_t k = i; k < end; k++)
			q->path[q->len++] = name[k];
		end = i > 0 ? i - 1 : 0;
	}
	return true;
}

static void ask_addr(struct asked *q, const struct sbx_addr *a)
{
	static const char digits[] = "0123456789abcdef";
	int n = a->is_v6 ? 32 : 8;

	q->is_name = false;
	q->path[q->len++] = '/';
	q->path[q->len++] = a->is_v6 ? '6' : '4';
	for (int i = 0; i < n; i++) {
		q->path[q->len++] = '/';
		q->path[q->len++] = digits[i & 1 ? a->b[i / 2] & 15 : a->b[i / 2] >> 4];
	}
}

static uint32_t later(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* The last literal rule: the path itself, `*` in place of its last name, and what is below a tree.
 * Unlike a directory's, a tree's own path is not in it. */
static uint32_t last_literal(const struct sbx_image *img, const struct sbx_image_layer *part,
			     const char *path, size_t len, bool is_name)
{
	uint64_t hash = sbx_literal_start(part->seed), parent = hash;
	const struct sbx_image_literal *l;
	char star[PATH_SIZE];
	size_t slash = 0;
	uint32_t last = 0;

	for (size_t i = 0; i < len; i++) {
		if (path[i] == '/') {
			l = sbx_find_literal(img, part, hash, path, i);
			last = l ? later(last, l->tree) : last;
			parent = hash;
			slash = i;
		}
		hash = sbx_literal_step(hash, (unsigned char)path[i]);
	}
	l = sbx_find_literal(img, part, hash, path, len);
	last = l ? later(last, l->exact) : last;
	if (!is_name)
		return last;
	hash = sbx_literal_step(sbx_literal_step(parent, '/'), '*');
	for (size_t i = 0; i <= slash; i++)
		star[i] = path[i];
	star[slash + 1] = '*';
	l = sbx_find_literal(img, part, hash, star, slash + 2);
	return l ? later(last, l->exact) : last;
}

enum holds { HOLDS_NOT, HOLDS_PERHAPS, HOLDS };

static enum holds holds_for(const struct asked *q, uint32_t by)
{
	const struct sbx_image_net *net = &q->img->hdr->net;
	const struct sbx_image_by *b;

	if (by == 0)
		return HOLDS;
	if (by > net->nbys || !q->programs)
		return HOLDS_NOT;
	b = (const struct sbx_image_by *)(const void *)(q->img->base + net->bys) + (by - 1);
	for (int i = 0; i < SBX_PROGRAMS_MAX / 64; i++)
		if (b->bit[i] & q->programs->bit[i])
			return HOLDS;
	return q->programs->is_partial ? HOLDS_PERHAPS : HOLDS_NOT;
}

/* The last rule of the part that matches: its place in `facts`, counted from 1. */
static uint32_t last_in_part(const struct asked *q, const struct sbx_image_net_part *part)
{
	const uint32_t *map = (const void *)(q->img->base + part->map);
	size_t from = part->is_single ? 0 : PORT_PREFIX;
	const char *path = q->path + from;
	size_t len = q->len - from;
	uint32_t last = 0;

	if (part->rules.nliterals)
		last = last_literal(q->img, &part->rules, path, len, q->is_name);
	if (part->rules.ngroups)
		last = sbx_last_pattern(q->img, &part->rules, path, len, last);
	if (last == 0 || last > part->rules.nrules)
		return 0;
	return map[last - 1] < q->img->hdr->net.nrules ? map[last - 1] + 1 : 0;
}

static bool is_allow(const struct sbx_image *img, uint32_t rule)
{
	const struct sbx_image_rule *rules = (const void *)(img->base + img->hdr->rules);

	return rules[img->hdr->net.first_rule + rule].allow;
}

static uint32_t last_in_layer(const struct asked *q, const struct sbx_image_net_layer *l)
{
	const struct sbx_image_net_part *part =
		(const struct sbx_image_net_part *)(const void *)(q->img->base +
								  q->img->hdr->net.parts) +
		l->first_part;
	uint32_t last = 0;

	for (uint32_t i = 0; i < l->nparts; i++) {
		enum holds holds = HOLDS_NOT;
		uint32_t rule;

		if (q->port >= part[i].low && q->port <= part[i].high)
			holds = holds_for(q, part[i].by);
		rule = holds ? last_in_part(q, &part[i]) : 0;
		if (rule && (holds == HOLDS || !is_allow(q->img, rule - 1)))
			last = later(last, rule);
	}
	return last;
}

static const struct sbx_image_net_rule *facts_of(const struct sbx_image *img, uint32_t rule)
{
	return (const struct sbx_image_net_rule *)(const void *)(img->base + img->hdr->net.facts) +
	       rule;
}

static bool answer(const struct sbx_image *img, struct sbx_connect_answer *out, bool allowed,
		   uint32_t last, enum sbx_connect_why why)
{
	*out = (struct sbx_connect_answer){
		.allowed = allowed,
		.rule = last ? (int)(img->hdr->net.first_rule + last - 1) : -1,
		.why = why,
	};
	return allowed;
}

static bool refuse_addr(const struct sbx_image *img, struct sbx_connect_answer *out, uint32_t last,
			enum sbx_connect_why why, const struct sbx_addr *addr)
{
	answer(img, out, false, last, why);
	out->class = sbx_addr_class(addr);
	out->addr = *addr;
	return false;
}

/* ---- addresses ---- */

/* Ports of control planes, which a range of addresses never opens. */
static bool is_control_port(uint16_t port)
{
	return port == 2379 || port == 2380 || port == 6443 || port == 10250 || port == 10255;
}

static bool is_in(const struct sbx_image *img, uint32_t at, uint32_t n, const struct sbx_addr *a)
{
	const struct sbx_cidr *v = (const void *)(img->base + at);

	for (uint32_t i = 0; i < n; i++)
		if (sbx_cidr_has(&v[i], a))
			return true;
	return false;
}

static bool is_listed(const struct sbx_image *img, const struct sbx_image_net_rule *r,
		      const struct sbx_addr *a)
{
	const struct sbx_image_net *net = &img->hdr->net;

	return (uint64_t)r->first_place + r->nplaces <= net->nplaces &&
	       is_in(img, net->places + r->first_place * (uint32_t)sizeof(struct sbx_cidr),
		     r->nplaces, a);
}

/* The last rule on addresses that matches this one. */
static uint32_t last_on_addr(struct asked *q, const struct sbx_image_net_layer *l,
			     const struct sbx_addr *a)
{
	put_port(q, q->port);
	ask_addr(q, a);
	return last_in_layer(q, l);
}

/* May a rule of these facts lead to the address, where no rule on addresses says more? */
static bool class_opens(const struct sbx_image *img, const struct sbx_image_net_rule *r,
			const struct sbx_addr *a)
{
	enum sbx_addr_class class = sbx_addr_class(a);
	const struct sbx_image_net *net = &img->hdr->net;

	if (class == SBX_ADDR_PUBLIC || sbx_addr_is_never(class))
		return class == SBX_ADDR_PUBLIC;
	return r->flags & (SBX_NET_EXACT | SBX_NET_LISTED) ||
	       is_in(img, net->trusted, net->ntrusted, a);
}

/* One address, as it is or inside of another, of a name that `by_name` (from 1) allows; 0: of an
 * address that its outer form was asked for. */
static bool layer_has_addr(struct asked *q, const struct sbx_image_net_layer *l, uint32_t by_name,
			   const struct sbx_addr *a, struct sbx_connect_answer *out)
{
	const struct sbx_image_net_rule *r = facts_of(q->img, by_name - 1);
	uint32_t last = last_on_addr(q, l, a);

	if (r->flags & SBX_NET_LISTED) {
		if (is_control_port(q->port))
			return refuse_addr(q->img, out, by_name, SBX_CONNECT_PORT, a);
		if (!is_listed(q->img, r, a))
			return refuse_addr(q->img, out, by_name, SBX_CONNECT_NOT_LISTED, a);
	}
	if (last && !is_allow(q->img, last - 1))
		return refuse_addr(q->img, out, last, SBX_CONNECT_RULE, a);
	if (r->flags & SBX_NET_SHUT && sbx_addr_is_never(sbx_addr_class(a)))
		return refuse_addr(q->img, out, by_name, SBX_CONNECT_CLASS, a);
	if (last || class_opens(q->img, r, a))
		return true;
	return refuse_addr(q->img, out, by_name, SBX_CONNECT_CLASS, a);
}

/* A v4-mapped address is judged as the one inside, another that leads to one as both. */
static bool layer_has_both(struct asked *q, const struct sbx_image_net_layer *l, uint32_t by_name,
			   const struct sbx_addr *a, struct sbx_connect_answer *out)
{
	struct sbx_addr in;
	bool is_mapped;

	if (!sbx_addr_inside(a, &in, &is_mapped))
		return layer_has_addr(q, l, by_name, a, out);
	return layer_has_addr(q, l, by_name, &in, out) &&
	       (is_mapped || layer_has_addr(q, l, by_name, a, out));
}

/* A literal address: a rule on addresses must open it, and what it leads to must not be closed. */
static bool layer_opens_addr(struct asked *q, const struct sbx_image_net_layer *l,
			     const struct sbx_addr *a, uint32_t *out_last,
			     struct sbx_connect_answer *out)
{
	struct sbx_addr plain = *a, in;
	bool is_mapped = false, has_inside = sbx_addr_inside(a, &in, &is_mapped);
	const struct sbx_image_net_rule *r;
	uint32_t last;

	if (is_mapped)
		plain = in;
	last = last_on_addr(q, l, &plain);
	*out_last = last;
	if (last == 0)
		return answer(q->img, out, false, 0, SBX_CONNECT_NO_RULE);
	if (!is_allow(q->img, last - 1))
		return answer(q->img, out, false, last, SBX_CONNECT_RULE);
	r = facts_of(q->img, last - 1);
	if (r->flags & SBX_NET_LISTED && is_control_port(q->port))
		return refuse_addr(q->img, out, last, SBX_CONNECT_PORT, a);
	if (r->flags & SBX_NET_LISTED && !is_listed(q->img, r, &plain))
		return refuse_addr(q->img, out, last, SBX_CONNECT_NOT_LISTED, a);
	if (r->flags & SBX_NET_SHUT && sbx_addr_is_never(sbx_addr_class(&plain)))
		return refuse_addr(q->img, out, last, SBX_CONNECT_CLASS, a);
	if (!has_inside || is_mapped)
		return true;
	last = last_on_addr(q, l, &in);
	if (last && !is_allow(q->img, last - 1))
		return refuse_addr(q->img, out, last, SBX_CONNECT_RULE, &in);
	if (!last && !class_opens(q->img, r, &in))
		return refuse_addr(q->img, out, *out_last, SBX_CONNECT_CLASS, &in);
	return true;
}

/* ---- the questions ---- */

static void begin(struct asked *q, const struct sbx_image *img, uint16_t port,
		  const struct sbx_programs *programs)
{
	q->img = img;
	q->programs = programs;
	put_port(q, port);
}

/* Of the layers that allow, the main one is named. */
static void name_layer(uint32_t last, const struct sbx_image_net_layer *l, uint32_t *named)
{
	if (*named == 0 || l->is_main)
		*named = last ? last : *named;
}

bool sbx_connect_addr(const struct sbx_image *img, const struct sbx_addr *a, uint16_t port,
		      const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	uint32_t named = 0, last = 0;
	struct asked q;

	begin(&q, img, port, programs);
	if (net->nlayers == 0)
		return answer(img, out, false, 0, SBX_CONNECT_NO_RULE);
	for (uint32_t i = 0; i < net->nlayers; i++) {
		if (net->layer[i].is_open)
			continue;
		if (!layer_opens_addr(&q, &net->layer[i], a, &last, out))
			return false;
		name_layer(last, &net->layer[i], &named);
	}
	return answer(img, out, true, named, named ? SBX_CONNECT_RULE : SBX_CONNECT_OPEN);
}

bool sbx_connect_is_hosts(const struct sbx_image *img, const struct sbx_addr *a, uint16_t port,
			  const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	return sbx_addr_class(a) == SBX_ADDR_LOOPBACK &&
	       sbx_connect_addr(img, a, port, programs, out) && out->rule >= 0 &&
	       facts_of(img, (uint32_t)out->rule - img->hdr->net.first_rule)->flags & SBX_NET_HOSTS;
}

static bool connect_name(const struct sbx_image *img, const char *name, size_t len, uint16_t port,
			 const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	uint32_t named = 0;
	struct asked q;

	begin(&q, img, port, programs);
	if (!ask_name(&q, name, len))
		return answer(img, out, false, 0, SBX_CONNECT_BAD);
	if (net->nlayers == 0)
		return answer(img, out, false, 0, SBX_CONNECT_NO_RULE);
	for (uint32_t i = 0; i < net->nlayers; i++) {
		uint32_t last;

		if (net->layer[i].is_open)
			continue;
		last = last_in_layer(&q, &net->layer[i]);
		if (last == 0)
			return answer(img, out, false, 0, SBX_CONNECT_NO_RULE);
		if (!is_allow(img, last - 1))
			return answer(img, out, false, last, SBX_CONNECT_RULE);
		name_layer(last, &net->layer[i], &named);
	}
	return answer(img, out, true, named, named ? SBX_CONNECT_RULE : SBX_CONNECT_OPEN);
}

bool sbx_connect_host(const struct sbx_image *img, const struct sbx_host *host, uint16_t port,
		      const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	if (host->kind == SBX_HOST_NAME)
		return connect_name(img, host->name, host->len, port, programs, out);
	if (host->kind == SBX_HOST_ADDRESS)
		return sbx_connect_addr(img, &host->addr, port, programs, out);
	return answer(img, out, false, 0, SBX_CONNECT_BAD);
}

bool sbx_connect_resolved(const struct sbx_image *img, const char *name, size_t len,
			  const struct sbx_addr *addrs, size_t n, uint16_t port,
			  const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	struct sbx_connect_answer refused;
	struct asked q;

	if (!connect_name(img, name, len, port, programs, out))
		return false;
	if (n == 0)
		return answer(img, out, false, 0, SBX_CONNECT_BAD);
	for (uint32_t i = 0; i < net->nlayers; i++) {
		uint32_t by_name;

		if (net->layer[i].is_open)
			continue;
		begin(&q, img, port, programs);
		ask_name(&q, name, len);
		by_name = last_in_layer(&q, &net->layer[i]);
		for (size_t k = 0; k < n; k++)
			if (!layer_has_both(&q, &net->layer[i], by_name, &addrs[k], &refused)) {
				*out = refused;
				return false;
			}
	}
	return true;
}

/* The rule of the layer that lets a host pass which it lets pass; 0: none. */
static uint32_t rule_for(struct asked *q, const struct sbx_image_net_layer *l,
			 const struct sbx_host *host)
{
	struct sbx_addr plain = host->addr, in;
	bool is_mapped = false;

	if (host->kind == SBX_HOST_NAME)
		return ask_name(q, host->name, host->len) ? last_in_layer(q, l) : 0;
	if (sbx_addr_inside(&plain, &in, &is_mapped) && is_mapped)
		plain = in;
	return last_on_addr(q, l, &plain);
}

size_t sbx_connect_sets(const struct sbx_image *img, const struct sbx_host *host, uint16_t port,
			const struct sbx_programs *programs, uint32_t out[SBX_LAYERS_MAX])
{
	const struct sbx_image_net *net = &img->hdr->net;
	size_t n = 0;

	for (uint32_t i = 0; i < net->nlayers && net->requests.nsets; i++) {
		uint32_t last, set;
		struct asked q;

		if (net->layer[i].is_open)
			continue;
		begin(&q, img, port, programs);
		last = rule_for(&q, &net->layer[i], host);
		set = last ? facts_of(img, last - 1)->requests : 0;
		if (set)
			out[n++] = set - 1;
	}
	return n;
}

bool sbx_connect_ends_tls(const struct sbx_image *img)
{
	const struct sbx_image_net *net = &img->hdr->net;
	const struct sbx_image_net_rule *rule = facts_of(img, 0);
	struct sbx_requests requests;

	sbx_requests_of(img, &requests);
	for (uint32_t i = 0; i < net->nrules; i++) {
		uint32_t set = rule[i].requests;

		if (set && set <= requests.nsets && (rule[i].low != 80 || rule[i].high != 80) &&
		    !(requests.set[set - 1].flags & SBX_REQUEST_NO_TLS))
			return true;
	}
	return false;
}

bool sbx_connect_is_said(const struct sbx_image *img)
{
	return img->hdr->net.nrules > 0;
}

/* ---- may a name be asked for? ---- */

/* Is there a choice of programs that the layer allows? The rule that a process meets is one for
 * everybody or one of a single `by`, so that no more than one of them need hold. */
static uint32_t hoped_in_layer(struct asked *q, const struct sbx_image_net_layer *l)
{
	const struct sbx_image_net *net = &q->img->hdr->net;
	const struct sbx_image_by *bys = (const void *)(q->img->base + net->bys);
	uint32_t first = 0;

	for (uint32_t i = 0; i <= net->nbys; i++) {
		struct sbx_programs who = {0};
		uint32_t last;

		for (int k = 0; i && k < SBX_PROGRAMS_MAX / 64; k++)
			who.bit[k] = bys[i - 1].bit[k];
		q->programs = &who;
		last = last_in_layer(q, l);
		q->programs = NULL;
		if (last && is_allow(q->img, last - 1))
			return last;
		first = first ? first : last;
	}
	return first;
}

static bool hoped_at(struct asked *q, uint16_t port, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &q->img->hdr->net;
	size_t len = q->len;
	uint32_t named = 0;

	put_port(q, port);
	q->len = len;
	for (uint32_t i = 0; i < net->nlayers; i++) {
		uint32_t last;

		if (net->layer[i].is_open)
			continue;
		last = hoped_in_layer(q, &net->layer[i]);
		if (last == 0 || !is_allow(q->img, last - 1)) {
			if (out->rule < 0)
				answer(q->img, out, false, last,
				       last ? SBX_CONNECT_RULE : SBX_CONNECT_NO_RULE);
			return false;
		}
		name_layer(last, &net->layer[i], &named);
	}
	return answer(q->img, out, net->nlayers > 0, named,
		      named ? SBX_CONNECT_RULE : SBX_CONNECT_OPEN);
}

bool sbx_connect_may_resolve(const struct sbx_image *img, const char *name, size_t len,
			     bool *out_exact, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	const uint16_t *ports = (const void *)(img->base + net->ports);
	bool is_exact = false;
	struct asked q;

	begin(&q, img, 1, NULL);
	if (!ask_name(&q, name, len))
		return answer(img, out, false, 0, SBX_CONNECT_BAD);
	answer(img, out, false, 0, SBX_CONNECT_NO_RULE);
	for (uint32_t i = 0; i < net->nports && !out->allowed; i++)
		hoped_at(&q, ports[i], out);
	if (out->allowed && out->rule >= 0)
		is_exact =
			facts_of(img, (uint32_t)out->rule - net->first_rule)->flags & SBX_NET_EXACT;
	if (out_exact)
		*out_exact = is_exact;
	return out->allowed;
}
