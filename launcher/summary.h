/* summary.h - what a person is told of a run: what holds it, what does not, how it went. */
#pragma once

#include <stdbool.h>

struct b_str;
struct lau_plan;
struct lau_record;
struct lau_outcome;

/* "confined by: ...; policy ..." for -v, before the command. */
void lau_summary_start(struct lau_plan *, int lost, struct b_str *out);
/* Counts, coverage, log and final hash for -v, after it. */
void lau_summary_end(const struct lau_record *, const struct lau_outcome *, struct b_str *out);
