/* SPDX-License-Identifier: Apache-2.0 */
/*
 * moved.c - variables of the environment that put another directory or file in the place of one
 * below the home.
 *
 * One table for the set `secrets` and for the rows `reached` of `protected`: what a row says of the
 * home it also says of the place that is used. An empty or relative value counts as unset.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "core/path.h"
#include "policy/compile/ruleset.h"
#include "policy/front/tree.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

enum kind {
	DIR_AT, /* names that begin with `below` lie in its directory, where they begin with `at` */
	FILES	/* it names that file, or several, separated by `:` */
};

static const struct variable {
	const char *name;
	const char *below; /* the home */
	const char *at;
	enum kind kind;
} variables[] = {
	{"XDG_CONFIG_HOME", ".config/", "", DIR_AT},
	{"XDG_DATA_HOME", ".local/share/", "", DIR_AT},
	{"XDG_STATE_HOME", ".local/state/", "", DIR_AT},
	{"XDG_CACHE_HOME", ".cache/", "", DIR_AT},
	{"XDG_RUNTIME_DIR", ".config/containers/auth.json", "containers/auth.json", DIR_AT},
	{"CLAUDE_CONFIG_DIR", ".claude/", "", DIR_AT},
	{"CLAUDE_CONFIG_DIR", ".claude.json", ".claude.json", DIR_AT},
	{"CODEX_HOME", ".codex/", "", DIR_AT},
	{"GEMINI_DIR", ".gemini/", "", DIR_AT},
	{"GEMINI_CLI_HOME", ".gemini/", ".gemini/", DIR_AT},
	{"GROK_HOME", ".grok/", "", DIR_AT},
	{"QWEN_HOME", ".qwen/", "", DIR_AT},
	{"GRADLE_USER_HOME", ".gradle/", "", DIR_AT},
	{"CARGO_HOME", ".cargo/", "", DIR_AT},
	{"RUSTUP_HOME", ".rustup/", "", DIR_AT},
	{"GOPATH", "go/", "", DIR_AT},
	{"npm_config_cache", ".npm/", "", DIR_AT},
	{"NPM_CONFIG_CACHE", ".npm/", "", DIR_AT},
	{"PIP_CACHE_DIR", ".cache/pip/", "", DIR_AT},
	{"UV_CACHE_DIR", ".cache/uv/", "", DIR_AT},
	{"UV_CREDENTIALS_DIR", ".local/share/uv/credentials/", "", DIR_AT},
	{"UV_TOOL_DIR", ".local/share/uv/tools/", "", DIR_AT},
	{"POETRY_CACHE_DIR", ".cache/pypoetry/", "", DIR_AT},
	{"POETRY_CONFIG_DIR", ".config/pypoetry/", "", DIR_AT},
	{"POETRY_VIRTUALENVS_PATH", ".cache/pypoetry/virtualenvs/", "", DIR_AT},
	{"HF_HOME", ".cache/huggingface/", "", DIR_AT},
	{"GNUPGHOME", ".gnupg/", "", DIR_AT},
	{"PASSWORD_STORE_DIR", ".password-store/", "", DIR_AT},
	{"DOCKER_CONFIG", ".docker/", "", DIR_AT},
	{"GH_CONFIG_DIR", ".config/gh/", "", DIR_AT},
	{"GLAB_CONFIG_DIR", ".config/glab-cli/", "", DIR_AT},
	{"CLOUDSDK_CONFIG", ".config/gcloud/", "", DIR_AT},
	{"AZURE_CONFIG_DIR", ".azure/", "", DIR_AT},
	{"FLY_CONFIG_DIR", ".fly/", "", DIR_AT},
	{"PULUMI_HOME", ".pulumi/", "", DIR_AT},
	{"KAGGLE_CONFIG_DIR", ".kaggle/", "", DIR_AT},
	{"COMPOSER_HOME", ".config/composer/", "", DIR_AT},
	{"SOLANA_CONFIG_DIR", ".config/solana/", "", DIR_AT},
	{"AWS_SHARED_CREDENTIALS_FILE", ".aws/credentials", NULL, FILES},
	{"AWS_CONFIG_FILE", ".aws/config", NULL, FILES},
	{"KUBECONFIG", ".kube/config", NULL, FILES},
	{"GOOGLE_APPLICATION_CREDENTIALS", ".config/gcloud/application_default_credentials.json",
	 NULL, FILES},
	{"OCI_CLI_CONFIG_FILE", ".oci/config", NULL, FILES},
	{"HCLOUD_CONFIG", ".config/hcloud/cli.toml", NULL, FILES},
	{"DATABRICKS_CONFIG_FILE", ".databrickscfg", NULL, FILES},
	{"TF_CLI_CONFIG_FILE", ".terraformrc", NULL, FILES},
	{"TERRAFORM_CONFIG", ".terraformrc", NULL, FILES},
	{"NPM_CONFIG_USERCONFIG", ".npmrc", NULL, FILES},
	{"npm_config_userconfig", ".npmrc", NULL, FILES},
	{"NETRC", ".netrc", NULL, FILES},
	{"PGPASSFILE", ".pgpass", NULL, FILES},
	{"MYSQL_TEST_LOGIN_FILE", ".mylogin.cnf", NULL, FILES},
	{"BOTO_CONFIG", ".boto", NULL, FILES},
	{"RCLONE_CONFIG", ".config/rclone/rclone.conf", NULL, FILES},
	{"SOPS_AGE_KEY_FILE", ".config/sops/age/keys.txt", NULL, FILES},
	{"REGISTRY_AUTH_FILE", ".config/containers/auth.json", NULL, FILES},
	{"HF_TOKEN_PATH", ".cache/huggingface/token", NULL, FILES},
	{"XAUTHORITY", ".Xauthority", NULL, FILES},
	{"HISTFILE", ".bash_history", NULL, FILES},
	{"PYTHON_HISTORY", ".python_history", NULL, FILES},
	{"NODE_REPL_HISTORY", ".node_repl_history", NULL, FILES},
	{"MYSQL_HISTFILE", ".mysql_history", NULL, FILES},
	{"PSQL_HISTORY", ".psql_history", NULL, FILES},
	{"SQLITE_HISTORY", ".sqlite_history", NULL, FILES},
	{"REDISCLI_HISTFILE", ".rediscli_history", NULL, FILES},
};

