/* SPDX-License-Identifier: Apache-2.0 */
/*
 * broker.h - the broker from inside: one call as it is served. Private to launcher/linux/broker.
 *
 * A worker thread receives a call, reads its paths from the caller's memory, finds the objects as
 * the caller would find them, asks the policy, acts, answers. Nothing is kept of a call when the
 * answer is given.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/limits.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/un.h>
#include <time.h>

#include "core/decide.h"
#include "core/deep.h"
#include "core/tally.h"
#include "launcher/linux/broker/calls.h"
#include "launcher/linux/broker/proceed.h"
#include "launcher/linux/broker/public.h"

struct br_broker;
struct br_call;
struct br_end;

#define BR_TEXT_MAX (PATH_MAX + NAME_MAX + 2)

enum br_kind {
	BR_KIND_ERROR,
	BR_KIND_VALUE,
	BR_KIND_FD,	  /* given to the caller */
	BR_KIND_CONTINUE, /* the kernel goes on with the call: only by br_proceed() */
};
struct br_answer {
	enum br_kind kind;
	int err;	   /* BR_KIND_ERROR, positive */
	long value;	   /* BR_KIND_VALUE */
	int fd;		   /* BR_KIND_FD, closed by who answers */
	unsigned fd_flags; /* O_CLOEXEC or 0 */
	bool is_alone;	   /* our copy goes before the caller has its own */
};

enum br_magic { BR_MAGIC_NONE, BR_MAGIC_FD, BR_MAGIC_EXE, BR_MAGIC_OTHER };

/* One path of a call, and what it was found to be. */
struct br_end {
	const struct br_end_spec *spec;
	int dirfd;
	bool follow, is_empty; /* is_empty: the descriptor itself */
	bool was_walked;       /* there are symlinks on it */
	bool creates;	       /* O_CREAT: nothing that ends in a slash is made */
	bool is_own; /* is_empty: `fd` is to be the caller's own, and not O_PATH, or is it */
	size_t asked_len;
	char asked[PATH_MAX]; /* as the caller wrote it */

	int at;		  /* parent directory, O_PATH; -1 */
	const char *name; /* in it; a trailing slash of the caller stays */
	int fd; /* the object, O_PATH but for is_own; -1: it does not exist, or was not looked for
		 */
	struct stat st;	     /* of fd */
	bool is_pathless;    /* no rule speaks of it: a pipe, a socket, an unlinked file */
	enum br_magic magic; /* a link in /proc led to it, not a path */
	pid_t owner;	     /* BR_MAGIC_FD: of this thread's descriptor */
	int number;
	bool is_nameless;	       /* pathless, and a file, FIFO or device that had a name: */
	const struct lau_given *given; /* pathless, and the caller's of the run */
	unsigned lent; /* BR_LENT_*, what the descriptor that led to it was opened for */
	size_t len;
	char path[SBX_DEEP_ROOM]; /* canonical */
	char name_buf[NAME_MAX + 2];
};

#define BR_LENT_READ  1u
#define BR_LENT_WRITE 2u

#define BR_PIDFD_OF_THREAD O_EXCL /* PIDFD_THREAD of Linux 6.9; EINVAL before */

#define BR_GROUPS 64 /* that a caller may have */

/* What is remembered of a task, bound to it: a number given to a new task finds a dead handle.
 * Nothing of it is used before br_task_find() has proved that, in each call anew. */
struct br_task {
	pid_t tid, tgid;
	int dir;	     /* /proc/TID, O_PATH; -1 = free */
	int pidfd;	     /* -1 = none */
	mode_t umask;	     /* of this call: creds.c */
	unsigned groups_age; /* of br_broker.creds_age when they were read; 0 = unknown */
	int ngroups;
	gid_t groups[BR_GROUPS];
};
#define BR_TASKS 16

struct br_credentials {
	uid_t uid;
	gid_t gid;
	uint64_t caps;
	int ngroups;
	gid_t groups[BR_GROUPS];
};

