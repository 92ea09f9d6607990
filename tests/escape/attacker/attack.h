/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attack.h - the model-based attacker: random programs of system calls, run inside a sandbox
 * beside threads and outsiders that swap what the calls mean, over a world full of canaries.
 *
 *	outside (session.c)                         inside (insider.c)
 *	builds the world, starts sbx-launch   --->  reads programs, runs each in a child
 *	acts as an outsider, takes inventory  <---  says which canaries its buffers held
 *
 * A program is a list of operations; each argument is a number that a kind of argument makes a
 * value of (arguments.c), so that any program can be printed, parsed, mutated and cut down.
 */
#pragma once

#include <limits.h>
#include <linux/openat2.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/types.h>

/* ---- programs: programs.c ---- */

#define AK_OPS	   32
#define AK_ARGS	   6
#define AK_THREADS 5
#define AK_CALLS   176

struct ak_op {
	uint8_t thread;
	uint8_t call; /* row of ak_calls */
	uint32_t v[AK_ARGS];
};

#define AK_RACE	  1u  /* thread 0 goes round and round, and so do the others beside it */
#define AK_DROP	  2u  /* with the credentials of nobody (root only) */
#define AK_FORK	  4u  /* the other threads are processes */
#define AK_HOST	  8u  /* outsiders act meanwhile */
#define AK_FREEZE 16u /* and one stops the broker for moments, as a suspended machine does */

struct ak_prog {
	uint64_t seed;
	unsigned flags, n;
	struct ak_op op[AK_OPS];
};

struct ak_rng {
	uint64_t s;
};
uint32_t ak_rnd(struct ak_rng *, uint32_t below);

void ak_generate(struct ak_prog *, uint64_t seed);
/* `other` may be NULL. */
void ak_mutate(struct ak_prog *, const struct ak_prog *other, uint64_t seed);
void ak_print(FILE *, const struct ak_prog *);
/* scenes.c: calls beside what swaps their meaning, each the shape of a hole that was there once, or
 * could be. Adds operations to the program. */
void ak_make_scene(struct ak_prog *, struct ak_rng *);
void ak_try_plainly(struct ak_prog *, struct ak_rng *);
/* What is denied, by other spellings: where the world takes several names for one. */
void ak_try_spellings(struct ak_prog *, struct ak_rng *);
extern bool ak_world_folds;
/* Connections by all programs to all servers: where the policy has rules on them. */
void ak_try_endpoints(struct ak_prog *, struct ak_rng *);
extern bool ak_world_has_rules;
/* Signals and limits to the run and to outsiders: where numbers of processes are the host's. */
void ak_try_signals(struct ak_prog *, struct ak_rng *);
extern bool ak_world_has_numbers;
/* A call by its name; there is one. */
uint8_t ak_call_number(const char *name);
/* false: not a program. */
bool ak_parse(FILE *, struct ak_prog *);

/* ---- what can be called: calltable.c ---- */

struct ak_thread;

enum ak_result { AK_R_NONE, AK_R_FD, AK_R_BYTES, AK_R_NEWFD };

struct ak_call {
	const char *name;
	int nr;		  /* of the system call, -1: run by `run` */
	const char *args; /* kinds, arguments.c */
	uint8_t weight;
	uint8_t result; /* enum ak_result */
	long (*run)(struct ak_thread *, const struct ak_op *);
};
extern const struct ak_call ak_calls[];
extern const unsigned ak_ncalls;

/* ---- the setting, as the outside says it to the inside ---- */

#define AK_TOKEN 12

struct ak_setup {
	uint32_t magic;
	char base[64];
	/* What canaries begin with, each byte turned over: else the insider's own memory would
	 * hold them. Content that may not be read, names that may not be listed, content that
	 * only root may read. */
	unsigned char token[3][AK_TOKEN];
	int host_pid, host_port, policy; /* enum ak_policy */
	int port[4];			 /* enum ak_port; 0: no rules on endpoints */
	char sbx[128];			 /* for runs inside of the run */
	bool has_pid_ns;
	bool is_root;
};
#define AK_MAGIC 0x61747461u

enum ak_find {
	AK_F_CONTENT,
	AK_F_NAME,
	AK_F_DAC,
	AK_F_NOFD,
	AK_F_MODE,
	AK_F_PROCESS,
	AK_F_SOCKET,
	AK_F_NETWORK,
	AK_F_CHANGED,
	AK_F_CREATED,
	AK_F_REMOVED,
	AK_F_LAUNDERED,
	AK_F_DIED,
	AK_F_UNRECORDED,
	AK_F_UNTRUE,
	AK_F_COUNT
};
extern const char *const ak_find_names[AK_F_COUNT];

