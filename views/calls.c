/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c - which session or tool call a run belongs to; see views.h. */
#include <inttypes.h>
#include <string.h>

#include "audit/rundir.h"
#include "audit/show.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/views.h"

/* Of the first line, or what run.json has of the variable. */
static int context_of(struct view *v, const struct aud_run *run, struct b_str *out,
		      struct b_err *err)
{
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	b_auto(b_str_release) struct b_str key = {0}, value = {0};
	const char *at, *said = aud_run_str(run, "context");

	if (aud_reader_open(&r, run, err) < 0 || view_next(v, &r, err) < 0)
		return -1;
	at = r.l.buf && r.e.context ? r.e.context : "";
	while (aud_map_next(&at, &key, &value))
		b_str_addf(out, "%s%s=%s", out->len ? "," : "", b_str_c(&key), b_str_c(&value));
	if (!out->len && said)
		b_str_add(out, said);
	return 0;
}

static void add_call(const struct view *v, const struct aud_run *run, const char *context)
{
	struct b_json j = {.out = v->out};
	b_auto(b_str_release) struct b_str end = {0};

	aud_show_end(run, &end);
	if (v->json) {
		b_json_open(&j, '{');
		b_json_key(&j, "context");
		b_json_str(&j, context);
		b_json_key(&j, "run_id");
		b_json_str(&j, run->id);
		b_json_key(&j, "end");
		b_json_str(&j, b_str_c(&end));
		b_json_key(&j, "denied");
		b_json_i64(&j, aud_run_int(run, "counts.denied", 0));
		b_json_key(&j, "changes");
		b_json_i64(&j, aud_run_int(run, "counts.modifies", 0));
		b_json_close(&j, '}');
		b_str_addc(v->out, '\n');
		return;
	}
	view_text(v->out, context);
	b_str_addf(v->out, "\n    %s  %s  %" PRId64 " denied  ", run->id, b_str_c(&end),
		   aud_run_int(run, "counts.denied", 0));
	aud_show_command(run, v->out);
	b_str_addc(v->out, '\n');
}

int view_calls(struct view *v, struct b_err *err)
{
	struct b_err skipped;
	char **names;
	size_t n, i;
	int found = 0;

	if (aud_runs_list(v->root, &names, &n, err) < 0)
		return -1;
	for (i = 0; i < n; i++) {
		b_auto(b_str_release) struct b_str context = {0};
		b_auto(aud_run_release) struct aud_run run = {0};

		/* one that cannot be read keeps nobody from the others */
		if (aud_run_load(v->root, names[i], &run, &skipped) < 0 ||
		    context_of(v, &run, &context, &skipped) < 0 || !context.len)
			continue;
		if (v->expression && !strstr(context.s, v->expression))
			continue;
		add_call(v, &run, context.s);
		found = 1;
	}
	aud_runs_free(names, n);
	return found;
}
