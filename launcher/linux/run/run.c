/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - a list of named steps: each gets the run so far, the first that fails ends
 * it, what was made is released in one place. Nothing is written before the policy, the command
 * and the floor have proved good.
 */
#include "launcher/options/shell.h"
#include "launcher/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/collector.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/channel.h"
#include "core/path.h"
#include "core/ring.h"
#include "launcher/linux/bwrap/wrap.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/process/process.h"
#include "launcher/linux/run/marks.h"
#include "launcher/linux/run/run_priv.h"
#include "launcher/options/approve.h"
#include "launcher/options/grida_call.h"
#include "launcher/plan/environment.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/program.h"
#include "launcher/report/report.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"
#include "launcher/supervise/supervise.h"
#include "policy/engine.h"
#include "policy/plan/mounts.h"
#include "policy/plan/seccomp.h"

static const char me[] = "sbx-launch";

/* ---- steps that write nothing ---- */

static int step_limits(struct run *r, struct b_err *err)
{
	if (lau_limits_raise(&r->limits, err) < 0)
		return -1;
	r->limits.given = r->guest ? r->guest->limits : NULL;
	return 0;
}

static int step_descriptors(struct run *r, struct b_err *err)
{
	if (lau_parts_status_fd(r->o, &r->status_fd, err) < 0 ||
	    lau_capture_find(r->o, &r->capture, err) < 0)
		return -1;
	if (r->guest)
		r->pipes = r->guest->pipes;
	else
		lau_pipes_find(&r->pipes);
	return 0;
}

static int find_bwrap(struct run *r, struct b_err *err)
{
	const struct pol_text *asked = &r->dirs.layers.main.foreign.bwrap;

	if (lau_wrap_find(asked->s, &r->bwrap, err) == 0)
		return 0;
	return asked->s ? b_wrap(err, "%s:%u:%u", asked->pos.file, asked->pos.line, asked->pos.col)
			: -1;
}

static int step_policy(struct run *r, struct b_err *err)
{
	int no_listing = lau_os_no_listing();
	char self[PATH_MAX];

	if (!lau_os_own_path(self, sizeof self))
		return b_fail(err, B_FLOOR, errno, "%s", lau_no_proc_text);
	if (no_listing)
		return b_fail(err, B_FLOOR, no_listing,
			      "cannot be enforced: directories cannot be listed: getdents64(2) is "
			      "refused (%s): a seccomp profile that allows it",
			      strerror(no_listing));
	lau_host_quick(&r->host);
	if (r->o->backend == LAU_BACKEND_BWRAP)
		r->host.has_broker = false; /* no Landlock domain, and no process, outside */
	/* before the outer run refuses something with a less helpful message */
	if (r->host.is_inside && !r->o->dry_run && r->o->strictness != LAU_BEST_EFFORT)
		return b_fail(err, B_FLOOR, 0, "cannot be enforced: %s", lau_inside_text);
	if (r->guest)
		return lau_nest_plan(r->guest, r->o, &r->host, &r->dirs, &r->plan, err);
	if (lau_dirs_find(r->o, &r->dirs, err) < 0 || lau_call_check(r->o, &r->dirs, err) < 0)
		return -1;
	if (r->o->backend == LAU_BACKEND_BWRAP && find_bwrap(r, err) < 0)
		return -1;
	if (lau_plan_policy(r->o, &r->host, &r->dirs, &r->plan, err) < 0)
		return -1;
	if (!r->host.is_inside && lau_channel_is_above_alone())
		lau_plan_loss(&r->plan,
			      "the policy of the --print-env environment around this run would not "
			      "be enforced for the command: start it outside of that environment");
	return 0;
}

static int step_result(struct run *r, struct b_err *err)
{
	return lau_capture_check(&r->capture, r->plan.engine, err);
}

static int step_variables(struct run *r, struct b_err *err)
{
	return lau_envplan(r->o, &r->dirs.layers, lau_os_environ(), &r->env, err);
}

/* As the command has it. */
static const char *value_of(struct run *r, const char *name)
{
	return lau_environment_get(&r->env, lau_os_environ(), name);
}

/* The command, and what the kernel starts or maps for it: no call of the command asks for those.
 * What cannot be opened the kernel refuses. */
