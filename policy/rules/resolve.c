/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.c - a document's rules, relative to the workspace, become rules on absolute paths. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/document/layers.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

/* A document's rules, relative to the workspace, become rules on absolute paths. */

const char *pol_build_join(struct pol_build *b, const char *dir, const char *name)
{
	size_t n = strlen(dir), len = strlen(name);
	char *s;

	if (n == 1)
		n = 0;
	s = b_arena_alloc(&b->rs->arena, n + 1 + len + 1);
	memcpy(s, dir, n);
	s[n] = '/';
	memcpy(s + n + 1, name, len);
	return s;
}

static __attribute__((format(printf, 3, 0))) void
add_line(struct pol_build *b, struct pol_notices *list, const char *fmt, va_list ap)
{
	struct b_str s = {0};

	b_str_addfv(&s, fmt, ap);
	if (list->n == list->cap) {
		const char **bigger;

		list->cap = list->cap ? 2 * list->cap : 8;
		bigger = b_arena_alloc(&b->rs->arena, list->cap * sizeof *bigger);
		if (list->n)
			memcpy(bigger, list->v, list->n * sizeof *bigger);
		list->v = bigger;
	}
	list->v[list->n++] = b_arena_strndup(&b->rs->arena, b_str_c(&s), s.len);
	b_str_release(&s);
}

void pol_build_notice(struct pol_build *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(b, &b->notices, fmt, ap);
	va_end(ap);
}

void pol_build_loss(struct pol_build *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(b, &b->losses, fmt, ap);
	va_end(ap);
}

static bool in_workspaces(const struct pol_build *b, const char *path)
{
	for (size_t i = 0; i < b->rs->nworkspaces; i++) {
		const char *ws = b->rs->workspaces[i];

		if (sbx_path_under(path, strlen(path), ws, strlen(ws)))
			return true;
	}
	return false;
}

/* The rule language spells the root directory "", everything else spells it "/". */
void pol_build_at(struct pol_rule *r, const char *path)
{
	r->base = strcmp(path, "/") == 0 ? "" : path;
	r->base_len = strlen(r->base);
}

/* The canonical directory that a path starts with: a workspace or home, or the root. */
static const char *known_prefix(const struct pol_build *b, const char *path, size_t len)
{
	for (size_t i = 0; i < b->rs->nworkspaces + b->nhomes; i++) {
		const char *dir = i < b->nhomes ? b->homes[i] : b->rs->workspaces[i - b->nhomes];

		if (sbx_path_under(path, len, dir, strlen(dir)))
			return dir;
	}
	return "/";
}

static const char *real_path(struct pol_build *b, const char *path)
{
	const char *dir = known_prefix(b, path, strlen(path));

	return pol_canonical_below(&b->rs->arena, dir, path + (dir[1] ? strlen(dir) : 0),
				   &b->names);
}

bool pol_build_is_missing(struct pol_build *b, const char *path)
{
	const char *dir = known_prefix(b, path, strlen(path));

	return pol_is_missing_below(&b->rs->arena, dir, path + (dir[1] ? strlen(dir) : 0),
				    &b->names);
}

/* Into a workspace; elsewhere along links that no run can have planted, such as /var/run. */
bool pol_build_may_follow(struct pol_build *b, const struct pol_led *led)
{
	return in_workspaces(b, led->real) ||
	       (known_prefix(b, led->spelled, strlen(led->spelled))[1] == '\0' && led->is_roots);
}

/* The directory of a symlink: no run could have changed it. */
static bool is_nobodys(struct pol_build *b, const char *real)
{
	const struct pol_list *list = &b->rs->op[SBX_MODIFY];
	size_t n = strlen(real);

	if (in_workspaces(b, real))
		return false;
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].allow && list->v[i].tier != POL_TIER_BASE &&
		    sbx_path_under(real, n, list->v[i].base, list->v[i].base_len))
			return false;
	for (size_t i = 0; i < b->rq->nrules; i++) { /* those that are not in the list yet */
		const struct pol_cli_rule *c = &b->rq->rules[i];
		const char *root = c->allow && c->op == SBX_MODIFY && c->text[0] == '/'
					   ? pol_canonical(&b->rs->arena, c->text)
					   : NULL;

		if (root && sbx_path_under(real, n, root, strlen(root)))
			return false;
	}
	return true;
}

struct leading {
	struct pol_build *b;
	struct pol_led *led;
};

static bool note_link(void *arg, const char *link, size_t len)
{
	struct leading *l = arg;
	const char *dir = b_arena_strndup(&l->b->rs->arena, link, sbx_path_parent(link, len));

	l->led->is_planted |= !is_nobodys(l->b, dir);
	l->led->is_roots &= pol_only_root_changes(dir);
	if (!pol_link_is_hosts(*dir ? dir : "/", l->b->homes, l->b->nhomes))
		l->led->is_hosts = false;
	return true;
}

