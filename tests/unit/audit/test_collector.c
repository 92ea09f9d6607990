/* SPDX-License-Identifier: Apache-2.0 */
/* The collector: from the ring to the log and the person. Each log is held to its schema and its
 * chain by witness_end(). */
#include "audit/collector.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "core/event.h"
#include "core/ring.h"
#include "tests/support/witness.h"

static struct witness w;

static void end(void)
{
	witness_release(&w);
}

static bool flag(size_t line, const char *key)
{
	return json_is_true(json_object_get(witness_line(&w, line), key));
}

static int64_t number(size_t line, const char *key)
{
	return json_integer_value(json_object_get(witness_line(&w, line), key));
}

Test(audit_collector, a_denial_names_the_rule_and_where_it_comes_from, .fini = end)
{
	witness_start(&w, SBX_AUDIT_FOLDED);
	witness_call(&w, 10, SBX_READ, false, "/home/u/.ssh/id");
	witness_end(&w);
	cr_assert_str_eq(witness_str(&w, 0, "kind"), "denied");
	cr_assert_str_eq(witness_str(&w, 0, "path"), "/home/u/.ssh/id");
	cr_assert_str_eq(witness_str(&w, 0, "matched_rule"), ".ssh");
	cr_assert_str_eq(witness_str(&w, 0, "rule"), "preset:secrets:3:5");
	cr_assert_eq(number(0, "errno"), 13);
	cr_assert_not(flag(0, "allowed"));
	cr_assert_str_eq(w.told.s, "denied read /home/u/.ssh/id (rule .ssh, preset:secrets:3:5): "
				   "allow with --read /home/u/.ssh/id\n");
}

Test(audit_collector, paths_in_the_workspace_are_shown_from_there, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_call(&w, 10, SBX_MODIFY, true, "/ws/a/b");
	witness_call(&w, 10, SBX_READ, true, "/ws");
	witness_call(&w, 10, SBX_READ, true, "/wso");
	witness_end(&w);
	cr_assert_str_eq(witness_str(&w, 0, "path"), "./a/b");
	cr_assert_str_eq(witness_str(&w, 1, "path"), ".");
	cr_assert_str_eq(witness_str(&w, 2, "path"), "/wso");
}

Test(audit_collector, every_kind_of_line_keeps_to_the_schema, .fini = end)
{
	witness_start(&w, SBX_AUDIT_FOLDED);
	aud_collector_started(w.c, 20, getpid(), "/usr/bin/make", SBX_EXEC_DYNAMIC);
	witness_hello(&w, 20, "/usr/bin/make");
	witness_call(&w, 20, SBX_READ, true, "/etc/passwd");
	witness_put(&w,
		    (struct sbx_event){.pid = 20,
				       .op = SBX_MODIFY,
				       .call = SBX_CALL_rename,
				       .flags = SBX_EVF_MOVE,
				       .aux = SBX_READ,
				       .err = 13},
		    "/home/u/.ssh", "/ws/pub");
	witness_exec(&w, 21, SBX_EXEC_STATIC, "/bin/busybox");
	witness_put(&w,
		    (struct sbx_event){.pid = 20, .kind = SBX_EV_LOSS, .aux = SBX_LOSS_DEEPBIND},
		    "/usr/lib/libx.so", "");
	witness_put(&w,
		    (struct sbx_event){.pid = 20,
				       .call = SBX_CALL_stat,
				       .flags = SBX_EVF_ALLOWED | SBX_EVF_QUERY,
				       .err = 2},
		    "/home/u/.ssh/id", "");
	witness_put(&w,
		    (struct sbx_event){.pid = 20,
				       .kind = SBX_EV_REPEAT,
				       .op = SBX_READ,
				       .count = 5,
				       .flags = SBX_EVF_ALLOWED,
				       .call = SBX_CALL_open},
		    "/etc/passwd", "");
	atomic_fetch_add(&w.ring->lost, 7);
	witness_judged = true;
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 10);
	cr_assert_str_eq(witness_str(&w, 0, "layer"), "launcher");
	cr_assert_str_eq(witness_str(&w, 3, "reason"), "move");
	cr_assert_str_eq(witness_str(&w, 3, "matched_rule"), ".ssh");
	cr_assert_str_eq(witness_str(&w, 5, "reason"), "deepbind");
	cr_assert_str_eq(witness_str(&w, 6, "kind"), "query");
	cr_assert_eq(number(6, "errno"), 2);
	cr_assert_eq(number(7, "count"), 5);
	cr_assert_str_eq(witness_str(&w, 9, "kind"), "unwitnessed");
	cr_assert_str_eq(witness_str(&w, 8, "kind"), "gap");
	cr_assert_eq(number(8, "lost"), 7);
	cr_assert_eq(w.counts.losses, 1);
	cr_assert_eq(w.counts.queries, 1);
	cr_assert_eq(w.counts.lost, 7);
}

