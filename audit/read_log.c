/* SPDX-License-Identifier: Apache-2.0 */
/* read_log.c - the lines of a log, read back, selected, and their chain verified. */
#include "audit/read_log.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/collect_priv.h"
#include "audit/read_run.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"

static const struct {
	const char *key;
	size_t at;
} strings[] =
	{
		{"kind", offsetof(struct aud_entry, kind)},
		{"op", offsetof(struct aud_entry, op)},
		{"path", offsetof(struct aud_entry, path)},
		{"path2", offsetof(struct aud_entry, path2)},
		{"matched_rule", offsetof(struct aud_entry, matched_rule)},
		{"rule", offsetof(struct aud_entry, rule)},
		{"call", offsetof(struct aud_entry, call)},
		{"exe", offsetof(struct aud_entry, exe)},
		{"image", offsetof(struct aud_entry, image)},
		{"ts", offsetof(struct aud_entry, ts)},
		{"reason", offsetof(struct aud_entry, reason)},
},
  numbers[] = {
	  {"pid", offsetof(struct aud_entry, pid)},
	  {"ppid", offsetof(struct aud_entry, ppid)},
	  {"errno", offsetof(struct aud_entry, err)},
	  {"count", offsetof(struct aud_entry, count)},
	  {"lost", offsetof(struct aud_entry, lost)},
	  {"corrupt", offsetof(struct aud_entry, corrupt)},
	  {"abandoned", offsetof(struct aud_entry, abandoned)},
};

static int sextet(char c)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(letters, c) : NULL;

	return at ? (int)(at - letters) : -1;
}

/* NULL when absent, no base64, or not a path (a NUL among the bytes). */
static char *decode(const json_t *v)
{
	const char *s = json_string_value(v);
	unsigned bits = 0, n = 0;
	struct b_str out = {0};

	if (!s)
		return NULL;
	b_str_addn(&out, "", 0);
	for (; *s && *s != '='; s++) {
		int six = sextet(*s);

		if (six < 0)
			break;
		bits = bits << 6 | (unsigned)six;
		n += 6;
		if (n < 8)
			continue;
		n -= 8;
		b_str_addc(&out, (char)(bits >> n & 0xff));
	}
	if ((*s && *s != '=') || memchr(out.s, '\0', out.len)) {
		b_str_release(&out);
		return NULL;
	}
	return b_str_take(&out);
}

static void fill(struct aud_entry *e)
{
	json_t *const j = e->json;
	size_t i;

	for (i = 0; i < sizeof strings / sizeof *strings; i++) {
		const char *v = json_string_value(json_object_get(j, strings[i].key));

		memcpy((char *)e + strings[i].at, &(const char *){v ? v : ""}, sizeof v);
	}
	for (i = 0; i < sizeof numbers / sizeof *numbers; i++) {
		int64_t v = aud_json_int(json_object_get(j, numbers[i].key), 0);

		memcpy((char *)e + numbers[i].at, &v, sizeof v);
	}
	if (e->count < 1)
		e->count = 1;
	e->has_verdict = json_is_boolean(json_object_get(j, "allowed"));
	e->allowed = json_is_true(json_object_get(j, "allowed"));
	e->disagrees = json_is_true(json_object_get(j, "shim_disagrees"));
	e->unverified = json_is_true(json_object_get(j, "unverified"));
	e->exact = decode(json_object_get(j, "path_b64"));
	e->exact2 = decode(json_object_get(j, "path2_b64"));
	if (e->exact)
		e->path = e->exact;
	if (e->exact2)
		e->path2 = e->exact2;
}

int aud_entry_parse(const struct aud_line *line, struct aud_entry *out, const char **out_why)
{
	json_error_t why;
	struct aud_entry e = {0};

	if (line->too_long) {
		*out_why = "longer than any line of a log";
		return -1;
	}
	e.json = aud_json_load(line->s, line->len, &why);
	if (!e.json) {
		*out_why = "not JSON";
		return -1;
	}
	if (!json_is_string(json_object_get(e.json, "kind"))) {
		json_decref(e.json);
		*out_why = "not an event";
		return -1;
	}
	fill(&e);
	*out = e;
	return 0;
}

void aud_entry_release(struct aud_entry *e)
{
	json_decref(e->json);
	free(e->exact);
	free(e->exact2);
	*e = (struct aud_entry){0};
}

static bool glob_absolute(const char *glob, const char *path)
{
	return pol_glob_match(glob + (*glob == '/'), path + 1, strlen(path + 1));
}

/* A glob that begins with a slash, or with `**`, speaks of absolute paths too. */
static bool match_path(const struct aud_filter *f, const char *glob, const char *path)
{
	bool absolute = *glob == '/' || b_has_prefix(glob, "**");
	size_t i;

	if (*path == '/')
		return absolute && glob_absolute(glob, path);
	if (*path != '.' || (path[1] && path[1] != '/'))
		return false;
	path += path[1] ? 2 : 1; /* "./x" -> "x", "." -> "" */
	if (*glob != '/' &&
	    pol_glob_match(glob + (b_has_prefix(glob, "./") ? 2 : 0), path, strlen(path)))
		return true;
	for (i = 0; absolute && i < f->nworkspaces; i++) {
		b_auto(b_str_release) struct b_str full = {0};

		if (strcmp(f->workspaces[i], "/") != 0)
			b_str_add(&full, f->workspaces[i]);
		b_str_addf(&full, "/%s", path);
		if (full.len > 1 && !*path)
			full.s[--full.len] = '\0';
		if (glob_absolute(glob, full.s))
			return true;
	}
	return false;
}

