/* SPDX-License-Identifier: Apache-2.0 */
/* mkrun COMMAND...: records a run as sbx-launch would, without running anything, for the tests of
 * sbx-audit. Prints its id. MKRUN=live leaves the run locked and waits for the end of standard
 * input; MKRUN=killed leaves it without an end. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "audit/chain.h"
#include "audit/rundir.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "core/event.h"
#include "tests/support/witness.h"

static void feed(struct witness *w)
{
	struct sbx_event mv = {
		.pid = 501, .op = SBX_MODIFY, .call = SBX_CALL_rename, .flags = SBX_EVF_ALLOWED};
	int i;

	aud_collector_started(w->c, 500, getpid(), "/usr/bin/make", SBX_EXEC_DYNAMIC);
	witness_hello(w, 500, "/usr/bin/make");
	witness_exec(w, 501, SBX_EXEC_DYNAMIC, "/usr/bin/cc");
	witness_hello(w, 501, "/usr/bin/cc");
	witness_call(w, 501, SBX_READ, true, "/usr/include/stdio.h");
	witness_call(w, 501, SBX_MODIFY, true, "/ws/src/a.o");
	witness_put(w, mv, "/ws/src/a.o", "/ws/out/a.o");
	for (i = 0; i < 5; i++)
		witness_call(w, 501, SBX_READ, false, "/home/u/.ssh/id");
	witness_call(w, 500, SBX_MODIFY, false, "/ws/locked/\x1b[2J\xff");
	witness_exec(w, 502, SBX_EXEC_STATIC, "/bin/busybox");
}

static void die(const struct b_err *err)
{
	fprintf(stderr, "mkrun: %s\n", err->msg);
	exit(2);
}

static void write_info(const struct witness *w, const struct aud_rundir *d, char **argv, bool ended)
{
	static const char *const ws[] = {"/ws"}, *const floor[] = {"landlock abi 7", "seccomp"};
	struct aud_runinfo info = {
		.run_id = d->id,
		.version = SBX_VERSION,
		.started_ms = UINT64_C(1795821841000),
		.ended_ms = ended ? UINT64_C(1795821842500) : 0,
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
		.exit_status = ended ? 2 : -1,
		.final_hash = ended ? aud_collector_hash(w->c) : NULL,
		.counts = w->counts,
	};
	struct b_err err;

	if (aud_runinfo_write(&info, d->path, &err) < 0)
		die(&err);
}

int main(int argc, char **argv)
{
	const char *how = getenv("MKRUN");
	bool ended = !how || !*how;
	struct aud_rundir d;
	struct witness w;
	unsigned char key[B_HMAC_KEY];
	b_auto_free char *root = NULL;
	struct b_err err;
	char c;

	if (argc < 2 || aud_rundir_new(&d, &err) < 0)
		die(&err);
	root = aud_runs_root(&err);
	if (!root || aud_key_load(root, true, key, &err) < 0)
		die(&err);
	witness_key = key;
	witness_start_named(
		&w, d.id,
		openat(d.dirfd, AUD_LOG_NAME, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
	if (aud_rundir_show(&d, &err) < 0)
		die(&err);
	feed(&w);
	if (ended)
		witness_end(&w);
	else
		witness_drain(&w, 1);
	write_info(&w, &d, argv + 1, ended);
	puts(d.id);
	fflush(stdout);
	while (how && strcmp(how, "live") == 0 && read(STDIN_FILENO, &c, 1) > 0)
		;
	witness_release(&w);
	aud_rundir_release(&d);
	return 0;
}
