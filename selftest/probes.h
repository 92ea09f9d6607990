/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.h - attacks on the floor, one function each: for `sbx-launch --selftest` (selftest.c)
 * and tests/escape/run.sh. They use only the C library, so that they can be linked into another
 * program.
 *
 * The fixture, made by st_make_fixture():
 *
 *	DIR/ws          workspace, working directory, writable; src/, hidden/id (content ST_SECRET),
 *			.git/ with hooks/ and config
 *	DIR/out         readable, not writable; file f
 *	DIR/home/.ssh   denied for read and modify; file id, content ST_SECRET
 *	DIR/run         sockets of the outside process
 *
 * An attack returns 0 when it had its effect, -1 with errno when it was refused. It must have
 * no other way to fail in a bare run: that is the positive control.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

#define ST_SECRET "s3cret-marker"

#define ST_NEEDS_ROOT 1u /* an ordinary user is refused by the kernel anyway */
#define ST_NEEDS_HOST 2u /* the kernel may be built or set so that it refuses everybody */
#define ST_NEEDS_TTY  4u /* run under a pseudo-terminal */
#define ST_NEEDS_DENY 8u /* run with --deny-read DIR/ws/hidden */

struct st_probe {
	const char *name;
	int (*attack)(void);
	unsigned needs;
};
extern const struct st_probe st_file_probes[], st_change_probes[], st_process_probes[],
	st_system_probes[], st_race_probes[];

const struct st_probe *st_probe_at(size_t i); /* NULL after the last */
/* DIR, borrowed. */
void st_base(const char *dir);
/* 0: the attack worked; 1: refused, the errno told on standard error; 2: no such probe. */
int st_run(const char *name);
/* What the outside looks like, to be compared before and after. 0 or -1. */
int st_state(FILE *out);
/* "DIR/rel", in one of a few static buffers. */
const char *st_at(const char *rel);
/* What the process outside told of itself. */
struct st_outside {
	pid_t pid;
	unsigned long marker; /* address of ST_SECRET in its memory */
	int secret_fd;	      /* its descriptor of the denied file */
	int tcp, udp;	      /* ports on 127.0.0.1 */
};
const struct st_outside *st_outside(void);

/* The file by this descriptor holds ST_SECRET (0) or could not be read (-1). */
int st_reads_secret(int fd);
/* Writes a byte and closes. */
int st_writes(int fd);

/* The process outside, with ST_SECRET in its environment: until its standard input closes. */
int st_serve_outside(void);
/* Fresh, also where an attack has succeeded. 0 or -1. */
int st_make_fixture(void);
