/* SPDX-License-Identifier: Apache-2.0 */
/* secret_shapes.c - see secret_shapes.h. */
#include "launcher/plan/secret_shapes.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/plan/environment.h"

enum { NAME_MAX_LEN = 64 };

/* Tokens that name their issuer, and how many letters follow at least. */
static const struct {
	const char *start;
	size_t more;
} tokens[] = {
	{"ghp_", 20},	     {"gho_", 20},    {"ghu_", 20},	 {"ghs_", 20},	   {"ghr_", 20},
	{"github_pat_", 20}, {"glpat-", 16},  {"sk-", 20},	 {"sk_live_", 16}, {"rk_live_", 16},
	{"xoxb-", 16},	     {"xoxp-", 16},   {"xoxa-", 16},	 {"xoxs-", 16},	   {"xapp-", 16},
	{"AKIA", 16},	     {"ASIA", 16},    {"AIza", 30},	 {"npm_", 30},	   {"pypi-", 40},
	{"hf_", 30},	     {"dop_v1_", 40}, {"dckr_pat_", 20}, {"eyJ", 40},
};

static bool is_token_letter(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '-' || c == '.';
}

/* The length of a token that begins here, 0: none does. */
static size_t token_at(const char *s)
{
	for (size_t i = 0; i < sizeof tokens / sizeof *tokens; i++) {
		size_t start = strlen(tokens[i].start), n = start;

		if (*s != *tokens[i].start || strncmp(s, tokens[i].start, start) != 0)
			continue;
		while (is_token_letter(s[n]))
			n++;
		if (n >= start + tokens[i].more)
			return n;
	}
	return 0;
}

/* As a variable is written: "--api-key" is "API_KEY". False: it is too long to be one. */
static bool as_variable(const char *s, size_t n, char out[NAME_MAX_LEN + 1])
{
	for (; n && *s == '-'; s++)
		n--;
	if (!n || n > NAME_MAX_LEN)
		return false;
	for (size_t i = 0; i < n; i++)
		out[i] = (char)(s[i] == '-' ? '_' : toupper((unsigned char)s[i]));
	out[n] = '\0';
	return true;
}

/* An option, a key or a header whose value is a secret: by its end, because `--password-file` and
 * `--token-type` say no secret. */
static bool is_secret_end(const char *name)
{
	static const char *const ends[] = {
		"PASSWORD",    "PASSWD",     "PASSPHRASE", "TOKEN",	   "SECRET",	  "API_KEY",
		"APIKEY",      "ACCESS_KEY", "SECRET_KEY", "AUTH_KEY",	   "PRIVATE_KEY", "BEARER",
		"CREDENTIALS", "CREDENTIAL", "COOKIE",	   "AUTHORIZATION"};
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t len = strlen(ends[i]);

		if (n >= len && strcmp(name + n - len, ends[i]) == 0)
			return true;
	}
	return strcmp(name, "PASS") == 0;
}

static bool is_variable(const char *name)
{
	return lau_name_is_secret(name, LAU_SECRET_SHOWN) &&
	       lau_name_is_secret(name, LAU_SECRET_SCRUB);
}

/* `--password` and the like, which the value follows as a word. */
static bool takes_secret(const char *s, size_t n)
{
	char name[NAME_MAX_LEN + 1];

	return n > 2 && s[0] == '-' && s[1] == '-' && as_variable(s, n, name) &&
	       is_secret_end(name);
}

/* curl's and others' USER:PASSWORD. */
static bool takes_login(const char *s, size_t n)
{
	static const char *const options[] = {"-u", "--user", "-U", "--proxy-user"};

	for (size_t i = 0; i < sizeof options / sizeof *options; i++)
		if (strlen(options[i]) == n && memcmp(s, options[i], n) == 0)
			return true;
	return false;
}

/* ---- one word ---- */

struct scan {
	const char *s; /* the word */
	size_t i;      /* is looked at */
	size_t shown;  /* up to there it is written, or left out */
	size_t from;   /* where the blank-separated word around i begins */
	const char *before;
	size_t before_len; /* the word before that */
	bool is_script;	   /* a value ends at a blank */
	struct b_str *out;
};

static void leave_out(struct scan *x, size_t from, size_t to)
{
	if (to <= from)
		return;
	b_str_addn(x->out, x->s + x->shown, from - x->shown);
	b_str_add(x->out, LAU_REDACTED);
	x->shown = to;
	x->i = to;
}

