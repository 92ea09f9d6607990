/* SPDX-License-Identifier: Apache-2.0 */
/*
 * witness.h - a run's witness without a run: a small compiled policy, a ring, a collector and a
 * log, fed by the test.
 *
 *	struct witness w;
 *	witness_start(&w, SBX_AUDIT_FOLDED);
 *	witness_call(&w, 10, SBX_READ, false, "/home/u/.ssh/id");
 *	witness_end(&w);			(drains, finishes, validates the log by schema)
 *	... witness_line(&w, 0) ...
 *	witness_release(&w);
 *
 * The policy: read and exec everything but the tree /home/u/.ssh (rule `.ssh`, origin
 * preset:secrets:3:5); modify the tree /ws but /ws/locked (rule `locked`, p.yaml:9:3).
 * The workspace is /ws.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/collector.h"
#include "base/str.h"
#include "core/image.h"

#define WITNESS_RUN  "20261127T232401Z-1a2b3c"
#define WITNESS_RING 65536

struct sbx_ring;

struct witness {
	struct sbx_image image;
	void *image_data;
	struct sbx_ring *ring, *broker; /* broker: NULL but after witness_start_beside() */
	size_t ring_bytes;
	uint64_t ring_size;
	struct aud_collector *c;
	struct aud_counts counts; /* after witness_end() */
	char log[64];		  /* path of the log */
	int log_fd;
	struct b_str told; /* what the person read, a line each */
	json_t *lines;	   /* array, after witness_end() */
	uint64_t now_ms;
};

/* Of the chains of all collectors from now on; NULL, as at first: a key that everyone has. */
extern const unsigned char *witness_key;

void witness_image(struct sbx_image *out, void **out_data);
void witness_start(struct witness *, enum sbx_audit_level);
/* The same on a log of the caller's, which is closed at the end. */
void witness_start_on(struct witness *, enum sbx_audit_level, int log_fd, bool required);
/* With what config.kin and config.log_limit of the collector are. */
void witness_start_wary(struct witness *, aud_kin_fn *, uint64_t log_limit);
/* With a ring of the broker's, too. `log_fd` below 0: a log of its own. */
void witness_start_beside(struct witness *, aud_kin_fn *, int log_fd, bool required);
void witness_start_limited(struct witness *, uint64_t log_limit);
void witness_start_named(struct witness *, const char *run_id, int log_fd);
void witness_release(struct witness *);

/* Fills time, pid, ppid (pid - 1) and path lengths, and writes to the ring. */
bool witness_put(struct witness *, struct sbx_event, const char *path, const char *path2);
/* The same by the broker, which knows no parent. */
bool witness_broker(struct witness *, struct sbx_event, const char *path, const char *path2);
bool witness_call(struct witness *, uint32_t pid, enum sbx_op, bool allowed, const char *path);
bool witness_exec(struct witness *, uint32_t pid, enum sbx_exec_class, const char *path);
bool witness_hello(struct witness *, uint32_t pid, const char *path);
/* A drain at the fixture's time, which goes on by `ms`. */
void witness_drain(struct witness *, uint64_t ms);
/* The end of the run; loads the lines; aborts when validate_log.py finds anything. It is asked in
 * the full form (FULL=1) always, else where the test wants it: once for each kind of log. */
extern bool witness_judged;
void witness_end(struct witness *);
json_t *witness_line(const struct witness *, size_t i);
const char *witness_str(const struct witness *, size_t i, const char *key);
