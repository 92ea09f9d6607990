/* SPDX-License-Identifier: Apache-2.0 */
/* redact.c - takes secrets out of text and out of what is shown of a run. */
#include "launcher/plan/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/mem.h"
#include "launcher/options/options.h"
#include "launcher/plan/secret_shapes.h"

/* ---- values ---- */

bool lau_entry_is_secret(const char *entry)
{
	b_auto_free char *name = b_strndup(entry, strcspn(entry, "="));

	return lau_name_is_secret(name, LAU_SECRET_SHOWN);
}

static int longest_first(const void *a, const void *b)
{
	const struct lau_secret *x = a, *y = b;

	return (x->len < y->len) - (x->len > y->len);
}

void lau_secrets_from(struct lau_secrets *s, char *const *envp)
{
	for (; *envp; envp++) {
		const char *value = strchr(*envp, '=');
		size_t len = value ? strlen(value + 1) : 0;

		if (len < LAU_SECRET_MIN || !lau_entry_is_secret(*envp))
			continue;
		b_grow(s->v, s->n, s->cap);
		s->v[s->n++] = (struct lau_secret){value + 1, len};
		s->first[(unsigned char)value[1]] = true;
	}
	if (s->n > 1)
		qsort(s->v, s->n, sizeof *s->v, longest_first);
}

void lau_secrets_release(struct lau_secrets *s)
{
	free(s->v);
	*s = (struct lau_secrets){0};
}

/* ---- text ---- */

enum { MAY_BE = -1 }; /* the beginning of one, and then the text ends */

/* Length of the longest value that begins at p, 0 = none. */
static ssize_t value_at(const struct lau_secrets *s, const char *p, size_t n, bool final)
{
	if (!s->first[(unsigned char)*p])
		return 0;
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].len <= n && memcmp(p, s->v[i].s, s->v[i].len) == 0)
			return (ssize_t)s->v[i].len;
		if (s->v[i].len > n && !final && memcmp(p, s->v[i].s, n) == 0)
			return MAY_BE;
	}
	return 0;
}

static void pass(struct lau_redact *r, bool final, struct b_str *out)
{
	const char *text = b_str_c(&r->kept);
	size_t n = r->kept.len, i, shown = 0; /* from there to i nothing is covered */

	for (i = 0; i < n; i++) {
		ssize_t len = value_at(r->secrets, text + i, n - i, final);

		if (len == MAY_BE)
			break;
		if (len && i >= r->covered) {
			b_str_addn(out, text + shown, i - shown);
			b_str_add(out, LAU_REDACTED_VALUE);
		}
		if (len && i + (size_t)len > r->covered)
			r->covered = i + (size_t)len;
		if (i < r->covered)
			shown = i + 1;
	}
	b_str_addn(out, text + shown, i - shown);
	r->covered = r->covered > i ? r->covered - i : 0;
	memmove(r->kept.s, r->kept.s + i, n - i);
	r->kept.len = n - i;
}

void lau_redact_feed(struct lau_redact *r, const void *p, size_t n, struct b_str *out)
{
	if (!r->secrets || r->secrets->n == 0) {
		b_str_addn(out, p, n);
		return;
	}
	if (n == 0)
		return;
	b_str_addn(&r->kept, p, n);
	pass(r, false, out);
}

void lau_redact_end(struct lau_redact *r, struct b_str *out)
{
	if (r->kept.len)
		pass(r, true, out);
	r->covered = 0;
}

void lau_redact_release(struct lau_redact *r)
{
	b_str_release(&r->kept);
	r->covered = 0;
}

void lau_redact_error(struct b_err *err, char *const *envp)
{
	struct lau_secrets secrets = {0};
	struct lau_redact r = {.secrets = &secrets};
	b_auto(b_str_release) struct b_str shown = {0};

	if (err->kind == B_OK)
		return;
	lau_secrets_from(&secrets, envp);
	lau_redact_feed(&r, err->msg, strlen(err->msg), &shown);
	lau_redact_end(&r, &shown);
	snprintf(err->msg, sizeof err->msg, "%s", b_str_c(&shown));
	lau_redact_release(&r);
	lau_secrets_release(&secrets);
}

/* ---- what is shown of a run ---- */

void lau_hide_collect(const struct lau_options *o, char *const *vars, bool but_paths,
		      struct lau_secrets *out)
{
	size_t n = 0, kept = 0;
	b_auto_free char **list = NULL;

	while (vars[n])
		n++;
	list = b_calloc(n + o->set_env.n + 1, sizeof *list);
	for (size_t i = 0; i < n + o->set_env.n; i++) {
		char *entry = i < n ? vars[i] : (char *)(uintptr_t)o->set_env.v[i - n];
		const char *value = strchr(entry, '=');

		if (value && (!but_paths || value[1] != '/'))
			list[kept++] = entry;
	}
	lau_secrets_from(out, list);
}

void lau_hide_text(const struct lau_secrets *secrets, const char *text, struct b_str *out)
{
	struct lau_redact r = {.secrets = secrets};

	lau_redact_feed(&r, text, strlen(text), out);
	lau_redact_end(&r, out);
	lau_redact_release(&r);
}

void lau_hide_word(const struct lau_secrets *secrets, const char *before, const char *word,
		   struct b_str *out)
{
	b_auto(b_str_release) struct b_str named = {0};

	lau_hide_text(secrets, word, &named);
	lau_hide_shapes(before, b_str_c(&named), out);
}

char **lau_hide_words(const struct lau_secrets *secrets, char *const *words, struct b_arena *arena)
{
	size_t n = 0;
	char **copy;

	while (words[n])
		n++;
	copy = b_arena_alloc(arena, (n + 1) * sizeof *copy);
	for (size_t i = 0; i < n; i++) {
		b_auto(b_str_release) struct b_str word = {0};

		lau_hide_word(secrets, i ? words[i - 1] : "", words[i], &word);
		copy[i] = b_arena_strndup(arena, b_str_c(&word), word.len);
	}
	copy[n] = NULL;
	return copy;
}

/* name(1p) of a shell. */
bool lau_hide_is_shell_name(const char *s, size_t n)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
				      "0123456789";

	return n && (*s < '0' || *s > '9') && strspn(s, letters) == n;
}

const char *lau_hide_named(const struct lau_secrets *secrets, char *const *vars, const char *s,
			   size_t *out_name_len, size_t *out_len)
{
	for (size_t i = 0; i < secrets->n; i++) {
		const struct lau_secret *x = &secrets->v[i];

		if (strncmp(s, x->s, x->len) != 0)
			continue;
		for (char *const *e = vars; *e; e++) {
			size_t n = strcspn(*e, "=");

			if (*e + n + 1 != x->s || !lau_hide_is_shell_name(*e, n))
				continue;
			*out_name_len = n;
			*out_len = x->len;
			return *e;
		}
	}
	return NULL;
}