Test(audit_collector, a_move_that_was_too_much_to_look_through_says_so, .fini = end)
{
	witness_start(&w, SBX_AUDIT_FOLDED);
	witness_put(&w,
		    (struct sbx_event){.pid = 20,
				       .op = SBX_MODIFY,
				       .call = SBX_CALL_rename,
				       .flags = SBX_EVF_MOVE | SBX_EVF_UNSEEN,
				       .aux = SBX_READ,
				       .err = 13},
		    "/ws/many", "/ws/pub");
	witness_end(&w);
	cr_assert_str_eq(witness_str(&w, 0, "reason"), "move-unseen");
	cr_assert_not_null(strstr(w.told.s, ": move it in parts\n"));
	cr_assert_null(strstr(w.told.s, "allow with"));
}

Test(audit_collector, equal_denials_fold_and_their_counts_add_up, .fini = end)
{
	int64_t sum = 0;
	size_t i;

	witness_start(&w, SBX_AUDIT_FOLDED);
	for (i = 0; i < 100; i++) {
		witness_call(&w, 10 + (uint32_t)i % 3, SBX_READ, false, "/home/u/.ssh/id");
		if (i % 40 == 39)
			witness_drain(&w, 1500);
	}
	witness_call(&w, 10, SBX_MODIFY, false, "/home/u/.ssh/id");
	witness_end(&w);
	for (i = 0; i < json_array_size(w.lines); i++)
		sum += number(i, "count") ? number(i, "count") : 1;
	cr_assert_eq(sum, 101);
	cr_assert_eq(w.counts.denied, 101);
	cr_assert_leq(json_array_size(w.lines), 6);
	cr_assert_eq(number(0, "count"), 0, "the first one goes out at once");
}

Test(audit_collector, folding_stays_exact_when_denials_push_each_other_out, .fini = end)
{
	int64_t sum = 0;
	size_t i;

	witness_start(&w, SBX_AUDIT_FOLDED);
	for (i = 0; i < 1200; i++) { /* twice each in a row: more paths than slots */
		char path[64];

		snprintf(path, sizeof path, "/home/u/.ssh/%zu", i / 2);
		witness_call(&w, 10, SBX_READ, false, path);
		if (i % 200 == 0)
			witness_drain(&w, 1);
	}
	witness_end(&w);
	for (i = 0; i < json_array_size(w.lines); i++)
		sum += number(i, "count") ? number(i, "count") : 1;
	cr_assert_eq(sum, 1200);
	cr_assert_eq(w.counts.denied, 1200);
}

Test(audit_collector, level_all_writes_each_denial, .fini = end)
{
	size_t i;

	witness_start(&w, SBX_AUDIT_ALL);
	for (i = 0; i < 20; i++)
		witness_call(&w, 10, SBX_READ, false, "/home/u/.ssh/id");
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 20);
	cr_assert_eq(strchr(w.told.s, '\n')[1], '\0', "the person reads it once");
}

Test(audit_collector, level_none_writes_nothing_but_counts_who_was_witnessed, .fini = end)
{
	witness_start(&w, SBX_AUDIT_NONE);
	witness_exec(&w, 10, SBX_EXEC_DYNAMIC, "/bin/ls");
	witness_hello(&w, 10, "/bin/ls");
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 0);
	cr_assert_eq(w.counts.processes, 1);
	cr_assert_eq(w.counts.witnessed, 1);
	cr_assert_eq(w.counts.lost, 0);
}

