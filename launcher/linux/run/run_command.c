/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "core/path.h"
#include "core/tally.h"
#include "launcher/linux/bwrap/wrap.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/run/marks.h"
#include "launcher/linux/run/run_priv.h"
#include "launcher/plan/plan.h"
#include "launcher/report/report.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"
#include "launcher/run/run.h"
#include "launcher/supervise/supervise.h"
#include "policy/engine.h"
#include "policy/plan/seccomp.h"
#include "policy/plan/mounts.h"

static const char me[] = "sbx-launch";

static void say(const struct b_str *text)
{
	(void)b_write_all(STDERR_FILENO, b_str_c(text), text->len);
}

/* bwrap enters the working directory, which is there when it is bound, in something that is, or
 * above it. */
int lau_run_check_cwd(const struct run *r, struct b_err *err)
{
	const struct pol_mounts *m = &r->plan.mounts;
	b_auto_free char *cwd = getcwd(NULL, 0);
	size_t len = cwd ? strlen(cwd) : 0;

	if (len < 2)
		return 0;
	for (size_t i = 0; i < m->n; i++) {
		const char *path = m->v[i].path;

		if (m->v[i].kind != POL_MOUNT_HIDE_DIR && m->v[i].kind != POL_MOUNT_HIDE_FILE &&
		    (sbx_path_under(cwd, len, path, strlen(path)) ||
		     sbx_path_under(path, strlen(path), cwd, len)))
			return 0;
	}
	return b_fail(err, B_FLOOR, 0,
		      "%s: the policy does not allow reading the working directory, which "
		      "bubblewrap must enter: use --read ., --chdir DIR, or --backend landlock",
		      cwd);
}

static int spawn_wrapped(struct run *r, const struct lau_spawn *sp, struct b_err *err)
{
	const struct lau_plan *p = &r->plan;
	b_auto_free char *cwd = getcwd(NULL, 0);
	struct pol_bwrap options;
	const struct lau_wrap wrap = {
		.bwrap = b_str_c(&r->bwrap),
		.self = p->wrap_self,
		.mounts = &p->mounts,
		.options = &options,
		.landlock = p->landlock_abi > 0 ? &p->landlock : NULL,
		.seccomp_flags = p->seccomp_flags,
		.keep_caps = p->keep_caps,
	};

	lau_plan_wrap(p, r->host.is_root, cwd ? cwd : "/", &options);
	return lau_wrap_spawn(sp, &wrap, &r->spawned, err);
}

/* The command is another than we are: what it has of its own, and what it calls itself. */
static int hand_over(struct run *r, struct b_err *err)
{
	const struct lau_identity *id = &r->plan.identity;

	if (!id->is_set)
		return 0;
	lau_identity_export(id, &r->env);
	return lau_scratch_lend(&r->dirs.scratch, id->uid, id->gid, err);
}

/* A pid namespace's first process ends with us, and all of it; else there is a guard: before the
 * command, or where the namespace could not be had, after. */
static void start_guard(struct run *r, bool has_pid_namespace)
{
	if (r->limits.mark && !has_pid_namespace && !r->guard.pid)
		lau_guard_start(&r->guard, r->limits.mark);
}

static int check_streams(const struct run *r, struct b_err *err)
{
	const struct lau_plan *p = &r->plan;
	const struct lau_inherited in = {
		.keep_fds = r->o->keep_fds,
		.nkeep_fds = r->o->nkeep_fds,
		.replaced = r->capture.is_open ? r->capture.io.child : NULL,
		.net_host = p->engine->effect.network == POL_NET_HOST,
		.unix_host = p->engine->effect.unix_ == POL_UNIX_HOST,
		.is_guarded = p->floor.uses_broker && p->floor.traps & POL_TRAP_SOCKETS,
	};

	return lau_inherited_check(&in, err);
}

int lau_run_lock(struct run *r, struct b_err *err)
{
	if (!r->plan.floor.uses_broker)
		return 0;
	if (r->guest) {
		r->lock = r->guest->lock;
		return 0;
	}
	if (!r->dirs.locks)
		lau_plan_loss(&r->plan, "no lock against other runs in the same directories, which "
					"could move a directory while this run makes a file in it: "
					"make /dev/shm a writable tmpfs");
	return lau_movelock_open(r->dirs.locks, &r->lock, err);
}

