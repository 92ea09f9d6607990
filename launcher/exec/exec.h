/* SPDX-License-Identifier: Apache-2.0 */
/* exec.h - the exec contract: a request, its streams, its result. */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "launcher/plan/environment.h"

struct b_err;
struct lau_exec_io;
struct lau_options;
struct lau_outcome;
struct pol_engine;

/*
 * A command's standard streams. The loop that waits for the command feeds and reads them: no
 * threads, and no call that could block.
 *
 *	struct lau_exec_io io;
 *	lau_exec_io_open(&streams, &io, &err);
 *	start the command with io.child[] as its descriptors 0 to 2
 *	lau_exec_io_started(&io);
 *	while (the command runs) {
 *		n = lau_exec_io_wait(&io, fds);
 *		poll(fds, n, ...);
 *		lau_exec_io_turn(&io, fds, n);
 *	}
 *	lau_exec_io_finish(&io);
 *
 * The loop always reads the command's output, and discards it past the limit: a full pipe never
 * stops the command. Input that the command has not read at its end is not written. The caller
 * ignores or blocks SIGPIPE.
 */

enum lau_stdin {
	LAU_STDIN_INHERIT, /* the caller's */
	LAU_STDIN_NULL,	   /* empty */
	LAU_STDIN_BYTES,   /* these, then the end */
};

#define LAU_CAPTURE_LIMIT ((size_t)1 << 20) /* bytes of each stream that are kept, by default */
#define LAU_CAPTURE_ALL	  ((size_t)-1)
/* Appended to a stream that went past the limit. */
#define LAU_CAPTURE_MARK "\n[orbit: output truncated after capture limit]\n"

/* The fate of a command that writes more. */
enum lau_over {
	LAU_OVER_END,  /* it is killed; the stream ends in LAU_CAPTURE_MARK */
	LAU_OVER_DROP, /* it continues, and the rest is discarded */
};

struct lau_streams {
	enum lau_stdin in;
	const void *bytes; /* LAU_STDIN_BYTES; borrowed */
	size_t nbytes;
	bool no_capture; /* output and errors go where ours go */
	size_t limit;	 /* 0 = LAU_CAPTURE_LIMIT */
	bool is_joint;	 /* ... of both streams together, not of each */
	enum lau_over over;
	/* Both streams are shown on our standard error as they come, without these values; the
	 * errors are kept without them as well. NULL = nothing is shown. */
	const struct lau_secrets *tee;
};

struct lau_exec_io {
	int child[3]; /* for the command, -1 = its own stays */
	struct lau_exec_stream {
		int fd; /* -1 = not captured, or at its end */
		struct b_str bytes;
		bool is_cut; /* past the limit */
		struct lau_redact redact;
	} out[2];
	int in, in_errno; /* -1 = all is written, or in_errno says why it is not */
	const char *at;
	size_t left, limit;
	bool is_joint, is_dropping;
	bool is_teed;
	struct b_str piece, shown; /* just read; not yet on standard error, from shown_at on */
	size_t shown_at;
};

#define LAU_EXEC_IO_FDS 4

/* Makes the pipes, above descriptor 2 and close-on-exec. B_SYSTEM. */
int lau_exec_io_open(const struct lau_streams *, struct lau_exec_io *out, struct b_err *err);
/* The command has its ends, or there will be none: ours of them are closed. */
void lau_exec_io_started(struct lau_exec_io *);
/* Fills in what to wait for; returns how many. */
size_t lau_exec_io_wait(const struct lau_exec_io *, struct pollfd fds[LAU_EXEC_IO_FDS]);
/* Reads and writes what can be without waiting. */
void lau_exec_io_turn(struct lau_exec_io *, const struct pollfd *fds, size_t n);
/* A stream went past its limit, and that ends the command. */
bool lau_exec_io_is_over(const struct lau_exec_io *);
/* Nobody is left: takes what is in the pipes. Somebody outside who holds one open is not waited
 * for. Puts the marks, and shows the rest. */
void lau_exec_io_finish(struct lau_exec_io *);
void lau_exec_io_release(struct lau_exec_io *);

/*
 * How a supervised command ended, with what it wrote: the execution result of the
 * exec contract (docs/schema/exec-result.schema.json).
 */

struct lau_exec_result {
	bool is_plain; /* set by the caller: adds nothing to err, and a cut does not end the command
			*/
	bool success;  /* ended by itself, with status 0 */
	struct b_str out, err;	    /* the bytes of the streams, and the lines added to err */
	bool has_exit_code;	    /* not after a timeout, and not if its own signal ended it */
	int exit_code;		    /* 128+n if signal n asked the caller to end it */
	uint64_t duration_ms;	    /* from the start of the call to its return */
	const char *output;	    /* JSON text, which the caller sets; NULL = null. Borrowed */
	const char *members;	    /* more members of the object; NULL = none. Borrowed */
	int signal;		    /* that ended the command, 0 = none */
	int interrupted;	    /* signal that asked us to end it, 0 = none */
	bool timed_out, was_killed; /* was_killed: TERM was not enough */
	bool out_is_cut, err_is_cut;
	struct b_err error; /* kind B_OK = none: it could not be run, or not be fed */
};
void lau_exec_result_release(struct lau_exec_result *);

