/* SPDX-License-Identifier: Apache-2.0 */
/* collect_priv.h - the parts of the collector: claims, processes, duplicates, lines. Private
 * to the audit module, but for denials. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/chain.h"
#include "audit/collector.h"
#include "base/sha256.h"
#include "base/str.h"
#include "core/decide.h"
#include "core/event.h"
#include "core/image.h"
#include "core/ring.h"

struct aud_procs;
struct b_err;

/*
 * What an event from the ring may claim: a time within the run, a process of the run,
 * no more repeats than the machine can make. Private to the audit module.
 *
 * A hostile process can still invent events of its own, or of processes that are gone: this keeps
 * the claims plausible, not true (docs/THREAT-MODEL.md).
 */

/* The paths of a call as the program gave them, so many bytes each; 0 = it was the path judged, or
 * nobody says. */
struct aud_asked {
	const char *text, *text2;
	size_t len, len2;
};
/* The paths that an event carries in its second text, behind `path2`. */
struct aud_asked aud_asked_of(const struct sbx_event *, const char *second);

/* Set by aud_trust_event() alone: its process could not be found in the run. */
#define AUD_EVF_UNVERIFIED 0x8000u
/* The flags that the event came with. */
static inline unsigned aud_trust_flags(const struct sbx_event *ev)
{
	return ev->flags & ~AUD_EVF_UNVERIFIED;
}

enum { AUD_TRUST_SLOTS = 4096 };

struct aud_trust {
	aud_kin_fn *kin; /* NULL = every pid is believed */
	int proc;	 /* of a pid namespace that is the run's alone, -1 = none */
	uint32_t
		first; /* there: the command; those before it are the launcher's, and say nothing */
	uint64_t started_ns, now_ns, started_ms, now_ms;
	unsigned looks;			  /* of `kin`, that this drain may still take */
	uint64_t repeats;		  /* believed so far */
	uint64_t per_ms;		  /* calls that this machine can make */
	uint32_t member[AUD_TRUST_SLOTS]; /* pids found in the run, direct-mapped */
};

void aud_trust_init(struct aud_trust *, aud_kin_fn *kin);
/* The run has a pid namespace, and this is its /proc (taken over): who lives there is of the run.
 * Below 0: it could not be opened, and every pid is believed. */
void aud_trust_enter(struct aud_trust *, int proc);
void aud_trust_release(struct aud_trust *);
/* Before the events of a drain. */
void aud_trust_tick(struct aud_trust *, uint64_t now_ms);
/* The launcher or the broker has met this process. */
void aud_trust_member(struct aud_trust *, uint32_t pid);
/* Corrects the time, flags the unverified. false = the event makes no sense: drop it. */
bool aud_trust_event(struct aud_trust *, struct sbx_event *);
/* What runs as this process, while it lives; false = not to be seen, `exe` is as it was. */
bool aud_trust_exe(const struct aud_trust *, uint32_t pid, char *exe, size_t size);

/* What the policy says of an event, whatever the event says of itself. Pure. Private
 * to the audit module. */

struct aud_verdict {
	bool allowed;
	bool disagrees; /* the event claims otherwise, and can be checked */
	bool second;	/* the verdict is that of the second path */
	const char *matched, *origin;
};

/* Steps of the automata until the next drain, for naming what objects below a move: a hostile
 * program may ask for that with every record. When they are used up the rule at the ends is named.
 */
#define AUD_STEPS 1000000u
void aud_judge(const struct sbx_image *, const struct sbx_event *, const char *path,
	       const char *path2, unsigned *steps, struct aud_verdict *out);

/*
 * Who is who among the processes of a run, and who was witnessed: pairs the exec
 * a shim announces with the hello of the new image. Private to the audit module.
 *
 * An announced image counts as unwitnessed until its hello; an exec that failed, which the shim of
 * the old image tells, is taken back. A spawn is announced by the parent, in the
 * name of the child, when the child may have said hello already. Everything is bounded: a flood
 * of invented pids costs accuracy, not memory.
 */

