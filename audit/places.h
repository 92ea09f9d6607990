/* SPDX-License-Identifier: Apache-2.0 */
/*
 * places.h - what runs of this user leave outside of the state directory: where it may lie, how
 * much of it there is, and taking it away (`sbx-audit prune`, `sbx-launch --doctor`).
 *
 * Two kinds stay on purpose, each in one directory with a name that says what it is for:
 *	TMP/sbx-launch-UID.empty-for-next-run/N	 scratch directories, empty, so that the next runs
 *						 need not make theirs
 *	TMP/sbx-print-env-UID/X			 what one --print-env gave its programs as TMPDIR
 *						 (X/tmp), as long as its record is there (X/run)
 * and the lock of moves, a file beside the channels (launcher/run/channel.h). Everything else
 * goes with its run; what a killed run left, the next one or prune removes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* The canonical directory for temporary files: $TMPDIR when it is an absolute usable one, else
 * /tmp, else /var/tmp. malloc'ed; NULL with errno. */
char *aud_place_temporary(void);
/* Calls each(ctx, path) for that, /tmp and /var/tmp, each once. */
void aud_place_temporaries(void (*each)(void *ctx, const char *path), void *ctx);
/* And for the directories in which channels and locks of this user's runs lie or may come to lie,
 * whatever runtime directory those had. */
void aud_place_channels(void (*each)(void *ctx, const char *path), void *ctx);

/* "sbx-launch-UID.empty-for-next-run": the name of that directory. */
struct aud_place_name {
	char s[64];
};
struct aud_place_name aud_place_kept(void);

/* Opens a directory that is ours alone (0700): -1 when it is not. */
int aud_place_open(int at, const char *name);
/* The same, and locks it while it has its name: -1 too where somebody's run lives in it
 * (EWOULDBLOCK), or with another errno of open(2) and flock(2). */
int aud_place_lock(int at, const char *name);
/* Is it still what `name` leads to? */
bool aud_place_is_named(int at, const char *name, int fd);

/* Makes TMP/sbx-print-env-UID/X/tmp: malloc'ed, NULL with errno. Removes those before it whose
 * record is gone. */
char *aud_place_printed(void);
/* Its record is the run's directory `rundir`: it goes when that is gone. 0 or -1 with errno. */
int aud_place_printed_by(const char *tmp, const char *rundir);
/* Removes an empty one that nobody was told of. */
void aud_place_printed_undo(const char *tmp);

/* Removes channels whose run is gone from a directory of channels that is ours alone. */
void aud_place_sweep(const char *channels);

/* What is there: each(ctx, path, n, what), with n > 0. */
void aud_left_each(void (*each)(void *ctx, const char *path, size_t n, const char *what),
		   void *ctx);
/* Removes what no run uses. */
void aud_left_prune(void);
