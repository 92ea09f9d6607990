/* SPDX-License-Identifier: Apache-2.0 */
/* rundir.h - the directory of a run: its place, its files, and run.json. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/collector.h"

struct aud_rundir;
struct b_err;
struct b_str;

/*
 * One directory per run under $XDG_STATE_HOME/sbx-launch/runs/ (0700), with
 * audit.jsonl and run.json; retention of 200 runs or 1 GiB. The sandbox can neither read nor
 * write it: the policy keeps the whole root out, see aud_runs_root().
 *
 *	struct aud_rundir d;
 *	if (aud_rundir_new(&d, &err) < 0) ...		(creates, locks)
 *	int log = openat(d.dirfd, AUD_LOG_NAME, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
 *	if (aud_rundir_show(&d, &err) < 0) ...		(it is a run now)
 *	aud_rundir_release(&d);				(the run is no longer live)
 *
 * "The last run" is found by sorting the names; no link to keep up to date.
 */

#define AUD_KEEP_RUNS  200
#define AUD_KEEP_BYTES (1ull << 30)

#define AUD_LOG_NAME  "audit.jsonl"
#define AUD_INFO_NAME "run.json"
#define AUD_INSIDE    "inside-" /* and the id of the outermost run */

struct aud_rundir {
	char *path;	 /* malloc'ed */
	char id[40];	 /* "20261127T232401Z-1a2b3c": sorts by time */
	char inside[48]; /* the file that names the outermost run; "" = it is that itself */
	int dirfd;	 /* CLOEXEC; locked (flock) while the run is live */
};

/* Directory that holds all runs ("/home/u/.local/state/sbx-launch/runs"). malloc'ed; NULL with
 * err (B_AUDIT, naming the remedy) when neither XDG_STATE_HOME (absolute), HOME nor passwd says. */
char *aud_runs_root(struct b_err *err);
/* Creates and locks the directory of a new run, under a name that nobody takes for a run. B_AUDIT
 * when the root cannot be made, or belongs to or can be written by someone else. */
int aud_rundir_new(struct aud_rundir *out, struct b_err *err);
/* The run is inside of others, the outermost of which is `outermost`: they are kept as long as that
 * is. B_AUDIT. */
int aud_rundir_join(struct aud_rundir *, const char *outermost, struct b_err *err);
/* When its run.json stands: gives it the run's name. A launcher that is killed so leaves a run that
 * can be read, or none. `path` changes. */
int aud_rundir_show(struct aud_rundir *, struct b_err *err);
void aud_rundir_release(struct aud_rundir *);
/* The same for a run that never began: its log and its run.json go, and the directory with them
 * when nothing else is in it. */
void aud_rundir_discard(struct aud_rundir *);
/* Removes the oldest runs beyond the limits; never the newest, never one whose supervisor still
 * lives (flock). A run counts with all that are inside of it, which stay and go with it: as one,
 * and as a quarter of the bytes at most, so that no command uses up what is there for others.
 * Starts that were cut short go, too. What cannot be removed stays. */
void aud_rundir_retain(const char *runs_root);
/* Is it this run's turn? Looking through two hundred directories costs more than a small run: one
 * in AUD_RETAIN_TURNS does it, so that a few more are kept. Drawn, so that no command, which can
 * choose the numbers of processes to come, decides whose turn it is. */
#define AUD_RETAIN_TURNS 16
bool aud_rundir_is_due(void);
/* The same with other limits. */
void aud_rundir_retain_to(const char *runs_root, size_t keep_runs, unsigned long long keep_bytes);

/* Is it the name of a run? */
bool aud_run_id_valid(const char *name);
/* Names of all runs, oldest first; *out malloc'ed, its strings too. -1 (B_AUDIT) when the root
 * cannot be read; a root that does not exist has no runs. */
int aud_runs_list(const char *runs_root, char ***out, size_t *out_n, struct b_err *err);
void aud_runs_free(char **names, size_t n);
/* Is its supervisor alive? Takes no lock that outlives the call. */
bool aud_run_is_live(const char *runs_root, const char *id);

/* Run.json: what the run was, how it was confined, what was lost, how it ended
 * (docs/schema/run.schema.json). Written at the start and again at the end. */

struct aud_limit {
	const char *name, *by; /* "memory", "cgroup" */
	uint64_t value;
};

struct aud_bundle {
	const char *name, *digest;
	uint64_t version;
};

struct aud_runinfo {
	const char *run_id, *version;
	bool preload_only;	       /* nobody will record an end, or counts */
	const char *parent;	       /* the run that this one is inside of; NULL = none */
	const char *context;	       /* SBX_CONTEXT of who asked for it; NULL = none */
	uint64_t runs_inside;	       /* that were asked for, at all depths */
	int pid;		       /* of the supervisor, which holds the lock; 0 = not told */
	uint64_t started_ms, ended_ms; /* real time; ended 0 = still running */
	char *const *argv;	       /* NULL-terminated */
	const char *cwd;
	const char *policy, *policy_hash, *profile;
	const struct aud_bundle *bundle; /* signed policies; no name = none were asked for */
	const char *const *workspaces;
	size_t nworkspaces;
	const char *const *floor; /* "landlock abi 7", "seccomp", "network namespace" ... */
	size_t nfloor;
	const char *const *losses; /* printed losses of --best-effort and known limits */
	size_t nlosses;
	uint64_t landlock_rules;	/* places, in or out of which Landlock lets by itself */
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

/*
 * Run.json on its way: written when the command runs, and over itself when it has
 * ended. A new file for the second time (b_write_file()) would cost a start more than all other
 * writing of it where many files were removed lately: ext4 looks at each inode that was freed in
 * the last minutes before it takes one.
 *
 *	struct aud_infofile f = AUD_INFOFILE_INIT;
 *	aud_infofile_put(&f, &dir, &text, &err);	(as often as there is news)
 *	aud_infofile_release(&f);
 *
 * A text of up to a page goes in by one write, which no signal cuts in two; a longer one is
 * replaced. Who reads in that moment may meet a part of each and reads again (read_run.c).
 */

struct aud_infofile {
	int fd; /* -1 = none yet, or replaced */
	size_t len;
};
#define AUD_INFOFILE_INIT                                                                          \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* The text, ended by a newline, may get blanks before that. B_SYSTEM. */
int aud_infofile_put(struct aud_infofile *, const struct aud_rundir *, struct b_str *text,
		     struct b_err *err);
void aud_infofile_release(struct aud_infofile *);
