/* SPDX-License-Identifier: Apache-2.0 */
/* collector.c - see collector.h. */
#include "audit/collector.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "audit/collect_priv.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "core/event.h"
#include "core/path.h"

enum {
	FRAMES_PER_DRAIN = 65536, /* then the supervisor gets to look at its other work */
	FRAMES_PER_LOOK = 256,	  /* of the command's, then it is the broker's turn, which waits */
	DRAIN_MS = 20,		  /* and so it is when these are over: a frame can cost a lot */
	POLL_MIN_MS = 4,
	POLL_MAX_MS = 40 /* the longest a denial waits for the person */
};

/* A writer is surely dead only when nobody has its pid. A reused pid costs the grace time. */
static bool is_dead(uint32_t pid)
{
	return pid && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* The first line: of what run the others are. */
static void put_origin(struct aud_collector *c)
{
	static const struct aud_origin nobody;
	const struct aud_origin *o = c->cfg.origin ? c->cfg.origin : &nobody;
	struct sbx_event ev = {.time_ns = b_now_real_ns(), .pid = (uint32_t)o->pid};
	struct aud_record r = {.kind = AUD_RUN, .ev = &ev, .layer = "launcher", .origin = o};

	aud_put_line(c, &r);
	c->log.pending_lines = 0; /* no event */
}

void aud_collector_name_by(struct aud_collector *c, const struct sbx_image *image)
{
	c->cfg.image = image;
}

void aud_collector_reloaded(struct aud_collector *c, const struct aud_reload *reload)
{
	struct sbx_event ev = {.time_ns = b_now_real_ns()};
	struct aud_record r = {
		.kind = AUD_RELOAD, .ev = &ev, .layer = "launcher", .reload = reload};

	aud_put_line(c, &r);
}

int aud_collector_new(const struct aud_config *cfg, struct aud_collector **out, struct b_err *err)
{
	const struct sbx_image_header *hdr = cfg->image ? cfg->image->hdr : NULL;
	struct aud_collector *c;

	if (!hdr)
		return b_fail(err, B_AUDIT, 0, "the collector needs a compiled policy");
	if (cfg->ring && aud_guard_start(cfg->ring, sbx_ring_bytes(cfg->ring_data), err) < 0)
		return -1;
	c = b_calloc(1, sizeof *c);
	c->cfg = *cfg;
	c->profile = b_strndup((const char *)cfg->image->base + hdr->profile.off, hdr->profile.len);
	aud_frame_init(&c->frame, cfg->run_id, c->profile, cfg->workspaces, cfg->nworkspaces);
	aud_frame_context(&c->frame, cfg->context, cfg->ncontext);
	c->frame.is_shared = cfg->is_shared;
	aud_log_init(&c->log, cfg->level == SBX_AUDIT_NONE ? -1 : cfg->log_fd, cfg->is_torn);
	aud_chain_init(&c->log.chain, cfg->key, cfg->run_id);
	c->log.end_chain = c->log.chain;
	c->log.end = cfg->is_shared ? -1 : 0;
	c->person = (struct aud_person){.fn = cfg->denial, .ctx = cfg->denial_ctx};
	c->procs = aud_procs_new(&c->counts);
	aud_trust_init(&c->trust, cfg->kin);
	aud_twins_init(&c->twins);
	c->buf = b_malloc(SBX_RING_FRAME_MAX);
	c->broker_buf = b_malloc(SBX_RING_FRAME_MAX);
	c->poll_ms = POLL_MIN_MS;
	if (cfg->ring) {
		sbx_ring_reader_init(&c->reader, cfg->ring, cfg->ring_data);
		c->reader.is_dead = cfg->foreign_pids ? NULL : is_dead;
	}
	if (cfg->broker_ring) {
		sbx_ring_reader_init(&c->broker, cfg->broker_ring, cfg->broker_ring_data);
		c->broker.is_patient = true;
	}
	put_origin(c);
	*out = c;
	return 0;
}

void aud_collector_free(struct aud_collector *c)
{
	if (!c)
		return;
	if (c->cfg.ring)
		aud_guard_stop(c->cfg.ring);
	aud_frame_release(&c->frame);
	free(c->profile);
	b_str_release(&c->argv);
	aud_log_release(&c->log);
	aud_fold_release(&c->fold);
	aud_refusals_release(&c->refusals);
	aud_procs_free(c->procs);
	aud_twins_release(&c->twins);
	aud_trust_release(&c->trust);
	free(c->buf);
	free(c->broker_buf);
	free(c);
}

/* At these levels every change is told: a process that makes one and says nothing has no shim. */
static void look_for_silent(struct aud_collector *c, const struct aud_item *it)
{
	const struct sbx_event *ev = &it->ev;
	char exe[SBX_PATH_MAX] = "?";

	if (!c->cfg.ring || c->cfg.level == SBX_AUDIT_DENIED || c->cfg.level == SBX_AUDIT_NONE ||
	    !aud_procs_is_silent(c->procs, ev->pid, ev->ppid))
		return;
	aud_trust_exe(&c->trust, ev->pid, exe, sizeof exe);
	aud_procs_served(c->procs, ev, exe, c->now_ms);
}

void aud_collector_enter(struct aud_collector *c, int proc)
{
	aud_trust_enter(&c->trust, proc);
	c->reader.is_dead = NULL; /* asks for numbers of ours */
}

void aud_collector_watch(struct aud_collector *c, const struct aud_ends *ends)
{
	c->ends = *ends;
}

void aud_collector_started(struct aud_collector *c, pid_t pid, pid_t ppid, const char *program,
			   enum sbx_exec_class cls)
{
	struct aud_item it = {
		.ev = {.time_ns = b_now_real_ns(),
		       .pid = (uint32_t)pid,
		       .ppid = (uint32_t)ppid,
		       .kind = SBX_EV_EXEC,
		       .op = SBX_EXEC,
		       .call = SBX_CALL_start,
		       .flags = SBX_EVF_ALLOWED,
		       .aux = cls,
		       .path_len = (uint16_t)strnlen(program, SBX_PATH_MAX - 1)},
		.path = program,
		.path2 = "",
		.layer = "launcher",
	};

	c->command.pid = it.ev.pid;
	c->command.ppid = it.ev.ppid;
	c->now_ms = b_now_ms();
	aud_trust_member(&c->trust, it.ev.pid);
	if (c->trust.proc >= 0)
		c->trust.first = it.ev.pid;
	aud_on_event(c, &it);
}

/* Of what the broker does nothing may be missing. */
static void note_broker_lost(struct aud_collector *c)
{
	char text[120];

	if (!c->counts.broker_lost || c->told_broker_lost)
		return;
	c->told_broker_lost = true;
	snprintf(text, sizeof text,
		 "the audit log lacks events of what the broker did: %llu so far",
		 (unsigned long long)c->counts.broker_lost);
	aud_person_say(&c->person, text);
}

/* One gap line for all that went missing since the last one. */
static void note_gaps(struct aud_collector *c, bool final)
{
	struct sbx_event ev = {.time_ns = b_now_real_ns()};
	struct aud_record r = {.kind = AUD_GAP, .ev = &ev, .layer = "launcher"};

	aud_gaps_count(&c->counts, c->cfg.ring ? &c->reader : NULL,
		       c->cfg.broker_ring ? &c->broker : NULL);
	note_broker_lost(c);
	if (!final && aud_log_is_full(c))
		return; /* all that is missing from here on in one line, at the end */
	if (aud_gaps_take(&c->gaps, &c->counts, c->unwritten, c->now_ms, final, &r))
		aud_put_line(c, &r);
}

static void note_unwitnessed(struct aud_collector *c, bool final)
{
	struct aud_unwitnessed u;

	while (aud_procs_settled(c->procs, c->now_ms, final, &u)) {
		struct aud_item it = {
			.ev = {.time_ns = b_now_real_ns(),
			       .pid = u.pid,
			       .ppid = u.ppid,
			       .kind = SBX_EV_EXEC,
			       .aux = u.cls,
			       .path_len = (uint16_t)strnlen(u.path, SBX_PATH_MAX - 1)},
			.path = u.path,
			.path2 = "",
			.layer = "launcher",
		};
		struct aud_record r;

		aud_fill(c, &it, &r);
		r.kind = AUD_UNWITNESSED;
		r.exe = NULL; /* what ran there is the path; the table knows who ran it */
		r.parent_seq = u.seq;
		aud_put_line(c, &r);
	}
}

/* Writes an exit line for each process whose end the kernel reports and no shim has reported. */
static void note_ends(struct aud_collector *c)
{
	uint32_t pid;
	int status;

	while (c->ends.watch && c->ends.next(c->ends.ctx, &pid, &status)) {
		struct aud_item it = {.ev = {.time_ns = b_now_real_ns(), .pid = pid},
				      .path = "",
				      .path2 = "",
				      .layer = "kernel"};

		if (pid != c->command.pid && aud_procs_gone(c->procs, pid))
			aud_put_exit(c, &it, WIFSIGNALED(status) ? -1 : WEXITSTATUS(status),
				     WIFSIGNALED(status) ? WTERMSIG(status) : 0);
	}
}

static int flush(struct aud_collector *c, struct b_err *err)
{
	char text[160];

	aud_log_flush(&c->log);
	if (c->cfg.required && c->counts.broker_lost)
		return b_fail(err, B_AUDIT, 0,
			      "the audit log lacks %llu events of what the broker did: run without "
			      "--audit-required",
			      (unsigned long long)c->counts.broker_lost);
	if (!c->log.failed)
		return 0;
	if (c->cfg.required)
		return b_fail(err, B_AUDIT, c->log.error,
			      "the audit log cannot be written: %s: free space or run without "
			      "--audit-required",
			      strerror(c->log.error));
	if (!c->told_failure) {
		c->told_failure = true;
		snprintf(text, sizeof text,
			 "the audit log cannot be written: %s: the run continues without it",
			 strerror(c->log.error));
		aud_person_say(&c->person, text);
	}
	return 0;
}

/* What the shim refuses never comes to the broker: only what was done is told by both. */
static bool may_have_twin(const struct sbx_event *ev)
{
	return ev->kind == SBX_EV_CALL && ev->op == SBX_MODIFY && ev->flags & SBX_EVF_ALLOWED;
}

/* What one of the two told and nobody else. */
static void write_alone(struct aud_collector *c, bool final)
{
	struct aud_told t;

	while (aud_twins_alone(&c->twins, c->now_ms, final, &t)) {
		struct aud_item it = {.ev = t.ev,
				      .path = t.path,
				      .path2 = t.path2,
				      .layer = t.is_shims ? "shim" : "broker"};

		aud_on_event(c, &it);
		free(t.path);
		free(t.path2);
	}
}

static void on_brokers(struct aud_collector *c, struct aud_item *it)
{
	if (it->ev.pid) { /* 0: nobody knows whose it is */
		aud_trust_member(&c->trust, it->ev.pid);
		look_for_silent(c, it);
	}
	if (!may_have_twin(&it->ev) ||
	    aud_twins_broker(&c->twins, &it->ev, it->path, it->path2, c->now_ms, &it->claimed))
		aud_on_event(c, it);
}

/* The broker's own ring: bounded by what it can hold, its writer being ours. */
static uint64_t take_broker(struct aud_collector *c, bool final)
{
	uint64_t n = 0, limit = c->broker.size / SBX_RING_UNIT;

	while (n < limit) {
		struct aud_item it = {.layer = "broker"};
		int got = sbx_ring_read(&c->broker, c->broker_buf, c->now_ms, final, &it.ev,
					&it.path, &it.path2);

		if (got == 0)
			break;
		n++;
		if (got > 0)
			on_brokers(c, &it);
		write_alone(c, false);
	}
	return n;
}

/* A change that the broker may have told as well, and then before its answer: the event is in its
 * ring, unless another thread of the broker's is just now writing one before it. True: the shim's
 * is kept until then. */
static bool meets_twin(struct aud_collector *c, struct aud_item *it, bool final)
{
	if (aud_twins_shim(&c->twins, &it->ev, it->path, &it->path2, &it->claimed)) {
		it->layer = "broker";
		return false;
	}
	if (!sbx_ring_pending(&c->broker))
		return false;
	take_broker(c, final);
	if (aud_twins_shim(&c->twins, &it->ev, it->path, &it->path2, &it->claimed)) {
		it->layer = "broker";
		return false;
	}
	if (!sbx_ring_pending(&c->broker))
		return false;
	aud_twins_keep(&c->twins, &it->ev, it->path, it->path2, c->now_ms);
	write_alone(c, false);
	return true;
}

static void on_shims(struct aud_collector *c, struct aud_item *it, bool final)
{
	it->ev.flags &=
		(uint16_t) ~(SBX_EVF_ENDPOINT | SBX_EVF_WATCHED); /* the broker's alone to say */
	if (!aud_trust_event(&c->trust, &it->ev)) {
		c->reader.corrupt++;
		return;
	}
	if (it->ev.image_pid && it->ev.image_pid != it->ev.pid)
		aud_procs_fork(c->procs, &it->ev);
	if (it->ev.kind != SBX_EV_EXEC) /* of a spawn the parent speaks */
		aud_procs_speaks(c->procs, it->ev.pid, it->ev.ppid);
	if (c->cfg.broker_ring && may_have_twin(&it->ev) && meets_twin(c, it, final))
		return;
	c->counts.unverified += !!(it->ev.flags & AUD_EVF_UNVERIFIED);
	aud_on_event(c, it);
}

/* Takes up to `limit` frames; gives how many were there. *out_more: it ended before all were read.
 */
static uint64_t take_frames(struct aud_collector *c, uint64_t limit, bool final, bool *out_more)
{
	uint64_t n = 0, end = b_now_ms() + DRAIN_MS;

	*out_more = false;
	if (!c->cfg.ring)
		return 0;
	sbx_ring_inspect(&c->reader);
	while (!*out_more) {
		struct aud_item it = {.layer = "shim"};
		int got = sbx_ring_read(&c->reader, c->buf, c->now_ms, final, &it.ev, &it.path,
					&it.path2);

		if (got == 0)
			break;
		n++;
		if (got > 0)
			on_shims(c, &it, final);
		*out_more = n == limit;
		if (n % FRAMES_PER_LOOK)
			continue;
		if (c->cfg.broker_ring)
			take_broker(c, final);
		*out_more |= !final && b_now_ms() >= end;
	}
	return n;
}

int aud_collector_drain(struct aud_collector *c, uint64_t now_ms, bool final, int *out_poll_ms,
			struct b_err *err)
{
	/* A ring full of the smallest frames, twice: more cannot be there once all writers are
	 * gone, and a writer that is not gone after all does not keep us here for ever. */
	uint64_t limit = final ? 2 * c->reader.size / SBX_RING_UNIT : FRAMES_PER_DRAIN, n;
	uint64_t told = 0;
	bool more;

	c->now_ms = now_ms;
	c->steps = AUD_STEPS;
	aud_trust_tick(&c->trust, now_ms);
	if (c->cfg.broker_ring)
		told = take_broker(c, final);
	n = take_frames(c, limit, final, &more);
	if (c->cfg.broker_ring)
		write_alone(c, final);
	if (!more)
		note_ends(c);
	if (now_ms - c->folded_at_ms >= AUD_FOLD_MS)
		aud_write_folds(c);
	note_unwitnessed(c, false);
	note_gaps(c, false);
	if (n || told)
		c->poll_ms = POLL_MIN_MS;
	else if (c->poll_ms < POLL_MAX_MS)
		c->poll_ms *= 2;
	*out_poll_ms = more ? 0 : c->poll_ms;
	return flush(c, err);
}

static void take_tally(const struct aud_collector *c, struct aud_broker_counts *out)
{
	const struct sbx_tally *t = c->cfg.tally;

	*out = (struct aud_broker_counts){
		.is_there = true,
		.calls = atomic_load(&t->calls),
		.asked = atomic_load(&t->asked),
		.lines = c->log.brokers.lines,
		.folded = c->log.brokers.folded,
		.unwritten = c->log.unwritten_brokers,
	};
	for (size_t i = 0; i < SBX_FATE_COUNT; i++)
		out->fate[i] = atomic_load(&t->fate[i]);
}

bool aud_broker_counts_agree(const struct aud_broker_counts *k, uint64_t broker_lost)
{
	uint64_t all = 0;

	for (size_t i = 0; i < SBX_FATE_COUNT; i++)
		all += k->fate[i];
	return k->calls == all &&
	       k->fate[SBX_FATE_PERFORMED] + k->fate[SBX_FATE_REFUSED] + k->asked ==
		       k->lines + k->folded + k->unwritten + broker_lost;
}

void aud_collector_counts(const struct aud_collector *c, struct aud_counts *out)
{
	*out = c->counts;
	out->lost += c->log.dropped_lines + c->unwritten;
	if (c->cfg.tally)
		take_tally(c, &out->broker);
	out->damaged = c->cfg.ring ? aud_guard_damaged() : 0;
}

const struct aud_refusals *aud_collector_refusals(const struct aud_collector *c)
{
	return c->cfg.keeps_refusals ? &c->refusals : NULL;
}

const char *aud_collector_hash(const struct aud_collector *c)
{
	return c->log.chain.full;
}

void aud_collector_ended(struct aud_collector *c, int status, int signal)
{
	c->command.status = status;
	c->command.signal = signal;
	c->command.has_ended = true;
}

static void note_end(struct aud_collector *c)
{
	struct aud_item it = {
		.ev = {.time_ns = b_now_real_ns(), .pid = c->command.pid, .ppid = c->command.ppid},
		.path = "",
		.path2 = "",
		.layer = "launcher",
	};

	if (c->command.has_ended && c->command.pid)
		aud_put_exit(c, &it, c->command.status, c->command.signal);
}

int aud_collector_finish(struct aud_collector *c, struct b_err *err)
{
	write_alone(c, true);
	aud_write_folds(c);
	note_ends(c);
	note_unwitnessed(c, true);
	note_end(c);
	note_gaps(c, true);
	aud_person_close(&c->person, c->counts.denied);
	return flush(c, err);
}
