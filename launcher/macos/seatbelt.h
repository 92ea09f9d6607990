/*
 * seatbelt.h - handing a profile to macOS: by /usr/bin/sandbox-exec, or by the call it makes
 * itself. Never found by PATH, never without one of the two.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"
#include "launcher/options.h"

struct b_err;
struct sbpl_profile;

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
