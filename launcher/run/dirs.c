/* SPDX-License-Identifier: Apache-2.0 */
/* dirs.c - see dirs.h. */
#include "launcher/run/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "audit/places.h"
#include "audit/rundir.h"
#include "base/account.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/decide.h"
#include "launcher/options/options.h"
#include "launcher/run/channel.h"
#include "launcher/run/os.h"
#include "policy/engine.h"
#include "policy/rules/workspace.h"

static int find_workspaces(const struct b_strlist *given, struct lau_dirs *d, struct b_err *err)
{
	size_t i, n = given->n ? given->n : 1;

	d->workspaces = b_arena_alloc(&d->arena, n * sizeof *d->workspaces);
	for (i = 0; i < given->n; i++)
		if (pol_workspace_given(&d->arena, given->v[i], &d->workspaces[i], err) < 0)
			return -1;
	if (!given->n && pol_workspace_default(&d->arena, &d->workspaces[0], err) < 0)
		return -1;
	d->nworkspaces = n;
	return 0;
}

static int load_documents(const struct lau_options *o, struct lau_dirs *d, struct b_err *err)
{
	struct pol_said said = o->policy.said;
	struct pol_request rq;

	if (o->strictness != LAU_STRICT_DEFAULT)
		said.v[POL_SET_strict] = o->strictness == LAU_STRICT;
	if (lau_bundle_take(o->require_bundle, o->bundle_key, &d->bundle, err) < 0)
		return -1;
	lau_policy_request(&o->policy, &rq);
	rq.said = &said;
	rq.signed_texts = d->bundle.texts;
	rq.nsigned_texts = d->bundle.n;
	rq.signed_name = d->bundle.is.name;
	rq.signed_note = d->bundle.note;
	return pol_layers_load(&rq, d->workspaces, d->nworkspaces, &d->layers, err);
}

/* ---- hidden ---- */

