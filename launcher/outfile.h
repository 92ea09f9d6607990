/*
 * outfile.h - files that the launcher itself writes where the caller says: --result-json FILE,
 * --audit-file FILE. An earlier command may have put a symlink or a FIFO there, so that the
 * launcher, which nothing confines, writes elsewhere or waits for ever.
 */
#pragma once

#include <stdbool.h>

struct b_arena;
struct b_err;
struct pol_engine;

/* open(2), but a FIFO that nobody reads makes us wait for a reader for LAU_OUTFILE_WAIT_MS at most:
 * -1 with errno ENXIO then. Close-on-exec. */
#define LAU_OUTFILE_WAIT_MS 5000
int lau_outfile_open(const char *path, int flags);
/* Is the name one of a descriptor of the caller's (/dev/stdout, /dev/fd/N, /proc/self/fd/N)? */
bool lau_outfile_is_descriptor(const char *path);
/* Before any policy is known: is there no symlink on the way to `path`, or for an ordinary user
 * none but those that root alone can change? */
bool lau_outfile_is_plain(const char *path);
/* Refuses `path` (relative: to the working directory) when a symlink on the way is one that the
 * command may change: B_FLOOR, naming the option. *out_real, when asked for: where the path leads;
 * arena of the engine. */
int lau_outfile_check(struct pol_engine *, const char *option, const char *path,
		      const char **out_real, struct b_err *err);
