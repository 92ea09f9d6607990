/* SPDX-License-Identifier: Apache-2.0 */
/* trust.c - which project files the user trusts, and the protection of all documents in use. */
#include "policy/document/documents.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/path.h"
#include "policy/document/layers.h"
#include "policy/rules/build.h"
#include "policy/rules/workspace.h"

enum { HASH_LEN = B_SHA256_HEX - 1, PATH_AT = HASH_LEN + 2 };

static void list_path(const char *config, struct b_str *out)
{
	b_str_addf(out, "%s/trusted", config);
}

void pol_trust_list(const char *config, struct b_str *out)
{
	b_auto(b_str_release) struct b_str path = {0};

	if (!config)
		return;
	list_path(config, &path);
	/* owner and mode as of a policy */
	if (pol_policy_read(b_str_c(&path), out, NULL) < 0)
		b_str_reset(out);
}

/* The next line of the list that is one of ours: *out_path ends where it ends. */
static const char *next_line(const char **text, size_t *out_len)
{
	while (**text) {
		const char *line = *text;
		size_t n = strcspn(line, "\n");

		*text += n + (line[n] == '\n');
		if (n > PATH_AT && line[HASH_LEN] == ' ' && line[PATH_AT] == '/') {
			*out_len = n;
			return line;
		}
	}
	return NULL;
}

static bool is_about(const char *line, size_t n, const char *path)
{
	return n - PATH_AT == strlen(path) && memcmp(line + PATH_AT, path, n - PATH_AT) == 0;
}

const char *pol_trust_place(struct pol_layers *l, const char *const *workspaces, size_t n)
{
	const char *config = pol_config_dir(&l->arena), *link, *real;

	real = config ? pol_hosts_place(&l->arena, config, workspaces, n, &link) : NULL;
	for (size_t i = 0; real && i < n; i++)
		if (sbx_path_under(real, strlen(real), workspaces[i], strlen(workspaces[i])))
			real = NULL;
	if (config && !real)
		pol_layers_tell(
			l, b_arena_printf(&l->arena,
					  "%s lies in the workspace, or a symlink that a run may "
					  "have made leads there: trust that it lists does not "
					  "count",
					  config));
	return real ? config : NULL;
}

enum pol_trust pol_trust_of(const char *config, const char *path, const char hash[B_SHA256_HEX])
{
	b_auto(b_str_release) struct b_str text = {0};
	enum pol_trust found = POL_UNTRUSTED;
	const char *at, *line;
	size_t n;

	pol_trust_list(config, &text);
	for (at = b_str_c(&text); (line = next_line(&at, &n));) {
		if (!is_about(line, n, path))
			continue;
		if (memcmp(line, hash, HASH_LEN) == 0)
			return POL_TRUSTED;
		found = POL_TRUST_CHANGED;
	}
	return found;
}

int pol_trust_set(const char *config, const char *path, const char *hash, struct b_err *err)
{
	b_auto(b_str_release) struct b_str old = {0}, new = {0}, file = {0};
	const char *at, *line;
	size_t n;

	if (!config)
		return b_fail(err, B_SYSTEM, 0,
			      "no home directory: set XDG_CONFIG_HOME to the directory where trust "
			      "is recorded");
	if (strchr(path, '\n'))
		return b_fail(err, B_USAGE, 0, "a path with a line break cannot be trusted");
	pol_trust_list(config, &old);
	for (at = b_str_c(&old); (line = next_line(&at, &n));)
		if (!is_about(line, n, path))
			b_str_addf(&new, "%.*s\n", (int)n, line);
	if (hash)
		b_str_addf(&new, "%s  %s\n", hash, path);
	list_path(config, &file);
	if (b_mkdirs(config, err) < 0)
		return -1;
	return b_write_file(b_str_c(&file), 0600, b_str_c(&new), new.len, true, err);
}

/* The documents of the run, and where trust and policies are kept, are never changed
 * from inside: what the command wrote there would be the policy of the next run. */

static void add(struct pol_build *b, const char *path, enum pol_shape shape, size_t *nth)
{
	struct pol_rule r = {
		.tier = POL_TIER_BASE,
		.shape = shape,
		.base = path,
		.matched = shape == POL_TREE ? pol_build_join(b, path, "**") : path,
		.origin = b_arena_printf(&b->rs->arena, "builtin:documents:%zu", (*nth)++),
	};

	pol_build_add(b, POL_OPS(SBX_MODIFY), &r, POL_TWIN_ALWAYS);
}

static const char *absolute(struct pol_build *b, const char *text)
{
	char here[PATH_MAX];

	if (text[0] == '/')
		return text;
	return getcwd(here, sizeof here) ? pol_build_join(b, here, text) : NULL;
}

/* The name itself may be a link, which must not be replaced either: only its directory is
 * resolved here, the link has its twin. */
static const char *below_real(struct pol_build *b, const char *path)
{
	struct b_arena *a = &b->rs->arena;
	const char *slash = strrchr(path, '/');

	return pol_build_join(
		b,
		pol_canonical(a, slash == path ? "/"
					       : b_arena_strndup(a, path, (size_t)(slash - path))),
		slash + 1);
}

/* A link on the way leads to another document when another link takes its place. */
static void add_links(struct pol_build *b, const char *text, size_t *nth)
{
	struct b_arena *a = &b->rs->arena;
	char link[1];

	for (const char *p = strchr(text + 1, '/'); p; p = strchr(p + 1, '/')) {
		const char *name = b_arena_strndup(a, text, (size_t)(p - text));

		if (p[-1] != '/' && readlink(name, link, sizeof link) > 0)
			add(b, below_real(b, name), POL_EXACT, nth);
	}
}

static void add_document(struct pol_build *b, const char *text, size_t *nth)
{
	const char *path = absolute(b, text);

	if (!path)
		return;
	add(b, below_real(b, path), POL_EXACT, nth);
	add_links(b, path, nth);
}

/* Without a broker it is left to where such files lie, as the protected set is. */
void pol_build_documents(struct pol_build *b)
{
	const char *config = pol_config_dir(&b->rs->arena);
	const struct pol_texts *files = &b->layers->main.files;
	size_t nth = 1;

	if (!b->rq->with_protected)
		return;
	for (size_t i = 0; i < files->n; i++)
		add_document(b, files->v[i].s, &nth);
	if (b->rq->also_used)
		add_document(b, b->rq->also_used, &nth);
	for (size_t w = 0; w < b->rs->nworkspaces; w++)
		add(b, pol_build_join(b, b->rs->workspaces[w], POL_PROJECT_FILE), POL_EXACT, &nth);
	add(b, POL_HOST_DIR, POL_TREE, &nth);
	if (!config)
		return;
	add(b, config, POL_TREE, &nth);
	add_links(b, config, &nth);
}
