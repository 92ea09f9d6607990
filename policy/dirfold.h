/*
 * dirfold.h - does this host tell names apart by their bytes? Asks, and never tries: nothing is
 * made or changed to find out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * SBX_FOLDS_* of the directories that a canonical path leads through, what does not exist left out.
 * Where a directory cannot be asked: all. With `deep` also of those that may lie below: a file
 * system whose directories differ counts as one that folds. Opens files, allocates nothing.
 */
unsigned pol_path_folds(const char *path, size_t len, bool deep);

/* May some mounted file system fold names, or some directory of one? True where nothing says. Takes
 * one pass over the mounts. */
bool pol_host_may_fold(void);

/* Each mount that may fold names, but those whose directories would have to be asked one by one.
 * `at` is its mount point. -1: the mounts cannot be read. */
int pol_each_folding_mount(void (*each)(void *ctx, const char *at, const char *type), void *ctx);

/* The name of the directory's file system where nothing can tell whether it folds names ("fuse",
 * "9p"); NULL: it is known. */
const char *pol_dir_unknown(const char *dir);
