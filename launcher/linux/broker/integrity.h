/* SPDX-License-Identifier: Apache-2.0 */
/*
 * integrity.h - is a program what it was when it was seen first (trust on first use)? Private to
 * launcher/linux/broker.
 *
 * A program is known by its SHA-256 where a rule on endpoints names it. The hash is of what the
 * process runs, /proc/PID/exe, which nobody can write to while it runs (ETXTBSY). It is read once:
 * as long as device, inode, size and time of change are the same the file is. The time of change
 * has steps, of a few milliseconds: a file that was changed just before it was looked at is read
 * again.
 *
 * What cannot be read (too large, too slow, unreadable) is known by those numbers alone, and any
 * change is one. The same holds for a program that has made no connection, and only started others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/sha256.h"

struct br_call;
struct br_integrity;

/* The file that a process runs. */
struct br_program {
	struct stat st;
	bool connects; /* it wants a connection: its bytes count */
	bool is_young; /* changed so recently that `st` need not show the next change */
};

enum br_integrity_is {
	BR_INTACT,   /* or it is seen first */
	BR_REPLACED, /* or it cannot be told: there are too many, it was written a moment ago */
	BR_UNREAD,   /* its bytes say */
};

enum br_reading { BR_READ_NOT, BR_READ_FAILED, BR_READ };

struct br_integrity *br_integrity_new(void);
/* `is_young` as of now. */
void br_program_set(struct br_program *, const struct stat *, bool connects);
/* `key` says which one it is to be: a path. `hash` where it was read. BR_UNREAD only where it was
 * not tried. [MT-safe] */
enum br_integrity_is br_integrity_ask(struct br_integrity *, const char *key,
				      const struct br_program *, enum br_reading,
				      const char hash[B_SHA256_HEX]);
/* Reads what the process `pid` runs, if it still is that file; takes as long as it takes, some
 * seconds at most: without locks. */
enum br_reading br_integrity_read(struct br_call *, int pid, const struct br_program *,
				  char hash[B_SHA256_HEX]);
