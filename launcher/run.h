/* run.h - one run of sbx-launch, from parsed options to exit status. */
#pragma once

struct lau_options;

/* Prints what has to be said on standard error, --dry-run on standard output. */
int lau_run(const struct lau_options *);
