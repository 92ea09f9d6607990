/* SPDX-License-Identifier: Apache-2.0 */
/* row.c - see row.h. */
#include "ship/row.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "audit/entry.h"
#include "audit/read_log.h"
#include "audit/read_run.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

/* ---- values ---- */

/* Of a column: a key of JSON as it is written, and its length. */
struct name {
	const char *text;
	size_t len;
};
#define NAME(key)                                                                                  \
	{                                                                                          \
		"\"" key "\":", sizeof(key) + 2                                                    \
	}
#define COLUMN(key) ((struct name)NAME(key))

static void add_name(struct b_json *j, struct name name)
{
	b_json_name(j, name.text, name.len);
}

static void add_text(struct b_json *j, struct name name, const char *text)
{
	if (!text || !*text)
		return;
	add_name(j, name);
	b_json_str(j, text);
}

/* A path is bytes; the row has text, and the line beside it the exact bytes. */
static void add_path(struct b_json *j, struct name name, const char *path)
{
	b_auto(b_str_release) struct b_str text = {0};
	size_t n = strlen(path);

	if (!b_utf8_valid(path, n)) {
		b_str_add_visible(&text, path, n);
		path = text.s;
	}
	add_text(j, name, path);
}

static void add_i64(struct b_json *j, struct name name, int64_t v)
{
	if (!v)
		return;
	add_name(j, name);
	b_json_i64(j, v);
}

static void add_u64(struct b_json *j, struct name name, int64_t v)
{
	add_i64(j, name, v < 0 ? 0 : v);
}

static bool has_digits(const char *s, const char *form)
{
	for (; *form; s++, form++)
		if (*form == '0' ? *s < '0' || *s > '9' : *s != *form)
			return false;
	return true;
}

static bool is_below(const char *two, int limit)
{
	return (two[0] - '0') * 10 + two[1] - '0' < limit;
}

/* A time that no DateTime has (they end in 2105) is left out, as 1970. */
static bool has_datetime(const char *ts)
{
	return has_digits(ts, "0000-00-00T00:00:00") && memcmp(ts, "1971", 4) >= 0 &&
	       memcmp(ts, "2100", 4) <= 0 && !is_below(ts + 5, 1) && is_below(ts + 5, 13) &&
	       !is_below(ts + 8, 1) && is_below(ts + 8, 32) && is_below(ts + 11, 24) &&
	       is_below(ts + 14, 60) && is_below(ts + 17, 60);
}

/* "2026-11-27T23:24:01.123456789Z" as seconds of a DateTime; false: no such time. */
static bool add_time(struct b_json *j, struct name name, const char *ts)
{
	char text[19];

	if (!ts || !has_datetime(ts))
		return false;
	memcpy(text, ts, sizeof text);
	text[10] = ' ';
	add_name(j, name);
	b_json_strn(j, text, sizeof text);
	return true;
}

/* And the rest of the time. */
static void add_ns(struct b_json *j, struct name name, const char *ts)
{
	int64_t ns = 0;

	if (!has_digits(ts + 19, ".000000000Z"))
		return;
	for (int i = 20; i < 29; i++)
		ns = ns * 10 + (ts[i] - '0');
	add_i64(j, name, ns);
}

static void add_key(struct b_json *j, const struct ship_row_of *of, uint64_t no)
{
	add_text(j, COLUMN("host"), of->host);
	add_text(j, COLUMN("run_id"), of->run_id);
	add_name(j, COLUMN("no"));
	b_json_u64(j, no);
	add_name(j, COLUMN("batch"));
	b_json_u64(j, of->batch);
}

static void add_line(struct b_json *j, const struct aud_line *line)
{
	add_name(j, COLUMN("line"));
	b_json_strn(j, line->s, line->len < SHIP_LINE_MAX ? line->len : SHIP_LINE_MAX);
}

/* ---- events ---- */

#define ROW_INT(key, v)	  add_i64(&j, key, v)
#define ROW_COUNT(key, v) add_u64(&j, key, v)
#define ROW_TEXT(key, v)  add_text(&j, key, v)
#define ROW_PATH(key, v)  add_path(&j, key, v)

