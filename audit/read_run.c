/* SPDX-License-Identifier: Apache-2.0 */
/* read_run.c - run.json, read back. */
#include "audit/read_run.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/fields.h"
#include "audit/pack.h"
#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

static void copy_id(char out[AUD_ID_MAX], const char *id)
{
	memcpy(out, id, strlen(id) + 1); /* aud_runs_list() gives valid ids only */
}

static int load_info(const char *path, json_t **out, struct b_err *err);

/* 1: an outermost run; 0: one inside another, or its run.json cannot be read; -1: no run.json. */
static int is_outermost(const char *root, const char *id)
{
	b_auto(b_str_release) struct b_str path = {0};
	json_t *info = NULL;
	struct b_err err;
	int answer;

	b_str_addf(&path, "%s/%s/%s", root, id, AUD_INFO_NAME);
	if (access(path.s, F_OK) < 0)
		return -1;
	answer = load_info(path.s, &info, &err) == 0 && info &&
		 !json_object_get(info, "parent_run_id");
	json_decref(info);
	return answer;
}

/* The newest outermost run with a run.json: a start that was cut short has none, and a command can
 * begin runs inside its own, behind which it would hide. Without one, the newest run with a
 * run.json; without that, the newest of all. */
static size_t last(const char *root, char *const *names, size_t n)
{
	size_t i, any = n ? n - 1 : n;
	bool has_any = false;

	for (i = n; i-- > 0;) {
		int is = is_outermost(root, names[i]);

		if (is == 1)
			return i;
		if (is == 0 && !has_any) {
			any = i;
			has_any = true;
		}
	}
	return any;
}

/* Index of the run meant, n when none, with *out_more when it is not the only one. */
static size_t pick(const char *root, char *const *names, size_t n, const char *text, bool *out_more)
{
	size_t i, found = n;

	*out_more = false;
	if (strcmp(text, "last") == 0)
		return last(root, names, n);
	for (i = 0; i < n; i++) {
		if (!b_has_prefix(names[i], text))
			continue;
		*out_more |= found < n;
		found = i;
	}
	return found;
}

int aud_run_find(const char *root, const char *text, char out_id[AUD_ID_MAX], struct b_err *err)
{
	char **names;
	size_t n, i;
	bool more;
	int rc = 0;

	if (aud_runs_list(root, &names, &n, err) < 0)
		return -1;
	i = pick(root, names, n, text, &more);
	if (!n)
		rc = b_fail(err, B_NOTFOUND, 0, "no runs are recorded in %s", root);
	else if (i == n || !*text)
		rc = b_fail(err, B_NOTFOUND, 0, "no run `%s`: `sbx-audit runs` lists them", text);
	else if (more)
		rc = b_fail(err, B_USAGE, 0, "`%s` begins the ids of several runs: give more of it",
			    text);
	else
		copy_id(out_id, names[i]);
	aud_runs_free(names, n);
	return rc;
}

/* It is written over in one call (rundir.h): who reads in that moment reads again. */
static int read_info(const char *path, json_t **out, bool *is_empty, json_error_t *why,
		     struct b_err *err)
{
	for (unsigned tries = 0; !*out && tries < 3; tries++) {
		b_auto(b_str_release) struct b_str text = {0};

		if (b_read_file(path, AUD_INFO_MAX, &text, err) < 0)
			return -1;
		*is_empty = text.len == 0;
		*out = aud_json_load(b_str_c(&text), text.len, why);
	}
	return 0;
}

static int load_info(const char *path, json_t **out, struct b_err *err)
{
	json_error_t why;
	bool is_empty;

	if (access(path, F_OK) < 0 && errno == ENOENT)
		return 0;
	if (read_info(path, out, &is_empty, &why, err) < 0)
		return -1;
	if (!*out && is_empty)
		return 0; /* there was no room for it: as good as none */
	if (!*out)
		return b_fail(err, B_FORMAT, 0, "%s:%d:%d: %s", path, why.line, why.column,
			      why.text);
	if (!json_is_object(*out))
		return b_fail(err, B_FORMAT, 0, "%s: not a JSON object", path);
	if (aud_json_int(json_object_get(*out, "schemaVersion"), 0) > AUD_SCHEMA_VERSION)
		return b_fail(err, B_FORMAT, 0,
			      "%s: written by a newer version: read it with that version", path);
	return 0;
}

