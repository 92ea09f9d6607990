/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/compile/automata.h"
#include "policy/compile/past.h"
#include "policy/compile/ruleset.h"

struct image {
	const struct pol_ruleset *rs;
	const struct pol_past *past; /* the rules on endpoints as the table has them */
	struct pol_writer w;
	struct sbx_image_header hdr;
};

uint32_t pol_writer_append(struct pol_writer *w, const void *p, size_t n)
{
	static const char zeros[8];
	size_t at;

	if (w->out.len % 8)
		b_str_addn(&w->out, zeros, 8 - w->out.len % 8);
	at = w->out.len;
	if (p)
		b_str_addn(&w->out, p, n);
	else
		memset(b_str_room(&w->out, n), 0, n), b_str_advance(&w->out, n);
	return (uint32_t)at;
}

struct sbx_image_str pol_writer_text(struct pol_writer *w, const char *s)
{
	struct sbx_image_str str = {(uint32_t)w->out.len, 0};

	s = s ? s : "";
	str.len = (uint32_t)strlen(s);
	b_str_addn(&w->out, s, str.len + 1u);
	return str;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool lists_equal(const struct pol_list *a, const struct pol_list *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++) {
		const struct pol_rule *r = &a->v[i], *s = &b->v[i];

		if (r->allow != s->allow || r->shape != s->shape || r->layer != s->layer ||
		    r->base_is_root != s->base_is_root || r->folds != s->folds ||
		    r->base_len != s->base_len || memcmp(r->base, s->base, r->base_len) != 0 ||
		    !same_text(r->glob, s->glob))
			return false;
	}
	return true;
}

static int write_layer(struct image *im, const struct pol_list *list, size_t first, size_t end,
		       struct sbx_image_layer *out, struct b_err *err)
{
	const struct pol_list part = {list->v + first, end - first, end - first};

	*out = (struct sbx_image_layer){.first_rule = (uint32_t)first,
					.nrules = (uint32_t)part.n,
					.is_main = list->v[first].layer == POL_LAYER_MAIN};
	pol_write_literals(&im->w, &part, out);
	if (pol_write_groups(&im->w, &part, out, err) < 0)
		return -1;
	return im->hdr.folds ? pol_write_folded(&im->w, &part, out, err) : 0;
}

static int write_op(struct image *im, enum sbx_op op, struct b_err *err)
{
	const struct pol_list *list = &im->rs->op[op];
	struct sbx_image_op *o = &im->hdr.op[op];

	o->first_rule = im->hdr.nrules;
	o->nrules = (uint32_t)list->n;
	im->hdr.nrules += o->nrules;
	for (size_t i = 0; i < list->n; i++)
		o->has_positive |= list->v[i].allow;
	/* Often one list serves two operations: so do its automata. */
	for (int other = 0; other < (int)op; other++)
		if (lists_equal(list, &im->rs->op[other])) {
			o->verdict = im->hdr.op[other].verdict;
			o->nlayers = im->hdr.op[other].nlayers;
			memcpy(o->layer, im->hdr.op[other].layer, sizeof o->layer);
			return 0;
		}
	if (pol_write_verdict(&im->w, list, &o->verdict, err) < 0)
		return -1;
	for (size_t first = 0, end; first < list->n; first = end) {
		end = pol_layer_end(list, first);
		if (o->nlayers == SBX_LAYERS_MAX)
			return b_fail(err, B_LIMIT, 0, "%s: more than %d layers of documents",
				      list->v[first].origin, SBX_LAYERS_MAX);
		if (write_layer(im, list, first, end, &o->layer[o->nlayers++], err) < 0)
			return -1;
	}
	return 0;
}

static void write_rules(struct image *im)
{
	b_auto_free struct sbx_image_rule *rules = b_calloc(im->hdr.nrules + 1u, sizeof *rules);
	size_t n = 0;

	im->hdr.rules = pol_writer_append(&im->w, NULL, im->hdr.nrules * sizeof *rules);
	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < im->rs->op[op].n; i++) {
			const struct pol_rule *r = &im->rs->op[op].v[i];

			rules[n++] = (struct sbx_image_rule){
				.matched = pol_writer_text(&im->w, r->matched),
				.origin = pol_writer_text(&im->w, r->origin),
				.allow = r->allow,
			};
		}
	for (size_t i = 0; i < im->past->n; i++)
		rules[n++] = (struct sbx_image_rule){
			.matched = pol_writer_text(&im->w, im->past->v[i].matched),
			.origin = pol_writer_text(&im->w, im->past->v[i].origin),
			.allow = im->past->v[i].allow,
		};
	if (n > 0)
		memcpy(im->w.out.s + im->hdr.rules, rules, n * sizeof *rules);
}