Test(audit_collector, a_process_that_reports_the_wrong_verdict_is_marked, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_call(&w, 10, SBX_READ, true, "/home/u/.ssh/id");
	witness_call(&w, 10, SBX_READ, false, "/etc/passwd");
	witness_call(&w, 10, SBX_READ, true, "/etc/passwd");
	witness_put(&w,
		    (struct sbx_event){.pid = 10,
				       .op = SBX_MODIFY,
				       .call = SBX_CALL_rename,
				       .flags = SBX_EVF_ALLOWED},
		    "/ws/a", "/ws/locked/a");
	witness_call(&w, 10, SBX_READ, true, "relative");
	witness_end(&w);
	cr_assert(flag(0, "shim_disagrees"));
	cr_assert_not(flag(0, "allowed"));
	cr_assert(flag(1, "shim_disagrees"));
	cr_assert(flag(1, "allowed"));
	cr_assert_str_eq(witness_str(&w, 1, "kind"), "denied");
	cr_assert_not(flag(2, "shim_disagrees"));
	cr_assert(flag(3, "shim_disagrees"), "the second path of a rename is judged too");
	cr_assert_str_eq(witness_str(&w, 3, "matched_rule"), "locked");
	cr_assert(flag(4, "shim_disagrees"));
	cr_assert_eq(w.counts.disagreed, 4);
}

Test(audit_collector, a_fork_of_a_fork_that_said_nothing_is_of_its_image, .fini = end)
{
	struct sbx_event ev = {
		.pid = 30, .op = SBX_READ, .call = SBX_CALL_open, .flags = SBX_EVF_ALLOWED};

	witness_start(&w, SBX_AUDIT_ALL);
	witness_exec(&w, 10, SBX_EXEC_DYNAMIC, "/bin/sh");
	witness_hello(&w, 10, "/bin/sh");
	ev.image_pid = 10;
	witness_put(&w, ev, "/etc/a", "");
	ev.pid = 40;
	ev.image_pid = 77; /* of which nothing is known */
	witness_put(&w, ev, "/etc/b", "");
	ev.pid = 10 + 16384; /* it may not take the place of its image */
	ev.image_pid = 10;
	witness_put(&w, ev, "/etc/c", "");
	witness_call(&w, 10, SBX_READ, true, "/etc/d");
	witness_end(&w);
	cr_expect_eq(number(2, "proc"), number(0, "seq"));
	cr_expect_eq(number(2, "ppid"), 29);
	cr_expect_eq(number(3, "proc"), 0);
	cr_expect_eq(number(4, "proc"), 0);
}

Test(audit_collector, lines_name_the_executable_and_the_exec_that_started_it, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_exec(&w, 10, SBX_EXEC_DYNAMIC, "/bin/sh");
	witness_hello(&w, 10, "/usr/bin/dash");
	witness_call(&w, 10, SBX_READ, true, "/etc/a");
	witness_call(&w, 11, SBX_READ, true, "/etc/b"); /* forked by 10 */
	witness_call(&w, 99, SBX_READ, true, "/etc/c");
	witness_end(&w);
	cr_assert_str_eq(witness_str(&w, 1, "path"), "/usr/bin/dash");
	cr_assert_eq(number(1, "proc"), number(0, "seq"));
	cr_assert_eq(number(2, "proc"), number(0, "seq"));
	cr_assert_eq(number(2, "ppid"), 0, "that line has it");
	cr_assert_eq(number(3, "proc"), number(0, "seq"));
	cr_assert_eq(number(3, "ppid"), 10, "a fork says of whom");
	cr_assert_null(json_object_get(witness_line(&w, 4), "exe"));
	cr_assert_null(json_object_get(witness_line(&w, 4), "proc"));
}

Test(audit_collector, odd_bytes_in_paths_are_kept_exactly, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_call(&w, 10, SBX_READ, false, "/home/u/.ssh/a\nb\x1b[31m\xff\"\\");
	witness_call(&w, 10, SBX_READ, true, "/tmp/\xe2\x80\xae\xc3\xa9");
	witness_judged = true;
	witness_end(&w);
	cr_assert_str_eq(witness_str(&w, 0, "path_b64"), "L2hvbWUvdS8uc3NoL2EKYhtbMzFt/yJc");
	cr_assert_str_eq(w.told.s, "denied read /home/u/.ssh/a\\x0ab\\x1b[31m\\xff\"\\ "
				   "(rule .ssh, preset:secrets:3:5): allow with --read "
				   "$'/home/u/.ssh/a\\nb\\x1b[31m\\xff\"\\\\'\n");
	cr_assert_str_eq(witness_str(&w, 1, "path"), "/tmp/\xe2\x80\xae\xc3\xa9");
	cr_assert_str_eq(witness_str(&w, 1, "path_b64"), "(absent)");
}

