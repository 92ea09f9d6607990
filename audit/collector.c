/* collector.c - see collector.h. */
#include "audit/collector.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/fold.h"
#include "audit/guard.h"
#include "audit/judge.h"
#include "audit/log.h"
#include "audit/person.h"
#include "audit/process.h"
#include "audit/record.h"
#include "audit/trust.h"
#include "audit/twins.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/own.h"
#include "core/callnames.h"
#include "core/path.h"
#include "core/ring.h"

enum {
	FRAMES_PER_DRAIN = 65536, /* then the supervisor gets to look at its other work */
	POLL_MIN_MS = 4,
	POLL_MAX_MS = 40 /* the longest a denial waits for the person */
};

struct aud_collector {
	struct aud_config cfg;
	struct aud_frame frame;
	struct aud_counts counts;
	struct aud_log log;
	struct aud_person person;
	struct aud_fold fold;
	struct aud_procs *procs;
	struct sbx_ring_reader reader, broker;
	struct aud_twins twins;
	struct aud_trust trust;
	unsigned char *buf; /* one frame, copied out */
	uint64_t seq;
	uint64_t now_ms, folded_at_ms, gap_at_ms;
	uint64_t lost, corrupt, abandoned; /* already in a gap line */
	uint64_t unwritten;		   /* lines beyond the limit of the log */
	bool told_failure;
	int poll_ms;
};

/* An event on its way into the log. */
struct item {
	struct sbx_event ev;
	const char *path, *path2;
	const char *layer;
	uint64_t count; /* folded */
};

