/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/collect_priv.h"
#include "base/io.h"
#include "base/json.h"
#include "base/mem.h"
#include "core/asked.h"
#include "core/event.h"
#include "core/path.h"

bool aud_log_is_full(const struct aud_collector *c)
{
	return c->cfg.log_limit && c->log.bytes >= c->cfg.log_limit;
}

/* Where there is a broker a quarter of the log is kept from the command's own words, which it could
 * make as many as it likes. */
static bool is_word(const struct aud_collector *c, const struct aud_record *r)
{
	return c->cfg.broker_ring && strcmp(r->layer, "shim") == 0;
}

static bool has_room(const struct aud_collector *c, const struct aud_record *r)
{
	uint64_t limit = c->cfg.log_limit;

	if (r->kind == AUD_GAP || !limit)
		return true;
	return c->log.bytes < (is_word(c, r) ? limit / 4 * 3 : limit);
}

static void note_full(struct aud_collector *c, bool of_words)
{
	bool *told = of_words ? &c->told_full_of_words : &c->told_full;
	char text[160];

	c->unwritten++;
	if (*told)
		return;
	*told = true;
	snprintf(text, sizeof text,
		 "the audit log is full (%llu MiB)%s: from here on events are counted, not written",
		 (unsigned long long)(c->cfg.log_limit / (of_words ? 4 : 1) * (of_words ? 3 : 1)) >>
			 20,
		 of_words ? " of events that programs report" : "");
	aud_person_say(&c->person, text);
}

uint64_t aud_put_line(struct aud_collector *c, struct aud_record *r)
{
	size_t start = c->log.buf.len;

	if (!aud_log_open(&c->log)) {
		c->log.dropped_lines += c->log.failed;
		return 0;
	}
	if (!has_room(c, r)) {
		note_full(c, is_word(c, r) && !aud_log_is_full(c));
		return 0;
	}
	r->seq = ++c->seq;
	aud_record_json(&c->frame, r, &c->log.buf);
	aud_log_line(&c->log, start);
	return r->seq;
}

void aud_fill(struct aud_collector *c, const struct aud_item *it, struct aud_record *r)
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
		.is_image = aud_procs_is_image(c->procs, ev->pid, ev->ppid),
		.asked = it->asked,
		.claimed = it->claimed,
		.matched_rule = "",
		.rule = "",
	};
}

/* The words of a command as the log has them: without secrets, and as text. */
static void decode_words(struct aud_collector *c, const char *p, size_t n)
{
	b_auto(b_str_release) struct b_str before = {0}, word = {0}, shown = {0};
	struct b_json j = {.out = &c->argv};
	const char *end = p + n;

	b_str_reset(&c->argv);
	b_json_open(&j, '[');
	while (p < end) {
		b_str_reset(&before);
		b_str_add(&before, b_str_c(&word));
		b_str_reset(&word);
		b_str_reset(&shown);
		for (; p < end && *p != SBX_ARGV_END; p++) {
			if (*p == SBX_ARGV_ESCAPE && p + 1 < end)
				b_str_addc(&word, *++p == 'b' ? SBX_ARGV_END : SBX_ARGV_ESCAPE);
			else
				b_str_addc(&word, *p);
		}
		p++;
		if (c->cfg.redact)
			c->cfg.redact(c->cfg.redact_ctx, b_str_c(&before), b_str_c(&word), &shown);
		else
			b_str_add(&shown, b_str_c(&word));
		b_json_str(&j, b_str_c(&shown));
	}
	b_json_close(&j, ']');
}

/* What was started with which words: told with the image's hello, or its exec. */
static void add_words(struct aud_collector *c, const struct aud_item *it, struct aud_argv *room,
		      struct aud_record *r)
{
	const struct sbx_event *ev = &it->ev;

	if (!(ev->flags & SBX_EVF_ARGV) || (r->kind != AUD_HELLO && r->kind != AUD_EXEC))
		return;
	r->cwd_len = sbx_event_cwd_len(ev);
	r->cwd = it->path2 + ev->path2_len - r->cwd_len;
	decode_words(c, it->path2, ev->path2_len - r->cwd_len);
	*room = (struct aud_argv){&c->argv, ev->flags & SBX_EVF_ARGV_CUT};
	r->argv = room;
}