/* A signal that a caller which waits has to handle. */
enum br_signal {
	BR_SIGNAL_NONE,
	BR_SIGNAL_OWN,
	BR_SIGNAL_SHARED, /* the process's, and perhaps another thread's to handle */
};

/* Of a worker, watch.c. */
enum br_phase { BR_PHASE_ANSWERING, BR_PHASE_SERVING, BR_PHASE_SIGNALLED };
#define BR_INTERRUPT SIGUSR1

struct br_worker {
	struct br_broker *b;
	pthread_t thread;
	_Atomic pid_t tid;	    /* 0 = slot free */
	_Atomic uint64_t busy;	    /* id of the call being served, 0 = none */
	_Atomic int phase;	    /* enum br_phase */
	uint64_t seen;		    /* by the main thread when it last looked: busy */
	_Atomic bool shares;	    /* the lock of moves */
	unsigned in_the_way;	    /* looks at which it did, and somebody wanted it alone */
	_Atomic bool waits;	    /* the call may take as long as it likes */
	_Atomic bool has_ended;	    /* its thread is done with it */
	_Atomic uint32_t is_parked; /* it sleeps on this */
	struct br_worker *below;    /* in the stack of those */
	_Atomic int signal;	    /* enum br_signal: why it was interrupted */
	_Atomic pid_t caller;
	mode_t umask;	/* this thread's own, now */
	unsigned lends; /* which of br_broker.lent it counts under, + 1; 0 = none. answer.c */
	bool is_other;	/* this thread has a caller's credentials on, these: */
	struct br_credentials caller_creds;
	struct br_task tasks[BR_TASKS];
	struct br_call *call; /* buffers */
};
#define BR_WORKERS_MIN 1
#define BR_WORKERS_MAX 256
#define BR_WAITING_MAX 192 /* the others serve those who need not wait */

struct br_broker {
	const struct lau_broker_plan *plan;
	int listener;
	int root, proc; /* "/", /proc */
	int self_fd;	/* /proc/self/fd */
	int wake[2];	/* pipe to the main thread */
	pid_t pid;
	uid_t uid;
	gid_t gid;
	uint64_t caps;	      /* that a caller may have, of those that matter for files */
	bool links_protected; /* fs.protected_symlinks */
	dev_t memory_dev;     /* of files that lie in no file system */
	dev_t pipe_dev;	      /* of pipes */
	dev_t dev_fs;	      /* of /dev, when it is a file system of its own; else 0 */
	bool is_dev_twice;    /* and is mounted elsewhere, too */
	bool has_fchmodat2;   /* Linux 6.6 */
	unsigned held_max;    /* sockets that may be held open */
	char **other_procs;   /* mount points, NULL ends them; meta.c */
	const struct lau_movelock *lock; /* alone: a directory changes its place */
	struct lau_movelock own_lock;	 /* where nobody else has it */
	_Atomic bool said_blocked;
	_Atomic bool is_door_shut;  /* sbx-egress is gone */
	struct br_lineage *lineage; /* NULL: nobody has been seen */
	bool is_full;		    /* the ring, for what it says */
	/* Where a container's filter refuses unshare(2): all threads have one umask and working
	 * directory, which are those of the call that holds `fs`. Taken before `lock`. */
	bool shares_fs;
	pthread_mutex_t fs;
	_Atomic bool mixed_creds;   /* somebody changed credentials: ask each time */
	_Atomic unsigned creds_age; /* counts calls that change credentials, from 1 */
	/* Bytes of the ring that calls have a right to; each call that is being served has one
	 * event's. check.c */
	_Atomic uint64_t places;
	/* Workers that give a file to write in one with the answer; which count grows. answer.c */
	_Atomic unsigned lent[2], lend_turn;
	pthread_mutex_t lend_wait;
	_Atomic int idle;   /* workers that wait for a call */
	_Atomic int parked; /* that wait to be needed, the last one on top */
	struct br_worker *top;
	pthread_mutex_t park;
	_Atomic int waiting;	 /* workers whose call may take as long as it likes */
	_Atomic bool is_greeted; /* by the command, before it became its program */
	_Atomic unsigned served;
	_Atomic bool is_watched; /* the main thread looks after stuck workers */
	struct br_worker *workers[BR_WORKERS_MAX];
	_Atomic int nworkers;
};

