/*
 * old.h - names with two meanings. Programs linked against an old glibc ask for a name's old
 * version (posix_spawn@GLIBC_2.2.5), which behaves otherwise than the present one. Where that can
 * be told apart, the shim has both. glob's old version differs for symlinks to nothing only, and
 * gets the present one.
 */
#pragma once

#include <ftw.h>
#include <spawn.h>

#if defined(__linux__) && defined(__x86_64__)
#define SHIM_OLD_NAMES
int posix_spawn_old(pid_t *, const char *, const posix_spawn_file_actions_t *,
		    const posix_spawnattr_t *, char *const[], char *const[]);
int posix_spawnp_old(pid_t *, const char *, const posix_spawn_file_actions_t *,
		     const posix_spawnattr_t *, char *const[], char *const[]);
char *realpath_old(const char *path, char *resolved);
int nftw_old(const char *, __nftw_func_t, int, int);
int nftw64_old(const char *, __nftw64_func_t, int, int);
/* Makes NAME_old the definition of the old version; shim/exports.in names the present ones. */
#define SHIM_OLD_NAME(name) __asm__(".symver " #name "_old, " #name "@GLIBC_2.2.5")
#endif
