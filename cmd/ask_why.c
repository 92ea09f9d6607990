/* SPDX-License-Identifier: Apache-2.0 */
/* ask_why.c - sbx-policy why: what is allowed, by which rule, held by what. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "core/path.h"
#include "launcher/report/host.h"
#include "policy/engine.h"
#include "policy/questions/connect.h"
#include "policy/questions/explain.h"
#include "sbpl/ops.h"
#include "sbpl/program.h"
#include "sbpl/sbpl.h"

#define MAX_STDIN (64u << 20) /* bytes of paths */

static int find_op(const char *word, enum sbx_op *out, struct b_err *err)
{
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		if (strcmp(word, sbx_op_name((enum sbx_op)op)) != 0)
			continue;
		*out = (enum sbx_op)op;
		return 0;
	}
	return b_fail(err, B_USAGE, 0,
		      "why: no operation `%s`, expected one of read, modify, exec, connect", word);
}

/* A path that cannot be judged is trouble; the others are answered all the same. */
struct answers {
	struct b_str text;
	bool some_denied, trouble;
};

static void add_exception(void *ctx, const char *what, unsigned line, const char *text)
{
	b_str_addf(ctx, "  but       %s: line %u: %s\n", what, line, text);
}

static void add_json_exception(void *ctx, const char *what, unsigned line, const char *text)
{
	(void)line, (void)text;
	b_json_str(ctx, what);
}

/* What the profile for macOS says, and the line that decides. */
static void why_macos(const struct ask_opts *o, struct asked *a, const struct pol_answer *answer,
		      struct answers *to)
{
	struct b_str *out = &to->text;
	struct b_json j = {.out = out};
	const char *text;
	unsigned line;
	bool allowed = ask_macos_allows(a->macos, answer->op, answer->real, &line, &text);

	to->some_denied |= !allowed;
	if (!o->json) {
		b_str_addf(out, "%s %s ", allowed ? "allowed" : "denied", sbx_op_name(answer->op));
		b_str_add_visible(out, answer->path, strlen(answer->path));
		b_str_addf(out, "\n  on macos  line %u: %s\n", line, text);
		if (allowed && answer->op == SBX_MODIFY)
			ask_macos_exceptions(a->macos, answer->real, add_exception, out);
		return;
	}
	b_json_open(&j, '{');
	b_json_key(&j, "op");
	b_json_str(&j, sbx_op_name(answer->op));
	b_json_bytes(&j, "path", answer->path, strlen(answer->path));
	b_json_key(&j, "on");
	b_json_str(&j, "macos");
	b_json_key(&j, "allowed");
	b_json_bool(&j, allowed);
	b_json_key(&j, "line");
	b_json_u64(&j, line);
	b_json_key(&j, "clause");
	b_json_str(&j, text);
	b_json_key(&j, "but");
	b_json_open(&j, '[');
	if (allowed && answer->op == SBX_MODIFY)
		ask_macos_exceptions(a->macos, answer->real, add_json_exception, &j);
	b_json_close(&j, ']');
	b_json_close(&j, '}');
	b_str_addc(out, '\n');
}

static void why_endpoint(const struct ask_opts *o, struct asked *a, const char *text,
			 struct answers *to)
{
	b_auto(b_arena_release) struct b_arena arena = {0};
	struct sbx_exe *exes = b_arena_alloc(&arena, (o->exes.n + 1) * sizeof *exes);
	const struct pol_who who = {exes, o->exes.n};
	struct pol_connect_answer answer;
	struct b_err err;

	for (size_t i = 0; i < o->exes.n; i++)
		exes[i] = pol_connect_exe(&arena, o->exes.v[i]);
	if (pol_connect_check(a->plan.engine, &arena, text, &who, &answer, &err) < 0) {
		(void)ask_trouble(&err);
		to->trouble = true;
		return;
	}
	if (o->on != ON_MACOS && lau_host_has_net_ns())
		pol_connect_inside(a->plan.engine, &who, &answer);
	(o->json ? pol_connect_json : pol_connect_text)(a->plan.engine, &answer, &who, o->all,
							&to->text);
	to->some_denied |= !answer.a.allowed;
}