static void note_workspaces(struct aud_run *r)
{
	const json_t *list = aud_run_get(r, "workspaces");
	const size_t max = sizeof r->workspaces / sizeof r->workspaces[0];
	json_t *v;
	size_t i;

	json_array_foreach(list, i, v) if (json_is_string(v) && *json_string_value(v) == '/' &&
					   r->nworkspaces < max) r->workspaces[r->nworkspaces++] =
		json_string_value(v);
}

/* --audit-file may have put the log elsewhere. */
static char *log_path(const struct aud_run *r, const char *dir)
{
	const char *file = aud_run_str(r, "audit_file"), *cwd = aud_run_str(r, "cwd");
	struct b_str s = {0};

	if (file && *file != '/' && cwd)
		b_str_addf(&s, "%s/%s", cwd, file);
	else if (file)
		b_str_add(&s, file);
	else
		b_str_addf(&s, "%s/%s", dir, AUD_LOG_NAME);
	if (!file && access(s.s, F_OK) < 0) {
		size_t len = s.len;

		b_str_add(&s, AUD_PACK_SUFFIX);
		if (access(s.s, F_OK) < 0)
			s.s[s.len = len] = '\0';
	}
	return b_str_take(&s);
}

int aud_run_load(const char *root, const char *id, struct aud_run *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str dir = {0}, info = {0};
	struct aud_run r = {0};

	copy_id(r.id, id);
	b_str_addf(&dir, "%s/%s", root, id);
	b_str_addf(&info, "%s/%s", dir.s, AUD_INFO_NAME);
	if (load_info(info.s, &r.info, err) < 0) {
		aud_run_release(&r);
		return -1;
	}
	r.live = aud_run_is_live(root, id);
	aud_alone_read(dir.s, &r.alone);
	note_workspaces(&r);
	r.log = log_path(&r, dir.s);
	r.is_shared = aud_run_str(&r, "audit_file") != NULL;
	*out = r;
	return 0;
}

void aud_run_release(struct aud_run *r)
{
	json_decref(r->info);
	free(r->log);
	*r = (struct aud_run){0};
}

json_t *aud_run_get(const struct aud_run *r, const char *path)
{
	json_t *at = r->info;
	char key[64];

	while (at && *path) {
		size_t n = strcspn(path, ".");

		if (n >= sizeof key)
			return NULL;
		memcpy(key, path, n);
		key[n] = '\0';
		at = json_object_get(at, key); /* NULL for what is no object */
		path += n + (path[n] == '.');
	}
	return at;
}

const char *aud_run_str(const struct aud_run *r, const char *path)
{
	return json_string_value(aud_run_get(r, path));
}

int64_t aud_run_int(const struct aud_run *r, const char *path, int64_t fallback)
{
	return aud_json_int(aud_run_get(r, path), fallback);
}

/* ---- JSON files ---- */

json_t *aud_json_load(const char *s, size_t len, json_error_t *out_why)
{
	json_t *j = json_loadb(s, len, JSON_REJECT_DUPLICATES, out_why);

	if (j || json_error_code(out_why) != json_error_numeric_overflow)
		return j;
	return json_loadb(s, len, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, out_why);
}

int64_t aud_json_int(const json_t *v, int64_t fallback)
{
	double d;

	if (json_is_integer(v))
		return json_integer_value(v);
	if (!json_is_real(v))
		return fallback;
	d = json_real_value(v);
	if (d >= 0x1p63)
		return INT64_MAX;
	return d <= -0x1p63 ? INT64_MIN : (int64_t)d;
}
