/*
 * prove.h - holding the object a path leads to and knowing its canonical path, without /proc:
 * the first look of a new process into /proc costs the kernel some 20 us, and programs are
 * mostly started by new processes. [AS-safe] [MT-safe] [no-alloc]
 */
#pragma once

#include <stddef.h>

/* An O_PATH descriptor of what (dirfd, path) leads to, last symlinks followed, or -errno. `buf`
 * (SBX_PATH_MAX bytes) gets its canonical path, *out_len 0 when it has none that is known. */
int shim_hold(int dirfd, const char *path, char *buf, size_t *out_len);
