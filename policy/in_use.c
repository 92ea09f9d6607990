/* in_use.c - the documents of the run, and where trust and policies are kept, are never changed
 * from inside: what the command wrote there would be the policy of the next run. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "policy/build.h"
#include "policy/layers.h"
#include "policy/workspace.h"

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

	return pol_build_join(b,
			      pol_canonical(a, slash == path ? "/"
							     : b_arena_strndup(a, path,
									       (size_t)(slash -
											path))),
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