enum br_lock { BR_LOCK_NONE, BR_LOCK_SHARED, BR_LOCK_MOVES };

struct br_call {
	struct br_broker *b;
	struct br_worker *w;
	const struct br_row *row;
	struct seccomp_notif n;
	struct br_task *task; /* NULL: not yet asked for */
	unsigned flags, did;  /* of the row's argument, or of struct open_how; SBX_DID_*, to tell */
	mode_t mode;
	uint64_t resolve; /* of struct open_how */
	/* what br_check() has read of the caller */
	struct timespec times[2];
	char attr[XATTR_NAME_MAX + 1];
	bool has_text; /* end[0].asked, so many bytes: */
	size_t text_len;
	struct br_end end[2];
	int root; /* the caller's, -1 = not yet asked for */
	enum br_lock locked;
	bool has_fs, has_place, has_fate;
	enum sbx_fate fate; /* of a call that was told, or would have been */
	uint64_t locked_ns; /* when */
	size_t cwd_len;	    /* 0 = not yet asked for */
	char cwd[BR_TEXT_MAX];
	char text[2 * PATH_MAX]; /* scratch of the walker: what is still to be walked */
};

static inline struct br_answer br_fail(int err)
{
	return (struct br_answer){.kind = BR_KIND_ERROR, .err = err};
}
static inline struct br_answer br_value(long value)
{
	return (struct br_answer){.kind = BR_KIND_VALUE, .value = value};
}
/* The result of a system call made for the caller: errno or its value. */
struct br_answer br_result(long rc);

/* Where a test holds a thread, to force an order of events. */
static inline void br_test_point(const struct br_broker *b, enum lau_broker_point at)
{
	if (b->plan->test_point)
		b->plan->test_point(at);
}

static inline uint64_t br_arg(const struct br_call *c, unsigned i)
{
	return c->n.data.args[i];
}

/* ---- proceed.c ---- */

/* Lets the kernel go on with the call, by that row of the table; the row's errno where what it
 * needs does not stand behind it. */
struct br_answer br_proceed(const struct br_call *, enum br_proceed);
/* Would it be let go on? */
bool br_may_proceed(const struct br_call *, enum br_proceed);
/* Is this a broker that judges nothing where Landlock stands behind (tests of the floor alone)? */
bool br_lies(const struct br_call *);
/* The answer to a caller that cannot be looked into: nothing is done for it. */
struct br_answer br_proceed_unseen(struct br_call *);

/* ---- caller.c: who asks ---- */

#define BR_UNREADABLE (-EUCLEAN) /* the caller cannot be looked into */

/* c->task. 0, -ESRCH, or BR_UNREADABLE. */
int br_task_find(struct br_call *);
void br_tasks_drop(struct br_worker *);
/* A name in /proc/TID: descriptor, -errno or BR_UNREADABLE. */
int br_open_at_task(struct br_call *, const char *name, int flags);
/* Copies from the caller: 0, -EFAULT, or BR_UNREADABLE. */
int br_read(struct br_call *, uint64_t addr, void *buf, size_t size);
/* A string: its length, -EFAULT, -ENAMETOOLONG or BR_UNREADABLE. */
long br_read_text(struct br_call *, uint64_t addr, char *buf, size_t size);
/* Two strings of usual length at once, into buffers of PATH_MAX; false: one by one. */
bool br_read_two(struct br_call *, const uint64_t addr[2], char *const buf[2], size_t out_len[2]);
/* `size` bytes, and a string of usual length into a buffer of PATH_MAX, likewise. */
bool br_read_with_text(struct br_call *, const uint64_t addr[2], void *buf, size_t size, char *text,
		       size_t *out_len);
/* To the caller: as br_read(). */
int br_write(struct br_call *, uint64_t addr, const void *buf, size_t size);
/* Does the caller still wait? To be asked after its memory and its /proc were read, before any
 * effect: the number of a dead task may have a new owner. */
