/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - what a run does alike on every system: its steps, and its record. */
#include "launcher/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/chain.h"
#include "audit/collector.h"
#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "base/str.h"
#include "core/ring.h"
#include "core/tally.h"
#include "launcher/options/options.h"
#include "launcher/plan/environment.h"
#include "launcher/plan/plan.h"
#include "launcher/plan/program.h"
#include "launcher/report/report.h"
#include "launcher/run/channel.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"
#include "launcher/run/spawn.h"
#include "launcher/supervise/supervise.h"
#include "policy/engine.h"
#include "policy/plan/seccomp.h"

void lau_parts_request(const struct lau_options *o, struct lau_dirs *dirs, struct lau_request *out)
{
	struct pol_request *rq = &out->rq;

	lau_policy_request(&o->policy, rq);
	rq->layers = &dirs->layers;
	rq->workspace_texts = o->policy.workspaces.n ? o->policy.workspaces.v : NULL;
	rq->is_default_workspace = o->policy.workspaces.n == 0;
	rq->workspaces = dirs->workspaces;
	rq->nworkspaces = dirs->nworkspaces;
	rq->scratch = dirs->scratch.path;
	rq->cache = dirs->cache;
	rq->hidden = dirs->hidden;
	rq->nhidden = dirs->nhidden;
	rq->outer = dirs->outer;
	rq->stdio = out->stdio;
	rq->nstdio = lau_stdio_find(dirs, out->stdio);
	if (o->result_json) /* only the first may be ours */
		while (rq->nstdio > 0 && (o->stdin_from || out->stdio[rq->nstdio - 1].fd > 0))
			rq->nstdio--;
	rq->image_cache = dirs->images;
}

int lau_parts_chdir(const struct lau_options *o, struct b_err *err)
{
	if (!o->chdir || chdir(o->chdir) == 0)
		return 0;
	return b_fail(err, B_WORKSPACE, errno, "--chdir: %s: `%s`: %s",
		      errno == ENOTDIR ? "cwd-not-a-directory" : "cwd-resolve-failed", o->chdir,
		      strerror(errno));
}

