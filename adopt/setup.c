/* SPDX-License-Identifier: Apache-2.0 */
/* setup.c - see setup.h. */
#include "adopt/setup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "adopt/agents.h"
#include "adopt/hook.h"
#include "adopt/jsonedit.h"
#include "adopt/state.h"
#include "base/account.h"
#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"

enum { SETTINGS_MAX = 4 << 20, CONTEXT = 3 };

/* One file of settings, and what becomes of it. */
struct change {
	const struct ad_setup *s;
	const struct ad_agent *agent;
	struct b_str file;	    /* absolute */
	bool exists, will_exist;    /* the file, before and after */
	struct b_str before, after; /* its bytes; they may hold no NUL */
	struct ad_state state;
	unsigned mode;
};

static void release(struct change *c)
{
	b_str_release(&c->file);
	b_str_release(&c->before);
	b_str_release(&c->after);
	ad_state_release(&c->state);
}

/* ---- which file ---- */

static int find_users(struct change *c, struct b_err *err)
{
	const struct ad_agent *a = c->agent;
	const char *dir = a->variable ? getenv(a->variable) : NULL, *home = getenv("HOME");

	if (dir && *dir == '/') {
		b_str_addf(&c->file, "%s%s%s", dir, a->below ? "/" : "", a->below ? a->below : "");
	} else {
		if (home && *home == '/')
			b_str_add(&c->file, home);
		else if (!b_account_home(geteuid(), &c->file))
			return b_fail(err, B_USAGE, 0, "nothing says where your home is: set HOME");
		b_str_addf(&c->file, "/%s", a->home);
	}
	b_str_addf(&c->file, "/%s", a->file);
	return 0;
}

/* Somebody else may have laid the project out: no link is followed on the way to its settings. */
static int find_projects(struct change *c, struct b_err *err)
{
	b_auto_free char *cwd = getcwd(NULL, 0);
	struct stat st;
	size_t at;

	if (!cwd)
		return b_fail(err, B_SYSTEM, errno, "the current directory: %s", strerror(errno));
	at = strlen(cwd) + 1;
	b_str_addf(&c->file, "%s/%s", cwd, c->agent->project);
	for (;; at++) {
		size_t n = strcspn(c->file.s + at, "/");
		char end = c->file.s[at + n];
		bool is_link;

		c->file.s[at + n] = '\0';
		is_link = lstat(c->file.s, &st) == 0 && S_ISLNK(st.st_mode);
		if (is_link)
			return b_fail(err, B_USAGE, 0,
				      "%s: a symlink: settings of a project are "
				      "not looked for where it leads",
				      c->file.s);
		c->file.s[at + n] = end;
		if (!end)
			return 0;
		at += n;
	}
}