/* What follows "/proc/PID/" or "/proc/PID/task/TID/", PID a number or `self`; NULL: of no process.
 */
static const char *of_process(const char *path, bool *out_self)
{
	const char *p = path + 6;
	size_t n;

	if (!b_has_prefix(path, "/proc/"))
		return NULL;
	*out_self = b_has_prefix(p, "self/") || b_has_prefix(p, "thread-self/");
	n = strspn(p, "0123456789");
	if (!*out_self && (!n || p[n] != '/'))
		return NULL;
	p = strchr(p, '/') + 1;
	if (!b_has_prefix(p, "task/"))
		return p;
	p += 5;
	p += strspn(p, "0123456789");
	return *p == '/' ? p + 1 : NULL;
}

/* Links of the command itself lead where those of whoever asks do: it starts in this directory. The
 * path behind them, in `room`; else the path as it is. */
static const char *past_own_links(const char *path, struct b_str *room)
{
	bool is_self;
	const char *p = of_process(path, &is_self);
	char here[PATH_MAX];
	size_t n;

	if (!p || !is_self || !getcwd(here, sizeof here))
		return path;
	n = b_has_prefix(p, "cwd") ? 3 : b_has_prefix(p, "root") ? 4 : 0;
	if (!n || (p[n] && p[n] != '/'))
		return path;
	if (n == 3)
		b_str_addf(room, "%s%s", here, p + n);
	else
		b_str_addf(room, "/%s", p[n] ? p + n + 1 : "");
	return room->s;
}

/* What the kernel shows of a process to those alone who could trace it: nobody inside can do so to
 * a process outside, nor to the launcher's. */
static bool is_of_another(const char *path)
{
	static const char *const open_to_all[] = {"stat",     "statm",	   "status", "cmdline",
						  "comm",     "limits",	   "cgroup", "mounts",
						  "wchan",    "mountinfo", "sched",  "oom_score",
						  "loginuid", "sessionid", "task",   "net"};
	bool is_self;
	const char *p = of_process(path, &is_self);
	size_t n = p ? strcspn(p, "/") : 0;

	if (!p || is_self || !n)
		return false;
	for (size_t i = 0; i < sizeof open_to_all / sizeof *open_to_all; i++)
		if (strlen(open_to_all[i]) == n && !strncmp(p, open_to_all[i], n))
			return false;
	return true;
}

/* The workspace that holds the path; NULL: none does. */
static const char *workspace_of(const struct pol_ruleset *rules, const char *path)
{
	for (size_t i = 0; i < rules->nworkspaces; i++)
		if (sbx_path_under(path, strlen(path), rules->workspaces[i],
				   strlen(rules->workspaces[i])))
			return rules->workspaces[i];
	return NULL;
}

/* A command opens a relative path from its directory, which is that of whoever asks. Outside of the
 * workspaces it is one of the first workspace's. The path in `room`, or as it is. */
static const char *from_here(const struct pol_ruleset *rules, const char *path, struct b_str *room)
{
	char here[PATH_MAX];

	if (!*path || *path == '/' || *path == '~' || !getcwd(here, sizeof here) ||
	    !workspace_of(rules, here))
		return path;
	b_str_addf(room, "%s/%s", strcmp(here, "/") ? here : "", path);
	return room->s;
}

/* As "./x" where it was asked as a relative path, and is one of the first workspace's. */
static const char *shown_so(struct pol_engine *e, const char *asked, const char *real)
{
	const char *ws = e->rules.workspaces[0];
	size_t n = strcmp(ws, "/") == 0 ? 0 : strlen(ws);

	if (*asked == '/' || !sbx_path_under(real, strlen(real), ws, strlen(ws)))
		return *asked == '/' ? asked : real;
	return real[n] ? b_arena_printf(&e->rules.arena, ".%s", real + n) : ".";
}

