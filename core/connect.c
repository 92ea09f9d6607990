/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - see connect.h; how a host is a path: image.h. */
#include "core/connect.h"

#include "core/connect_priv.h"
#include "core/decide_priv.h"
#include "core/request.h"

void sbx_net_put_port(struct asked *q, uint16_t port)
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
bool sbx_net_ask_name(struct asked *q, const char *name, size_t len)
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

/* The last literal rule that matches: the path itself, the path with `*` for its last name, or a
 * tree above. Unlike for files, a tree does not include its own path. */
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

/* Perhaps, and lost: rules that deny hold. */
enum holds { HOLDS_NOT, HOLDS_PERHAPS, HOLDS_LOST, HOLDS };

static enum holds holds_for(const struct asked *q, uint32_t by)
{
	const struct sbx_image_net *net = &q->img->hdr->net;
	const struct sbx_image_by *b;
	enum holds holds;

	if (by == 0)
		return HOLDS;
	if (by > net->nbys || !q->programs)
		return HOLDS_NOT;
	b = (const struct sbx_image_by *)(const void *)(q->img->base + net->bys) + (by - 1);
	holds = q->programs->is_partial ? HOLDS_PERHAPS : HOLDS_NOT;
	for (int i = 0; i < SBX_PROGRAMS_MAX / 64; i++) {
		if (b->bit[i] & q->programs->bit[i])
			return HOLDS;
		if (b->bit[i] & q->programs->replaced[i])
			holds = HOLDS_LOST;
	}
	return holds;
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

bool sbx_net_allows(const struct sbx_image *img, uint32_t rule)
{
	const struct sbx_image_rule *rules = (const void *)(img->base + img->hdr->rules);

	return rules[img->hdr->net.first_rule + rule].allow;
}

uint32_t sbx_net_last(struct asked *q, const struct sbx_image_net_layer *l)
{
	const struct sbx_image_net_part *part =
		(const struct sbx_image_net_part *)(const void *)(q->img->base +
								  q->img->hdr->net.parts) +
		l->first_part;
	uint32_t last = 0, lost = 0;

	for (uint32_t i = 0; i < l->nparts; i++) {
		enum holds holds = HOLDS_NOT;
		uint32_t rule;

		if (q->port >= part[i].low && q->port <= part[i].high)
			holds = holds_for(q, part[i].by);
		rule = holds ? last_in_part(q, &part[i]) : 0;
		if (rule && (holds == HOLDS || !sbx_net_allows(q->img, rule - 1)))
			last = later(last, rule);
		else if (rule && holds == HOLDS_LOST)
			lost = later(lost, rule);
	}
	q->lost = lost > last ? lost : 0;
	return last;
}

const struct sbx_image_net_rule *sbx_net_facts(const struct sbx_image *img, uint32_t rule)
{
	return (const struct sbx_image_net_rule *)(const void *)(img->base + img->hdr->net.facts) +
	       rule;
}

bool sbx_net_answer(const struct sbx_image *img, struct sbx_connect_answer *out, bool allowed,
		    uint32_t last, enum sbx_connect_why why)
{
	*out = (struct sbx_connect_answer){
		.allowed = allowed,
		.rule = last ? (int)(img->hdr->net.first_rule + last - 1) : -1,
		.why = why,
	};
	return allowed;
}

/* No rule of the layer allows it: as sbx_net_last() said. */
static bool refuse(const struct asked *q, struct sbx_connect_answer *out, uint32_t last)
{
	if (q->lost)
		return sbx_net_answer(q->img, out, false, q->lost, SBX_CONNECT_REPLACED);
	return sbx_net_answer(q->img, out, false, last,
			      last ? SBX_CONNECT_RULE : SBX_CONNECT_NO_RULE);
}

static bool refuse_addr(const struct sbx_image *img, struct sbx_connect_answer *out, uint32_t last,
			enum sbx_connect_why why, const struct sbx_addr *addr)
{
	sbx_net_answer(img, out, false, last, why);
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
	sbx_net_put_port(q, q->port);
	ask_addr(q, a);
	return sbx_net_last(q, l);
}

/* Whether a rule with these facts may lead to the address if no rule on addresses decides it. */
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

/* Judges one address, itself or embedded in another. `by_name`: the rule, counted from 1, that
 * allows the name; 0: the question was about an address. */
static bool layer_has_addr(struct asked *q, const struct sbx_image_net_layer *l, uint32_t by_name,
			   const struct sbx_addr *a, struct sbx_connect_answer *out)
{
	const struct sbx_image_net_rule *r = sbx_net_facts(q->img, by_name - 1);
	uint32_t last = last_on_addr(q, l, a);

	if (r->flags & SBX_NET_LISTED) {
		if (is_control_port(q->port))
			return refuse_addr(q->img, out, by_name, SBX_CONNECT_PORT, a);
		if (!is_listed(q->img, r, a))
			return refuse_addr(q->img, out, by_name, SBX_CONNECT_NOT_LISTED, a);
	}
	if (last && !sbx_net_allows(q->img, last - 1))
		return refuse_addr(q->img, out, last, SBX_CONNECT_RULE, a);
	if (r->flags & SBX_NET_SHUT && sbx_addr_is_never(sbx_addr_class(a)))
		return refuse_addr(q->img, out, by_name, SBX_CONNECT_CLASS, a);
	if (last || class_opens(q->img, r, a))
		return true;
	return refuse_addr(q->img, out, by_name, SBX_CONNECT_CLASS, a);
}

/* A v4-mapped address is judged as the IPv4 address inside. Other addresses that embed one are
 * judged as both. */
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

/* A literal address: a rule on addresses must open it, and the embedded address must not be closed.
 */
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
	if (last == 0 || !sbx_net_allows(q->img, last - 1))
		return refuse(q, out, last);
	r = sbx_net_facts(q->img, last - 1);
	if (r->flags & SBX_NET_LISTED && is_control_port(q->port))
		return refuse_addr(q->img, out, last, SBX_CONNECT_PORT, a);
	if (r->flags & SBX_NET_LISTED && !is_listed(q->img, r, &plain))
		return refuse_addr(q->img, out, last, SBX_CONNECT_NOT_LISTED, a);
	if (r->flags & SBX_NET_SHUT && sbx_addr_is_never(sbx_addr_class(&plain)))
		return refuse_addr(q->img, out, last, SBX_CONNECT_CLASS, a);
	if (!has_inside || is_mapped)
		return true;
	last = last_on_addr(q, l, &in);
	if (last && !sbx_net_allows(q->img, last - 1))
		return refuse_addr(q->img, out, last, SBX_CONNECT_RULE, &in);
	if (!last && !class_opens(q->img, r, &in))
		return refuse_addr(q->img, out, *out_last, SBX_CONNECT_CLASS, &in);
	return true;
}

