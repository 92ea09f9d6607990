/* SPDX-License-Identifier: Apache-2.0 */
/* refused.c - what --result-json has of the record: which run it was, and what was refused. */
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/run/run.h"

static void put_refusal(const struct lau_record *r, const struct aud_refusal *f, struct b_json *j)
{
	b_auto(b_str_release) struct b_str line = {0};

	lau_hide_text(&r->secrets, f->line, &line);
	b_json_open(j, '{');
	b_json_key(j, "op");
	b_json_str(j, sbx_op_name(f->op));
	b_json_bytes(j, "path", f->path, f->path_len);
	b_json_key(j, "matched_rule");
	b_json_str(j, f->matched);
	b_json_key(j, "rule");
	b_json_str(j, f->origin);
	b_json_key(j, "count");
	b_json_u64(j, f->count);
	b_json_key(j, "message");
	b_json_str(j, b_str_c(&line));
	b_json_close(j, '}');
}

void lau_record_refused(const struct lau_record *r, struct b_str *out)
{
	const struct aud_refusals *all = r->collector ? aud_collector_refusals(r->collector) : NULL;
	struct b_json j = {.out = out};
	struct aud_counts counts = {0};

	b_json_key(&j, "run_id");
	if (r->has_dir && r->is_started)
		b_json_str(&j, r->dir.id);
	else
		b_json_null(&j);
	if (!all)
		return;
	aud_collector_counts(r->collector, &counts);
	b_json_key(&j, "denied");
	b_json_u64(&j, counts.denied);
	b_json_key(&j, "denials");
	b_json_open(&j, '[');
	for (size_t i = 0; i < all->n; i++)
		put_refusal(r, &all->v[i], &j);
	b_json_close(&j, ']');
	b_json_key(&j, "denials_beyond");
	b_json_u64(&j, all->beyond);
}
