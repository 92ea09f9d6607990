/*
 * export.h - what the files of exported wrappers share. The C library's headers give the
 * prototypes; names it declares nowhere are declared here.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>
#include <utime.h>

#include "shim/next.h"

#define SHIM_EXPORT __attribute__((visibility("default")))

struct open_how;
struct stat;

int __open(const char *, int, ...);
int __open64(const char *, int, ...);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
int openat2(int, const char *, const struct open_how *, size_t);
int __xmknod(int, const char *, mode_t, dev_t *);
int __xmknodat(int, int, const char *, mode_t, dev_t *);
