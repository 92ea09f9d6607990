/* SPDX-License-Identifier: Apache-2.0 */
/* option_sets.c - options that go together: those that decide the policy, and a command line made
 * of them. */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/options/shell.h"
#include "launcher/plan/environment.h"
#include "launcher/report/report.h"
#include "launcher/run/confine.h"
#include "launcher/run/os.h"
#include "policy/bundle.h"

/* What decides the policy, of the options (options.h): put together, and given back.
 */

/* The rules and settings inside are as if written first on the command line. */
static void take_bundle(struct lau_policy_opts *o)
{
	const struct pol_bundle *b = o->bundle;
	size_t n = b->nrules + o->nrules;
	struct pol_cli_rule *rules = b_calloc(n + 1, sizeof *rules);

	memcpy(rules, b->rules, b->nrules * sizeof *rules);
	if (o->nrules > 0)
		memcpy(rules + b->nrules, o->rules, o->nrules * sizeof *rules);
	free(o->rules);
	o->rules = rules;
	o->nrules = n;
	o->rules_cap = n + 1;
	if (!o->profile)
		o->profile = b->profile;
	o->dialect = (int)b->dialect;
	for (int i = 0; i < POL_SETTING_COUNT; i++)
		if (o->said.v[i] == POL_UNSAID)
			o->said.v[i] = b->said.v[i];
}

int lau_policy_settle(struct lau_policy_opts *o, struct b_err *err)
{
	if (!o->image)
		return 0;
	if (o->policies.n > 0)
		return b_fail(err, B_USAGE, 0, "--image: cannot be used with --policy");
	if (pol_bundle_read(o->image, &o->bundle, err) < 0)
		return b_wrap(err, "--image");
	take_bundle(o);
	return 0;
}

int lau_policy_take(struct lau_policy_opts *o, const void *data, size_t n, struct b_err *err)
{
	if (pol_bundle_parse("the policy of the inner run", data, n, &o->bundle, err) < 0)
		return -1;
	/* who made it may have put any automata beside the rules */
	o->bundle->key[0] = '\0';
	take_bundle(o);
	return 0;
}

void lau_policy_opts_release(struct lau_policy_opts *o)
{
	pol_bundle_free(o->bundle);
	b_strlist_release(&o->policies);
	b_strlist_release(&o->presets);
	b_strlist_release(&o->workspaces);
	free(o->rules);
	b_arena_release(&o->made);
	*o = (struct lau_policy_opts){0};
}

void lau_policy_request(const struct lau_policy_opts *o, struct pol_request *out)
{
	*out = (struct pol_request){
		.bundle = o->bundle,
		.also_used = o->also_used ? o->also_used : o->image,
		.policies = o->policies.v,
		.npolicies = o->policies.n,
		.dialect = (enum pol_dialect)o->dialect,
		.presets = o->presets.v,
		.npresets = o->presets.n,
		.profile = o->profile,
		.workspaces = o->workspaces.v,
		.nworkspaces = o->workspaces.n,
		.rules = o->rules,
		.nrules = o->nrules,
		.said = &o->said,
	};
}

/* ---- --print-argv ---- */

/* '...' around what a shell might take for more than letters. */
static void add_literal(struct b_str *out, const char *word, size_t n)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-./,:@%+=";

	if (n && strspn(word, plain) >= n) {
		b_str_addn(out, word, n);
		return;
	}
	b_str_addc(out, '\'');
	for (const char *end = word + n; word < end; word++)
		if (*word == '\'')
			b_str_add(out, "'\\''");
		else
			b_str_addc(out, *word);
	b_str_addc(out, '\'');
}

/* In place of a secret the shell is told the variable that holds it, and to end where it does
 * not. */