struct aud_procs *aud_procs_new(struct aud_counts *counts); /* counts borrowed, kept up to date */
void aud_procs_free(struct aud_procs *);

/* Executable of a process: its own hello, or that of the parent it was forked from; NULL =
 * unknown. The string lives as long as the table. */
const char *aud_procs_exe(struct aud_procs *, uint32_t pid, uint32_t ppid);
/* seq of the line that recorded the exec of this image; 0 = unknown. */
uint64_t aud_procs_origin(struct aud_procs *, uint32_t pid, uint32_t ppid);
/* Has it said hello itself, or is it the fork of one that has? */
bool aud_procs_is_image(struct aud_procs *, uint32_t pid, uint32_t ppid);

/* A process that nobody has met, like its parent: it says in which process its image began, of
 * which it is a fork of a fork. */
void aud_procs_fork(struct aud_procs *, const struct sbx_event *);

/* `seq` = its line (0: not logged). */
void aud_procs_exec(struct aud_procs *, const struct sbx_event *, const char *path, uint64_t seq,
		    uint64_t now_ms);
void aud_procs_hello(struct aud_procs *, const struct sbx_event *, const char *path);
/* The exec that this process announced did not come to be. */
void aud_procs_failed(struct aud_procs *, const struct sbx_event *);

/* A shim's word, which this process said itself. 0 = a child that does not know who it is, forked
 * under a filter of its program's own: from then on silence proves nothing. */
void aud_procs_speaks(struct aud_procs *, uint32_t pid, uint32_t ppid);
/* The broker served this process. When nobody has announced it, and it says nothing within a
 * second, it runs without a shim: a program that another such started, or an execve made inline. */
void aud_procs_served(struct aud_procs *, const struct sbx_event *, const char *exe,
		      uint64_t now_ms);
bool aud_procs_is_silent(struct aud_procs *, uint32_t pid, uint32_t ppid);
/* Its end is known: false when it was before, or nothing is known of the process. */
bool aud_procs_gone(struct aud_procs *, uint32_t pid);
/* The image ends: false where there is none, or it has ended before. */
bool aud_procs_ended(struct aud_procs *, uint32_t pid, uint32_t ppid);
/* Is this the first call that this image tells? */
bool aud_procs_first_call(struct aud_procs *, uint32_t pid, uint32_t ppid);

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

/*
 * Which calls are one kind of change, whatever the C library or the kernel calls
 * them: fopen(3) makes an openat(2), remove(3) an unlinkat(2). Private to the audit module.
 */

/* May a program's call of the one name be the kernel's call of the other? A call that is in no
 * class is like itself alone. */
bool aud_call_is_alike(unsigned call, unsigned other);

/* Equal denials become one line at once and one line with a count later. Private to
 * the audit module. */

#define AUD_FOLD_SLOTS 256u
#define AUD_FOLD_MS    1000u /* how often counts are written while denials keep coming */

/* A denial to be folded: borrowed texts of the lengths in `ev`. */
struct aud_denied {
	const struct sbx_event *ev;
	const char *path, *path2;
	const char *layer; /* static */
};

/* The last of some equal denials; `count` of them are in no line yet. */
struct aud_folded {
	struct sbx_event ev; /* as last seen: time, pid */
	char *path, *path2;
	const char *layer; /* who told it; static */
	uint64_t count;
	uint64_t hash;
};

struct aud_fold {
	struct aud_folded slot[AUD_FOLD_SLOTS];
};

/* Calls are equal when operation, call, paths, flags and errno are; whoever made them. What the
 * broker refused folds with nothing that the command says. */
enum aud_fold_answer {
	AUD_FOLD_FIRST,	 /* write it; it is remembered from now on */
	AUD_FOLD_COUNTED /* an equal one was written: it is in the slot's count */
};

/* `n` more events equal to this one (0 = remember only). When another denial lives in the slot and
 * has a count to write, it is moved to *out_evicted first (release it), whose count is otherwise
 * 0. */
