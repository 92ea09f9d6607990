/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run.c - see launcher/run/run.h: a run on macOS, a list of steps as on Linux. The policy becomes a
 * profile, sandbox-exec applies it and executes our second stage (stage2.h), which executes the
 * command: one process number from the fork to the end.
 */
#include "launcher/plan/plan.h"
#include "launcher/options/approve.h"
#include "launcher/options/grida_call.h"
#include "launcher/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/channel.h"
#include "launcher/exec/exec.h"
#include "launcher/run/channel.h"
#include "launcher/run/dirs.h"
#include "launcher/report/report.h"
#include "launcher/plan/environment.h"
#include "launcher/plan/program.h"
#include "launcher/report/host.h"
#include "launcher/macos/seatbelt.h"
#include "launcher/options/options.h"
#include "launcher/run/os.h"
#include "launcher/supervise/supervise.h"
#include "launcher/run/spawn.h"
#include "policy/engine.h"
#include "sbpl/sbpl.h"

struct run {
	const struct lau_options *o;
	struct lau_dirs dirs;
	struct lau_plan plan;
	struct sbpl_profile profile;
	struct lau_channel channel;
	struct lau_record record;
	struct lau_environment env;
	struct lau_signals signals;
	struct lau_seatbelt seatbelt;
	struct lau_outcome outcome;
	struct lau_capture capture;
	struct b_str profile_file; /* removed at the end */
	char self[4096];
	char *program, *shim;
	char **envp, **words; /* of the second stage */
	char report_fd[16];
	int report[2];
	pid_t command, timer;
	uint64_t deadline_ms;
	int status_fd;
	bool has_signals;
};

static const char me[] = "sbx-launch";

/* ---- steps that write nothing ---- */

static int step_descriptors(struct run *r, struct b_err *err)
{
	if (lau_parts_status_fd(r->o, &r->status_fd, err) < 0)
		return -1;
	return lau_capture_find(r->o, &r->capture, err);
}

static int step_options(struct run *r, struct b_err *err)
{
	b_auto(b_str_release) struct b_str notes = {0};
	char *at, *line;

	if (lau_macopts_check(r->o, &notes, err) < 0)
		return -1;
	at = notes.len && !r->o->quiet ? notes.s : NULL;
	while ((line = strsep(&at, "\n")) && *line)
		lau_say("note", line);
	return 0;
}

static int step_policy(struct run *r, struct b_err *err)
{
	if (lau_dirs_find(r->o, &r->dirs, err) < 0 || lau_call_check(r->o, &r->dirs, err) < 0)
		return -1;
	return lau_plan_policy(r->o, NULL, &r->dirs, &r->plan, err);
}

static int step_program(struct run *r, struct b_err *err)
{
	const char *path = lau_environment_get(&r->env, lau_os_environ(), "PATH");

	if (lau_program_find(r->o->argv[0], path, &r->program, err) < 0)
		return -1;
	return lau_parts_may_exec(r->plan.engine, r->program, err);
}

static int step_shim(struct run *r, struct b_err *err)
{
	if (!lau_os_own_path(r->self, sizeof r->self))
		return b_fail(err, B_SYSTEM, 0,
			      "macOS does not show where sbx-launch is installed");
	return lau_parts_shim(r->o, r->program, &r->shim, err);
}

static int step_variables(struct run *r, struct b_err *err)
{
	return lau_envplan(r->o, &r->dirs.layers, lau_os_environ(), &r->env, err);
}

static int step_mode(struct run *r, struct b_err *err)
{
	return lau_mode_check(r->o, r->plan.engine, &r->env, err);
}

static int step_environment(struct run *r, struct b_err *err)
{
	(void)err;
	if (r->dirs.scratch.path)
		lau_scratch_export(r->dirs.scratch.path, &r->env);
	if (r->dirs.cache)
		lau_cache_export(r->dirs.cache, &r->env);
	lau_agents_export(&r->dirs, &r->env);
	lau_envplan_note(&r->env, lau_os_environ(), &r->plan);
	return 0;
}

/* Does Seatbelt hold the command? */
static bool is_confined(const struct run *r)
{
	return r->plan.nfatal == 0;
}

/* The run's own files, for the command: this program and the shim to be executed and mapped, the
 * image to be read, the ring to be written. The directories they lie in are hidden. */
static void grant(struct run *r, enum sbx_op op, const char *path)
{
	const struct pol_rule rule = {
		.allow = true,
		.layer = POL_LAYER_MAIN,
		.shape = POL_EXACT,
		.tier = POL_TIER_CLI,
		.base = path,
		.base_len = strlen(path),
		.matched = path,
		.origin = "builtin:run:1",
	};

	pol_ruleset_add(&r->plan.engine->rules, op, &rule);
}

