/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.c - what the caller's environment says of places that outsiders run or obey.
 *
 * A variable may put another directory in the place of one below the home: the rows `reached` hold
 * there as well. Others name places themselves, as PATH does. Places among them that outsiders obey
 * are not closed, because builds and active environments write there; the launcher reports a grant
 * that reaches one. Places inside a workspace are left out: its commands write them anyway.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/document/settings.h"
#include "policy/rules/build.h"
#include "policy/rules/obeyed_priv.h"
#include "policy/rules/workspace.h"

static const char programs[] = "any program that starts another one by its name",
		  loader[] = "each program that is linked dynamically", git[] = "git",
		  python[] = "python", node[] = "node and its package managers", perl[] = "perl",
		  ruby[] = "ruby", shells[] = "shells", agents[] = "agents", java[] = "java",
		  builders[] = "cargo, go and other builders", r_julia[] = "R and julia",
		  others[] = "other programs of the user";

/* The places that a value names are separated by `:`. */
static const struct {
	const char *name;
	const char *below_home; /* in the place of it; NULL: names places itself */
	const char *by;		/* who obeys those */
} variables[] = {
	{"CLAUDE_CONFIG_DIR", ".claude/", NULL},
	{"CODEX_HOME", ".codex/", NULL},
	{"GEMINI_DIR", ".gemini/", NULL},
	{"GROK_HOME", ".grok/", NULL},
	{"QWEN_HOME", ".qwen/", NULL},
	{"GRADLE_USER_HOME", ".gradle/", NULL},
	{"CARGO_HOME", ".cargo/", NULL},
	{"RUSTUP_HOME", ".rustup/", NULL},
	{"GOPATH", "go/", NULL},
	{"npm_config_cache", ".npm/", NULL},
	{"XDG_CONFIG_HOME", ".config/", NULL},
	{"XDG_DATA_HOME", ".local/share/", NULL},
	{"PATH", NULL, programs},
	{"LD_LIBRARY_PATH", NULL, loader},
	{"LD_PRELOAD", NULL, loader},
	{"LD_AUDIT", NULL, loader},
	{"DYLD_LIBRARY_PATH", NULL, loader},
	{"DYLD_INSERT_LIBRARIES", NULL, loader},
	{"ZDOTDIR", NULL, shells},
	{"BASH_ENV", NULL, shells},
	{"ENV", NULL, shells},
	{"INPUTRC", NULL, shells},
	{"GIT_CONFIG_GLOBAL", NULL, git},
	{"GIT_CONFIG_SYSTEM", NULL, git},
	{"GIT_EXEC_PATH", NULL, git},
	{"GIT_TEMPLATE_DIR", NULL, git},
	{"GIT_SSH", NULL, git},
	{"GIT_ASKPASS", NULL, git},
	{"SSH_ASKPASS", NULL, others},
	{"SUDO_ASKPASS", NULL, others},
	{"EDITOR", NULL, others},
	{"VISUAL", NULL, others},
	{"PAGER", NULL, others},
	{"BROWSER", NULL, others},
	{"PYTHONPATH", NULL, python},
	{"PYTHONSTARTUP", NULL, python},
	{"PYTHONHOME", NULL, python},
	{"PYTHONUSERBASE", NULL, python},
	{"VIRTUAL_ENV", NULL, python},
	{"CONDA_PREFIX", NULL, python},
	{"PIP_CONFIG_FILE", NULL, python},
	{"UV_CONFIG_FILE", NULL, python},
	{"NODE_PATH", NULL, node},
	{"NPM_CONFIG_PREFIX", NULL, node},
	{"NPM_CONFIG_USERCONFIG", NULL, node},
	{"npm_config_prefix", NULL, node},
	{"npm_config_userconfig", NULL, node},
	{"NVM_DIR", NULL, node},
	{"PNPM_HOME", NULL, node},
	{"BUN_INSTALL", NULL, node},
	{"PERL5LIB", NULL, perl},
	{"PERLLIB", NULL, perl},
	{"RUBYLIB", NULL, ruby},
	{"GEM_HOME", NULL, ruby},
	{"GEM_PATH", NULL, ruby},
	{"CLASSPATH", NULL, java},
	{"JAVA_HOME", NULL, java},
	{"R_PROFILE_USER", NULL, r_julia},
	{"R_ENVIRON_USER", NULL, r_julia},
	{"R_LIBS", NULL, r_julia},
	{"R_LIBS_USER", NULL, r_julia},
	{"JULIA_DEPOT_PATH", NULL, r_julia},
	{"JULIA_LOAD_PATH", NULL, r_julia},
	{"GOROOT", NULL, builders},
	{"GOBIN", NULL, builders},
	{"GOENV", NULL, builders},
	{"RUSTC_WRAPPER", NULL, builders},
	{"MAKEFILES", NULL, builders},
	{"PKG_CONFIG_PATH", NULL, builders},
	{"CMAKE_PREFIX_PATH", NULL, builders},
	{"OPENCODE_CONFIG", NULL, agents},
	{"OPENCODE_CONFIG_DIR", NULL, agents},
	{"PI_CODING_AGENT_DIR", NULL, agents},
	{"XDG_CONFIG_DIRS", NULL, others},
	{"XDG_DATA_DIRS", NULL, others},
	{"DOCKER_CONFIG", NULL, others},
	{"KUBECONFIG", NULL, others},
	{"AWS_CONFIG_FILE", NULL, others},
};

