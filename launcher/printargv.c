/* printargv.c - see printargv.h. */
#include "launcher/printargv.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/own.h"
#include "base/str.h"
#include "launcher/options.h"
#include "launcher/os.h"

/* '...' around what a shell might take for more than letters. */
static void add_quoted(struct b_str *out, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./,:@%+=";

	if (out->len > 0)
		b_str_addc(out, ' ');
	if (*word && strspn(word, plain) == strlen(word)) {
		b_str_add(out, word);
		return;
	}
	b_str_addc(out, '\'');
	for (; *word; word++)
		if (*word == '\'')
			b_str_add(out, "'\\''");
		else
			b_str_addc(out, *word);
	b_str_addc(out, '\'');
}

static bool is_ours(const char *word)
{
	return strcmp(word, "--print-argv") == 0 || strcmp(word, "--json") == 0 ||
	       strcmp(word, "--") == 0;
}

/* Our own name, whole; the options as they were given; the command. */
static void collect(const struct lau_options *o, const char *self, struct b_strlist *words)
{
	b_strlist_add(words, self);
	for (int i = 1; i < o->own_argc; i++)
		if (!is_ours(o->own_argv[i]))
			b_strlist_add(words, o->own_argv[i]);
	b_strlist_add(words, "--");
	for (char **p = o->argv; *p; p++)
		b_strlist_add(words, *p);
}

int lau_print_argv(const struct lau_options *o)
{
	b_auto(b_strlist_release) struct b_strlist words = {0};
	b_auto(b_str_release) struct b_str text = {0};
	struct b_json j = {.out = &text};
	char self[PATH_MAX];
	struct b_err err;

	if (!lau_os_own_path(self, sizeof self)) {
		b_fail(&err, B_SYSTEM, errno, "own path: %s", strerror(errno));
		return b_report("sbx-launch", &err);
	}
	collect(o, self, &words);
	if (o->json)
		b_json_open(&j, '[');
	for (size_t i = 0; i < words.n; i++)
		if (o->json)
			b_json_str(&j, words.v[i]);
		else
			add_quoted(&text, words.v[i]);
	if (o->json)
		b_json_close(&j, ']');
	b_str_addc(&text, '\n');
	if (b_write_all(STDOUT_FILENO, text.s, text.len) == 0)
		return 0;
	b_fail(&err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return b_report("sbx-launch", &err);
}
