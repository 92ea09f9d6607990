/* SPDX-License-Identifier: Apache-2.0 */
/* bundle.c - see bundle.h. */
#include "policy/compile/bundle.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
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
enum { ALLOWS = 1, IS_FILE = 2 };

/* ---- writing ---- */

static void put_u64(struct b_str *out, uint64_t v)
{
	b_str_addn(out, &v, sizeof v);
}

/* NULL is kept apart from "". Every field is padded, so that the image comes to lie aligned. */
static void put_bytes(struct b_str *out, const void *p, size_t n)
{
	static const char zeros[8];

	put_u64(out, p ? n : UINT64_MAX);
	if (!p)
		return;
	b_str_addn(out, p, n);
	b_str_addn(out, zeros, (8 - n % 8) % 8);
}

static void put_text(struct b_str *out, const char *s)
{
	put_bytes(out, s, s ? strlen(s) : 0);
}

static void put_options(const struct pol_request *rq, struct b_str *out)
{
	put_text(out, rq->profile);
	put_u64(out, rq->dialect);
	put_u64(out, POL_SETTING_COUNT);
	for (int i = 0; i < POL_SETTING_COUNT; i++)
		put_u64(out, (uint64_t)(rq->said ? rq->said->v[i] : POL_UNSAID));
	put_u64(out, rq->nrules);
	for (size_t i = 0; i < rq->nrules; i++) {
		const struct pol_cli_rule *r = &rq->rules[i];

		put_u64(out, (uint64_t)r->op);
		put_u64(out, (r->allow ? ALLOWS : 0) | (r->is_file ? IS_FILE : 0));
		put_u64(out, r->nth);
		put_text(out, r->text);
		put_text(out, r->option);
	}
}