Test(audit_collector, a_path_with_blanks_is_offered_as_one_word, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_call(&w, 10, SBX_MODIFY, false, "/x/my file");
	witness_end(&w);
	cr_assert_str_eq(w.told.s, "denied modify '/x/my file' (rule <no matching rule>, "
				   "builtin:default): allow with --modify '/x/my file'\n");
}

Test(audit_collector, a_flood_of_denials_ends_in_a_count, .fini = end)
{
	unsigned i, lines = 0;
	const char *at;

	witness_start(&w, SBX_AUDIT_FOLDED);
	for (i = 0; i < 200; i++) {
		char path[64];

		snprintf(path, sizeof path, "/home/u/.ssh/%u", i);
		witness_call(&w, 10, SBX_READ, false, path);
	}
	witness_judged = true;
	witness_end(&w);
	for (at = w.told.s; (at = strchr(at, '\n')); at++)
		lines++;
	cr_assert_eq(lines, 11);
	cr_assert_not_null(strstr(w.told.s, "200 refused: sbx-audit denials\n"));
}

Test(audit_collector, what_a_full_ring_dropped_becomes_one_exact_gap, .fini = end)
{
	uint64_t kept = 0;
	unsigned i;

	witness_start(&w, SBX_AUDIT_ALL);
	for (i = 0; i < 3000; i++)
		kept += witness_call(&w, 10, SBX_READ, true, "/etc/some/file/with/a/usual/name");
	witness_judged = true;
	witness_end(&w);
	cr_assert_lt(kept, 3000);
	cr_assert_eq(json_array_size(w.lines), kept + 1);
	cr_assert_str_eq(witness_str(&w, kept, "kind"), "gap");
	cr_assert_eq((uint64_t)number(kept, "lost"), 3000 - kept);
}

static void stop_full(bool required, int *out_rc, struct b_err *err)
{
	int poll_ms;

	witness_start_on(&w, SBX_AUDIT_ALL, open("/dev/full", O_WRONLY | O_CLOEXEC), required);
	witness_call(&w, 10, SBX_READ, true, "/etc/a");
	witness_call(&w, 10, SBX_READ, true, "/etc/b");
	*out_rc = aud_collector_drain(w.c, w.now_ms, false, &poll_ms, err);
}

Test(audit_collector, a_log_that_cannot_be_written_is_told_once_and_counted, .fini = end)
{
	struct b_err err;
	int rc;

	stop_full(false, &rc, &err);
	cr_assert_eq(rc, 0);
	witness_call(&w, 10, SBX_READ, true, "/etc/c");
	witness_end(&w);
	cr_assert_eq(w.counts.lost, 3);
	cr_assert_str_eq(w.told.s, "the audit log cannot be written: No space left on device: the "
				   "run continues without it\n");
}

Test(audit_collector, a_required_log_that_cannot_be_written_is_an_error, .fini = end)
{
	struct b_err err;
	int rc;

	stop_full(true, &rc, &err);
	cr_assert_eq(rc, -1);
	cr_assert_eq(err.kind, B_AUDIT);
}

Test(audit_collector, a_hostile_ring_gives_a_log_that_still_keeps_to_its_schema, .fini = end)
{
	unsigned char *p, *from;
	unsigned i;

	witness_start(&w, SBX_AUDIT_FOLDED);
	srand(7);
	for (i = 0; i < 400; i++) { /* honest frames with bytes of the events changed */
		struct sbx_event ev = {.pid = (uint32_t)rand() % 50};

		for (p = (unsigned char *)&ev; p < (unsigned char *)(&ev + 1); p++)
			if (rand() % 3 == 0)
				*p = (unsigned char)(rand() % 4);
		witness_put(&w, ev, i % 2 ? "/home/u/.ssh/x\xfe" : "", i % 3 ? "/ws/\x01" : "");
		witness_drain(&w, 300);
	}
	from = (unsigned char *)w.ring + offsetof(struct sbx_ring, head);
	for (p = from; p < (unsigned char *)w.ring + w.ring_bytes; p++)
		if (rand() % 2)
			*p = (unsigned char)rand();
	witness_judged = true;
	witness_end(&w);
	cr_assert_gt(json_array_size(w.lines), 100);
	cr_assert_gt(w.counts.corrupt, 0);
}