/* A value that a shell has yet to put in is none. */
static bool is_reference(const char *s)
{
	return *s == '$' && (isalpha((unsigned char)s[1]) || strchr("_{(", s[1]));
}

/* Up to one of the stops, or in quotes. */
static void leave_value_out(struct scan *x, size_t from, const char *stops)
{
	const char quote[] = {x->s[from], '\0'};
	bool is_quoted = *quote == '\'' || *quote == '"';

	from += is_quoted;
	if (!is_reference(x->s + from))
		leave_out(x, from, from + strcspn(x->s + from, is_quoted ? quote : stops));
}

static const char *stops_of(const struct scan *x)
{
	return x->is_script ? " \t\n;&|)'\"" : "&";
}

/* At the `=` or `:` behind a name. */
static void look_behind_name(struct scan *x)
{
	char text[NAME_MAX_LEN + 1], sign = x->s[x->i];
	size_t to = x->i, from;
	bool is_quoted = to && (x->s[to - 1] == '"' || x->s[to - 1] == '\'');
	bool is_header;

	to -= is_quoted;
	for (from = to;
	     from && (isalnum((unsigned char)x->s[from - 1]) || strchr("_-", x->s[from - 1]));)
		from--;
	if (!as_variable(x->s + from, to - from, text))
		return;
	if (sign == '=') {
		if (x->s[from] == '-' ? is_secret_end(text) : is_variable(text))
			leave_value_out(x, x->i + 1, stops_of(x));
		return;
	}
	is_header = memchr(x->s + from, '-', to - from) || strcmp(text, "AUTHORIZATION") == 0 ||
		    strcmp(text, "COOKIE") == 0;
	if ((is_quoted || is_header) && is_secret_end(text)) /* of JSON, or a header */
		leave_value_out(x, x->i + 1 + strspn(x->s + x->i + 1, " "), "\n'\"");
}

/* At "://": the password of USER:PASSWORD@HOST. */
static void look_into_url(struct scan *x)
{
	const char *s = x->s + x->i + 3;
	size_t n = strcspn(s, "/?# \t\n'\""), colon = strcspn(s, ":"), at = n;

	while (at && s[at] != '@')
		at--;
	if (colon < at && !is_reference(s + colon + 1))
		leave_out(x, x->i + 3 + colon + 1, x->i + 3 + at);
}

/* At the beginning of a blank-separated word. */
static void look_before(struct scan *x)
{
	static const char ends[] = " \t\n;&|)";
	const char *word = x->s + x->i;
	bool is_whole = !x->i; /* a word of the command line, not of a script */
	size_t n = is_whole ? strlen(word) : strcspn(word, ends), colon = strcspn(word, ":");

	if (takes_secret(x->before, x->before_len) && *word != '-') {
		if (is_whole)
			leave_out(x, 0, n);
		else
			leave_value_out(x, x->i, ends);
		return;
	}
	if (takes_login(x->before, x->before_len) && colon < n &&
	    strspn(word + colon + 1, "0123456789") < n - colon - 1 &&
	    !is_reference(word + colon + 1))
		leave_out(x, x->i + colon + 1, x->i + n);
}

static void step(struct scan *x)
{
	char c = x->s[x->i];
	size_t n, at = x->i;

	if (at == x->from)
		look_before(x);
	if (x->i != at)
		return; /* it went on behind a value */
	if (c == ' ' || c == '\t' || c == '\n') {
		if (x->i > x->from) {
			x->before = x->s + x->from;
			x->before_len = x->i - x->from;
		}
		x->from = x->i + 1;
	} else if (c == ':' && x->s[x->i + 1] == '/' && x->s[x->i + 2] == '/') {
		look_into_url(x);
	} else if (c == '=' || c == ':') {
		look_behind_name(x);
	} else if ((x->i == 0 || !is_token_letter(x->s[x->i - 1])) && (n = token_at(x->s + x->i))) {
		leave_out(x, x->i, x->i + n);
	}
}

void lau_hide_shapes(const char *before, const char *word, struct b_str *out)
{
	size_t len = strlen(before), at;
	bool is_flags = len > 1 && before[0] == '-' && before[1] != '-' && before[len - 1] == 'c';
	struct scan x = {.s = word,
			 .before = before,
			 .before_len = len,
			 .is_script = is_flags || strpbrk(word, "\n;|") != NULL, /* sh -ec */
			 .out = out};

	while (x.s[x.i]) {
		at = x.i;
		step(&x);
		if (x.i == at)
			x.i++;
	}
	b_str_add(out, word + x.shown);
}
