/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.c - see bundle.h. */
#include "policy/bundle.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/pack.h"
#include "base/str.h"
#include "core/image.h"
#include "policy/document/documents.h"
#include "policy/document/model.h"
#include "policy/engine.h"
#include "policy/front/dialect.h"

static const char magic[8] = "SBXPOL1\n";

/* What all files begin with; the rest is fields, one behind the other. */
struct header {
	char magic[sizeof magic];
	char version[32]; /* of the program: another one may mean other rules by the same text */
	char sha256[B_SHA256_HEX + 7]; /* of everything behind the header */
	uint64_t size;		       /* of that */
};

/* Of a rule. */
enum { ALLOWS = 1, IS_FILE = 2, IS_ENDPOINT = 4 };

/* ---- writing ---- */

static void put_options(const struct pol_request *rq, struct b_str *out)
{
	b_pack_text(out, rq->profile);
	b_pack_u64(out, rq->dialect);
	b_pack_u64(out, POL_SETTING_COUNT);
	for (int i = 0; i < POL_SETTING_COUNT; i++)
		b_pack_u64(out, (uint64_t)(rq->said ? rq->said->v[i] : POL_UNSAID));
	b_pack_u64(out, rq->nrules);
	for (size_t i = 0; i < rq->nrules; i++) {
		const struct pol_cli_rule *r = &rq->rules[i];

		b_pack_u64(out, (uint64_t)r->op);
		b_pack_u64(out, (r->allow ? ALLOWS : 0) | (r->is_file ? IS_FILE : 0) |
					(r->is_endpoint ? IS_ENDPOINT : 0));
		b_pack_u64(out, r->nth);
		b_pack_text(out, r->text);
		b_pack_text(out, r->option);
	}
}

static int put_documents(const struct pol_request *rq, struct b_str *out, struct b_err *err)
{
	b_auto(pol_doc_release) struct pol_doc doc = {0};
	const char *name;

	if (rq->bundle) {
		b_pack_u64(out, rq->bundle->ndocs);
		for (size_t i = 0; i < rq->bundle->ndocs; i++) {
			b_pack_text(out, rq->bundle->docs[i].name);
			b_pack_bytes(out, rq->bundle->docs[i].text, rq->bundle->docs[i].len);
		}
		return 0;
	}
	if (rq->npolicies > 0 &&
	    pol_documents_load(rq->policies, rq->npolicies, rq->dialect, &doc, &name, err) < 0)
		return -1;
	b_pack_u64(out, doc.files.n);
	for (size_t i = 0; i < doc.files.n; i++) {
		b_auto(b_str_release) struct b_str text = {0};

		if (pol_policy_read(doc.files.v[i].s, &text, err) < 0)
			return -1;
		b_pack_text(out, doc.files.v[i].s);
		b_pack_bytes(out, b_str_c(&text), text.len);
	}
	return 0;
}

void pol_bundle_seal(const void *body, size_t n, struct b_str *out)
{
	struct header h = {.version = SBX_VERSION, .size = n};

	memcpy(h.magic, magic, sizeof magic);
	b_sha256_hex(body, n, h.sha256);
	b_str_addn(out, &h, sizeof h);
	b_str_addn(out, body, n);
}

int pol_bundle_write(const struct pol_request *rq, struct pol_engine *e, struct b_str *out,
		     struct b_err *err)
{
	b_auto(b_str_release) struct b_str body = {0};
	char key[B_SHA256_HEX];

	put_options(rq, &body);
	if (put_documents(rq, &body, err) < 0)
		return -1;
	if (e)
		pol_engine_rules_key(e, key);
	b_pack_text(&body, e ? key : NULL);
	b_pack_bytes(&body, e ? e->image_data : NULL, e ? e->image.size : 0);
	pol_bundle_seal(body.s, body.len, out);
	return 0;
}

/* ---- reading ---- */

static void get_options(struct b_unpack *c, struct pol_bundle *b)
{
	b->profile = b_unpack_text_or_null(c);
	b->dialect = (enum pol_dialect)b_unpack_u64(c, POL_DIALECT_COUNT - 1);
	if (b_unpack_count(c, 8) != POL_SETTING_COUNT)
		c->is_bad = true;
	for (int i = 0; i < POL_SETTING_COUNT; i++) {
		uint64_t v = b_unpack_u64(c, UINT64_MAX);

		b->said.v[i] = (int)v;
		/* The largest list of words has four. */
		c->is_bad |= v != (uint64_t)POL_UNSAID && v > 3;
	}
	b->nrules = b_unpack_count(c, 5 * 8);
	b->rules = b_arena_alloc(c->arena, (b->nrules + 1) * sizeof *b->rules);
	for (size_t i = 0; i < b->nrules; i++) {
		struct pol_cli_rule *r = &b->rules[i];
		unsigned flags;

		r->op = (enum sbx_op)b_unpack_u64(c, SBX_OP_COUNT - 1);
		flags = (unsigned)b_unpack_u64(c, ALLOWS | IS_FILE | IS_ENDPOINT);
		r->allow = flags & ALLOWS;
		r->is_file = flags & IS_FILE;
		r->is_endpoint = flags & IS_ENDPOINT;
		c->is_bad |= r->is_endpoint && r->op != SBX_CONNECT;
		r->nth = (unsigned)b_unpack_u64(c, UINT32_MAX);
		r->text = b_unpack_text(c);
		r->option = b_unpack_text(c);
	}
}