bool br_is_alive(const struct br_call *);
/* What an O_PATH descriptor of the caller's refers to: AT_FDCWD, or a number. */
int br_open_caller_fd(struct br_call *, int fd);
/* Borrowed; the broker's own unless the caller may have changed its own. Or -errno. */
int br_root(struct br_call *);

/* ---- creds.c: in whose name ---- */

/* This thread acts with the caller's credentials, or makes files with its umask, too: 0 or -errno.
 */
int br_become(struct br_call *);
int br_become_maker(struct br_call *);
void br_become_self(struct br_worker *);
/* What only the caller itself may open of itself, opened for it in our own name. As openat(2). */
int br_openat_as_self(struct br_call *, int dir, const char *name, int flags);
bool br_is_own_numbers(struct br_call *, const char *path);
/* "self" and "thread-self" for the caller. */
pid_t br_tgid(struct br_call *);
/* Where a descriptor of the caller's, or its cwd, lies, as far as a text can say: 0 or -1. */
int br_text_of_caller(struct br_call *, int fd, char *path, size_t *out_len);
/* Is this descriptor of the caller's an O_PATH one? */
bool br_is_path_only(struct br_call *, int fd);
/* tty_nr of the caller, 0 = none. */
long br_terminal_of(struct br_call *);

/* ---- resolve.c: what a path means ---- */

/* Reads the paths of a call: 0 or as br_read_text(). */
int br_ends_read(struct br_call *);
void br_ends_release(struct br_call *);
/* With the lock: has no directory moved since the caller found the paths that it says it has found
 * (SBX_AT_SINCE)? Then they may lead elsewhere. */
bool br_texts_hold(const struct br_call *);
/* The parent of the last component: at, name, path, len. 0 or -errno. BR_AS_IS: "." or the like
 * at the end, where every call fails by itself. */
#define BR_AS_IS 1
int br_find_parent(struct br_call *, struct br_end *);
/* The text of what was asked, when it can be known without looking: absolute, no "..", nothing in
 * /proc or /dev, whose links are no texts. To path and len; *out_flags = SBX_PATH_*. */
bool br_make_text(struct br_call *, struct br_end *, unsigned *out_flags);
/* Does the path end in a slash, "." or ".."? */
bool br_ends_in_dots(const struct br_end *);
/* The object itself: fd, st, path, len; and when it is missing with an existing parent -ENOENT
 * with at, name, path, len. */
int br_find_object(struct br_call *, struct br_end *);
/* Canonical path of a descriptor of ours, to BR_TEXT_MAX bytes. 0; -ENOENT: deleted; -EXDEV: no
 * path in our view; -ENAMETOOLONG: broker.h. */
int br_text_of(const struct br_broker *, int fd, char *path, size_t *out_len);
/* proceed.c: may this be done to the object at the end, as far as the policy says? */
bool br_may(const struct br_call *, enum sbx_op, const struct br_end *);
/* A descriptor of a thread of the run, ours as well: or -errno. */
int br_take_fd(struct br_call *, pid_t tid, int number);
/* Fills memory_dev and pipe_dev. */
void br_find_memory(struct br_broker *);
/* Is this in the /proc of a process that the caller is not, of which we might see more than it? */
bool br_is_of_another(struct br_call *, const char *path);
/* "/proc/self/fd/N" */
void br_fd_path(char out[32], int fd);
/* Is this a path of the broker's own in /proc, that the caller must not be lent? Anything in
 * another procfs is. */
bool br_is_own_proc(const struct br_call *, const char *path, size_t len);
/* Tells that a name of it ("" = itself) was asked for. -EACCES. */
int br_refuse_own(struct br_call *, const char *path, size_t len, const char *name);
/* meta.c: is it in a procfs that is mounted elsewhere? */
bool br_is_other_proc(const struct br_broker *, const char *path, size_t len);
/* Fills other_procs: 0 or -1 with errno. */
int br_find_other_procs(struct br_broker *);
/* Does this file map the user namespace of a process that is not of the run? */
bool br_is_foreign_map(const struct br_call *, const char *path);

