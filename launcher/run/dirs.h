/* SPDX-License-Identifier: Apache-2.0 */
/* dirs.h - directories and files of a run: made, found, given to the command, removed. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/mem.h"
#include "launcher/run/bundle.h"
#include "policy/document/layers.h"
#include "policy/engine.h"

struct b_arena;
struct b_err;
struct b_str;
struct lau_dirs;
struct lau_environment;
struct lau_options;
struct pol_engine;

/*
 * The run's private directory for temporary files, and the workspace's private
 * build cache. Both are granted by the policy; TMPDIR and its kin name them to the command.
 */

/* Canonical directory that scratch directories are made in: $TMPDIR when it is an absolute
 * usable directory, else /tmp. malloc'ed. */
int lau_scratch_base(char **out, struct b_err *err);
struct lau_scratch {
	char *path;   /* malloc'ed */
	int base;     /* the directory it lies in, -1 = none */
	int lock;     /* itself, locked while the run lives; -1: only the name is known */
	int no_locks; /* errno of flock(2) where nothing can be locked */
	bool keeps;   /* the place is shared: an empty directory left there disturbs no one */
};

/* Makes the run's scratch directory: 0700, empty, locked, on an inode that no living process of
 * another run has rights on. Names are numbered and used again, so that the next run has the same
 * rules and need not compile them again. Removes leftovers of a killed run. Without `make` it only
 * returns the first name, also if a run has it: questions get the same answer each time. */
int lau_scratch_take(bool make, struct lau_scratch *out, struct b_err *err);
/* Gives it to the command's user, until it is released. */
int lau_scratch_lend(const struct lau_scratch *, uid_t, gid_t, struct b_err *err);
/* Removes it, or in /tmp and /var/tmp leaves it empty for the next run, and unlocks. */
void lau_scratch_release(struct lau_scratch *);
/* The scratch directories that other runs of this user have or may get: calls each(ctx, path) for
 * the lowest numbers, existing or not, and for every existing one. Does not know runs with another
 * TMPDIR. */
void lau_scratch_others(const char *own, void (*each)(void *ctx, const char *path), void *ctx);
/* TMPDIR, TMP, TEMP, and zsh's TMPPREFIX. */
void lau_scratch_export(const char *path, struct lau_environment *);

/* XDG_CACHE_HOME/sbx-launch/<hash of the first workspace>, canonical, or NULL when there is no
 * home, or something there is not the user's: *out_why says so, else NULL. Both malloc'ed. */
char *lau_cache_dir(const char *const *workspaces, size_t n, char **out_why);
/* Makes it and what leads to it, and follows no link. False: it is not there, or not the user's. */
bool lau_cache_make(const char *path);
void lau_cache_export(const char *path, struct lau_environment *);

/*
 * The directories a run needs: found first (which makes the scratch directory alone),
 * made when the policy has proved good.
 */

struct lau_dirs {
	struct b_arena arena;
	const char **workspaces; /* canonical */
	size_t nworkspaces;
	struct lau_bundle bundle;   /* of --require-bundle */
	struct pol_layers layers;   /* the documents: they say which of the rest are wanted */
	struct lau_scratch scratch; /* no path: none wanted */
	char *cache;		    /* build cache of the workspace; NULL = none */
	char *channels;		    /* holds the channels of all runs; NULL = no shim */
	char *locks;		    /* holds the lock of moves; NULL = no place for it */
	char *images;		    /* compiled policies of all runs; NULL = none */
	char *runs;		    /* holds the run directories; NULL = none wanted */
	/* Places that no command may touch: some of these, and those of other runs of this user. */
	const char **hidden;
	size_t nhidden;
	const struct pol_ruleset *outer; /* of the run that this one is inside of; NULL = none */
};

int lau_dirs_find(const struct lau_options *, struct lau_dirs *out, struct b_err *err);
/* For a run inside another: shares that run's scratch directory and build cache, if both want one,
 * and makes only the channel and the record. */
int lau_dirs_find_inside(const struct lau_options *, const struct lau_dirs *outer,
			 struct lau_dirs *out, struct b_err *err);
int lau_dirs_make(struct lau_dirs *, struct b_err *err);
/* Removes the scratch directory and releases. */
void lau_dirs_release(struct lau_dirs *);

/*
 * Files that the launcher itself writes where the caller says: --result-json FILE,
 * --audit-file FILE. An earlier command may have put a symlink or a FIFO there, so that the
 * launcher, which nothing confines, writes elsewhere or waits for ever.
 */

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

/* One that the launcher reads for the command (--stdin): refused, B_USAGE, where a symlink that an
 * earlier run may have made leads to it (policy/rules/workspace.h). */
int lau_infile_check(const char *option, const char *path, struct b_err *err);

/* The files that the command is given as its input, output and errors. */

/* Regular files among descriptors 0 to 2 that still have their name, but for those in
 * directories the command is given anyway. Returns how many; strings live in dirs->arena. */
size_t lau_stdio_find(struct lau_dirs *, struct pol_stdio out[POL_STDIO_MAX]);

/*
 * May a command that only looks, by its words, be trusted to where it is? Not where
 * PATH leads to programs that the run itself may write, nor where git's configuration names
 * programs that show its differences. Reads files, runs nothing.
 */

/* For argv with `envp`, in the working directory. False: *why gets one line. */
bool lau_surround_is_sound(struct pol_engine *, char const *const *argv, char const *const *envp,
			   struct b_str *why);