void pol_build_lead(struct pol_build *b, const char *spelled, struct pol_led *out)
{
	struct leading l = {b, out};

	*out = (struct pol_led){.spelled = spelled, .is_roots = true, .is_hosts = true};
	out->real = pol_canonical_links(&b->rs->arena, spelled, note_link, &l);
	if (!out->real)
		out->real = spelled;
}

bool pol_build_is_planted(struct pol_build *b, const struct pol_led *led)
{
	return led->is_planted && !in_workspaces(b, led->real);
}

bool pol_build_is_led_away(struct pol_build *b, const char *what, const char *head, size_t n,
			   const char *spelled)
{
	struct pol_led led;

	if (strcmp(pol_canonical(&b->rs->arena, spelled), spelled) == 0)
		return false;
	pol_build_lead(b, spelled, &led);
	if ((led.is_hosts && !led.is_planted) || in_workspaces(b, led.real))
		return false;
	if (b->led_head && strncmp(b->led_head, head, n) == 0)
		return true;
	b->led_head = head;
	pol_build_notice(b,
			 "%s: %.*s is %s, and passes through a symlink that a run may have made, "
			 "to %s: what begins with it is not open: name that itself",
			 what, (int)n, head, spelled, led.real);
	return true;
}

/* *io_real: where it was found to lead, and then where it was judged to. */
static bool may_follow(struct pol_build *b, enum pol_twin twin, const char *spelled,
		       const char **io_real)
{
	struct pol_led led;

	if (twin == POL_TWIN_ALWAYS)
		return true;
	pol_build_lead(b, spelled, &led);
	*io_real = led.real;
	return twin == POL_TWIN_USERS ? !pol_build_is_planted(b, &led)
				      : pol_build_may_follow(b, &led);
}

static void add_twin(struct pol_build *b, unsigned ops, const struct pol_rule *r,
		     enum pol_twin twin)
{
	/* a name in either case is nobody's to follow: it stands beside the one as written */
	size_t prefix = r->shape == POL_GLOB && !r->folds ? pol_glob_literal_prefix(r->glob) : 0;
	const char *spelled = r->base_len ? r->base : "/", *real;
	struct pol_rule t = *r;

	if (prefix > 0) {
		spelled =
			pol_build_join(b, r->base, b_arena_strndup(&b->rs->arena, r->glob, prefix));
		t.glob = r->glob + prefix + 1;
		t.base_is_root = false;
	}
	real = real_path(b, spelled);
	if (strcmp(real, spelled) == 0)
		return;
	if (r->allow && !may_follow(b, twin, spelled, &real)) {
		pol_build_notice(b,
				 "%s: `%s` passes through a symlink out of the workspace to %s: "
				 "not followed%s",
				 r->origin, r->matched, real,
				 r->tier == POL_TIER_CLI || r->tier == POL_TIER_SIDE
					 ? ": name the target itself"
					 : "");
		return;
	}
	pol_build_at(&t, real);
	t.twin = true;
	pol_ruleset_add_to(b->rs, ops, &t);
	pol_build_add_mounted(b, ops, &t);
}

void pol_build_add(struct pol_build *b, unsigned ops, const struct pol_rule *r, enum pol_twin twin)
{
	struct pol_rule copy = *r;

	copy.layer = pol_build_layer_number(b);
	pol_build_at(&copy, r->base);
	pol_ruleset_add_to(b->rs, ops, &copy);
	pol_build_add_mounted(b, ops, &copy);
	if (twin != POL_TWIN_NONE)
		add_twin(b, ops, &copy, twin);
}

const char *pol_build_origin(struct pol_build *b, const struct pol_pos *pos)
{
	return b_arena_printf(&b->rs->arena, "%s%s:%u:%u", b->at ? b->at->label : "", pos->file,
			      pos->line, pos->col);
}

uint8_t pol_build_layer_number(const struct pol_build *b)
{
	return (uint8_t)(b->at ? b->at->number : POL_LAYER_MAIN);
}

size_t pol_build_first(const struct pol_build *b)
{
	return b->at ? b->at->first_ws : 0;
}

size_t pol_build_end(const struct pol_build *b)
{
	return b->at ? b->at->end_ws : b->rs->nworkspaces;
}

size_t pol_build_end_denied(const struct pol_build *b)
{
	if (b->at)
		return b->at->end_ws;
	/* no layers: who looks at rules alone */
	return b->rs->nworkspaces + (b->layers ? b->layers->nabove : 0);
}

bool pol_build_is_at_top(const struct pol_build *b)
{
	const struct pol_doc *doc = b->at ? &b->at->doc : b->layers ? &b->layers->main : NULL;

	return !doc || !doc->foreign.is_at_cwd ||
	       (b->rq->nworkspaces && !b->rq->is_default_workspace);
}