enum { NVARIABLES = sizeof variables / sizeof *variables };

/* ---- in the place of a directory below the home ---- */

/* Where the environment says so; else it lies below the home, as the row is written. */
static const char *moved_dir(const struct pol_build *b, size_t i)
{
	const char *name = variables[i].name;
	bool is_said =
		variables[i].below_home &&
		(getenv(name) || (strcmp(name, "GEMINI_DIR") == 0 && getenv("GEMINI_CLI_HOME")));

	return is_said ? pol_var_dir(&b->rs->arena, name) : NULL;
}

void pol_obeyed_moved(struct pol_build *b, struct reached_list *list, const char *text,
		      const struct reached *row)
{
	for (size_t i = 0; i < NVARIABLES; i++) {
		const char *below = variables[i].below_home, *dir;
		struct reached r = *row;

		if (!below || !b_has_prefix(text, below) || !(dir = moved_dir(b, i)))
			continue;
		r.matched = b_arena_printf(&b->rs->arena, "${%s}/%s", variables[i].name,
					   text + strlen(below));
		pol_obeyed_at(b, list, dir, text + strlen(below), &r);
	}
}

bool pol_obeyed_near_moved(const struct pol_build *b, const struct pol_rule *r)
{
	for (size_t i = 0; i < NVARIABLES; i++) {
		const char *dir = moved_dir(b, i);

		if (dir && (sbx_path_under(r->base, r->base_len, dir, strlen(dir)) ||
			    sbx_path_under(dir, strlen(dir), r->base, r->base_len)))
			return true;
	}
	return false;
}

/* ---- named by the variable itself ---- */

static bool is_in_workspace(const struct pol_build *b, const char *path)
{
	for (size_t w = 0; w < b->rs->nworkspaces; w++) {
		const char *ws = b->rs->workspaces[w];

		if (sbx_path_under(path, strlen(path), ws, strlen(ws)))
			return true;
	}
	return false;
}

struct reached_list pol_obeyed_named(struct pol_build *b)
{
	struct b_arena *a = &b->rs->arena;
	struct reached_list list = {.n = 0};

	for (size_t i = 0; i < NVARIABLES; i++) {
		const char *at = variables[i].by ? getenv(variables[i].name) : NULL;

		for (size_t n; at && *at; at += n + (at[n] == ':')) {
			const char *path;

			n = strcspn(at, ":");
			if (*at != '/') /* here, or the name of a program */
				continue;
			path = pol_canonical(a, b_arena_strndup(a, at, n));
			if (!path[1] || is_in_workspace(b, path))
				continue;
			pol_obeyed_at(b, &list, "", b_arena_printf(a, "%s/**", path + 1),
				      &(struct reached){.matched = path,
							.by = variables[i].by,
							.variable = variables[i].name});
		}
	}
	return list;
}