/* ---- judging and telling: check.c ---- */

bool br_allowed(const struct br_call *, enum sbx_op, const char *path, size_t len);
struct br_told {
	enum sbx_op op;
	bool allowed;
	int err;	     /* of the call, positive */
	unsigned flags, aux; /* SBX_EVF_* */
	uint32_t rule;	     /* SBX_EVF_ENDPOINT: the deciding rule + 1 */
	unsigned call;	     /* SBX_CALL_*, 0 = the row's */
	const char *path, *path2;
	size_t len, len2;
};
void br_tell(struct br_call *, const struct br_told *);
/* ERESTARTNOINTR: a call that was not begun is made again after any handler. */
#define BR_RESTART 513
/* Before anything is done for the call: the ring has a place for its event from here on. Waits
 * where the ring is full, without a lock. 0; -EINTR: the caller is gone; -BR_RESTART: it has a
 * signal to handle. */
int br_take_place(struct br_call *);
void br_give_place(struct br_call *);
/* The same of no call, and without waiting. */
bool br_get_place(struct br_broker *);
void br_drop_place(struct br_broker *);
/* A call on the one path of end 0, done or refused. */
struct br_answer br_told_result(struct br_call *, enum sbx_op, struct br_answer);
/* The same of a change to what the call found, unless it lies in memory alone. */
struct br_answer br_told_of_object(struct br_call *, struct br_answer);
/* meta.c: may an object of this type have these bits? Refused by the filter's rules, aloud. */
bool br_may_set_ids(const struct br_call *, mode_t type, mode_t bits);
/* Of what is opened to write; false: not by us. */
bool br_drop_set_ids(const struct br_call *, int fd, mode_t mode);
struct br_answer br_deny_set_ids(struct br_call *, const struct br_end *);
/* Refused by the policy, unless the kernel would have refused anyway. */
struct br_answer br_deny(struct br_call *, enum sbx_op, const struct br_end *, int kernel_says);

/* What a name must be for a call: the kernel's answer to one that we refuse, 0 = none. change.c */
enum br_want { BR_WANT_NEW, BR_WANT_NEW_DIR, BR_WANT_FILE, BR_WANT_DIR, BR_WANT_ANY };
int br_kernel_says(const struct br_end *, enum br_want);

/* Would its bytes be freed for long? */
bool br_is_large(const struct stat *);
/* Is there anything in the directory `name` of `at`? False as well where it cannot be read. */
bool br_holds_something(int at, const char *name);
/* Before the name goes: what is freed then is freed when all else is done, without the lock (
 * br_ends_release()). The mode of what has it; 0: nothing, or it was not looked at. */
mode_t br_hold_large(struct br_end *);

/* ---- compare.c ---- */

/* Does a rule deny, by its folded text, what is allowed by its bytes? br_allowed() asks. */
bool br_fold_denies(const struct br_call *, enum sbx_op, const char *path, size_t len);

/* ---- net.c ---- */

/* As the caller wrote it, copied once. */
struct br_address {
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_storage room;
	};
	char nul; /* a path may fill all */
	socklen_t len;
};
/* An address of the network, and the policy has rules on them? Then br_net_connect(). */
bool br_net_is_ours(const struct br_call *, const struct br_address *);
struct br_answer br_net_connect(struct br_call *, const struct br_address *, int fd);
/* Without such rules, after a connect that ended with `err` (0: made): where the run's network has
 * no way to the address, or none to the host's name server, an event says so. */
void br_net_tell_none(struct br_call *, const struct br_address *, int fd, int err);
/* told.c: what sbx-egress says, read by the main thread; at the end until it has ended. */
void br_net_poll(const struct br_broker *, struct pollfd *out);
void br_net_take(struct br_broker *, const struct pollfd *);
#define BR_ROOM_MS 10 /* for a full ring */
void br_net_finish(struct br_broker *, uint64_t until_ms);

/* ---- socket.c ---- */

