/*
 * movelock.h - the lock of moves: while a directory changes its place no broker of this user acts
 * on a name, for what it has judged is the text of a parent it holds (docs/adr/013).
 *
 * The lock lies in a page that all brokers of a user share: one file in a directory that no
 * command may touch. Each broker has a slot of its own there, and a lock on that byte of the file
 * says that it lives: what a dead one held is taken from it.
 *
 *	in the launcher:	lau_movelock_open(dir, &l, &err);	then the broker is forked
 *	in the broker:		rc = lau_movelock_share(&l, &who);	0, -EINTR, -EBUSY
 *				... look up the parent, judge, act ...
 *				lau_movelock_share_end(&l);
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct b_err;
struct lau_movepage;

struct lau_movelock {
	struct lau_movepage *page; /* NULL = none */
	int fd;			   /* of the file, and of no other broker; -1 = of no file */
	unsigned slot;
	unsigned limit_ms; /* how long a call waits at most; 0 = 10 s */
};
#define LAU_MOVELOCK_INIT                                                                          \
	{                                                                                          \
		.fd = -1                                                                           \
	}

/* In `dir`, which must be there and private; NULL: nobody is to share it but runs inside this one.
 * 0 or -1 with B_FLOOR. To be released. */
int lau_movelock_open(const char *dir, struct lau_movelock *out, struct b_err *err);
/* That of a run around this one, by a descriptor of its file, which is borrowed. */
int lau_movelock_join(int fd, struct lau_movelock *out, struct b_err *err);
/* Of one process alone: 0 or -1 with B_FLOOR. */
int lau_movelock_alone(struct lau_movelock *out, struct b_err *err);
void lau_movelock_release(struct lau_movelock *);

/* Together with others that do not move; none locks twice. 0; -EINTR: a signal came first; -EBUSY:
 * *out_who, a supervisor, or its broker, stands still with the lock. [MT-safe] */
int lau_movelock_share(const struct lau_movelock *, pid_t *out_who);
void lau_movelock_share_end(const struct lau_movelock *);
/* With nobody else, likewise. */
int lau_movelock_move(const struct lau_movelock *, pid_t *out_who);
void lau_movelock_move_end(const struct lau_movelock *);
/* Does somebody move, or wait for those who share it? */
bool lau_movelock_is_wanted(const struct lau_movelock *);