enum aud_fold_answer aud_fold_add(struct aud_fold *, const struct aud_denied *, uint64_t n,
				  struct aud_folded *out_evicted);
void aud_folded_release(struct aud_folded *);
void aud_fold_release(struct aud_fold *);

/*
 * One call, told by two: the broker tells what it performed, the shim what its program
 * asked for. The log has it once, as the broker tells it. A shim's event is the command's own word:
 * it adds the name of the call, the parent, and fields of their own for the paths that the program
 * gave. One that differs from the broker's in any other fact is not a twin, and the log has both.
 *
 *	aud_twins_broker(&t, &ev, path, path2, now, &claim)	true: to be logged now, else kept
 *	aud_twins_shim(&t, &ev, path, &path2, &claim)		true: it is the broker's now
 *	aud_twins_keep(&t, &ev, path, path2, now)	the shim's, the broker's may yet come
 *	while (aud_twins_alone(&t, now, false, &e))	nobody else told it: to be logged
 */

/* After the broker's answer a shim tells within so much, or never: on a machine with forty programs
 * for each processor, too. */
#define AUD_ALONE_MS 2000
#define AUD_TWIN_MS  100 /* the other way round: the broker tells before it answers */
#define AUD_TWIN_MAX 4096

struct aud_told {
	uint64_t key, at_ms;
	struct sbx_event ev;
	char *path, *path2; /* NULL: taken back */
	bool is_shims;
};

struct aud_told_list {
	struct aud_told *v; /* a ring of AUD_TWIN_MAX */
	size_t first, n;
	uint64_t patience_ms; /* how long one may wait for its twin */
	bool is_shims;
};

struct aud_twins {
	struct aud_told_list broker, shim;
	char *second; /* text of the twin that was met last */
};

void aud_twins_init(struct aud_twins *);
void aud_twins_release(struct aud_twins *);
/* True: its twin was kept, and is dropped; the event gets what only the shim knows. False: the
 * event is kept. *claim: the paths as the shim says that the program gave them, good until the next
 * call. */
bool aud_twins_broker(struct aud_twins *, struct sbx_event *, const char *path, const char *path2,
		      uint64_t now_ms, struct aud_asked *claim);
/* True: its twin was kept, and is dropped; the event becomes the broker's, with what only the shim
 * knows. Its path is the broker's, too, and *path2 becomes so: good until the next call. */
bool aud_twins_shim(struct aud_twins *, struct sbx_event *, const char *path, const char **path2,
		    struct aud_asked *claim);
void aud_twins_keep(struct aud_twins *, const struct sbx_event *, const char *path,
		    const char *path2, uint64_t now_ms);
/* The oldest event that has waited long enough (`final`: any). Its paths are to be freed. */
bool aud_twins_alone(struct aud_twins *, uint64_t now_ms, bool final, struct aud_told *out);

/*
 * FsCallEvent as one JSON line (audit/fields.h, docs/schema/fs-call-event.schema.json). Pure.
 * Which fields a line has follows from its kind alone, so a reader may rely on them.
 */

/* kind, and what version 1 and other formats call it */
#define AUD_KINDS(X)                                                                               \
	X(RUN, "run", "run.started")                                                               \
	X(RESULT, "result", "fs.call.result")                                                      \
	X(DENIED, "denied", "fs.call.denied")                                                      \
	X(QUERY, "query", "fs.call.query")                                                         \
	X(EXEC, "exec", "process.exec")                                                            \
	X(HELLO, "hello", "process.hello")                                                         \
	X(EXIT, "exit", "process.exit")                                                            \
	X(UNWITNESSED, "unwitnessed", "process.unwitnessed")                                       \
	X(LOSS, "loss", "audit.loss")                                                              \
	X(RELOAD, "reload", "policy.reload")                                                       \
	X(GAP, "gap", "audit.gap")

