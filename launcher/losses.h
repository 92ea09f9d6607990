/* losses.h - what cannot be enforced, and what the policy engine has to tell: before the command.
 */
#pragma once

struct b_err;
struct lau_options;
struct lau_plan;

/* "sbx-launch: WHAT: TEXT" on standard error, control characters made visible. */
void lau_say(const char *what, const char *text);
/* What of the policy is left out or lost, before there is a floor: for a command that may not be
 * executed. */
void lau_losses_foreign(const struct lau_options *, const struct lau_plan *);
/* Prints notes and losses, one a line, on standard error. B_FLOOR when one of them is a reason not
 * to run; of several the last is in *err, those before it are printed. */
int lau_losses_tell(const struct lau_options *, const struct lau_plan *, struct b_err *err);
