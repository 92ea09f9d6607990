/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - see show.h. */
#include "audit/show.h"

#include <ctype.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "audit/read_log.h"
#include "audit/read_run.h"
#include "base/str.h"
#include "core/stamp.h"

enum { EXE_MAX = 40, MS = 1000000 };

#define RED    "\033[31m"
#define YELLOW "\033[33m"
#define PLAIN  "\033[0m"

static void add_visible(struct b_str *out, const char *s)
{
	b_str_add_visible(out, s, strlen(s));
}

static void add_errno(struct b_str *out, int64_t err)
{
	const char *name = err > 0 && err < 4096 ? strerrorname_np((int)err) : NULL;

	if (name)
		b_str_addf(out, " %s", name);
	else
		b_str_addf(out, " errno %" PRId64, err);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_process(const struct aud_entry *e, struct b_str *out)
{
	const char *exe = base_name(e->exe);

	if (!*exe) {
		b_str_addf(out, "  pid %" PRId64, e->pid);
		return;
	}
	b_str_add(out, "  ");
	b_str_add_visible(out, exe, strnlen(exe, EXE_MAX));
	b_str_addf(out, "[%" PRId64 "]", e->pid);
}

/* The paths as the program gave them, where one of them is said. */
static void add_given(const struct aud_entry *e, const char *by, const char *path,
		      const char *path2, struct b_str *out)
{
	if (!*path && !*path2)
		return;
	b_str_add(out, " (");
	b_str_add(out, by);
	add_visible(out, *path ? path : e->path);
	if (*e->path2) {
		b_str_add(out, " -> ");
		add_visible(out, *path2 ? path2 : e->path2);
	}
	b_str_addc(out, ')');
}

/* An event about one name has the same name twice. */
static void add_paths(const struct aud_entry *e, struct b_str *out)
{
	bool is_unread = b_has_prefix(e->request, "- "); /* why follows */

	add_visible(out, e->path);
	if (*e->path2 && strcmp(e->path2, e->path) != 0) {
		b_str_add(out, " -> ");
		add_visible(out, e->path2);
	}
	if (*e->request) {
		b_str_add(out, is_unread ? " (" : "  ");
		add_visible(out, e->request + 2 * is_unread);
		b_str_add(out, is_unread ? ")" : "");
	}
	if (*e->address) {
		b_str_add(out, " (it is ");
		add_visible(out, e->address);
		b_str_addc(out, ')');
	}
}

void aud_show_refused(const struct aud_entry *e, struct b_str *out)
{
	if (strcmp(e->reason, "filter") == 0) {
		b_str_add(out, "call ");
		add_visible(out, e->call);
		return;
	}
	add_visible(out, e->op);
	b_str_addc(out, ' ');
	add_paths(e, out);
}

static void add_judged(const struct aud_entry *e, struct b_str *out)
{
	if (strcmp(e->kind, e->op) != 0) { /* "exec" says it once */
		b_str_addc(out, ' ');
		add_visible(out, *e->op ? e->op : "-");
	}
	b_str_addc(out, ' ');
	add_paths(e, out);
	add_given(e, "asked for ", e->asked, e->asked2, out);
	add_given(e, "its shim: ", e->claimed, e->claimed2, out);
	b_str_add(out, "  rule ");
	add_visible(out, e->matched_rule);
	b_str_add(out, " (");
	add_visible(out, e->rule);
	b_str_addc(out, ')');
	add_process(e, out);
	b_str_addc(out, ' ');
	add_visible(out, e->call);
	if (e->err)
		add_errno(out, e->err);
	if (*e->image && strcmp(e->image, "dynamic") != 0) {
		b_str_addc(out, ' ');
		add_visible(out, e->image);
	}
	if (e->count > 1)
		b_str_addf(out, " x%" PRId64, e->count);
	if (e->disagrees)
		b_str_add(out, "  [the process reported the other verdict]");
	if (e->unverified)
		b_str_add(out, "  [no process with this number was found in the run]");
}

static void add_reload(const struct aud_entry *e, struct b_str *out)
{
	if (*e->error) {
		b_str_add(out, " refused: ");
		add_visible(out, e->error);
	} else {
		b_str_addf(out, " rules on endpoints, %" PRId64 " connections ended: policy ",
			   e->closed);
		add_visible(out, e->policy);
	}
}

void aud_show_entry(const struct aud_entry *e, bool colour, struct b_str *out)
{
	bool denied = strcmp(e->kind, "denied") == 0 || e->disagrees;
	bool gap = strcmp(e->kind, "gap") == 0;
	const char *clock = strchr(e->ts, 'T');

	/* "2026-11-27T23:24:01.123456789Z": the day is the run's */
	if (clock && strlen(clock) >= 13)
		b_str_add_visible(out, clock + 1, 12);
	b_str_addc(out, ' ');
	if (colour && (denied || gap))
		b_str_add(out, denied ? RED : YELLOW);
	add_visible(out, e->kind);
	if (colour && (denied || gap))
		b_str_add(out, PLAIN);
	if (gap) {
		b_str_addf(out,
			   " %" PRId64 " events lost, %" PRId64 " corrupt, %" PRId64 " abandoned",
			   e->lost, e->corrupt, e->abandoned);
	} else if (strcmp(e->kind, "reload") == 0) {
		add_reload(e, out);
	} else if (e->has_verdict) {
		add_judged(e, out);
	} else {
		b_str_addc(out, ' ');
		add_visible(out, e->path);
		if (*e->image) {
			b_str_add(out, "  ");
			add_visible(out, e->image);
		}
		add_process(e, out);
	}
	b_str_addc(out, '\n');
}

static bool is_plain_word(const char *s)
{
	if (!*s)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("/._-+@%:=,", *s))
			return false;
	return true;
}

