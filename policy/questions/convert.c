/* SPDX-License-Identifier: Apache-2.0 */
/* convert.c - orbit's language says all; the others know flat lists. */
#include "policy/questions/convert.h"

#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/front/dialect.h"

/* ---- helpers of all writers ---- */

void cv_name_key(struct cv *c, const struct pol_pos *pos, const char *what, const char *why)
{
	b_str_addf(c->named, "%s:%u:%u: `%s`: %s\n", pos->file, pos->line, pos->col, what, why);
}

void cv_name(struct cv *c, const struct pol_text *t, const char *why)
{
	cv_name_key(c, &t->pos, t->s, why);
}

void cv_quote(struct b_str *out, const char *text)
{
	b_str_addc(out, '"');
	for (; *text; text++) {
		unsigned char b = (unsigned char)*text;

		if (b == '"' || b == '\\')
			b_str_addf(out, "\\%c", b);
		else if (b < ' ' || b == 0x7f)
			b_str_addf(out, "\\u%04x", b);
		else
			b_str_addc(out, *text);
	}
	b_str_addc(out, '"');
}

int cv_setting(const struct cv *c, enum pol_setting s, int dflt)
{
	const struct pol_setting_value *v = &c->doc->settings.value[s];

	return v->said ? v->v : dflt;
}

bool cv_has(const struct pol_texts *list, const char *text)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->v[i].s, text) == 0)
			return true;
	return false;
}

bool cv_is_wild(const struct pol_text *t)
{
	return !t->is_literal && strpbrk(t->s, "*?");
}

/* ---- from a profile to lists ---- */

static void add(struct cv *c, enum cv_list which, const struct pol_text *t)
{
	if (!cv_has(&c->list[which], t->s))
		pol_texts_add(c->doc, &c->list[which], *t);
}

/* A rule of the workspace, as a text that names it; a literal one of Orbit's is that path alone. */
static bool as_root(struct cv *c, const struct pol_eff_rule *e, struct pol_text *out)
{
	bool below = true;
	size_t len;

	*out = (struct pol_text){.s = e->rule, .pos = e->pos};
	if (!pol_rule_is_subtree(e->rule, &len, &below)) {
		out->s = b_arena_printf(&c->doc->arena, "${WORKSPACE}/%s", e->rule);
		return true;
	}
	out->s = b_arena_printf(&c->doc->arena, "${WORKSPACE}%s%.*s", len ? "/" : "", (int)len,
				e->rule);
	out->is_literal = true;
	return below;
}

static void flatten_rule(struct cv *c, enum sbx_op op, const struct pol_eff_rule *e, bool *denied)
{
	static const enum cv_list allows[] = {[SBX_READ] = CV_READ, [SBX_MODIFY] = CV_MODIFY};
	static const enum cv_list denies[] = {[SBX_READ] = CV_NO_READ, [SBX_MODIFY] = CV_NO_MODIFY};
	const struct pol_text as_written = {.s = e->rule, .pos = e->pos};
	bool *whole = op == SBX_READ ? &c->reads_workspace : &c->modifies_workspace;
	struct pol_text t;

	if (e->is_exception) {
		cv_name(c, &as_written, "an exception to a deny");
	} else if (!as_root(c, e, &t)) {
		cv_name(c, &as_written, "it cannot name a path without its contents");
	} else if (e->negated) {
		*denied = true;
		add(c, denies[op], &t);
	} else if (*denied) {
		cv_name(c, &as_written, "it opens again what an earlier rule denies");
	} else if (strcmp(t.s, "${WORKSPACE}") == 0) {
		*whole = true;
	} else {
		add(c, allows[op], &t);
	}
}

static void flatten_roots(struct cv *c, bool denied)
{
	static const struct {
		enum pol_root_list from;
		enum cv_list to;
	} rows[] = {
		{POL_ROOTS_openRead, CV_READ},	      {POL_ROOTS_openModify, CV_MODIFY},
		{POL_ROOTS_denyRead, CV_NO_READ},     {POL_ROOTS_allowRead, CV_REOPEN},
		{POL_ROOTS_denyModify, CV_NO_MODIFY}, {POL_ROOTS_denyModifyAnyCase, CV_ANY_CASE}};
	const struct pol_texts *roots = c->doc->settings.roots;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t k = 0; k < roots[rows[i].from].n; k++) {
			const struct pol_text *t = &roots[rows[i].from].v[k];
			bool is_workspace = strcmp(t->s, "${WORKSPACE}") == 0;

			if (t->is_final && roots[POL_ROOTS_allowRead].n)
				cv_name(c, t, "it cannot stay closed inside what allowRead opens");
			if (t->is_exact)
				cv_name(c, t, "it cannot name a path without its contents");
			else if (t->up)
				cv_name(c, t, "a path above the workspace");
			else if (t->only_named)
				continue;
			else if (denied && i < 2 && t->s[0] == '$')
				cv_name(c, t, "it opens again what an earlier rule denies");
			else if (is_workspace && i < 2) {
				c->reads_workspace = true;
				c->modifies_workspace |= i == 1;
			} else {
				add(c, rows[i].to, t);
			}
		}
	for (int list = POL_ROOTS_readRoots; list <= POL_ROOTS_sideRoots; list++)
		for (size_t k = 0; k < roots[list].n; k++)
			cv_name(c, &roots[list].v[k],
				"it also opens what the preset sets close below it");
}

