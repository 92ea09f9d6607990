/*
 * scratch.h - the run's private directory for temporary files, and the workspace's private
 * build cache. Both are granted by the policy; TMPDIR and its kin name them to the command.
 */
#pragma once

#include <stdbool.h>

struct b_err;
struct lau_environment;

/* Canonical directory that scratch directories are made in: $TMPDIR when it is an absolute
 * usable directory, else /tmp. malloc'ed. */
int lau_scratch_base(char **out, struct b_err *err);
/* A fresh name there for the run's own; nothing is made. *out_path malloc'ed. */
int lau_scratch_name(char **out_path, struct b_err *err);
/* TMPDIR, TMP, TEMP, and zsh's TMPPREFIX. */
void lau_scratch_export(const char *path, struct lau_environment *);

/* XDG_CACHE_HOME/sbx-launch/<hash of the workspace>, or NULL when there is no home. malloc'ed. */
char *lau_cache_dir(const char *workspace);
bool lau_cache_make(const char *path);
void lau_cache_export(const char *path, struct lau_environment *);
