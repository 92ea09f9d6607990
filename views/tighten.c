/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tighten.c - the grants of a policy that runs made no use of; see views.h.
 *
 * Every name that the runs touched is asked of the policy: the lines of the rules that decide are
 * used. The grants on other lines are taken out, as comments, and the names are asked again. A
 * policy that lost grants allows nothing it did not allow before.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uthash.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/sbx.h"
#include "views/views.h"

enum { NAMES_MAX = 500000, DOCUMENT_MAX = 1 << 20, LINES_MAX = 20000 };

/* What the runs did, once: "r./src/a.c". */
struct deed {
	UT_hash_handle hh;
	char *text;
};

struct line {
	const char *s; /* of the document */
	size_t len, indent;
	size_t key; /* of a grant: the line of its list, counted from 0 */
	bool is_item, is_grant, is_used, is_kept;
};

struct tightening {
	const char *from;
	struct deed *deeds; /* uthash */
	struct b_str document;
	struct line *lines;
	size_t n, grants, used;
	uint64_t left_out, denied;
};

static void release(struct tightening *t)
{
	struct deed *d = t->deeds, *next;

	HASH_CLEAR(hh, t->deeds);
	for (; d; d = next) {
		next = d->hh.next;
		free(d->text);
		free(d);
	}
	b_str_release(&t->document);
	free(t->lines);
}

/* ---- the document ---- */

static bool is_list_of_grants(const struct line *l)
{
	static const char *const keys[] = {"read:", "modify:", "exec:"};
	size_t i;

	for (i = 0; i < sizeof keys / sizeof *keys; i++) {
		size_t n = strlen(keys[i]);

		if (l->len >= l->indent + n && memcmp(l->s + l->indent, keys[i], n) == 0 &&
		    (l->len == l->indent + n || strchr(" \t#", l->s[l->indent + n])))
			return true;
	}
	return false;
}

static bool is_denial(const struct line *l)
{
	size_t at = l->indent + 1;

	while (at < l->len && strchr(" \t\"'", l->s[at]))
		at++;
	return at < l->len && l->s[at] == '!';
}

static void read_lines(struct tightening *t)
{
	const char *at = b_str_c(&t->document), *end = at + t->document.len;
	size_t key = SIZE_MAX;

	t->lines = b_calloc(LINES_MAX, sizeof *t->lines);
	while (at < end && t->n < LINES_MAX) {
		struct line *l = &t->lines[t->n++];
		const char *nl = memchr(at, '\n', (size_t)(end - at));

		*l = (struct line){.s = at, .len = (size_t)((nl ? nl : end) - at)};
		at = nl ? nl + 1 : end;
		while (l->indent < l->len && l->s[l->indent] == ' ')
			l->indent++;
		if (l->indent == l->len || l->s[l->indent] == '#')
			continue;
		l->is_item = l->s[l->indent] == '-';
		if (!l->is_item)
			key = is_list_of_grants(l) ? t->n - 1 : SIZE_MAX;
		l->key = key;
		l->is_grant = l->is_item && key != SIZE_MAX && !is_denial(l);
		t->grants += l->is_grant;
	}
}

static int read_document(struct tightening *t, struct b_err *err)
{
	if (b_read_file(t->from, DOCUMENT_MAX, &t->document, err) < 0)
		return -1;
	read_lines(t);
	if (t->grants)
		return 0;
	return b_fail(err, B_FORMAT, 0,
		      "--from: %s: it has no grants on lines of their own: convert it to YAML with "
		      "sbx-policy convert",
		      t->from);
}

/* ---- what the runs did ---- */

static void add_deed(struct tightening *t, char op, const char *path)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct deed *d;

	b_str_addc(&text, op);
	b_str_add(&text, path);
	HASH_FIND(hh, t->deeds, text.s, text.len, d);
	if (d)
		return;
	if (HASH_COUNT(t->deeds) == NAMES_MAX) {
		t->left_out++;
		return;
	}
	d = b_calloc(1, sizeof *d);
	d->text = b_str_take(&text);
	HASH_ADD_KEYPTR(hh, t->deeds, d->text, strlen(d->text), d);
}

static void note_event(struct tightening *t, const struct aud_entry *e)
{
	const char *const paths[] = {e->path, e->path2};
	size_t i;

	if (!e->has_verdict || !e->allowed || aud_entry_is_denied(e) || e->is_claim ||
	    strcmp(e->op, "connect") == 0)
		return;
	for (i = 0; i < 2; i++) {
		if (!*paths[i])
			continue;
		if (strcmp(e->op, "exec") == 0)
			add_deed(t, 'x', paths[i]);
		if (strcmp(e->op, "modify") == 0)
			add_deed(t, 'm', paths[i]);
		add_deed(t, 'r', paths[i]); /* what may be changed has to be readable */
	}
}

static int read_runs(struct view *v, const struct view_learn *how, struct tightening *t,
		     struct b_err *err)
{
	for (size_t i = 0; i < how->n; i++) {
		b_auto(aud_reader_release) struct aud_reader r = {.l = {.fd = -1}};
		int got;

		v->run = &how->runs[i];
		if (aud_reader_open(&r, v->run, err) < 0)
			return -1;
		while ((got = view_next(v, &r, err)) > 0)
			note_event(t, &r.e);
		if (got < 0)
			return -1;
	}
	return 0;
}

