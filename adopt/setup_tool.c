/* SPDX-License-Identifier: Apache-2.0 */
/* setup_tool.c - see setup.h: tools.h says what stands where. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adopt/block.h"
#include "adopt/change.h"
#include "adopt/setup.h"
#include "adopt/tools.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/opt.h"
#include "base/sha256.h"

enum { FILES_MAX = 64, PROJECT_HEX = 8 };

struct work {
	const struct ad_setup *s;
	const struct ad_tool *tool;
	struct ad_tool_words words;
	struct b_str shell, helper;
	/* The helpers first: when the settings name them they are there. */
	struct ad_change v[FILES_MAX];
	size_t n, nhelpers;
};

static void release(struct work **wp)
{
	struct work *w = *wp;

	for (size_t i = 0; i < w->n; i++)
		ad_change_release(&w->v[i]);
	b_str_release(&w->shell);
	b_str_release(&w->helper);
	free(w);
}

/* ---- which files ---- */

static bool exists(const struct ad_change *c)
{
	return access(c->file.s, F_OK) == 0;
}

static int add_many(struct work *w, struct b_err *err)
{
	const char *dir = w->tool->project[0];
	struct dirent **names = NULL;
	int n = scandir(dir, &names, NULL, alphasort), rc = 0;

	for (int i = 0; i < n; i++) {
		const char *name = names[i]->d_name, *end = strrchr(name, '.');
		b_auto(b_str_release) struct b_str file = {0};

		if (rc == 0 && end && (strcmp(end, ".yml") == 0 || strcmp(end, ".yaml") == 0)) {
			b_str_addf(&file, "%s/%s", dir, name);
			rc = w->n == FILES_MAX ? b_fail(err, B_LIMIT, 0, "%s: more than %d files",
							dir, FILES_MAX)
					       : ad_change_in_project(&w->v[w->n++], file.s, err);
		}
		free(names[i]);
	}
	free(names);
	if (rc == 0 && w->n == w->nhelpers)
		return b_fail(err, B_USAGE, 0, "no *.yml in %s here", dir);
	return rc;
}

static int add_in_project(struct work *w, struct b_err *err)
{
	const char *const *names = w->tool->project;
	struct ad_change *c = &w->v[w->n];

	if (w->tool->is_many)
		return add_many(w, err);
	w->n++;
	for (size_t i = 0; i < sizeof w->tool->project / sizeof *names && names[i]; i++) {
		b_str_reset(&c->file);
		if (ad_change_in_project(c, names[i], err) < 0)
			return -1;
		if (exists(c))
			return 0;
	}
	if (w->tool->must_be)
		return b_fail(err, B_USAGE, 0, "no %s here", names[0]);
	b_str_reset(&c->file);
	return ad_change_in_project(c, names[0], err);
}

static int add_users(struct work *w, struct b_err *err)
{
	const struct ad_tool *t = w->tool;
	const char *file = t->variable ? getenv(t->variable) : NULL;
	const char *dir = t->variable_dir ? getenv(t->variable_dir) : NULL;
	struct ad_change *c = &w->v[w->n++];

	if (file && *file == '/') {
		b_str_add(&c->file, file);
		return 0;
	}
	if (dir && *dir == '/') {
		b_str_addf(&c->file, "%s/%s", dir, t->below_dir);
		return 0;
	}
	for (int i = 2; i-- > 0;) {
		if (!t->user[i])
			continue;
		b_str_reset(&c->file);
		if (ad_home(&c->file, err) < 0)
			return -1;
		b_str_addf(&c->file, "/%s", t->user[i]);
		/* the second where it alone is there */
		if (i == 1 && exists(c)) {
			b_auto(b_str_release) struct b_str first = {0};

			if (ad_home(&first, err) < 0)
				return -1;
			b_str_addf(&first, "/%s", t->user[0]);
			if (access(first.s, F_OK) != 0)
				return 0;
		}
	}
	return 0;
}

/* Outside of every workspace, where no command writes. A project has its own, by the project's
 * path. */
static int find_helper(struct work *w, struct b_err *err)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	b_auto_free char *cwd = getcwd(NULL, 0);
	char hex[B_SHA256_HEX];

	if (config && *config == '/')
		b_str_add(&w->helper, config);
	else if (ad_home(&w->helper, err) < 0)
		return -1;
	else
		b_str_add(&w->helper, "/.config");
	b_str_addf(&w->helper, "/sbx-launch/%s", w->tool->name);
	if (w->s->project && cwd) {
		b_sha256_hex(cwd, strlen(cwd), hex);
		b_str_addf(&w->helper, "-%.*s", PROJECT_HEX, hex);
	}
	w->words.helper = w->helper.s;
	return 0;
}