static void flatten_settings(struct cv *c)
{
	static const struct {
		enum pol_setting key;
		int usual;
	} rows[] = {{POL_SET_scratch, true}, {POL_SET_cache, false}, {POL_SET_enabled, true}};
	const struct pol_settings *s = &c->doc->settings;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (cv_setting(c, rows[i].key, rows[i].usual) != rows[i].usual)
			cv_name_key(c, &s->value[rows[i].key].pos, pol_setting_name(rows[i].key),
				    "there is no such setting");
	for (size_t i = 0; i < s->presets.n; i++)
		cv_name(c, &s->presets.v[i], "it has no presets of sbx-launch");
	if (cv_setting(c, POL_SET_network, POL_NET_NONE) == POL_NET_LOOPBACK)
		cv_name_key(c, &s->value[POL_SET_network].pos, "network: loopback",
			    "there is no such setting");
	for (size_t i = 0; i < s->publish.n; i++)
		cv_name(c, &s->publish.v[i], "publish: there is no such setting");
	if (s->upstream.s)
		cv_name(c, &s->upstream, "upstreamProxy: there is no such setting");
	if (s->net_limits.connections || s->net_limits.bytes || s->net_limits.rate)
		cv_name_key(c, &c->doc->name.pos, "networkLimits", "there is no such setting");
	if (cv_setting(c, POL_SET_network, POL_NET_NONE) == POL_NET_WATCH)
		cv_name_key(c, &s->value[POL_SET_network].pos, "network: watch",
			    "it cannot only watch: the rules are enforced");
}

static void flatten(struct cv *c, const struct pol_effective *eff)
{
	bool denied[2] = {false, false};

	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		for (size_t i = 0; i < eff->n[op]; i++)
			flatten_rule(c, (enum sbx_op)op, &eff->v[op][i], &denied[op]);
	flatten_roots(c, denied[0] || denied[1]);
	flatten_settings(c);
}

/* ---- Orbit ---- */

static void put_list(struct b_str *out, const char *indent, const char *key,
		     const struct pol_texts *list, bool always)
{
	if (list->n == 0 && !always)
		return;
	b_str_addf(out, "%s%s:%s\n", indent, key, list->n ? "" : " []");
	for (size_t i = 0; i < list->n; i++) {
		b_str_addf(out, "%s  - ", indent);
		cv_quote(out, list->v[i].s);
		b_str_addc(out, '\n');
	}
}

static void put_setting(struct cv *c, int i)
{
	const char *w = pol_setting_words((enum pol_setting)i);
	const struct pol_setting_value *v = &c->doc->settings.value[i];

	if (!v->said)
		return;
	b_str_addf(c->out, "    %s: ", pol_setting_name((enum pol_setting)i));
	if (!w) {
		b_str_add(c->out, v->v ? "true\n" : "false\n");
		return;
	}
	for (int k = v->v; k > 0; k--)
		w += strcspn(w, "|") + 1;
	b_str_addf(c->out, "%.*s\n", (int)strcspn(w, "|"), w);
}

/* In the lists of Orbit `*` and `?` always are wildcards. */
static void put_roots(struct cv *c, int list, const char *key)
{
	const struct pol_texts *from = &c->doc->settings.roots[list];
	struct pol_texts kept = {0};

	for (size_t i = 0; i < from->n; i++) {
		if (from->v[i].is_final && c->doc->settings.roots[POL_ROOTS_allowRead].n)
			cv_name(c, &from->v[i],
				"it cannot stay closed inside what allowRead opens");
		if (from->v[i].is_exact)
			cv_name(c, &from->v[i], "it cannot name a path without its contents");
		else if (from->v[i].up)
			cv_name(c, &from->v[i], "a path above the workspace");
		else if (from->v[i].is_literal && strpbrk(from->v[i].s, "*?"))
			cv_name(c, &from->v[i], "a name with a wildcard in it");
		else
			pol_texts_add(c->doc, &kept, from->v[i]);
	}
	put_list(c->out, "    ", key, &kept, false);
}