enum aud_kind {
#define X(name, text, type) AUD_##name,
	AUD_KINDS(X)
#undef X
		AUD_KIND_COUNT
};
const char *aud_kind_name(enum aud_kind);
/* "fs.call.result" */
const char *aud_kind_type(enum aud_kind);

/*
 * What all lines of a run share, rendered once. The workspaces are borrowed; paths below them are
 * shown as ./x.
 */
struct aud_frame {
	const char *const *workspaces; /* canonical */
	size_t nworkspaces;
	const char *run_id, *profile; /* borrowed */
	struct b_str id;	      /* the field run_id */
	struct b_str context;	      /* the field context, or nothing */
	bool is_shared;		      /* run_id is in each line */
};
void aud_frame_init(struct aud_frame *, const char *run_id, const char *profile,
		    const char *const *workspaces, size_t nworkspaces);
/* "KEY=VALUE" each. */
void aud_frame_context(struct aud_frame *, const char *const *context, size_t n);
void aud_frame_release(struct aud_frame *);

struct aud_record {
	enum aud_kind kind;
	const struct sbx_event *ev;
	const char *path, *path2; /* NUL-free bytes with the lengths of ev */
	uint64_t seq;		  /* per run, from 1 */
	uint64_t parent_seq;	  /* line of the exec that started the process; 0 = unknown */
	bool is_image;		  /* the process has started that image itself: no fork of one */
	bool allowed;		  /* the policy's verdict, recomputed */
	bool disagrees;		  /* the shim said otherwise */
	bool of_path2;		  /* the verdict is that of the second path */
	const char *matched_rule, *rule;
	struct aud_asked asked, claimed;
	const char *exe;		   /* of the process, NULL = unknown */
	const char *layer;		   /* "shim", "broker", "kernel", "launcher" */
	uint64_t count;			   /* denials folded into this line; 0 = the call itself */
	uint64_t lost, corrupt, abandoned; /* gap */
	uint64_t broker_lost;		   /* of `lost` */
	const struct aud_origin *origin;   /* run */
	const struct aud_reload *reload;   /* reload */
	const struct aud_argv *argv;	   /* NULL: not told */
	const char *cwd;		   /* where it begins, so many bytes; 0 = not told */
	size_t cwd_len;
	int status, signal; /* exit: -1 = not told */
};

/* The words of a command, ready to be written. */
struct aud_argv {
	const struct b_str *json; /* ["a","b"] */
	bool is_cut;
};

/* Appends one line up to the field `chain`, which aud_log_line() adds, with the end. */
void aud_record_json(const struct aud_frame *, const struct aud_record *, struct b_str *out);

/* Path as people see it: "./x" inside a workspace ("." for the workspace itself), absolute
 * elsewhere. Appends. */
void aud_path_shown(const char *path, size_t len, const char *const *workspaces, size_t n,
		    struct b_str *out);

/* "2026-11-27T23:24:01.123456789Z". Appends. */
void aud_add_time(uint64_t time_ns, struct b_str *out);

/* The log file of a run: buffered, chained lines. Private to the audit module. */

struct aud_log {
	int fd; /* -1: none, or given up */
	bool failed;
	int error;	/* errno of the failure */
	uint64_t bytes; /* of all lines so far */
	uint64_t pending_lines;
	uint64_t dropped_lines; /* lines a failed write swallowed */
	/* Events of the broker: those in written lines, and those that wait in the queue. */
	struct aud_log_brokers {
		uint64_t lines, folded;
	} brokers, pending_brokers;
	uint64_t unwritten_brokers;
	struct b_str buf;
	struct aud_chain chain;
	/* The size of the file up to its last whole line, and the chain of that line. The size is
	 * -1 where several runs write to one file. */
	int64_t end;
	struct aud_chain end_chain;
};

/* `is_torn`: what another writer left at its end gets a newline first. */
void aud_log_init(struct aud_log *, int fd, bool is_torn);
void aud_log_release(struct aud_log *);
/* Is there a log that takes lines? */
static inline bool aud_log_open(const struct aud_log *l)
{
	return l->fd >= 0 && !l->failed;
}
/* The line from `start` of buf to its end is complete: chains it; writes when much is waiting. */
void aud_log_line(struct aud_log *, size_t start);
/* The line that was just put, or could not be, is of `count` events of the broker's that were
 * folded, or of one (0). */