static int step_profile(struct run *r, struct b_err *err)
{
	struct sbpl_opts opts = sbpl_opts_of(&r->plan.engine->effect);

	if (!is_confined(r))
		return 0;
	sbpl_opts_add(&opts, &r->dirs.layers.main.settings, r->dirs.layers.n > 0);
	opts.macos = lau_macos_release();
	opts.own_sockets = r->dirs.scratch.path;
	grant(r, SBX_READ, r->self);
	grant(r, SBX_EXEC, r->self);
	if (r->plan.use_shim && r->channel.dir) {
		grant(r, SBX_READ, r->shim);
		grant(r, SBX_EXEC, r->shim);
		grant(r, SBX_READ, r->channel.image_path);
		grant(r, SBX_READ, r->channel.ring_path);
		grant(r, SBX_MODIFY, r->channel.ring_path);
	}
	return sbpl_compile(&r->plan.engine->rules, NULL, &opts, &r->profile, err);
}

/* Nothing confines here: refused, unless the documents are lax about it. Then the shim alone
 * checks; without it the command would run bare, which nobody can ask for. */
static int look_for_seatbelt(struct run *r, bool *out_has, struct b_err *err)
{
	struct lau_plan *p = &r->plan;
	struct b_err why;

	*out_has = lau_seatbelt_probe((enum lau_backend)r->o->backend, &why) == 0;
	if (*out_has)
		return 0;
	if (r->o->no_shim)
		return b_fail(err, B_FLOOR, 0,
			      "%s: with --no-shim nothing would enforce the policy", why.msg);
	p->losses = b_calloc(1, sizeof *p->losses);
	p->losses[0] = (struct lau_loss){
		.text = b_arena_printf(&p->arena,
				       "the whole policy, for programs that do not load the shim: "
				       "%s",
				       why.msg),
		.fatal = true,
	};
	p->nlosses = p->nfatal = 1;
	return 0;
}

static int step_seatbelt(struct run *r, struct b_err *err)
{
	bool has;

	if (look_for_seatbelt(r, &has, err) < 0)
		return -1;
	if (has)
		return 0;
	if (!r->plan.engine->effect.lax)
		return b_fail(err, B_FLOOR, 0, "cannot be enforced: %s", r->plan.losses[0].text);
	lau_say("loss", r->plan.losses[0].text);
	return 0;
}

static int step_notices(struct run *r, struct b_err *err)
{
	const struct pol_engine *e = r->plan.engine;

	const struct pol_foreign *f = &r->dirs.layers.main.foreign;

	if (pol_engine_refuse(e, err) < 0)
		return -1;
	for (size_t i = 0; i < e->nlosses; i++)
		lau_say("loss", e->losses[i]);
	if (lau_identity_is_asked(f))
		lau_say("loss", "the policy names a user for the command: on macOS the command "
				"runs as the user that starts it");
	for (size_t i = 0; !r->o->quiet && i < e->nnotices; i++)
		lau_say("note", e->notices[i]);
	for (size_t i = 0; r->o->quiet && i < e->nopened; i++)
		lau_say("note", e->opened[i].line);
	for (size_t i = 0; r->o->verbose && i < r->profile.nnotes; i++)
		lau_say("note", r->profile.notes[i]);
	return 0;
}

/* ---- steps that make something ---- */

static int step_directories(struct run *r, struct b_err *err)
{
	if (lau_dirs_make(&r->dirs, err) < 0)
		return -1;
	return lau_agents_make(&r->dirs, r->plan.engine, err);
}

static int step_channel(struct run *r, struct b_err *err)
{
	const struct pol_engine *e = r->plan.engine;
	const struct lau_channel_image image = {e->image_data, e->image.size, NULL};

	if (!r->plan.use_shim)
		return 0;
	if (lau_channel_new(r->dirs.channels, &image, (enum sbx_audit_level)r->o->audit_level,
			    &r->channel, err) < 0)
		return -1;
	lau_environment_set(&r->env, SBX_ENV_CHANNEL, r->channel.dir);
	return 0;
}

static int step_record(struct run *r, struct b_err *err)
{
	return lau_record_open(r->o, &r->plan, &r->dirs, r->channel.dir ? &r->channel : NULL, NULL,
			       &r->record, err);
}

/* Where the command can neither read nor write; without a log and a shim, in the temporary
 * directory, 0600: its own profile is no secret of its own. */