enum { NVARIABLES = sizeof variables / sizeof *variables };

/* One that is set, at one place. */
struct pol_move {
	struct pol_move *next;
	const struct variable *of;
	const char *path; /* the directory or file; canonical but for the file's own name */
};

/* ---- the values ---- */

/* Where there is nothing that a denial could mean: devices, and what every process has of its own.
 */
static bool is_nowhere(const char *path)
{
	struct stat st;

	if (b_has_prefix(path, "/dev/") || b_has_prefix(path, "/proc/") || !path[1])
		return true;
	return stat(path, &st) == 0 && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
}

/* The directories on the way are followed; the name itself, if it is a link, gets a rule, too. */
static const char *place_of(struct pol_build *b, const char *value)
{
	struct b_arena *a = &b->rs->arena;
	size_t n = strlen(value);
	const char *name;

	while (n > 1 && value[n - 1] == '/')
		n--;
	value = b_arena_strndup(a, value, n);
	name = strrchr(value, '/') + 1;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return pol_canonical(a, value);
	return pol_build_join(
		b, pol_canonical(a, b_arena_printf(a, "%.*s/", (int)(name - value), value)), name);
}

/* Is it the usual place, of which the row itself speaks? */
static bool is_usual(const struct pol_build *b, const struct variable *v, const char *path)
{
	size_t len = strlen(v->below) - (v->kind == DIR_AT ? strlen(v->at) : 0);

	while (len && v->below[len - 1] == '/')
		len--;
	for (size_t i = 0; i < b->nhomes; i++) {
		size_t n = strlen(b->homes[i]);

		if (strncmp(path, b->homes[i], n) == 0 && strlen(path) == n + (len ? 1 + len : 0) &&
		    (!len || (path[n] == '/' && memcmp(path + n + 1, v->below, len) == 0)))
			return true;
	}
	return false;
}

