/* SPDX-License-Identifier: Apache-2.0 */
/*
 * formats.c - a record for other programs; see views.h.
 *
 * jsonl: each line whole, with run_id, event_id, event_type, exe, ppid that lines leave to others.
 * ocsf: Open Cybersecurity Schema Framework 1.8: 1001 File System, 1007 Process, 4001 Network,
 * 4002 HTTP, 4003 DNS, 5019 Device Config State Change.
 * orbit: request and result of each call, denials, in Orbit's envelope.
 * srt, openshell: see peers.h.
 * chrome-trace: Trace Event Format: a bar a process, a mark a denial; Perfetto opens it.
 */
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "audit/collect_priv.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/stamp.h"
#include "views/peers.h"
#include "views/processes.h"
#include "views/views.h"

static void put_str(struct b_json *j, const char *key, const char *value)
{
	if (!*value)
		return;
	b_json_key(j, key);
	b_json_str(j, value);
}

static void put_int(struct b_json *j, const char *key, int64_t v)
{
	b_json_key(j, key);
	b_json_i64(j, v);
}

static void put_path(struct b_json *j, const char *key, const char *value)
{
	if (*value)
		b_json_bytes(j, key, value, strlen(value));
}

static const char *type_of(const char *kind)
{
	int k;

	for (k = 0; k < AUD_KIND_COUNT; k++)
		if (strcmp(kind, aud_kind_name((enum aud_kind)k)) == 0)
			return aud_kind_type((enum aud_kind)k);
	return "";
}

static const char *host_of(const struct view *v, char **host, const struct aud_entry *e)
{
	(void)v;
	if (!*host && *e->host)
		*host = b_strdup(e->host);
	return *host ? *host : "";
}

struct exporter {
	struct view *v;
	const struct aud_filter *filter;
	struct view_images images; /* chrome-trace */
	struct view_violations violations;
	char *host;
	uint64_t number; /* of what was written */
	bool has_begun;
};

static void release(struct exporter *x)
{
	view_images_release(&x->images);
	view_violations_release(&x->violations);
	free(x->host);
}

/* ---- jsonl ---- */

static void add_jsonl(struct exporter *x, const struct aud_reader *r, struct b_str *out)
{
	const struct aud_entry *e = &r->e;
	struct b_json j = {.out = out, .need_comma = true};

	b_str_addn(out, r->line.s, r->line.len - 1); /* all but its brace */
	if (!(e->has >> AUD_F_run_id & 1))
		put_str(&j, "run_id", x->v->run->id);
	if (e->version >= 2) {
		put_str(&j, "event_type", type_of(e->kind));
		b_str_addf(out, ",\"event_id\":\"evt-%s-%08" PRIx64 "\"", x->v->run->id, e->seq);
		if (!(e->has >> AUD_F_exe & 1))
			put_path(&j, "exe", e->exe);
		if (!(e->has >> AUD_F_ppid & 1) && e->ppid)
			put_int(&j, "ppid", e->ppid);
	}
	b_str_add(out, "}\n");
}

/* ---- ocsf ---- */

struct class
{
	int uid, activity;
	const char *category;
	int category_uid;
};

/* Of a request: what its method is called there. */
static int http_activity(const char *request)
{
	enum { OTHER = 99 };
	static const char *const methods[] = {NULL,	 "CONNECT", "DELETE", "GET",   "HEAD",
					      "OPTIONS", "POST",    "PUT",    "TRACE", "PATCH"};
	size_t n = strcspn(request, " ");

	for (int i = 1; i < (int)(sizeof methods / sizeof *methods); i++)
		if (strlen(methods[i]) == n && memcmp(methods[i], request, n) == 0)
			return i;
	return OTHER;
}

static struct class class_of_network(const struct aud_entry *e)
{
	enum { OPEN = 1, REFUSE = 5, QUERY = 1 };

	if (*e->request)
		return (struct class){4002, http_activity(e->request), "network", 4};
	if (strcmp(e->call, "resolve") == 0)
		return (struct class){4003, QUERY, "network", 4};
	return (struct class){4001, aud_entry_is_denied(e) ? REFUSE : OPEN, "network", 4};
}

static struct class class_of(const struct aud_entry *e)
{
	enum {
		CREATE = 1,
		READ = 2,
		UPDATE = 3,
		DELETE = 4,
		RENAME = 5,
		OPEN = 14,
		LAUNCH = 1,
		TERMINATE = 2
	};