/* Has a process of this run bound it (and is it still remembered)? */
bool br_made_socket(const struct stat *);

/* ---- meta.c ---- */

/* The object of a call, held and judged for an operation (BR_FREE: for none). 0: go on, the lock
 * is held; else *out is the answer. */
#define BR_FREE (-1)
int br_hold_object(struct br_call *, int op, struct br_answer *out);
/* b->has_fchmodat2; before the broker's own filter. */
void br_find_fchmodat2(struct br_broker *);
/* The argument after the object. */
unsigned br_after_object(const struct br_call *);

/* ---- check.c: before any path ---- */

/* 0, -errno of what the kernel refuses whatever the path is, BR_UNREADABLE, or: */
#define BR_NOTHING_TO_DO 1
int br_check(struct br_call *);

/* ---- exec.c: what may not be read does not become a program ---- */

/* May a new file at this end have these bits? */
bool br_may_make_program(const struct br_call *, const struct br_end *, mode_t bits);
/* May the object at this end get these bits? */
bool br_may_set_bits(const struct br_call *, const struct br_end *, mode_t bits);
/* May the object of `st` at the end `from` have the name at the end `to`? */
bool br_may_name_program(const struct br_call *, const struct stat *st, const struct br_end *from,
			 const struct br_end *to);

/* ---- tree.c: directories that move ---- */

enum br_tree_answer {
	BR_TREE_MOVES,
	BR_TREE_REFUSED,
	BR_TREE_UNSEEN, /* too much to look through, or it could not be opened */
};
/* Why not. */
struct br_tree {
	enum sbx_op against;
	bool is_without_links; /* asked: there must be no symlink, either */
	size_t len;
	char name[PATH_MAX]; /* below the moved directory: what may not be at the new place; "" */
};
/* May all that really lies below the directory `from` be below `to`? Asked when the automata do
 * not allow it for every name there could be; the lock of moves is held. */
/* `where`: the one of the two at which it is now. */
enum br_tree_answer br_tree_moves(struct br_call *, const struct br_end *from,
				  const struct br_end *to, const struct br_end *where,
				  struct br_tree *out);

/* ---- after.c: is it still what it was judged to be? ---- */

/* CLOCK_MONOTONIC */
uint64_t br_now_ns(void);
/* Was there time for a broker that has another lock to move a directory, after we looked up the
 * parent and before we acted? */
bool br_was_slow(const struct br_call *);
/* Waits until every call that looked up a parent before now has acted, or finds itself slow. */
void br_let_them_act(void);
/* Something has come to be at the end. If that took long: may it not be where its parent is by now?
 * Then path and len say where. */
bool br_is_misplaced(struct br_call *, struct br_end *);
/* The same of a file that was opened to be made, and is gone again if it was. */
bool br_is_file_misplaced(struct br_call *, struct br_end *, int fd);
/* The answer `a` of a call that makes something at end 0, told; or what was made is misplaced,
 * taken away by unlinkat(flags), and denied. */
struct br_answer br_made(struct br_call *, struct br_end *, struct br_answer a, int flags);

/* ---- watch.c ---- */

/* This thread is the worker's. */
void br_watch_me(struct br_worker *);
/* The handler of BR_INTERRUPT. [AS-safe] */
void br_on_interrupt(int signo);
/* Before the answer: from here on no interrupt comes. */
void br_settle(struct br_worker *);
/* Looks after the workers while there are calls to serve. */
void br_watch(struct br_broker *);
#define BR_WATCH_MS 10 /* how often workers are looked at */
/* One look: who has the same call as at the last one, and waits in vain, is interrupted. */
void br_look_after_all(struct br_broker *);
/* Is the caller's task gone, or on its way to its end? */
bool br_is_ending(struct br_call *);
/* Frees workers whose thread has ended. */
void br_bury(struct br_broker *);

/* ---- answer.c ---- */

/* Gives the answer to the caller; closes its descriptor. */
void br_answer(struct br_call *, const struct br_answer *);
/* From here until its answer was given, the worker may be the last that has a file open to write:
 * before it looks whether that can be executed. */
