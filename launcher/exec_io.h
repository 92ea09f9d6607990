/*
 * exec_io.h - a command's standard streams, fed and read by whoever waits for it: one loop, no
 * threads, and nothing in it that could wait.
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
 * What the command writes is always taken, also past the limit, where it is thrown away: a full
 * pipe never stops it. What it has not read when it ends is not written. The caller ignores or
 * blocks SIGPIPE.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"
#include "launcher/redact.h"

struct b_err;

enum lau_stdin {
	LAU_STDIN_INHERIT, /* ours */
	LAU_STDIN_NULL,	   /* at its end from the start */
	LAU_STDIN_BYTES,   /* these, then the end */
};

#define LAU_CAPTURE_LIMIT ((size_t)1 << 20) /* bytes of each stream that are kept, by default */
#define LAU_CAPTURE_ALL	  ((size_t)-1)
/* After the bytes of a stream that went past it. */
#define LAU_CAPTURE_MARK "\n[orbit: output truncated after capture limit]\n"

/* What becomes of a command that writes more. */
enum lau_over {
	LAU_OVER_END,  /* it is killed; the stream ends in LAU_CAPTURE_MARK */
	LAU_OVER_DROP, /* it goes on, and the rest is thrown away */
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
