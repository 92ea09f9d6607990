/*
 * verdict.h - would a strict run be made here, in this directory, under these options? Asked by
 * making it: whatever a run tries, this has tried.
 */
#pragma once

#include <stdbool.h>

struct lau_verdict {
	const char *options; /* as they are written, "" = none */
	bool runs;
	char notes[1024]; /* what such a run says of itself, a line each */
	char why[512]; /* the refusal, as the run words it: "E_FLOOR: cause: remedy" */
};
#define LAU_VERDICTS 5

/* Of no option, of a pattern that denies reading, and of each --network. The program of each run is
 * this one, which prints its version; no log is made, and a place for one is looked for. */
void lau_verdicts_ask(struct lau_verdict out[LAU_VERDICTS]);