static int add_helpers(struct work *w, struct b_err *err)
{
	const struct ad_tool *t = w->tool;

	if (!t->helpers)
		return 0;
	if (find_helper(w, err) < 0)
		return -1;
	/* an undo looks for those of an earlier set-up with other options */
	if (!w->s->undo && !t->needs_helper(&w->words))
		return 0;
	for (const char *const *name = t->helpers; *name; name++)
		b_str_addf(&w->v[w->n++].file, "%s/%s", w->helper.s, *name);
	w->nhelpers = w->n;
	return 0;
}

static void find_shell(struct work *w)
{
	const char *own = w->s->launcher->v[0], *slash = strrchr(own, '/');

	b_str_addf(&w->shell, "%.*s/sbx-shell", slash ? (int)(slash - own) : 1, slash ? own : ".");
	if (access(w->shell.s, X_OK) == 0)
		w->words.shell = w->shell.s;
}

/* ---- what becomes of them ---- */

static int put_helper(const struct work *w, struct ad_change *c)
{
	if (w->s->undo) {
		if (!ad_change_goes_back(c)) {
			c->will_exist = c->exists;
			b_str_add(&c->after, b_str_c(&c->before));
		}
		return 0;
	}
	c->mode = 0755;
	c->will_exist = true;
	w->tool->add_helper(&w->words, &c->after);
	return 0;
}

static int put_lines(const struct work *w, struct ad_change *c, struct b_str *said,
		     struct b_err *err)
{
	const struct ad_tool *t = w->tool;
	b_auto(b_str_release) struct b_str rest = {0}, lines = {0};
	const char *text = b_str_c(&c->before);
	struct ad_span block = {0};
	size_t n;

	(void)ad_block_find(text, t->name, &block);
	ad_block_cut(text, block, &rest);
	if (t->taken && ad_block_value(b_str_c(&rest), t->taken, false, &n))
		return b_fail(err, B_USAGE, 0, "%s: it already sets %s: remove that first",
			      c->file.s, t->taken);
	if (t->add_lines(&w->words, b_str_c(&rest), &lines, err) < 0)
		return b_wrap(err, "%s", c->file.s);
	if (t->kept && ad_block_value(b_str_c(&rest), t->kept, false, &n))
		b_str_addf(said, "note: %s: steps and jobs that set %s: themselves do not use it\n",
			   c->file.s, t->kept);
	c->will_exist = true;
	ad_block_put(text, t->name, lines.s, t->is_top, &c->after);
	return 0;
}

static void take_lines(const struct work *w, struct ad_change *c, struct b_str *said)
{
	struct ad_span block = {0};

	if (ad_change_goes_back(c))
		return;
	c->will_exist = c->exists;
	if (ad_block_find(b_str_c(&c->before), w->tool->name, &block))
		b_str_addf(said, "note: %s was changed since: the other lines stay\n", c->file.s);
	ad_block_cut(b_str_c(&c->before), block, &c->after);
}

static int decide(struct work *w, struct b_str *said, struct b_err *err)
{
	for (size_t i = 0; i < w->n; i++) {
		struct ad_change *c = &w->v[i];

		if (ad_change_load(c, w->s->project ? 0644 : 0600, err) < 0)
			return -1;
		if (i < w->nhelpers)
			put_helper(w, c);
		else if (w->s->undo)
			take_lines(w, c, said);
		else if (put_lines(w, c, said, err) < 0)
			return -1;
	}
	return 0;
}

/* An undo goes the other way: directories that were made for the first are removed with it. */
static int apply(struct work *w, struct b_str *said, struct b_err *err)
{
	size_t changed = 0, alike = 0;

	for (size_t i = 0; i < w->n; i++) {
		size_t k = w->s->undo ? w->n - 1 - i : i;
		struct ad_change *c = &w->v[k];

		if (ad_change_is_none(c))
			continue;
		changed++;
		/* helpers have one text; settings hold passwords, and nothing around is shown */
		if (k >= w->nhelpers || alike++ == 0)
			ad_change_show(c, 0, said);
		if (!w->s->dry_run && ad_change_apply(c, w->s->undo, err) < 0)
			return -1;
	}
	if (alike > 1)
		b_str_addf(said, "and %zu more of that text in %s\n", alike - 1, w->helper.s);
	if (changed == 0)
		b_str_addf(said, "%s: nothing to %s\n", w->v[w->nhelpers].file.s,
			   w->s->undo ? "undo" : "do");
	else if (!w->s->undo && !w->s->dry_run)
		b_str_addf(said, "note: %s\n", w->tool->note);
	return 0;
}

int ad_setup_tool(const struct ad_setup *s, struct b_str *said, struct b_err *err)
{
	b_auto(release) struct work *w = b_calloc(1, sizeof *w);

	w->s = s;
	w->tool = s->tool;
	w->words.launcher = s->launcher;
	find_shell(w);
	if (add_helpers(w, err) < 0 ||
	    (s->project || !s->tool->user[0] ? add_in_project(w, err) : add_users(w, err)) < 0 ||
	    decide(w, said, err) < 0)
		return -1;
	return apply(w, said, err);
}
