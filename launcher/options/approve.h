/* SPDX-License-Identifier: Apache-2.0 */
/*
 * approve.h - may a command run without being asked for? The words alone (policy/approve/) and the
 * policy decide; nothing is run. Asked by sbx-policy approve, and by a run under --mode.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_err;
struct b_str;
struct lau_options;
struct lau_environment;
struct pol_engine;

enum lau_mode { LAU_MODE_NONE, LAU_MODE_ACCEPT_EDITS, LAU_MODE_AUTO };

enum lau_approval { LAU_ALLOW, LAU_ASK, LAU_DENY, LAU_APPROVAL_COUNT };
const char *lau_approval_name(enum lau_approval); /* "allow", "ask", "deny" */

/* Why a harness may answer for the person; caliban's keys. */
struct lau_leave {
	char const *const *listed; /* patterns, pol_approve_listed() */
	size_t nlisted;
	bool sandboxed;	  /* whatever runs sandboxed: each command of a shell */
	const char *bare; /* why it would not run sandboxed here, NULL = it would */
};

/* LAU_DENY when the policy does not let the program run, or one of the words names a path that it
 * may not read: the run would fail anyway. `mode`: enum lau_mode. One line goes to *why. */
enum lau_approval lau_approve(struct pol_engine *, int mode, const struct lau_leave *,
			      char const *const *argv, struct b_str *why);
/* What is said of it to programs: one JSON line. */
void lau_approval_json(enum lau_approval, const char *why, char const *const *argv,
		       struct b_str *out);

/* Under --mode accept-edits: B_APPROVAL for what does not pass, with the variables that it would
 * have; settings that keep the rest
 * read-only go into the environment. No other mode refuses. With --json the answer to a refusal is
 * printed to standard output. */
int lau_mode_check(const struct lau_options *, struct pol_engine *, struct lau_environment *,
		   struct b_err *err);
/* What a mode says of the other options: a floor is always had, accept-edits has no network and no
 * sockets. B_USAGE when an option says otherwise. */
int lau_mode_settle(struct lau_options *, struct b_err *err);
