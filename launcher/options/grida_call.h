/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `--preset grida-call`: one command of an agent, as Grida's shell runner starts it. The
 * preset is the policy; here is what no policy says: how long, how much, from where, with which
 * words.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_err;
struct b_str;
struct lau_dirs;
struct lau_exec_result;
struct lau_options;

#define LAU_CALL_TIMEOUT_MS 30000	      /* without --timeout */
#define LAU_CALL_LONGEST_MS 60000	      /* a longer one is cut */
#define LAU_CALL_GRACE_MS   250		      /* from TERM to KILL */
#define LAU_CALL_OUTPUT	    ((size_t)1 << 20) /* of both streams together; the rest is dropped */

bool lau_call_is_asked(const struct lau_options *);
/* Options that it decides. Standard input is /dev/null from here, unless --stdin says what. */
int lau_call_settle(struct lau_options *, struct b_err *err);
/*
 * The gates, once the workspaces are known; nothing without the preset.
 *
 *  - B_WORKSPACE: a workspace and the data of the host overlap, or it is not known where that is;
 *    cwd-not-in-workspace (cwd-resolve-failed and cwd-not-a-directory: --chdir).
 *  - B_NOEXEC, arg-in-protected-root: a word that has a slash and does not begin with `-` leads
 * into the data of the host. Which is not repeated. A gate, no boundary: the policy denies the data
 * to whatever the command makes of its words.
 */
int lau_call_check(const struct lau_options *, const struct lau_dirs *, struct b_err *err);

/* The result as the shell runner gives it, one JSON object (docs/schema/shell-result.schema.json).
 * What could not be started is no error: exit code -1, and why at the end of stderr. */
void lau_call_json(const struct lau_exec_result *, char *const *argv, struct b_str *out);
