/*
 * exec.h - runs one program to its end and says how that came: the exec contract, as a library.
 *
 *	const char *argv[] = {"make", "-j2", NULL};
 *	struct lau_exec_request rq = {.argv = argv, .timeout_ms = 60000};
 *	struct lau_exec_result result;
 *
 *	if (lau_exec_run(&rq, &result, &err) < 0)
 *		return b_report("builder", &err);
 *	if (!result.success)
 *		fwrite(result.err.s, 1, result.err.len, stderr);
 *	lau_exec_result_release(&result);
 *
 * A request whose fields are zero is a plain run: the caller's directory, standard input and
 * variables, no deadline, both streams captured up to LAU_CAPTURE_LIMIT bytes each. Fields to come
 * will mean by 0 what is done today.
 *
 * What holds:
 *
 *  - The program leads a process group of its own. Descriptors above 2 are not passed on, ignored
 *    signals are, SIGPIPE has its default.
 *  - Whatever the program writes is taken at once, beyond the limit as well: it never waits for us.
 *    When a stream goes past the limit everything is killed (unless `over` says
 *    that the rest is dropped), and the stream ends in
 *    LAU_CAPTURE_MARK.
 *  - Standard input is fed while output is read. A program that succeeds without having read all of
 *    it has succeeded; for one that fails it is the error "failed to write process stdin".
 *  - At the deadline, and when this process is sent SIGINT or SIGTERM, that signal (SIGTERM for the
 *    deadline) goes to all of the run, and SIGKILL to what is left of it after the grace. The
 * errors then end in "process timed out" or "process interrupted by signal SIG...", on a line of
 * their own. Of a signal and an end that are seen together the signal counts.
 *  - When the program ends, everything it started is killed at once: children, and on Linux also
 * what left the group or the session. A process outside that was handed one of the pipes is not
 * waited for.
 *  - If the calling thread or process is killed, the run ends as by SIGHUP. A pthread_cancel(3)
 * waits until the run has ended: to end one earlier, give it a time limit.
 *  - Nothing is tried twice.
 *
 * Nothing is confined: to run a program in a sandbox, let argv[0] be sbx-launch. On macOS there is
 *only the option of sbx-launch (capture.h), not this call.
 *
 * Threads: calls from several threads run side by side. While there are any, SIGINT and SIGTERM are
 * handled here; handlers are put in place and back under a lock, and a signal ends every run that
 * there is. A handler that the program installs meanwhile is lost at the last return. SIGCHLD is
 * not used, and no child of ours is met by the caller's wait(2).
 *
 * Waiting wakes every LAU_EXEC_POLL_MS to see whether a signal came, as a thread has no other way
 * to hear of one that another thread was handed (docs/adr/008).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "launcher/exec_io.h"
#include "launcher/exec_result.h"

#define LAU_EXEC_POLL_MS  100
#define LAU_EXEC_GRACE_MS 5000

struct lau_exec_request {
	/* The program: a path, or a name looked for in PATH (of `env`, if it has one), then its
	 * arguments, with NULL at the end. */
	const char *const *argv;
	const char *cwd;     /* NULL = ours; argv[0] may be relative to it */
	uint64_t timeout_ms; /* 0 = none */
	uint64_t grace_ms;   /* between TERM and KILL; 0 = LAU_EXEC_GRACE_MS */

	enum lau_stdin stdin_mode;
	const void *bytes; /* LAU_STDIN_BYTES */
	size_t nbytes;

	/* "NAME=value", NULL at the end: all the variables there are. NULL = ours. */
	char *const *env;

	bool no_capture; /* output and errors go where ours go; in the result they are empty */
	size_t limit;	 /* bytes kept of each stream; 0 = LAU_CAPTURE_LIMIT, or LAU_CAPTURE_ALL */
	bool is_joint;	 /* ... of both together */
	enum lau_over over; /* what then: 0 = LAU_OVER_END */
	/* Shows both streams on our standard error while they come. Values of variables with secret
	 * names (redact.h) are left out there, and of the errors captured. */
	bool debug;

	/* Asked before anything is done, NULL = everything may run. -1 with *err set: nothing runs.
	 */
	int (*validate)(void *ctx, const struct lau_exec_request *, struct b_err *err);
	void *ctx;
};

/*
 * Runs it; returns when nothing of it is left. 0: it ran, however it ended, and *out says how; to
 * be released. -1: *out is empty, but for a failed write to standard input, where it has what there
 * is, too, and may be released in any case. Kinds: B_NOTFOUND, B_NOEXEC ("failed to spawn
 * `PROGRAM`: ..."), B_USAGE (no program), B_SYSTEM, B_LIMIT, and those of validate(); `err` may be
 * NULL. [MT-safe]
 */
int lau_exec_run(const struct lau_exec_request *, struct lau_exec_result *out, struct b_err *err);

/* The request for a person or a log, on one line; values of variables with secret names are
 * LAU_REDACTED, and so is what is fed. */
void lau_exec_request_show(const struct lau_exec_request *, struct b_str *out);
