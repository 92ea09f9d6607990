/* SPDX-License-Identifier: Apache-2.0 */
/* What the broker did is in the log whatever the command says beside it: its ring and the
 * command's, read by one collector. */
#include "audit/collector.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/collect_priv.h"
#include "base/err.h"
#include "core/event.h"
#include "core/ring.h"
#include "core/ring_priv.h"
#include "tests/support/witness.h"

static struct witness w;

static void end(void)
{
	witness_release(&w);
}

static struct sbx_event removal(uint32_t pid)
{
	return (struct sbx_event){
		.pid = pid, .op = SBX_MODIFY, .call = SBX_CALL_unlink, .flags = SBX_EVF_ALLOWED};
}

static unsigned call_of(const char *name)
{
	unsigned call = 0;

	while (call < SBX_CALL_COUNT && strcmp(sbx_call_name(call), name) != 0)
		call++;
	return call;
}

/* Does the line say all that the broker knows? */
static bool implies(size_t line, const struct sbx_event *ev, const char *path, const char *path2)
{
	const json_t *j = witness_line(&w, line);

	return !strcmp(witness_str(&w, line, "kind"), "result") &&
	       !strcmp(witness_str(&w, line, "layer"), "broker") &&
	       !strcmp(witness_str(&w, line, "op"), sbx_op_name((enum sbx_op)ev->op)) &&
	       !strcmp(witness_str(&w, line, "path"), path) &&
	       !strcmp(witness_str(&w, line, "path2"), *path2 ? path2 : "(absent)") &&
	       json_integer_value(json_object_get(j, "pid")) == ev->pid &&
	       json_integer_value(json_object_get(j, "errno")) == ev->err &&
	       json_is_true(json_object_get(j, "allowed")) &&
	       aud_call_is_alike(call_of(witness_str(&w, line, "call")), ev->call);
}

static size_t lines_that_imply(const struct sbx_event *ev, const char *path, const char *path2)
{
	size_t n = 0;

	for (size_t i = 0; i < json_array_size(w.lines); i++)
		n += implies(i, ev, path, path2);
	return n;
}

/* ---- the property ---- */

static uint64_t seed = 1;

static unsigned any(unsigned n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(seed >> 33) % n;
}

/* Mostly the twin, with some of its facts changed: what an attacker would say. */
static struct sbx_event lie(struct sbx_event ev, const char **path, const char **path2)
{
	static const char *const others[] = {"", "/a", "/etc/passwd"};

	for (unsigned n = any(3); n; n--)
		switch (any(11)) {
		case 0:
			ev.call = (uint16_t)any(SBX_CALL_COUNT + 1);
			break;
		case 1:
			ev.err = (int32_t)any(40);
			break;
		case 2:
			ev.flags ^= (uint16_t)(1u << any(16));
			break;
		case 3:
			ev.op = (uint16_t)any(SBX_OP_COUNT + 1);
			break;
		case 4:
			ev.kind = (uint16_t)any(SBX_EV_KIND_COUNT + 1);
			break;
		case 5:
			ev.pid += any(2);
			break;
		case 6:
			ev.count = any(1000);
			break;
		case 7:
			ev.aux = any(20);
			break;
		case 8:
			ev.rule = any(20);
			break;
		case 9:
			*path = others[any(3)];
			break;
		case 10:
			*path2 = others[any(3)];
			break;
		}
	return ev;
}

static void tell_both(const struct sbx_event *ev, const char *path, const char *path2)
{
	const char *its = path, *its2 = path2;
	struct sbx_event forged = lie(*ev, &its, &its2);
	bool is_first = any(2), times = 1 + any(2);

	for (unsigned i = 0; is_first && i < times; i++)
		witness_put(&w, forged, its, its2);
	if (is_first && any(2))
		witness_drain(&w, any(2) ? 1 : AUD_TWIN_MS + 1);
	cr_assert(witness_broker(&w, *ev, path, path2));
	if (!is_first && any(2))
		witness_drain(&w, any(2) ? 1 : AUD_ALONE_MS + 1);
	for (unsigned i = 0; !is_first && i < times; i++)
		witness_put(&w, forged, its, its2);
	if (any(8) == 0)
		witness_drain(&w, 1);
}

enum { CASES = 4000 };