static int step_file(struct run *r, struct b_err *err)
{
	struct b_str *path = &r->profile_file;
	b_auto_free char *base = NULL;
	b_auto_fd int fd = -1;

	if (!is_confined(r))
		return 0;
	if (r->record.has_dir)
		b_str_addf(path, "%s/profile.sb.XXXXXX", r->record.dir.path);
	else if (lau_scratch_base(&base, err) < 0)
		return -1;
	else
		b_str_addf(path, "%s/sbx-launch-profile.XXXXXX", base);
	fd = mkstemp(path->s);
	if (fd < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", path->s, strerror(errno));
	if (b_write_all(fd, r->profile.text, r->profile.len) < 0)
		return b_fail(err, B_SYSTEM, errno, "%s: %s", path->s, strerror(errno));
	return 0;
}

/* ---- the command ---- */

static int step_words(struct run *r, struct b_err *err)
{
	char *const head[] = {r->self, (char[]){LAU_STAGE2}, r->report_fd,
			      r->shim && r->channel.dir ? r->shim : (char[]){"-"}, r->program};
	const size_t nhead = sizeof head / sizeof *head;
	size_t n = 0;

	if (pipe(r->report) < 0)
		return b_fail(err, B_SYSTEM, errno, "pipe: %s", strerror(errno));
	(void)fcntl(r->report[0], F_SETFD, FD_CLOEXEC);
	snprintf(r->report_fd, sizeof r->report_fd, "%d", r->report[1]);
	while (r->o->argv[n])
		n++;
	r->words = b_arena_alloc(&r->plan.arena, (nhead + n + 1) * sizeof *r->words);
	for (size_t i = 0; i < nhead; i++)
		r->words[i] = b_arena_strndup(&r->plan.arena, head[i], strlen(head[i]));
	memcpy(r->words + nhead, r->o->argv, (n + 1) * sizeof *r->words);
	lau_seatbelt_argv(&r->profile, r->profile_file.s, r->words, &r->seatbelt);
	return 0;
}

static _Noreturn void child(struct run *r)
{
	struct b_err err;

	for (int fd = 0; r->capture.is_open && fd <= STDERR_FILENO; fd++)
		if (r->capture.io.child[fd] >= 0)
			(void)dup2(r->capture.io.child[fd], fd);
	if (r->capture.is_open)
		(void)setpgid(0, 0);
	lau_signals_restore(&r->signals);
	close(r->report[0]);
	lau_fds_close(r->o->keep_fds, r->o->nkeep_fds);
	environ = r->envp;
	if (is_confined(r) && r->o->backend == LAU_BACKEND_SANDBOX_EXEC) {
		execve(LAU_SANDBOX_EXEC, r->seatbelt.argv, r->envp);
		_exit(LAU_STATUS_OURS);
	}
	if (is_confined(r) && lau_seatbelt_enter(&r->profile, &r->seatbelt, &err) < 0) {
		(void)b_report(me, &err);
		_exit(LAU_STATUS_OURS);
	}
	_exit(lau_stage2_run(r->report[1], r->shim && r->channel.dir ? r->shim : NULL, r->program,
			     r->o->argv));
}

/* The command was not reached. */
static int fail_start(struct run *r, const struct lau_stage2_said *said, struct b_err *err)
{
	int status = 0;

	while (waitpid(r->command, &status, 0) < 0 && errno == EINTR)
		;
	if (!said->ran)
		return lau_seatbelt_blame(status, r->profile_file.s, err);
	r->outcome.phase = LAU_PHASE_EXEC;
	return b_fail(err, said->error == ENOENT ? B_NOTFOUND : B_NOEXEC, said->error, "`%s`: %s",
		      r->program, strerror(said->error));
}

static int step_spawn(struct run *r, struct b_err *err)
{
	struct lau_stage2_said said;

	if (lau_signals_open(&r->signals, err) < 0)
		return -1;
	r->has_signals = true;
	lau_processes_adopt();
	r->envp = lau_environment_build(&r->env, lau_os_environ());
	if (lau_capture_open(&r->capture, r->envp, err) < 0)
		return -1;
	if (r->o->timeout_ms) {
		r->deadline_ms = b_now_ms() + r->o->timeout_ms;
		r->timer = lau_timer_start(r->deadline_ms);
	}
	r->command = fork();
	if (r->command < 0)
		return b_fail(err, B_SYSTEM, errno, "fork: %s", strerror(errno));
	if (r->command == 0)
		child(r);
	if (r->capture.is_open)
		lau_exec_io_started(&r->capture.io);
	close(r->report[1]);
	r->report[1] = -1;
	lau_stage2_listen(r->report[0], &said);
	if (!said.ran || said.error)
		return fail_start(r, &said, err);
	return 0;
}

static void list_left(void *ctx, const char *list)
{
	(void)ctx;
	lau_say("ended what was left running", list);
}

static int step_supervise(struct run *r, struct b_err *err)
{
	const struct lau_supervisor s = {
		.signals = &r->signals,
		.command = r->command,
		.timer = r->timer,
		.deadline_ms = r->deadline_ms,
		.kill_after_ms = r->o->kill_after_ms,
		.is_contract = r->capture.is_open,
		.terminal_group = getpgrp(),
		.io = r->capture.is_open ? &r->capture.io : NULL,
		.drain = r->record.collector ? lau_record_drain : NULL,
		.left = r->o->verbose ? list_left : NULL,
		.ctx = &r->record,
	};
	const struct lau_spawned spawned = {.pid = r->command};
	struct b_err late;

	if (lau_record_started(&r->record, &spawned, r->program, &late) < 0)
		(void)b_report(me, &late);
	lau_supervise(&s, &r->outcome);
	lau_agents_return(&r->dirs, r->plan.engine);
	return lau_parts_end(r->o, &r->record, &r->outcome, err);
}

/* ---- the list ---- */

typedef int step_fn(struct run *, struct b_err *);

static step_fn *const look[] = {step_descriptors, step_options, step_policy, step_variables,
				step_mode,	  step_program, step_shim,   step_environment};
static step_fn *const launch[] = {step_seatbelt, step_directories, step_channel, step_profile,
				  step_notices,	 step_record,	   step_file,	 step_words,
				  step_spawn,	 step_supervise};

static int walk(struct run *r, step_fn *const *steps, size_t n, struct b_err *err)
{
	for (size_t i = 0; i < n; i++)
		if (steps[i](r, err) < 0)
			return -1;
	return 0;
}

static int dry_run(struct run *r, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	bool has;

	if (step_profile(r, err) < 0 || look_for_seatbelt(r, &has, err) < 0)
		return -1;
	lau_dryrun_show(r->o, &r->plan, &r->env, r->program, &text);
	if (has)
		sbpl_profile_show(&r->profile, &text);
	if (b_write_all(STDOUT_FILENO, text.s, text.len) < 0)
		return b_fail(err, B_SYSTEM, errno, "standard output: %s", strerror(errno));
	return 0;
}

static void release(struct run *r)
{
	lau_timer_stop(r->timer);
	for (int i = 0; i < 2; i++)
		if (r->report[i] >= 0)
			close(r->report[i]);
	if (r->profile_file.len)
		(void)unlink(r->profile_file.s);
	lau_capture_release(&r->capture);
	lau_record_release(&r->record);
	lau_channel_release(&r->channel);
	if (r->has_signals)
		lau_signals_close(&r->signals);
	lau_seatbelt_release(&r->seatbelt);
	sbpl_profile_release(&r->profile);
	lau_plan_release(&r->plan);
	lau_environment_release(&r->env);
	b_str_release(&r->profile_file);
	free(r->envp);
	free(r->program);
	free(r->shim);
	lau_dirs_release(&r->dirs);
}

int lau_run(const struct lau_options *o)
{
	struct run r = {
		.o = o,
		.dirs.scratch = {.base = -1, .lock = -1},
		.channel = {.lock_fd = -1, .ring_fd = -1},
		.record.log_fd = -1,
		.outcome.phase = LAU_PHASE_SETUP,
		.capture = LAU_CAPTURE_INIT,
		.report = {-1, -1},
		.status_fd = -1,
	};
	b_auto(b_str_release) struct b_str members = {0};
	struct b_err err = {.kind = B_OK}, late;
	int rc = walk(&r, look, sizeof look / sizeof *look, &err);

	if (rc == 0)
		rc = o->dry_run ? dry_run(&r, &err)
				: walk(&r, launch, sizeof launch / sizeof *launch, &err);
	if (rc < 0)
		r.outcome.err = err;
	else if (o->dry_run)
		r.outcome.phase = LAU_PHASE_COMMAND;
	lau_record_refused(&r.record, &members);
	if (lau_capture_end(&r.capture, &r.outcome, members.s, &late) < 0 &&
	    r.outcome.err.kind == B_OK) {
		r.outcome.phase = LAU_PHASE_ABORTED;
		r.outcome.err = late;
	}
	release(&r);
	if (r.outcome.err.kind != B_OK)
		(void)b_report(me, &r.outcome.err);
	if (r.status_fd >= 0)
		lau_outcome_write(&r.outcome, r.status_fd);
	return lau_outcome_status(&r.outcome);
}
