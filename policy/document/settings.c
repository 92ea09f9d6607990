/* SPDX-License-Identifier: Apache-2.0 */
/* settings.c - settings of a run, and variables in the text of a document. */
#include "policy/document/settings.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "policy/front/tree.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

const char *pol_setting_words(enum pol_setting s)
{
	static const char *const words[] = {
#define X(key, words) [POL_SET_##key] = words,
		POL_SETTINGS(X)
#undef X
	};

	return words[s];
}

const char *pol_setting_name(enum pol_setting s)
{
	static const char *const names[] = {
#define X(key, words) [POL_SET_##key] = #key,
		POL_SETTINGS(X)
#undef X
	};

	return names[s];
}

struct pol_said pol_said_nothing(void)
{
	struct pol_said said = {.upstream = NULL};

	for (int i = 0; i < POL_SETTING_COUNT; i++)
		said.v[i] = POL_UNSAID;
	return said;
}

/* One setting on its way: what is asked for, then what the limits leave of it. */
struct limits {
	const struct pol_settings *doc;
	const struct pol_settings *const *v;
	size_t n;
	const struct pol_said *cli;
};

static int asked(const struct limits *l, enum pol_setting s, int dflt)
{
	const struct pol_setting_value *doc = &l->doc->value[s];

	if (l->cli->v[s] != POL_UNSAID)
		return l->cli->v[s];
	return doc->said ? doc->v : dflt;
}

static int least(const struct limits *l, enum pol_setting s, int dflt)
{
	int v = asked(l, s, dflt);

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i]->value[s].said && l->v[i]->value[s].v < v)
			v = l->v[i]->value[s].v;
	return v;
}

static int most(const struct limits *l, enum pol_setting s, int dflt)
{
	int v = asked(l, s, dflt);

	for (size_t i = 0; i < l->n; i++)
		if (l->v[i]->value[s].said && l->v[i]->value[s].v > v)
			v = l->v[i]->value[s].v;
	return v;
}

/* Said by `strict` or the other way round by `allowFallback`; POL_UNSAID. */
static int says_lax(const struct pol_settings *s, const struct pol_pos **out_pos)
{
	const struct pol_setting_value *strict = &s->value[POL_SET_strict];
	const struct pol_setting_value *fallback = &s->value[POL_SET_allowFallback];

	if (!strict->said && !fallback->said)
		return POL_UNSAID;
	*out_pos = strict->said ? &strict->pos : &fallback->pos;
	return strict->said ? !strict->v : fallback->v;
}

bool pol_settings_is_lax(const struct pol_settings *s)
{
	const struct pol_pos *pos;

	return says_lax(s, &pos) == 1;
}

int pol_ports_add(struct pol_ports *to, unsigned short port)
{
	for (size_t i = 0; i < to->n; i++)
		if (to->v[i] == port)
			return 0;
	if (to->n == POL_PUBLISH_MAX)
		return -1;
	to->v[to->n++] = port;
	return 0;
}

static unsigned long long least_limit(unsigned long long a, unsigned long long b)
{
	return !a || (b && b < a) ? b : a;
}

void pol_net_limits_tighten(struct pol_net_limits *to, const struct pol_net_limits *by)
{
	to->connections = least_limit(to->connections, by->connections);
	to->bytes = least_limit(to->bytes, by->bytes);
	to->rate = least_limit(to->rate, by->rate);
}

static bool publishes(const struct pol_settings *s, unsigned short port)
{
	for (size_t i = 0; i < s->publish.n; i++)
		if (strtoul(s->publish.v[i].s, NULL, 10) == port)
			return true;
	return false;
}

/* A document of another layer that says something of the network must show the port, too. */
static int check_publish(const struct pol_settings *layer, unsigned short port, struct b_err *err)
{
	const struct pol_setting_value *v = &layer->value[POL_SET_network];
	const struct pol_pos *pos = v->said	       ? &v->pos
				    : layer->connect.n ? &layer->connect.v[0].to.pos
				    : layer->publish.n ? &layer->publish.v[0].pos
						       : NULL;

	if (!pos || publishes(layer, port) || (v->said && v->v == POL_NET_HOST))
		return 0;
	return b_fail(err, B_POLICY, 0,
		      "publish: port %u: %s:%u:%u does not publish it, and all documents must: add "
		      "it there, or leave it out",
		      port, pos->file, pos->line, pos->col);
}

