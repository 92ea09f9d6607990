/* rundir.h - one directory per run under $XDG_STATE_HOME/sbx-launch/runs/ (0700), with
 * audit.jsonl and run.json; retention of 200 runs or 1 GiB. The sandbox can neither read nor
 * write it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct b_err;
struct b_str;

#define AUD_KEEP_RUNS  200
#define AUD_KEEP_BYTES (1ull << 30)

struct aud_rundir {
	char *path; /* malloc'ed */
	char id[40]; /* "20261127T232401Z-1a2b3c": sorts by time */
	int dirfd;
};

/* Directory that holds all runs ("/home/u/.local/state/sbx-launch/runs"). malloc'ed; NULL with
 * err when neither XDG_STATE_HOME (absolute), HOME nor passwd says. */
char *aud_runs_root(struct b_err *err);
int aud_rundir_new(struct aud_rundir *out, struct b_err *err);
void aud_rundir_release(struct aud_rundir *);
/* Removes the oldest runs beyond the limits; never one whose supervisor still lives (flock). */
void aud_rundir_retain(const char *runs_root);
