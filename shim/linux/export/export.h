/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.h - what the files of exported wrappers share. The C library's headers give the
 * prototypes; names it declares nowhere are declared here.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/types.h>
#include <unistd.h>
#include <utime.h>

#include "shim/next.h"

struct mmsghdr;
struct msghdr;
struct open_how;
struct stat;

#define SHIM_EXPORT __attribute__((visibility("default")))

/* A name that ends in a jump to the next definition, not a call: for what looks at who called it
 * (the loader), or returns on another stack (clone through syscall()). `before` gets the first
 * argument and the other six as an array, and gives the function to go on with. */
#if defined(__x86_64__)
#define SHIM_THUNK(name, before)                                                                   \
	__asm__(".pushsection .text\n"                                                             \
		".globl " #name "\n"                                                               \
		".type " #name ", @function\n" #name ":\n"                                         \
		"	push %rdi\n"                                                                     \
		"	push 16(%rsp)\n" /* the seventh argument, above the return address */      \
		"	push %r9\n"                                                                      \
		"	push %r8\n"                                                                      \
		"	push %rcx\n"                                                                     \
		"	push %rdx\n"                                                                     \
		"	push %rsi\n"                                                                     \
		"	mov %rsp, %rsi\n"                                                                \
		"	call " #before "\n"                                                        \
		"	pop %rsi\n"                                                                      \
		"	pop %rdx\n"                                                                      \
		"	pop %rcx\n"                                                                      \
		"	pop %r8\n"                                                                       \
		"	pop %r9\n"                                                                       \
		"	pop %rdi\n"                                                                      \
		"	pop %rdi\n"                                                                      \
		"	jmp *%rax\n"                                                                     \
		".size " #name ", .-" #name "\n"                                                   \
		".popsection\n")
#elif defined(__aarch64__)
#define SHIM_THUNK(name, before)                                                                   \
	__asm__(".pushsection .text\n"                                                             \
		".globl " #name "\n"                                                               \
		".type " #name ", %function\n" #name ":\n"                                         \
		"	stp x29, x30, [sp, #-80]!\n"                                                     \
		"	stp x1, x2, [sp, #16]\n"                                                         \
		"	stp x3, x4, [sp, #32]\n"                                                         \
		"	stp x5, x6, [sp, #48]\n"                                                         \
		"	stp x0, x7, [sp, #64]\n"                                                         \
		"	add x1, sp, #16\n"                                                               \
		"	bl " #before "\n"                                                          \
		"	mov x16, x0\n"                                                                   \
		"	ldp x1, x2, [sp, #16]\n"                                                         \
		"	ldp x3, x4, [sp, #32]\n"                                                         \
		"	ldp x5, x6, [sp, #48]\n"                                                         \
		"	ldp x0, x7, [sp, #64]\n"                                                         \
		"	ldp x29, x30, [sp], #80\n"                                                       \
		"	br x16\n"                                                                        \
		".size " #name ", .-" #name "\n"                                                   \
		".popsection\n")
#elif defined(__i386__)
#define SHIM_THUNK(name, before)                                                                   \
	__asm__(".pushsection .text\n"                                                             \
		".globl " #name "\n"                                                               \
		".type " #name ", @function\n" #name ":\n"                                         \
		"	lea 8(%esp), %eax\n" /* all but the first are an array already */          \
		"	sub $4, %esp\n"                                                                  \
		"	push %eax\n"                                                                     \
		"	push -4(%eax)\n"                                                                 \
		"	call " #before "\n"                                                        \
		"	add $12, %esp\n"                                                                 \
		"	jmp *%eax\n"                                                                     \
		".size " #name ", .-" #name "\n"                                                   \
		".popsection\n")
#endif

FILE *_IO_fopen(const char *, const char *);
FILE *_IO_popen(const char *, const char *);
int __clone(int (*)(void *), void *, int, void *, ...);
int __close(int);
int __dup2(int, int);
int __fcntl(int, int, ...);
int __open(const char *, int, ...);
int __open64(const char *, int, ...);
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
#if __SIZEOF_LONG__ == 4
int __prctl_time64(int, ...);
int __fcntl_time64(int, int, ...);
ssize_t __recvmsg64(int, struct msghdr *, int);
int __recvmmsg64(int, struct mmsghdr *, unsigned, int, struct timespec *);
int __utime64(const char *, const void *);
int __utimes64(const char *, const void *);
int __lutimes64(const char *, const void *);
int __futimesat64(int, const char *, const void *);
int __utimensat64(int, const char *, const void *, int);
int __futimes64(int, const void *);
int __futimens64(int, const void *);
int __stat64_time64(const char *, void *);
int __lstat64_time64(const char *, void *);
int __fstatat64_time64(int, const char *, void *, int);
#endif
int openat2(int, const char *, const struct open_how *, size_t);
int __xmknod(int, const char *, mode_t, dev_t *);
int __xmknodat(int, int, const char *, mode_t, dev_t *);
int __xstat(int, const char *, struct stat *);
int __xstat64(int, const char *, struct stat64 *);
int __lxstat(int, const char *, struct stat *);
int __lxstat64(int, const char *, struct stat64 *);
int __fxstatat(int, int, const char *, struct stat *, int);
int __fxstatat64(int, int, const char *, struct stat64 *, int);
ssize_t __readlink_chk(const char *, char *, size_t, size_t);
ssize_t __readlinkat_chk(int, const char *, char *, size_t, size_t);
char *__realpath_chk(const char *, char *, size_t);
int __mq_open_2(const char *, int);

/* What the wrapper of syscall() needs from the wrappers of the named calls. */

/* A filter of the program's own is about to be put in force: the last moment for system calls
 * the program would not make itself. */
void shim_filter_comes(void);
/* The filter was not installed: undoes the call above, unless an earlier filter is in force. */
void shim_filter_failed(void);
/* clone(2) with these flags is about to be made. */
void shim_clone_comes(uint64_t flags);

/* What the wrapper of syscall() needs for message queues. */

/* mq_open(2), mq_unlink(2): the library has taken the slash off the name. Result and errno are
 * those of syscall(2). */
long shim_mq_by_number(long number, const char *name, int flags, mode_t mode, const void *attr);

/*
 * Names with two meanings. Programs linked against an old glibc ask for a name's old
 * version (posix_spawn@GLIBC_2.2.5), which behaves otherwise than the present one. Where that can
 * be told apart, the shim has both. glob's old version differs for symlinks to nothing only, and
 * gets the present one.
 */

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