static int step_program(struct run *r, struct b_err *err)
{
	char next[PATH_MAX];
	struct stat st;

	if (lau_program_find(r->guest ? r->guest->program : r->o->argv[0], value_of(r, "PATH"),
			     &r->program, err) < 0 ||
	    lau_parts_may_exec(r->plan.engine, r->program, err) < 0) {
		/* the reason, where the policy opens less than it asks for */
		lau_losses_foreign(r->o, &r->plan);
		return -1;
	}
	strcpy(next, strlen(r->program) < sizeof next ? r->program : "");
	for (unsigned i = 0; i < LAU_INTERP_DEPTH; i++) {
		b_auto_fd int fd = open(next, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

		if (fd < 0 && errno == EACCES && stat(next, &st) == 0 && st.st_uid != 0)
			return b_fail(err, B_NOEXEC, EACCES,
				      "`%s` cannot be read, so the launcher cannot check what it "
				      "starts: chmod u+r",
				      next);
		if (fd < 0 || lau_interp_read(fd, next) == LAU_INTERP_NONE ||
		    access(next, F_OK) < 0)
			return 0;
		if (lau_parts_may_exec(r->plan.engine, next, err) < 0)
			return -1;
	}
	return 0;
}

static int step_shim(struct run *r, struct b_err *err)
{
	return lau_parts_shim(r->o, r->program, &r->shim, err);
}

/* A run inside a run shares the directory that the outer command writes in, and another user could
 * not write in it: both do without copies. */
static bool may_have_copies(const struct run *r)
{
	return !r->guest && !r->plan.identity.is_set;
}

static int step_environment(struct run *r, struct b_err *err)
{
	if (lau_mode_check(r->o, r->plan.engine, &r->env, err) < 0)
		return -1;
	if (r->dirs.scratch.path)
		lau_scratch_export(r->dirs.scratch.path, &r->env);
	if (r->dirs.cache)
		lau_cache_export(r->dirs.cache, &r->env);
	r->has_copies = may_have_copies(r);
	if (r->has_copies)
		lau_agents_export(&r->dirs, &r->env);
	lau_envplan_note(&r->env, lau_os_environ(), &r->plan);
	return 0;
}

/* Not what has nothing to report to: nothing is granted for it either. */
static void preload_shim(struct run *r)
{
	if (r->plan.use_shim)
		lau_environment_preload(&r->env, r->shim, value_of(r, "LD_PRELOAD"));
}

static int step_floor(struct run *r, struct b_err *err)
{
	if (lau_plan_floor(r->o, &r->host, &r->plan, err) < 0)
		return -1;
	if (r->guest)
		lau_nest_limit(r->guest, &r->plan);
	if (!r->plan.is_wrapped && !(r->plan.isolate & LAU_ISOLATE_PID) && !lau_guard_can())
		lau_plan_limit(&r->plan,
			       "if the supervisor is killed by SIGKILL, its processes survive: "
			       "their marker is the limit on file locks, which is already set "
			       "(ulimit -x): use --isolate pid, or unset the limit");
	return 0;
}

/* ---- steps that make something ---- */

static int step_directories(struct run *r, struct b_err *err)
{
	if (lau_dirs_make(&r->dirs, err) < 0)
		return -1;
	return r->has_copies ? lau_agents_make(&r->dirs, r->plan.engine, err) : 0;
}

/* Where the hard limit leaves no room for it (ulimit -f) the command runs without events, as it
 * does when the log cannot be written. */
static int do_without_channel(struct run *r, struct b_err *err)
{
	b_auto(b_str_release) struct b_str why = {0};

	b_str_add(&why, err->msg);
	b_fail(err, B_AUDIT, err->sys, "%s: nothing can be recorded: raise the limit (ulimit -f)",
	       why.s);
	if (r->o->audit_required)
		return -1;
	(void)b_report(me, err);
	r->plan.use_shim = false;
	return 0;
}

/* The second stage is this program, where it lies. */
static int step_wrap(struct run *r, struct b_err *err)
{
	char self[PATH_MAX];

	if (!r->plan.is_wrapped)
		return 0;
	if (lau_run_check_cwd(r, err) < 0)
		return -1;
	if (!lau_os_own_path(self, sizeof self))
		return b_fail(err, B_SYSTEM, errno, "/proc/self/exe: %s", strerror(errno));
	r->plan.wrap_self = b_arena_strndup(&r->plan.arena, self, strlen(self));
	pol_floor_grant(&r->plan.floor, r->plan.wrap_self, POL_GRANT_READ | POL_GRANT_EXEC, false);
	return 0;
}

static int step_channel(struct run *r, struct b_err *err)
{
	const struct pol_engine *e = r->plan.engine;
	/* The mounts of bubblewrap do not have the cache that a link would lead to. */
	const char *file = r->plan.is_wrapped ? NULL : e->cached.path;
	const struct lau_channel_image image = {e->image_data, e->image.size, file};

	if (!r->plan.use_shim)
		return 0;
	if (lau_channel_new(r->dirs.channels, &image, (enum sbx_audit_level)r->o->audit_level,
			    &r->channel, err) < 0)
		return err->sys == EFBIG ? do_without_channel(r, err) : -1;
	r->channel.ring->judges_moves = r->plan.floor.uses_broker;
	r->channel.ring->witnesses_all = lau_parts_requires_shim(r->o);
	r->channel.ring->marks = r->plan.nclean > 0;
	lau_environment_set(&r->env, SBX_ENV_CHANNEL, r->channel.dir);
	if (r->o->is_shell)
		lau_environment_set(&r->env, SBX_ENV_SHELL, r->channel.dir);
	preload_shim(r);
	/* a run inside would keep the rules of its start */
	if (lau_nest_may(r->guest, &r->plan) && !r->o->reloadable)
		(void)lau_nest_listen(r->channel.dir, &r->nest);
	/* Exactly these files of ours: the command may fill the ring, not empty or replace it. */
	pol_floor_grant(&r->plan.floor, r->channel.image_path, POL_GRANT_READ, false);
	pol_floor_grant(&r->plan.floor, r->channel.ring_path, POL_GRANT_RING, false);
	pol_floor_grant(&r->plan.floor, r->shim, POL_GRANT_READ | POL_GRANT_EXEC, false);
	return 0;
}

static int step_record(struct run *r, struct b_err *err)
{
	b_auto(b_str_release) struct b_str why = {0};

	if (lau_record_open(r->o, &r->plan, &r->dirs, r->channel.dir ? &r->channel : NULL,
			    r->guest ? &r->guest->outer->record : NULL, &r->record, err) == 0)
		return 0;
	if (!r->host.is_inside || err->kind != B_AUDIT || err->sys != EACCES)
		return -1;
	b_str_add(&why, err->msg);
	return b_fail(err, B_AUDIT, err->sys,
		      "%s: this run cannot write a log, because the outer run closes that "
		      "directory: use --audit-level none",
		      why.s);
}

static int step_bounds(struct run *r, struct b_err *err)
{
	return lau_bounds_make(&r->plan, &r->cgroup, &r->limits, err);
}

/* ---- the list ---- */

struct step {
	const char *name;
	int (*run)(struct run *, struct b_err *err);
};

static const struct step look[] = {
	{"limits", step_limits}, {"descriptors", step_descriptors}, {"policy", step_policy},
	{"result", step_result}, {"variables", step_variables},	    {"program", step_program},
	{"shim", step_shim},	 {"environment", step_environment},
};
static const struct step launch[] = {
	{"directories", step_directories},
	{"floor", step_floor},
	{"lock", lau_run_lock},
	{"losses", lau_run_losses},
	{"wrap", step_wrap},
	{"channel", step_channel},
	{"landlock", lau_run_landlock},
	{"record", step_record},
	{"kernel", lau_run_kernel},
	{"bounds", step_bounds},
	{"spawn", lau_run_spawn},
	{"supervise", lau_run_supervise},
};

static int walk(struct run *r, const struct step *steps, size_t n, struct b_err *err)
{
	size_t i;

	for (i = 0; i < n; i++) {
		if (steps[i].run(r, err) < 0)
			return -1;
		lau_mark(steps[i].name);
	}
	return 0;
}

#define WALK(r, steps, err) walk(r, steps, sizeof(steps) / sizeof *(steps), err)

static int dry_run(struct run *r, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};

	if (step_floor(r, err) < 0)
		return -1;
	preload_shim(r);
	lau_limits_restore(&r->limits); /* SIGPIPE, as in every other program that prints */
	lau_dryrun_show(r->o, &r->plan, &r->env, r->program, &text);
	if (b_write_all(STDOUT_FILENO, text.s, text.len) < 0)
		return b_fail(err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return 0;
}

/* State that only this process has. */
static void forget(struct run *r)
{
	if (r->landlock.ruleset >= 0)
		close(r->landlock.ruleset);
	if (r->broker.landlock_fd >= 0)
		close(r->broker.landlock_fd);
	lau_movelock_release(&r->lock);
	lau_plan_release(&r->plan);
	lau_environment_release(&r->env);
	lau_pipes_release(&r->pipes);
	free(r->envp);
	free(r->program);
	free(r->shim);
	b_str_release(&r->bwrap);
	lau_dirs_release(&r->dirs);
}

static void release(struct run *r)
{
	lau_timer_stop(r->timer);
	lau_guard_stop(&r->guard);
	(void)lau_landlock_finish(&r->landlock, &(struct b_err){0});
	lau_capture_release(&r->capture);
	lau_record_release(&r->record);
	lau_nest_release(&r->nest);
	lau_reports_close(&r->reports);
	lau_alone_close(&r->alone);
	lau_door_release(&r->door);
	lau_reload_release(&r->reload);
	lau_channel_release(&r->channel);
	if (r->has_signals)
		lau_signals_close(&r->signals);
	lau_mark("undo");
	/* it ends beside all that was done since it said that it is alone */
	lau_processes_bury(r->spawned.init);
	lau_mark("teardown");
	lau_cgroup_release(&r->cgroup);
	lau_scratch_release(&r->dirs.scratch);
	if (B_FREES_AT_END)
		forget(r);
}

static void init(struct run *r, const struct lau_options *o)
{
	*r = (struct run){
		.o = o,
		.dirs.scratch = {.base = -1, .lock = -1},
		.channel.lock_fd = -1,
		.channel.ring_fd = -1,
		.record.log_fd = -1,
		.record.info = AUD_INFOFILE_INIT,
		.landlock = LAU_LANDLOCK_JOB_INIT,
		.broker.landlock_fd = -1,
		.lock = LAU_MOVELOCK_INIT,
		.cgroup.procs = -1,
		.outcome.phase = LAU_PHASE_SETUP,
		.capture = LAU_CAPTURE_INIT,
		.status_fd = -1,
		.nest.listener = -1,
		.guard = LAU_GUARD_INIT,
		.reports.watch.fd = -1,
		.alone.watch.fd = -1,
		.door = LAU_DOOR_INIT,
		.reload.watch.fd = -1,
	};
}

static void go(struct run *r)
{
	b_auto(b_str_release) struct b_str members = {0};
	struct b_err err = {.kind = B_OK}, late;
	int rc = WALK(r, look, &err);

	if (rc == 0)
		rc = r->o->dry_run ? dry_run(r, &err) : WALK(r, launch, &err);
	if (rc < 0)
		r->outcome.err = err;
	lau_redact_error(&r->outcome.err, lau_os_environ());
	if (rc == 0 && r->o->dry_run)
		r->outcome.phase = LAU_PHASE_COMMAND;
	lau_record_refused(&r->record, &members);
	if (lau_capture_end(&r->capture, &r->outcome, members.s, &late) < 0 &&
	    r->outcome.err.kind == B_OK) {
		r->outcome.phase = LAU_PHASE_ABORTED;
		r->outcome.err = late;
	}
	release(r);
}

static int tell(const struct lau_outcome *outcome, int status_fd)
{
	if (outcome->err.kind != B_OK)
		(void)b_report(me, &outcome->err);
	if (status_fd >= 0)
		lau_outcome_write(outcome, status_fd);
	return lau_outcome_status(outcome);
}

/* Inside a run: 1 = that one has made it. */
static int ask_outer(const struct lau_options *o, struct lau_outcome *out)
{
	struct lau_host host;
	int rc;

	if (o->dry_run || !getenv(SBX_ENV_CHANNEL))
		return 0;
	lau_host_quick(&host);
	if (host.is_inside && lau_nest_is_shells(o))
		(void)execv(LAU_SHELL, o->argv);
	*out = (struct lau_outcome){.phase = LAU_PHASE_SETUP};
	rc = host.is_inside ? lau_nest_ask(o, out, &out->err) : 0;
	return rc ? 1 : 0;
}

int lau_run(const struct lau_options *o)
{
	struct run r;

	if (ask_outer(o, &r.outcome))
		return tell(&r.outcome, o->status_fd);
	init(&r, o);
	lau_mark("main");
	go(&r);
	lau_mark("release");
	lau_marks_print();
	/* there may be no copy yet */
	return tell(&r.outcome, r.status_fd >= 0 ? r.status_fd : o->status_fd);
}

int lau_run_guest(const struct lau_options *o, const struct lau_nest_guest *guest,
		  struct lau_watch *requester, struct lau_outcome *out)
{
	struct run r;

	init(&r, o);
	r.guest = guest;
	r.requester = requester;
	go(&r);
	*out = r.outcome;
	return lau_outcome_status(out);
}
