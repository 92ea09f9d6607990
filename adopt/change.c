/* SPDX-License-Identifier: Apache-2.0 */
/* change.c - see change.h. */
#include "adopt/change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/account.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"

enum { SETTINGS_MAX = 4 << 20 };

void ad_change_release(struct ad_change *c)
{
	b_str_release(&c->file);
	b_str_release(&c->before);
	b_str_release(&c->after);
	ad_state_release(&c->state);
}

/* ---- which file ---- */

int ad_home(struct b_str *out, struct b_err *err)
{
	const char *home = getenv("HOME");

	if (home && *home == '/')
		b_str_add(out, home);
	else if (!b_account_home(geteuid(), out))
		return b_fail(err, B_USAGE, 0, "your home directory is not known: set HOME");
	return 0;
}

int ad_change_in_project(struct ad_change *c, const char *name, struct b_err *err)
{
	b_auto_free char *cwd = getcwd(NULL, 0);
	struct stat st;
	size_t at;

	if (!cwd)
		return b_fail(err, B_SYSTEM, errno, "the current directory: %s", strerror(errno));
	at = strlen(cwd) + 1;
	b_str_addf(&c->file, "%s/%s", cwd, name);
	for (;; at++) {
		size_t n = strcspn(c->file.s + at, "/");
		char end = c->file.s[at + n];
		bool is_link;

		c->file.s[at + n] = '\0';
		is_link = lstat(c->file.s, &st) == 0 && S_ISLNK(st.st_mode);
		if (is_link)
			return b_fail(err, B_USAGE, 0,
				      "%s: is a symlink, and --project does not follow it: replace "
				      "it by what it points to",
				      c->file.s);
		c->file.s[at + n] = end;
		if (!end)
			return 0;
		at += n;
	}
}

int ad_change_load(struct ad_change *c, unsigned mode, struct b_err *err)
{
	struct stat st;

	c->mode = mode;
	if (ad_state_read(c->file.s, &c->state, err) < 0)
		return -1;
	c->exists = stat(c->file.s, &st) == 0;
	if (!c->exists)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : b_fail(err, B_SYSTEM, errno, "%s: %s", c->file.s, strerror(errno));
	c->mode = st.st_mode & 07777;
	if (b_read_file(c->file.s, SETTINGS_MAX, &c->before, err) < 0)
		return -1;
	if (!b_utf8_valid(b_str_c(&c->before), c->before.len) ||
	    memchr(b_str_c(&c->before), '\0', c->before.len))
		return b_fail(err, B_FORMAT, 0, "%s: not UTF-8", c->file.s);
	return 0;
}

static bool is_same(const struct b_str *a, const struct b_str *b)
{
	return a->len == b->len && memcmp(b_str_c(a), b_str_c(b), a->len) == 0;
}

bool ad_change_goes_back(struct ad_change *c)
{
	if (!c->state.is_there || !c->exists || !is_same(&c->before, &c->state.after))
		return false;
	b_str_reset(&c->after);
	b_str_addn(&c->after, b_str_c(&c->state.before), c->state.before.len);
	c->will_exist = c->state.existed;
	return true;
}

bool ad_change_is_none(const struct ad_change *c)
{
	return c->exists == c->will_exist && is_same(&c->before, &c->after);
}

/* ---- what is shown ---- */

static size_t line_end(const char *text, size_t len, size_t at)
{
	const char *end = at < len ? memchr(text + at, '\n', len - at) : NULL;

	return end ? (size_t)(end - text) + 1 : len;
}

static void show_lines(struct b_str *out, char sign, const char *text, size_t from, size_t to)
{
	while (from < to) {
		size_t end = line_end(text, to, from);
		size_t n = end - from - (text[end - 1] == '\n');

		b_str_addc(out, sign);
		b_str_add_visible(out, text + from, n);
		b_str_addc(out, '\n');
		from = end;
	}
}

/* Back by so many lines, from the beginning of one. */
static size_t lines_back(const char *text, size_t at, int n)
{
	while (n-- > 0 && at > 0)
		for (at--; at > 0 && text[at - 1] != '\n';)
			at--;
	return at;
}

void ad_change_show(const struct ad_change *c, int context, struct b_str *out)
{
	const char *a = b_str_c(&c->before), *b = b_str_c(&c->after);
	size_t na = c->before.len, nb = c->after.len, from = 0, tail = 0, around, next;

	while ((next = line_end(a, na, from)) > from && next == line_end(b, nb, from) &&
	       memcmp(a + from, b + from, next - from) == 0)
		from = next;
	while (na - tail > from && nb - tail > from) {
		size_t more = na - tail - lines_back(a, na - tail, 1);

		if (na - tail < from + more || nb - tail < from + more ||
		    memcmp(a + na - tail - more, b + nb - tail - more, more) != 0)
			break;
		tail += more;
	}
	b_str_addf(out, "--- %s\n+++ %s\n", c->exists ? c->file.s : "/dev/null",
		   c->will_exist ? c->file.s : "/dev/null");
	show_lines(out, ' ', a, lines_back(a, from, context), from);
	show_lines(out, '-', a, from, na - tail);
	show_lines(out, '+', b, from, nb - tail);
	around = na - tail;
	for (int i = 0; i < context; i++)
		around = line_end(a, na, around);
	show_lines(out, ' ', a, na - tail, around);
}

/* ---- done ---- */

/* The first directory on the way that is not there. */
static void note_made(struct ad_change *c)
{
	struct stat st;

	for (char *p = strchr(c->file.s + 1, '/'); p; p = strchr(p + 1, '/')) {
		bool is_there;

		*p = '\0';
		is_there = stat(c->file.s, &st) == 0;
		if (!is_there)
			b_str_add(&c->state.made, c->file.s);
		*p = '/';
		if (!is_there)
			return;
	}
}

static int write_file(const struct ad_change *c, struct b_err *err)
{
	char *slash = strrchr(c->file.s, '/');
	int rc;

	*slash = '\0';
	rc = b_mkdirs(c->file.s, err);
	*slash = '/';
	return rc < 0 ? -1 : b_replace_file(c->file.s, &c->mode, c->after.s, c->after.len, err);
}

static int put_in(struct ad_change *c, struct b_err *err)
{
	bool goes_on = c->state.is_there && c->exists && is_same(&c->before, &c->state.after);

	/* put in once more, with other options: what was there before is known already */
	if (!goes_on) {
		ad_state_release(&c->state);
		c->state = (struct ad_state){.existed = c->exists};
		b_str_addn(&c->state.before, b_str_c(&c->before), c->before.len);
		note_made(c);
	}
	b_str_reset(&c->state.after);
	b_str_addn(&c->state.after, c->after.s, c->after.len);
	return ad_state_write(c->file.s, &c->state, err) < 0 ? -1 : write_file(c, err);
}

static int put_back(struct ad_change *c, struct b_err *err)
{
	size_t least = c->state.made.len;

	if (c->will_exist) {
		if (write_file(c, err) < 0)
			return -1;
	} else if (unlink(c->file.s) < 0) {
		return b_fail(err, B_SYSTEM, errno, "%s: %s", c->file.s, strerror(errno));
	}
	ad_state_remove(c->file.s);
	/* directories that we have made, as far as they are empty */
	for (char *p; least && (p = strrchr(c->file.s, '/')) && (size_t)(p - c->file.s) >= least;) {
		*p = '\0';
		if (rmdir(c->file.s) < 0)
			break;
	}
	return 0;
}

int ad_change_apply(struct ad_change *c, bool undo, struct b_err *err)
{
	return undo ? put_back(c, err) : put_in(c, err);
}
