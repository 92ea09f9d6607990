/* SPDX-License-Identifier: Apache-2.0 */
/* origin.c - the fields of the first line of a log, and of all its lines: user, machine, place,
 * context. */
#include "launcher/run/origin.h"

#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "launcher/options/options.h"
#include "launcher/plan/environment.h"
#include "launcher/run/os.h"

enum { PAIRS_MAX = 16, KEY_MAX = 64, VALUE_MAX = 256 };

static bool is_key(const char *s, size_t n)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_.-";

	return n && n <= KEY_MAX && strspn(s, letters) >= n;
}

/* The newer of two with one key counts. */
static void put(struct lau_origin *o, const char *pair, size_t key)
{
	size_t i = 0;

	while (i < o->ncontext && strncmp(o->context[i], pair, key + 1) != 0)
		i++;
	if (i == o->ncontext)
		o->ncontext++;
	o->context[i] = pair;
}

int lau_origin_add(struct lau_origin *o, const char *from, const char *text, size_t len,
		   const struct lau_secrets *secrets, struct b_err *err)
{
	b_auto(b_str_release) struct b_str pair = {0}, shown = {0};
	size_t key;

	b_str_addn(&pair, text, len);
	key = strcspn(pair.s, "=");
	if (key == len || !is_key(pair.s, key) || len - key - 1 > VALUE_MAX)
		return b_fail(err, B_USAGE, 0,
			      "%s: `%.80s` is not KEY=VALUE: a key has letters, digits, `_`, `.` "
			      "and `-`, a value at most %d bytes",
			      from, pair.s, VALUE_MAX);
	if (o->ncontext == PAIRS_MAX)
		return b_fail(err, B_USAGE, 0, "%s: more than %d pairs", from, PAIRS_MAX);
	if (secrets)
		lau_hide_text(secrets, pair.s, &shown);
	else
		b_str_add(&shown, pair.s);
	put(o, b_arena_strndup(&o->arena, shown.s, shown.len), key);
	return 0;
}

/* Pairs with commas or blanks between them. What is none is passed over: the variable is a word of
 * whoever started us, and run.json has it as it is. */
static void add_variable(struct lau_origin *o, char *const *vars, const struct lau_secrets *secrets)
{
	static const char between[] = ", \t\n", name[] = "SBX_CONTEXT=";
	const char *text = "";
	struct b_err none;
	size_t n;

	for (; *vars; vars++)
		if (strncmp(*vars, name, sizeof name - 1) == 0)
			text = *vars + sizeof name - 1;
	for (text += strspn(text, between); *text; text += n + strspn(text + n, between)) {
		n = strcspn(text, between);
		(void)lau_origin_add(o, "SBX_CONTEXT", text, n, secrets, &none);
	}
}

static void find_tty(struct lau_origin *o)
{
	int fd;

	for (fd = 0; fd <= STDERR_FILENO && !o->is.tty; fd++)
		if (isatty(fd) && ttyname_r(fd, o->tty, sizeof o->tty) == 0)
			o->is.tty = o->tty;
}

int lau_origin_find(struct lau_origin *o, const struct lau_options *options, const char *bundle,
		    const struct lau_secrets *secrets, struct b_err *err)
{
	char *cwd = getcwd(NULL, 0);
	size_t i;

	*o = (struct lau_origin){.is.uid = getuid(), .is.pid = (uint64_t)getpid()};
	o->cwd = cwd;
	o->is.cwd = cwd;
	o->is.bundle = bundle;
	if (gethostname(o->host, sizeof o->host - 1) == 0)
		o->is.host = o->host;
	find_tty(o);
	add_variable(o, lau_os_environ(), secrets);
	for (i = 0; i < options->context.n; i++)
		if (lau_origin_add(o, "--context", options->context.v[i],
				   strlen(options->context.v[i]), secrets, err) < 0)
			return -1;
	return 0;
}

void lau_origin_release(struct lau_origin *o)
{
	free(o->cwd);
	b_arena_release(&o->arena);
	*o = (struct lau_origin){0};
}
