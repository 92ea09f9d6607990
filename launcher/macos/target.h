/*
 * target.h - what a command really starts on macOS: scripts lead to their interpreters, and
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
#pragma once

#include "base/mem.h"
#include "core/event.h"

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