static bool put_at(uint64_t time_ns, uint16_t kind, uint32_t count, const char *path)
{
	struct sbx_event ev = {.pid = 10,
			       .ppid = 9,
			       .kind = kind,
			       .op = SBX_READ,
			       .call = SBX_CALL_open,
			       .flags = SBX_EVF_ALLOWED,
			       .time_ns = time_ns,
			       .count = count,
			       .path_len = (uint16_t)strlen(path)};

	return sbx_ring_write(w.ring, w.ring_size, &ev, path, "");
}

Test(audit_collector, repeats_that_no_machine_can_make_are_not_counted, .fini = end)
{
	int i;

	witness_start(&w, SBX_AUDIT_ALL);
	put_at(b_now_real_ns(), SBX_EV_REPEAT, 1000, "/ws/a");
	for (i = 0; i < 200; i++)
		put_at(b_now_real_ns(), SBX_EV_REPEAT, UINT32_MAX, "/ws/a");
	witness_end(&w);
	cr_assert_eq(w.counts.events, 1000);
	cr_assert_eq(w.counts.corrupt, 200);
}

Test(audit_collector, a_time_outside_the_run_is_replaced_by_that_of_receipt, .fini = end)
{
	const uint64_t year = UINT64_C(31536000000000000);
	char today[16];
	time_t now = time(NULL);
	struct tm tm;
	size_t i;

	witness_start(&w, SBX_AUDIT_ALL);
	put_at(1, SBX_EV_CALL, 0, "/ws/past");
	put_at(b_now_real_ns() + year, SBX_EV_CALL, 0, "/ws/future");
	witness_end(&w);
	strftime(today, sizeof today, "%Y-%m-", gmtime_r(&now, &tm));
	cr_assert_eq(json_array_size(w.lines), 2);
	for (i = 0; i < 2; i++)
		cr_assert_eq(strncmp(witness_str(&w, i, "ts"), today, 8), 0, "%s",
			     witness_str(&w, i, "ts"));
}

/* 10 to 19 live below us, 1 lives and is a stranger, the others are gone. */
static enum aud_kin some_live(uint32_t pid)
{
	if (pid >= 10 && pid < 20)
		return AUD_KIN_OURS;
	return pid == 1 ? AUD_KIN_STRANGER : AUD_KIN_GONE;
}

Test(audit_collector, events_of_processes_that_are_not_in_the_run_are_marked, .fini = end)
{
	static const struct {
		uint32_t pid;
		bool unverified;
	} calls[] = {{10, false}, {1, true}, {5000, true}, {20, false}, {21, false}, {23, true}};
	size_t i;

	witness_start_wary(&w, some_live, 0);
	for (i = 0; i < sizeof calls / sizeof *calls; i++) /* their parents: pid - 1 */
		witness_call(&w, calls[i].pid, SBX_READ, true, "/ws/a");
	witness_hello(&w, 30, "/usr/bin/short"); /* gone, and was there */
	witness_call(&w, 30, SBX_READ, true, "/ws/a");
	witness_end(&w);
	for (i = 0; i < sizeof calls / sizeof *calls; i++)
		cr_assert_eq(flag(i, "unverified"), calls[i].unverified, "pid %u", calls[i].pid);
	cr_assert_not(flag(i, "unverified"));
	cr_assert_not(flag(i + 1, "unverified"));
	cr_assert_eq(w.counts.unverified, 3);
}

