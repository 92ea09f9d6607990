/* SPDX-License-Identifier: Apache-2.0 */
/* The ring: nothing complete is lost, nothing full is overwritten, every loss is counted, and no
 * lie in the mapping breaks the reader. */
#include "core/ring.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/event.h"
#include "core/ring_priv.h"

struct fixture {
	struct sbx_ring *ring;
	size_t bytes;
	uint64_t size;
	struct sbx_ring_reader rd;
	unsigned char buf[SBX_RING_FRAME_MAX];
	struct sbx_event ev;
	const char *path, *path2;
};

static struct fixture f;

static void start(size_t data_size)
{
	f.bytes = sbx_ring_bytes(data_size);
	f.ring = mmap(NULL, f.bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq((void *)f.ring, MAP_FAILED);
	sbx_ring_init(f.ring, data_size, SBX_AUDIT_ALL);
	cr_assert(sbx_ring_check(f.ring, f.bytes, &f.size));
	sbx_ring_reader_init(&f.rd, f.ring, data_size);
	cr_assert_eq(f.rd.size, f.size);
}

static bool put(uint32_t pid, uint32_t seq, const char *path, const char *path2)
{
	struct sbx_event ev = {.pid = pid,
			       .image_pid = seq,
			       .path_len = (uint16_t)strlen(path),
			       .path2_len = (uint16_t)strlen(path2)};

	return sbx_ring_write(f.ring, f.size, &ev, path, path2);
}

static int get(uint64_t now_ms, bool final)
{
	return sbx_ring_read(&f.rd, f.buf, now_ms, final, &f.ev, &f.path, &f.path2);
}

/* Reads on past skips; the number of calls is bounded by what can be in the ring. */
static int get_next(bool final)
{
	uint64_t calls;
	int got = 0;

	for (calls = 0; calls <= 4 * f.size / SBX_RING_UNIT; calls++) {
		got = get(0, final);
		if (got >= 0)
			return got;
	}
	cr_assert_fail("the reader does not come to an end");
	return got;
}

Test(core_ring, what_is_written_is_read_back_whole)
{
	struct sbx_event ev = {.time_ns = 1,
			       .pid = 2,
			       .ppid = 3,
			       .image_pid = 4,
			       .kind = SBX_EV_REPEAT,
			       .op = SBX_MODIFY,
			       .call = SBX_CALL_rename,
			       .flags = SBX_EVF_ALLOWED,
			       .err = 5,
			       .aux = 6,
			       .count = 7,
			       .path_len = 2,
			       .path2_len = 9};

	start(0);
	cr_assert(sbx_ring_write(f.ring, f.size, &ev, "/a", "/bcdefghi"));
	cr_assert_eq(get(0, false), 1);
	cr_assert_arr_eq(&f.ev, &ev, sizeof ev);
	cr_assert_str_eq(f.path, "/a");
	cr_assert_str_eq(f.path2, "/bcdefghi");
	cr_assert_eq(get(0, false), 0);
}

Test(core_ring, paths_of_every_length_survive_many_laps)
{
	char a[SBX_PATH_MAX], b[SBX_PATH_MAX];
	uint32_t i;

	start(SBX_RING_MIN);
	for (i = 0; i < 20000; i++) {
		size_t n = i * 7919u % (SBX_PATH_MAX - 1), m = i % 13 ? i % 40 : n;

		memset(a, 'a' + (int)(i % 26), n);
		memset(b, 'A' + (int)(i % 26), m);
		a[n] = b[m] = '\0';
		cr_assert(put(1, i, a, b));
		cr_assert_eq(get(0, false), 1);
		cr_assert_eq(f.ev.image_pid, i);
		cr_assert_str_eq(f.path, a);
		cr_assert_str_eq(f.path2, b);
	}
	cr_assert_gt(f.rd.tail, 100 * f.size);
	cr_assert_eq(f.rd.corrupt + f.rd.skipped + sbx_ring_take_lost(&f.rd), 0);
}

Test(core_ring, longer_than_a_path_can_be_is_cut_and_flagged)
{
	static char huge[60000];
	struct sbx_event ev = {.path_len = sizeof huge, .path2_len = sizeof huge};

	memset(huge, 'x', sizeof huge);
	start(SBX_RING_MIN);
	cr_assert(sbx_ring_write(f.ring, f.size, &ev, huge, huge));
	cr_assert_eq(get(0, false), 1);
	cr_assert(f.ev.flags & SBX_EVF_TRUNCATED);
	cr_assert_eq(f.ev.path_len, SBX_PATH_MAX - 1);
	cr_assert_eq(strlen(f.path2), SBX_PATH_MAX - 1);
}

Test(core_ring, a_full_ring_counts_each_event_it_drops)
{
	uint32_t i, kept = 0;

	start(SBX_RING_MIN);
	for (i = 0; i < 1000; i++)
		kept += put(1, i, "/some/path/of/usual/length", "");
	cr_assert_eq(kept, f.size / 128);
	cr_assert_eq(sbx_ring_take_lost(&f.rd), 1000 - kept);
	cr_assert_eq(sbx_ring_take_lost(&f.rd), 0);
	for (i = 0; i < kept; i++) {
		cr_assert_eq(get(0, false), 1);
		cr_assert_eq(f.ev.image_pid, i);
	}
	cr_assert_eq(get(0, false), 0);
	cr_assert(put(1, i, "/again", ""), "there is room once the reader was here");
}

enum { THREADS = 8, PER_THREAD = 20000 };

static void *write_many(void *arg)
{
	uint32_t id = (uint32_t)(uintptr_t)arg, i;
	char path[64];

	for (i = 0; i < PER_THREAD; i++) {
		memset(path, 'a' + (int)(id + i) % 26, sizeof path);
		path[i % sizeof path] = '\0';
		put(id, i, path, "");
	}
	return NULL;
}

Test(core_ring, many_threads_lose_nothing_uncounted_and_keep_their_order)
{
	uint32_t next[THREADS] = {0};
	uint64_t read = 0, lost = 0;
	pthread_t t[THREADS];
	uintptr_t i;
	int got;

	start(SBX_RING_MIN);
	for (i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&t[i], NULL, write_many, (void *)i), 0);
	while (read + lost < THREADS * PER_THREAD) {
		got = get(0, false);
		cr_assert_geq(got, 0);
		lost += sbx_ring_take_lost(&f.rd);
		if (!got)
			continue;
		read++;
		cr_assert_lt(f.ev.pid, THREADS);
		cr_assert_geq(f.ev.image_pid, next[f.ev.pid]);
		next[f.ev.pid] = f.ev.image_pid + 1;
		cr_assert_eq(f.ev.path_len, f.ev.image_pid % 64);
		cr_assert(!f.ev.path_len || f.path[f.ev.path_len - 1] ==
						    (char)('a' + (f.ev.pid + f.ev.image_pid) % 26));
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	cr_assert_eq(get(0, true), 0);
	cr_assert_eq(read + lost + sbx_ring_take_lost(&f.rd), THREADS * PER_THREAD);
}

enum { WRITERS = 4, ROUNDS = 40 };

Test(core_ring, a_killed_writer_loses_nothing_it_completed)
{
	_Atomic uint32_t *done =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned round, w;
	pid_t pid[WRITERS];

	start(8 << 20);
	for (round = 0; round < ROUNDS; round++) {
		uint32_t seen[WRITERS] = {0};

		for (w = 0; w < WRITERS; w++)
			done[w] = 0;
		for (w = 0; w < WRITERS; w++) {
			pid[w] = fork();
			if (pid[w] == 0)
				for (;;) /* until killed, or the ring is half full */
					if (done[w] < 10000 && put(w, done[w], "/a/path", "/b"))
						done[w]++;
		}
		while (done[0] < 20 * round)
			;
		for (w = 0; w < WRITERS; w++)
			kill(pid[w], SIGKILL);
		while (wait(NULL) > 0)
			;
		while (get_next(true) == 1) {
			cr_assert_eq(f.ev.image_pid, seen[f.ev.pid]);
			seen[f.ev.pid]++;
		}
		for (w = 0; w < WRITERS; w++) /* one more: killed after it, before counting it */
			cr_assert(seen[w] == done[w] || seen[w] == done[w] + 1);
	}
	cr_assert_eq(f.rd.corrupt, 0);
	cr_assert_eq(sbx_ring_take_lost(&f.rd), 0);
}

/* What a writer leaves that dies after moving head / after claiming. */
static void die_before_claim(uint64_t units)
{
	atomic_fetch_add(&f.ring->head, units * SBX_RING_UNIT);
}

static void die_in_claim(uint32_t pid, uint64_t units)
{
	uint64_t pos = atomic_fetch_add(&f.ring->head, units * SBX_RING_UNIT);

	atomic_store(ring_at(f.ring, f.size, pos),
		     ring_word(ring_lap(pos, f.size), pid, units, RING_CLAIMED));
}

static bool all_dead(uint32_t pid)
{
	return pid == 77;
}

Test(core_ring, an_unfinished_frame_of_a_dead_writer_is_skipped_at_once)
{
	start(SBX_RING_MIN);
	f.rd.is_dead = all_dead;
	die_in_claim(77, 3);
	put(1, 1, "/next", "");
	cr_assert_eq(get(0, false), -1);
	cr_assert_eq(get(0, false), 1);
	cr_assert_str_eq(f.path, "/next");
	cr_assert_eq(f.rd.skipped, 1);
}

Test(core_ring, an_unfinished_frame_of_a_live_writer_has_a_grace_time)
{
	start(SBX_RING_MIN);
	f.rd.is_dead = all_dead;
	die_in_claim(78, 3);
	put(1, 1, "/next", "");
	cr_assert_eq(get(1000, false), 0);
	cr_assert_eq(get(1000 + SBX_RING_CLAIM_MS - 1, false), 0);
	cr_assert_eq(get(1000 + SBX_RING_CLAIM_MS, false), -1);
	cr_assert_eq(get(1000 + SBX_RING_CLAIM_MS, false), 1);
}

Test(core_ring, holes_are_skipped_after_a_while_or_at_the_end)
{
	start(SBX_RING_MIN);
	die_before_claim(2);
	die_before_claim(5);
	put(1, 1, "/one", "");
	cr_assert_eq(get(50, false), 0);
	cr_assert_eq(get(50 + SBX_RING_HOLE_MS, false), -1);
	cr_assert_eq(get(50 + SBX_RING_HOLE_MS, false), 1);
	cr_assert_str_eq(f.path, "/one");
	die_before_claim(1);
	put(1, 2, "/two", "");
	cr_assert_eq(get(500, true), -1);
	cr_assert_eq(get(500, true), 1);
	cr_assert_str_eq(f.path, "/two");
}

Test(core_ring, a_head_that_makes_no_sense_is_repaired_and_nothing_complete_is_lost)
{
	static const uint64_t lies[] = {UINT64_MAX, 1ull << 40, 1, 63, 1ull << 63};
	size_t i;

	start(SBX_RING_MIN);
	for (i = 0; i < sizeof lies / sizeof *lies; i++) {
		cr_assert(put(1, 1, "/before", ""));
		atomic_store(&f.ring->head, atomic_load(&f.ring->head) + lies[i]);
		put(1, 2, "/refused", "");
		cr_assert_eq(get_next(true), 1);
		cr_assert_str_eq(f.path, "/before");
		cr_assert_eq(get_next(true), 0);
		cr_assert(put(1, 3, "/after", ""), "lie %zu", i);
		cr_assert_eq(get_next(true), 1);
		cr_assert_str_eq(f.path, "/after");
	}
	cr_assert_gt(f.rd.corrupt, 0);
}

Test(core_ring, a_tail_moved_by_a_liar_lets_nobody_overwrite_unread_frames)
{
	uint32_t i, kept = 0, lost;

	start(SBX_RING_MIN);
	while (put(1, kept, "/some/path/of/usual/length", ""))
		kept++;
	atomic_store(&f.ring->tail, f.size);
	for (i = 0; i < 50; i++)
		cr_assert_not(put(2, i, "/intruder", ""));
	for (i = 0; i < kept; i++) {
		cr_assert_eq(get_next(false), 1);
		cr_assert_eq(f.ev.pid, 1);
		cr_assert_eq(f.ev.image_pid, i);
	}
	lost = (uint32_t)sbx_ring_take_lost(&f.rd);
	cr_assert_eq(lost, 51);
}

/* The right sum for a frame of one path of a word. */
static void seal(uint64_t pos, const struct sbx_event *ev)
{
	uint64_t sum = atomic_load(ring_at(f.ring, f.size, pos)), words[RING_EV_WORDS];
	size_t i;

	memcpy(words, ev, sizeof words);
	for (i = 0; i < RING_EV_WORDS; i++)
		sum = ring_sum(sum, words[i]);
	if (ev->path_len)
		sum = ring_sum(sum, atomic_load(ring_at(f.ring, f.size, pos + 16 + sizeof *ev)));
	atomic_store(ring_at(f.ring, f.size, pos + 8), sum);
}

/* A writer is stopped in the middle of its frame, given up, and goes on when the place has
 * become another's: whatever it still stores there, no event comes out altered. */
Test(core_ring, a_writer_that_comes_back_late_alters_no_later_event)
{
	uint64_t late, units = ring_units(20, 0), laps;
	size_t word;

	for (word = 1; word < units * SBX_RING_UNIT / 8; word++) {
		start(SBX_RING_MIN);
		late = atomic_load(&f.ring->head);
		die_in_claim(78, units);
		cr_assert_eq(get(0, false), 0);
		cr_assert_eq(get(SBX_RING_CLAIM_MS, false), -1);
		for (laps = 1; laps < f.size / SBX_RING_UNIT / units; laps++) {
			cr_assert(put(1, 1, "/twenty/bytes/long/x", ""));
			cr_assert_eq(get(0, false), 1);
		}
		cr_assert_eq(atomic_load(&f.ring->head), late + f.size);
		cr_assert(put(1, 2, "/twenty/bytes/long/y", ""));
		atomic_store(ring_at(f.ring, f.size, late + 8 * word), 0x2f6c6961746c652fu);
		if (get(0, false) == 1) { /* what pads the frame is nobody's */
			cr_assert_gt(word, 1 + RING_EV_WORDS + 3, "word %zu", word);
			cr_assert_str_eq(f.path, "/twenty/bytes/long/y");
		} else {
			cr_assert_eq(f.rd.corrupt, 1);
		}
		cr_assert(put(1, 3, "/next", ""));
		cr_assert_eq(get(0, false), 1);
		cr_assert_str_eq(f.path, "/next");
		munmap(f.ring, f.bytes);
	}
}

Test(core_ring, frames_that_make_no_sense_are_counted_and_left_out)
{
	static const struct sbx_event bad[] = {
		{.kind = SBX_EV_KIND_COUNT},
		{.op = SBX_OP_COUNT},
		{.call = SBX_CALL_COUNT},
		{.path_len = 4000},
		{.path2_len = 4000},
		{.path_len = 65535, .path2_len = 65535},
		{.path_len = 3}, /* "/x" and a NUL */
	};
	size_t i;

	start(SBX_RING_MIN);
	for (i = 0; i < sizeof bad / sizeof *bad; i++) {
		uint64_t pos = atomic_load(&f.ring->head);

		cr_assert(put(1, 1, "/x", ""));
		memcpy(f.ring->data + (pos + 16) % f.size, &bad[i], sizeof bad[i]);
		seal(pos, &bad[i]);
		cr_assert_eq(get(0, false), -1, "bad event %zu", i);
		cr_assert_eq(f.rd.corrupt, i + 1);
	}
	cr_assert(put(1, 1, "/good", ""));
	cr_assert_eq(get(0, false), 1);
}

/* xorshift: the same garbage each time */
static uint64_t dice(void)
{
	static uint64_t s = 88172645463325252u;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return s;
}

Test(core_ring, garbage_all_over_is_survived_and_the_ring_works_again)
{
	unsigned round, i;

	start(SBX_RING_MIN);
	for (round = 0; round < 300; round++) {
		const size_t head = offsetof(struct sbx_ring, head),
			     data = offsetof(struct sbx_ring, data);
		unsigned char *from = (unsigned char *)f.ring + (round % 2 ? data : head);
		size_t n = round % 2 ? f.size : data - head;

		for (i = 0; i < n; i += 8)
			if (dice() % 3)
				memcpy(from + i, &(uint64_t){dice()}, 8);
		while (get_next(true))
			;
		for (i = 0; i < 2 * f.size / SBX_RING_UNIT; i++) {
			put(1, i, "/healing", ""); /* may be refused, moves head over the garbage */
			get_next(true);
		}
		cr_assert(put(1, round, "/healed", ""), "round %u", round);
		cr_assert_eq(get_next(true), 1);
		cr_assert_str_eq(f.path, "/healed");
	}
	cr_assert_gt(f.rd.corrupt, 0);
}

Test(core_ring, a_writer_that_scribbles_while_we_read_cannot_break_the_reader)
{
	time_t give_up = time(NULL) + 20;
	uint64_t calls = 0, events = 0;
	int got;
	pid_t pid;

	start(SBX_RING_MIN);
	pid = fork();
	if (pid == 0) {
		for (;;) {
			uint64_t at = dice() % (f.bytes / 8) * 8;

			if (at >= offsetof(struct sbx_ring, head))
				memcpy((char *)f.ring + at, &(uint64_t){dice()}, 8);
			if (dice() % 4 == 0)
				put((uint32_t)dice(), 1, "/true", "/false");
		}
	}
	while ((events < 1000 || f.rd.corrupt < 1000) && time(NULL) < give_up) {
		calls++;
		got = get(calls, calls % 2);
		if (got != 1)
			continue;
		events++;
		cr_assert_eq(strlen(f.path), f.ev.path_len);
		cr_assert_eq(strlen(f.path2), f.ev.path2_len);
	}
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	cr_assert_geq(f.rd.corrupt, 1000);
	cr_assert_geq(events, 1000);
}

Test(core_ring, only_a_ring_of_the_right_shape_is_taken_for_one)
{
	uint64_t size;

	start(SBX_RING_MIN);
	cr_assert_not(sbx_ring_check(f.ring, f.bytes - 1, &size));
	cr_assert_not(sbx_ring_check(f.ring, sizeof *f.ring, &size));
	cr_assert_not(sbx_ring_check(f.ring, 0, &size));
	f.ring->size *= 2;
	cr_assert_not(sbx_ring_check(f.ring, f.bytes, &size));
	f.ring->size /= 2;
	f.ring->version++;
	cr_assert_not(sbx_ring_check(f.ring, f.bytes, &size));
	f.ring->version--;
	f.ring->magic ^= 1;
	cr_assert_not(sbx_ring_check(f.ring, f.bytes, &size));
}

Test(core_ring, counters_come_to_no_more_than_a_run_can_have)
{
	start(0);
	atomic_store(&f.ring->internal, 5);
	cr_assert_eq(sbx_ring_take_internal(&f.rd), 5);
	atomic_store(&f.ring->internal, UINT64_MAX);
	cr_assert_eq(sbx_ring_take_internal(&f.rd), 0);
	cr_assert_eq(f.rd.corrupt, 1);
	atomic_store(&f.ring->lost, SBX_RING_COUNT_MAX - 1);
	cr_assert_eq(sbx_ring_take_lost(&f.rd), SBX_RING_COUNT_MAX - 1);
	atomic_fetch_add(&f.ring->lost, 2); /* by steps, too */
	cr_assert_eq(sbx_ring_take_lost(&f.rd), 0);
	cr_assert_eq(f.rd.corrupt, 2);
}

Test(core_ring, every_change_of_the_header_is_corrupt_once_and_undone)
{
	const struct sbx_ring *r;
	uint64_t want = 0;
	struct sbx_ring was;
	size_t at;

	start(0);
	r = f.ring;
	cr_assert(put(1, 1, "/a", ""));
	cr_assert_eq(get_next(false), 1);
	cr_assert_eq(get_next(false), 0);
	sbx_ring_inspect(&f.rd);
	cr_assert_eq(f.rd.corrupt, 0);
	memcpy(&was, r, sizeof was);
	for (at = 0; at < offsetof(struct sbx_ring, head); at += 4) {
		if (at >= offsetof(struct sbx_ring, witnesses_all) + 4)
			break;
		((unsigned char *)f.ring)[at] ^= 0x55;
		sbx_ring_inspect(&f.rd);
		cr_assert_eq(f.rd.corrupt, ++want, "%zu", at);
		cr_assert_eq(memcmp(&was, r, sizeof was), 0, "%zu", at);
	}
	atomic_store(&f.ring->tail, 0);
	sbx_ring_inspect(&f.rd);
	cr_assert_eq(f.rd.corrupt, ++want);
	atomic_store(&f.ring->head, 0);
	sbx_ring_inspect(&f.rd);
	cr_assert_eq(f.rd.corrupt, ++want);
	cr_assert_eq(get_next(false), 0); /* the head is repaired, and all is well again */
	sbx_ring_inspect(&f.rd);
	want = f.rd.corrupt;
	cr_assert(put(1, 2, "/b", ""));
	cr_assert_eq(get_next(false), 1);
	sbx_ring_inspect(&f.rd);
	cr_assert_eq(f.rd.corrupt, want);
}

Test(core_ring, a_place_that_is_not_as_it_was_left_is_corrupt_and_made_good)
{
	start(0);
	atomic_store(ring_at(f.ring, f.size, 0), UINT64_C(0x4141414141414141));
	cr_assert_eq(get_next(false), 0);
	cr_assert_eq(f.rd.corrupt, 1);
	cr_assert(put(1, 1, "/a", ""));
	cr_assert_eq(get_next(false), 1);
	cr_assert_eq(f.rd.corrupt, 1);
}
