/* runinfo.h - run.json: what the run was, how it was confined, what was lost, how it ended
 * (docs/schema/run.schema.json). Written at the start and again at the end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/collector.h"

struct b_err;
struct b_str;

struct aud_limit {
	const char *name, *by; /* "memory", "cgroup" */
	uint64_t value;
};

struct aud_runinfo {
	const char *run_id, *version;
	bool preload_only;	       /* nobody will record an end, or counts */
	const char *parent;	       /* the run that this one is inside of; NULL = none */
	uint64_t runs_inside;	       /* that were asked for, at all depths */
	int pid;		       /* of the supervisor, which holds the lock; 0 = not told */
	uint64_t started_ms, ended_ms; /* real time; ended 0 = still running */
	char *const *argv;	       /* NULL-terminated */
	const char *cwd;
	const char *policy, *policy_hash, *profile;
	const char *const *workspaces;
	size_t nworkspaces;
	const char *const *floor; /* "landlock abi 7", "seccomp", "network namespace" ... */
	size_t nfloor;
	const char *const *losses; /* printed losses of --best-effort and known limits */
	size_t nlosses;
	const struct aud_limit *limits; /* on what the command may use */
	size_t nlimits;
	const char *environment;	 /* keep, scrub, pass, clear; NULL = not told */
	const char *const *removed_vars; /* names that the command lacks */
	size_t nremoved_vars;
	const char *audit_file; /* as given, relative to cwd; NULL = audit.jsonl beside run.json */
	const char *audit_level, *final_hash;
	int exit_status; /* as sbx-launch returns it; -1 = still running */
	int exit_signal; /* 0 = none */
	bool timed_out;
	struct aud_counts counts;
};
/* Appends the document, newline at the end. Pure. */
void aud_runinfo_json(const struct aud_runinfo *, struct b_str *out);
/* Writes it to DIR/run.json, atomically; 0600. */
int aud_runinfo_write(const struct aud_runinfo *, const char *dir, struct b_err *err);
