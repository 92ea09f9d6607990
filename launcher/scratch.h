/*
 * scratch.h - the run's private directory for temporary files, and the workspace's private
 * build cache. Both are granted by the policy; TMPDIR and its kin name them to the command.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct b_err;
struct lau_environment;

/* Canonical directory that scratch directories are made in: $TMPDIR when it is an absolute
 * usable directory, else /tmp. malloc'ed. */
int lau_scratch_base(char **out, struct b_err *err);
struct lau_scratch {
	char *path; /* malloc'ed */
	int base;   /* the directory it lies in, -1 = none */
	int lock;   /* itself, locked while the run lives; -1: only the name is known */
	int no_locks; /* errno of flock(2) where nothing can be locked */
	bool keeps; /* the place is everybody's: what is left empty disturbs nobody */
};

/* The run's own there: 0700, empty, locked, of an inode that no living process of another run has
 * rights on. Names are numbered and used again, so that the next run has the same rules and needs
 * not compile them again. What a run that was killed left is removed. With `make` false it
 * is the first name, whoever has it: the same answer to the same question. */
int lau_scratch_take(bool make, struct lau_scratch *out, struct b_err *err);
/* To the user that the command runs as, until it is released. */
int lau_scratch_lend(const struct lau_scratch *, uid_t, gid_t, struct b_err *err);
/* Removes it, or in /tmp and /var/tmp leaves it empty for the next run, and unlocks. */
void lau_scratch_release(struct lau_scratch *);
/* TMPDIR, TMP, TEMP, and zsh's TMPPREFIX. */
void lau_scratch_export(const char *path, struct lau_environment *);

/* XDG_CACHE_HOME/sbx-launch/<hash of the workspace>, or NULL when there is no home. malloc'ed. */
char *lau_cache_dir(const char *workspace);
bool lau_cache_make(const char *path);
void lau_cache_export(const char *path, struct lau_environment *);
