/* dryrun.h - the plan as text, for --dry-run. */
#pragma once

struct b_str;
struct lau_environment;
struct lau_options;
struct lau_plan;

void lau_dryrun_show(const struct lau_options *, struct lau_plan *, const struct lau_environment *,
		     const char *program, struct b_str *out);