static void add_quoted(struct b_str *out, const char *word, const struct lau_secrets *secrets)
{
	const char *from = word, *at = word, *entry;
	size_t n, len;

	if (out->len > 0)
		b_str_addc(out, ' ');
	while (*at) {
		entry = lau_hide_named(secrets, lau_os_environ(), at, &n, &len);
		if (!entry) {
			at++;
			continue;
		}
		if (at > from)
			add_literal(out, from, (size_t)(at - from));
		b_str_addf(out, "\"${%.*s:?}\"", (int)n, entry);
		from = at += len;
	}
	if (at > from || at == word)
		add_literal(out, from, (size_t)(at - from));
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
	/* --command stands among our own words */
	for (char **p = o->argv + (o->command ? LAU_SHELL_FRONT : 0); *p; p++)
		b_strlist_add(words, *p);
}

/* What no variable of ours holds could only be printed. */
static int check_set(const struct lau_options *o, const struct lau_secrets *secrets,
		     struct b_err *err)
{
	for (size_t i = 0; i < o->set_env.n; i++) {
		const char *entry = o->set_env.v[i];
		size_t n = strcspn(entry, "="), name_len, len;

		if (lau_entry_is_secret(entry) && strlen(entry + n + 1) >= LAU_SECRET_MIN &&
		    !lau_hide_named(secrets, lau_os_environ(), entry + n + 1, &name_len, &len))
			return b_fail(err, B_USAGE, 0,
				      "--print-argv: the value of %.*s would be printed: export "
				      "it, and use --passenv %.*s",
				      (int)n, entry, (int)n, entry);
	}
	return 0;
}

static int check_text(const struct b_strlist *words, struct b_err *err)
{
	for (size_t i = 0; i < words->n; i++)
		if (!b_utf8_valid(words->v[i], strlen(words->v[i])))
			return b_fail(err, B_USAGE, 0,
				      "--print-argv --json: word %zu is not UTF-8, which JSON "
				      "cannot hold: without --json it is printed for a shell",
				      i + 1);
	return 0;
}

static void add_json(const struct b_strlist *words, struct b_str *out)
{
	struct b_json j = {.out = out};

	b_json_open(&j, '[');
	for (size_t i = 0; i < words->n; i++)
		b_json_str(&j, words->v[i]);
	b_json_close(&j, ']');
}

/* Words alone name no variable: a shell does, where there are secrets among them. */
static void add_words(const struct lau_options *o, const struct b_strlist *words,
		      const struct lau_secrets *secrets, struct b_str *out)
{
	b_auto(b_str_release) struct b_str hidden = {0}, open = {0}, script = {0};
	b_auto(b_strlist_release) struct b_strlist shell = {0};
	static const struct lau_secrets none;

	for (size_t i = 0; i < words->n; i++) {
		add_quoted(&hidden, words->v[i], secrets);
		add_quoted(&open, words->v[i], &none);
	}
	if (!o->json)
		b_str_add(out, b_str_c(&hidden));
	else if (strcmp(b_str_c(&hidden), b_str_c(&open)) == 0)
		add_json(words, out);
	else {
		b_str_addf(&script, "exec %s", b_str_c(&hidden));
		b_strlist_add(&shell, "/bin/sh");
		b_strlist_add(&shell, "-c");
		b_strlist_add(&shell, b_str_c(&script));
		add_json(&shell, out);
	}
	b_str_addc(out, '\n');
}

int lau_print_argv(const struct lau_options *o)
{
	b_auto(b_strlist_release) struct b_strlist words = {0};
	b_auto(lau_secrets_release) struct lau_secrets secrets = {0};
	b_auto(b_str_release) struct b_str text = {0};
	char self[PATH_MAX];
	struct b_err err;

	if (!lau_os_own_path(self, sizeof self)) {
		b_fail(&err, B_SYSTEM, errno, "own path: %s", strerror(errno));
		return b_report("sbx-launch", &err);
	}
	lau_hide_collect(o, lau_os_environ(), false, &secrets);
	if (check_set(o, &secrets, &err) < 0)
		return b_report("sbx-launch", &err);
	collect(o, self, &words);
	if (o->json && check_text(&words, &err) < 0)
		return b_report("sbx-launch", &err);
	add_words(o, &words, &secrets, &text);
	if (b_write_all(STDOUT_FILENO, text.s, text.len) == 0)
		return 0;
	b_fail(&err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return b_report("sbx-launch", &err);
}