Test(audit_broker_facts, whatever_a_shim_says_beside_it_a_line_implies_the_brokers_event,
     .fini = end, .timeout = 60)
{
	static const uint16_t calls[] = {SBX_CALL_unlink,    SBX_CALL_rename,	SBX_CALL_openat,
					 SBX_CALL_mkdirat,   SBX_CALL_linkat,	SBX_CALL_fchmodat,
					 SBX_CALL_utimensat, SBX_CALL_setxattr, SBX_CALL_bind};
	static struct sbx_event events[CASES];
	char path[64], path2[64];

	witness_start_beside(&w, NULL, -1, false);
	for (unsigned i = 0; i < CASES; i++) {
		struct sbx_event *ev = &events[i];

		*ev = removal(10 + any(4));
		ev->call = calls[any(sizeof calls / sizeof *calls)];
		ev->err = any(4) ? 0 : 2;
		snprintf(path, sizeof path, "/ws/broker-%u", i);
		path2[0] = '\0';
		if (!any(4))
			snprintf(path2, sizeof path2, "/ws/to-%u", i);
		tell_both(ev, path, path2);
		ev->aux = *path2 != 0; /* for the look below */
		if (i % 64 == 63)
			witness_drain(&w, 1);
	}
	witness_end(&w);
	cr_assert_eq(w.counts.lost, 0);
	cr_assert_eq(w.counts.broker_lost, 0);
	for (size_t i = 0; i < json_array_size(w.lines); i++) {
		unsigned of;

		if (sscanf(witness_str(&w, i, "path"), "./broker-%u", &of) != 1 || of >= CASES)
			continue;
		snprintf(path, sizeof path, "./broker-%u", of);
		path2[0] = '\0';
		if (events[of].aux)
			snprintf(path2, sizeof path2, "./to-%u", of);
		events[of].count += implies(i, &events[of], path, path2);
	}
	for (unsigned i = 0; i < CASES; i++)
		cr_assert_eq(events[i].count, 1, "event %u: %u lines imply it", i, events[i].count);
}

/* ---- what was seen in the wild ---- */

Test(audit_broker_facts, an_honest_call_is_one_line_with_the_name_that_the_program_used,
     .fini = end)
{
	struct sbx_event ev = removal(10), word = ev;

	word.call = SBX_CALL_remove;
	witness_start_beside(&w, NULL, -1, false);
	witness_broker(&w, ev, "/ws/a", "");
	witness_put(&w, word, "/ws/a", "");
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 1);
	cr_expect_eq(lines_that_imply(&ev, "./a", ""), 1);
	cr_expect_str_eq(witness_str(&w, 0, "call"), "remove");
	cr_expect_eq(json_integer_value(json_object_get(witness_line(&w, 0), "ppid")), 9);
}

/* The broker's event comes into its ring between the looks at the two rings. */
Test(audit_broker_facts, what_the_broker_told_before_is_found_behind_the_shims_word, .fini = end)
{
	struct sbx_event ev = removal(10);

	witness_start_beside(&w, NULL, -1, false);
	for (unsigned i = 0; i < 40; i++) {
		witness_broker(&w, ev, "/ws/a", "");
		witness_put(&w, ev, "/ws/a", "");
	}
	witness_judged = true;
	witness_end(&w);
	cr_expect_eq(json_array_size(w.lines), 40);
	cr_expect_eq(lines_that_imply(&ev, "./a", ""), 40);
}

/* One thread of the broker's is still writing a frame when another has told and answered. */
static uint64_t begin_frame(void)
{
	uint64_t need = ring_units(strlen("/ws/b"), 0) * SBX_RING_UNIT;

	atomic_fetch_add(&w.broker->head, need);
	return need;
}

static void finish_frame(uint64_t need)
{
	struct sbx_ring *other = calloc(1, w.ring_bytes);
	struct sbx_event ev = removal(10);

	sbx_ring_init(other, WITNESS_RING, SBX_AUDIT_ALL);
	ev.path_len = strlen("/ws/b");
	cr_assert(sbx_ring_write(other, w.ring_size, &ev, "/ws/b", ""));
	memcpy(w.broker->data, other->data, need);
	free(other);
}

Test(audit_broker_facts, a_shims_word_waits_while_the_broker_is_writing, .fini = end)
{
	struct sbx_event ev = removal(10);
	uint64_t need;

	witness_start_beside(&w, NULL, -1, false);
	need = begin_frame();
	witness_broker(&w, ev, "/ws/a", "");
	witness_put(&w, ev, "/ws/a", "");
	witness_drain(&w, AUD_TWIN_MS / 2);
	finish_frame(need);
	witness_end(&w);
	cr_expect_eq(json_array_size(w.lines), 2);
	cr_expect_eq(lines_that_imply(&ev, "./a", ""), 1);
	cr_expect_eq(lines_that_imply(&ev, "./b", ""), 1);
}