static void get_documents(struct b_unpack *c, struct pol_bundle *b)
{
	b->ndocs = b_unpack_count(c, 2 * 8);
	b->docs = b_arena_alloc(c->arena, (b->ndocs + 1) * sizeof *b->docs);
	for (size_t i = 0; i < b->ndocs; i++) {
		struct pol_bundle_text *d = &b->docs[i];
		const char *text;

		d->name = b_unpack_text(c);
		text = b_unpack_bytes(c, &d->len);
		c->is_bad |= !text || d->len > POL_MAX_FILE;
		if (c->is_bad)
			return;
		d->text = b_arena_strndup(c->arena, text, d->len);
	}
}

static void get_image(struct b_unpack *c, struct pol_bundle *b)
{
	struct sbx_image image;
	size_t n;
	const char *key = b_unpack_text_or_null(c);
	const void *p = b_unpack_bytes(c, &n);
	void *copy;

	if (!key && !p)
		return; /* documents alone */
	c->is_bad |= !key || strlen(key) != B_SHA256_HEX - 1 || !p;
	if (c->is_bad)
		return;
	memcpy(b->key, key, sizeof b->key);
	copy = b_arena_alloc(c->arena, n + 1);
	memcpy(copy, p, n);
	b->image = copy;
	b->image_size = n;
	c->is_bad |= sbx_image_open(&image, copy, n, true) != SBX_IMAGE_OK;
}

static int check(const char *name, const unsigned char *data, size_t size, struct b_err *err)
{
	struct header h;
	const char version[sizeof h.version] = SBX_VERSION;
	char sum[sizeof h.sha256] = {0};

	if (size < sizeof h || memcmp(data, magic, sizeof magic) != 0)
		return b_fail(
			err, B_FORMAT, 0,
			"%s: not a compiled policy, expected a file that sbx-policy compile made",
			name);
	memcpy(&h, data, sizeof h);
	if (memcmp(h.version, version, sizeof version) != 0)
		return b_fail(err, B_FORMAT, 0,
			      "%s: compiled by another version, expected " SBX_VERSION
			      ": compile it again",
			      name);
	if (h.size != size - sizeof h)
		return b_fail(err, B_FORMAT, 0, "%s: its length is wrong: compile it again", name);
	b_sha256_hex(data + sizeof h, size - sizeof h, sum);
	if (memcmp(h.sha256, sum, sizeof sum) != 0)
		return b_fail(err, B_FORMAT, 0, "%s: its checksum is wrong: compile it again",
			      name);
	return 0;
}

int pol_bundle_parse(const char *name, const void *data, size_t size, struct pol_bundle **out,
		     struct b_err *err)
{
	struct pol_bundle *b;
	struct b_unpack c;

	if (check(name, data, size, err) < 0)
		return -1;
	b = b_calloc(1, sizeof *b);
	c = b_unpack_from(&b->arena, (const unsigned char *)data + sizeof(struct header),
			  size - sizeof(struct header));
	get_options(&c, b);
	if (!c.is_bad)
		get_documents(&c, b);
	if (!c.is_bad)
		get_image(&c, b);
	if (!b_unpack_done(&c)) {
		pol_bundle_free(b);
		return b_fail(err, B_FORMAT, 0, "%s: damaged: compile it again", name);
	}
	*out = b;
	return 0;
}

int pol_bundle_read(const char *path, struct pol_bundle **out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str data = {0};

	if (pol_trusted_read(path, POL_BUNDLE_MAX, &data, err) < 0)
		return -1;
	return pol_bundle_parse(path, b_str_c(&data), data.len, out, err);
}

void pol_bundle_free(struct pol_bundle *b)
{
	if (b)
		b_arena_release(&b->arena);
	free(b);
}

int pol_bundle_documents(const struct pol_bundle *b, struct pol_doc *out, const char **out_name,
			 struct b_err *err)
{
	struct pol_doc doc = {0};

	if (b->ndocs == 0)
		return pol_documents_load(NULL, 0, POL_DIALECT_auto, out, out_name, err);
	for (size_t i = 0; i < b->ndocs; i++) {
		const struct pol_bundle_text *d = &b->docs[i];
		const struct pol_input in = {
			.name = d->name, .text = d->text, .len = d->len, .dialect = b->dialect};

		if (pol_documents_put(&in, &doc, err) < 0) {
			pol_doc_release(&doc);
			return -1;
		}
	}
	*out_name = pol_documents_name(&doc);
	*out = doc;
	return 0;
}
