/* SPDX-License-Identifier: Apache-2.0 */
/* lineage.h - the programs that a caller goes back to, by fork(2) and execve(2). Private to
 * launcher/linux/broker. */
#pragma once

#include <limits.h>
#include <linux/limits.h>
#include <sys/types.h>

struct br_call;
struct sbx_programs;

/* With POL_TRAP_PROGRAMS; and /proc/PID/exe of the caller, for the record, "" = it cannot be told.
 * 0, or -EAGAIN: too many calls wait already. Reads the program where it is seen first: without
 * locks. */
int br_lineage_of(struct br_call *, char path[PATH_MAX], struct sbx_programs *out);
/* The caller is about to become another program. Nothing without POL_TRAP_PROGRAMS. Likewise. */
int br_lineage_goes_on(struct br_call *);
/* The path alone, of any process. */
void br_program_name(const struct br_call *, pid_t, char path[PATH_MAX]);