Test(audit_broker_facts, a_frame_of_the_brokers_is_given_up_at_the_end_alone, .fini = end)
{
	struct sbx_event ev = removal(10);
	uint64_t need;

	witness_start_beside(&w, NULL, -1, false);
	need = begin_frame();
	witness_broker(&w, ev, "/ws/a", "");
	witness_drain(&w, 10 * SBX_RING_HOLE_MS);
	witness_drain(&w, 1);
	atomic_store(ring_at(w.broker, w.ring_size, 0),
		     ring_word(0, 10, need / SBX_RING_UNIT, RING_CLAIMED));
	witness_drain(&w, 10 * SBX_RING_CLAIM_MS);
	witness_drain(&w, 1);
	cr_expect_eq(atomic_load(&w.broker->tail), 0);
	witness_end(&w);
	cr_expect_eq(w.counts.broker_lost, 1);
	cr_expect_eq(lines_that_imply(&ev, "./a", ""), 1);
}

/* ---- a flood ---- */

/* Asked about the first event of a drain, when the first look at the broker's ring is over. */
static enum aud_kin tell_in_the_middle(uint32_t pid)
{
	struct sbx_event ev = removal(10);

	(void)pid;
	ev.flags = 0; /* a denial waits for no twin */
	ev.err = 13;
	witness_broker(&w, ev, "/ws/locked", "");
	return AUD_KIN_OURS;
}

Test(audit_broker_facts, it_is_the_brokers_turn_again_in_the_middle_of_a_flood, .fini = end)
{
	size_t at = 0;

	witness_start_beside(&w, tell_in_the_middle, -1, false);
	for (unsigned i = 0; i < 400; i++)
		cr_assert(witness_call(&w, 10, SBX_READ, true, "/etc/x"));
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 401);
	while (strcmp(witness_str(&w, at, "layer"), "broker") != 0)
		at++;
	cr_expect_leq(at, 256);
}

/* The command fills the log; what the broker does later is written all the same. */
Test(audit_broker_facts, a_log_full_of_words_has_room_for_the_broker, .fini = end)
{
	struct sbx_event ev = removal(10);

	witness_start_limited(&w, 32768);
	for (unsigned i = 0; i < 4; i++) {
		for (unsigned j = 0; j < 50; j++)
			cr_assert(witness_call(&w, 10, SBX_READ, true, "/etc/x"));
		witness_drain(&w, 1);
	}
	for (unsigned j = 0; j < 10; j++)
		witness_broker(&w, ev, "/ws/a", "");
	witness_judged = true;
	witness_end(&w);
	cr_expect_gt(w.counts.lost, 50);
	cr_expect_eq(w.counts.broker_lost, 0);
	cr_expect_eq(lines_that_imply(&ev, "./a", ""), 10);
	cr_expect_not_null(strstr(w.told.s, "full (0 MiB) of events that programs report"));
}

static int drain_with_loss(bool required, struct b_err *err)
{
	int poll_ms;

	witness_start_beside(&w, NULL, open("/dev/null", O_WRONLY | O_CLOEXEC), required);
	atomic_fetch_add(&w.broker->lost, 3);
	return aud_collector_drain(w.c, w.now_ms, false, &poll_ms, err);
}

Test(audit_broker_facts, an_event_of_the_brokers_that_is_lost_is_told_and_counted_apart,
     .fini = end)
{
	struct b_err err;

	cr_assert_eq(drain_with_loss(false, &err), 0);
	atomic_fetch_add(&w.ring->lost, 4);
	witness_end(&w);
	cr_expect_eq(w.counts.broker_lost, 3);
	cr_expect_eq(w.counts.lost, 7);
	cr_expect_str_eq(w.told.s, "the audit log lacks events of what the broker did: 3 so far\n");
}

Test(audit_broker_facts, and_ends_a_run_that_must_be_recorded, .fini = end)
{
	struct b_err err;

	cr_assert_eq(drain_with_loss(true, &err), -1);
	cr_expect_eq(err.kind, B_AUDIT);
	cr_expect_not_null(strstr(err.msg, "3 events"));
}

Test(audit_broker_facts, the_gap_says_so_too, .fini = end)
{
	witness_start_beside(&w, NULL, -1, false);
	atomic_fetch_add(&w.broker->lost, 3);
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 1);
	cr_expect_eq(json_integer_value(json_object_get(witness_line(&w, 0), "lost")), 3);
	cr_expect_eq(json_integer_value(json_object_get(witness_line(&w, 0), "broker_lost")), 3);
}
