/* SPDX-License-Identifier: Apache-2.0 */
/* seatbelt.h - Seatbelt's profile applied, the second stage, and the process that is confined. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "core/event.h"
#include "launcher/options/options.h"

struct b_err;
struct sbpl_profile;

/*
 * Handing a profile to macOS: by /usr/bin/sandbox-exec, or by the call it makes
 * itself. Never found by PATH, never without one of the two.
 */

#define LAU_SANDBOX_EXEC "/usr/bin/sandbox-exec"

/* B_FLOOR unless what the back-end needs is there, which the message names, and we are in no
 * sandbox yet: one cannot be put into another (sandbox_apply: Operation not permitted, status
 * 71). */
int lau_seatbelt_probe(enum lau_backend, struct b_err *err);

struct lau_seatbelt {
	struct b_arena arena;
	char **argv; /* sandbox-exec's, NULL-terminated */
	/* The in-process back-end. */
	const char **params; /* name, value, ..., NULL */
};

/* What to execute: sandbox-exec -f FILE -DNAME=VALUE ... -- words. `words` are borrowed. */
void lau_seatbelt_argv(const struct sbpl_profile *, const char *file, char *const *words,
		       struct lau_seatbelt *out);
void lau_seatbelt_release(struct lau_seatbelt *);

/* Confines this process by sandbox_init_with_parameters(), which has no public header: B_FLOOR
 * when it is gone. It allocates: after a fork only in a child of a process of one thread. */
int lau_seatbelt_enter(const struct sbpl_profile *, const struct lau_seatbelt *, struct b_err *err);

/* sandbox-exec ended with this wait status before our second stage spoke: what went wrong. */
int lau_seatbelt_blame(int status, const char *file, struct b_err *err);

/*
 * The second half of a launch on macOS, inside the sandbox already: what sandbox-exec
 * executes is this program again. sandbox-exec is under System Integrity Protection and loses
 * DYLD_INSERT_LIBRARIES; from here it can be set, and here it is known whether it will work.
 *
 *	sbx-launch --stage2 FD SHIM|- PROGRAM ARGV0 ARGV1...
 *
 * What it has to say goes to the pipe FD, one line: "run CLASS" before the exec, which closes the
 * pipe, and "fail ERRNO" behind it when the exec failed.
 */

#define LAU_STAGE2 "--stage2"

/* Does argv ask for it? */
bool lau_stage2_asked(int argc, char *const *argv);
/* Executes, or gives the exit status: 126, 127, and 125 when called wrongly. */
int lau_stage2(int argc, char **argv);
/* The second half as a function: confined already. `shim` may be NULL. */
int lau_stage2_run(int report, const char *shim, const char *program, char *const *argv);

struct lau_stage2_said {
	bool ran; /* the command was about to start */
	enum sbx_exec_class cls;
	int error; /* errno of the exec, 0 = it succeeded */
};
/* Reads the pipe to its end. */
void lau_stage2_listen(int fd, struct lau_stage2_said *out);

/*
 * What a command really starts on macOS: scripts lead to their interpreters, and
 * whether dyld will insert a library there is decided by the file it ends at.
 *
 *	struct lau_target t;
 *	lau_target_find("/proj/run.py", argv, getenv("PATH"), &t);
 *	execve(t.path, t.argv, environ);
 *	lau_target_release(&t);
 *
 * `#!/usr/bin/env node` would lose DYLD_INSERT_LIBRARIES in env, which is under System Integrity
 * Protection: env is done without where its line is a plain name.
 */

struct lau_target {
	struct b_arena arena;
	const char *path; /* to execute */
	char **argv;	  /* NULL-terminated; ours and the caller's strings */
	/* DYNAMIC: the shim will be inserted. SECURE: restricted (SIP, set-id). FOREIGN: no slice
	 * we have a shim for, arm64e included. HARDENED: its signature keeps libraries out. */
	enum sbx_exec_class cls;
};

/* `path` is what execve would be given. Never fails: what cannot be read is left as it is, for
 * the kernel to answer. */
void lau_target_find(const char *path, char *const *argv, const char *search,
		     struct lau_target *out);
void lau_target_release(struct lau_target *);

/* Which macOS this is. */

/* 1404 = 14.4; 0 = unknown. */
unsigned lau_macos_release(void);

/* Which descriptors a command inherits. */

/* Closes what is above 2, but for pipes and `keep`. In a child. [AS-safe] */
void lau_fds_close(const int *keep, size_t nkeep);