#define AK_FINDINGS   6
#define AK_AFTERWARDS 255 /* found when the program was over */

struct ak_finding {
	uint8_t kind, op;
	char text[110];
};

/* What the inside says of a program. */
struct ak_outcome {
	uint32_t magic, nfound;
	int32_t pid;	 /* of the program, as the record has it; 0 = unknown */
	bool was_nobody; /* AK_DROP, and it could */
	struct ak_finding found[AK_FINDINGS];
	uint32_t count[AK_CALLS][3]; /* done, refused (EACCES, EPERM, EXDEV), failed */
	/* How often each operation, a single call, was refused in a way that the record must say.
	 */
	uint32_t refused[AK_OPS];
};

/* ---- the inside ---- */

/* What all threads and processes of a program share. */
#define AK_BUFFERS 4
#define AK_TEXT	   4400
struct ak_arena {
	char path[AK_BUFFERS][AK_TEXT];
	struct open_how how[2];
	struct sockaddr_storage addr[2];
	_Atomic int is_over, round;
	_Atomic uint32_t lock; /* of outcome */
	struct ak_outcome outcome;
};

struct ak_thread {
	unsigned number;
	unsigned op; /* at hand */
	unsigned turns;
	struct ak_rng rng;
	char text[AK_ARGS][AK_TEXT];
	struct open_how how;
	struct sockaddr_storage addr;
	socklen_t addr_len;
	int64_t number_room[AK_ARGS][4];
	unsigned char *room; /* AK_ROOM, for what is read */
};
#define AK_ROOM (1u << 16)

extern struct ak_setup ak;
extern struct ak_arena *ak_arena;
extern int ak_launcher; /* the parent of the inside */
extern const struct ak_prog *ak_now;

#define AK_SLOT	 100 /* descriptors of the program: so many from here on */
#define AK_SLOTS 16

/* arguments.c, spellings.c */
long ak_argument(struct ak_thread *, const struct ak_op *, unsigned i);
/* A path by its number, into AK_TEXT bytes. */
void ak_spell(uint32_t v, char *out);
void ak_spell_absolute(uint32_t v, char *out);
/* Of the run, its broker, or who is outside. */
int ak_some_pid(uint32_t v);
int ak_fd_number(uint32_t v);
unsigned ak_open_flags(uint32_t v);
struct open_how ak_how(uint32_t v);
/* For reports: what the argument would be. */
void ak_describe(FILE *, const struct ak_op *, unsigned i);

/* composites.c */
long ak_run_op(struct ak_thread *, unsigned i);
void ak_take_fd(struct ak_thread *, long fd, uint32_t v);

