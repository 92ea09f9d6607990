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

/* The name itself may be a link, which must not be replaced either: only its directory is
 * resolved here, the link has its twin. */
static const char *absolute(struct pol_build *b, const char *text)
{
	struct b_arena *a = &b->rs->arena;
	char here[PATH_MAX];
	const char *slash, *dir;

	if (text[0] != '/') {
		if (!getcwd(here, sizeof here))
			return NULL;
		text = pol_build_join(b, here, text);
	}
	slash = strrchr(text, '/');
	dir = pol_canonical(a,
			    slash == text ? "/" : b_arena_strndup(a, text, (size_t)(slash - text)));
	return pol_build_join(b, dir, slash + 1);
}

/* Without a broker it is left to where such files lie, as the protected set is. */
void pol_build_documents(struct pol_build *b)
{
	const char *config = pol_config_dir(&b->rs->arena);
	const struct pol_texts *files = &b->layers->main.files;
	size_t nth = 1;

	if (!b->rq->with_protected)
		return;
	for (size_t i = 0; i < files->n; i++) {
		const char *path = absolute(b, files->v[i].s);

		if (path)
			add(b, path, POL_EXACT, &nth);
	}
	for (size_t w = 0; w < b->rs->nworkspaces; w++)
		add(b, pol_build_join(b, b->rs->workspaces[w], POL_PROJECT_FILE), POL_EXACT, &nth);
	if (config)
		add(b, config, POL_TREE, &nth);
}
