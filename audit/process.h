/*
 * process.h - who is who among the processes of a run, and who was witnessed: pairs the exec
 * a shim announces with the hello of the new image. Private to the audit module.
 *
 * An announced image counts as unwitnessed until its hello; an exec that failed, which the shim of
 * the old image tells, is taken back. A spawn is announced by the parent, in the
 * name of the child, when the child may have said hello already. Everything is bounded: a flood
 * of invented pids costs accuracy, not memory.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/collector.h"
#include "core/event.h"

struct aud_procs;

struct aud_procs *aud_procs_new(struct aud_counts *counts); /* counts borrowed, kept up to date */
void aud_procs_free(struct aud_procs *);

/* Executable of a process: its own hello, or that of the parent it was forked from; NULL =
 * unknown. The string lives as long as the table. */
const char *aud_procs_exe(struct aud_procs *, uint32_t pid, uint32_t ppid);
/* seq of the line that recorded the exec of this image; 0 = unknown. */
uint64_t aud_procs_origin(struct aud_procs *, uint32_t pid, uint32_t ppid);

/* `seq` = its line (0: not logged). */
void aud_procs_exec(struct aud_procs *, const struct sbx_event *, const char *path, uint64_t seq,
		    uint64_t now_ms);
void aud_procs_hello(struct aud_procs *, const struct sbx_event *, const char *path);
/* The exec that this process announced did not come to be. */
void aud_procs_failed(struct aud_procs *, const struct sbx_event *);

/* A shim's word, which this process said itself. 0 = a child that does not know who it is, forked
 * under a filter of its program's own: from then on silence proves nothing. */
void aud_procs_speaks(struct aud_procs *, uint32_t pid, uint32_t ppid);
/* The broker served this process. When nobody has announced it, and it says nothing within a second,
 * it runs without a shim: a program that another such started, or an execve made inline. */
void aud_procs_served(struct aud_procs *, const struct sbx_event *, const char *exe,
		      uint64_t now_ms);
bool aud_procs_is_silent(struct aud_procs *, uint32_t pid, uint32_t ppid);

/* An image that turned out unwitnessed. */
struct aud_unwitnessed {
	uint32_t pid, ppid;
	enum sbx_exec_class cls;
	const char *path; /* lives until the next call */
	uint64_t seq;
};
/* Takes the next image whose fate is settled: of a class that never says hello after a second,
 * any at the end. false = none. */
bool aud_procs_settled(struct aud_procs *, uint64_t now_ms, bool final,
		       struct aud_unwitnessed *out);