/* No process could be made for the attempt, and so none for the command. */
static bool lacks_processes(const struct lau_host *h)
{
	const struct lau_served *f = &h->serving.by[h->own_ns ? LAU_KIN_OWN_NS : LAU_KIN_PARENT];

	return h->serving.is_tried && !h->has_broker && f->step == LAU_SERVE_PROCESS &&
	       f->sys == EAGAIN;
}

int lau_run_losses(struct run *r, struct b_err *err)
{
	if (r->plan.nfatal && !r->plan.engine->effect.lax && lacks_processes(&r->host)) {
		errno = EAGAIN;
		return lau_spawn_no_process(err);
	}
	return lau_losses_tell(r->o, &r->plan, err);
}

/* What the processes handed back. */
static int take_spawned(struct run *r, struct b_err *err)
{
	if (r->spawned.reports)
		lau_reports_open(&r->reports, r->spawned.reports);
	if (r->spawned.alone)
		lau_alone_open(&r->alone, r->spawned.alone);
	if (r->spawned.lost & LAU_NET_FILTERED)
		lau_door_release(&r->door);
	if (r->door.page && lau_door_opened(&r->door, r->plan.engine->image_data,
					    r->plan.engine->image.size, err) < 0)
		return -1;
	start_guard(r, r->plan.is_wrapped || r->spawned.init > 0);
	r->record.lost = r->spawned.lost;
	lau_plan_lost(&r->plan, r->spawned.lost);
	return 0;
}

int lau_run_spawn(struct run *r, struct b_err *err)
{
	struct lau_broker_plan *room = NULL;
	struct lau_spawn sp;
	struct b_err why;
	int rc;

	if (lau_signals_open(&r->signals, err) < 0)
		return -1;
	r->has_signals = true;
	lau_terminal_look(&r->terminal);
	lau_processes_adopt();
	if (hand_over(r, err) < 0 || lau_reload_prepare(r, &room, err) < 0)
		return -1;
	r->envp = lau_environment_build(&r->env, lau_os_environ());
	if (lau_capture_open(&r->capture, r->envp, err) < 0 || check_streams(r, err) < 0)
		return -1;
	r->limits.mark = lau_guard_mark();
	sp = (struct lau_spawn){.confine = &r->confine,
				.broker = r->plan.floor.uses_broker ? &r->broker : NULL,
				.broker_room = room,
				.signals = &r->signals,
				.limits = &r->limits,
				.stdio = r->capture.is_open ? r->capture.io.child : NULL,
				.own_group = r->capture.is_open,
				.program = r->program,
				.argv = r->o->argv,
				.envp = r->envp};
	start_guard(r, r->plan.is_wrapped ? r->plan.wrap_pid : r->plan.isolate & LAU_ISOLATE_PID);
	if (r->o->timeout_ms) {
		r->deadline_ms = b_deadline_ms(r->o->timeout_ms);
		r->timer = lau_timer_start(r->deadline_ms);
	}
	lau_mark("before the processes");
	if (r->plan.ends_tls && lau_door_wait(&r->door, err) < 0)
		return -1;
	rc = r->plan.is_wrapped ? spawn_wrapped(r, &sp, err) : lau_spawn(&sp, &r->spawned, err);
	if (r->capture.is_open)
		lau_exec_io_started(&r->capture.io);
	if (lau_landlock_finish(&r->landlock, &why) < 0) {
		*err = why; /* and so the child gave up */
		return -1;
	}
	if (rc < 0) {
		if (r->spawned.step == LAU_SPAWN_EXEC)
			r->outcome.phase = LAU_PHASE_EXEC;
		else if (sp.broker)
			lau_plan_serving_failed(&r->dirs, &r->plan);
		return -1;
	}
	return take_spawned(r, err);
}

/* Our copies of the command's input and output would hide from the other end of a pipe that
 * the command has closed its own. Standard error stays: denials are told there. */
static void let_go_of_stdio(void)
{
	b_auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
}

static void list_left(void *ctx, const char *list)
{
	b_auto(b_str_release) struct b_str lines = {0};

	(void)ctx;
	for (; *list; list += strcspn(list, "\n") + 1)
		b_str_addf(&lines, "%s: ended what was left running: %.*s\n", me,
			   (int)strcspn(list, "\n"), list);
	say(&lines);
}

