/*
 * greet.c - the command's first call: before it becomes its program, the broker shows that it can
 * look into it, act for it and answer it with a descriptor. What is remembered of this host may
 * have been tried under another filter (launcher/serving.h), and a broker that cannot start leaves
 * the command with ENOSYS.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/err.h"
#include "launcher/serving.h"

/* What failed, as the value of the call: no number of a descriptor. */
#define REFUSED	     (1l << 30)
#define STEP_SHIFT   16
#define ACTING_SHIFT 12
#define ERRNO_MASK   0xfffl
#define ACTING_MASK  0xfl
#define STEP_MASK    0xffl

static struct br_answer refused(const struct lau_served *f)
{
	return br_value(REFUSED | (long)f->step << STEP_SHIFT | (long)f->acting << ACTING_SHIFT |
			(f->sys & ERRNO_MASK));
}

/* Answered once: later callers are programs, and the kernel knows no such option. So the descriptor
 * can be one of the broker's own: the command closes it at once. */
struct br_answer br_greet(struct br_call *c)
{
	struct seccomp_notif_addfd add = {
		.id = c->n.id, .srcfd = (unsigned)c->b->wake[0], .newfd_flags = O_CLOEXEC};
	struct lau_served f;
	int fd;

	if (atomic_exchange(&c->b->is_greeted, true))
		return br_fail(EINVAL);
	f = lau_serving_of((pid_t)c->n.pid, br_arg(c, 1));
	if (f.step != LAU_SERVE_DONE)
		return refused(&f);
	do
		fd = ioctl(c->b->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	while (fd < 0 && errno == EINTR);
	f = (struct lau_served){.step = LAU_SERVE_ANSWER, .sys = errno};
	return fd < 0 ? refused(&f) : br_value(fd);
}

/* A process that may not be looked into (prctl(2), PR_SET_DUMPABLE) becomes another by execve(2).
 */
int lau_broker_greet(struct b_err *err)
{
	uint64_t words = prctl(PR_GET_DUMPABLE, 0, 0, 0, 0) == 1 ? lau_serving_words() : 0;
	long v = syscall(SYS_prctl, (long)LAU_GREETING, words, 0, 0, 0);
	struct lau_served f;

	if (v < 0 && errno == ENOSYS)
		return b_fail(err, B_FLOOR, errno, "the broker is gone before it has served");
	if (v < 0)
		return b_fail(err, B_FLOOR, errno, "the broker is not reached: prctl(2): %s",
			      strerror(errno));
	if (!(v & REFUSED))
		return close((int)v) == 0 ? 0
					  : b_fail(err, B_FLOOR, errno, "the broker gave nothing");
	f = (struct lau_served){.step = (enum lau_serving_step)(v >> STEP_SHIFT & STEP_MASK),
				.acting = (int)(v >> ACTING_SHIFT & ACTING_MASK),
				.sys = (int)(v & ERRNO_MASK)};
	return lau_serving_refused(&f, err);
}