/* ---- the questions ---- */

void sbx_net_begin(struct asked *q, const struct sbx_image *img, uint16_t port,
		   const struct sbx_programs *programs)
{
	q->img = img;
	q->programs = programs;
	q->lost = 0;
	sbx_net_put_port(q, port);
}

static bool is_never(const struct sbx_addr *a)
{
	struct sbx_addr in;
	bool is_mapped;

	return sbx_addr_is_never(sbx_addr_class(a)) ||
	       (sbx_addr_inside(a, &in, &is_mapped) && sbx_addr_is_never(sbx_addr_class(&in)));
}

bool sbx_net_watched(const struct sbx_image *img, const struct sbx_image_net_layer *l,
		     const struct sbx_addr *a, struct sbx_connect_answer *refused,
		     struct sbx_connect_answer *would)
{
	if (!l->is_watched)
		return false;
	if (a && is_never(a)) {
		if (refused->why == SBX_CONNECT_NO_RULE)
			refuse_addr(img, refused, 0, SBX_CONNECT_CLASS, a);
		return false;
	}
	if (!would->would_deny)
		*would = *refused;
	would->allowed = would->would_deny = true;
	return true;
}

void sbx_net_name_layer(uint32_t last, const struct sbx_image_net_layer *l, uint32_t *named)
{
	if (*named == 0 || l->is_main)
		*named = last ? last : *named;
}

bool sbx_net_finish(const struct sbx_image *img, struct sbx_connect_answer *out, uint32_t named,
		    const struct sbx_connect_answer *would)
{
	if (!would->would_deny)
		return sbx_net_answer(img, out, true, named,
				      named ? SBX_CONNECT_RULE : SBX_CONNECT_OPEN);
	*out = *would;
	return true;
}

bool sbx_connect_addr(const struct sbx_image *img, const struct sbx_addr *a, uint16_t port,
		      const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	struct sbx_connect_answer would = {0};
	uint32_t named = 0, last = 0;
	struct asked q;

	sbx_net_begin(&q, img, port, programs);
	if (net->nlayers == 0)
		return sbx_net_answer(img, out, false, 0, SBX_CONNECT_NO_RULE);
	for (uint32_t i = 0; i < net->nlayers; i++) {
		if (net->layer[i].is_open)
			continue;
		if (layer_opens_addr(&q, &net->layer[i], a, &last, out))
			sbx_net_name_layer(last, &net->layer[i], &named);
		else if (!sbx_net_watched(img, &net->layer[i], a, out, &would))
			return false;
	}
	return sbx_net_finish(img, out, named, &would);
}

