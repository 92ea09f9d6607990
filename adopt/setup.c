/* SPDX-License-Identifier: Apache-2.0 */
/* setup.c - see setup.h. */
#include "adopt/setup.h"

#include <stdlib.h>
#include <string.h>

#include "adopt/agents.h"
#include "adopt/change.h"
#include "adopt/hook.h"
#include "adopt/jsonedit.h"
#include "base/err.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/opt.h"

enum { CONTEXT = 3 };

struct change {
	const struct ad_setup *s;
	const struct ad_agent *agent;
	struct ad_change f;
};

static void release(struct change *c)
{
	ad_change_release(&c->f);
}

/* ---- which file ---- */

static int find_users(struct change *c, struct b_err *err)
{
	const struct ad_agent *a = c->agent;
	const char *dir = a->variable ? getenv(a->variable) : NULL;

	if (dir && *dir == '/') {
		b_str_addf(&c->f.file, "%s%s%s", dir, a->below ? "/" : "",
			   a->below ? a->below : "");
	} else {
		if (ad_home(&c->f.file, err) < 0)
			return -1;
		b_str_addf(&c->f.file, "/%s", a->home);
	}
	b_str_addf(&c->f.file, "/%s", a->file);
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

	b_str_addn(&item, c->f.before.s + span.at, span.end - span.at);
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
	if (!c->f.before.s || !c->f.before.s[strspn(c->f.before.s, " \t\r\n")])
		return 0;
	rc = ad_json_find(c->f.before.s, path, &list, err);
	if (rc <= 0)
		return rc < 0 ? b_wrap(err, "%s", c->f.file.s) : 0;
	for (size_t i = 0; ad_json_item(c->f.before.s, list, i, &item); i++)
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

	if (!path[0] || !b_str_c(&c->f.before)[strspn(b_str_c(&c->f.before), " \t\r\n")])
		return 0;
	rc = ad_json_find(c->f.before.s, path, &at, err);
	if (rc < 0)
		return b_wrap(err, "%s", c->f.file.s);
	if (rc == 0 || strncmp(c->f.before.s + at.at, word, strlen(word)) != 0)
		return 0;
	return b_fail(err, B_USAGE, 0, "%s: %s%s%s is %s: no hook would run: remove it first",
		      c->f.file.s, path[0], path[1] ? "." : "", path[1] ? path[1] : "", word);
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

	if (c->f.exists && !strstr(b_str_c(&c->f.before), "sbx-launch --setup opencode"))
		return b_fail(err, B_USAGE, 0, "%s: not written by sbx-launch: move it away",
			      c->f.file.s);
	add_hook_command(c, &command);
	add_json_string(&text, b_str_c(&command));
	b_str_addn(&c->f.after, plugin, (size_t)(at - plugin));
	b_str_add(&c->f.after, b_str_c(&text));
	b_str_add(&c->f.after, at + 2);
	return 0;
}

static int put_hook(struct change *c, struct b_str *said, struct b_err *err)
{
	const char *const path[] = {"hooks", c->agent->event, NULL};
	b_auto(b_str_release) struct b_str item = {0};
	const char *text = b_str_c(&c->f.before);
	struct ad_span was;
	size_t others;
	int rc;

	if (check_force(c, err) < 0 || (rc = find_hook(c, &was, &others, err)) < 0)
		return -1;
	add_item(c, &item);
	if (others > 0)
		b_str_addf(said,
			   "note: %zu more in hooks.%s of %s: when two hooks change a command, the "
			   "agent uses one of the changes\n",
			   others, c->agent->event, c->f.file.s);
	if (rc > 0) {
		b_str_addn(&c->f.after, text, was.at);
		b_str_add(&c->f.after, item.s);
		b_str_add(&c->f.after, text + was.end);
		return 0;
	}
	if (c->agent->shape == AD_SHAPE_FLAT && !text[strspn(text, " \t\r\n")])
		text = "{\n  \"version\": 1\n}\n";
	rc = ad_json_append(text, path, item.s, &c->f.after, err);
	return rc < 0 ? b_wrap(err, "%s", c->f.file.s) : 0;
}

/* ---- out ---- */

/* Was this there before us? Where nothing is known of the file it was not. */
static bool had(const struct change *c, const char *const *path)
{
	struct ad_span at;
	const char *text = b_str_c(&c->f.state.before);

	return c->f.state.existed && text[strspn(text, " \t\r\n")] &&
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

		if (ad_json_find(c->f.after.s, path, &at, NULL) <= 0 || had(c, path))
			return;
		blanks = strspn(c->f.after.s + at.at + 1, " \t\r\n");
		if (at.at + 1 + blanks != at.end - 1)
			return;
		ad_json_cut(c->f.after.s, at, &less);
		b_str_reset(&c->f.after);
		b_str_add(&c->f.after, less.s);
	}
}

static int take_out(struct change *c, struct b_str *said, struct b_err *err)
{
	struct ad_span item;
	size_t others;
	int rc;

	if (ad_change_goes_back(&c->f))
		return 0;
	c->f.will_exist = c->f.exists;
	if (c->agent->shape == AD_SHAPE_PLUGIN && c->f.exists)
		return b_fail(err, B_USAGE, 0,
			      "%s: changed since it was written: remove it by hand", c->f.file.s);
	rc = c->f.exists ? find_hook(c, &item, &others, err) : 0;
	if (rc < 0)
		return -1;
	if (rc == 0) {
		b_str_addn(&c->f.after, b_str_c(&c->f.before), c->f.before.len);
		return 0;
	}
	b_str_addf(said, "note: %s was changed since: the other lines stay\n", c->f.file.s);
	ad_json_cut(c->f.before.s, item, &c->f.after);
	prune(c);
	return 0;
}

static int decide(struct change *c, struct b_str *said, struct b_err *err)
{
	c->f.will_exist = true;
	if (c->s->undo)
		return take_out(c, said, err);
	return c->agent->shape == AD_SHAPE_PLUGIN ? put_plugin(c, err) : put_hook(c, said, err);
}

int ad_setup(const struct ad_setup *s, struct b_str *said, struct b_err *err)
{
	b_auto(release) struct change c = {.s = s, .agent = s->agent};

	if ((s->project ? ad_change_in_project(&c.f, s->agent->project, err)
			: find_users(&c, err)) < 0 ||
	    ad_change_load(&c.f, s->project ? 0644 : 0600, err) < 0 || decide(&c, said, err) < 0)
		return -1;
	if (ad_change_is_none(&c.f)) {
		b_str_addf(said, "%s: nothing to %s\n", c.f.file.s, s->undo ? "undo" : "do");
		return 0;
	}
	ad_change_show(&c.f, CONTEXT, said);
	if (s->dry_run)
		return 0;
	if (s->agent->note && !s->undo)
		b_str_addf(said, "note: %s\n", s->agent->note);
	return ad_change_apply(&c.f, s->undo, err);
}