static bool is_brokers(const struct aud_item *it)
{
	return strcmp(it->layer, "broker") == 0;
}

static uint64_t put_judged(struct aud_collector *c, const struct aud_item *it, enum aud_kind kind,
			   const struct aud_verdict *v)
{
	struct aud_record r;
	struct aud_argv words;
	uint64_t seq;

	aud_fill(c, it, &r);
	r.kind = kind;
	add_words(c, it, &words, &r);
	r.allowed = v->allowed;
	r.disagrees = v->disagrees;
	r.of_path2 = v->second && it->ev.path2_len;
	r.matched_rule = v->matched;
	r.rule = v->origin;
	seq = aud_put_line(c, &r);
	if (is_brokers(it))
		aud_log_note_broker(&c->log, seq != 0, it->count);
	return seq;
}

static uint64_t put_plain(struct aud_collector *c, const struct aud_item *it, enum aud_kind kind)
{
	struct aud_record r;
	struct aud_argv words;

	aud_fill(c, it, &r);
	r.kind = kind;
	add_words(c, it, &words, &r);
	return aud_put_line(c, &r);
}

static void write_folded(struct aud_collector *c, struct aud_folded *f)
{
	struct aud_item it = {.ev = f->ev,
			      .path = f->path,
			      .path2 = f->path2,
			      .layer = f->layer,
			      .count = f->count};
	struct aud_verdict v;

	aud_judge(c->cfg.image, &it.ev, it.path, it.path2, &c->steps, &v);
	put_judged(c, &it, AUD_DENIED, &v);
	f->count = 0;
}

void aud_write_folds(struct aud_collector *c)
{
	size_t i;

	for (i = 0; i < AUD_FOLD_SLOTS; i++)
		if (c->fold.slot[i].count)
			write_folded(c, &c->fold.slot[i]);
	c->folded_at_ms = c->now_ms;
}

/* Is it the file that the log is written to (--audit-file)? By its text alone: the command names
 * what it likes, and a file system may keep who asks waiting. False where there is no /proc. */
