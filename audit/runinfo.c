/* SPDX-License-Identifier: Apache-2.0 */
/* runinfo.c - see rundir.h. */
#include "audit/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "audit/collect_priv.h"
#include "audit/fields.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"

/* name in run.json, field of struct aud_counts */
/* clang-format off */
#define COUNTS(X) \
	X(events) X(allowed) X(denied) X(reads) X(modifies) X(execs) X(connects) X(queries) \
	X(losses) X(refused) X(disagreed) X(lost) X(broker_lost) X(corrupt) X(abandoned) X(damaged) \
	X(unverified) X(internal) X(processes) X(witnessed) X(shim_calls) X(shim_images)
/* clang-format on */

static void add_bytes(struct b_json *j, const char *key, const char *value)
{
	if (value)
		b_json_bytes(j, key, value, strlen(value));
}

static void add_u64(struct b_json *j, const char *key, uint64_t v)
{
	b_json_key(j, key);
	b_json_u64(j, v <= INT64_MAX ? v : INT64_MAX); /* readers of JSON have no more */
}

static void add_list(struct b_json *j, const char *key, const char *const *v, size_t n)
{
	size_t i;

	b_json_key(j, key);
	b_json_open(j, '[');
	for (i = 0; i < n; i++)
		b_json_str(j, v[i]);
	b_json_close(j, ']');
}

static void add_argv(struct b_json *j, char *const *argv)
{
	b_json_key(j, "argv");
	b_json_open(j, '[');
	for (; argv && *argv; argv++)
		b_json_str(j, *argv);
	b_json_close(j, ']');
}

static void add_limits(struct b_json *j, const struct aud_runinfo *r)
{
	if (!r->nlimits)
		return;
	b_json_key(j, "limits");
	b_json_open(j, '[');
	for (size_t i = 0; i < r->nlimits; i++) {
		b_json_open(j, '{');
		add_bytes(j, "name", r->limits[i].name);
		add_u64(j, "value", r->limits[i].value);
		add_bytes(j, "by", r->limits[i].by);
		b_json_close(j, '}');
	}
	b_json_close(j, ']');
}

static void add_when(struct b_json *j, const char *key, uint64_t ms)
{
	if (!ms)
		return;
	b_json_key(j, key);
	b_str_addc(j->out, '"');
	aud_add_time(ms * 1000000, j->out);
	b_str_addc(j->out, '"');
	j->need_comma = true;
}

static void add_broker(struct b_json *j, const struct aud_counts *k)
{
	static const char *const names[] = {
#define X(fate, key, text) [SBX_FATE_##fate] = key,
		SBX_FATES(X)
#undef X
	};

	if (!k->broker.is_there)
		return;
	b_json_key(j, "broker");
	b_json_open(j, '{');
	add_u64(j, "calls", k->broker.calls);
	for (size_t i = 0; i < SBX_FATE_COUNT; i++)
		add_u64(j, names[i], k->broker.fate[i]);
	add_u64(j, "asked", k->broker.asked);
	add_u64(j, "lines", k->broker.lines);
	add_u64(j, "folded", k->broker.folded);
	add_u64(j, "unwritten", k->broker.unwritten);
	b_json_key(j, "complete");
	b_json_bool(j, aud_broker_counts_agree(&k->broker, k->broker_lost));
	b_json_close(j, '}');
}

static void add_counts(struct b_json *j, const struct aud_counts *k)
{
	unsigned i;

	b_json_key(j, "counts");
	b_json_open(j, '{');
#define X(name) add_u64(j, #name, k->name);
	COUNTS(X)
#undef X
	add_broker(j, k);
	b_json_key(j, "unwitnessed");
	b_json_open(j, '{');
	for (i = 0; i < SBX_EXEC_CLASS_COUNT; i++)
		if (k->unwitnessed_by_class[i])
			add_u64(j, sbx_exec_class_name((enum sbx_exec_class)i),
				k->unwitnessed_by_class[i]);
	b_json_close(j, '}');
	b_json_close(j, '}');
}

static void add_end(struct b_json *j, const struct aud_runinfo *r)
{
	if (r->exit_status < 0)
		return;
	b_json_key(j, "exit");
	b_json_open(j, '{');
	add_u64(j, "status", (uint64_t)r->exit_status);
	if (r->exit_signal)
		add_u64(j, "signal", (uint64_t)r->exit_signal);
	b_json_key(j, "timed_out");
	b_json_bool(j, r->timed_out);
	b_json_close(j, '}');
}