const char *pol_build_local(const struct pol_build *b, size_t w)
{
	char here[PATH_MAX];

	if (pol_build_is_at_top(b))
		return b->rs->workspaces[w];
	/* the kernel's, without links: below the workspace, which was found from it */
	if (!getcwd(here, sizeof here) || here[0] != '/')
		return b->rs->workspaces[w];
	return b_arena_strndup(&b->rs->arena, here, strlen(here));
}

const char *pol_build_up(struct pol_build *b, const char *dir, unsigned up)
{
	size_t n = strlen(dir);

	for (; up > 0 && n > 1; up--)
		while (n > 1 && dir[--n] != '/')
			continue;
	return b_arena_strndup(&b->rs->arena, dir, n > 1 ? n : 1);
}

/* Orbit's meaning: a literal is exactly that path, `<path>` + slash-star-star covers the path. */
static void lower(struct pol_build *b, enum sbx_op op, const struct pol_eff_rule *e,
		  const char *origin, const char *ws)
{
	struct pol_rule r = {
		.allow = !e->negated,
		.tier = e->is_global_deny ? POL_TIER_DENY : POL_TIER_PROFILE,
		.matched = e->rule,
		.origin = origin,
	};
	size_t len;
	bool below;

	if (pol_rule_is_subtree(e->rule, &len, &below)) {
		r.shape = below ? POL_TREE : POL_EXACT;
		r.base = len ? pol_build_join(b, ws, b_arena_strndup(&b->rs->arena, e->rule, len))
			     : ws;
	} else {
		r.shape = POL_GLOB;
		r.base = ws;
		r.glob = e->rule;
		r.base_is_root = true;
	}
	pol_build_add(b, POL_OPS(op), &r, POL_TWIN_WORKSPACE);
}

int pol_build_profile(struct pol_build *b, const struct pol_effective *eff, struct b_err *err)
{
	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		for (size_t i = 0; i < eff->n[op]; i++) {
			const struct pol_eff_rule *e = &eff->v[op][i];
			const char *origin;

			if (e->is_exception) {
				if (pol_build_exception(b, eff, i, err) < 0)
					return -1;
				continue;
			}
			origin = pol_build_origin(b, &e->pos);
			for (size_t w = pol_build_first(b); w < pol_build_end(b); w++)
				lower(b, (enum sbx_op)op, e, origin, b->rs->workspaces[w]);
			for (size_t w = pol_build_end(b);
			     (e->negated || e->is_global_deny) && w < pol_build_end_denied(b); w++)
				lower(b, (enum sbx_op)op, e, origin, b->rs->workspaces[w]);
		}
	}
	return 0;
}

/* ---- what a dialect's own rules leave ---- */

/* A set of positions in a glob; `inside` marks star-star-slash that has begun a directory. */
struct live {
	bool at[POL_MAX_RULE_LEN + 1];
	bool inside[POL_MAX_RULE_LEN + 1];
};

static bool starts(const char *p, const char *what)
{
	return strncmp(p, what, strlen(what)) == 0;
}

/* Positions reached without consuming anything. Each edge leads forward: one pass is enough. */
static void close_over(const char *glob, size_t n, struct live *s)
{
	for (size_t i = 0; i < n; i++) {
		const char *p = glob + i;

		if (!s->at[i])
			continue;
		if (strcmp(p, "/**") == 0)
			s->at[n] = true;
		else if (starts(p, "**/"))
			s->at[i + 3] = true;
		else if (starts(p, "**"))
			s->at[i + 2] = true;
		else if (*p == '*')
			s->at[i + 1] = true;
	}
}

/* One character of a path, `len` bytes at c. */
static void step(const char *glob, size_t n, const struct live *from, const char *c, unsigned len,
		 struct live *to)
{
	bool slash = *c == '/';

	memset(to, 0, sizeof *to);
	for (size_t i = 0; i < n; i++) {
		const char *p = glob + i;

		if (from->inside[i] || (from->at[i] && starts(p, "**/"))) {
			to->inside[i] = true;
			to->at[i + 3] |= slash;
		}
		if (!from->at[i] || starts(p, "**/"))
			continue;
		if (starts(p, "**"))
			to->at[i] = true;
		else if (*p == '*')
			to->at[i] |= !slash;
		else if (*p == '?')
			to->at[i + 1] |= !slash;
		else if (strncmp(p, c, len) == 0)
			to->at[i + len] = true;
	}
	close_over(glob, n, to);
}