	if (strcmp(e->kind, "exec") == 0 || strcmp(e->kind, "hello") == 0 ||
	    strcmp(e->kind, "unwitnessed") == 0 || strcmp(e->op, "exec") == 0)
		return (struct class){1007, LAUNCH, "system", 1};
	if (strcmp(e->kind, "exit") == 0)
		return (struct class){1007, TERMINATE, "system", 1};
	if (strcmp(e->kind, "reload") == 0)
		return (struct class){5019, 1, "discovery", 5};
	if (strcmp(e->op, "connect") == 0)
		return class_of_network(e);
	if (strstr(e->call, "rename"))
		return (struct class){1001, RENAME, "system", 1};
	if (strstr(e->call, "unlink") || strcmp(e->call, "rmdir") == 0)
		return (struct class){1001, DELETE, "system", 1};
	if (strcmp(e->op, "modify") == 0)
		return (struct class){1001, strstr(e->call, "mk") ? CREATE : UPDATE, "system", 1};
	return (struct class){1001, *e->op ? READ : OPEN, "system", 1};
}

static void put_object(struct b_json *j, const char *key)
{
	b_json_key(j, key);
	b_json_open(j, '{');
}

static void put_actor(struct b_json *j, const struct aud_entry *e)
{
	put_object(j, "actor");
	put_object(j, "process");
	put_int(j, "pid", e->pid);
	if (*e->exe) {
		const char *slash = strrchr(e->exe, '/');

		put_path(j, "name", slash ? slash + 1 : e->exe);
		put_object(j, "file");
		put_path(j, "path", e->exe);
		put_path(j, "name", slash ? slash + 1 : e->exe);
		put_int(j, "type_id", 1);
		b_json_close(j, '}');
	}
	b_json_close(j, '}');
	b_json_close(j, '}');
}

static bool is_address(const char *host)
{
	return strchr(host, ':') || host[strspn(host, "0123456789.")] == '\0';
}

/* Method and path, of one that could be read. */
static void put_request(struct b_json *j, const struct aud_entry *e)
{
	size_t method = strcspn(e->request, " ");
	const char *path = e->request + method + (e->request[method] == ' ');

	put_object(j, "http_request");
	if (*e->request != '-') {
		b_json_key(j, "http_method");
		b_json_strn(j, e->request, method);
	}
	put_object(j, "url");
	put_path(j, "hostname", e->host);
	if (e->port)
		put_int(j, "port", e->port);
	if (*e->request != '-')
		put_path(j, "path", path);
	b_json_close(j, '}');
	b_json_close(j, '}');
	if (*e->request == '-')
		put_path(j, "status_detail", path);
}

static void put_network(struct b_json *j, const struct class *c, const struct aud_entry *e)
{
	if (c->uid == 4003) {
		put_object(j, "query");
		put_path(j, "hostname", e->host);
		b_json_close(j, '}');
		return;
	}
	put_object(j, "dst_endpoint");
	if (!*e->host) /* the path of a socket */
		put_path(j, "name", e->path);
	else
		put_path(j, is_address(e->host) ? "ip" : "hostname", e->host);
	if (e->port)
		put_int(j, "port", e->port);
	b_json_close(j, '}');
	if (*e->host) {
		put_object(j, "connection_info");
		put_str(j, "protocol_name", "tcp");
		put_int(j, "protocol_num", 6);
		put_int(j, "direction_id", 2);
		b_json_close(j, '}');
	}
	if (c->uid == 4002)
		put_request(j, e);
}

/* What holds from here on, or why what was asked for does not. */
static void put_reload(struct b_json *j, const struct aud_entry *e)
{
	put_str(j, "message",
		*e->error ? "new rules on endpoints were refused"
			  : "new rules on endpoints are in force");
	put_path(j, "status_detail", e->error);
	put_object(j, "policy");
	put_str(j, "name", "rules on endpoints");
	put_str(j, "uid", e->policy);
	b_json_close(j, '}');
}

static void put_target(struct b_json *j, const struct class *c, const struct aud_entry *e)
{
	const char *slash = strrchr(e->path, '/'), *name = slash && slash[1] ? slash + 1 : e->path;

	if (c->uid == 5019)
		put_reload(j, e);
	if (!*e->path)
		return;
	if (c->category_uid == 4) {
		put_network(j, c, e);
		return;
	}
	if (c->uid == 1007) {
		put_object(j, "process");
		put_int(j, "pid", e->pid);
	}
	if (c->uid == 1007 && *e->cwd)
		put_path(j, "working_directory", e->cwd);
	put_object(j, "file");
	put_path(j, "path", e->path);
	put_path(j, "name", name);
	put_int(j, "type_id", 0);
	b_json_close(j, '}');
	if (c->uid == 1007)
		b_json_close(j, '}');
	if (c->uid == 1001 && *e->path2) {
		put_object(j, "file_result");
		put_path(j, "path", e->path2);
		put_int(j, "type_id", 0);
		b_json_close(j, '}');
	}
}

