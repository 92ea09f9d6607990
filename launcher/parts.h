/* parts.h - what a run does alike on every system; launcher/run.c and launcher/macos/run.c put it
 * in their order. */
#pragma once

#include "policy/engine.h"

struct b_err;
struct lau_dirs;
struct lau_options;
struct lau_outcome;
struct lau_record;

/* A request and what it borrows: keep it while the engine is made. */
struct lau_request {
	struct pol_request rq;
	struct pol_stdio stdio[POL_STDIO_MAX];
};
/* All that options and directories say. What the host decides is the caller's to add. */
void lau_parts_request(const struct lau_options *, struct lau_dirs *, struct lau_request *out);

/* --chdir: B_WORKSPACE, with the name of what is wrong in front, as agents know it. */
int lau_parts_chdir(const struct lau_options *, struct b_err *err);

/* A copy of --status-fd to be written to, -1 = not asked for. The command does not inherit the
 * descriptor, which would keep its reader waiting, unless it is one of 0 to 2. */
int lau_parts_status_fd(const struct lau_options *, int *out_fd, struct b_err *err);

/* May this file be executed? B_NOEXEC, naming the rule. */
int lau_parts_may_exec(struct pol_engine *, const char *file, struct b_err *err);

/* The shim for `program`, NULL when none is wanted. B_NOEXEC when it is required and would not be
 * loaded. malloc'ed. */
int lau_parts_shim(const struct lau_options *, const char *program, char **out, struct b_err *err);
bool lau_parts_requires_shim(const struct lau_options *);

/* Closes the record. -1: the run counts as ended by us (outcome->phase), because the log was
 * required and failed, or the shim was and missed something. */
int lau_parts_end(const struct lau_options *, struct lau_record *, struct lau_outcome *,
		  struct b_err *err);
