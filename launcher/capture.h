/*
 * capture.h - `sbx-launch --result-json`: the run under the exec contract (exec.h), and its result
 * written to a descriptor or file. The same on every system.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "launcher/exec_io.h"

struct b_err;
struct lau_options;
struct lau_outcome;
struct pol_engine;

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
/* After the last process has gone, or instead of the first: writes the result. A file is put in
 * place as a whole, whatever the command has left under its name. */
int lau_capture_end(struct lau_capture *, const struct lau_outcome *, struct b_err *err);
void lau_capture_release(struct lau_capture *);

/* Calls of options; the target is struct lau_options. */
int lau_capture_set_limit(void *target, const char *value, struct b_err *err);
