/* SPDX-License-Identifier: Apache-2.0 */
/* convert_to.c - writes OpenShell, srt and caliban: see convert.h. */
#include <string.h>

#include "base/str.h"
#include "policy/front/dialect.h"
#include "policy/questions/convert.h"

typedef bool write_fn(struct cv *, const struct pol_text *, struct b_str *out);

/* Entries of a list, as the language writes each; those it cannot say were named by `write`. */
static void put(struct cv *c, enum cv_list which, write_fn *write, struct b_str *out)
{
	bool first = true;

	for (size_t i = 0; i < c->list[which].n; i++) {
		struct b_str one = {0};

		if (write(c, &c->list[which].v[i], &one)) {
			b_str_addf(out, "%s%s", first ? "" : ", ", b_str_c(&one));
			first = false;
		}
		b_str_release(&one);
	}
}

static void name_all(struct cv *c, enum cv_list which, const char *why)
{
	for (size_t i = 0; i < c->list[which].n; i++)
		cv_name(c, &c->list[which].v[i], why);
}

static void name_sockets(struct cv *c, bool knows_all)
{
	const struct pol_settings *s = &c->doc->settings;

	for (size_t i = 0; i < s->roots[POL_ROOTS_sockets].n; i++)
		cv_name(c, &s->roots[POL_ROOTS_sockets].v[i], "single sockets cannot be opened");
	for (size_t i = 0; i < s->macos.n; i++)
		cv_name(c, &s->macos.v[i], "rules for macOS cannot be written");
	if (!knows_all && cv_setting(c, POL_SET_unixSockets, POL_UNIX_NONE) == POL_UNIX_HOST)
		cv_name_key(c, &s->value[POL_SET_unixSockets].pos, "unixSockets: host",
			    "sockets cannot be opened");
}

static void name_network(struct cv *c)
{
	if (cv_setting(c, POL_SET_network, POL_NET_NONE) == POL_NET_HOST)
		cv_name_key(c, &c->doc->settings.value[POL_SET_network].pos, "network: host",
			    "its network is always behind a proxy");
}

/* The others have one word for it, or none: all is passed on there, or all but logins. */
static void name_env(struct cv *c, bool knows_scrub)
{
	static const char *const names[] = {"env: keep", "env: scrub", "env: pass", "env: clear"};
	int env = cv_setting(c, POL_SET_env, POL_ENV_KEEP);

	if (env == POL_ENV_KEEP || (knows_scrub && env == POL_ENV_SCRUB))
		return;
	cv_name_key(c, &c->doc->settings.value[POL_SET_env].pos, names[env],
		    "it passes all variables, or all but logins");
}

static void name_reads(struct cv *c, const char *why)
{
	static const char *const names[] = {"reads: broad", "reads: system", "reads: listed"};
	const struct pol_setting_value *v = &c->doc->settings.value[POL_SET_reads];

	cv_name_key(c, v->said ? &v->pos : &c->doc->name.pos,
		    names[cv_setting(c, POL_SET_reads, POL_READS_BROAD)], why);
}

/* 1: strict, 0: lax, -1: not said, which is strict as well. */
static int strictness(const struct cv *c)
{
	int lax = cv_setting(c, POL_SET_allowFallback, -1);

	return lax >= 0 ? !lax : cv_setting(c, POL_SET_strict, -1);
}

/* All that may be read in a workspace where everything else may be. */
static void name_unread_workspace(struct cv *c)
{
	if (!c->reads_workspace)
		name_reads(c, "the workspace cannot be less readable than the rest");
}

/* Other names are told apart by case: what is left of these goes with the plain ones. */
static void tell_case(struct cv *c)
{
	struct pol_texts *list = &c->list[CV_ANY_CASE];

	for (size_t i = 0; i < list->n; i++) {
		cv_name(c, &list->v[i], "it distinguishes names by case");
		if (!cv_has(&c->list[CV_NO_MODIFY], list->v[i].s))
			pol_texts_add(c->doc, &c->list[CV_NO_MODIFY], list->v[i]);
	}
	list->n = 0;
}

/* ---- OpenShell ---- */

enum { OPENSHELL_PATHS = 256 };