static bool lies_in(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return path && strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* Not what this run itself is in: a launcher that was started in the scratch directory of another
 * run, without a service there. */
static void hide(void *ctx, const char *path)
{
	struct lau_dirs *d = ctx;

	for (size_t i = 0; i < d->nhidden; i++)
		if (strcmp(d->hidden[i], path) == 0)
			return;
	for (size_t i = 0; i < d->nworkspaces; i++)
		if (lies_in(d->workspaces[i], path))
			return;
	if (lies_in(d->scratch.path, path))
		return;
	if (d->nhidden % 32 == 0) {
		const char **more = b_arena_alloc(&d->arena, (d->nhidden + 32) * sizeof *more);

		if (d->nhidden)
			memcpy(more, d->hidden, d->nhidden * sizeof *more);
		d->hidden = more;
	}
	d->hidden[d->nhidden++] = b_arena_strndup(&d->arena, path, strlen(path));
}

/* The place of the log if no variable is set. */
static void hide_usual_state(struct lau_dirs *d)
{
	b_auto(b_str_release) struct b_str account = {0}, path = {0};
	const char *home = getenv("HOME");

	if (home && *home == '/') {
		b_str_addf(&path, "%s/.local/state/sbx-launch", home);
		hide(d, b_str_c(&path));
	}
	if (b_account_home(geteuid(), &account) && *account.s == '/') {
		b_str_reset(&path);
		b_str_addf(&path, "%s/.local/state/sbx-launch",
			   strcmp(account.s, "/") == 0 ? "" : account.s);
		hide(d, b_str_c(&path));
	}
}

/* What other runs of this user have made: their channels, and the directories in which the agents'
 * own copies lie. */
static void hide_others(struct lau_dirs *d)
{
	aud_place_channels(hide, d);
	lau_scratch_others(d->scratch.path, hide, d);
	hide_usual_state(d);
}

/* Compiled policies decide for the run, and an earlier run that had its state elsewhere could write
 * one here. */
static bool is_of_runs(struct lau_dirs *d, const char *state)
{
	const char *link, *real;

	real = pol_hosts_place(&d->arena, state, d->workspaces, d->nworkspaces, &link);
	for (size_t i = 0; real && i < d->nworkspaces; i++)
		if (lies_in(real, d->workspaces[i]))
			return true;
	return !real;
}

/* Logs of all runs and compiled policies: hidden also when this run keeps no log. */
static int find_state(const struct lau_options *o, struct lau_dirs *d, struct b_err *err)
{
	b_auto(b_str_release) struct b_str images = {0};
	char *state;

	d->runs = aud_runs_root(err);
	if (!d->runs)
		return o->audit_level == SBX_AUDIT_NONE ? 0 : -1;
	state = b_arena_strndup(&d->arena, d->runs, (size_t)(strrchr(d->runs, '/') - d->runs));
	hide(d, state);
	if (!o->dry_run && !is_of_runs(d, state)) {
		b_str_addf(&images, "%s/images", state);
		d->images = b_str_take(&images);
	}
	return 0;
}

/* Without the shim a run has no channel, but its lock may lie where that would. */
static void find_locks(struct lau_dirs *d)
{
	b_auto_free char *other = NULL;
	struct b_err none;

	d->locks = lau_channel_locks(d->channels);
	if (!d->locks && !d->channels && lau_channel_base(&other, &none) == 0)
		d->locks = b_take_ptr(&other);
}

static void find_cache(struct lau_dirs *d)
{
	b_auto_free char *why = NULL;

	d->cache = lau_cache_dir(d->workspaces, d->nworkspaces, &why);
	if (why)
		pol_layers_tell(&d->layers, b_arena_strndup(&d->arena, why, strlen(why)));
}

int lau_dirs_find(const struct lau_options *o, struct lau_dirs *d, struct b_err *err)
{
	*d = (struct lau_dirs){.scratch = {.base = -1, .lock = -1}};
	if (find_workspaces(&o->policy.workspaces, d, err) < 0 || load_documents(o, d, err) < 0)
		return -1;
	if (d->layers.effect.scratch && lau_scratch_take(!o->dry_run, &d->scratch, err) < 0)
		return -1;
	if (d->layers.effect.cache)
		find_cache(d);
	if (!o->no_shim) {
		if (lau_channel_base(&d->channels, err) < 0)
			return -1;
		hide(d, d->channels);
	}
	find_locks(d);
	if (d->locks)
		hide(d, d->locks);
	hide_others(d);
	return find_state(o, d, err);
}

static char *share(const char *path, bool is_wanted)
{
	return path && is_wanted ? b_strdup(path) : NULL;
}

int lau_dirs_find_inside(const struct lau_options *o, const struct lau_dirs *outer,
			 struct lau_dirs *d, struct b_err *err)
{
	*d = (struct lau_dirs){.scratch = {.base = -1, .lock = -1}};
	if (find_workspaces(&o->policy.workspaces, d, err) < 0 || load_documents(o, d, err) < 0)
		return -1;
	pol_effect_tighten(&d->layers.effect, &outer->layers.effect);
	d->scratch.path = share(outer->scratch.path, d->layers.effect.scratch);
	d->cache = share(outer->cache, d->layers.effect.cache);
	d->channels = share(outer->channels, !o->no_shim);
	d->runs = share(outer->runs, true);
	for (size_t i = 0; i < outer->nhidden; i++)
		hide(d, outer->hidden[i]);
	return 0;
}

int lau_dirs_make(struct lau_dirs *d, struct b_err *err)
{
	if (d->channels && lau_channel_make_base(d->channels, err) < 0)
		return -1;
	if (d->locks && lau_channel_make_base(d->locks, err) < 0) {
		if (!err->sys)
			return -1; /* somebody else's */
		/* lau_run_lock() says what is lost; a floor that does not hold is said before */
		free(d->locks);
		d->locks = NULL;
	}
	/* Builds go without it when it cannot be made (a home that is read-only). */
	if (d->cache && !lau_cache_make(d->cache)) {
		free(d->cache);
		d->cache = NULL;
	}
	return 0;
}

void lau_dirs_release(struct lau_dirs *d)
{
	lau_scratch_release(&d->scratch);
	free(d->cache);
	free(d->channels);
	free(d->locks);
	free(d->images);
	free(d->runs);
	pol_layers_release(&d->layers);
	lau_bundle_release(&d->bundle);
	b_arena_release(&d->arena);
	*d = (struct lau_dirs){.scratch = {.base = -1, .lock = -1}};
}

/* ---- the command's input and output ---- */

static bool is_within(const char *path, const char *dir)
{
	size_t n = dir ? strlen(dir) : 0;

	return n && strncmp(path, dir, n) == 0 && path[n] == '/';
}

/* Each file would be another policy to compile. */
static bool is_given(const struct lau_dirs *d, const char *path)
{
	for (size_t i = 0; i < d->nworkspaces; i++)
		if (is_within(path, d->workspaces[i]))
			return true;
	return is_within(path, d->scratch.path) || is_within(path, d->cache);
}

/* What proc_pid_fd(5) says may be an older name, or "/x (deleted)": only what the name leads to
 * now counts, and must be the very file. */
static bool path_of(int fd, char path[PATH_MAX])
{
	struct stat held, there;

	if (fstat(fd, &held) < 0 || !S_ISREG(held.st_mode) || !lau_os_fd_path(fd, path, PATH_MAX))
		return false;
	return lstat(path, &there) == 0 && held.st_dev == there.st_dev &&
	       held.st_ino == there.st_ino;
}

size_t lau_stdio_find(struct lau_dirs *d, struct pol_stdio out[POL_STDIO_MAX])
{
	size_t n = 0;

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		int flags = fcntl(fd, F_GETFL);
		char path[PATH_MAX];

		if (flags < 0 || !path_of(fd, path) || is_given(d, path))
			continue;
		out[n++] = (struct pol_stdio){
			.fd = fd,
			.path = b_arena_strndup(&d->arena, path, strlen(path)),
			.reads = (flags & O_ACCMODE) != O_WRONLY,
			.modifies = (flags & O_ACCMODE) != O_RDONLY,
		};
	}
	return n;
}

/* ---- output files of the launcher ---- */

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

/* The names of /dev itself stay closed, also where rules open the device. */
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

int lau_infile_check(const char *option, const char *path, struct b_err *err)
{
	return pol_refuse_led(option, path, B_USAGE, err);
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
