/* SPDX-License-Identifier: Apache-2.0 */
/* verify.c - does the chain of a log hold, and where does it not? See read_log.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/chain.h"
#include "audit/read_log.h"
#include "audit/read_run.h"
#include "base/err.h"
#include "base/mem.h"

struct aud_check {
	const struct aud_run *run;
	bool has_key;
	unsigned char key[B_HMAC_KEY];
	struct aud_chain chain;
	struct aud_verify v;
	int64_t version; /* of the run's first line; 0: none was met */
	int64_t next;	 /* seq of the next line */
};

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
static void explain(const struct aud_check *c, const struct aud_entry *e, char *why, size_t size)
{
	if (strcmp(e->kind, "run") == 0 && strcmp(e->run_id, c->run->id) != 0)
		snprintf(why, size, "it belongs to another run");
	else if (e->seq == c->next + 1)
		snprintf(why, size, "line %lld of the run is missing before it",
			 (long long)c->next);
	else if (e->seq > c->next)
		snprintf(why, size, "lines %lld to %lld of the run are missing before it",
			 (long long)c->next, (long long)e->seq - 1);
	else if (e->seq < c->next)
		snprintf(why, size, "it is line %lld of the run, misplaced or repeated",
			 (long long)e->seq);
	else
		snprintf(why, size, "it was changed, or comes from another log");
}

/* The chain is taken up again as the line claims it goes on. */
static bool check_mac(struct aud_check *c, const struct aud_line *line, const struct aud_entry *e,
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
static bool check_prev(struct aud_check *c, const struct aud_line *line, const struct aud_entry *e,
		       char *why, size_t size)
{
	bool holds = false;

	if (strcmp(e->prev, c->chain.full) != 0)
		snprintf(why, size, "its prev is not the hash of the line before");
	else if (e->seq != c->next)
		snprintf(why, size, "its seq is not the next number");
	else
		holds = true;
	c->next = e->seq < INT64_MAX ? e->seq + 1 : e->seq;
	b_sha256_hex(line->s, line->len, c->chain.full);
	return holds;
}

/* Which chain it is follows from run.json; a log that was put in its place has no say. */
static int begin(struct aud_check *c, const struct aud_entry *e, struct b_err *err)
{
	c->version = aud_run_int(c->run, "schemaVersion", e->version);
	c->next = 1;
	c->v.is_keyless = c->version < 2;
	if (c->version >= 2 && !c->has_key)
		return b_fail(err, B_NOTFOUND, 0,
			      "%s: this machine does not have the key of its chain: verify it "
			      "where it ran",
			      c->run->id);
	aud_chain_init(&c->chain, c->has_key ? c->key : NULL, c->run->id);
	return 0;
}

static void note(struct aud_check *c, uint64_t number, const char *why)
{
	if (c->v.broken_line) {
		c->v.broken_more++;
		return;
	}
	c->v.broken_line = number;
	snprintf(c->v.why, sizeof c->v.why, "%s", why);
}

static int check_event(struct aud_check *c, const struct aud_line *line, const struct aud_entry *e,
		       uint64_t number, struct b_err *err)
{
	char why[sizeof c->v.why];
	bool holds;

	if (!c->version && begin(c, e, err) < 0)
		return -1;
	c->v.lines++;
	holds = c->version < 2 ? check_prev(c, line, e, why, sizeof why)
			       : check_mac(c, line, e, why, sizeof why);
	if (!holds)
		note(c, number, why);
	return 0;
}

int aud_check_line(struct aud_check *c, const struct aud_line *line, const struct aud_entry *e,
		   const char *why, uint64_t number, struct b_err *err)
{
	if (c->run->alone.is_alone) {
		c->v.is_unchained = true;
		c->v.lines++;
	} else if (line->torn) {
		note(c, number, "the file ends in the middle of it");
	} else if (why) {
		note(c, number, why);
	} else {
		return check_event(c, line, e, number, err);
	}
	return 0;
}

static struct aud_check *check_with(const unsigned char *key, const struct aud_run *run)
{
	struct aud_check *c = b_calloc(1, sizeof *c);

	*c = (struct aud_check){.run = run,
				.has_key = key,
				.v.has_final = aud_run_str(run, "final_hash") && !run->live};
	if (key)
		memcpy(c->key, key, sizeof c->key);
	memcpy(c->chain.full, AUD_CHAIN_START, sizeof c->chain.full);
	return c;
}

struct aud_check *aud_check_new(const char *root, const struct aud_run *run)
{
	unsigned char key[B_HMAC_KEY];
	struct b_err none;
	bool found = aud_key_load(root, false, key, &none) == 0;

	return check_with(found ? key : NULL, run);
}

void aud_check_end(struct aud_check *c, struct aud_verify *out)
{
	const char *final = aud_run_str(c->run, "final_hash");

	memcpy(c->v.hash, c->chain.full, sizeof c->v.hash);
	c->v.final_matches = c->v.has_final && strcmp(final, c->v.hash) == 0;
	*out = c->v;
}

void aud_check_free(struct aud_check *c)
{
	free(c);
}

static int check_log(struct aud_check *c, const char *path, struct aud_verify *out,
		     struct b_err *err)
{
	struct aud_run there = *c->run;
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	int got;

	there.log = (char *)(uintptr_t)path;
	if (aud_lines_open(&r.l, path, err) < 0)
		return -1;
	r.run = &there;
	while ((got = aud_reader_next(&r, err)) > 0)
		if (aud_check_line(c, &r.line, &r.e, got == AUD_READ_BAD ? r.why : NULL, r.l.number,
				   err) < 0)
			return -1;
	if (got == 0)
		aud_check_end(c, out);
	return got;
}

int aud_verify_with(const unsigned char *key, const struct aud_run *run, const char *path,
		    struct aud_verify *out, struct b_err *err)
{
	struct aud_check *c = check_with(key, run);
	int rc = check_log(c, path, out, err);

	aud_check_free(c);
	return rc;
}

int aud_verify(const char *root, const struct aud_run *run, struct aud_verify *out,
	       struct b_err *err)
{
	struct aud_check *c = aud_check_new(root, run);
	int rc = check_log(c, run->log, out, err);

	aud_check_free(c);
	return rc;
}
