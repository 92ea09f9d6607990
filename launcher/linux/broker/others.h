/* SPDX-License-Identifier: Apache-2.0 */
/* others.h - what the broker knows of other processes. Private to launcher/linux/broker. */
#pragma once

#include "launcher/linux/broker/broker.h"

/* Refused and told, as a change of that file of its /proc. EPERM. */
struct br_answer br_refuse_process(struct br_call *, pid_t, const char *name);
/* A file of /proc: 0, a text of less than `size` bytes, or -1. */
int br_read_proc(const struct br_call *, const char *name, char *text, size_t size);
/* The process that a thread is of; 0: there is no such thread. */
pid_t br_process_of(const struct br_call *, pid_t tid);
/* False as well where the broker has no Landlock domain to know it by. */
bool br_is_of_run(const struct br_call *, pid_t);
struct br_ids {
	uid_t ruid, euid, suid;
};
/* 0 or -1 */
int br_ids_of(const struct br_call *, pid_t, struct br_ids *out);

/* signals.c: is the caller in a pid namespace that the run has made, where a number names a process
 * of the run, or none? */
bool br_has_own_numbers(const struct br_call *);
/* limits.c: prlimit(2) or sched_setaffinity(2) of a process of the run, for the caller. */
struct br_answer br_limit_other(struct br_call *, pid_t number);