static bool match_globs(const struct aud_filter *f, const struct aud_entry *e)
{
	size_t i;

	for (i = 0; i < f->nglobs; i++)
		if (match_path(f, f->globs[i], e->path) || match_path(f, f->globs[i], e->path2))
			return true;
	return f->nglobs == 0;
}

/* What was refused counts as denied, and so does what the policy denies but a process did. */
static bool is_denied(const struct aud_entry *e)
{
	return strcmp(e->kind, "denied") == 0 || (e->has_verdict && !e->allowed);
}

bool aud_filter_match(const struct aud_filter *f, const struct aud_entry *e)
{
	if (f->op >= 0 && strcmp(e->op, sbx_op_name((enum sbx_op)f->op)) != 0)
		return false;
	if (f->verdict != AUD_ANY_VERDICT &&
	    (!e->has_verdict || is_denied(e) != (f->verdict == AUD_ONLY_DENIED)))
		return false;
	if (f->pid >= 0 && e->pid != f->pid)
		return false;
	if (f->kind && strcmp(e->kind, f->kind) != 0)
		return false;
	return match_globs(f, e);
}

/* ---- lines of a file ---- */

int aud_lines_open(struct aud_lines *l, const char *path, struct b_err *err)
{
	/* O_NONBLOCK: a FIFO in its place must not hang us */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return b_fail(err, B_AUDIT, errno, "%s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return b_fail(err, B_FORMAT, 0, "%s: not a regular file", path);
	}
	*l = (struct aud_lines){.fd = fd, .path = b_strdup(path), .buf = b_malloc(AUD_LINE_MAX)};
	return 0;
}

void aud_lines_release(struct aud_lines *l)
{
	if (l->buf)
		close(l->fd);
	free(l->buf);
	free(l->path);
	*l = (struct aud_lines){.fd = -1};
}

/* Makes room and reads on; false at the end or on failure. */
static bool refill(struct aud_lines *l)
{
	ssize_t got;

	memmove(l->buf, l->buf + l->start, l->end - l->start);
	l->end -= l->start;
	l->start = 0;
	got = b_read_full(l->fd, l->buf + l->end, AUD_LINE_MAX - l->end);
	if (got <= 0) {
		l->eof = got == 0;
		return false;
	}
	l->end += (size_t)got;
	return true;
}

/* Passes over the rest of a line that fills the whole buffer. */
static int skip_rest(struct aud_lines *l)
{
	char *nl;

	do {
		l->start = l->end;
		if (!refill(l))
			return l->eof ? 0 : -1;
		nl = memchr(l->buf, '\n', l->end);
	} while (!nl);
	l->start = (size_t)(nl - l->buf) + 1;
	return 0;
}

int aud_lines_next(struct aud_lines *l, struct aud_line *out, struct b_err *err)
{
	size_t scanned = 0;

	for (;;) {
		size_t have = l->end - l->start;
		char *from = l->buf + l->start, *nl = memchr(from + scanned, '\n', have - scanned);

		if (nl) {
			*out = (struct aud_line){.s = from, .len = (size_t)(nl - from)};
			l->start += out->len + 1;
			break;
		}
		if (have == AUD_LINE_MAX) {
			if (skip_rest(l) < 0)
				goto failed;
			*out = (struct aud_line){.s = "", .too_long = true};
			break;
		}
		scanned = have;
		if (!l->eof && refill(l))
			continue;
		if (!l->eof)
			goto failed;
		if (!have)
			return 0;
		*out = (struct aud_line){.s = l->buf + l->start, .len = have, .torn = true};
		l->start = l->end;
		break;
	}
	l->number++;
	return 1;
failed:
	return b_fail(err, B_AUDIT, errno, "%s: %s", l->path, strerror(errno));
}

/* ---- the chain ---- */

/* NULL = the line continues the chain. */
static const char *check_line(const struct aud_line *line, const struct aud_verify *v)
{
	const char *prev, *why = NULL;
	json_t *j;

	if (line->too_long)
		return "longer than any line of a log";
	if (line->torn)
		return "the file ends in the middle of it";
	j = aud_json_load(line->s, line->len, &(json_error_t){0});
	prev = json_string_value(json_object_get(j, "prev"));
	if (!prev)
		why = "not an event";
	else if (strcmp(prev, v->hash) != 0)
		why = "its prev is not the hash of the line before";
	else if (aud_json_int(json_object_get(j, "seq"), 0) != (int64_t)v->lines + 1)
		why = "its seq does not follow";
	json_decref(j);
	return why;
}

int aud_verify(const struct aud_run *run, struct aud_verify *out, struct b_err *err)
{
	const char *final = aud_run_str(run, "final_hash");
	b_auto(aud_lines_release) struct aud_lines l = {.fd = -1};
	struct aud_verify v = {.hash = AUD_CHAIN_START, .has_final = final && !run->live};
	struct aud_line line;
	int got;

	if (aud_lines_open(&l, run->log, err) < 0)
		return -1;
	while ((got = aud_lines_next(&l, &line, err)) > 0) {
		if (line.torn && run->live)
			break; /* being written */
		if (run->alone.is_alone) {
			v.is_unchained = true;
			v.lines++;
			continue;
		}
		v.why = check_line(&line, &v);
		if (v.why) {
			v.broken_line = l.number;
			break;
		}
		v.lines++;
		b_sha256_hex(line.s, line.len, v.hash);
	}
	if (got < 0)
		return -1;
	v.final_matches = v.has_final && strcmp(final, v.hash) == 0;
	*out = v;
	return 0;
}