void aud_log_note_broker(struct aud_log *, bool is_written, uint64_t count);
/* Writes what is waiting. After a failure the log is closed to lines: a chain with a torn line
 * in the middle would look like tampering. The file then ends with its last whole line, where
 * nobody else writes into it. */
void aud_log_flush(struct aud_log *);

/*
 * The ring's pages may be taken from under us: who may write to the file may punch holes
 * into it, and on a full tmpfs our next touch of a hole is SIGBUS. The guard puts an empty page
 * of our own in the place of the one that is gone, and counts. Private to the audit module.
 *
 * One mapping at a time. A SIGBUS anywhere else keeps its default action.
 */

/* B_AUDIT when the handler cannot be installed. */
int aud_guard_start(void *map, size_t bytes, struct b_err *err);
/* Pages replaced since. */
uint64_t aud_guard_damaged(void);
/* The guard of `map` ends; any other stays. */
void aud_guard_stop(const void *map);

/* What the person at the terminal reads of denials: one line each, rate-limited, with
 * a closing count. Private to the audit module. */

#define AUD_PERSON_SEEN 512u

struct aud_person {
	aud_denial_fn *fn; /* NULL = quiet */
	void *ctx;
	uint64_t window_start_ms;
	unsigned in_window;
	uint64_t suppressed;
	uint64_t seen[AUD_PERSON_SEEN]; /* hashes of operation and path, told once */
};

struct aud_denial {
	enum sbx_op op;
	const char *path;
	size_t path_len;
	const char *matched, *origin;
	unsigned call;	     /* SBX_CALL_* */
	bool is_unseen;	     /* a move: what lies below could not be looked through */
	bool is_root;	     /* the root of a grant, which keeps its place */
	bool is_set_id;	     /* set-id bits of a file */
	bool is_git_link;    /* a symlink in a git directory */
	bool is_stood_in;    /* a directory that somebody outside is in */
	bool is_endpoint;    /* of the network: host:port, or a name */
	bool is_watched;     /* it passed all the same */
	bool is_log;	     /* the run's own */
	bool is_request;     /* address is a request, which is not one that the endpoint takes */
	const char *address; /* that the name leads to, and may not; NULL = it is the name */
	size_t address_len;
	const char *const *workspaces; /* of the run; borrowed */
	size_t nworkspaces;
};

/* reach.c: EACCES or EROFS where permissions or a read-only file system would refuse the change to
 * the user of this process, whatever the policy says; else 0. */
int aud_out_of_reach(const struct aud_denial *);

/* denial_scope.c */
/* Did a rule deny it that somebody wrote? */
bool aud_denial_is_named(const struct aud_denial *);
/* The length of what is in front of the made-up part of the name ("/tmp/x." of "/tmp/x.J7MehC"); 0
 * = the name is nobody's invention. */
size_t aud_denial_before_random(const struct aud_denial *);
/* The length of the path of the git directory outside of the workspace in which the change would
 * be; 0: there is none. An option opens such a directory whole, and its hooks, configuration and
 * pointers stay closed (sbx-policy(5)). */
size_t aud_denial_in_git(const struct aud_denial *);
/* The option names the first `n` bytes of the path. Returns words for what it would open besides
 * the refused object; NULL: nothing. */
const char *aud_denial_opens(const struct aud_denial *, size_t n);

/* The line for the person, without its end: what was refused, by which rule, and what opens it. A
 * path with blanks, brackets or quotes is a word of a shell. Appends. */
void aud_denial_line(const struct aud_denial *, struct b_str *out);
/* The end of that line alone: "allow with --read X", or why no option opens it. Appends nothing
 * where there is nothing to say. */