/* "failed to spawn `PROGRAM`: REASON (os error N)", in place of what `err` said. */
int lau_exec_spawn_failed(const char *program, struct b_err *err);

/* Takes the streams out of *io, which must be finished, and adds to the errors what there is to
 * say. *io may be NULL: nothing was started. */
void lau_exec_result_fill(struct lau_exec_result *, const struct lau_outcome *,
			  struct lau_exec_io *io);

/* Appends the bytes as text. Bytes that are not UTF-8 become U+FFFD, one for each longest piece
 * that begins a character, as in the Encoding standard and most decoders. */
void lau_exec_text(const void *p, size_t n, struct b_str *out);

/* Appends one JSON line. A stream that is not UTF-8 also has its bytes (stdout_b64). */
void lau_exec_result_json(const struct lau_exec_result *, struct b_str *out);

/*
 * Runs one program to its end and reports how it ended: the exec contract, as a library.
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
 * variables, no deadline, both streams captured up to LAU_CAPTURE_LIMIT bytes each. For later
 * fields 0 will mean today's behaviour.
 *
 * The contract:
 *
 *  - The program leads its own process group. It inherits ignored signals, but no descriptors above
 *    2, and SIGPIPE has its default.
 *  - The call reads the program's output at once, beyond the limit as well: the program never
 * waits. If a stream goes past the limit, the call kills every process of the run (unless `over`
 * says that the rest is dropped), and the stream ends in LAU_CAPTURE_MARK.
 *  - The call feeds standard input while it reads output. A program that succeeds without reading
 * all input has succeeded; for one that fails, the error is "failed to write process stdin".
 *  - At the deadline, and when this process gets SIGINT or SIGTERM, every process of the run gets
 * that signal (SIGTERM for the deadline), and those that are left after the grace get SIGKILL.
 * The
 *    last line of the errors is then "process timed out" or "process interrupted by signal SIG...".
 *    If a signal and the end are seen together, the signal counts.
 *  - When the program ends, every process that it started is killed at once: children, and on Linux
 *    also those that left the group or the session. The call does not wait for a process outside
 * that was handed one of the pipes.
 *  - If the calling thread or process is killed, the run ends as by SIGHUP. A pthread_cancel(3)
 * waits until the run has ended: to end it earlier, use a time limit.
 *  - The call never starts a program twice.
 *
 * The call does not confine the program: for a sandbox, let argv[0] be sbx-launch. On macOS only
 * the option of sbx-launch exists, not this call.
 *
 * Threads: several threads may call it side by side. During a call the library handles SIGINT and
 * SIGTERM: it installs and restores handlers under a lock, and a signal ends every run. A handler
 * that the program installs meanwhile is lost at the last return. The library does not use
 * SIGCHLD, and the caller's wait(2) never returns a child of the library.
 *
 * A waiting call wakes every LAU_EXEC_POLL_MS to look for a signal that another thread received
 * (docs/adr/008).
 */

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
	 * names (environment.h) are left out there, and of the errors captured. */
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

/*
 * `sbx-launch --result-json`: the run under the exec contract (exec.h), and its result
 * written to a descriptor or file. The same on every system.
 */

struct lau_capture {
	const struct lau_options *o;
	bool is_asked;
	bool is_open;  /* the streams are */
	bool is_named; /* by a file's name, which an earlier command may have given a meaning */
	bool is_sure;  /* which it has not, or cannot have */
	struct lau_exec_io io;
	struct lau_secrets secrets;
	struct b_str bytes; /* for standard input */
	uint64_t start_ms;
	int fd;	 /* to be written to, or -1 */
	int dir; /* of the file to be made, or -1 */
};
#define LAU_CAPTURE_INIT                                                                           \
	{                                                                                          \
		.fd = -1, .dir = -1                                                                \
	}

/* Finds out where the result goes, and takes it out of the command's reach: B_USAGE, B_SYSTEM.
 * Nothing, when it is not asked for. */
int lau_capture_find(const struct lau_options *, struct lau_capture *out, struct b_err *err);
/* Once the policy is known: refuses (B_FLOOR) a name that the command may have led elsewhere. The
 * result then goes nowhere. */
int lau_capture_check(struct lau_capture *, struct pol_engine *, struct b_err *err);
/* The streams: give io.child[] to the command. `envp` is what it gets. */
int lau_capture_open(struct lau_capture *, char *const *envp, struct b_err *err);
/* After the last process has gone, or instead of the first: writes the result, with these members
 * of what the caller knows of the run (JSON, borrowed; NULL = none). A file is put in
 * place as a whole, whatever the command has left under its name. */
int lau_capture_end(struct lau_capture *, const struct lau_outcome *, const char *members,
		    struct b_err *err);
void lau_capture_release(struct lau_capture *);

/* Calls of options; the target is struct lau_options. */
int lau_capture_set_limit(void *target, const char *value, struct b_err *err);