Test(audit_collector, the_kernel_knows_who_is_below_us)
{
	int hold[2];
	pid_t pid;

	cr_assert_eq(pipe(hold), 0);
	pid = fork();
	if (pid == 0) {
		close(hold[1]);
		_exit(read(hold[0], &pid, 1) != 0);
	}
	cr_assert_eq(aud_kin_of((uint32_t)pid), AUD_KIN_OURS);
	cr_assert_eq(aud_kin_of(1), AUD_KIN_STRANGER);
	cr_assert_eq(aud_kin_of((uint32_t)getppid()), AUD_KIN_STRANGER);
	close(hold[1]);
	waitpid(pid, NULL, 0);
	cr_assert_eq(aud_kin_of((uint32_t)pid), AUD_KIN_GONE);
}

Test(audit_collector, a_full_log_ends_in_one_exact_gap_and_counting_goes_on, .fini = end)
{
	size_t i, n;

	witness_start_wary(&w, NULL, 8192);
	for (i = 0; i < 400; i++) {
		witness_call(&w, 10, SBX_READ, true, "/ws/a");
		if (i % 50 == 49)
			witness_drain(&w, 1500);
	}
	witness_end(&w);
	n = json_array_size(w.lines);
	cr_assert_lt(n, 100);
	cr_assert_str_eq(witness_str(&w, n - 1, "kind"), "gap");
	cr_assert_eq(number(n - 1, "lost"), (int64_t)(400 - (n - 1)));
	cr_assert_eq(w.counts.events, 400);
	cr_assert_eq(w.counts.lost, 400 - (n - 1));
	cr_assert_not_null(strstr(b_str_c(&w.told), "the audit log is full"));
}

static enum aud_kin slowly(uint32_t pid)
{
	const struct timespec t = {.tv_nsec = 500000};

	(void)pid;
	nanosleep(&t, NULL);
	return AUD_KIN_OURS;
}

/* The deadline of a run, its signals and its end wait for a drain. */
Test(audit_collector, frames_that_cost_a_lot_do_not_make_a_drain_long, .fini = end)
{
	struct b_err err;
	int poll_ms;

	witness_start_wary(&w, slowly, 0);
	for (uint32_t i = 0; i < 400; i++)
		cr_assert(witness_call(&w, 100 + i, SBX_READ, true, "/a"));
	cr_assert_eq(aud_collector_drain(w.c, w.now_ms, false, &poll_ms, &err), 0);
	cr_expect_eq(poll_ms, 0, "at once again");
	aud_collector_counts(w.c, &w.counts);
	cr_expect_lt(w.counts.events, 400);
	witness_end(&w);
	cr_expect_eq(w.counts.events, 400);
}

Test(audit_collector, the_person_is_not_told_a_denial_that_the_policy_did_not_make, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_call(&w, 10, SBX_READ, false, "/ws/open-to-all");
	witness_end(&w);
	cr_assert(flag(0, "shim_disagrees"));
	cr_assert_null(strstr(b_str_c(&w.told), "open-to-all"));
}

/* As a process of the run can: the file loses its pages below the mapping. */
static void cut_ring(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);

	cr_assert_eq(ftruncate(fd, (off_t)w.ring_bytes), 0);
	cr_assert_eq(pwrite(fd, w.ring, w.ring_bytes, 0), (ssize_t)w.ring_bytes);
	cr_assert_neq(
		mmap(w.ring, w.ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
		MAP_FAILED);
	cr_assert_eq(ftruncate(fd, 0), 0);
	close(fd);
}

Test(audit_collector, a_ring_whose_pages_are_taken_away_is_told_and_survived, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_call(&w, 10, SBX_MODIFY, true, "/ws/before");
	witness_drain(&w, 300);
	cut_ring();
	witness_drain(&w, 300);
	witness_drain(&w, 300);
	witness_end(&w);
	cr_assert_geq(json_array_size(w.lines), 1, "what was read before stays");
	cr_assert_gt(w.counts.damaged, 0);
}

Test(audit_collector, a_fault_elsewhere_still_ends_the_process, .signal = SIGBUS, .fini = end)
{
	int fd = memfd_create("other", MFD_CLOEXEC);
	volatile char *p;

	witness_start(&w, SBX_AUDIT_ALL);
	cr_assert_eq(ftruncate(fd, 4096), 0);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	cr_assert_eq(ftruncate(fd, 0), 0);
	*p = 1;
}