/* The ports that the main document or an option shows, the smallest limits, and the proxy that the
 * first of option, document and layers names. */
static int settle_network(const struct limits *l, struct pol_effect *out, struct b_err *err)
{
	out->publish = l->cli->publish;
	for (size_t i = 0; i < l->doc->publish.n; i++)
		if (pol_ports_add(&out->publish,
				  (unsigned short)strtoul(l->doc->publish.v[i].s, NULL, 10)) < 0)
			return b_fail(err, B_LIMIT, 0, "publish: more than %d ports",
				      POL_PUBLISH_MAX);
	out->net_limits = l->doc->net_limits;
	pol_net_limits_tighten(&out->net_limits, &l->cli->net_limits);
	out->upstream = l->cli->upstream ? l->cli->upstream : l->doc->upstream.s;
	for (size_t i = 0; i < l->n; i++) {
		pol_net_limits_tighten(&out->net_limits, &l->v[i]->net_limits);
		if (!out->upstream)
			out->upstream = l->v[i]->upstream.s;
		for (size_t k = 0; k < out->publish.n; k++)
			if (check_publish(l->v[i], out->publish.v[k], err) < 0)
				return -1;
	}
	return 0;
}

static void settle_sockets(const struct limits *l, struct pol_effect *out)
{
	if (asked(l, POL_SET_unixSockets, POL_UNIX_NONE) != POL_UNIX_HOST ||
	    out->unix_ == POL_UNIX_HOST)
		return;
	for (size_t i = 0; i < l->n; i++)
		out->all_sockets |= l->v[i]->roots[POL_ROOTS_sockets].n > 0;
}

static void settle_lax(const struct limits *l, struct pol_effect *out)
{
	const struct pol_pos *pos;
	int doc = says_lax(l->doc, &pos);

	out->lax = doc == 1;
	if (l->cli->v[POL_SET_strict] != POL_UNSAID)
		out->lax = !l->cli->v[POL_SET_strict];
	for (size_t i = 0; i < l->n && out->lax; i++)
		if (says_lax(l->v[i], &pos) == 0) {
			out->lax = false;
			out->forbids_lax = pos;
		}
}

int pol_settings_enabled(const struct pol_settings *s, struct b_err *err)
{
	const struct pol_setting_value *v = &s->value[POL_SET_enabled];

	if (!v->said || v->v)
		return 0;
	return b_fail(err, B_POLICY, 0,
		      "%s:%u:%u: sandbox.enabled is false, but sbx-launch runs nothing without a "
		      "sandbox: remove the key, or start the command without sbx-launch",
		      v->pos.file, v->pos.line, v->pos.col);
}

int pol_settings_settle(const struct pol_settings *doc, const struct pol_settings *const *limits,
			size_t nlimits, const struct pol_said *cli, bool has_document,
			struct pol_effect *out, struct b_err *err)
{
	const struct limits l = {doc, limits, nlimits, cli};

	if (pol_settings_enabled(doc, err) < 0)
		return -1;
	for (size_t i = 0; i < nlimits; i++)
		if (pol_settings_enabled(limits[i], err) < 0)
			return -1;
	*out = (struct pol_effect){
		.reads = (enum pol_reads)most(&l, POL_SET_reads, POL_READS_BROAD),
		.network = (enum pol_network)least(&l, POL_SET_network, POL_NET_NONE),
		.unix_ = (enum pol_unix)least(&l, POL_SET_unixSockets, POL_UNIX_NONE),
		.env = (enum pol_env)most(&l, POL_SET_env, POL_ENV_KEEP),
		.scratch = least(&l, POL_SET_scratch, true),
		/* A document says itself what may be written. */
		.cache = least(&l, POL_SET_cache, !has_document),
	};
	out->abstract_sockets = out->unix_ == POL_UNIX_HOST;
	settle_sockets(&l, out);
	settle_lax(&l, out);
	return settle_network(&l, out, err);
}

/* ---- variables ---- */

enum where { IN_WORKSPACE, IN_TOPLEVEL, IN_GIT, IN_GIT_COMMON, IN_HOME, IN_BESIDE, IN_TMP, IN_ENV };