static int put_documents(const struct pol_request *rq, struct b_str *out, struct b_err *err)
{
	b_auto(pol_doc_release) struct pol_doc doc = {0};
	const char *name;

	if (rq->bundle) {
		put_u64(out, rq->bundle->ndocs);
		for (size_t i = 0; i < rq->bundle->ndocs; i++) {
			put_text(out, rq->bundle->docs[i].name);
			put_bytes(out, rq->bundle->docs[i].text, rq->bundle->docs[i].len);
		}
		return 0;
	}
	if (rq->npolicies > 0 &&
	    pol_documents_load(rq->policies, rq->npolicies, rq->dialect, &doc, &name, err) < 0)
		return -1;
	put_u64(out, doc.files.n);
	for (size_t i = 0; i < doc.files.n; i++) {
		b_auto(b_str_release) struct b_str text = {0};

		if (pol_policy_read(doc.files.v[i].s, &text, err) < 0)
			return -1;
		put_text(out, doc.files.v[i].s);
		put_bytes(out, b_str_c(&text), text.len);
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
	put_text(&body, e ? key : NULL);
	put_bytes(&body, e ? e->image_data : NULL, e ? e->image.size : 0);
	pol_bundle_seal(body.s, body.len, out);
	return 0;
}

/* ---- reading: every length is checked against what is left ---- */

struct cursor {
	struct b_arena *arena;
	const unsigned char *p;
	size_t left;
	bool is_bad;
};

static uint64_t get_u64(struct cursor *c)
{
	uint64_t v = 0;

	if (c->left < sizeof v) {
		c->is_bad = true;
		return 0;
	}
	memcpy(&v, c->p, sizeof v);
	c->p += sizeof v;
	c->left -= sizeof v;
	return v;
}

/* Borrowed; NULL when there is none. */
static const void *get_bytes(struct cursor *c, size_t *out_n)
{
	uint64_t n = get_u64(c), padded = n + (8 - n % 8) % 8;
	const void *p = c->p;

	*out_n = 0;
	if (c->is_bad || n == UINT64_MAX)
		return NULL;
	if (n > c->left || padded > c->left) {
		c->is_bad = true;
		return NULL;
	}
	*out_n = (size_t)n;
	c->p += padded;
	c->left -= (size_t)padded;
	return p;
}

/* A string in the arena; with a NUL inside it is none. */
static const char *get_text(struct cursor *c)
{
	size_t n;
	const char *s = get_bytes(c, &n);

	if (!s)
		return NULL;
	if (memchr(s, '\0', n))
		c->is_bad = true;
	return b_arena_strndup(c->arena, s, n);
}

/* A number of things that take at least `size` bytes each. */
static size_t get_count(struct cursor *c, size_t size)
{
	uint64_t n = get_u64(c);

	if (n > c->left / size) {
		c->is_bad = true;
		return 0;
	}
	return (size_t)n;
}

static void get_options(struct cursor *c, struct pol_bundle *b)
{
	uint64_t dialect;

	b->profile = get_text(c);
	dialect = get_u64(c);
	c->is_bad |= dialect >= POL_DIALECT_COUNT;
	b->dialect = c->is_bad ? POL_DIALECT_auto : (enum pol_dialect)dialect;
	if (get_count(c, 8) != POL_SETTING_COUNT)
		c->is_bad = true;
	for (int i = 0; i < POL_SETTING_COUNT; i++) {
		uint64_t v = get_u64(c);

		b->said.v[i] = (int)v;
		/* The largest list of words has four. */
		c->is_bad |= v != (uint64_t)POL_UNSAID && v > 3;
	}
	b->nrules = get_count(c, 5 * 8);
	b->rules = b_arena_alloc(c->arena, (b->nrules + 1) * sizeof *b->rules);
	for (size_t i = 0; i < b->nrules; i++) {
		struct pol_cli_rule *r = &b->rules[i];
		uint64_t op = get_u64(c), flags;

		c->is_bad |= op >= SBX_OP_COUNT;
		r->op = (enum sbx_op)op;
		flags = get_u64(c);
		r->allow = flags & ALLOWS;
		r->is_file = flags & IS_FILE;
		r->nth = (unsigned)get_u64(c);
		r->text = get_text(c);
		r->option = get_text(c);
		c->is_bad |= !r->text || !r->option;
	}
}

static void get_documents(struct cursor *c, struct pol_bundle *b)
{
	b->ndocs = get_count(c, 2 * 8);
	b->docs = b_arena_alloc(c->arena, (b->ndocs + 1) * sizeof *b->docs);
	for (size_t i = 0; i < b->ndocs; i++) {
		struct pol_bundle_text *d = &b->docs[i];
		const char *text;

		d->name = get_text(c);
		text = get_bytes(c, &d->len);
		c->is_bad |= !d->name || !text || d->len > POL_MAX_FILE;
		if (c->is_bad)
			return;
		d->text = b_arena_strndup(c->arena, text, d->len);
	}
}

static void get_image(struct cursor *c, struct pol_bundle *b)
{
	struct sbx_image image;
	size_t n;
	const char *key = get_text(c);
	const void *p = get_bytes(c, &n);
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
		return b_fail(err, B_FORMAT, 0,
			      "%s: no compiled policy, expected one of sbx-policy compile", name);
	memcpy(&h, data, sizeof h);
	if (memcmp(h.version, version, sizeof version) != 0)
		return b_fail(err, B_FORMAT, 0,
			      "%s: compiled by another version, expected " SBX_VERSION
			      ": compile it again",
			      name);
	if (h.size != size - sizeof h)
		return b_fail(err, B_FORMAT, 0, "%s: cut short or grown: compile it again", name);
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
	struct cursor c;

	if (check(name, data, size, err) < 0)
		return -1;
	b = b_calloc(1, sizeof *b);
	c = (struct cursor){.arena = &b->arena,
			    .p = (const unsigned char *)data + sizeof(struct header),
			    .left = size - sizeof(struct header)};
	get_options(&c, b);
	if (!c.is_bad)
		get_documents(&c, b);
	if (!c.is_bad)
		get_image(&c, b);
	if (c.is_bad || c.left > 0) {
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