void aud_denial_remedy(const struct aud_denial *, struct b_str *out);
/* The subject of the line, not NUL-terminated. Denials with the same subject need one line. */
const char *aud_denial_topic(const struct aud_denial *, size_t *out_len);
/* `n` more of this kind. */
void aud_refusals_add(struct aud_refusals *, const struct aud_denial *, uint64_t n);
void aud_refusals_release(struct aud_refusals *);

/* What opens a class of calls instead of a path is named as that: "allow with --allow debug".
 * "denied read /home/u/.ssh/id (rule .ssh, preset:secrets:3:5): allow with --read
 * /home/u/.ssh/id"; counted instead when too many came lately; nothing when the same operation on
 * the same path was told already, whatever call it was, or when it is a secret history. */
void aud_person_denial(struct aud_person *, const struct aud_denial *, uint64_t now_ms);
/* A notice that is never held back. */
void aud_person_say(struct aud_person *, const char *text);
/* "247 refused: sbx-audit denials", when some of them were not shown. */
void aud_person_close(struct aud_person *, uint64_t refused);

/*
 * What is missing in the log: counted from the rings, and one line for all that went
 * missing since the last. Private to the audit module.
 */

struct aud_gaps {
	uint64_t lost, broker_lost, corrupt, abandoned; /* already in a line */
	uint64_t at_ms;					/* of the last line */
};

/* Brings the counts up to date. NULL: there is no such ring. */
void aud_gaps_count(struct aud_counts *, struct sbx_ring_reader *shims,
		    struct sbx_ring_reader *broker);
/* Fills in the numbers of a line that is due; false: none is. `final`: it is, when anything is
 * missing, and `unwritten` lines are, too. */
bool aud_gaps_take(struct aud_gaps *, const struct aud_counts *, uint64_t unwritten,
		   uint64_t now_ms, bool final, struct aud_record *out);

/*
 * The collector from inside: collector.c takes the events from the rings, and
 * logging.c makes lines, counts and words to the person of them.
 */

struct aud_collector {
	struct aud_config cfg;
	struct aud_frame frame;
	char *profile;
	struct b_str argv; /* of the exec that is being written */
	struct aud_counts counts;
	struct aud_log log;
	struct aud_person person;
	struct aud_refusals refusals;
	struct aud_fold fold;
	struct aud_procs *procs;
	struct sbx_ring_reader reader, broker;
	struct aud_twins twins;
	struct aud_trust trust;
	struct aud_gaps gaps;
	unsigned char *buf, *broker_buf; /* one frame each, copied out */
	uint64_t seq;
	uint64_t now_ms, folded_at_ms;
	uint64_t unwritten; /* lines beyond the limit of the log */
	bool told_failure, told_full, told_full_of_words, told_broker_lost;
	int poll_ms;
	unsigned steps;	      /* judge.h, of this drain */
	struct aud_ends ends; /* .watch NULL: nobody tells */
	struct {
		uint32_t pid, ppid; /* 0 = it never started */
		int status, signal;
		bool has_ended;
	} command;
};

/* An event on its way into the log. */
struct aud_item {
	struct sbx_event ev;
	const char *path, *path2;
	const char *layer;
	uint64_t count; /* folded */
	struct aud_asked asked, claimed;
};

/* Does the log have all that it may have? */
bool aud_log_is_full(const struct aud_collector *);
/* Numbers, chains and buffers one line. Gives its seq, 0 when there is no log. A gap is told
 * whatever the limit. */
uint64_t aud_put_line(struct aud_collector *, struct aud_record *);
/* What all lines about an event have. */
void aud_fill(struct aud_collector *, const struct aud_item *, struct aud_record *out);
/* Lines for all denials that are being folded. */
void aud_write_folds(struct aud_collector *);
/* A process ended: status, or -1 and the signal. */
void aud_put_exit(struct aud_collector *, const struct aud_item *, int status, int signal);
/* One event: its line, its counts, and what the person reads of it. */
void aud_on_event(struct aud_collector *, struct aud_item *);