static void add_value(struct pol_build *b, const struct variable *v, const char *value)
{
	struct b_arena *a = &b->rs->arena;
	struct pol_move *m;
	const char *path;

	/* several of these programs know the shell's `~` */
	if (value[0] == '~' && value[1] == '/' && pol_home(a))
		value = b_arena_printf(a, "%s%s", pol_home(a), value + 1);
	if (*value != '/')
		return;
	path = place_of(b, value);
	if (is_nowhere(path) || is_usual(b, v, path))
		return;
	m = b_arena_alloc(a, sizeof *m);
	*m = (struct pol_move){b->moves, v, path};
	b->moves = m;
}

/* Looked up once: nearly no start has any. */
static const struct pol_move *find_moves(struct pol_build *b)
{
	if (b->has_moves)
		return b->moves;
	b->has_moves = true;
	for (size_t i = 0; i < NVARIABLES; i++) {
		const char *at = getenv(variables[i].name);

		for (size_t n; at && *at; at += n + (at[n] == ':')) {
			n = variables[i].kind == FILES ? strcspn(at, ":") : strlen(at);
			add_value(b, &variables[i], b_arena_strndup(&b->rs->arena, at, n));
		}
	}
	return b->moves;
}

/* ---- what a row says there ---- */

/* Does the row, `a/b` or `a/` with all below, name the file? */
static bool is_of_row(const char *row, const char *file)
{
	size_t n = strlen(row);

	if (n > 3 && strcmp(row + n - 3, "/**") == 0)
		return strncmp(row, file, n - 2) == 0;
	return strcmp(row, file) == 0;
}

int pol_moves_each(struct pol_build *b, const char *row, pol_move_fn *each, void *ctx)
{
	struct b_arena *a = &b->rs->arena;
	int rc = 0;

	for (const struct pol_move *m = find_moves(b); m && rc == 0; m = m->next) {
		const struct variable *v = m->of;
		struct pol_moved at = {.dir = m->path};

		if (v->kind == FILES && is_of_row(row, v->below)) {
			at.rest = "";
			at.text = b_arena_printf(a, "${%s}", v->name);
		} else if (v->kind == DIR_AT && b_has_prefix(row, v->below)) {
			at.rest = b_arena_printf(a, "%s%s", v->at, row + strlen(v->below));
			at.text = b_arena_printf(a, "${%s}/%s", v->name, at.rest);
		} else {
			continue;
		}
		rc = each(ctx, &at);
	}
	return rc;
}

bool pol_moves_are_near(struct pol_build *b, const struct pol_rule *r)
{
	for (const struct pol_move *m = find_moves(b); m; m = m->next)
		if (sbx_path_under(r->base, r->base_len, m->path, strlen(m->path)) ||
		    sbx_path_under(m->path, strlen(m->path), r->base, r->base_len))
			return true;
	return false;
}

/* ---- files that have no place in a home ---- */

int pol_moves_named(struct pol_build *b, const char *name, pol_move_fn *each, void *ctx)
{
	const char *value = getenv(name);
	struct pol_moved at = {.rest = ""};

	/* kerberos(7): of its kinds of caches two are files */
	if (value && b_has_prefix(value, "FILE:"))
		value += 5;
	else if (value && b_has_prefix(value, "DIR:"))
		value += 4 + (value[4] == ':'); /* one of the collection */
	if (!value || *value != '/')
		return 0;
	at.dir = place_of(b, value);
	at.text = b_arena_printf(&b->rs->arena, "${%s}", name);
	return is_nowhere(at.dir) ? 0 : each(ctx, &at);
}