static int longer_first(const void *a, const void *b)
{
	const struct pol_alias *x = a, *y = b;
	size_t m = strlen(x->from), n = strlen(y->from);

	return m != n ? (m < n) - (m > n) : strcmp(x->from, y->from);
}

static void write_aliases(struct image *im, const struct pol_compile_opts *opts)
{
	size_t n = opts->naliases;
	b_auto_free struct sbx_image_alias *out = b_calloc(n + 1, sizeof *out);
	b_auto_free struct pol_alias *sorted = b_calloc(n + 1, sizeof *sorted);

	if (n > 0)
		memcpy(sorted, opts->aliases, n * sizeof *sorted);
	qsort(sorted, n, sizeof *sorted, longer_first);
	im->hdr.naliases = (uint32_t)n;
	im->hdr.aliases = pol_writer_append(&im->w, NULL, n * sizeof *out);
	for (size_t i = 0; i < n; i++)
		out[i] = (struct sbx_image_alias){pol_writer_text(&im->w, sorted[i].from),
						  pol_writer_text(&im->w, sorted[i].to)};
	if (n > 0)
		memcpy(im->w.out.s + im->hdr.aliases, out, n * sizeof *out);
}

/* All of the other image, whose offsets so stay as they are: what is not used of it is small. */
static void copy_ops(struct image *im, const struct sbx_image *base)
{
	pol_writer_append(&im->w, base->base, base->size);
	memcpy(im->hdr.op, base->hdr->op, sizeof im->hdr.op);
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		B_ASSERT(base->hdr->op[op].nrules == im->rs->op[op].n);
		im->hdr.nrules += base->hdr->op[op].nrules;
	}
}

static int write_all(struct image *im, const struct pol_compile_opts *opts, struct b_err *err)
{
	uint32_t at = opts->past ? opts->past_at : 0;

	if (opts->base)
		copy_ops(im, opts->base);
	else
		pol_writer_append(&im->w, NULL, sizeof im->hdr);
	for (int op = 0; op < SBX_OP_COUNT && !opts->base; op++)
		if (write_op(im, (enum sbx_op)op, err) < 0)
			return -1;
	im->hdr.net.first_rule = im->hdr.nrules + at;
	im->hdr.nrules += (uint32_t)im->past->n;
	if (pol_write_net(&im->w, &im->rs->net, im->past, &im->hdr.net, err) < 0)
		return -1;
	im->hdr.net.requests.first_rule = im->hdr.net.first_rule + (uint32_t)im->rs->net.n;
	write_rules(im);
	write_aliases(im, opts);
	im->hdr.profile = pol_writer_text(&im->w, im->rs->profile);
	pol_writer_append(&im->w, NULL, 0);
	if (im->w.out.len > UINT32_MAX)
		return b_fail(err, B_LIMIT, 0, "the compiled policy is larger than 4 GiB");
	return 0;
}

int pol_compile(const struct pol_ruleset *rs, const struct pol_compile_opts *opts, void **out_data,
		size_t *out_size, struct b_err *err)
{
	static const struct pol_compile_opts none;
	b_auto(pol_past_release) struct pol_past own = {0};
	struct image im = {.rs = rs,
			   .past = opts && opts->past ? opts->past : &own,
			   .hdr.folds = opts && opts->folds,
			   .hdr.inside = opts && opts->inside};

	if (im.past == &own && pol_past_begin(&own, &rs->net, err) < 0)
		return -1;
	if (write_all(&im, opts ? opts : &none, err) < 0) {
		b_str_release(&im.w.out);
		return -1;
	}
	im.hdr.magic = SBX_IMAGE_MAGIC;
	im.hdr.version = SBX_IMAGE_VERSION;
	im.hdr.size = (uint32_t)im.w.out.len;
	im.hdr.on_error = opts && opts->deny_on_error;
	memcpy(im.w.out.s, &im.hdr, sizeof im.hdr);
	im.hdr.checksum = sbx_image_checksum(im.w.out.s, im.w.out.len);
	memcpy(im.w.out.s, &im.hdr, sizeof im.hdr);
	*out_size = im.w.out.len;
	*out_data = b_str_take(&im.w.out);
	return 0;
}