static void add_ocsf(struct exporter *x, const struct aud_reader *r, struct b_str *out)
{
	const struct aud_entry *e = &r->e;
	bool is_denied = aud_entry_is_denied(e) || *e->error;
	struct class c = class_of(e);
	struct b_json j = {.out = out};
	const char *host = host_of(x->v, &x->host, e);

	if (strcmp(e->kind, "run") == 0 || strcmp(e->kind, "gap") == 0)
		return;
	b_json_open(&j, '{');
	put_int(&j, "class_uid", c.uid);
	put_int(&j, "category_uid", c.category_uid);
	put_int(&j, "activity_id", c.activity);
	put_int(&j, "type_uid", c.uid * 100 + c.activity);
	put_int(&j, "time", sbx_stamp_ns(e->ts) / 1000000);
	put_int(&j, "severity_id", is_denied ? 3 : 1);
	put_int(&j, "status_id", is_denied || e->err ? 2 : 1);
	put_int(&j, "action_id", is_denied ? 2 : 1);
	put_int(&j, "disposition_id", is_denied ? 2 : 1);
	put_int(&j, "count", e->count);
	put_object(&j, "metadata");
	put_str(&j, "version", "1.8.0");
	put_str(&j, "uid", x->v->run->id);
	put_int(&j, "sequence", e->seq);
	put_object(&j, "product");
	put_str(&j, "name", "sbx-launch");
	put_str(&j, "vendor_name", "sbx-launch");
	b_json_close(&j, '}');
	b_json_close(&j, '}');
	put_object(&j, "device");
	put_int(&j, "type_id", 0);
	put_str(&j, "hostname", host);
	b_json_close(&j, '}');
	if (e->pid || *e->exe) /* of a request nobody knows whose it is */
		put_actor(&j, e);
	put_target(&j, &c, e);
	if (*e->rule) {
		put_object(&j, "firewall_rule");
		put_str(&j, "name", e->matched_rule);
		put_str(&j, "uid", e->rule);
		b_json_close(&j, '}');
	}
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

/* ---- orbit ---- */

static void orbit_line(struct exporter *x, const struct aud_entry *e, const char *type,
		       const char *body, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	put_int(&j, "schemaVersion", 1);
	put_str(&j, "event_type", type);
	b_json_key(&j, "event_id");
	b_str_addf(out, "\"v2evt-%s-%08" PRIx64 "\"", x->v->run->id, ++x->number);
	j.need_comma = true;
	put_str(&j, "ts", e->ts);
	put_str(&j, "run_id", x->v->run->id);
	put_str(&j, "agent_identity", "sbx-launch");
	if (x->v->run->nworkspaces)
		put_str(&j, "workspace_path", x->v->run->workspaces[0]);
	put_str(&j, "body_kind", body);
	if (e->has_verdict) {
		const char *profile = aud_run_str(x->v->run, "profile");

		put_str(&j, "profile", profile ? profile : "default");
		put_str(&j, "op", e->op);
		put_path(&j, "path", e->path);
		b_json_key(&j, "allowed");
		b_json_bool(&j, e->allowed);
		put_str(&j, "matched_rule", e->matched_rule);
	} else if (*e->argv) {
		b_json_key(&j, "argv");
		b_str_add(out, e->argv);
	}
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static void add_orbit(struct exporter *x, const struct aud_reader *r, struct b_str *out)
{
	const struct aud_entry *e = &r->e;
	bool is_file = strcmp(e->op, "read") == 0 || strcmp(e->op, "modify") == 0;

	if (strcmp(e->kind, "run") == 0) {
		orbit_line(x, e, "run.started", "run_started", out);
	} else if (strcmp(e->kind, "denied") == 0 && is_file) {
		orbit_line(x, e, "fs.call.denied", "fs_call_denied", out);
	} else if (strcmp(e->kind, "denied") == 0) {
		orbit_line(x, e, "tool.denied", "tool_denied", out);
	} else if (strcmp(e->kind, "result") == 0 && is_file) {
		orbit_line(x, e, "fs.call.request", "fs_call_request", out);
		if (!e->err) /* after an error there is none */
			orbit_line(x, e, "fs.call.result", "fs_call_result", out);
	} else if (strcmp(e->kind, "exec") == 0) {
		orbit_line(x, e, "cli.invocation.started", "cli_invocation_started", out);
	} else if (strcmp(e->kind, "exit") == 0) {
		orbit_line(x, e, "cli.invocation.finished", "cli_invocation_finished", out);
	}
}

/* The last line, where the run has one: `last` is the last event. */
static void end_orbit(struct exporter *x, const struct aud_entry *last, struct b_str *out)
{
	const char *ended = aud_run_str(x->v->run, "ended");
	struct aud_entry e = *last;

	if (!ended)
		return;
	e.ts = ended;
	e.argv = "";
	e.has_verdict = false;
	orbit_line(x, &e, "run.finished", "run_finished", out);
}

/* ---- chrome-trace ---- */

static void trace_head(struct exporter *x, struct b_json *j, const char *phase, const char *ts,
		       int64_t pid)
{
	if (x->number++)
		b_str_add(j->out, ",\n");
	b_json_open(j, '{');
	put_str(j, "ph", phase);
	b_json_key(j, "ts");
	b_str_addf(j->out, "%" PRId64 ".%03d", sbx_stamp_ns(ts) / 1000,
		   (int)(sbx_stamp_ns(ts) % 1000));
	j->need_comma = true;
	put_int(j, "pid", 1);
	put_int(j, "tid", pid);
}

static void begin_trace(struct exporter *x, struct b_str *out)
{
	if (!x->has_begun)
		b_str_add(out, "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n");
	x->has_begun = true;
}

static void add_trace(struct exporter *x, const struct aud_reader *r, struct b_str *out)
{
	const struct aud_entry *e = &r->e;
	struct b_json j = {.out = out};

	view_images_add(&x->images, e);
	begin_trace(x, out);
	if (!aud_entry_is_denied(e))
		return;
	trace_head(x, &j, "i", e->ts, e->pid);
	put_str(&j, "s", "t");
	put_str(&j, "cat", "denied");
	put_path(&j, "name", e->path);
	put_object(&j, "args");
	put_str(&j, "op", e->op);
	put_str(&j, "rule", e->rule);
	b_json_close(&j, '}');
	b_json_close(&j, '}');
}

static void end_trace(struct exporter *x, struct b_str *out)
{
	size_t i;

	begin_trace(x, out);
	for (i = 0; i < x->images.n; i++) {
		const struct view_image *one = &x->images.v[i];
		b_auto(b_str_release) struct b_str command = {0};
		int64_t ns = sbx_stamp_ns(one->ended) - sbx_stamp_ns(one->started);
		struct b_json j = {.out = out};

		view_image_command(one, &command);
		trace_head(x, &j, "X", one->started, one->pid);
		b_json_key(&j, "dur");
		b_str_addf(out, "%" PRId64 ".%03d", (ns > 0 ? ns : 0) / 1000,
			   (int)((ns > 0 ? ns : 0) % 1000));
		j.need_comma = true;
		put_str(&j, "cat", "process");
		put_path(&j, "name", one->path);
		put_object(&j, "args");
		put_str(&j, "command", b_str_c(&command));
		put_int(&j, "events", (int64_t)one->events);
		put_int(&j, "changed", (int64_t)one->changed);
		put_int(&j, "denied", (int64_t)one->denied);
		b_json_close(&j, '}');
		b_json_close(&j, '}');
	}
	b_str_add(out, "\n]}\n");
}

/* ---- the words of other sandboxes ---- */

static void add_srt(struct exporter *x, const struct aud_reader *r, struct b_str *out)
{
	(void)out; /* only the last ones count: at the end */
	view_violations_add(&x->violations, x->v->run, &r->e);
}

static void add_openshell(struct exporter *x, const struct aud_reader *r, struct b_str *out)
{
	view_shorthand(x->v->run, &r->e, &x->number, out);
}

typedef void add_fn(struct exporter *, const struct aud_reader *, struct b_str *out);

int view_export(struct view *v, enum view_format format, const struct aud_filter *filter,
		struct b_err *err)
{
	static add_fn *const add[] = {
		[VIEW_LINES] = add_jsonl,	 [VIEW_JSONL] = add_jsonl, [VIEW_OCSF] = add_ocsf,
		[VIEW_ORBIT] = add_orbit,	 [VIEW_TRACE] = add_trace, [VIEW_SRT] = add_srt,
		[VIEW_OPENSHELL] = add_openshell};
	b_auto(release) struct exporter x = {.v = v, .filter = filter};
	b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
	int got, found = 0;

	if (aud_reader_open(&r, v->run, err) < 0)
		return -1;
	while ((got = view_next(v, &r, err)) > 0) {
		if (!aud_filter_match(filter, &r.e)) {
			host_of(v, &x.host, &r.e);
			continue;
		}
		found = 1;
		add[format](&x, &r, v->out);
		if (view_flush(v, err) < 0)
			return -1;
	}
	if (got == 0 && format == VIEW_TRACE)
		end_trace(&x, v->out);
	if (got == 0 && format == VIEW_ORBIT && found)
		end_orbit(&x, &r.e, v->out);
	view_violations_show(&x.violations, v->out);
	return got < 0 ? -1 : found;
}