static bool write_absolute(struct cv *c, const struct pol_text *t, struct b_str *out)
{
	if (t->s[0] != '/')
		cv_name(c, t, "its paths must be absolute");
	else if (cv_is_wild(t))
		cv_name(c, t, "it has no wildcards");
	else if (c->nwritten == OPENSHELL_PATHS)
		cv_name(c, t, "it allows fewer paths");
	else
		cv_quote(out, t->s);
	c->nwritten += out->len > 0;
	return out->len > 0;
}

static bool write_writable(struct cv *c, const struct pol_text *t, struct b_str *out)
{
	if (t->s[strspn(t->s, "/.")] != '\0')
		return write_absolute(c, t, out);
	cv_name(c, t, "all of it cannot be written to");
	return false;
}

static void put_workdir(struct cv *c)
{
	struct pol_pos pos = c->doc->profiles[0].name.pos;

	b_str_addf(c->out, "  include_workdir: %s\n", c->modifies_workspace ? "true" : "false");
	if (c->reads_workspace && !c->modifies_workspace &&
	    cv_setting(c, POL_SET_reads, POL_READS_BROAD) != POL_READS_BROAD)
		cv_name_key(c, &pos, "./**", "the working directory cannot be read only");
}

void cv_openshell(struct cv *c)
{
	const struct pol_foreign *f = &c->doc->foreign;
	int reads = cv_setting(c, POL_SET_reads, POL_READS_BROAD), strict = strictness(c);
	struct b_str list = {0};

	b_str_add(c->out, "version: 1\nfilesystem_policy:\n");
	put_workdir(c);
	if (reads == POL_READS_SYSTEM)
		name_reads(c, "the directories must be listed");
	if (reads == POL_READS_BROAD) {
		name_unread_workspace(c);
		c->nwritten++;
	}
	put(c, CV_READ, write_absolute, &list);
	b_str_addf(c->out, "  read_only: [%s%s%s", reads == POL_READS_BROAD ? "\"/\"" : "",
		   reads == POL_READS_BROAD && list.len ? ", " : "", b_str_c(&list));
	b_str_release(&list);
	b_str_add(c->out, "]\n  read_write: [");
	put(c, CV_MODIFY, write_writable, c->out);
	b_str_add(c->out, "]\n");
	if (strict == 0)
		b_str_add(c->out, "landlock: {compatibility: best_effort}\n");
	else if (f->must_exist)
		b_str_add(c->out, "landlock: {compatibility: hard_requirement}\n");
	for (int i = 0; i < 2; i++) {
		const struct pol_text *who = i ? &f->group : &f->user;

		if (!who->s || f->is_user_implied)
			continue;
		if (i == 0 || !f->user.s)
			b_str_add(c->out, "process:\n");
		b_str_addf(c->out, "  run_as_%s: ", i ? "group" : "user");
		cv_quote(c->out, who->s);
		b_str_addc(c->out, '\n');
	}
	if (!f->user.s && !f->group.s)
		cv_name_key(c, &c->doc->name.pos, "process",
			    "started by root, OpenShell's command is the user " POL_OPENSHELL_USER);
	name_all(c, CV_NO_READ, "there are no denies");
	name_all(c, CV_NO_MODIFY, "there are no denies");
	name_all(c, CV_ANY_CASE, "there are no denies");
	name_all(c, CV_REOPEN, "there are no denies");
	name_sockets(c, false);
	name_network(c);
	name_env(c, false);
}

/* ---- srt ---- */

#define GIT_CONFIG_PATH "${WORKSPACE}/.git/config"
enum { DEPTH_MAX = 10 };

/* Brackets that close are a class there, and a name here. */
static bool write_srt(struct cv *c, const struct pol_text *t, struct b_str *out)
{
	const char *s = t->s, *open = strchr(s, '[');
	size_t n = strlen("${WORKSPACE}");

	if ((t->is_literal && strpbrk(s, "*?")) || (open && strchr(open, ']'))) {
		cv_name(c, t, "a name with a wildcard in it");
		return false;
	}
	if (strncmp(s, "${WORKSPACE}", n) == 0) {
		b_str_add(out, "\".");
		s += n;
	} else if (strncmp(s, "${HOME}", 7) == 0) {
		b_str_add(out, "\"~");
		s += 7;
	} else if (s[0] == '$') {
		cv_name(c, t, "it does not have these variables");
		return false;
	}
	if (out->len) {
		struct b_str rest = {0};

		cv_quote(&rest, s);
		b_str_add(out, rest.s + 1);
		b_str_release(&rest);
		return true;
	}
	cv_quote(out, s);
	return true;
}