static void why_one(const struct ask_opts *o, struct asked *a, enum sbx_op op, const char *path,
		    struct answers *to)
{
	b_auto(b_str_release) struct b_str room = {0}, behind = {0};
	const char *asked = path;
	struct pol_answer answer;
	const char *floor;
	struct b_err err;

	if (op == SBX_CONNECT && !pol_is_socket_path(path)) {
		why_endpoint(o, a, path, to);
		return;
	}
	path = from_here(&a->plan.engine->rules, path, &room);
	if (o->on != ON_MACOS)
		path = past_own_links(path, &behind);
	if (pol_engine_check(a->plan.engine, op, path, &answer, &err) < 0) {
		(void)ask_trouble(&err);
		to->trouble = true;
		return;
	}
	if (path != asked)
		answer.path = shown_so(a->plan.engine, asked, answer.real);
	if (o->on == ON_MACOS) {
		why_macos(o, a, &answer, to);
		return;
	}
	floor = pol_explain_floor(&a->plan.floor, op, answer.real, answer.allowed);
	if (answer.allowed && is_of_another(path)) {
		answer.allowed = false;
		answer.matched = "<another process>";
		answer.origin = "builtin:kernel";
		answer.rule = answer.overrode = NULL;
		floor = "kernel";
	}
	if (o->json)
		pol_explain_json(&answer, floor, o->all ? a->plan.engine : NULL, &to->text);
	else
		pol_explain_text(&answer, floor, &to->text);
	if (o->all && !o->json)
		pol_explain_matches(&answer, a->plan.engine, &to->text);
	to->some_denied |= !answer.allowed;
}

/* Paths from standard input: each ended by a NUL, the last may lack it. */
static int why_stdin(const struct ask_opts *o, struct asked *a, enum sbx_op op, struct answers *to,
		     struct b_err *err)
{
	b_auto(b_str_release) struct b_str in = {0};
	const char *p, *end;

	for (;;) {
		ssize_t n = b_read_full(STDIN_FILENO, b_str_room(&in, 65536), 65536);

		if (n < 0)
			return b_fail(err, B_SYSTEM, errno, "standard input: %s", strerror(errno));
		b_str_advance(&in, (size_t)n);
		if (in.len > MAX_STDIN)
			return b_fail(err, B_LIMIT, 0, "standard input: more than %u bytes",
				      MAX_STDIN);
		if (n < 65536)
			break;
	}
	for (p = in.s, end = in.s + in.len; p < end; p += strlen(p) + 1)
		why_one(o, a, op, p, to);
	return 0;
}

static int why_all(const struct ask_opts *o, enum sbx_op op, char const *const *paths, size_t n)
{
	b_auto(asked_release) struct asked a;
	struct answers to = {0};
	struct b_err err;
	int status;

	if (ask_run(o, &a, &err) < 0)
		return ask_trouble(&err);
	if (o->on == ON_MACOS && ask_macos_new(o, &a, &a.macos, &err) < 0)
		return ask_trouble(&err);
	ask_notices(a.plan.engine);
	for (size_t i = 0; i < n; i++)
		why_one(o, &a, op, paths[i], &to);
	if (o->from_stdin && why_stdin(o, &a, op, &to, &err) < 0) {
		(void)ask_trouble(&err);
		to.trouble = true;
	}
	status = ask_print(&to.text, to.trouble ? TROUBLE : to.some_denied ? NO : YES);
	b_str_release(&to.text);
	return status;
}

int ask_why(struct ask_opts *o, char const *const *words, size_t n)
{
	enum sbx_op op = SBX_OP_COUNT;
	struct b_err err;

	if (n == 0 || (n == 1 && !o->from_stdin)) {
		b_fail(&err, B_USAGE, 0, "why: expected sbx-policy why [options] OP PATH...");
		return ask_trouble(&err);
	}
	if (find_op(words[0], &op, &err) < 0)
		return ask_trouble(&err);
	return why_all(o, op, words + 1, n - 1);
}

/* The profile for macOS that the options make, shown and asked. */

struct ask_macos {
	struct sbpl_profile profile;
	struct sbpl_program *program;
	struct b_arena arena;
};