/* canaries.c */
void ak_found(enum ak_find, unsigned op, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Looks for canaries in what was read by an operation. */
void ak_scan(const void *, size_t, unsigned op, const char *by);
void ak_scan_fd(struct ak_thread *, int fd, unsigned op, const char *by);
void ak_judge_fd(int fd, unsigned op);
void ak_sweep(struct ak_thread *);

int ak_inside(void);
/* endpoints.c: an address of the network by its number, and the program that says which servers
 * it and what it starts come to. */
socklen_t ak_net_address(uint32_t v, struct sockaddr_storage *room);
int ak_reach(char **argv);
/* apart.c: the program that nobody may look into. */
int ak_unseen(const char *base, uint64_t seed);

/* ---- the world: worldmodel.c ---- */

enum ak_policy {
	AK_DEFAULT,
	AK_PATTERN,
	AK_LITERAL,
	AK_SRT,
	AK_OPENSHELL,
	AK_ENDPOINTS,
	AK_POLICIES
};
extern const char *const ak_policy_names[AK_POLICIES];

#define AK_NO_READ   1u
#define AK_NO_MODIFY 2u
#define AK_LOOSE     4u /* with AK_NO_MODIFY: names may be made below, so its times change */

/* What the policy says of a path below the base ("ws/src/a"). */
unsigned ak_rules(enum ak_policy, const char *path);

enum ak_type { AK_DIR, AK_FILE, AK_LINK, AK_FIFO };
struct ak_row {
	const char *path; /* `%` stands for the token of names */
	enum ak_type type;
	unsigned mode;
	const char *text; /* target, or content; NULL: a canary where it may not be read */
};
extern const struct ak_row ak_rows[];
extern const unsigned ak_nrows;
/* Names for programs: of the rows, of what is not there, and of the system's. */
extern const char *const ak_names[];
extern const unsigned ak_nnames;
extern const unsigned ak_nrows_named; /* the first of ak_names lie in the base */

struct ak_exemption {
	const char *name, *reason;
};
extern const struct ak_exemption ak_exemptions[];
extern const unsigned ak_nexemptions;

/* ---- the world as it is: worldstate.c ---- */

struct ak_world {
	char base[64];
	enum ak_policy policy;
	bool is_root;			  /* the command runs as root */
	uid_t owner;			  /* of the world: who the command runs as */
	unsigned char token[3][AK_TOKEN]; /* plain */
	char (*paths)[128];		  /* of the rows */
};

struct ak_state;
struct ak_changes;
void ak_world_make(struct ak_world *);
/* Everything as it was made, whatever a program has done. Returns the state then. */
struct ak_state *ak_world_reset(struct ak_world *, struct ak_state *before);
/* What changed that may not have, into `out`, and all that changed. Takes over neither state.
 * was_nobody: the program had no rights of root's. */
void ak_world_check(struct ak_world *, const struct ak_state *before, bool was_nobody,
		    struct ak_outcome *out, struct ak_changes *changes);
void ak_state_free(struct ak_state *);
void ak_remove_tree(const char *path);
void ak_world_note(struct ak_outcome *, enum ak_find, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* ---- the record: worldchanges.c, recordlog.c, recordcheck.c ---- */

enum ak_change_kind {
	AK_C_MADE,
	AK_C_GONE,
	AK_C_MODE,
	AK_C_OWNER,
	AK_C_ATTRS,
	AK_C_CONTENT,
	AK_C_TIMES,
	AK_C_COUNT
};
#define AK_OBJECT_NAMES 4
/* What a program really changed. Texts are owned by the list. */
struct ak_change {
	enum ak_change_kind kind;
	bool is_dir, has_content;
	char *path, *also[AK_OBJECT_NAMES]; /* other names of the object, before or after */
};
#define AK_CHANGES 400
struct ak_changes {
	struct ak_change v[AK_CHANGES];
	unsigned n;
	uint64_t *there; /* hashes of all names that are there afterwards */
	unsigned nthere;
};
uint64_t ak_hash_name(const char *path);
void ak_changes_release(struct ak_changes *);

struct ak_event {
	int64_t ns;
	const char *call, *path, *path2, *op; /* "" = none; paths are absolute */
	bool is_denied;			      /* by the policy */
	bool is_brokers;		      /* not the word of a process inside */
	int err;
	int32_t pid;
	unsigned count;
};
struct ak_log {
	struct ak_event *v;
	size_t n;
	bool is_whole; /* it says of no event that it was lost */
	char *text;
};
/* The record of the only run below `state`. Its command began in the directory `ws`. */
bool ak_log_load(const char *state, const char *ws, struct ak_log *out);
void ak_log_keep(const char *state, const char *dir, uint64_t seed);
void ak_log_release(struct ak_log *);

/* One program, and what came of it. */
struct ak_act {
	struct ak_prog prog;
	int64_t from, until; /* CLOCK_REALTIME, ns */
	int32_t pid;
	uint32_t refused[AK_OPS];
	struct ak_changes changes;
};
/* What the record does not say, or says wrongly, of a program, into `out`. is_each_told: refusals
 * are not folded, so each has a line. */
void ak_record_check(const struct ak_world *, const struct ak_log *, const struct ak_act *,
		     bool is_each_told, struct ak_outcome *out);
/* Where equal refusals are folded: are those of all programs together counted? */
void ak_record_check_counts(const struct ak_log *, const struct ak_act *, unsigned n,
			    struct ak_outcome *out);

/* ---- outsiders: servers.c, outsider.c ---- */

enum ak_port { AK_P_OPEN, AK_P_NAMED, AK_P_SHUT, AK_P_OTHER, AK_PORTS };
/* What a program says to a server: does it go back to the program that rules name? */
#define AK_WORD	       6
#define AK_WORD_ATTACK "ATTACK"
#define AK_WORD_NAMED  "NAMED."

struct ak_servers;
struct ak_servers *ak_servers_start(int out_port[AK_PORTS]);
void ak_servers_check(struct ak_servers *, struct ak_outcome *);
/* out_reached: how many connections came to each. */
void ak_servers_stop(struct ak_servers *, uint64_t out_reached[AK_PORTS]);
void ak_servers_check_record(const struct ak_log *, const int port[AK_PORTS],
			     const uint64_t reached[AK_PORTS], struct ak_outcome *out);

struct ak_outsider {
	struct ak_world *world;
	int pid, port;
	int unix_fd[2], tcp_fd, pipe_fd;
	struct ak_servers *servers; /* NULL: no rules on endpoints */
	int ports[AK_PORTS];
	uint64_t reached[AK_PORTS]; /* when it is stopped */
	_Atomic bool acts, freezes, is_acting, is_over;
	uint64_t seed;
	pid_t broker; /* 0 = not known */
	struct ak_rank {
		int nice, policy, io;
		uint64_t files, size, processors;
	} rank; /* of the process outside, as it was */
};
int ak_outsider_start(struct ak_outsider *, struct ak_world *);
/* flags: AK_HOST, AK_FREEZE; 0: no more. */
void ak_outsider_acts(struct ak_outsider *, unsigned flags, uint64_t seed);
/* The launcher, below which the broker is: who suspends a machine stops it where it stands. */
void ak_outsider_launcher(struct ak_outsider *, pid_t);
/* Was it reached? */
void ak_outsider_check(struct ak_outsider *, struct ak_outcome *);
void ak_outsider_stop(struct ak_outsider *);
/* Does an outsider change this one? Then only its content and owner are judged. */
bool ak_is_touched(const char *path);

/* ---- lines of the broker: countedlines.c ---- */

struct ak_lines;
/* Of a run inside of the run, which can write nowhere else: what it leaves is one more profile. */
#define AK_INSIDE_LINES "ws/pub/inside.profraw"
struct ak_lines *ak_lines_open(const char *file);
/* How many regions were reached for the first time since the last call. */
unsigned ak_lines_new(struct ak_lines *);
void ak_lines_close(struct ak_lines *);
void ak_seen_load(const char *file);
void ak_seen_save(const char *file);

/* ---- outside: session.c, minimise.c, owndev.c ---- */

/* A /dev of copies, in the mount namespace that the caller has made for itself: what root removes
 * or changes there the host does not miss. */
bool ak_own_dev(void);

struct ak_options {
	const char *sbx, *cov_dir, *corpus_dir, *out_dir, *seen, *self;
	const char *isolate; /* one of ak_isolations: namespaces, and what host it is */
	const char *mkhost;  /* tests/support/mkhost.c: for older hosts */
	enum ak_policy policy;
	uint64_t seed;
	double seconds;
	bool verbose;
	const char *first; /* kinds: the first of them is enough, and no other counts */
	const char
		*fold; /* tests/support/foldfs.py: the workspace lies on a file system that folds */
	unsigned flavour; /* of the launcher's options beside the policy */
	bool freezes;	  /* programs may have AK_FREEZE */
};

/* Options beside the policy: how many kinds there are, and what to call one. */
#define AK_FLAVOURS 5
extern const char *const ak_flavour_names[AK_FLAVOURS];

/* oldhosts.c: what the words of --isolate mean. */
struct ak_isolation {
	const char *name;
	const char *isolate; /* NULL: as it is by default */
	bool has_pid_ns, is_parent;
	const char *abi; /* of Landlock; NULL: the kernel's own */
};
/* NULL: there is none. */
const struct ak_isolation *ak_isolation(const char *name);
/* From now on the broker is the parent of the commands of runs whose state is there. */
bool ak_make_parent(const char *sbx, const char *state, const char *ws);

struct ak_session;
struct ak_session *ak_session_start(const struct ak_options *);
/* One program: what was found. 0, or -1: the sandbox is gone (out says so). */
int ak_session_run(struct ak_session *, const struct ak_prog *, struct ak_outcome *out,
		   unsigned *out_new_lines);
/* The status of sbx-launch. `found` (NULL: nobody asks) is called for each program that the record
 * of the run is wrong about. */
typedef void ak_record_fn(void *ctx, const struct ak_prog *, const struct ak_outcome *);
int ak_session_end(struct ak_session *, ak_record_fn *found, void *ctx);
/* Cuts the program down as long as a finding of this kind comes again. Runs of its own. */
void ak_minimise(const struct ak_options *, struct ak_prog *, enum ak_find kind);
/* How often of `tries` the program finds something of this kind. */
unsigned ak_reproduces(const struct ak_options *, const struct ak_prog *, enum ak_find kind,
		       unsigned tries, unsigned enough);
