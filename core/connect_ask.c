/* SPDX-License-Identifier: Apache-2.0 */
/* connect_ask.c - may a name be asked for? For a resolver, which knows neither port nor program. */
#include "core/connect_priv.h"

/* Whether the layer allows the name for some program. A rule applies to every program or to those
 * of a single `by`, so it is enough to try each `by` by itself. */
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
		last = sbx_net_last(q, l);
		q->programs = NULL;
		if (last && sbx_net_allows(q->img, last - 1))
			return last;
		first = first ? first : last;
	}
	return first;
}

static bool hoped_at(struct asked *q, uint16_t port, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &q->img->hdr->net;
	struct sbx_connect_answer would = {0}, refused;
	size_t len = q->len;
	uint32_t named = 0;

	sbx_net_put_port(q, port);
	q->len = len;
	for (uint32_t i = 0; i < net->nlayers; i++) {
		uint32_t last;

		if (net->layer[i].is_open)
			continue;
		last = hoped_in_layer(q, &net->layer[i]);
		if (last && sbx_net_allows(q->img, last - 1)) {
			sbx_net_name_layer(last, &net->layer[i], &named);
			continue;
		}
		sbx_net_answer(q->img, &refused, false, last,
			       last ? SBX_CONNECT_RULE : SBX_CONNECT_NO_RULE);
		if (sbx_net_watched(q->img, &net->layer[i], NULL, &refused, &would))
			continue;
		if (out->rule < 0)
			*out = refused;
		return false;
	}
	return net->nlayers > 0 && sbx_net_finish(q->img, out, named, &would);
}

bool sbx_connect_may_resolve(const struct sbx_image *img, const char *name, size_t len,
			     bool *out_exact, struct sbx_connect_answer *out)
{
	const struct sbx_image_net *net = &img->hdr->net;
	const uint16_t *ports = (const void *)(img->base + net->ports);
	bool is_exact = false;
	struct asked q;

	sbx_net_begin(&q, img, 1, NULL);
	if (!sbx_net_ask_name(&q, name, len))
		return sbx_net_answer(img, out, false, 0, SBX_CONNECT_BAD);
	sbx_net_answer(img, out, false, 0, SBX_CONNECT_NO_RULE);
	for (uint32_t i = 0; i < net->nports && (!out->allowed || out->would_deny); i++)
		hoped_at(&q, ports[i], out);
	if (out->would_deny) /* some program may ask for any name */
		is_exact = true;
	else if (out->allowed && out->rule >= 0)
		is_exact = sbx_net_facts(img, (uint32_t)out->rule - net->first_rule)->flags &
			   SBX_NET_EXACT;
	if (out_exact)
		*out_exact = is_exact;
	return out->allowed;
}