/* Column of the table, how it is written, member of the entry. */
#define COLUMNS(X)                                                                                 \
	X("kind", TEXT, kind)                                                                      \
	X("op", TEXT, op)                                                                          \
	X("path", PATH, path)                                                                      \
	X("path2", PATH, path2)                                                                    \
	X("allowed", INT, allowed)                                                                 \
	X("matched_rule", TEXT, matched_rule)                                                      \
	X("rule", TEXT, rule)                                                                      \
	X("call", TEXT, call)                                                                      \
	X("errno", INT, err)                                                                       \
	X("reason", TEXT, reason)                                                                  \
	X("image", TEXT, image)                                                                    \
	X("layer", TEXT, layer)                                                                    \
	X("pid", INT, pid)                                                                         \
	X("ppid", INT, ppid)                                                                       \
	X("proc", INT, proc)                                                                       \
	X("exe", PATH, exe)                                                                        \
	X("argv", TEXT, argv)                                                                      \
	X("status", INT, status)                                                                   \
	X("signal", INT, signal)                                                                   \
	X("lost", COUNT, lost)                                                                     \
	X("peer", TEXT, host)                                                                      \
	X("port", INT, port)                                                                       \
	X("program", PATH, program)                                                                \
	X("address", TEXT, address)                                                                \
	X("request", TEXT, request)                                                                \
	X("context", TEXT, context)                                                                \
	X("chain", TEXT, chain)

void ship_row_event(const struct ship_row_of *of, uint64_t no, const struct aud_line *line,
		    const struct aud_entry *e, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	add_key(&j, of, no);
	add_u64(&j, COLUMN("seq"), e->seq);
	if (add_time(&j, COLUMN("ts"), e->ts))
		add_ns(&j, COLUMN("ns"), e->ts);
	add_i64(&j, COLUMN("denied"), aud_entry_is_denied(e));
	add_u64(&j, COLUMN("n"), e->count);
#define X(key, type, member) ROW_##type(COLUMN(key), e->member);
	COLUMNS(X)
#undef X
	add_line(&j, line);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

void ship_row_unreadable(const struct ship_row_of *of, uint64_t no, const struct aud_line *line,
			 struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	add_key(&j, of, no);
	add_text(&j, COLUMN("kind"), "unreadable");
	add_i64(&j, COLUMN("n"), 1);
	add_line(&j, line);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

/* ---- runs ---- */

struct source {
	struct name column;
	const char *path; /* in run.json */
};
static const struct source run_texts[] = {
	{NAME("version"), "version"},
	{NAME("policy"), "policy"},
	{NAME("policy_hash"), "policy_hash"},
	{NAME("profile"), "profile"},
	{NAME("bundle"), "bundle.name"},
	{NAME("bundle_digest"), "bundle.digest"},
	{NAME("cwd"), "cwd"},
	{NAME("audit_level"), "audit_level"},
	{NAME("context"), "context"},
	{NAME("final_hash"), "final_hash"},
	{NAME("parent_run_id"), "parent_run_id"},
};
static const struct source run_numbers[] = {
	{NAME("bundle_version"), "bundle.version"}, {NAME("exit_status"), "exit.status"},
	{NAME("exit_signal"), "exit.signal"},	    {NAME("lost"), "counts.lost"},
	{NAME("corrupt"), "counts.corrupt"},	    {NAME("processes"), "counts.processes"},
	{NAME("witnessed"), "counts.witnessed"},    {NAME("denied"), "counts.denied"},
};

static void add_info(struct b_json *j, const struct aud_run *run)
{
	b_auto_free char *text = run->info ? json_dumps(run->info, JSON_COMPACT) : NULL;
	b_auto_free char *argv = NULL;
	const json_t *words = aud_run_get(run, "argv");

	if (json_is_array(words))
		argv = json_dumps(words, JSON_COMPACT);
	if (argv && strlen(argv) < SHIP_INFO_MAX)
		add_text(j, COLUMN("argv"), argv);
	if (text && strlen(text) < SHIP_INFO_MAX)
		add_text(j, COLUMN("info"), text);
}

void ship_row_run(const char *host, const struct aud_run *run, enum ship_run_state state,
		  uint64_t lines, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	add_text(&j, COLUMN("host"), host);
	add_text(&j, COLUMN("run_id"), run->id);
	add_i64(&j, COLUMN("state"), (int64_t)state);
	add_i64(&j, COLUMN("lines"), (int64_t)lines);
	add_time(&j, COLUMN("started"), aud_run_str(run, "started"));
	add_time(&j, COLUMN("ended"), aud_run_str(run, "ended"));
	add_i64(&j, COLUMN("has_end"), aud_run_get(run, "exit") != NULL);
	for (size_t i = 0; i < sizeof run_texts / sizeof *run_texts; i++)
		add_text(&j, run_texts[i].column, aud_run_str(run, run_texts[i].path));
	for (size_t i = 0; i < sizeof run_numbers / sizeof *run_numbers; i++)
		add_u64(&j, run_numbers[i].column, aud_run_int(run, run_numbers[i].path, 0));
	add_info(&j, run);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

void ship_row_removed(const char *host, const char *run_id, uint64_t lines, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	add_text(&j, COLUMN("host"), host);
	add_text(&j, COLUMN("run_id"), run_id);
	add_i64(&j, COLUMN("state"), SHIP_RUN_REMOVED);
	add_i64(&j, COLUMN("lines"), (int64_t)lines);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}