/* name, where it leads, its place below the home when the environment says nothing of it */
#define VARS(X)                                                                                    \
	X(WORKSPACE, IN_WORKSPACE, NULL)                                                           \
	X(GIT_TOPLEVEL, IN_TOPLEVEL, NULL)                                                         \
	X(GIT_DIR, IN_GIT, NULL)                                                                   \
	X(GIT_COMMON_DIR, IN_GIT_COMMON, NULL)                                                     \
	X(HOME, IN_HOME, NULL)                                                                     \
	X(TMPDIR, IN_TMP, NULL)                                                                    \
	X(XDG_CONFIG_HOME, IN_ENV, ".config")                                                      \
	X(XDG_CACHE_HOME, IN_ENV, ".cache")                                                        \
	X(XDG_DATA_HOME, IN_ENV, ".local/share")                                                   \
	X(XDG_STATE_HOME, IN_ENV, ".local/state")                                                  \
	X(XDG_RUNTIME_DIR, IN_ENV, NULL)                                                           \
	X(CARGO_HOME, IN_ENV, ".cargo")                                                            \
	X(RUSTUP_HOME, IN_ENV, ".rustup")                                                          \
	X(GOPATH, IN_ENV, "go")                                                                    \
	X(PIP_CACHE_DIR, IN_ENV, ".cache/pip")                                                     \
	X(npm_config_cache, IN_ENV, ".npm")                                                        \
	X(CODEX_HOME, IN_ENV, ".codex")                                                            \
	X(CLAUDE_CONFIG_DIR, IN_ENV, ".claude")                                                    \
	X(CLAUDE_BESIDE, IN_BESIDE, NULL)                                                          \
	X(GEMINI_DIR, IN_ENV, ".gemini")                                                           \
	X(GROK_HOME, IN_ENV, ".grok")                                                              \
	X(QWEN_HOME, IN_ENV, ".qwen")                                                              \
	X(UV_CACHE_DIR, IN_ENV, ".cache/uv")                                                       \
	X(GRADLE_USER_HOME, IN_ENV, ".gradle")                                                     \
	X(GRIDA_USER_DATA, IN_ENV, ".config/Grida")                                                \
	X(GITHUB_OUTPUT, IN_ENV, NULL)                                                             \
	X(GITHUB_STEP_SUMMARY, IN_ENV, NULL)                                                       \
	X(GITHUB_STATE, IN_ENV, NULL)

static const struct var {
	const char *name;
	enum where where;
	const char *below_home;
} vars[] = {
#define X(name, where, below) {#name, where, below},
	VARS(X)
#undef X
};
enum { NVARS = sizeof vars / sizeof *vars };

/* Bytes of "${NAME}" at the beginning; 0: there is none. */
static size_t var_len(const char *text)
{
	const char *end = text[0] == '$' && text[1] == '{' ? strchr(text, '}') : NULL;

	return end ? (size_t)(end - text) + 1 : 0;
}

static const struct var *find(const char *text)
{
	size_t n = var_len(text);

	for (int i = 0; n && i < NVARS; i++)
		if (strlen(vars[i].name) == n - 3 && !memcmp(vars[i].name, text + 2, n - 3))
			return &vars[i];
	return NULL;
}

size_t pol_root_head(const char *text)
{
	size_t n = var_len(text);

	return n ? n : *text == '/' || *text == '~';
}

static int fail_var(const struct pol_text *t, const char *key, struct b_err *err)
{
	struct b_near near = B_NEAR_INIT;
	struct b_str known = {0};
	size_t n = var_len(t->s);

	for (int i = 0; i < NVARS; i++) {
		b_near_offer(&near, t->s + 2, n - 3, vars[i].name, strlen(vars[i].name));
		b_str_addf(&known, "%s%s", i ? ", " : "", vars[i].name);
	}
	if (near.text)
		pol_pos_fail(err, &t->pos, "%s: unknown variable `%.*s`, did you mean `${%s}`?",
			     key, (int)n, t->s, near.text);
	else
		pol_pos_fail(err, &t->pos, "%s: unknown variable `%.*s`, expected one of %s", key,
			     (int)n, t->s, b_str_c(&known));
	b_str_release(&known);
	return -1;
}

static bool has_dotdot(const char *s)
{
	for (; *s; s += strspn(s, "/")) {
		size_t n = strcspn(s, "/");

		if (n == 2 && s[0] == '.' && s[1] == '.')
			return true;
		s += n;
	}
	return false;
}