void aud_show_word(const char *word, struct b_str *out)
{
	const char *rest;

	if (is_plain_word(word)) {
		b_str_add(out, word);
		return;
	}
	b_str_addc(out, '\'');
	for (; (rest = strchr(word, '\'')); word = rest + 1) {
		b_str_add_visible(out, word, (size_t)(rest - word));
		b_str_add(out, "'\\''");
	}
	add_visible(out, word);
	b_str_addc(out, '\'');
}

void aud_show_command(const struct aud_run *r, struct b_str *out)
{
	const json_t *argv = aud_run_get(r, "argv");
	json_t *v;
	size_t i;

	if (!json_array_size(argv)) {
		b_str_add(out, r->alone.is_alone ? "(an environment: --print-env)" : "(unknown)");
		return;
	}
	json_array_foreach(argv, i, v)
	{
		if (i)
			b_str_addc(out, ' ');
		aud_show_word(json_is_string(v) ? json_string_value(v) : "", out);
	}
}

void aud_show_end(const struct aud_run *r, struct b_str *out)
{
	int64_t status = aud_run_int(r, "exit.status", -1), sig = aud_run_int(r, "exit.signal", 0);
	const char *name = sig > 0 && sig < 65 ? sigabbrev_np((int)sig) : NULL;

	if (status < 0) {
		b_str_add(out, r->live		   ? "still running"
			       : r->alone.is_alone ? "not recorded in preload-only mode"
			       : r->info	   ? "unknown: sbx-launch was killed"
						   : "unknown: the run has no record");
		return;
	}
	if (json_is_true(aud_run_get(r, "exit.timed_out")))
		b_str_add(out, "timed out, ");
	if (name)
		b_str_addf(out, "killed by SIG%s, ", name);
	else if (sig)
		b_str_addf(out, "killed by signal %" PRId64 ", ", sig);
	b_str_addf(out, "status %" PRId64, status);
}

void aud_show_coverage(const struct aud_run *r, struct b_str *out)
{
	const char *sep = " (", *cls;
	json_t *v;

	b_str_addf(out, "%" PRId64 " of %" PRId64 " processes witnessed",
		   aud_run_int(r, "counts.witnessed", 0), aud_run_int(r, "counts.processes", 0));
	json_object_foreach(aud_run_get(r, "counts.unwitnessed"), cls, v)
	{
		b_str_addf(out, "%s%" PRId64 " ", sep, aud_json_int(v, 0));
		add_visible(out, cls);
		sep = ", ";
	}
	if (*sep == ',')
		b_str_addc(out, ')');
}

static int64_t of_broker(const struct aud_run *r, const char *name)
{
	char key[64];

	snprintf(key, sizeof key, "counts.broker.%s", name);
	return aud_run_int(r, key, 0);
}

