/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proceedrace.h - the two threads of test_broker_proceed.c: what one changes, and how the other
 * would gain by it. In the sandbox, so all state is the process's own.
 */
#pragma once

#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdbool.h>

#define RC_SECRET "secret" /* what shut/f holds */

struct rc_swap {
	char a[9], b[9]; /* texts of path */
	char leaf[2];	 /* the name in open/ and in shut/ */
};

extern atomic_bool rc_stop;
extern char rc_path[128]; /* eight bytes, changed at once */
extern const char *rc_at; /* what the calls are given: rc_path, or a page that changes */
extern struct open_how rc_how;
extern int rc_slot, rc_spare[2];
extern int rc_from; /* AT_FDCWD, or the slot */
extern int rc_home; /* the world, whatever the working directory is */
extern void *(*rc_change_in_child)(void *);
extern struct rc_swap rc_running;

/* Has this process raced for so many milliseconds? */
bool rc_is_over(unsigned ms);
void rc_set_path(const char *text);
/* Spends some time. */
void rc_linger(unsigned n);

/* A descriptor of a program that lies in no file system. */
int rc_program_in_memory(void);

/* Changes, until rc_stop, of a struct rc_swap. */
void *rc_swap_text(void *);
void *rc_swap_how(void *);
void *rc_swap_memory(void *);
void *rc_swap_slot(void *);
void *rc_swap_object(void *);
void *rc_swap_way(void *);
void *rc_swap_mount(void *);
void *rc_swap_directory(void *);
void *rc_swap_umask(void *);
void *rc_swap_ids(void *);
void *rc_swap_credentials(void *);

/* Each makes the calls of a row once: has it gained anything? */
bool rc_try_open(void);
bool rc_try_how(void);
bool rc_try_names(void);
bool rc_try_truncate(void);
bool rc_try_umask(void);
bool rc_try_priority(void);
bool rc_try_signals(void);
bool rc_try_ids(void);
bool rc_try_exec(void);
bool rc_try_memory(void);
