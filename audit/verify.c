/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - does the chain of a log hold, and where does it not? See read_log.h. */
#include <stdio.h>
#include <string.h>

#include "audit/chain.h"
#include "audit/read_log.h"
#include "audit/read_run.h"
#include "base/err.h"
#include "base/mem.h"

struct check {
	const struct aud_run *run;
	const unsigned char *key; /* NULL: none was found */
	struct aud_chain chain;
	struct aud_verify *v;
	int64_t version; /* of the run's first line; 0: none was met */
	int64_t next;	 /* seq of the next line */
};

#define WHY(v, ...) snprintf((v)->why, sizeof(v)->why, __VA_ARGS__)

/* Where a line's own text ends and its `chain` begins; NULL = it has none, or more behind it. */
static const char *chain_of(const struct aud_line *line, size_t *out_text)
{
	const size_t field = sizeof AUD_CHAIN_FIELD - 1, end = sizeof AUD_CHAIN_END - 1;
	const size_t tail = field + AUD_CHAIN_HEX + end;
	const char *at = line->s + line->len - tail;

	if (line->len < tail || memcmp(at, AUD_CHAIN_FIELD, field) != 0 ||
	    memcmp(at + field + AUD_CHAIN_HEX, AUD_CHAIN_END, end) != 0)
		return NULL;
	*out_text = line->len - tail;
	return at + field;
}

/* What a line that does not continue the chain is, as far as it tells. */
static void explain(const struct check *c, const struct aud_entry *e, char *why, size_t size)
{
	if (strcmp(e->kind, "run") == 0 && strcmp(e->run_id, c->run->id) != 0)
		snprintf(why, size, "it is of another run");
	else if (e->seq == c->next + 1)
		snprintf(why, size, "line %lld of the run is missing before it",
			 (long long)c->next);
	else if (e->seq > c->next)
		snprintf(why, size, "lines %lld to %lld of the run are missing before it",
			 (long long)c->next, (long long)e->seq - 1);
	else if (e->seq < c->next)
		snprintf(why, size, "line %lld of the run, out of its place or a second time",
			 (long long)e->seq);
	else
		snprintf(why, size, "it was changed, or comes from elsewhere");
}

/* The chain is taken up again as the line claims it goes on. */
static bool check_mac(struct check *c, const struct aud_line *line, const struct aud_entry *e,
		      char *why, size_t size)
{
	size_t text = 0;
	const char *shown = chain_of(line, &text);
	bool holds;

	if (!shown) {
		snprintf(why, size, "its end was changed");
		return false;
	}
	aud_chain_next(&c->chain, line->s, text);
	holds = memcmp(c->chain.shown, shown, AUD_CHAIN_HEX) == 0 && e->seq == c->next;
	if (!holds)
		explain(c, e, why, size);
	memcpy(c->chain.shown, shown, AUD_CHAIN_HEX);
	c->next = e->seq < INT64_MAX ? e->seq + 1 : e->seq;
	return holds;
}

/* Version 1: `prev` is the SHA-256 of the line before. */
static bool check_prev(struct check *c, const struct aud_line *line, const struct aud_entry *e,
		       char *why, size_t size)
{
	bool holds = false;

	if (strcmp(e->prev, c->chain.full) != 0)
		snprintf(why, size, "its prev is not the hash of the line before");
	else if (e->seq != c->next)
		snprintf(why, size, "its seq does not follow");
	else
		holds = true;
	c->next = e->seq < INT64_MAX ? e->seq + 1 : e->seq;
	b_sha256_hex(line->s, line->len, c->chain.full);
	return holds;
}

/* Which chain it is follows from run.json; a log that was put in its place has no say. */
static int begin(struct check *c, const struct aud_entry *e, struct b_err *err)
{
	c->version = aud_run_int(c->run, "schemaVersion", e->version);
	c->next = 1;
	c->v->is_keyless = c->version < 2;
	if (c->version >= 2 && !c->key)
		return b_fail(err, B_NOTFOUND, 0,
			      "%s: the key of its chain is not here: verify where it ran",
			      c->run->id);
	aud_chain_init(&c->chain, c->key, c->run->id);
	return 0;
}

static void note(struct check *c, uint64_t number, const char *why)
{
	if (c->v->broken_line) {
		c->v->broken_more++;
		return;
	}
	c->v->broken_line = number;
	WHY(c->v, "%s", why);
}

static int check_event(struct check *c, const struct aud_reader *r, struct b_err *err)
{
	char why[sizeof c->v->why];
	bool holds;

	if (!c->version && begin(c, &r->e, err) < 0)
		return -1;
	c->v->lines++;
	holds = c->version < 2 ? check_prev(c, &r->line, &r->e, why, sizeof why)
			       : check_mac(c, &r->line, &r->e, why, sizeof why);
	if (!holds)
		note(c, r->l.number, why);
	return 0;
}

static int check_log(struct check *c, struct aud_reader *r, struct b_err *err)
{
	int got;

	while ((got = aud_reader_next(r, err)) > 0) {
		if (c->run->alone.is_alone) {
			c->v->is_unchained = true;
			c->v->lines++;
		} else if (r->line.torn) {
			note(c, r->l.number, "the file ends in the middle of it");
		} else if (got == AUD_READ_BAD) {
			note(c, r->l.number, r->why);
		} else if (check_event(c, r, err) < 0) {
			return -1;
		}
	}
	return got;
}

int aud_verify_with(const unsigned char *key, const struct aud_run *run, const char *path,
		    struct aud_verify *out, struct b_err *err)
{
	const char *final = aud_run_str(run, "final_hash");
	struct aud_verify v = {.has_final = final && !run->live};
	struct check c = {.run = run, .key = key, .v = &v, .chain.full = AUD_CHAIN_START};
	struct aud_run there = *run;
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};

	there.log = (char *)(uintptr_t)path;
	if (aud_lines_open(&r.l, path, err) < 0)
		return -1;
	r.run = &there;
	if (check_log(&c, &r, err) < 0)
		return -1;
	memcpy(v.hash, c.chain.full, sizeof v.hash);
	v.final_matches = v.has_final && strcmp(final, v.hash) == 0;
	*out = v;
	return 0;
}

int aud_verify(const char *root, const struct aud_run *run, struct aud_verify *out,
	       struct b_err *err)
{
	unsigned char key[B_HMAC_KEY];
	struct b_err none;
	bool found = aud_key_load(root, false, key, &none) == 0;

	return aud_verify_with(found ? key : NULL, run, run->log, out, err);
}