/* Of what Landlock lets through, or refuses, there is the word of shims alone. */
static void add_of_shims(const struct aud_run *r, struct b_str *out)
{
	int64_t none =
		aud_run_int(r, "counts.processes", 0) - aud_run_int(r, "counts.witnessed", 0);

	b_str_addf(out,
		   "%-10sLandlock alone decided what %" PRId64
		   " processes did beside, by rules for "
		   "%" PRId64 " places: their shims tell %" PRId64 " calls",
		   "", aud_run_int(r, "counts.shim_images", 0), aud_run_int(r, "landlock_rules", 0),
		   aud_run_int(r, "counts.shim_calls", 0));
	if (none > 0)
		b_str_addf(out, "; %" PRId64 " have none", none);
	b_str_addc(out, '\n');
}

void aud_show_complete(const struct aud_run *r, struct b_str *out)
{
	const json_t *complete = aud_run_get(r, "counts.broker.complete");
	int64_t lost = of_broker(r, "unwritten") + aud_run_int(r, "counts.broker_lost", 0);

	if (!json_is_boolean(complete))
		return;
	b_str_addf(out,
		   "%-10s%s: %" PRId64 " calls passed the broker: %" PRId64 " performed + %" PRId64
		   " refused + %" PRId64 " asked = %" PRId64 " lines + %" PRId64
		   " folded + %" PRId64 " lost\n",
		   "complete",
		   json_is_false(complete) ? "NO"
		   : lost		   ? "no, but what is missing is known"
					   : "yes",
		   of_broker(r, "calls"), of_broker(r, "performed"), of_broker(r, "refused"),
		   of_broker(r, "asked"), of_broker(r, "lines"), of_broker(r, "folded"), lost);
	b_str_addf(out,
		   "%-10sthe rest: %" PRId64 " reads and questions, %" PRId64
		   " that failed by themselves, %" PRId64 " left to the kernel, %" PRId64
		   " of no file, %" PRId64 " not wanted\n",
		   "", of_broker(r, "read"), of_broker(r, "failed"), of_broker(r, "kernel"),
		   of_broker(r, "other"), of_broker(r, "unwanted"));
	add_of_shims(r, out);
}

void aud_show_recount(const struct aud_counts *k, struct b_str *out)
{
	const char *sep = " (";

	b_str_addf(out, "%" PRIu64 " of %" PRIu64 " processes witnessed", k->witnessed,
		   k->processes);
	for (unsigned i = 0; i < SBX_EXEC_CLASS_COUNT; i++) {
		if (!k->unwitnessed_by_class[i])
			continue;
		b_str_addf(out, "%s%" PRIu64 " %s", sep, k->unwitnessed_by_class[i],
			   sbx_exec_class_name((enum sbx_exec_class)i));
		sep = ", ";
	}
	if (*sep == ',')
		b_str_addc(out, ')');
}

void aud_show_run_row(const struct aud_run *r, struct b_str *out)
{
	struct b_str end = {0};

	aud_show_end(r, &end);
	if (r->alone.is_alone) /* its log would have to be read for more */
		b_str_addf(out, "%s  %-12s      ? denied  ", r->id, "preload-only");
	else
		b_str_addf(out, "%s  %-12s  %5" PRId64 " denied  ", r->id, b_str_c(&end),
			   aud_run_int(r, "counts.denied", 0));
	aud_show_command(r, out);
	b_str_addc(out, '\n');
	b_str_release(&end);
}

void aud_show_run_json(const struct aud_run *r, struct b_str *out)
{
	json_t *copy = r->info ? json_copy(r->info) : json_pack("{s:s}", "run_id", r->id);
	char *text;

	json_object_set_new(copy, "live", json_boolean(r->live));
	text = json_dumps(copy, JSON_COMPACT);
	b_str_add(out, text ? text : "{}");
	b_str_addc(out, '\n');
	free(text);
	json_decref(copy);
}

void aud_show_when(const struct aud_run *r, struct b_str *out)
{
	const char *started = aud_run_str(r, "started");
	const char *ended = aud_run_str(r, "ended");
	int64_t from = started ? sbx_stamp_ns(started) / MS : 0;
	int64_t to = ended ? sbx_stamp_ns(ended) / MS : 0;

	if (!from) {
		b_str_add(out, "unknown");
		return;
	}
	b_str_addf(out, "%.10s %.8s UTC", started, started + 11);
	if (to >= from)
		b_str_addf(out, ", for %" PRId64 ".%03d s", (to - from) / 1000,
			   (int)((to - from) % 1000));
}
