/* outfile.c - see outfile.h. */
#include "launcher/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/decide.h"
#include "policy/engine.h"
#include "policy/rules/workspace.h"

static bool is_fifo(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISFIFO(st.st_mode);
}

int lau_outfile_open(const char *path, int flags)
{
	const struct timespec pause = {.tv_nsec = 5000000};
	uint64_t until = b_deadline_ms(LAU_OUTFILE_WAIT_MS);
	int fd, was;

	flags |= O_CLOEXEC | O_NOCTTY | O_NONBLOCK;
	while ((fd = open(path, flags, 0600)) < 0 && errno == ENXIO && is_fifo(path)) {
		if (b_now_ms() >= until) {
			errno = ENXIO;
			return -1;
		}
		nanosleep(&pause, NULL);
	}
	was = fd < 0 ? -1 : fcntl(fd, F_GETFL);
	if (was >= 0)
		(void)fcntl(fd, F_SETFL, was & ~O_NONBLOCK);
	return fd;
}

bool lau_outfile_is_descriptor(const char *path)
{
	static const char *const dirs[] = {"/dev/fd/", "/proc/self/fd/", "/proc/thread-self/fd/"};

	if (strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0)
		return true;
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		const char *n = path + strlen(dirs[i]);

		if (b_has_prefix(path, dirs[i]) && *n && !n[strspn(n, "0123456789")])
			return true;
	}
	return false;
}

/* The path from the root. Arena; NULL when the working directory has none. */
static const char *absolute(struct b_arena *a, const char *path)
{
	b_auto_free char *cwd = *path == '/' ? NULL : getcwd(NULL, 0);

	if (*path == '/')
		return path;
	return cwd ? b_arena_printf(a, "%s/%s", cwd, path) : NULL;
}

static bool is_never_good(void *arg, const char *link, size_t len)
{
	(void)arg, (void)link, (void)len;
	return false;
}

/* Root's links may be those of a command that root ran. */
bool lau_outfile_is_plain(const char *path)
{
	struct b_arena arena = {0};
	const char *full = absolute(&arena, path);
	bool is_plain = full && (geteuid() == 0 ? pol_canonical_links(&arena, full, is_never_good,
								      NULL) != NULL
						: pol_links_are_roots(&arena, full));

	b_arena_release(&arena);
	return is_plain;
}

struct links {
	const struct pol_engine *e;
	const char *option, *path;
	struct b_err *err;
	bool is_refused;
};

/* The names of /dev itself are closed, whatever the rules say of what they stand for. */
static bool is_system(const char *link)
{
	return b_has_prefix(link, "/dev/") && !strchr(link + 5, '/');
}

static bool is_good(void *arg, const char *link, size_t len)
{
	struct links *l = arg;
	struct sbx_verdict v;

	if (is_system(link))
		return true;
	sbx_explain(&l->e->image, SBX_MODIFY, link, len, &v);
	if (!v.allowed)
		return true;
	l->is_refused = true;
	b_fail(l->err, B_FLOOR, 0,
	       "%s %s: %s is a symlink that the command may change (rule `%s`, %s): name the "
	       "place it leads to",
	       l->option, l->path, link, v.matched, v.origin);
	return false;
}

int lau_outfile_check(struct pol_engine *e, const char *option, const char *path,
		      const char **out_real, struct b_err *err)
{
	struct links l = {.e = e, .option = option, .path = path, .err = err};
	const char *full = absolute(&e->rules.arena, path), *real;

	real = full ? pol_canonical_links(&e->rules.arena, full, is_good, &l) : NULL;
	if (!real && !l.is_refused)
		return b_fail(err, B_USAGE, ELOOP, "%s %s: not a path that can be followed", option,
			      path);
	if (real && out_real)
		*out_real = real;
	return real ? 0 : -1;
}
