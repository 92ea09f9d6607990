/* SPDX-License-Identifier: Apache-2.0 */
/* printenv.c - see report.h. */
#include "launcher/report/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/collect_priv.h"
#include "audit/places.h"
#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/channel.h"
#include "core/ring.h"
#include "launcher/linux/process/process.h"
#include "launcher/options/options.h"
#include "launcher/plan/environment.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/program.h"
#include "launcher/report/host.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"
#include "policy/engine.h"

static const char me[] = "sbx-launch";
static const char no_floor[] =
	"preload-only: the kernel enforces nothing: static programs, raw system calls and programs "
	"that drop the shim are neither checked nor recorded";

struct alone {
	struct lau_options o; /* a copy: members point into the caller's, but for `policies` */
	struct lau_host host;
	struct lau_dirs dirs;
	struct lau_plan plan;
	struct lau_environment env;
	struct aud_rundir dir;
	char *shim, *named;
	bool has_scratch;
};

/* ---- the policy ---- */

/* SBX_PROFILE names a profile of the documents given, or else a document, DOCUMENT:PROFILE, or
 * `default`, the built-in policy. Without any, the call fails: the harness forgot it, and must not
 * run without a policy. */
static int name_policy(struct alone *a, struct b_err *err)
{
	struct lau_policy_opts *p = &a->o.policy;
	const char *name = getenv("SBX_PROFILE");
	char *colon;

	if (p->image)
		return 0;
	if (p->policies.n) {
		p->profile = p->profile ? p->profile : name;
		return 0;
	}
	if (!name || !*name)
		return b_fail(err, B_PROFILE, 0,
			      "--print-env: no policy is named: set SBX_PROFILE to a document, "
			      "DOCUMENT:PROFILE or `default`, or give --policy or --image");
	if (strcmp(name, "default") == 0)
		return 0;
	a->named = b_strdup(name);
	colon = strrchr(a->named, ':');
	if (colon) {
		*colon = '\0';
		p->profile = p->profile ? p->profile : colon + 1;
	}
	b_strlist_add(&p->policies, a->named);
	return 0;
}

/* The programs' own place for temporary files, in the name of this environment: no supervisor
 * lives to remove one with the run. */
static int make_scratch(struct alone *a, struct b_err *err)
{
	char *path = aud_place_printed();

	if (!path)
		return b_fail(err, B_SYSTEM, errno, "no directory for temporary files: %s",
			      strerror(errno));
	free(a->dirs.scratch.path);
	a->dirs.scratch.path = path;
	a->has_scratch = true;
	return 0;
}

/* Reports what a policy of another system asks for and a shim cannot do. */
static int tell_losses(const struct alone *a, struct b_err *err)
{
	const struct pol_engine *e = a->plan.engine;
	const struct pol_foreign *f = &a->dirs.layers.main.foreign;
	b_auto(b_str_release) struct b_str lines = {0};

	if (pol_engine_refuse(e, err) < 0)
		return -1;
	for (size_t i = 0; i < e->nlosses; i++) {
		b_str_addf(&lines, "%s: loss: ", me);
		b_str_add_visible(&lines, e->losses[i], strlen(e->losses[i]));
		b_str_addc(&lines, '\n');
	}
	if (lau_identity_is_asked(f))
		b_str_addf(&lines,
			   "%s: loss: the policy names a user for the command, but it runs as the "
			   "user that starts it\n",
			   me);
	for (size_t i = 0; i < f->no_env.n; i++)
		b_str_addf(&lines, "%s: loss: variable %s is not removed: unset it\n", me,
			   f->no_env.v[i].s);
	(void)b_write_all(STDERR_FILENO, b_str_c(&lines), lines.len);
	return 0;
}

static int resolve(struct alone *a, struct b_err *err)
{
	a->o.dry_run = true; /* nothing shared is made, no name is taken */
	if (name_policy(a, err) < 0)
		return -1;
	lau_host_quick(&a->host);
	if (lau_dirs_find(&a->o, &a->dirs, err) < 0 || make_scratch(a, err) < 0)
		return -1;
	if (lau_plan_policy(&a->o, &a->host, &a->dirs, &a->plan, err) < 0)
		return -1;
	return tell_losses(a, err);
}

/* ---- the files ---- */