static void add_bundle(struct b_json *j, const struct aud_runinfo *r)
{
	if (!r->bundle || !r->bundle->name)
		return;
	b_json_key(j, "bundle");
	b_json_open(j, '{');
	add_bytes(j, "name", r->bundle->name);
	add_u64(j, "version", r->bundle->version);
	add_bytes(j, "digest", r->bundle->digest);
	b_json_close(j, '}');
}

void aud_runinfo_json(const struct aud_runinfo *r, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '{');
	add_u64(&j, "schemaVersion", AUD_SCHEMA_VERSION);
	add_bytes(&j, "run_id", r->run_id);
	add_bytes(&j, "parent_run_id", r->parent);
	add_bytes(&j, "context", r->context);
	if (r->runs_inside)
		add_u64(&j, "runs_inside", r->runs_inside);
	add_bytes(&j, "version", r->version);
	if (r->preload_only) {
		b_json_key(&j, "preload_only");
		b_json_bool(&j, true);
	}
	if (r->pid)
		add_u64(&j, "pid", (uint64_t)r->pid);
	add_when(&j, "started", r->started_ms);
	add_when(&j, "ended", r->ended_ms);
	add_argv(&j, r->argv);
	add_bytes(&j, "cwd", r->cwd);
	add_bytes(&j, "policy", r->policy);
	add_bytes(&j, "policy_hash", r->policy_hash);
	add_bytes(&j, "profile", r->profile);
	add_bundle(&j, r);
	add_list(&j, "workspaces", r->workspaces, r->nworkspaces);
	add_list(&j, "floor", r->floor, r->nfloor);
	add_list(&j, "losses", r->losses, r->nlosses);
	if (r->landlock_rules)
		add_u64(&j, "landlock_rules", r->landlock_rules);
	add_limits(&j, r);
	add_bytes(&j, "environment", r->environment);
	if (r->nremoved_vars)
		add_list(&j, "removed_variables", r->removed_vars, r->nremoved_vars);
	add_bytes(&j, "audit_level", r->audit_level);
	add_bytes(&j, "audit_file", r->audit_file);
	add_bytes(&j, "final_hash", r->final_hash);
	add_end(&j, r);
	if (!r->preload_only)
		add_counts(&j, &r->counts);
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

int aud_runinfo_write(const struct aud_runinfo *r, const char *dir, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto(b_str_release) struct b_str path = {0};

	aud_runinfo_json(r, &text);
	b_str_addf(&path, "%s/%s", dir, AUD_INFO_NAME);
	return b_write_file(path.s, 0600, text.s, text.len, false, err);
}

/* ---- run.json as a file ---- */

enum { PAGE = 4096 };

static int replace(const struct aud_rundir *dir, const struct b_str *text, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};

	b_str_addf(&path, "%s/" AUD_INFO_NAME, dir->path);
	return b_write_file(path.s, 0600, text->s, text->len, false, err);
}

/* A shorter text than before must leave nothing of that behind it: JSON may end in blanks. */
static void pad(struct b_str *text, size_t len)
{
	if (text->len >= len || !text->len)
		return;
	text->s[text->len - 1] = ' ';
	while (text->len + 1 < len)
		b_str_addc(text, ' ');
	b_str_addc(text, '\n');
}

int aud_infofile_put(struct aud_infofile *f, const struct aud_rundir *dir, struct b_str *text,
		     struct b_err *err)
{
	ssize_t n;

	if (text->len > PAGE || f->len > PAGE) {
		aud_infofile_release(f);
		f->len = PAGE + 1; /* from now on */
		return replace(dir, text, err);
	}
	if (f->fd < 0)
		f->fd = openat(dir->dirfd, AUD_INFO_NAME,
			       O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	pad(text, f->len);
	n = f->fd < 0 ? -1 : pwrite(f->fd, text->s, text->len, 0);
	if (n != (ssize_t)text->len) {
		int why = n < 0 ? errno : ENOSPC;

		/* the beginning alone is nothing that could be read */
		if (f->fd >= 0 && n >= 0)
			(void)!ftruncate(f->fd, 0);
		return b_fail(err, B_SYSTEM, why, "%s/" AUD_INFO_NAME ": %s", dir->path,
			      strerror(why));
	}
	f->len = text->len;
	return 0;
}

void aud_infofile_release(struct aud_infofile *f)
{
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct aud_infofile){.fd = -1};
}
