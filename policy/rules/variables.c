/* SPDX-License-Identifier: Apache-2.0 */
/*
 * variables.c - what the caller's environment says of places that outsiders run or obey.
 *
 * A variable may put another directory in the place of one below the home (moved.c): the rows
 * `reached` apply there as well. Others name places themselves, as PATH does. Places among them
 * that outsiders obey are not closed, because builds and active environments write there; the
 * launcher reports a grant that reaches one. Places inside a workspace are left out: its commands
 * write them anyway.
 */
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
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
	const char *by; /* who obeys those */
} variables[] = {
	{"PATH", programs},
	{"LD_LIBRARY_PATH", loader},
	{"LD_PRELOAD", loader},
	{"LD_AUDIT", loader},
	{"DYLD_LIBRARY_PATH", loader},
	{"DYLD_INSERT_LIBRARIES", loader},
	{"ZDOTDIR", shells},
	{"BASH_ENV", shells},
	{"ENV", shells},
	{"INPUTRC", shells},
	{"GIT_CONFIG_GLOBAL", git},
	{"GIT_CONFIG_SYSTEM", git},
	{"GIT_EXEC_PATH", git},
	{"GIT_TEMPLATE_DIR", git},
	{"GIT_SSH", git},
	{"GIT_ASKPASS", git},
	{"SSH_ASKPASS", others},
	{"SUDO_ASKPASS", others},
	{"EDITOR", others},
	{"VISUAL", others},
	{"PAGER", others},
	{"BROWSER", others},
	{"PYTHONPATH", python},
	{"PYTHONSTARTUP", python},
	{"PYTHONHOME", python},
	{"PYTHONUSERBASE", python},
	{"VIRTUAL_ENV", python},
	{"CONDA_PREFIX", python},
	{"PIP_CONFIG_FILE", python},
	{"UV_CONFIG_FILE", python},
	{"NODE_PATH", node},
	{"NPM_CONFIG_PREFIX", node},
	{"NPM_CONFIG_USERCONFIG", node},
	{"npm_config_prefix", node},
	{"npm_config_userconfig", node},
	{"NVM_DIR", node},
	{"PNPM_HOME", node},
	{"BUN_INSTALL", node},
	{"PERL5LIB", perl},
	{"PERLLIB", perl},
	{"RUBYLIB", ruby},
	{"GEM_HOME", ruby},
	{"GEM_PATH", ruby},
	{"CLASSPATH", java},
	{"JAVA_HOME", java},
	{"R_PROFILE_USER", r_julia},
	{"R_ENVIRON_USER", r_julia},
	{"R_LIBS", r_julia},
	{"R_LIBS_USER", r_julia},
	{"JULIA_DEPOT_PATH", r_julia},
	{"JULIA_LOAD_PATH", r_julia},
	{"GOROOT", builders},
	{"GOBIN", builders},
	{"GOENV", builders},
	{"RUSTC_WRAPPER", builders},
	{"MAKEFILES", builders},
	{"PKG_CONFIG_PATH", builders},
	{"CMAKE_PREFIX_PATH", builders},
	{"OPENCODE_CONFIG", agents},
	{"OPENCODE_CONFIG_DIR", agents},
	{"PI_CODING_AGENT_DIR", agents},
	{"XDG_CONFIG_DIRS", others},
	{"XDG_DATA_DIRS", others},
	{"DOCKER_CONFIG", others},
	{"KUBECONFIG", others},
	{"AWS_CONFIG_FILE", others},
};

enum { NVARIABLES = sizeof variables / sizeof *variables };

/* ---- in the place of a directory below the home: moved.c ---- */

struct moving {
	struct pol_build *b;
	struct reached_list *list;
	const struct reached *row;
};

static int add_moved(void *ctx, const struct pol_moved *at)
{
	const struct moving *m = ctx;
	struct reached r = *m->row;

	r.matched = at->text;
	if (*at->rest)
		pol_obeyed_at(m->b, m->list, at->dir, at->rest, &r);
	else
		pol_obeyed_at(m->b, m->list, "", at->dir + 1, &r);
	return 0;
}

void pol_obeyed_moved(struct pol_build *b, struct reached_list *list, const char *text,
		      const struct reached *row)
{
	struct moving m = {b, list, row};

	(void)pol_moves_each(b, text, add_moved, &m);
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
		const char *at = getenv(variables[i].name);

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
