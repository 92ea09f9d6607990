/* hide.c - see hide.h. */
#include "launcher/hide.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "launcher/options.h"

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

char **lau_hide_words(const struct lau_secrets *secrets, char *const *words, struct b_arena *arena)
{
	size_t n = 0;
	char **copy;

	while (words[n])
		n++;
	copy = b_arena_alloc(arena, (n + 1) * sizeof *copy);
	for (size_t i = 0; i < n; i++) {
		b_auto(b_str_release) struct b_str word = {0};

		lau_hide_text(secrets, words[i], &word);
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