void pol_residuals(const char *glob, const char *path, struct pol_residuals *out)
{
	size_t n = strlen(glob), len = strlen(path);
	struct live cur, next;

	memset(&cur, 0, sizeof cur);
	cur.at[0] = true;
	close_over(glob, n, &cur);
	for (size_t i = 0; i <= len;) {
		const char *c = i < len ? path + i : "/";
		unsigned step_len = b_utf8_len((const unsigned char *)c, strlen(c));

		step_len = step_len ? step_len : 1;
		step(glob, n, &cur, c, step_len, &next);
		cur = next;
		i += step_len;
	}
	memset(out, 0, sizeof *out);
	/* Just behind a slash, star-star-slash may go on or stop: as if it had not begun. No path
	 * below begins with a slash or has a component "."; as whole globs these would mean
	 * something else. */
	for (size_t i = 0; i < n; i++)
		out->at[i] = (cur.at[i] || cur.inside[i]) && glob[i] != '/' &&
			     strcmp(glob + i, ".") != 0;
}

/* Rules from the command line: last, so they win; a set rule they open is told. */

static int fail(const struct pol_cli_rule *c, const char *why, struct b_err *err)
{
	return b_fail(err, B_USAGE, 0, "%s %s: %s", c->option, c->text, why);
}

/* Where the text starts: *out_dir NULL when that is each workspace. */
static int find_dir(struct pol_build *b, const struct pol_cli_rule *c, struct pol_absolute *out,
		    struct b_err *err)
{
	const char *text = c->text;

	if (text[0] == '/') {
		out->dir = out->lead = "/";
		return 0;
	}
	if (text[0] != '~' || (text[1] != '/' && text[1] != '\0')) {
		out->lead = "";
		return 0;
	}
	out->dir = pol_home(&b->rs->arena);
	out->lead = "~/";
	return out->dir ? 0 : fail(c, "no home directory", err);
}

static int parse(struct pol_build *b, const struct pol_cli_rule *c, struct pol_absolute *out,
		 struct b_err *err)
{
	struct b_arena *a = &b->rs->arena;

	*out = (struct pol_absolute){
		.op = c->op,
		.allow = c->allow,
		.is_exact = c->is_file,
		.tier = POL_TIER_CLI,
		.what = b_arena_printf(a, "%s %s", c->option, c->text),
		.origin = b_arena_printf(a, "cli:%s:%u", c->option, c->nth),
	};
	if (*c->text == '\0')
		return fail(c, "empty, expected a path or glob", err);
	if (strlen(c->text) > POL_MAX_RULE_LEN)
		return fail(c, "too long", err);
	if (find_dir(b, c, out, err) < 0)
		return -1;
	out->path = pol_components(a, c->text + (*out->lead == '~'));
	return out->path ? 0 : fail(c, "contains `..`: give an absolute path", err);
}

/* A file of the person's, by its real path: no wildcard counts. One that a run may have led
 * elsewhere is named by that path, or not at all. */
static int add_file(struct pol_build *b, const struct pol_cli_rule *c, struct b_err *err)
{
	struct pol_cli_rule real = *c;
	struct pol_absolute t;
	struct pol_led led;

	if (pol_file_given(&b->rs->arena, c->text, &real.text, err) < 0)
		return b_wrap(err, "%s", c->option);
	pol_build_lead(b, pol_given_path(&b->rs->arena, c->text), &led);
	real.text = led.real;
	if (parse(b, &real, &t, err) < 0)
		return -1;
	if (pol_build_is_planted(b, &led)) {
		pol_build_notice(b,
				 "%s: `%s` passes through a symlink out of the workspace to %s: "
				 "not followed: name the target itself",
				 t.origin, c->text, real.text);
		return 0;
	}
	t.twin = POL_TWIN_NONE;
	pol_build_absolute(b, &t);
	return 0;
}

int pol_build_cli(struct pol_build *b, struct b_err *err)
{
	for (size_t i = 0; i < b->rq->nrules; i++) {
		const struct pol_cli_rule *c = &b->rq->rules[i];
		struct pol_absolute t;

		if (c->is_endpoint)
			continue;
		if (c->is_file) {
			if (add_file(b, c, err) < 0)
				return -1;
			continue;
		}
		if (parse(b, c, &t, err) < 0)
			return -1;
		/* A relative text speaks of the workspace, where an earlier run may have planted a
		 * link; an absolute one of the host, whose links are followed, but for such. */
		t.twin = t.dir ? POL_TWIN_USERS : POL_TWIN_WORKSPACE;
		if (t.allow && *c->text == '~' && *t.lead == '~' &&
		    pol_build_is_led_away(b, t.what, "~", 1, pol_home_spelled(&b->rs->arena)))
			continue;
		if (t.dir) {
			pol_build_absolute(b, &t);
			continue;
		}
		for (size_t w = 0; w < b->rs->nworkspaces; w++) {
			t.dir = b->rs->workspaces[w];
			pol_build_absolute(b, &t);
		}
	}
	return 0;
}