static int compile(const struct ask_opts *o, const struct asked *a, struct sbpl_profile *out,
		   struct b_err *err)
{
	const struct pol_engine *engine = a->plan.engine;
	struct sbpl_opts opts = sbpl_opts_of(&engine->effect);

	sbpl_opts_add(&opts, &a->dirs.layers.main.settings, a->dirs.layers.n > 0);
	opts.own_sockets = a->dirs.scratch.path;
	opts.style = (enum sbpl_style)o->style;
	opts.orbit = (struct sbpl_orbit_env){
		.home = getenv("HOME"),
		.codex_home = getenv("CODEX_HOME"),
		.claude_config_dir = getenv("CLAUDE_CONFIG_DIR"),
		.grok_home = getenv("GROK_HOME"),
	};
	return sbpl_compile(&engine->rules, &engine->image, &opts, out, err);
}

int ask_macos_show(const struct ask_opts *o, const struct asked *a, struct b_str *out,
		   struct b_err *err)
{
	struct sbpl_profile prof;

	if (compile(o, a, &prof, err) < 0)
		return -1;
	sbpl_profile_show(&prof, out);
	sbpl_profile_release(&prof);
	return 0;
}

int ask_macos_new(const struct ask_opts *o, const struct asked *a, struct ask_macos **out,
		  struct b_err *err)
{
	struct ask_macos *m = b_calloc(1, sizeof *m);
	struct sbpl_source source = {.name = "profile"};

	if (compile(o, a, &m->profile, err) < 0) {
		free(m);
		return -1;
	}
	source.text = m->profile.text;
	source.len = m->profile.len;
	source.params = m->profile.params;
	source.nparams = m->profile.nparams;
	if (sbpl_program_new(&source, &m->program, err) < 0) {
		ask_macos_free(m);
		return -1;
	}
	*out = m;
	return 0;
}

void ask_macos_free(struct ask_macos *m)
{
	if (!m)
		return;
	if (m->program)
		sbpl_program_free(m->program);
	sbpl_profile_release(&m->profile);
	b_arena_release(&m->arena);
	free(m);
}

/* Line `n` of the profile, from 1, without what follows the form. */
static const char *line_text(struct ask_macos *m, unsigned n)
{
	const char *p = m->profile.text;
	size_t len;

	while (n-- > 1) {
		p += strcspn(p, "\n");
		p += *p == '\n';
	}
	len = strcspn(p, "\n");
	return b_arena_strndup(&m->arena, p, len);
}

bool ask_macos_allows(struct ask_macos *m, enum sbx_op op, const char *path, unsigned *out_line,
		      const char **out_text)
{
	const char *there = sbpl_canonical_path(&m->arena, path);
	const struct sbpl_question q = {
		.op = sbpl_op_find(sbpl_op_of(op)), .path = there, .len = strlen(there)};
	bool allowed = sbpl_program_allows(m->program, &q, out_line);

	*out_text = *out_line ? line_text(m, *out_line) : "";
	return allowed;
}

void ask_macos_exceptions(struct ask_macos *m, const char *path, ask_macos_exception *tell,
			  void *ctx)
{
	static const struct {
		const char *op, *file, *directory;
	} asked[] = {
		{"file-write-create", "may not be made", "may not be made as a directory"},
		{"file-write-unlink", "may not be moved or removed",
		 "may not be moved or removed if a directory"},
	};
	const char *there = sbpl_canonical_path(&m->arena, path);

	for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
		struct sbpl_question q = {.op = sbpl_op_find(asked[i].op),
					  .path = there,
					  .len = strlen(there),
					  .vnode = SBPL_V_REGULAR_FILE};
		const char *what = asked[i].file;
		unsigned line;

		if (sbpl_program_allows(m->program, &q, &line)) {
			q.vnode = SBPL_V_DIRECTORY;
			what = asked[i].directory;
			if (sbpl_program_allows(m->program, &q, &line))
				continue;
		}
		tell(ctx, what, line, line ? line_text(m, line) : "");
	}
}