/* ---- asking ---- */

/* "FILE:LINE:COLUMN" of our document: that line is used. */
static void mark_used(struct tightening *t, const char *origin)
{
	size_t n = strlen(t->from);
	unsigned long line;

	if (strncmp(origin, t->from, n) != 0 || origin[n] != ':')
		return;
	line = strtoul(origin + n + 1, NULL, 10);
	if (line && line <= t->n)
		t->lines[line - 1].is_used = true;
}

/* `is_first`: of the policy as it is. Else what is denied now is counted. */
static int ask(struct tightening *t, const char *file, const struct aud_run *run, bool is_first,
	       struct b_err *err)
{
	struct sbx_load how = {.policy = file,
			       .workspace = run->nworkspaces ? run->workspaces[0] : NULL};
	struct sbx_policy *policy;
	struct deed *d, *next;
	struct sbx_error why;
	struct sbx_answer a;
	int rc = 0;

	if (sbx_policy_load(&how, &policy, &why) < 0)
		return b_fail(err, B_POLICY, 0, "--from: %s", why.message);
	HASH_ITER(hh, t->deeds, d, next)
	{
		enum sbx_policy_operation op = d->text[0] == 'x'   ? SBX_POLICY_EXEC
					       : d->text[0] == 'm' ? SBX_POLICY_MODIFY
								   : SBX_POLICY_READ;

		rc = sbx_policy_check_resolved(policy, op, d->text + 1, &a, &why);
		if (is_first && (rc < 0 || !a.allowed)) { /* an option opened it, not this policy */
			HASH_DEL(t->deeds, d);
			free(d->text);
			free(d);
		} else if (is_first) {
			mark_used(t, a.rule);
		} else {
			t->denied += rc < 0 || !a.allowed;
		}
	}
	sbx_policy_free(policy);
	return 0;
}

/* ---- the result ---- */

static void count_used(struct tightening *t)
{
	for (size_t i = 0; i < t->n; i++) {
		struct line *l = &t->lines[i];

		l->is_kept = l->is_item && (!l->is_grant || l->is_used);
		t->used += l->is_grant && l->is_used;
		if (l->is_kept && l->key != SIZE_MAX)
			t->lines[l->key].is_kept = true;
	}
}

static void write_document(const struct tightening *t, struct b_str *out)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct line *l = &t->lines[i];
		bool is_empty = l->key == i && l->indent < l->len && !l->is_item && !l->is_kept &&
				is_list_of_grants(l);

		b_str_addn(out, l->s, l->indent);
		if (l->is_grant && !l->is_used)
			b_str_add(out, "# unused: ");
		if (is_empty && i + 1 < t->n && t->lines[i + 1].is_grant) {
			size_t colon = (size_t)((const char *)memchr(l->s, ':', l->len) - l->s) + 1;

			b_str_addn(out, l->s + l->indent, colon - l->indent);
			b_str_add(out, " []");
			b_str_addn(out, l->s + colon, l->len - colon);
		} else {
			b_str_addn(out, l->s + l->indent, l->len - l->indent);
		}
		b_str_addc(out, '\n');
	}
}

static int prove(struct tightening *t, const struct aud_run *run, const struct b_str *text,
		 struct b_err *err)
{
	char name[] = "/tmp/sbx-learn-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC), rc = -1;

	if (fd < 0 || b_write_all(fd, b_str_c(text), text->len) < 0)
		b_fail(err, B_SYSTEM, errno, "%s: %s", name, strerror(errno));
	else
		rc = ask(t, name, run, false, err);
	if (fd >= 0) {
		close(fd);
		unlink(name);
	}
	return rc;
}

int view_tighten(struct view *v, const struct view_learn *how, struct b_err *err)
{
	b_auto(release) struct tightening t = {.from = how->from};
	b_auto(b_str_release) struct b_str text = {0};

	if (read_document(&t, err) < 0 || read_runs(v, how, &t, err) < 0 ||
	    ask(&t, how->from, &how->runs[0], true, err) < 0)
		return -1;
	count_used(&t);
	write_document(&t, &text);
	if (prove(&t, &how->runs[0], &text, err) < 0)
		return -1;
	b_str_addf(v->out, "# sbx-audit: %zu of %zu grants were used by %zu run%s.\n", t.used,
		   t.grants, how->n, how->n == 1 ? "" : "s");
	if (t.denied || t.left_out)
		b_str_addf(v->out,
			   "# %" PRIu64 " names of the runs are not allowed by it, %" PRIu64
			   " were left out.\n",
			   t.denied, t.left_out);
	else
		b_str_addf(v->out, "# All %u names were asked of the rest again: allowed.\n",
			   HASH_COUNT(t.deeds));
	b_str_addn(v->out, b_str_c(&text), text.len);
	return t.denied == 0 && t.left_out == 0;
}
