/* canon.c - filters are compared with the resolved path and are not resolved themselves: a rule
 * on /tmp would be dead, a dead deny open. */
#include <string.h>

#include "base/mem.h"
#include "core/path.h"
#include "policy/glob.h"
#include "sbpl/emit.h"

static const struct {
	const char *from, *to;
} links[] = {
	{"/tmp", "/private/tmp"},
	{"/var", "/private/var"},
	{"/etc", "/private/etc"},
	{"/home", "/System/Volumes/Data/home"},
};

/* NULL: as it is. */
static const char *resolve(struct b_arena *a, const char *path, size_t len)
{
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		size_t n = strlen(links[i].from);

		if (sbx_path_under(path, len, links[i].from, n))
			return b_arena_printf(a, "%s%.*s", links[i].to, (int)(len - n), path + n);
	}
	return NULL;
}

const char *sbpl_canonical_path(struct b_arena *a, const char *path)
{
	const char *real = resolve(a, path, strlen(path));

	return real ? real : path;
}

/* The base, and of a glob its literal directories, too: "" with "tmp/x*" is /tmp with "x*". */
static bool resolve_rule(struct b_arena *a, struct pol_rule *r)
{
	size_t prefix = r->shape == POL_GLOB && !r->folds ? pol_glob_literal_prefix(r->glob) : 0;
	const char *path = r->base, *real;

	if (prefix > 0 && r->glob[prefix])
		path = b_arena_printf(a, "%s/%.*s", r->base, (int)prefix, r->glob);
	real = resolve(a, path, strlen(path));
	if (!real)
		return false;
	if (path != r->base) {
		r->glob += prefix + 1;
		r->base_is_root = false;
	}
	r->base = real;
	r->base_len = strlen(real);
	return true;
}

bool sbpl_canonical(const struct pol_ruleset *rs, struct pol_ruleset *out)
{
	struct b_arena scratch = {0};
	bool changed = false;

	for (int op = 0; op < SBX_OP_COUNT; op++)
		for (size_t i = 0; i < rs->op[op].n; i++) {
			struct pol_rule r = rs->op[op].v[i];

			changed |= resolve_rule(&scratch, &r);
			pol_ruleset_add(out, (enum sbx_op)op, &r);
		}
	b_arena_release(&scratch);
	return changed;
}