static const char *mandatory(struct cv *c, unsigned up, size_t i)
{
	struct b_str stars = {0};
	const char *text;

	for (unsigned n = up; n > 0; n--)
		b_str_add(&stars, "*/");
	text = b_arena_printf(&c->doc->arena, "${WORKSPACE}/%s%s%s", b_str_c(&stars),
			      pol_srt_denied[i], up ? "/**" : "");
	b_str_release(&stars);
	return text;
}

static void drop(struct pol_texts *list, const char *text)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i].s, text) != 0)
			list->v[n++] = list->v[i];
	list->n = n;
}

/* How deep the document has srt's own denies, which then need not be said; 0: not at all. */
static unsigned take_mandatory(struct cv *c, bool *out_git_config)
{
	struct pol_texts *denies = &c->list[CV_ANY_CASE];
	unsigned depth = 0;

	*out_git_config = !cv_has(denies, mandatory(c, 0, POL_SRT_GIT_CONFIG));
	for (bool all = true; all && depth < DEPTH_MAX; depth += all)
		for (size_t i = 0; i < POL_SRT_DENIED && all; i++)
			all = (i == POL_SRT_GIT_CONFIG && *out_git_config) ||
			      cv_has(denies, mandatory(c, depth, i));
	for (unsigned up = 0; up < depth; up++)
		for (size_t i = 0; i < POL_SRT_DENIED; i++)
			drop(denies, mandatory(c, up, i));
	return depth;
}

static void take_always(struct cv *c)
{
	for (const char *const *dir = pol_srt_writable; *dir; dir++) {
		if (!cv_has(&c->list[CV_MODIFY], *dir))
			cv_name_key(c, &c->doc->name.pos, *dir, "srt always lets it be written");
		drop(&c->list[CV_MODIFY], *dir);
	}
}

/* Of entries that lie in each other the deepest counts there, and what may not be read is not
 * modified. */
static void check_nested(struct cv *c)
{
	struct pol_text whole = {.s = "${WORKSPACE}", .is_literal = true};
	bool is_same = cv_setting(c, POL_SET_nested, false);

	if (c->modifies_workspace)
		pol_texts_add(c->doc, &c->list[CV_MODIFY], whole);
	for (size_t i = 0; !is_same && i < c->list[CV_NO_READ].n; i++) {
		const struct pol_text *t = &c->list[CV_NO_READ].v[i];

		if (pol_srt_may_hold(t, &c->list[CV_MODIFY]) ||
		    pol_srt_may_hold(t, &c->list[CV_REOPEN]))
			cv_name(c, t, "srt lets the deepest entry on a path decide");
		else if (!cv_has(&c->list[CV_NO_MODIFY], t->s))
			cv_name(c, t, "srt also denies modifying it");
	}
	for (size_t i = 0; !is_same && i < c->list[CV_REOPEN].n; i++)
		cv_name(c, &c->list[CV_REOPEN].v[i], "srt keeps entries below it closed");
}

static void check_spared(struct cv *c, unsigned depth)
{
	const struct pol_texts *spares = &c->doc->settings.spares;
	bool has_srts = false;

	for (size_t i = 0; i < spares->n; i++)
		if (strcmp(spares->v[i].s, "node_modules") == 0)
			has_srts = true;
		else
			cv_name(c, &spares->v[i], "srt makes an exception only for node_modules");
	if (depth > 1 && !has_srts)
		cv_name_key(c, &c->doc->name.pos, "denyModifyAnyCase",
			    "srt does not deny it below node_modules");
}

/* Everything is read there: what is listed for it needs not be. */
static void check_srt_reads(struct cv *c)
{
	if (cv_setting(c, POL_SET_reads, POL_READS_BROAD) != POL_READS_BROAD)
		name_reads(c, "it allows reading everything that is not denied");
	else
		name_unread_workspace(c);
	for (const char *const *dir = pol_caliban_readable; *dir; dir++)
		drop(&c->list[CV_READ], *dir);
	name_all(c, CV_READ, "it has no list of readable paths");
}

