/*
 * probe.h - attacks on the floor, one function each (tests/escape/run.sh drives them).
 *
 * The fixture, made by `probe setup DIR`:
 *
 *	DIR/ws          workspace, working directory, writable; src/, hidden/id (content SECRET)
 *	DIR/out         readable, not writable; file f
 *	DIR/home/.ssh   denied for read and modify; file id, content SECRET
 *	DIR/run         sockets of the outside process
 *
 * An attack returns 0 when it had its effect, -1 with errno when it was refused. It must have
 * no other way to fail in a bare run: that is the positive control.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SECRET "s3cret-marker"

#define NEEDS_ROOT 1u /* an ordinary user is refused by the kernel anyway */
#define NEEDS_HOST 2u /* the kernel may be built or set so that it refuses everybody */
#define NEEDS_TTY  4u /* run under a pseudo-terminal */
#define NEEDS_DENY 8u /* run with --deny-read DIR/ws/hidden */

struct probe {
	const char *name;
	int (*attack)(void);
	unsigned needs;
};
extern const struct probe file_probes[], process_probes[], system_probes[];

/* "DIR/rel", in one of a few static buffers. */
const char *at(const char *rel);
/* What `probe outside DIR` told of itself. */
struct outside {
	pid_t pid;
	unsigned long marker; /* address of SECRET in its memory */
	int secret_fd;	      /* its descriptor of the denied file */
	int tcp, udp;	      /* ports on 127.0.0.1 */
};
const struct outside *outside(void);

/* The file by this descriptor holds SECRET (0) or could not be read (-1). */
int reads_secret(int fd);
/* Writes a byte and closes. */
int writes(int fd);

int serve_outside(void);
int make_fixture(void);
