/*
 * macopts.h - what the options that stand for abilities of Linux mean on macOS: one table. What is
 * a promise is refused, what only opens something is told to have no effect. Pure, and tried on
 * every system.
 *
 *	if (lau_macopts_check(&options, &note, &err) < 0) ...
 */
#pragma once

struct b_err;
struct b_str;
struct lau_options;

/* B_FLOOR with the first option that cannot be kept. Lines for the person are added to `notes`,
 * each with its end. */
int lau_macopts_check(const struct lau_options *, struct b_str *notes, struct b_err *err);