int pol_root_check(const struct pol_text *t, const char *key, struct b_err *err)
{
	size_t n = strlen(t->s), head = pol_root_head(t->s);

	if (n > POL_MAX_RULE_LEN)
		return pol_pos_fail(err, &t->pos, "%s: a rule of more than %d bytes", key,
				    POL_MAX_RULE_LEN);
	if (!b_utf8_valid(t->s, n))
		return pol_pos_fail(err, &t->pos, "%s: a rule that is not UTF-8", key);
	if (var_len(t->s) && !find(t->s))
		return fail_var(t, key, err);
	if (head == 0 || (t->s[0] != '/' && t->s[head] && t->s[head] != '/'))
		return pol_pos_fail(err, &t->pos,
				    "%s: `%s`, expected a rule that begins with /, ~/ or a "
				    "variable like ${HOME}/",
				    key, t->s);
	if (has_dotdot(t->s))
		return pol_pos_fail(err, &t->pos, "%s: `%s` contains `..`", key, t->s);
	return 0;
}

bool pol_root_is_local(const char *text)
{
	const struct var *v = find(text);

	return v && v->where <= IN_GIT_COMMON;
}

/* The environment is the caller's, and may hold anything: what is no place of its own does not
 * count. */
static const char *from_environment(const char *name)
{
	const char *s = getenv(name);

	return s && s[0] == '/' && s[strspn(s, "/")] ? s : NULL;
}

/* As it is spelled: links are as they are. */
static const char *host_spelled(struct b_arena *a, const char *scratch, const struct var *v)
{
	const char *dir = from_environment(v->name), *home;

	if (v->where == IN_HOME)
		return pol_home_spelled(a);
	/* where claude keeps files unless it was given a directory */
	if (v->where == IN_BESIDE)
		return from_environment("CLAUDE_CONFIG_DIR") ? NULL : pol_home_spelled(a);
	if (v->where == IN_TMP && scratch)
		return scratch;
	if (v->where == IN_TMP && !dir)
		dir = "/tmp";
	/* gemini itself asks for what its directory lies in */
	if (!dir && strcmp(v->name, "GEMINI_DIR") == 0 && from_environment("GEMINI_CLI_HOME"))
		dir = b_arena_printf(a, "%s/.gemini", from_environment("GEMINI_CLI_HOME"));
	if (!dir && v->below_home) {
		home = pol_home_spelled(a);
		dir = home ? b_arena_printf(a, "%s/%s", home, v->below_home) : NULL;
	}
	return dir;
}

static const char *host_dir(struct b_arena *a, const char *scratch, const struct var *v)
{
	const char *dir = host_spelled(a, scratch, v);

	dir = dir ? pol_canonical(a, dir) : NULL;
	return dir && (dir[1] || v->where == IN_HOME) ? dir : NULL; /* "/tmp/.." is no place */
}

static const struct var *find_env(const char *name)
{
	for (int i = 0; i < NVARS; i++)
		if (vars[i].where == IN_ENV && strcmp(vars[i].name, name) == 0)
			return &vars[i];
	return NULL;
}

const char *pol_var_dir(struct b_arena *a, const char *name)
{
	const struct var *v = find_env(name);

	return v ? host_dir(a, NULL, v) : NULL;
}

const char *pol_var_place(struct b_arena *a, const char *name, const char *const *workspaces,
			  size_t n)
{
	const struct var *v = find_env(name);
	const char *dir = v ? host_spelled(a, NULL, v) : NULL, *link;

	dir = dir ? pol_hosts_place(a, dir, workspaces, n, &link) : NULL;
	return dir && dir[1] ? dir : NULL;
}

const char *pol_root_spelled(struct pol_build *b, const char *text)
{
	const struct var *v = find(text);

	if (!v)
		return *text == '~' ? pol_home_spelled(&b->rs->arena) : NULL;
	return v->where > IN_GIT_COMMON ? host_spelled(&b->rs->arena, b->rq->scratch, v) : NULL;
}

const char *pol_root_dir(struct pol_build *b, const char *text, size_t w)
{
	const struct var *v = find(text);
	struct pol_git git;

	if (!v)
		return *text == '/' ? "/" : pol_home(&b->rs->arena);
	if (v->where == IN_WORKSPACE)
		return pol_build_local(b, w);
	if (v->where > IN_GIT_COMMON)
		return host_dir(&b->rs->arena, b->rq->scratch, v);
	pol_git_find(&b->rs->arena, b->rs->workspaces[w], &git);
	return v->where == IN_TOPLEVEL ? git.toplevel : v->where == IN_GIT ? git.dir : git.common;
}
