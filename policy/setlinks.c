/* setlinks.c - links in a secret directory: what they lead to is as secret as they are. */
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/path.h"
#include "policy/build.h"
#include "policy/workspace.h"

enum { ENTRIES_MAX = 256 }; /* looked at in one directory */

static bool under(const char *path, const char *dir)
{
	return sbx_path_under(path, strlen(path), dir, strlen(dir));
}

/* Why what a link leads to stays open, NULL = it is closed. Closing these would take from the
 * command what it needs to run at all. */
static const char *why_open(const struct pol_build *b, const char *real)
{
	static const char *const system_dirs[] = {"/bin",  "/dev",   "/etc", "/gnu",
						  "/lib",  "/lib64", "/nix", "/opt",
						  "/proc", "/sbin",  "/sys", "/usr"};

	if (strcmp(real, "/") == 0)
		return "the root directory";
	for (size_t i = 0; i < sizeof system_dirs / sizeof *system_dirs; i++)
		if (under(real, system_dirs[i]))
			return "a system directory";
	for (size_t i = 0; i < b->rs->nworkspaces; i++)
		if (under(real, b->rs->workspaces[i]) || under(b->rs->workspaces[i], real))
			return "the workspace";
	for (size_t i = 0; i < b->nhomes; i++)
		if (under(b->homes[i], real))
			return "a home directory";
	return NULL;
}

static void close_target(struct pol_build *b, unsigned ops, const struct pol_rule *r,
			 const char *link, const char *real)
{
	const char *why = why_open(b, real);
	struct pol_rule t = *r;
	struct stat st;

	if (why) {
		pol_build_notice(b, "%s: %s leads to %s, %s: not closed there", r->origin, link,
				 real, why);
		return;
	}
	t.shape = stat(real, &st) == 0 && S_ISDIR(st.st_mode) ? POL_TREE : POL_EXACT;
	t.base = real;
	t.twin = true;
	pol_build_add(b, ops, &t, POL_TWIN_NONE);
}

static bool is_link(int dir, const struct dirent *e)
{
	struct stat st;

	if (e->d_type != DT_UNKNOWN)
		return e->d_type == DT_LNK;
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(st.st_mode);
}

void pol_build_set_links(struct pol_build *b, unsigned ops, const struct pol_rule *r)
{
	const char *own;
	struct dirent *e;
	DIR *dir;

	if (r->shape != POL_TREE || pol_build_is_missing(b, r->base))
		return;
	dir = opendir(r->base);
	if (!dir)
		return;
	own = pol_canonical(&b->rs->arena, r->base);
	for (unsigned n = 0; n < ENTRIES_MAX && (e = readdir(dir)); n++) {
		const char *link, *real;

		if (!is_link(dirfd(dir), e))
			continue;
		link = pol_build_join(b, own, e->d_name);
		real = pol_canonical(&b->rs->arena, link);
		if (!under(real, own))
			close_target(b, ops, r, link, real);
	}
	closedir(dir);
}