static void put_srt_sockets(struct cv *c)
{
	const struct pol_texts *sockets = &c->doc->settings.roots[POL_ROOTS_sockets];

	if (cv_setting(c, POL_SET_unixSockets, POL_UNIX_NONE) == POL_UNIX_HOST)
		b_str_add(c->out, ",\n    \"allowAllUnixSockets\": true");
	if (sockets->n == 0)
		return;
	c->list[CV_READ] = *sockets;
	b_str_add(c->out, ",\n    \"allowUnixSockets\": [");
	put(c, CV_READ, write_srt, c->out);
	b_str_addc(c->out, ']');
}

static void put_srt_rest(struct cv *c)
{
	const struct pol_foreign *f = &c->doc->foreign;

	if (f->is_nested)
		b_str_add(c->out, ",\n  \"enableWeakerNestedSandbox\": true");
	if (f->bwrap.s && f->bwrap.s[0] == '/') {
		b_str_add(c->out, ",\n  \"bwrapPath\": ");
		cv_quote(c->out, f->bwrap.s);
	}
	for (size_t i = 0; i < f->no_env.n; i++) {
		b_str_add(c->out, i ? ", " : ",\n  \"credentials\": {\"envVars\": [");
		b_str_add(c->out, "{\"name\": ");
		cv_quote(c->out, f->no_env.v[i].s);
		b_str_add(c->out, ", \"mode\": \"deny\"}");
	}
	if (f->no_env.n)
		b_str_add(c->out, "]}");
}

void cv_srt(struct cv *c)
{
	static const struct {
		const char *key;
		enum cv_list list;
	} keys[] = {{"denyRead", CV_NO_READ},
		    {"allowRead", CV_REOPEN},
		    {"allowWrite", CV_MODIFY},
		    {"denyWrite", CV_NO_MODIFY}};
	bool git_config;
	unsigned depth;

	check_srt_reads(c);
	take_always(c);
	depth = take_mandatory(c, &git_config);
	if (depth && git_config && !cv_has(&c->list[CV_MODIFY], GIT_CONFIG_PATH))
		cv_name_key(c, &c->doc->name.pos, "allowGitConfig",
			    "srt lets .git/config be written where it does not deny it");
	drop(&c->list[CV_MODIFY], GIT_CONFIG_PATH);
	tell_case(c);
	check_nested(c);
	check_spared(c, depth);
	if (depth == 0)
		cv_name_key(c, &c->doc->name.pos, "denyWrite",
			    "srt always denies writing to .git/hooks, .bashrc, .vscode and the "
			    "like, in the workspace and below");
	b_str_add(c->out, "{\n  \"network\": {\n    \"allowedDomains\": [],\n"
			  "    \"deniedDomains\": []");
	put_srt_sockets(c);
	b_str_add(c->out, "\n  },\n  \"filesystem\": {");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		b_str_addf(c->out, "%s\n    \"%s\": [", i ? "," : "", keys[i].key);
		put(c, keys[i].list, write_srt, c->out);
		b_str_addc(c->out, ']');
	}
	b_str_add(c->out, depth && git_config ? ",\n    \"allowGitConfig\": true\n  }" : "\n  }");
	if (depth && depth != 3)
		b_str_addf(c->out, ",\n  \"mandatoryDenySearchDepth\": %u", depth);
	put_srt_rest(c);
	b_str_add(c->out, "\n}\n");
	if (strictness(c) == 0)
		cv_name_key(c, &c->doc->name.pos, "strict: false", "there is no such setting");
	name_network(c);
	name_env(c, false);
}

/* ---- caliban ---- */

static bool write_caliban(struct cv *c, const struct pol_text *t, struct b_str *out)
{
	if (cv_is_wild(t))
		cv_name(c, t, "it has no wildcards");
	else
		cv_quote(out, t->s);
	return out->len > 0;
}

static void put_caliban(struct cv *c, const char *key, enum cv_list which, const char *first)
{
	struct b_str list = {0};

	put(c, which, write_caliban, &list);
	if (first || list.len) {
		b_str_addf(c->out, "%s = [", key);
		if (first)
			cv_quote(c->out, first);
		b_str_addf(c->out, "%s%s]\n", first && list.len ? ", " : "", b_str_c(&list));
	}
	b_str_release(&list);
}