static void put_limit(struct b_str *out, const char *key, unsigned long long v)
{
	if (v)
		b_str_addf(out, "      %s: %llu\n", key, v);
}

static void put_network(struct b_str *out, const struct pol_settings *s)
{
	const struct pol_net_limits *l = &s->net_limits;

	if (l->connections || l->bytes || l->rate)
		b_str_add(out, "    networkLimits:\n");
	put_limit(out, "connections", l->connections);
	put_limit(out, "bytes", l->bytes);
	put_limit(out, "rate", l->rate);
	if (!s->upstream.s)
		return;
	b_str_add(out, "    upstreamProxy: ");
	cv_quote(out, s->upstream.s);
	b_str_addc(out, '\n');
}

static void put_sandbox(struct cv *c)
{
	static const char *const keys[] = {
#define X(key) [POL_ROOTS_##key] = #key,
		POL_ROOT_LISTS(X)
#undef X
	};

	b_str_add(c->out, "  sandbox:\n    scratch: ");
	b_str_add(c->out, cv_setting(c, POL_SET_scratch, true) ? "true\n" : "false\n");
	for (int i = 0; i < POL_SETTING_COUNT; i++)
		/* a list of sockets is written under the same key */
		if (i != POL_SET_scratch &&
		    !(i == POL_SET_unixSockets && c->doc->settings.roots[POL_ROOTS_sockets].n))
			put_setting(c, i);
	for (int i = 0; i < POL_ROOT_LIST_COUNT; i++)
		put_roots(c, i, i == POL_ROOTS_sockets ? "unixSockets" : keys[i]);
	put_list(c->out, "    ", "presets", &c->doc->settings.presets, false);
	put_list(c->out, "    ", "macos", &c->doc->settings.macos, false);
	put_list(c->out, "    ", "passEnv", &c->doc->settings.pass_env, false);
	put_list(c->out, "    ", "spareAnyCase", &c->doc->settings.spares, false);
	cv_put_connects(c, "    ", "connect", &c->doc->settings.connect, true);
	put_list(c->out, "    ", "trustedAddresses", &c->doc->settings.trusted, false);
	put_list(c->out, "    ", "publish", &c->doc->settings.publish, false);
	put_network(c->out, &c->doc->settings);
}

static void put_orbit(struct cv *c, const struct pol_profile *p)
{
	struct pol_doc *doc = c->doc;

	b_str_add(c->out, "schemaVersion: 2\nkind: Policy\nmetadata:\n  name: ");
	cv_quote(c->out, doc->name.s);
	b_str_add(c->out, "\nspec:\n");
	if (doc->description) {
		b_str_add(c->out, "  description: ");
		cv_quote(c->out, doc->description);
		b_str_addc(c->out, '\n');
	}
	put_list(c->out, "  ", "denyRead", &doc->deny_read, false);
	put_list(c->out, "  ", "denyModify", &doc->deny_modify, false);
	cv_put_connects(c, "  ", "denyConnect", &doc->deny_connect, false);
	b_str_add(c->out, "  fsProfiles:\n    ");
	cv_quote(c->out, p->name.s);
	b_str_add(c->out, ":\n");
	put_list(c->out, "      ", "read", &p->read, true);
	put_list(c->out, "      ", "modify", &p->modify, true);
	cv_put_connects(c, "      ", "connect", &p->connect, true);
	put_sandbox(c);
}

/* ---- all ---- */

static const struct pol_profile *find_profile(const struct pol_doc *doc, const char *name,
					      struct b_err *err)
{
	for (size_t i = 0; i < doc->nprofiles; i++)
		if (name ? strcmp(doc->profiles[i].name.s, name) == 0 : doc->nprofiles == 1)
			return &doc->profiles[i];
	if (name)
		b_fail(err, B_PROFILE, 0, "%s has no fsProfile `%s`", doc->name.s, name);
	else
		b_fail(err, B_PROFILE, 0, "%s has %s: --profile says which", doc->name.s,
		       doc->nprofiles ? "several fsProfiles" : "no fsProfile");
	return NULL;
}