int lau_parts_status_fd(const struct lau_options *o, int *out_fd, struct b_err *err)
{
	*out_fd = -1;
	if (o->status_fd < 0)
		return 0;
	*out_fd = fcntl(o->status_fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (*out_fd < 0 ||
	    (o->status_fd > STDERR_FILENO && fcntl(o->status_fd, F_SETFD, FD_CLOEXEC) < 0))
		return b_fail(err, B_SYSTEM, errno, "--status-fd: %s", strerror(errno));
	return 0;
}

int lau_parts_may_exec(struct pol_engine *engine, const char *file, struct b_err *err)
{
	b_auto_free char *real = realpath(file, NULL);
	struct pol_answer answer;

	if (!real)
		return b_fail(err, B_NOEXEC, errno, "`%s`: %s", file, strerror(errno));
	if (pol_engine_check(engine, SBX_EXEC, real, &answer, err) < 0)
		return -1;
	if (!answer.allowed)
		return b_fail(err, B_NOEXEC, 0, "`%s`: refused by the policy: rule `%s` (%s)", file,
			      answer.matched, answer.origin);
	return 0;
}

bool lau_parts_requires_shim(const struct lau_options *o)
{
	return o->require >> LAU_NEED_SHIM & 1;
}

int lau_parts_shim(const struct lau_options *o, const char *program, char **out, struct b_err *err)
{
	enum sbx_exec_class cls =
		lau_parts_requires_shim(o) ? lau_exec_class(program) : SBX_EXEC_DYNAMIC;

	*out = NULL;
	if (cls != SBX_EXEC_DYNAMIC && cls != SBX_EXEC_UNREADABLE)
		return b_fail(err, B_NOEXEC, 0,
			      "`%s`: required: shim: this program would not load it (%s)", program,
			      sbx_exec_class_name(cls));
	return o->no_shim ? 0 : lau_shim_find(out, err);
}

/* A log with holes is an error where it was to have none. */
static int check_witnessed(const struct lau_options *o, const struct lau_record *r,
			   struct b_err *err)
{
	struct aud_counts counts;

	if (!lau_parts_requires_shim(o) || !r->collector)
		return 0;
	aud_collector_counts(r->collector, &counts);
	return lau_require_witnessed(&counts, err);
}

int lau_parts_end(const struct lau_options *o, struct lau_record *r, struct lau_outcome *outcome,
		  struct b_err *err)
{
	int rc = lau_record_finish(r, outcome, err);

	if (rc < 0 && !o->audit_required) {
		(void)b_report("sbx-launch", err);
		rc = 0;
	}
	if (rc == 0)
		rc = check_witnessed(o, r, err);
	if (rc < 0)
		outcome->phase = LAU_PHASE_ABORTED;
	return rc;
}

/* Bytes of the broker's events between two drains, some 40 ms; pages come as they are used. */
#define BROKER_RING (2u << 20)

/* ---- the log ---- */

static void say_denial(void *ctx, const char *line)
{
	struct lau_record *r = ctx;
	b_auto(b_str_release) struct b_str text = {0};

	lau_hide_text(&r->secrets, line, &text);
	lau_prompt_say(&r->prompt, b_str_c(&text));
}

/* The command may not write its own log. Asked before the file is made. */
static int check_audit_file(struct lau_plan *p, const char *file, struct b_err *err)
{
	b_auto(b_str_release) struct b_str path = {0};
	b_auto_free char *cwd = *file == '/' ? NULL : getcwd(NULL, 0);
	struct pol_answer answer;

	if (cwd)
		b_str_addf(&path, "%s/", cwd);
	b_str_add(&path, file);
	if (pol_engine_check(p->engine, SBX_MODIFY, path.s, &answer, err) < 0)
		return b_wrap(err, "--audit-file");
	if (answer.allowed)
		return b_fail(err, B_AUDIT, 0,
			      "--audit-file %s: the command may modify it (rule `%s`, %s): choose "
			      "a file outside the workspace",
			      file, answer.matched, answer.origin);
	if (lau_outfile_is_descriptor(file))
		return 0;
	if (lau_outfile_check(p->engine, "--audit-file", file, NULL, err) < 0) {
		err->kind = B_AUDIT;
		return -1;
	}
	return 0;
}

static int open_log(struct lau_record *r, struct b_err *err)
{
	enum { FLAGS = O_WRONLY | O_CREAT | O_APPEND };
	const char *file = r->options->audit_file;

	if (file && check_audit_file(r->plan, file, err) < 0)
		return -1;
	r->log_is_torn = file && aud_log_is_torn(file);
	r->log_fd = file ? lau_outfile_open(file, FLAGS)
			 : openat(r->dir.dirfd, "audit.jsonl", FLAGS | O_CLOEXEC, 0600);
	if (r->log_fd < 0)
		return b_fail(err, B_AUDIT, errno, "%s: %s", file ? file : r->dir.path,
			      errno == ENXIO ? "no program has it open for reading"
					     : strerror(errno));
	return 0;
}

/* aud_redact_fn */
static void hide_word(void *ctx, const char *before, const char *word, struct b_str *out)
{
	lau_hide_word(&((const struct lau_record *)ctx)->words, before, word, out);
}

static int open_collector(struct lau_record *r, const struct lau_channel *channel,
			  struct b_err *err)
{
	const char *file = r->options->audit_file;
	struct aud_config cfg = {
		.image = &r->plan->engine->image,
		.run_id = r->has_dir ? r->dir.id : "",
		.workspaces = r->dirs->workspaces,
		.nworkspaces = r->dirs->nworkspaces,
		.log_fd = r->log_fd,
		.required = r->options->audit_required,
		.ring = channel ? channel->ring : NULL,
		.ring_data = channel ? channel->ring_data : 0,
		.tally = r->tally,
		.broker_ring = r->broker_ring,
		.broker_ring_data = r->broker_ring_data,
		.denial = r->options->quiet > 1 ? NULL : say_denial,
		.denial_ctx = r,
		.keeps_refusals = r->options->result_json != NULL,
		.level = (enum sbx_audit_level)r->options->audit_level,
		/* in a pid namespace of its own a process has numbers that mean nothing here */
		.kin = r->options->allow & POL_SC_ALLOW_NAMESPACES ? NULL : lau_os_kin,
		.log_limit = r->options->audit_required ? 0
			     : r->room			? r->room
							: AUD_LOG_LIMIT,
		.key = r->key,
		.is_shared = file != NULL,
		.is_torn = r->log_is_torn,
		.origin = &r->origin.is,
		.context = r->origin.context,
		.ncontext = r->origin.ncontext,
		.redact = hide_word,
		.redact_ctx = r,
	};

	r->prompt.is_terminal = isatty(STDERR_FILENO);
	return aud_collector_new(&cfg, &r->collector, err);
}

/* The ring, and the counts of calls behind it. */
static size_t broker_bytes(void)
{
	return sbx_ring_bytes(BROKER_RING) + sizeof(struct sbx_tally);
}

/* Anonymous: nobody but those forked from us can have it, and an exec takes it away. */
static int make_broker_ring(struct lau_record *r, struct b_err *err)
{
	char *ring = mmap(NULL, broker_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);

	if (ring == MAP_FAILED)
		return b_fail_sys(err, errno == ENOMEM ? B_LIMIT : B_AUDIT, errno,
				  "the broker's ring");
	r->broker_ring = (void *)ring;
	r->broker_ring_data = BROKER_RING;
	r->tally = (void *)(ring + sbx_ring_bytes(BROKER_RING));
	sbx_ring_init(r->broker_ring, BROKER_RING, (enum sbx_audit_level)r->options->audit_level);
	return 0;
}

/* What is inside of a run is kept as long as that is, and found by its name. */
static int find_family(struct lau_record *r, struct b_err *err)
{
	if (!r->parent)
		r->family = lau_family_new(r->dir.id);
	if (!r->family)
		return b_fail_sys(err, B_AUDIT, errno, "the run's family");
	if (!r->parent)
		return 0;
	if (lau_family_join(r->family, &r->room, err) < 0)
		return -1;
	return aud_rundir_join(&r->dir, r->family->id, err);
}

int lau_record_open(const struct lau_options *o, struct lau_plan *plan, const struct lau_dirs *dirs,
		    struct lau_channel *channel, const struct lau_record_outer *outer,
		    struct lau_record *out, struct b_err *err)
{
	bool wants_log = o->audit_level != SBX_AUDIT_NONE;

	*out = (struct lau_record){.options = o,
				   .plan = plan,
				   .dirs = dirs,
				   .channel = channel,
				   .parent = outer ? outer->run_id : NULL,
				   .family = outer ? outer->family : NULL,
				   .log_fd = -1,
				   .info = AUD_INFOFILE_INIT,
				   .started_ms = b_now_real_ns() / 1000000};
	lau_hide_collect(o, lau_os_environ(), true, &out->secrets);
	lau_hide_collect(o, lau_os_environ(), false, &out->words);
	out->shown_argv = lau_hide_words(&out->words, o->argv, &plan->arena);
	if (lau_origin_find(&out->origin, o, dirs->bundle.text, &out->words, err) < 0)
		return -1;
	out->origin.is.argv = out->shown_argv;
	if (wants_log) {
		if (aud_rundir_new(&out->dir, err) < 0)
			return -1;
		out->has_dir = true;
		if (aud_key_load(dirs->runs, true, out->key, err) < 0)
			return -1;
		if (find_family(out, err) < 0 || open_log(out, err) < 0)
			return -1;
	}
	if (plan->floor.uses_broker && wants_log && make_broker_ring(out, err) < 0)
		return -1;
	/* Without a log the events of coverage are of use to -v and --require shim alone. */
	if ((channel || out->broker_ring) &&
	    (wants_log || o->verbose || o->require >> LAU_NEED_SHIM & 1))
		return open_collector(out, channel, err);
	return 0;
}

/* ---- run.json ---- */

static const char *const level_names[SBX_AUDIT_LEVEL_COUNT] = {
	[SBX_AUDIT_FOLDED] = "folded", [SBX_AUDIT_ALL] = "all",	  [SBX_AUDIT_MODIFY] = "modify",
	[SBX_AUDIT_DENIED] = "denied", [SBX_AUDIT_NONE] = "none",
};

static const char **loss_texts(struct lau_plan *p)
{
	const char **texts = b_arena_alloc(&p->arena, (p->nlosses + 1) * sizeof *texts);
	size_t i;

	for (i = 0; i < p->nlosses; i++)
		texts[i] = p->losses[i].text;
	return texts;
}

static void add_end(const struct lau_record *r, const struct lau_outcome *o,
		    struct aud_runinfo *info)
{
	if (r->collector) {
		aud_collector_counts(r->collector, &info->counts);
		/* while the run lasts, its last line is still to come */
		info->final_hash = o ? aud_collector_hash(r->collector) : NULL;
	}
	info->exit_status = -1;
	if (!o)
		return;
	info->ended_ms = b_now_real_ns() / 1000000;
	info->exit_status = lau_outcome_status(o);
	info->exit_signal = o->signal;
	info->timed_out = o->phase == LAU_PHASE_TIMEOUT;
}

static size_t list_limits(const struct lau_bounds *bounds, struct aud_limit out[LAU_BOUND_COUNT])
{
	size_t n = 0;

	for (int b = 0; b < LAU_BOUND_COUNT; b++)
		if (bounds->v[b])
			out[n++] = (struct aud_limit){lau_bound_name((enum lau_bound)b),
						      lau_holder_name(bounds->by[b]), bounds->v[b]};
	return n;
}

/* The tool call that the caller names for the run; NULL = none, or one that is too long. */
static const char *context_of(char *const *vars)
{
	enum { CONTEXT_MAX = 512 };
	static const char name[] = "SBX_CONTEXT=";

	for (; *vars; vars++)
		if (strncmp(*vars, name, sizeof name - 1) == 0) {
			const char *value = *vars + sizeof name - 1;
			size_t n = strlen(value);

			return n > 0 && n <= CONTEXT_MAX && b_utf8_valid(value, n) ? value : NULL;
		}
	return NULL;
}

/* `o` NULL: it still runs. */
static int write_info(struct lau_record *r, const struct lau_outcome *o, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	b_auto_free char *cwd = getcwd(NULL, 0);
	const struct pol_engine *e = r->plan->engine;
	struct aud_limit limits[LAU_BOUND_COUNT];
	struct aud_runinfo info = {
		.run_id = r->dir.id,
		.parent = r->parent,
		.context = context_of(lau_os_environ()),
		.version = SBX_VERSION,
		.pid = getpid(),
		.started_ms = r->started_ms,
		.argv = r->shown_argv,
		.cwd = cwd ? cwd : "",
		.policy = e->policy_name,
		.policy_hash = e->hash,
		.profile = e->rules.profile,
		.bundle = &r->dirs->bundle.is,
		.workspaces = r->dirs->workspaces,
		.nworkspaces = r->dirs->nworkspaces,
		.losses = loss_texts(r->plan),
		.nlosses = r->plan->nlosses,
		.landlock_rules = r->plan->landlock.nrules,
		.limits = limits,
		.environment = r->plan->env_mode,
		.removed_vars = r->plan->removed_vars,
		.nremoved_vars = r->plan->nremoved_vars,
		.audit_file = r->options->audit_file,
		.audit_level = level_names[r->options->audit_level],
	};

	if (!r->has_dir)
		return 0;
	if (!r->parent)
		info.runs_inside = atomic_load(&r->family->runs);
	info.nlimits = list_limits(&r->plan->bounds, limits);
	info.floor = lau_plan_mechanisms(r->plan, r->lost, &info.nfloor);
	add_end(r, o, &info);
	aud_runinfo_json(&info, &text);
	return aud_infofile_put(&r->info, &r->dir, &text, err);
}

/* ---- the run ---- */

/* In a pid namespace of its own the log has the numbers that the command and all below it see. */
static void tell_start(struct lau_record *r, const struct lau_spawned *spawned, const char *real,
		       enum sbx_exec_class cls)
{
	bool is_brokers = spawned->reports;
	char path[64];

	if (!spawned->init) {
		aud_collector_started(r->collector, spawned->pid,
				      is_brokers ? spawned->broker : getpid(), real, cls);
		return;
	}
	snprintf(path, sizeof path, "/proc/%d/root/proc", (int)spawned->init);
	aud_collector_enter(r->collector, open(path, LAU_O_SEARCH | O_DIRECTORY | O_CLOEXEC));
	aud_collector_started(r->collector, LAU_INNER_PID(spawned->broker > 0),
			      is_brokers ? LAU_INNER_PID(true) - 1 : 0, real, cls);
}

/* Whether the numbers of processes in events are known outside of the run. */
static void watch_ends(struct lau_record *r, const struct lau_spawned *spawned)
{
	if (spawned->wrap || (r->parent && !spawned->init))
		return;
	r->ends = lau_os_ends_new(spawned->init);
	if (r->ends)
		aud_collector_watch(
			r->collector,
			&(const struct aud_ends){lau_os_ends_watch, lau_os_ends_next, r->ends});
}

int lau_record_started(struct lau_record *r, const struct lau_spawned *spawned, const char *program,
		       struct b_err *err)
{
	b_auto_free char *real = realpath(program, NULL);

	r->is_started = true;
	if (r->collector)
		watch_ends(r, spawned);
	if (r->collector)
		tell_start(r, spawned, real ? real : program, lau_exec_class(program));
	if (!r->has_dir)
		return 0;
	/* None inside of another: the command could have as many as it takes to remove what is not
	 * its own. */
	if (!r->parent && aud_rundir_is_due())
		aud_rundir_retain(r->dirs->runs);
	/* a launcher that was killed before leaves no run */
	if (write_info(r, NULL, err) < 0) {
		r->has_no_info = true;
		(void)aud_rundir_show(&r->dir, NULL);
		return -1;
	}
	return aud_rundir_show(&r->dir, err);
}

int lau_record_drain(void *record, bool final, int *out_poll_ms, struct b_err *err)
{
	struct lau_record *r = record;

	if (!final && r->channel && lau_channel_settle(r->channel, err) < 0)
		return -1;
	lau_prompt_look(&r->prompt);
	return aud_collector_drain(r->collector, b_now_ms(), final, out_poll_ms, err);
}

int lau_record_finish(struct lau_record *r, const struct lau_outcome *o, struct b_err *err)
{
	int rc = 0;

	lau_prompt_end(&r->prompt);
	if (r->collector && r->is_started && o && o->phase != LAU_PHASE_ABORTED)
		aud_collector_ended(r->collector, o->signal ? -1 : o->exit_code, o->signal);
	if (r->collector && aud_collector_finish(r->collector, err) < 0)
		rc = -1;
	if (write_info(r, o, rc < 0 ? NULL : err) < 0 &&
	    (!r->has_no_info || r->options->audit_required))
		rc = -1;
	if (rc == 0 && r->collector && r->has_dir && r->is_started)
		rc = lau_anchor(r->options, r->dir.id, aud_collector_hash(r->collector), err);
	if (rc == 0 && r->options->learn && r->has_dir && r->is_started)
		rc = lau_learn(r->dir.id, err);
	return rc;
}

static uint64_t log_size(const struct lau_record *r)
{
	struct stat st;

	return r->log_fd >= 0 && fstat(r->log_fd, &st) == 0 ? (uint64_t)st.st_size : 0;
}

void lau_record_release(struct lau_record *r)
{
	if (r->collector)
		aud_collector_free(r->collector);
	lau_os_ends_free(r->ends);
	if (r->broker_ring)
		munmap(r->broker_ring, broker_bytes());
	if (r->room)
		lau_family_leave(r->family, r->room, log_size(r));
	else if (!r->parent)
		lau_family_free(r->family);
	if (r->log_fd >= 0)
		close(r->log_fd);
	aud_infofile_release(&r->info);
	lau_prompt_release(&r->prompt);
	lau_secrets_release(&r->secrets);
	lau_secrets_release(&r->words);
	lau_origin_release(&r->origin);
	if (r->has_dir && r->is_started)
		aud_rundir_release(&r->dir);
	else if (r->has_dir)
		aud_rundir_discard(&r->dir);
	*r = (struct lau_record){.log_fd = -1, .info = AUD_INFOFILE_INIT};
}

/* ---- runs inside a run ---- */

/* A run gets a part of what is left, so that many can live at once; less is no room for a log. */
enum { SHARE = 16, ROOM_MIN = 1 << 20 };

struct lau_family *lau_family_new(const char *id)
{
	struct lau_family *f =
		mmap(NULL, sizeof *f, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (f == MAP_FAILED)
		return NULL;
	snprintf(f->id, sizeof f->id, "%s", id);
	return f;
}

void lau_family_free(struct lau_family *f)
{
	if (f)
		munmap(f, sizeof *f);
}

static bool take_room(struct lau_family *f, uint64_t *out)
{
	uint64_t had = atomic_load(&f->bytes), room;

	do {
		room = had < LAU_FAMILY_BYTES ? (LAU_FAMILY_BYTES - had) / SHARE : 0;
		if (room > AUD_LOG_LIMIT)
			room = AUD_LOG_LIMIT;
		if (room < ROOM_MIN)
			return false;
	} while (!atomic_compare_exchange_weak(&f->bytes, &had, had + room));
	*out = room;
	return true;
}

int lau_family_join(struct lau_family *f, uint64_t *out_room, struct b_err *err)
{
	if (atomic_fetch_add(&f->runs, 1) >= LAU_FAMILY_RUNS) {
		atomic_fetch_sub(&f->runs, 1);
		return b_fail(err, B_AUDIT, 0,
			      "this run already has records of %u runs inside it, the most that "
			      "are kept: start another run outside",
			      (unsigned)LAU_FAMILY_RUNS);
	}
	if (take_room(f, out_room))
		return 0;
	atomic_fetch_sub(&f->runs, 1);
	return b_fail(err, B_AUDIT, 0,
		      "the logs of the runs inside this one have %llu MiB, the most that is kept: "
		      "start another run outside",
		      LAU_FAMILY_BYTES >> 20);
}

void lau_family_leave(struct lau_family *f, uint64_t room, uint64_t used)
{
	atomic_fetch_add(&f->bytes, used - room); /* modulo 2^64 */
}