/* A writer is surely dead only when nobody has its pid. A reused pid costs the grace time. */
static bool is_dead(uint32_t pid)
{
	return pid && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

int aud_collector_new(const struct aud_config *cfg, struct aud_collector **out, struct b_err *err)
{
	const struct sbx_image_header *hdr = cfg->image ? cfg->image->hdr : NULL;
	b_auto_free char *profile = NULL;
	struct aud_collector *c;

	if (!hdr)
		return b_fail(err, B_AUDIT, 0, "the collector needs a compiled policy");
	if (cfg->ring && aud_guard_start(cfg->ring, sbx_ring_bytes(cfg->ring_data), err) < 0)
		return -1;
	c = b_calloc(1, sizeof *c);
	c->cfg = *cfg;
	profile = b_strndup((const char *)cfg->image->base + hdr->profile.off, hdr->profile.len);
	aud_frame_init(&c->frame, cfg->run_id, profile, cfg->workspaces, cfg->nworkspaces);
	aud_log_init(&c->log, cfg->level == SBX_AUDIT_NONE ? -1 : cfg->log_fd);
	c->person = (struct aud_person){.fn = cfg->denial, .ctx = cfg->denial_ctx};
	c->procs = aud_procs_new(&c->counts);
	aud_trust_init(&c->trust, cfg->kin);
	c->buf = b_malloc(SBX_RING_FRAME_MAX);
	c->poll_ms = POLL_MIN_MS;
	if (cfg->ring) {
		sbx_ring_reader_init(&c->reader, cfg->ring, cfg->ring_data);
		c->reader.is_dead = cfg->foreign_pids ? NULL : is_dead;
	}
	if (cfg->broker_ring)
		sbx_ring_reader_init(&c->broker, cfg->broker_ring, cfg->broker_ring_data);
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
	aud_log_release(&c->log);
	aud_fold_release(&c->fold);
	aud_procs_free(c->procs);
	aud_twins_release(&c->twins);
	aud_trust_release(&c->trust);
	free(c->buf);
	free(c);
}

static bool is_full(const struct aud_collector *c)
{
	return c->cfg.log_limit && c->log.bytes >= c->cfg.log_limit;
}

static void note_full(struct aud_collector *c)
{
	char text[120];

	if (c->unwritten++)
		return;
	snprintf(text, sizeof text,
		 "the audit log is full (%llu MiB): events are counted from here, not written",
		 (unsigned long long)(c->cfg.log_limit >> 20));
	aud_person_say(&c->person, text);
}

/* Numbers, chains and buffers one line. Gives its seq, 0 when there is no log. A gap is told
 * whatever the limit. */
static uint64_t put_line(struct aud_collector *c, struct aud_record *r)
{
	size_t start = c->log.buf.len;

	if (!aud_log_open(&c->log)) {
		c->log.dropped_lines += c->log.failed;
		return 0;
	}
	if (r->kind != AUD_GAP && is_full(c)) {
		note_full(c);
		return 0;
	}
	r->seq = ++c->seq;
	r->prev = c->log.hash;
	aud_record_json(&c->frame, r, &c->log.buf);
	aud_log_line(&c->log, start);
	return r->seq;
}

static void fill(struct aud_collector *c, const struct item *it, struct aud_record *r)
{
	const struct sbx_event *ev = &it->ev;

	*r = (struct aud_record){
		.ev = ev,
		.path = it->path,
		.path2 = it->path2,
		.layer = it->layer,
		.count = it->count,
		.exe = aud_procs_exe(c->procs, ev->pid, ev->ppid),
		.parent_seq = aud_procs_origin(c->procs, ev->pid, ev->ppid),
		.matched_rule = "",
		.rule = "",
	};
}

static uint64_t put_judged(struct aud_collector *c, const struct item *it, enum aud_kind kind,
			   const struct aud_verdict *v)
{
	struct aud_record r;

	fill(c, it, &r);
	r.kind = kind;
	r.allowed = v->allowed;
	r.disagrees = v->disagrees;
	r.matched_rule = v->matched;
	r.rule = v->origin;
	return put_line(c, &r);
}

static uint64_t put_plain(struct aud_collector *c, const struct item *it, enum aud_kind kind)
{
	struct aud_record r;

	fill(c, it, &r);
	r.kind = kind;
	return put_line(c, &r);
}

static void write_folded(struct aud_collector *c, struct aud_folded *f)
{
	struct item it = {.ev = f->ev,
			  .path = f->path,
			  .path2 = f->path2,
			  .layer = f->layer,
			  .count = f->count};
	struct aud_verdict v;

	aud_judge(c->cfg.image, &it.ev, it.path, it.path2, &v);
	put_judged(c, &it, AUD_DENIED, &v);
	f->count = 0;
}

static void write_all_folded(struct aud_collector *c)
{
	size_t i;

	for (i = 0; i < AUD_FOLD_SLOTS; i++)
		if (c->fold.slot[i].count)
			write_folded(c, &c->fold.slot[i]);
	c->folded_at_ms = c->now_ms;
}

static void tell_denial(struct aud_collector *c, const struct item *it, const struct aud_verdict *v)
{
	const struct sbx_event *ev = &it->ev;
	bool move = ev->flags & SBX_EVF_MOVE && ev->aux < SBX_OP_COUNT;
	struct aud_denial d = {
		.op = (enum sbx_op)(move ? ev->aux : ev->op),
		.path = v->second ? it->path2 : it->path,
		.path_len = v->second ? ev->path2_len : ev->path_len,
		.matched = v->matched,
		.origin = v->origin,
		.call = ev->call,
		.is_unseen = move && ev->flags & SBX_EVF_UNSEEN,
		.is_root = move && ev->flags & SBX_EVF_ROOT,
	};

	aud_person_denial(&c->person, &d, c->now_ms);
}

/* Equal denials fold, but not at level `all`; the person reads each once either way. */
static void on_denial(struct aud_collector *c, const struct item *it, const struct aud_verdict *v)
{
	bool all = c->cfg.level == SBX_AUDIT_ALL;
	uint64_t n = it->count ? it->count : 1;
	const struct aud_denied d = {&it->ev, it->path, it->path2, it->layer};
	struct aud_folded evicted;
	enum aud_fold_answer a = aud_fold_add(&c->fold, &d, all ? 0 : n, &evicted);

	if (evicted.count)
		write_folded(c, &evicted);
	aud_folded_release(&evicted);
	/* the person reads the policy's verdict, not a claim of the command */
	if (a == AUD_FOLD_FIRST && !v->allowed)
		tell_denial(c, it, v);
	if (a == AUD_FOLD_FIRST || all)
		put_judged(c, it, AUD_DENIED, v);
}

void aud_counts_add(struct aud_counts *k, const struct sbx_event *ev, uint64_t n)
{
	uint64_t *by_op[SBX_OP_COUNT] = {
		[SBX_READ] = &k->reads,
		[SBX_MODIFY] = &k->modifies,
		[SBX_EXEC] = &k->execs,
		[SBX_CONNECT] = &k->connects,
	};

	k->events += n;
	*by_op[ev->op] += n;
	*(ev->flags & SBX_EVF_ALLOWED ? &k->allowed : &k->denied) += n;
}

/* The shim of an old image says that the exec it announced failed. Nothing else says so: not the
 * broker, not a thread whose last words came between the announcement and the new image. */
static void old_image_speaks(struct aud_collector *c, const struct item *it)
{
	const struct sbx_event *ev = &it->ev;

	if (strcmp(it->layer, "shim") == 0 && ev->kind == SBX_EV_CALL && ev->op == SBX_EXEC &&
	    ev->err && ev->flags & SBX_EVF_ALLOWED)
		aud_procs_failed(c->procs, ev);
}

/* A question about a path, told at the level `all`: no rule speaks of it. */
static void on_query(struct aud_collector *c, const struct item *it)
{
	c->counts.events++;
	c->counts.queries++;
	put_plain(c, it, AUD_QUERY);
}

/* A call, or the announcement of an exec. */
static void on_call(struct aud_collector *c, struct item *it)
{
	struct sbx_event *ev = &it->ev;
	struct aud_verdict v;
	uint64_t seq;

	if (ev->kind == SBX_EV_EXEC)
		ev->op = SBX_EXEC;
	else
		old_image_speaks(c, it);
	aud_counts_add(&c->counts, ev, it->count ? it->count : 1);
	aud_judge(c->cfg.image, ev, it->path, it->path2, &v);
	c->counts.disagreed += v.disagrees;
	if (!(ev->flags & SBX_EVF_ALLOWED)) {
		on_denial(c, it, &v);
	} else if (ev->kind == SBX_EV_EXEC) {
		seq = put_judged(c, it, AUD_EXEC, &v);
		aud_procs_exec(c->procs, ev, it->path, seq, c->now_ms);
	} else {
		put_judged(c, it, AUD_RESULT, &v);
	}
}

/* At these levels every change is told: a process that makes one and says nothing has no shim. */
static void look_for_silent(struct aud_collector *c, const struct item *it)
{
	const struct sbx_event *ev = &it->ev;
	char exe[SBX_PATH_MAX] = "?";

	if (!c->cfg.ring || c->cfg.level == SBX_AUDIT_DENIED || c->cfg.level == SBX_AUDIT_NONE ||
	    !aud_procs_is_silent(c->procs, ev->pid, ev->ppid))
		return;
	aud_trust_exe(&c->trust, ev->pid, exe, sizeof exe);
	aud_procs_served(c->procs, ev, exe, c->now_ms);
}

static void on_event(struct aud_collector *c, struct item *it)
{
	const struct sbx_event *ev = &it->ev;

	switch ((enum sbx_event_kind)ev->kind) {
	case SBX_EV_REPEAT:
		it->count = ev->count ? ev->count : 1;
		on_call(c, it);
		return;
	case SBX_EV_CALL:
		if (ev->flags & SBX_EVF_QUERY)
			on_query(c, it);
		else
			on_call(c, it);
		return;
	case SBX_EV_EXEC:
		if (ev->aux >= SBX_EXEC_CLASS_COUNT)
			break;
		on_call(c, it);
		return;
	case SBX_EV_HELLO:
		aud_procs_hello(c->procs, ev, it->path);
		put_plain(c, it, AUD_HELLO);
		return;
	case SBX_EV_LOSS:
		if (ev->aux >= SBX_LOSS_COUNT)
			break;
		c->counts.losses++;
		c->counts.refused += ev->aux == SBX_LOSS_NO_SHIM;
		put_plain(c, it, AUD_LOSS);
		return;
	case SBX_EV_EXIT: /* the supervisor's alone: from the ring it is a lie */
	case SBX_EV_KIND_COUNT:
		break;
	}
	c->reader.corrupt++;
}

void aud_collector_enter(struct aud_collector *c, int proc)
{
	aud_trust_enter(&c->trust, proc);
	c->reader.is_dead = NULL; /* asks for numbers of ours */
}

void aud_collector_started(struct aud_collector *c, pid_t pid, pid_t ppid, const char *program,
			   enum sbx_exec_class cls)
{
	struct item it = {
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

	c->now_ms = b_now_ms();
	aud_trust_member(&c->trust, it.ev.pid);
	on_call(c, &it);
}

/* One gap line for all that went missing since the last one. */
static void note_gaps(struct aud_collector *c, bool final)
{
	struct aud_counts *k = &c->counts;
	struct sbx_event ev = {.time_ns = b_now_real_ns()};
	struct aud_record r = {.kind = AUD_GAP, .ev = &ev, .layer = "launcher"};

	if (c->cfg.ring) {
		k->lost += sbx_ring_take_lost(&c->reader);
		k->internal += sbx_ring_take_internal(&c->reader);
		k->corrupt = c->reader.corrupt; /* what the two above refused is in it */
		k->abandoned = c->reader.skipped;
	}
	if (c->cfg.broker_ring)
		k->lost += sbx_ring_take_lost(&c->broker);
	if (!final && is_full(c))
		return; /* all that is missing from here on in one line, at the end */
	r.lost = k->lost - c->lost + (final ? c->unwritten : 0);
	r.corrupt = k->corrupt - c->corrupt;
	r.abandoned = k->abandoned - c->abandoned;
	if (!(r.lost | r.corrupt | r.abandoned))
		return;
	if (!final && c->gap_at_ms && c->now_ms - c->gap_at_ms < AUD_FOLD_MS)
		return;
	c->gap_at_ms = c->now_ms;
	c->lost = k->lost;
	c->corrupt = k->corrupt;
	c->abandoned = k->abandoned;
	put_line(c, &r);
}

static void note_unwitnessed(struct aud_collector *c, bool final)
{
	struct aud_unwitnessed u;

	while (aud_procs_settled(c->procs, c->now_ms, final, &u)) {
		struct item it = {
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

		fill(c, &it, &r);
		r.kind = AUD_UNWITNESSED;
		r.exe = NULL; /* what ran there is the path; the table knows who ran it */
		r.parent_seq = u.seq;
		put_line(c, &r);
	}
}

static int flush(struct aud_collector *c, struct b_err *err)
{
	char text[160];

	aud_log_flush(&c->log);
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
			 "the audit log cannot be written: %s: the run goes on without",
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

/* What the broker told and nobody else. */
static void write_alone(struct aud_collector *c, bool final)
{
	struct aud_told t;

	while (aud_twins_alone(&c->twins, c->now_ms, final, &t)) {
		struct item it = {.ev = t.ev, .path = t.path, .path2 = t.path2, .layer = "broker"};

		on_event(c, &it);
		free(t.path);
		free(t.path2);
	}
}

/* The broker's own ring: bounded by what it can hold, its writer being ours. */
static uint64_t take_broker(struct aud_collector *c, bool final)
{
	struct item it;
	uint64_t n = 0, limit = c->broker.size / SBX_RING_UNIT;

	while (n < limit) {
		int got = sbx_ring_read(&c->broker, c->buf, c->now_ms, final, &it.ev, &it.path,
					&it.path2);

		if (got == 0)
			break;
		n++;
		if (got > 0) {
			aud_trust_member(&c->trust, it.ev.pid);
			look_for_silent(c, &it);
		}
		if (got > 0 && may_have_twin(&it.ev)) {
			aud_twins_broker(&c->twins, &it.ev, it.path, it.path2, c->now_ms);
		} else if (got > 0) {
			it = (struct item){it.ev, it.path, it.path2, "broker", 0};
			on_event(c, &it);
		}
		write_alone(c, false);
	}
	return n;
}

/* Takes up to `limit` frames; gives how many were there. */
static uint64_t take_frames(struct aud_collector *c, uint64_t limit, bool final)
{
	struct item it;
	uint64_t n = 0;
	int got;

	if (!c->cfg.ring)
		return 0;
	sbx_ring_inspect(&c->reader);
	while (n < limit) {
		it = (struct item){.layer = "shim"};
		got = sbx_ring_read(&c->reader, c->buf, c->now_ms, final, &it.ev, &it.path,
				    &it.path2);
		if (got == 0)
			break;
		n++;
		if (got <= 0)
			continue;
		if (c->cfg.broker_ring && may_have_twin(&it.ev))
			aud_twins_shim(&c->twins, &it.ev, it.path, it.path2, c->now_ms);
		if (!aud_trust_event(&c->trust, &it.ev)) {
			c->reader.corrupt++;
			continue;
		}
		if (it.ev.kind != SBX_EV_EXEC) /* of a spawn the parent speaks */
			aud_procs_speaks(c->procs, it.ev.pid, it.ev.ppid);
		c->counts.unverified += !!(it.ev.flags & AUD_EVF_UNVERIFIED);
		on_event(c, &it);
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

	c->now_ms = now_ms;
	aud_trust_tick(&c->trust, now_ms);
	if (c->cfg.broker_ring)
		told = take_broker(c, final);
	n = take_frames(c, limit, final);
	if (c->cfg.broker_ring)
		write_alone(c, final);
	if (now_ms - c->folded_at_ms >= AUD_FOLD_MS)
		write_all_folded(c);
	note_unwitnessed(c, false);
	note_gaps(c, false);
	if (n || told)
		c->poll_ms = POLL_MIN_MS;
	else if (c->poll_ms < POLL_MAX_MS)
		c->poll_ms *= 2;
	*out_poll_ms = n == limit ? 0 : c->poll_ms;
	return flush(c, err);
}

void aud_collector_counts(const struct aud_collector *c, struct aud_counts *out)
{
	*out = c->counts;
	out->lost += c->log.dropped_lines + c->unwritten;
	out->damaged = c->cfg.ring ? aud_guard_damaged() : 0;
}

const char *aud_collector_hash(const struct aud_collector *c)
{
	return c->log.hash;
}

int aud_collector_finish(struct aud_collector *c, struct b_err *err)
{
	write_alone(c, true);
	write_all_folded(c);
	note_unwitnessed(c, true);
	note_gaps(c, true);
	aud_person_close(&c->person);
	return flush(c, err);
}