static bool is_own_log(const struct aud_collector *c, const char *path, size_t len)
{
	char link[32], name[SBX_PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", c->cfg.log_fd);
	n = c->cfg.log_fd >= 0 ? readlink(link, name, sizeof name) : -1;
	return n > 0 && (size_t)n == len && memcmp(name, path, len) == 0;
}

/* Reports a denial that a rule could open, on standard error and in the run's result. */
static void note_denial(struct aud_collector *c, const struct aud_item *it,
			const struct aud_verdict *v, bool is_first)
{
	const struct sbx_event *ev = &it->ev;
	bool move = ev->flags & SBX_EVF_MOVE && ev->aux < SBX_OP_COUNT;
	const char *path = v->second ? it->path2 : it->path;
	size_t path_len = v->second ? ev->path2_len : ev->path_len;
	const struct aud_denial d = {
		.op = (enum sbx_op)(move ? ev->aux : ev->op),
		.path = path,
		.path_len = path_len,
		.matched = v->matched,
		.origin = v->origin,
		.call = ev->call,
		.is_unseen = move && ev->flags & SBX_EVF_UNSEEN,
		.is_root = move && ev->flags & SBX_EVF_ROOT,
		.is_set_id = move && ev->flags & SBX_EVF_SETID,
		.is_git_link = move && ev->flags & SBX_EVF_GIT_LINK,
		.is_stood_in = move && ev->flags & SBX_EVF_STOOD_IN,
		.is_endpoint = ev->flags & SBX_EVF_ENDPOINT,
		.is_watched = ev->flags & SBX_EVF_ENDPOINT && ev->flags & SBX_EVF_WATCHED,
		.is_log = is_first && is_own_log(c, path, path_len),
		.workspaces = c->cfg.workspaces,
		.nworkspaces = c->cfg.nworkspaces,
		.address = ev->flags & SBX_EVF_ENDPOINT && !ev->pid && ev->path2_len ? it->path2
										     : NULL,
		.address_len = ev->path2_len,
		.is_request = ev->flags & SBX_EVF_ENDPOINT && !ev->pid && ev->path2_len &&
			      memchr(it->path2, ' ', ev->path2_len),
	};

	if (is_first)
		aud_person_denial(&c->person, &d, c->now_ms);
	if (c->cfg.keeps_refusals)
		aud_refusals_add(&c->refusals, &d, it->count ? it->count : 1);
}

/* With --network watch: prints the line of a connection that the rules deny. It is not counted as
 * a denial, because it passed. */
static void note_watched(struct aud_collector *c, const struct aud_item *it,
			 const struct aud_verdict *v)
{
	const struct sbx_event *ev = &it->ev;
	bool has_more = !ev->pid && ev->path2_len;
	const struct aud_denial d = {
		.op = SBX_CONNECT,
		.path = it->path,
		.path_len = ev->path_len,
		.matched = v->matched,
		.origin = v->origin,
		.call = ev->call,
		.is_endpoint = true,
		.is_watched = true,
		.address = has_more ? it->path2 : NULL,
		.address_len = ev->path2_len,
		.is_request = has_more && memchr(it->path2, ' ', ev->path2_len),
	};

	/* the connect that follows a look-up has its own line */
	if (ev->call != SBX_CALL_resolve)
		aud_person_denial(&c->person, &d, c->now_ms);
}

/* Equal denials fold, but not at level `all`; the person reads each once either way. */
static void on_denial(struct aud_collector *c, const struct aud_item *it,
		      const struct aud_verdict *v)
{
	bool all = c->cfg.level == SBX_AUDIT_ALL;
	uint64_t n = it->count ? it->count : 1;
	const struct aud_denied d = {&it->ev, it->path, it->path2, it->layer};
	struct aud_folded evicted;
	enum aud_fold_answer a = aud_fold_add(&c->fold, &d, all ? 0 : n, &evicted);

	if (evicted.count)
		write_folded(c, &evicted);
	aud_folded_release(&evicted);
	/* the person reads the policy's verdict, not a claim of the command, nor what no rule of
	 * theirs could open */
	if (!v->allowed && !(it->ev.flags & SBX_EVF_SUPERVISOR))
		note_denial(c, it, v, a == AUD_FOLD_FIRST);
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
static void old_image_speaks(struct aud_collector *c, const struct aud_item *it)
{
	const struct sbx_event *ev = &it->ev;

	if (strcmp(it->layer, "shim") == 0 && ev->kind == SBX_EV_CALL && ev->op == SBX_EXEC &&
	    ev->err && ev->flags & SBX_EVF_ALLOWED)
		aud_procs_failed(c->procs, ev);
}

/* A question about a path, told at the level `all`: no rule speaks of it. */
static void on_query(struct aud_collector *c, const struct aud_item *it)
{
	c->counts.events++;
	c->counts.queries++;
	put_plain(c, it, AUD_QUERY);
}

static void watch_end(struct aud_collector *c, const struct sbx_event *ev)
{
	if (c->ends.watch && !(ev->flags & AUD_EVF_UNVERIFIED))
		c->ends.watch(c->ends.ctx, ev->pid);
}

static void count_shims(struct aud_collector *c, const struct aud_item *it)
{
	c->counts.shim_calls += it->count ? it->count : 1;
	c->counts.shim_images += aud_procs_first_call(c->procs, it->ev.pid, it->ev.ppid);
}

/* A call, or the announcement of an exec. */
static void on_call(struct aud_collector *c, struct aud_item *it)
{
	struct sbx_event *ev = &it->ev;
	struct aud_verdict v;
	uint64_t seq;

	if (ev->kind == SBX_EV_EXEC)
		ev->op = SBX_EXEC;
	else
		old_image_speaks(c, it);
	aud_counts_add(&c->counts, ev, it->count ? it->count : 1);
	if (strcmp(it->layer, "shim") == 0)
		count_shims(c, it);
	aud_judge(c->cfg.image, ev, it->path, it->path2, &c->steps, &v);
	c->counts.disagreed += v.disagrees;
	if (!(ev->flags & SBX_EVF_ALLOWED)) {
		on_denial(c, it, &v);
	} else if (ev->kind == SBX_EV_EXEC) {
		seq = put_judged(c, it, AUD_EXEC, &v);
		aud_procs_exec(c->procs, ev, it->path, seq, c->now_ms);
		watch_end(c, ev);
	} else {
		if (ev->flags & SBX_EVF_WATCHED)
			note_watched(c, it, &v);
		put_judged(c, it, AUD_RESULT, &v);
	}
}

/* An image says that it ends. Of the command the supervisor knows better. */
static bool on_exit_told(struct aud_collector *c, const struct aud_item *it)
{
	const struct sbx_event *ev = &it->ev;

	if (strcmp(it->layer, "shim") != 0 || ev->aux > 255)
		return false;
	if (aud_procs_ended(c->procs, ev->pid, ev->ppid) && ev->pid != c->command.pid)
		aud_put_exit(c, it, (int)ev->aux, 0);
	return true;
}

void aud_put_exit(struct aud_collector *c, const struct aud_item *it, int status, int signal)
{
	struct aud_record r;

	aud_fill(c, it, &r);
	r.kind = AUD_EXIT;
	r.status = status;
	r.signal = signal;
	aud_put_line(c, &r);
}

/* From here on the second path is one, or there is none. */
static void take_asked(struct aud_item *it)
{
	struct sbx_event *ev = &it->ev;
	const struct sbx_asked a = sbx_asked_of(ev);

	if (!(ev->flags & SBX_EVF_ASKED))
		return;
	if (!(ev->flags & (SBX_EVF_ARGV | SBX_EVF_ENDPOINT)))
		it->asked = aud_asked_of(ev, it->path2);
	ev->path2_len = it->asked.text ? (uint16_t)a.path2 : 0;
	ev->flags &= (uint16_t)~SBX_EVF_ASKED;
}

void aud_on_event(struct aud_collector *c, struct aud_item *it)
{
	const struct sbx_event *ev = &it->ev;

	take_asked(it);
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
		watch_end(c, ev);
		put_plain(c, it, AUD_HELLO);
		return;
	case SBX_EV_LOSS:
		if (ev->aux >= SBX_LOSS_COUNT)
			break;
		c->counts.losses++;
		c->counts.refused += ev->aux == SBX_LOSS_NO_SHIM;
		put_plain(c, it, AUD_LOSS);
		return;
	case SBX_EV_EXIT:
		if (on_exit_told(c, it))
			return;
		break;
	case SBX_EV_KIND_COUNT:
		break;
	}
	c->reader.corrupt++;
}

/* ---- gaps ---- */

void aud_gaps_count(struct aud_counts *k, struct sbx_ring_reader *shims,
		    struct sbx_ring_reader *broker)
{
	if (shims) {
		k->lost += sbx_ring_take_lost(shims);
		k->internal += sbx_ring_take_internal(shims);
		k->corrupt = shims->corrupt; /* what the two above refused is in it */
		k->abandoned = shims->skipped;
	}
	if (broker) {
		uint64_t more;

		(void)sbx_ring_take_lost(broker);
		/* nobody else writes there: whatever cannot be read was an event of the broker's */
		more = broker->lost_total + broker->corrupt + broker->skipped - k->broker_lost;
		k->broker_lost += more;
		k->lost += more;
	}
}

bool aud_gaps_take(struct aud_gaps *g, const struct aud_counts *k, uint64_t unwritten,
		   uint64_t now_ms, bool final, struct aud_record *out)
{
	out->lost = k->lost - g->lost + (final ? unwritten : 0);
	out->broker_lost = k->broker_lost - g->broker_lost;
	out->corrupt = k->corrupt - g->corrupt;
	out->abandoned = k->abandoned - g->abandoned;
	if (!(out->lost | out->corrupt | out->abandoned))
		return false;
	if (!final && g->at_ms && now_ms - g->at_ms < AUD_FOLD_MS)
		return false;
	*g = (struct aud_gaps){k->lost, k->broker_lost, k->corrupt, k->abandoned, now_ms};
	return true;
}