static int write_image(const struct alone *a, struct b_err *err)
{
	const struct pol_engine *e = a->plan.engine;
	b_auto_free unsigned char *copy = b_malloc(e->image.size);
	struct sbx_image_header *h = (struct sbx_image_header *)(void *)copy;
	b_auto_fd int fd = openat(a->dir.dirfd, SBX_CHANNEL_IMAGE,
				  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);

	memcpy(copy, e->image_data, e->image.size);
	h->on_error = !a->o.on_error_pass;
	h->checksum = sbx_image_checksum(copy, e->image.size);
	if (fd < 0 || b_write_all(fd, (const char *)copy, e->image.size) < 0)
		return b_fail(err, B_SHIM, errno, "%s/" SBX_CHANNEL_IMAGE ": %s", a->dir.path,
			      strerror(errno));
	return 0;
}

static int write_ring(const struct alone *a, struct b_err *err)
{
	size_t bytes = sbx_ring_bytes(SBX_RING_MIN);
	b_auto_fd int fd =
		openat(a->dir.dirfd, SBX_CHANNEL_RING, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	int rc = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)bytes);
	void *map = MAP_FAILED;
	struct sbx_ring *ring;

	if (rc == 0) {
		map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		rc = map == MAP_FAILED ? errno : 0;
	}
	if (rc)
		return b_fail(err, B_SHIM, rc, "%s/" SBX_CHANNEL_RING ": %s", a->dir.path,
			      strerror(rc));
	ring = map;
	sbx_ring_init(ring, SBX_RING_MIN, (enum sbx_audit_level)a->o.audit_level);
	sbx_ring_set_alone(ring, 1);
	munmap(ring, bytes);
	return 0;
}

static void banner(const struct alone *a, struct b_str *out)
{
	struct sbx_event ev = {.time_ns = b_now_real_ns(),
			       .pid = (uint32_t)getpid(),
			       .ppid = (uint32_t)getppid(),
			       .kind = SBX_EV_LOSS,
			       .aux = SBX_LOSS_NO_FLOOR,
			       .path_len = (uint16_t)strlen(a->shim)};
	struct aud_record r = {.kind = AUD_LOSS,
			       .ev = &ev,
			       .path = a->shim,
			       .path2 = "",
			       .seq = 1,
			       .matched_rule = "",
			       .rule = "",
			       .layer = "launcher"};
	struct aud_frame frame;

	aud_frame_init(&frame, a->dir.id, a->plan.engine->rules.profile, NULL, 0);
	frame.is_shared = true;
	aud_record_json(&frame, &r, out);
	b_str_add(out, "}\n");
	aud_frame_release(&frame);
}

/* The shims write to nothing but a file. A FIFO makes nobody wait: without a reader it is ENXIO. */
static int open_log(const struct alone *a, struct b_err *err)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK };
	const char *file = a->o.audit_file;
	int fd = file ? open(file, FLAGS, 0600) : openat(a->dir.dirfd, AUD_LOG_NAME, FLAGS, 0600);
	struct stat st;

	if (fd < 0 && errno != ENXIO)
		return b_fail(err, B_AUDIT, errno, "%s: %s", file ? file : a->dir.path,
			      strerror(errno));
	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	if (fd >= 0)
		close(fd);
	return b_fail(err, B_AUDIT, 0, "%s: the log must be a regular file", file);
}

/* Elsewhere the log is a link in the run's directory, which the shims find. */
static int write_log(const struct alone *a, struct b_err *err)
{
	const char *file = a->o.audit_file;
	b_auto(b_str_release) struct b_str line = {0};
	b_auto_free char *real = NULL;
	b_auto_fd int fd = open_log(a, err);

	if (fd < 0)
		return -1;
	if (file) {
		real = realpath(file, NULL);
		if (!real || symlinkat(real, a->dir.dirfd, AUD_LOG_NAME) < 0)
			return b_fail(err, B_AUDIT, errno, "%s: %s", file, strerror(errno));
	}
	banner(a, &line);
	if (b_write_all(fd, line.s, line.len) < 0)
		return b_fail(err, B_AUDIT, errno, "%s: %s", file ? file : a->dir.path,
			      strerror(errno));
	return 0;
}

static int write_info(const struct alone *a, struct b_err *err)
{
	static const char *const levels[SBX_AUDIT_LEVEL_COUNT] = {
		[SBX_AUDIT_FOLDED] = "folded", [SBX_AUDIT_ALL] = "all",
		[SBX_AUDIT_MODIFY] = "modify", [SBX_AUDIT_DENIED] = "denied",
		[SBX_AUDIT_NONE] = "none",
	};
	const char *const losses[] = {no_floor};
	b_auto_free char *cwd = getcwd(NULL, 0);
	const struct pol_engine *e = a->plan.engine;
	struct aud_runinfo info = {
		.run_id = a->dir.id,
		.version = SBX_VERSION,
		.preload_only = true,
		.started_ms = b_now_real_ns() / 1000000,
		.cwd = cwd ? cwd : "",
		.policy = e->policy_name,
		.policy_hash = e->hash,
		.profile = e->rules.profile,
		.workspaces = a->dirs.workspaces,
		.nworkspaces = a->dirs.nworkspaces,
		.losses = losses,
		.nlosses = 1,
		.audit_file = a->o.audit_file,
		.audit_level = levels[a->o.audit_level],
		.exit_status = -1,
	};

	return aud_runinfo_write(&info, a->dir.path, err);
}