static int load(struct change *c, struct b_err *err)
{
	struct stat st;

	c->mode = c->s->project ? 0644 : 0600;
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

/* ---- what stands there ---- */

/* What the agent's shell runs. A launcher that is gone, or dies, ends with another status than the
 * one that blocks: the shell makes it that one. */
static void add_hook_command(const struct change *c, struct b_str *out)
{
	for (size_t i = 0; i < c->s->launcher->n; i++) {
		ad_quote(out, c->s->launcher->v[i]);
		b_str_addc(out, ' ');
	}
	b_str_addf(out, "--hook %s || exit %d", c->agent->name, AD_HOOK_BLOCKS);
}

static void add_json_string(struct b_str *out, const char *s)
{
	struct b_json j = {.out = out};

	b_json_str(&j, s);
}

/* The item of the event's list. */
static void add_item(const struct change *c, struct b_str *out)
{
	b_auto(b_str_release) struct b_str command = {0};
	bool is_flat = c->agent->shape == AD_SHAPE_FLAT;

	add_hook_command(c, &command);
	b_str_addf(out, "{\"matcher\": \"%s\", %s\"command\": ", c->agent->tools,
		   is_flat ? "" : "\"hooks\": [{\"type\": \"command\", ");
	add_json_string(out, b_str_c(&command));
	b_str_addf(out, ", \"timeout\": %u%s}", c->agent->timeout,
		   is_flat ? ", \"failClosed\": true" : "}]");
}

static bool is_ours(const struct change *c, struct ad_span span)
{
	b_auto(b_str_release) struct b_str item = {0}, mark = {0};

	b_str_addn(&item, c->before.s + span.at, span.end - span.at);
	b_str_addf(&mark, " --hook %s ", c->agent->name);
	return strstr(item.s, mark.s) && strstr(item.s, "sbx-launch");
}

/* The hook of ours in the event's list. 1, 0, -1; *out_others: how many more there are. */
static int find_hook(const struct change *c, struct ad_span *out, size_t *out_others,
		     struct b_err *err)
{
	const char *const path[] = {"hooks", c->agent->event, NULL};
	struct ad_span list, item;
	bool found = false;
	int rc;

	*out_others = 0;
	if (!c->before.s || !c->before.s[strspn(c->before.s, " \t\r\n")])
		return 0;
	rc = ad_json_find(c->before.s, path, &list, err);
	if (rc <= 0)
		return rc < 0 ? b_wrap(err, "%s", c->file.s) : 0;
	for (size_t i = 0; ad_json_item(c->before.s, list, i, &item); i++)
		if (!found && is_ours(c, item)) {
			found = true;
			*out = item;
		} else {
			++*out_others;
		}
	return found;
}

/* ---- in ---- */

static int check_force(const struct change *c, struct b_err *err)
{
	const char *word = c->agent->off_value ? "true" : "false";
	const char *const path[] = {c->agent->off[0], c->agent->off[1], NULL};
	struct ad_span at;
	int rc;

	if (!path[0] || !b_str_c(&c->before)[strspn(b_str_c(&c->before), " \t\r\n")])
		return 0;
	rc = ad_json_find(c->before.s, path, &at, err);
	if (rc < 0)
		return b_wrap(err, "%s", c->file.s);
	if (rc == 0 || strncmp(c->before.s + at.at, word, strlen(word)) != 0)
		return 0;
	return b_fail(err, B_USAGE, 0, "%s: %s%s%s is %s: no hook would run: take it out first",
		      c->file.s, path[0], path[1] ? "." : "", path[1] ? path[1] : "", word);
}

static const char plugin[] =
	"// Written by `sbx-launch --setup opencode`; `--undo` removes it.\n"
	"import { spawnSync } from \"node:child_process\"\n"
	"\n"
	"export const SbxLaunch = async () => ({\n"
	"  \"tool.execute.before\": async (input, output) => {\n"
	"    if (input.tool !== \"bash\") return\n"
	"    const asked = JSON.stringify({\n"
	"      tool_name: input.tool, tool_input: output.args,\n"
	"      session_id: input.sessionID, tool_use_id: input.callID,\n"
	"    })\n"
	"    const hook = spawnSync(\"/bin/sh\", [\"-c\", %s],\n"
	"      { input: asked, encoding: \"utf8\", timeout: 10000 })\n"
	"    if (hook.status !== 0)\n"
	"      throw new Error(\"sbx-launch: \" + (hook.stderr || hook.error || hook.signal))\n"
	"    const changed = JSON.parse(hook.stdout).updated_input\n"
	"    if (typeof changed?.command !== \"string\") throw new Error(\"sbx-launch: no "
	"command\")\n"
	"    output.args.command = changed.command\n"
	"  },\n"
	"})\n";

static int put_plugin(struct change *c, struct b_err *err)
{
	b_auto(b_str_release) struct b_str command = {0}, text = {0};
	const char *at = strstr(plugin, "%s");

	if (c->exists && !strstr(b_str_c(&c->before), "sbx-launch --setup opencode"))
		return b_fail(err, B_USAGE, 0, "%s: not written by sbx-launch: move it away",
			      c->file.s);
	add_hook_command(c, &command);
	add_json_string(&text, b_str_c(&command));
	b_str_addn(&c->after, plugin, (size_t)(at - plugin));
	b_str_add(&c->after, b_str_c(&text));
	b_str_add(&c->after, at + 2);
	return 0;
}

static int put_hook(struct change *c, struct b_str *said, struct b_err *err)
{
	const char *const path[] = {"hooks", c->agent->event, NULL};
	b_auto(b_str_release) struct b_str item = {0};
	const char *text = b_str_c(&c->before);
	struct ad_span was;
	size_t others;
	int rc;

	if (check_force(c, err) < 0 || (rc = find_hook(c, &was, &others, err)) < 0)
		return -1;
	add_item(c, &item);
	if (others > 0)
		b_str_addf(said,
			   "note: %zu more in hooks.%s of %s: where two change a command the "
			   "agent takes one of them\n",
			   others, c->agent->event, c->file.s);
	if (rc > 0) {
		b_str_addn(&c->after, text, was.at);
		b_str_add(&c->after, item.s);
		b_str_add(&c->after, text + was.end);
		return 0;
	}
	if (c->agent->shape == AD_SHAPE_FLAT && !text[strspn(text, " \t\r\n")])
		text = "{\n  \"version\": 1\n}\n";
	rc = ad_json_append(text, path, item.s, &c->after, err);
	return rc < 0 ? b_wrap(err, "%s", c->file.s) : 0;
}

/* ---- out ---- */

static bool is_same(const struct b_str *a, const struct b_str *b)
{
	return a->len == b->len && memcmp(b_str_c(a), b_str_c(b), a->len) == 0;
}

/* Was this there before us? Where nothing is known of the file it was not. */
static bool had(const struct change *c, const char *const *path)
{
	struct ad_span at;
	const char *text = b_str_c(&c->state.before);

	return c->state.existed && text[strspn(text, " \t\r\n")] &&
	       ad_json_find(text, path, &at, NULL) > 0;
}

/* Takes the list out where we have made it and it is empty, then what it is in. */
static void prune(struct change *c)
{
	const char *path[] = {"hooks", c->agent->event, NULL};

	for (int n = 2; n > 0; path[--n] = NULL) {
		b_auto(b_str_release) struct b_str less = {0};
		struct ad_span at;
		size_t blanks;

		if (ad_json_find(c->after.s, path, &at, NULL) <= 0 || had(c, path))
			return;
		blanks = strspn(c->after.s + at.at + 1, " \t\r\n");
		if (at.at + 1 + blanks != at.end - 1)
			return;
		ad_json_cut(c->after.s, at, &less);
		b_str_reset(&c->after);
		b_str_add(&c->after, less.s);
	}
}

static int take_out(struct change *c, struct b_str *said, struct b_err *err)
{
	struct ad_span item;
	size_t others;
	int rc;

	if (c->state.is_there && c->exists && is_same(&c->before, &c->state.after)) {
		b_str_addn(&c->after, b_str_c(&c->state.before), c->state.before.len);
		c->will_exist = c->state.existed;
		return 0;
	}
	c->will_exist = c->exists;
	if (c->agent->shape == AD_SHAPE_PLUGIN && c->exists)
		return b_fail(err, B_USAGE, 0,
			      "%s: changed since it was written: remove it by hand", c->file.s);
	rc = c->exists ? find_hook(c, &item, &others, err) : 0;
	if (rc < 0)
		return -1;
	if (rc == 0) {
		b_str_addn(&c->after, b_str_c(&c->before), c->before.len);
		return 0;
	}
	b_str_addf(said, "note: %s was changed since: the rest of it stays\n", c->file.s);
	ad_json_cut(c->before.s, item, &c->after);
	prune(c);
	return 0;
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

/* The one place that differs, with a few lines around. */
static void show_difference(const struct change *c, struct b_str *out)
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
	show_lines(out, ' ', a, lines_back(a, from, CONTEXT), from);
	show_lines(out, '-', a, from, na - tail);
	show_lines(out, '+', b, from, nb - tail);
	around = na - tail;
	for (int i = 0; i < CONTEXT; i++)
		around = line_end(a, na, around);
	show_lines(out, ' ', a, na - tail, around);
}

/* ---- done ---- */

/* The first directory on the way that is not there. */
static void note_made(struct change *c)
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

static int write_file(const struct change *c, struct b_err *err)
{
	char *slash = strrchr(c->file.s, '/');
	int rc;

	*slash = '\0';
	rc = b_mkdirs(c->file.s, err);
	*slash = '/';
	return rc < 0 ? -1 : b_replace_file(c->file.s, &c->mode, c->after.s, c->after.len, err);
}

static int put_in(struct change *c, struct b_err *err)
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

static int put_back(struct change *c, struct b_err *err)
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

static int decide(struct change *c, struct b_str *said, struct b_err *err)
{
	c->will_exist = true;
	if (c->s->undo)
		return take_out(c, said, err);
	return c->agent->shape == AD_SHAPE_PLUGIN ? put_plugin(c, err) : put_hook(c, said, err);
}

static int apply(struct change *c, struct b_str *said, struct b_err *err)
{
	if (c->exists == c->will_exist && is_same(&c->before, &c->after)) {
		b_str_addf(said, "%s: nothing to %s\n", c->file.s, c->s->undo ? "undo" : "do");
		return 0;
	}
	show_difference(c, said);
	if (c->s->dry_run)
		return 0;
	if (c->agent->note && !c->s->undo)
		b_str_addf(said, "note: %s\n", c->agent->note);
	return c->s->undo ? put_back(c, err) : put_in(c, err);
}

int ad_setup(const struct ad_setup *s, struct b_str *said, struct b_err *err)
{
	b_auto(release) struct change c = {.s = s, .agent = s->agent};

	if ((s->project ? find_projects(&c, err) : find_users(&c, err)) < 0 || load(&c, err) < 0 ||
	    ad_state_read(c.file.s, &c.state, err) < 0 || decide(&c, said, err) < 0)
		return -1;
	return apply(&c, said, err);
}