/* What comes of another system's language and only that one has a word for. */
static void name_foreign(struct cv *c)
{
	const struct pol_foreign *f = &c->doc->foreign;

	for (size_t i = 0; i < f->losses.n; i++)
		b_str_addf(c->named, "%s\n", f->losses.v[i].s);
	for (size_t i = 0; i < f->net_losses.n; i++)
		b_str_addf(c->named, "%s\n", f->net_losses.v[i].s);
	for (size_t i = 0; i < f->host_losses.n; i++)
		b_str_addf(c->named, "%s\n", f->host_losses.v[i].s);
	if (f->dialect == POL_DIALECT_srt)
		for (size_t i = 0; i < c->doc->settings.roots[POL_ROOTS_sockets].n; i++)
			cv_name(c, &c->doc->settings.roots[POL_ROOTS_sockets].v[i],
				"srt opens it only on macOS");
	if (c->to != POL_DIALECT_openshell && f->user.s)
		cv_name(c, &f->user, "it cannot name the user or group of the command");
	if (c->to != POL_DIALECT_openshell && f->group.s)
		cv_name(c, &f->group, "it cannot name the user or group of the command");
	if (c->to != POL_DIALECT_openshell && f->must_exist && f->listed.n)
		cv_name_key(c, &f->listed.v[0].pos, "hard_requirement",
			    "it cannot require that paths exist");
	if (f->bwrap.s &&
	    (c->to == POL_DIALECT_srt ? f->must_have_bwrap : c->to != POL_DIALECT_caliban))
		cv_name(c, &f->bwrap, "it cannot require a program");
	if (c->to != POL_DIALECT_caliban && c->to != POL_DIALECT_srt && f->is_nested)
		cv_name_key(c, &c->doc->name.pos, "enableWeakerNestedSandbox",
			    "it cannot say that this is inside another sandbox");
	for (size_t i = 0; c->to != POL_DIALECT_srt && i < f->no_env.n; i++)
		cv_name(c, &f->no_env.v[i], "it cannot remove a single variable");
}

/* Our own keys stand in what is written for Orbit; Orbit refuses them as it does `sandbox`. */
static void name_connects(struct cv *c, const struct pol_profile *p)
{
	const char *why = c->to == POL_DIALECT_orbit
				  ? "Orbit itself refuses a document with rules on endpoints"
				  : "rules on endpoints cannot be written";

	cv_name_connects(c, &c->doc->settings.connect, why);
	cv_name_connects(c, &p->connect, why);
	cv_name_connects(c, &c->doc->deny_connect, why);
}

/* Could the text be all of /proc, /sys or /dev, or below the first two? */
static bool is_wide(const char *s)
{
	static const char *const dirs[] = {"/proc", "/sys", "/dev"};
	size_t n = strcspn(s, "*?");

	if (s[0] != '/')
		return false;
	while (s[n] && n > 0 && s[n] != '/')
		n--;
	while (n > 0 && s[n - 1] == '/')
		n--;
	for (size_t i = 0; i < 3; i++)
		if (strncmp(s, dirs[i], strlen(dirs[i])) == 0 && n >= strlen(dirs[i]) &&
		    (n == strlen(dirs[i]) || (i < 2 && s[strlen(dirs[i])] == '/')))
			return true;
	return n == 0;
}

/* Orbit's rules open what they say, those of the others not all that the system has. */
static void name_wide(struct cv *c)
{
	const struct pol_texts *open = &c->doc->settings.roots[POL_ROOTS_openModify];

	if (pol_doc_is_foreign(c->doc) == (c->to != POL_DIALECT_orbit))
		return;
	for (size_t i = 0; i < open->n; i++)
		if (is_wide(open->v[i].s))
			cv_name(c, &open->v[i],
				"the parts of /proc, /sys and /dev that stay closed differ");
}

int pol_convert(struct pol_doc *doc, const char *profile, enum pol_dialect to, struct b_str *out,
		struct b_str *named, struct b_err *err)
{
	static void (*const writers[])(struct cv *) = {[POL_DIALECT_openshell] = cv_openshell,
						       [POL_DIALECT_srt] = cv_srt,
						       [POL_DIALECT_caliban] = cv_caliban,
						       [POL_DIALECT_COUNT] = NULL};
	const struct pol_profile *p = find_profile(doc, profile, err);
	struct cv c = {.doc = doc, .to = to, .out = out, .named = named};
	struct pol_effective eff;

	if (to > POL_DIALECT_caliban && to != doc->foreign.dialect)
		return b_fail(err, B_USAGE, 0, "settings of %s are read, not written",
			      pol_dialect_name(to));
	if (!p || pol_doc_effective(doc, p->name.s, &eff, err) < 0)
		return -1;
	if (to == doc->foreign.dialect && doc->foreign.tree) {
		cv_same(&c);
		return 0;
	}
	name_foreign(&c);
	name_connects(&c, p);
	name_wide(&c);
	if (!writers[to]) {
		put_orbit(&c, p);
		return 0;
	}
	flatten(&c, &eff);
	writers[to](&c);
	return 0;
}