static void start_record(struct run *r)
{
	struct b_err err;

	if (r->o->verbose) {
		b_auto(b_str_release) struct b_str text = {0};

		lau_summary_start(&r->plan, r->spawned.lost, &text);
		say(&text);
	}
	if (lau_record_started(&r->record, &r->spawned, r->program, &err) < 0)
		(void)b_report(me, &err); /* the log goes on */
}

/* A process of the launcher in the namespaces of the run; the command may have left them by now. If
 * there is none, the command itself, unless it may make namespaces. 0: none. */
static pid_t stays_in_place(const struct run *r)
{
	if (r->spawned.broker)
		return r->spawned.broker;
	if (r->spawned.init)
		return r->spawned.init;
	return r->plan.seccomp_flags & POL_SC_ALLOW_NAMESPACES ? 0 : r->spawned.pid;
}

/* A listener whose namespaces are not known could serve no run. */
static struct lau_watch *serve_others(struct run *r)
{
	const struct lau_nest_outer outer = {
		.options = r->o,
		.dirs = &r->dirs,
		.plan = &r->plan,
		.broker = &r->broker,
		.record = {r->record.has_dir ? r->record.dir.id : NULL, r->record.family},
		.depth = r->guest ? r->guest->outer->depth + 1 : 0,
		.lost = r->spawned.lost,
		.cgroup = r->cgroup.procs,
		.lock = &r->lock,
	};

	pid_t like = stays_in_place(r);

	if (r->nest.listener < 0)
		return NULL;
	if (like && lau_nest_serve(&r->nest, &outer, like))
		return &r->nest.watch;
	lau_nest_close(&r->nest);
	return NULL;
}

/* The kernel reports nothing about it, and a shell only "Bad system call". */
static void tell_of_filter(const struct lau_outcome *o)
{
	b_auto(b_str_release) struct b_str line = {0};

	if (o->phase != LAU_PHASE_COMMAND ||
	    (o->signal != SIGSYS && (o->signal || o->exit_code != 128 + SIGSYS)))
		return;
	b_str_addf(&line,
		   "%s: note: the system-call filter kills (SIGSYS) programs that make calls of "
		   "another architecture: 32-bit programs do not run in the sandbox\n",
		   me);
	say(&line);
}

int lau_run_supervise(struct run *r, struct b_err *err)
{
	const struct lau_supervisor s = {
		.signals = &r->signals,
		.command = r->spawned.pid,
		.wrap = r->spawned.wrap,
		.broker = r->spawned.broker,
		.init = r->spawned.init,
		.timer = r->timer,
		.deadline_ms = r->deadline_ms,
		.kill_after_ms = r->o->kill_after_ms,
		.is_contract = r->capture.is_open,
		.terminal_group = getpgrp(),
		.io = r->capture.is_open ? &r->capture.io : NULL,
		.watch = {r->requester, serve_others(r), r->guard.pid ? &r->guard.watch : NULL,
			  r->spawned.reports ? &r->reports.watch : NULL,
			  r->door.page ? &r->door.watch : NULL,
			  r->spawned.alone ? &r->alone.watch : NULL, lau_reload_watch(r)},
		.drain = r->record.collector ? lau_record_drain : NULL,
		.left = r->o->verbose ? list_left : NULL,
		.ctx = &r->record,
	};

	let_go_of_stdio();
	start_record(r);
	lau_mark("record, beside the command");
	lau_supervise(&s, &r->outcome);
	lau_mark("command");
	lau_terminal_return(&r->terminal);
	if (r->outcome.signal || r->outcome.phase != LAU_PHASE_COMMAND)
		lau_terminal_restore(&r->terminal);
	if (r->has_copies)
		lau_agents_return(&r->dirs, r->plan.engine);
	if (r->record.tally) /* which has no line: the sums differ */
		atomic_fetch_add(&r->record.tally->asked, lau_door_unheard(&r->door));
	if (lau_parts_end(r->o, &r->record, &r->outcome, err) < 0)
		return -1;
	if (!r->o->quiet)
		tell_of_filter(&r->outcome);
	if (r->o->verbose) {
		b_auto(b_str_release) struct b_str text = {0};

		lau_summary_end(&r->record, &r->outcome, &text);
		say(&text);
	}
	return 0;
}