static int make_files(struct alone *a, struct b_err *err)
{
	if (lau_shim_find(&a->shim, err) < 0 || aud_rundir_new(&a->dir, err) < 0)
		return -1;
	if (write_image(a, err) < 0 || write_ring(a, err) < 0 || write_log(a, err) < 0)
		return -1;
	if (write_info(a, err) < 0 || aud_rundir_show(&a->dir, err) < 0)
		return -1;
	if (aud_place_printed_by(a->dirs.scratch.path, a->dir.path) < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", a->dirs.scratch.path,
			      strerror(errno));
	return 0;
}

/* ---- the commands ---- */

static void add_export(struct b_str *out, const char *name, const char *value)
{
	b_str_addf(out, "export %s='", name);
	for (; *value; value++) {
		if (*value == '\'')
			b_str_add(out, "'\\''");
		else
			b_str_addc(out, *value);
	}
	b_str_add(out, "'\n");
}

/* Unsets what --env removes. A shell can unset only variables with valid names that it does not set
 * itself. */
static void add_unsets(struct alone *a, struct b_str *out)
{
	size_t n;
	const char **names = lau_environment_removed(&a->env, lau_os_environ(), &n);

	for (size_t i = 0; i < n; i++)
		if (lau_hide_is_shell_name(names[i], strlen(names[i])))
			b_str_addf(out, "unset %s 2>/dev/null || :\n", names[i]);
}

/* A value that does not fit the shim's buffers would keep every program from starting. */
static int check_lengths(const struct alone *a, const struct b_str *channel, struct b_err *err)
{
	if (channel->len >= SBX_CHANNEL_MAX)
		return b_fail(err, B_SHIM, ENAMETOOLONG,
			      "--print-env: the path of the directory of runs is too long for the "
			      "shim: set XDG_STATE_HOME to a shorter one");
	if (strlen(a->shim) >= SBX_CHANNEL_MAX)
		return b_fail(err, B_SHIM, ENAMETOOLONG,
			      "--print-env: the path of the shim is too long: install it in a "
			      "directory with a shorter path");
	return 0;
}

static int print(struct alone *a, struct b_err *err)
{
	b_auto(b_str_release) struct b_str channel = {0}, text = {0};
	size_t i;

	b_str_addf(&channel, "%s%s", a->o.on_error_pass ? "" : SBX_CHANNEL_DENY, a->dir.path);
	if (check_lengths(a, &channel, err) < 0)
		return -1;
	if (lau_envplan(&a->o, &a->dirs.layers, lau_os_environ(), &a->env, err) < 0)
		return -1;
	lau_scratch_export(a->dirs.scratch.path, &a->env);
	lau_environment_set(&a->env, SBX_ENV_CHANNEL, channel.s);
	lau_environment_preload(&a->env, a->shim,
				lau_environment_get(&a->env, lau_os_environ(), "LD_PRELOAD"));
	add_unsets(a, &text);
	for (i = 0; i < a->env.n; i++)
		add_export(&text, a->env.vars[i].name, a->env.vars[i].value);
	if (b_write_all(STDOUT_FILENO, text.s, text.len) < 0)
		return b_fail(err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return 0;
}

static void release(struct alone *a)
{
	if (a->dir.path)
		aud_rundir_release(&a->dir);
	lau_plan_release(&a->plan);
	lau_environment_release(&a->env);
	lau_dirs_release(&a->dirs);
	free(a->shim);
	free(a->named);
}

int lau_print_env(const struct lau_options *o)
{
	struct alone a = {.o = *o, .dirs.scratch = {.base = -1, .lock = -1}};
	struct b_err err = {.kind = B_OK};
	int status = 0;

	(void)lau_umask_relax();
	if (resolve(&a, &err) < 0 || make_files(&a, &err) < 0 || print(&a, &err) < 0) {
		(void)b_write_all(STDOUT_FILENO, LAU_PRINT_ENV_STOP, sizeof LAU_PRINT_ENV_STOP - 1);
		status = b_report(me, &err);
		if (a.has_scratch)
			aud_place_printed_undo(a.dirs.scratch.path);
	}
	/* the list may have grown in the copy */
	if (a.named)
		b_strlist_release(&a.o.policy.policies);
	release(&a);
	return status;
}
