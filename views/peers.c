/* SPDX-License-Identifier: Apache-2.0 */
/*
 * peers.c - a record in the words of other sandboxes; see views.h.
 *
 * srt		its violation store: the last hundred denials, with the command
 * openshell	its shorthand lines: connections, processes, the policy. It has none of files
 */
#include <inttypes.h>
#include <string.h>

#include "audit/show.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "views/peers.h"
#include "views/views.h"

/* ---- srt ---- */

enum { ENCODED_MAX = 100 }; /* bytes of the command that srt encodes */

static void make_violation(const struct aud_run *run, const struct aud_entry *e, struct b_str *out)
{
	b_auto(b_str_release) struct b_str command = {0}, line = {0};
	struct b_json j = {.out = out};

	aud_show_command(run, &command);
	b_str_addf(&line, "deny %s ", *e->call ? e->call : e->op);
	view_text(&line, e->path);
	b_json_open(&j, '{');
	b_json_key(&j, "line");
	b_json_str(&j, b_str_c(&line));
	b_json_key(&j, "command");
	b_json_str(&j, b_str_c(&command));
	b_json_key(&j, "encodedCommand");
	b_str_addc(out, '"');
	b_str_add_base64(out, b_str_c(&command),
			 command.len < ENCODED_MAX ? command.len : ENCODED_MAX);
	b_str_addc(out, '"');
	j.need_comma = true;
	b_json_key(&j, "timestamp");
	b_json_str(&j, e->ts);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

void view_violations_add(struct view_violations *v, const struct aud_run *run,
			 const struct aud_entry *e)
{
	int64_t times = e->count < VIEW_VIOLATIONS ? e->count : VIEW_VIOLATIONS;

	for (; times > 0 && aud_entry_is_denied(e); times--) {
		struct b_str *slot = &v->last[v->n++ % VIEW_VIOLATIONS];

		b_str_reset(slot);
		make_violation(run, e, slot);
	}
}

void view_violations_show(const struct view_violations *v, struct b_str *out)
{
	size_t i = v->n < VIEW_VIOLATIONS ? 0 : v->n - VIEW_VIOLATIONS;

	for (; i < v->n; i++) {
		const struct b_str *one = &v->last[i % VIEW_VIOLATIONS];

		b_str_addn(out, b_str_c(one), one->len);
	}
}

void view_violations_release(struct view_violations *v)
{
	for (size_t i = 0; i < VIEW_VIOLATIONS; i++)
		b_str_release(&v->last[i]);
}

/* ---- openshell ---- */

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* "python3(42)" */
static void add_process(const char *exe, int64_t pid, struct b_str *out)
{
	view_text(out, *exe ? base_of(exe) : "?");
	b_str_addf(out, "(%" PRId64 ")", pid);
}

static void add_connection(const struct aud_entry *e, struct b_str *out)
{
	bool is_denied = aud_entry_is_denied(e);

	b_str_add(out, is_denied ? "NET:REFUSE [MED] DENIED " : "NET:OPEN [INFO] ALLOWED ");
	add_process(*e->program ? e->program : e->exe, e->pid, out);
	b_str_add(out, " -> ");
	view_text(out, e->path);
	if (is_denied && e->port)
		b_str_add(out, "/tcp");
	b_str_add(out, " [policy:");
	view_text(out, e->rule);
	b_str_add(out, is_denied ? " engine:broker]\n" : " engine:mechanistic]\n");
}

/* "GET https://host/path", or what is wrong with what was sent. */
static void add_request(const struct aud_entry *e, struct b_str *out)
{
	bool is_denied = aud_entry_is_denied(e), is_read = *e->request != '-';
	size_t method = strcspn(e->request, " ");
	const char *path = e->request + method + (e->request[method] == ' ');

	b_str_addf(out, "HTTP:%.*s [%s] ", is_read ? (int)method : 6,
		   is_read ? e->request : "REFUSE", is_denied ? "MED" : "INFO");
	b_str_add(out, is_denied ? "DENIED " : "ALLOWED ");
	add_process(*e->program ? e->program : e->exe, e->pid, out);
	b_str_add(out, " -> ");
	if (is_read)
		b_str_addf(out, "%.*s http%s://", (int)method, e->request,
			   e->port == 443 ? "s" : "");
	view_text(out, e->port == 443 || e->port == 80 ? e->host : e->path);
	if (is_read)
		view_text(out, path);
	b_str_add(out, " [policy:");
	view_text(out, e->rule);
	if (!is_read) {
		b_str_add(out, " reason:");
		view_text(out, path);
	}
	b_str_add(out, "]\n");
}

static void add_launch(const struct aud_entry *e, struct b_str *out)
{
	b_auto(b_str_release) struct b_str word = {0};
	const char *at = e->argv, *space = "";

	b_str_add(out, "PROC:LAUNCH [INFO] ");
	add_process(e->path, e->pid, out);
	b_str_add(out, " [cmd:");
	for (; aud_list_next(&at, &word); space = " ") {
		b_str_add(out, space);
		view_text(out, b_str_c(&word));
	}
	b_str_add(out, "]\n");
}

static void add_end(const struct aud_entry *e, struct b_str *out)
{
	b_str_add(out, "PROC:TERMINATE [INFO] ");
	add_process(e->exe, e->pid, out);
	if (e->signal)
		b_str_addf(out, " [signal:%" PRId64 "]\n", e->signal);
	else
		b_str_addf(out, " [exit:%" PRId64 "]\n", e->status);
}

static void add_policy(const char *what, const char *hash, uint64_t version, struct b_str *out)
{
	b_str_addf(out, "CONFIG:LOADED [INFO] policy %s [version:v%" PRIu64 " hash:sha256:", what,
		   version);
	b_str_add_visible(out, hash, strnlen(hash, 12));
	b_str_add(out, "]\n");
}

/* The beginning of the run, and the policy that it has. */
static void add_start(const struct aud_run *run, uint64_t *version, struct b_str *out)
{
	const char *hash = aud_run_str(run, "policy_hash");

	b_str_add(out, "LIFECYCLE:START [INFO] sbx-launch success\n");
	*version = 1;
	if (hash)
		add_policy("loaded", hash, *version, out);
}

static void add_reload(const struct aud_entry *e, uint64_t *version, struct b_str *out)
{
	if (!*e->error) {
		add_policy("reloaded", e->policy, ++*version, out);
		return;
	}
	b_str_addf(out, "CONFIG:REFUSED [MED] policy kept [version:v%" PRIu64 " error:", *version);
	view_text(out, e->error);
	b_str_add(out, "]\n");
}

void view_shorthand(const struct aud_run *run, const struct aud_entry *e, uint64_t *version,
		    struct b_str *out)
{
	if (strcmp(e->kind, "run") == 0)
		add_start(run, version, out);
	else if (strcmp(e->kind, "reload") == 0)
		add_reload(e, version, out);
	else if (strcmp(e->kind, "exit") == 0)
		add_end(e, out);
	else if (*e->argv)
		add_launch(e, out);
	else if (strcmp(e->op, "connect") == 0 && *e->request)
		add_request(e, out);
	else if (strcmp(e->op, "connect") == 0 && *e->host)
		add_connection(e, out);
}