void br_lend(struct br_worker *);
/* A file got an execute bit: waits for those who saw it without. No lock is held. */
void br_wait_lent(struct br_broker *);

/* ---- notify.c ---- */

void br_start_worker(struct br_broker *);
/* One more waits for calls, of those that are there. False: there is none. */
bool br_unpark(struct br_broker *);

/* After br_may_block(): what follows of the call takes no long time, and is not interrupted. */
void br_end_block(struct br_call *);
/* From here on the call may take as long as it likes: another worker takes its place, and it is
 * interrupted (EINTR) when the caller is gone or has a signal to handle. No lock is held. Returns
 * false if as many calls as are allowed are already blocked: the caller must then fail the call. */
bool br_may_block(struct br_call *);
/* 0, -EINTR: the caller is gone; -EBUSY: another run's broker stands still with the lock; -ESTALE:
 * br_texts_hold(). */
int br_lock_shared(struct br_call *);
int br_lock_moves(struct br_call *);
void br_unlock(struct br_call *);
/* The umask and the working directory are this call's, until it ends or may block. */
void br_lock_fs(struct br_call *);

/* ---- confine.c ---- */

/* Of the capabilities a caller may have, those that matter for what is done in its name. */
uint64_t br_file_caps(void);
/* What the broker itself needs, whoever it acts for. */
uint64_t br_own_caps(void);
/* Of this thread; what is not permitted stays out. */
int br_set_effective(uint64_t caps);
/* CAP_SYS_PTRACE of this thread: 0 or -1. */
int br_set_trace(bool on);
/* Before any thread is made: capabilities and filter. */
int br_confine_threads(const struct lau_broker_plan *, struct b_err *err);

/* One open(2), shared by open.c and how.c. Private to launcher/linux/broker. */
struct br_open_request {
	struct br_call *c;
	unsigned flags;
	mode_t mode;
	uint64_t resolve; /* of struct open_how */
	bool has_slash;	  /* behind a path without symlinks */
	bool cuts; /* O_TRUNC of a large file, done when it is open and the lock given back */
};

/* Reads and checks struct open_how as the kernel does, to flags, mode and resolve: 0 or -errno. */
int br_read_how(struct br_call *);
/* br_find_object() under the caller's RESOLVE_* flags. */
int br_find_restricted(struct br_open_request *);

/* Goes along `path` from `base` (borrowed). An O_PATH descriptor of what is there; -ENOENT with
 * e->at and e->name when only the last component is missing; else -errno. For resolve.c, walk.c. */
int br_walk(struct br_call *, struct br_end *, int base, const char *path, bool follow);
/* openat2(2), O_PATH, no symlinks: descriptor or -errno. */
int br_open_plain(int base, const char *path, unsigned flags);
/* path and len from at and name. */
int br_name_end(struct br_call *, struct br_end *);
int br_find_last(struct br_call *, struct br_end *);
/* st, path, len, is_pathless from fd: 0 or -errno; is_as_asked as for br_text_of_object(). */
int br_look_at(struct br_call *, struct br_end *, bool is_as_asked);

/* proceed.c. Of an object without a name: 0, or BR_VANISHED: it had one when it was found. */
#define BR_VANISHED (-ESTALE)
int br_look_at_nameless(struct br_call *, struct br_end *);
/* The link `name` of directory `dir` in /proc has led to the object. */
void br_note_magic(struct br_end *, const char *dir, const char *name);

/* deep.c: br_text_of() whatever the depth; path has SBX_DEEP_ROOM bytes. -ENAMETOOLONG: beyond
 * SBX_DEEP_MAX; -EACCES: a directory on the way may not be listed. */
int br_text_of_dir(const struct br_broker *, int fd, char *path, size_t *out_len);
/* Of e->fd, which is too deep for br_text_of(). is_as_asked: the caller asked for it by a path that
 * br_find_parent() understands. -ENOENT: deleted; -EACCES: it cannot be found. */
int br_text_of_object(struct br_call *, struct br_end *, bool is_as_asked);