/* The system's directories are read anyway. */
static void take_system(struct cv *c, bool is_broad)
{
	for (const char *const *dir = pol_caliban_readable; *dir; dir++) {
		if (!is_broad && !cv_has(&c->list[CV_READ], *dir))
			cv_name_key(c, &c->doc->name.pos, *dir, "caliban always lets it be read");
		drop(&c->list[CV_READ], *dir);
	}
}

/* A deny of reading is one of modifying, too. */
static void take_hidden(struct cv *c)
{
	for (size_t i = 0; i < c->list[CV_NO_READ].n; i++) {
		const struct pol_text *t = &c->list[CV_NO_READ].v[i];

		if (cv_setting(c, POL_SET_nested, false)) {
			if (pol_srt_may_hold(t, &c->list[CV_MODIFY]))
				cv_name(c, t, "caliban opens nothing that lies in it");
		} else if (!cv_has(&c->list[CV_NO_MODIFY], t->s)) {
			cv_name(c, t, "caliban also denies modifying it");
		}
		drop(&c->list[CV_NO_MODIFY], t->s);
	}
}

static void put_caliban_env(struct cv *c)
{
	const struct pol_texts *pass = &c->doc->settings.pass_env;
	size_t n = 0;

	name_env(c, true);
	if (cv_setting(c, POL_SET_env, POL_ENV_KEEP) != POL_ENV_SCRUB)
		return;
	b_str_add(c->out, "\n[sandbox.env]\nscrub_secrets = true\npassthrough = [");
	for (size_t i = 0; i < pass->n; i++) {
		if (!pass->v[i].is_literal && strchr(pass->v[i].s, '*')) {
			cv_name(c, &pass->v[i], "a name with a wildcard in it");
			continue;
		}
		b_str_add(c->out, n++ ? ", " : "");
		cv_quote(c->out, pass->v[i].s);
	}
	b_str_add(c->out, "]\n");
}

void cv_caliban(struct cv *c)
{
	bool is_broad = cv_setting(c, POL_SET_reads, POL_READS_BROAD) == POL_READS_BROAD;
	int strict = strictness(c);

	if (cv_setting(c, POL_SET_reads, POL_READS_BROAD) == POL_READS_SYSTEM)
		name_reads(c, "the directories must be listed");
	if (is_broad)
		name_unread_workspace(c);
	take_system(c, is_broad);
	take_hidden(c);
	b_str_add(c->out, "[sandbox]\nenabled = true\n");
	if (strict >= 0)
		b_str_addf(c->out, "fail_if_unavailable = %s\n", strict ? "true" : "false");
	if (c->doc->foreign.is_nested)
		b_str_add(c->out, "enable_weaker_nested_sandbox = true\n");
	if (c->doc->foreign.bwrap.s) {
		b_str_add(c->out, "bwrap_path = ");
		cv_quote(c->out, c->doc->foreign.bwrap.s);
		b_str_addc(c->out, '\n');
	}
	b_str_add(c->out, "\n[sandbox.filesystem]\n");
	put_caliban(c, "allow_read", CV_READ,
		    is_broad					   ? "/"
		    : c->reads_workspace && !c->modifies_workspace ? "${WORKSPACE}"
								   : NULL);
	put_caliban(c, "allow_write", CV_MODIFY, c->modifies_workspace ? "${WORKSPACE}" : NULL);
	put_caliban(c, "deny_read", CV_NO_READ, NULL);
	tell_case(c);
	put_caliban(c, "deny_write", CV_NO_MODIFY, NULL);
	name_all(c, CV_REOPEN, "what is denied cannot be opened again");
	name_sockets(c, true);
	put_caliban_env(c);
	if (cv_setting(c, POL_SET_network, POL_NET_NONE) != POL_NET_HOST &&
	    cv_setting(c, POL_SET_unixSockets, POL_UNIX_NONE) != POL_UNIX_HOST)
		return;
	b_str_add(c->out, "\n[sandbox.network]\n");
	if (cv_setting(c, POL_SET_network, POL_NET_NONE) == POL_NET_HOST)
		b_str_add(c->out, "allow_all_outbound = true\n");
	if (cv_setting(c, POL_SET_unixSockets, POL_UNIX_NONE) == POL_UNIX_HOST)
		b_str_add(c->out, "allow_unix_sockets = true\n");
}