bool sbx_connect_is_hosts(const struct sbx_image *img, const struct sbx_addr *a, uint16_t port,
			  const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	return sbx_addr_class(a) == SBX_ADDR_LOOPBACK &&
	       sbx_connect_addr(img, a, port, programs, out) && out->rule >= 0 &&
	       sbx_net_facts(img, (uint32_t)out->rule - img->hdr->net.first_rule)->flags &
		       SBX_NET_HOSTS;
}

static bool connect_name(const struct sbx_image *img, const char *name, size_t len, uint16_t port,
			 const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	struct sbx_connect_answer would = {0};
	uint32_t named = 0;
	struct asked q;

	sbx_net_begin(&q, img, port, programs);
	if (!sbx_net_ask_name(&q, name, len))
		return sbx_net_answer(img, out, false, 0, SBX_CONNECT_BAD);
	if (net->nlayers == 0)
		return sbx_net_answer(img, out, false, 0, SBX_CONNECT_NO_RULE);
	for (uint32_t i = 0; i < net->nlayers; i++) {
		uint32_t last;

		if (net->layer[i].is_open)
			continue;
		last = sbx_net_last(&q, &net->layer[i]);
		if (last && sbx_net_allows(img, last - 1)) {
			sbx_net_name_layer(last, &net->layer[i], &named);
			continue;
		}
		refuse(&q, out, last);
		if (!sbx_net_watched(img, &net->layer[i], NULL, out, &would))
			return false;
	}
	return sbx_net_finish(img, out, named, &would);
}

bool sbx_connect_host(const struct sbx_image *img, const struct sbx_host *host, uint16_t port,
		      const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	if (host->kind == SBX_HOST_NAME)
		return connect_name(img, host->name, host->len, port, programs, out);
	if (host->kind == SBX_HOST_ADDRESS)
		return sbx_connect_addr(img, &host->addr, port, programs, out);
	return sbx_net_answer(img, out, false, 0, SBX_CONNECT_BAD);
}

/* Judges the addresses of a name that the layer allows or only watches. False: *out is the denial.
 */
static bool layer_has_all(struct asked *q, const struct sbx_image_net_layer *l,
			  const struct sbx_addr *addrs, size_t n, struct sbx_connect_answer *would,
			  struct sbx_connect_answer *out)
{
	uint32_t by_name = sbx_net_last(q, l);
	bool is_named = by_name && sbx_net_allows(q->img, by_name - 1);
	struct sbx_connect_answer refused;

	for (size_t k = 0; k < n; k++) {
		if (is_named && layer_has_both(q, l, by_name, &addrs[k], &refused))
			continue;
		if (!is_named)
			sbx_net_answer(q->img, &refused, false, by_name,
				       by_name ? SBX_CONNECT_RULE : SBX_CONNECT_NO_RULE);
		if (sbx_net_watched(q->img, l, &addrs[k], &refused, would))
			continue;
		*out = refused;
		return false;
	}
	return true;
}

bool sbx_connect_resolved(const struct sbx_image *img, const char *name, size_t len,
			  const struct sbx_addr *addrs, size_t n, uint16_t port,
			  const struct sbx_programs *programs, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	struct sbx_connect_answer would = {0};

	if (!connect_name(img, name, len, port, programs, out))
		return false;
	if (n == 0)
		return sbx_net_answer(img, out, false, 0, SBX_CONNECT_BAD);
	if (out->would_deny)
		would = *out;
	for (uint32_t i = 0; i < net->nlayers; i++) {
		struct asked q;

		if (net->layer[i].is_open)
			continue;
		sbx_net_begin(&q, img, port, programs);
		sbx_net_ask_name(&q, name, len);
		if (!layer_has_all(&q, &net->layer[i], addrs, n, &would, out))
			return false;
	}
	if (would.would_deny)
		*out = would;
	return true;
}

/* The rule of the layer that allows the host; 0: none. */
static uint32_t rule_for(struct asked *q, const struct sbx_image_net_layer *l,
			 const struct sbx_host *host)
{
	struct sbx_addr plain = host->addr, in;
	bool is_mapped = false;

	if (host->kind == SBX_HOST_NAME)
		return sbx_net_ask_name(q, host->name, host->len) ? sbx_net_last(q, l) : 0;
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
		sbx_net_begin(&q, img, port, programs);
		last = rule_for(&q, &net->layer[i], host);
		set = last ? sbx_net_facts(img, last - 1)->requests : 0;
		if (set)
			out[n++] = set - 1;
	}
	return n;
}

bool sbx_connect_ends_tls(const struct sbx_image *img)
{
	const struct sbx_image_net *net = &img->hdr->net;
	const struct sbx_image_net_rule *rule = sbx_net_facts(img, 0);
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
	const struct sbx_image_net *net = &img->hdr->net;
	bool is_said = net->nrules > 0;

	for (uint32_t i = 0; i < net->nlayers; i++)
		is_said |= net->layer[i].is_watched;
	return is_said;
}
