/* SPDX-License-Identifier: Apache-2.0 */
/* mklarge EVENTS: records a run of so many events, as a large build makes them, through the
 * collector, for the measurements of tests/bench/record. Prints its id; on standard error, as JSON,
 * how many lines a second were written. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "audit/chain.h"
#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "core/event.h"
#include "tests/support/witness.h"

/* Of each process: what it begins with, 399 reads, 80 steps of work, 19 refusals. */
enum { PER_PROCESS = 500, READS = 400, WORK = 480, FEED = 128 };

static double cpu_seconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void die(const struct b_err *err)
{
	fprintf(stderr, "mklarge: %s\n", err->msg);
	exit(2);
}

/* A file is written under a temporary name that then gets the lasting one. */
static void work(struct witness *w, uint32_t pid, uint32_t process, uint32_t step)
{
	struct sbx_event mv = {
		.pid = pid, .op = SBX_MODIFY, .call = SBX_CALL_rename, .flags = SBX_EVF_ALLOWED};
	struct sbx_event rm = {
		.pid = pid, .op = SBX_MODIFY, .call = SBX_CALL_unlink, .flags = SBX_EVF_ALLOWED};
	char path[200], to[200];

	snprintf(path, sizeof path, "/ws/build/obj/module%02u/part%03u/.tmp%u.%u", process % 40,
		 process % 500, process, step / 4);
	snprintf(to, sizeof to, "/ws/build/obj/module%02u/part%03u/unit%05u.%u.o", process % 40,
		 process % 500, process, step / 4);
	if (step % 4 < 2)
		witness_call(w, pid, SBX_MODIFY, true, path);
	else if (step % 4 == 2)
		witness_put(w, mv, path, to);
	else
		witness_put(w, rm, path, "");
}

static void feed(struct witness *w, uint32_t n)
{
	static const char *const programs[] = {"/usr/bin/cc", "/usr/bin/as", "/usr/bin/sh",
					       "/usr/bin/python3.11"};
	uint32_t process = n / PER_PROCESS, i = n % PER_PROCESS, pid = 1000 + process, k;
	char path[200];

	if (i == 0) {
		witness_exec(w, pid, SBX_EXEC_DYNAMIC, programs[process % 4]);
	} else if (i == 1) {
		witness_hello(w, pid, programs[process % 4]);
	} else if (i < READS) {
		k = (process * 131 + i * 17) % 60000;
		snprintf(path, sizeof path, "/usr/include/library%02u/section%03u/header%05u.h",
			 k % 50, k % 700, k);
		witness_call(w, pid, SBX_READ, true, path);
	} else if (i < WORK) {
		work(w, pid, process, i - READS);
	} else {
		k = (process * 7 + i) % 300;
		snprintf(path, sizeof path, k % 2 ? "/home/u/.ssh/key%03u" : "/ws/locked/f%03u", k);
		witness_call(w, pid, k % 2 ? SBX_READ : SBX_MODIFY, false, path);
	}
}

static void write_info(const struct witness *w, const struct aud_rundir *d, char **argv)
{
	static const char *const ws[] = {"/ws"}, *const floor[] = {"landlock abi 7", "seccomp"};
	struct aud_runinfo info = {
		.run_id = d->id,
		.version = SBX_VERSION,
		.started_ms = UINT64_C(1795821841000),
		.ended_ms = UINT64_C(1795821842500),
		.argv = argv,
		.cwd = "/ws",
		.policy = "builtin:default",
		.policy_hash = aud_collector_hash(w->c),
		.profile = "default",
		.workspaces = ws,
		.nworkspaces = 1,
		.floor = floor,
		.nfloor = 2,
		.audit_level = "folded",
		.final_hash = aud_collector_hash(w->c),
		.counts = w->counts,
	};
	struct b_err err;

	if (aud_runinfo_write(&info, d->path, &err) < 0)
		die(&err);
}

/* Only the collector's part of the time counts. */
static void record(struct witness *w, uint32_t events)
{
	double wall = 0, cpu = 0, from, cpu_from;
	struct b_err err;
	uint32_t i, j;
	int poll_ms;

	for (i = 0; i < events; i = j) {
		for (j = i; j < events && j < i + FEED; j++)
			feed(w, j);
		from = cpu_seconds(CLOCK_MONOTONIC);
		cpu_from = cpu_seconds(CLOCK_PROCESS_CPUTIME_ID);
		if (aud_collector_drain(w->c, w->now_ms++, false, &poll_ms, &err) < 0)
			die(&err);
		wall += cpu_seconds(CLOCK_MONOTONIC) - from;
		cpu += cpu_seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_from;
	}
	if (aud_collector_finish(w->c, &err) < 0)
		die(&err);
	aud_collector_counts(w->c, &w->counts);
	fprintf(stderr,
		"{\"bench\":\"record\",\"what\":\"written\",\"events\":%" PRIu64
		",\"per_s\":%.0f,\"per_cpu_s\":%.0f}\n",
		w->counts.events, events / wall, events / cpu);
}

int main(int argc, char **argv)
{
	unsigned char key[B_HMAC_KEY];
	b_auto_free char *root = NULL;
	struct aud_rundir d;
	struct witness w;
	struct b_err err;

	if (argc != 2 || atoi(argv[1]) < PER_PROCESS) {
		fprintf(stderr, "usage: mklarge EVENTS, %d at least\n", PER_PROCESS);
		return 2;
	}
	if (aud_rundir_new(&d, &err) < 0)
		die(&err);
	root = aud_runs_root(&err);
	if (!root || aud_key_load(root, true, key, &err) < 0)
		die(&err);
	witness_key = key;
	witness_start_named(
		&w, d.id,
		openat(d.dirfd, AUD_LOG_NAME, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
	record(&w, (uint32_t)atoi(argv[1]));
	write_info(&w, &d, argv);
	if (aud_rundir_show(&d, &err) < 0)
		die(&err);
	puts(d.id);
	witness_release(&w);
	aud_rundir_release(&d);
	return 0;
}
