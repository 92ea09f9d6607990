/*
 * trapfilter.c - the BPF program that stops calls for the broker. Pure: made from the table of
 * calls, at run time, in a few microseconds.
 *
 * A binary tree over call numbers, because open and connect, whose arguments are tested, get no
 * help from the kernel's bitmap of constant answers. Foreign machines and x32 are passed on: the
 * static filter, which is asked as well and whose no outweighs our yes, kills or refuses them.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/err.h"
#include "launcher/linux/bpfgraph.h"
#include "launcher/linux/broker/calls.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no trap filter for this machine yet"
#endif

#define LOW(i)	  (offsetof(struct seccomp_data, args) + 8u * (i))
#define PASS	  SECCOMP_RET_ALLOW
#define NOTIFY	  SECCOMP_RET_USER_NOTIF
#define ANSWER(e) (SECCOMP_RET_ERRNO | (e))

/* O_TMPFILE without the O_DIRECTORY bit that it contains. */
#define TMPFILE_BIT (O_TMPFILE & ~O_DIRECTORY)
/* Flags that make, empty or write to a file. */
#define WRITE_INTENT (O_ACCMODE | O_CREAT | O_TRUNC | TMPFILE_BIT)

#define SOCK_TYPE_MASK 0xf /* the rest of a type are flags */

#define NAMESPACES                                                                                 \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER |             \
	 CLONE_NEWPID | CLONE_NEWNET)

struct trap {
	struct lau_bpf bpf;
	const struct lau_broker_plan *plan;
	unsigned pass, notify;
};

static unsigned when(struct trap *t, unsigned code, unsigned off, unsigned k, unsigned yes,
		     unsigned no)
{
	return lau_bpf_branch(&t->bpf, code, off, LAU_BPF_ALL, k, yes, no);
}

/* O_PATH comes first: the kernel then ignores the rest, the access mode included. */
static unsigned of_open(struct trap *t, unsigned flags_arg)
{
	unsigned trapped = WRITE_INTENT, node = t->notify;

	if (t->plan->read_level == POL_READ_DIRECTORY)
		trapped |= O_DIRECTORY;
	if (t->plan->read_level != POL_READ_ALL)
		node = when(t, BPF_JSET, LOW(flags_arg), trapped, t->notify, t->pass);
	return when(t, BPF_JSET, LOW(flags_arg), O_PATH, t->pass, node);
}

static unsigned of_openat2(struct trap *t)
{
	if (t->plan->read_level == POL_READ_ALL || t->plan->traps & POL_TRAP_TRUNCATE)
		return t->notify;
	return when(t, BPF_JEQ, LOW(3), POL_QUICK_HOW_SIZE, t->pass, t->notify);
}

/* For clone(2) the bit of CLONE_NEWTIME is one of the exit signal. */
static unsigned of_namespace(struct trap *t, int nr)
{
	return when(t, BPF_JSET, LOW(0), NAMESPACES | (nr == SYS_unshare ? CLONE_NEWTIME : 0),
		    t->notify, t->pass);
}

/* A program that makes itself unreadable would be served no more. It keeps its belief: what it
 * fears, others looking into it, is refused to all but the broker. */
static unsigned of_prctl(struct trap *t)
{
	unsigned node = lau_bpf_answer(&t->bpf, ANSWER(0));

	node = when(t, BPF_JEQ, LOW(1), 0, node, t->pass);
	node = when(t, BPF_JEQ, LOW(0), PR_SET_DUMPABLE, node, t->pass);
	return when(t, BPF_JEQ, LOW(0), LAU_GREETING, t->notify, node);
}

/* SOCK_RAW of unix(7) are datagrams, too. */
static unsigned of_datagrams(struct trap *t)
{
	unsigned node = lau_bpf_branch(&t->bpf, BPF_JEQ, LOW(1), SOCK_TYPE_MASK, SOCK_RAW,
				       t->notify, t->pass);

	node = lau_bpf_branch(&t->bpf, BPF_JEQ, LOW(1), SOCK_TYPE_MASK, SOCK_DGRAM, t->notify,
			      node);
	return when(t, BPF_JEQ, LOW(0), AF_UNIX, node, t->pass);
}

static unsigned of_row(struct trap *t, const struct br_row *row)
{
	switch ((enum br_trap)row->trap) {
	case BR_TRAP_ALWAYS:
		break;
	case BR_TRAP_OPEN:
		return of_open(t, row->flags_arg);
	case BR_TRAP_OPENAT2:
		return of_openat2(t);
	case BR_TRAP_NAMESPACE:
		return of_namespace(t, row->nr);
	case BR_TRAP_PRCTL:
		return of_prctl(t);
	case BR_TRAP_ABSENT:
		return lau_bpf_answer(&t->bpf, ANSWER(EOPNOTSUPP));
	case BR_TRAP_DATAGRAMS:
		return of_datagrams(t);
	}
	return t->notify;
}

static int by_number(const void *a, const void *b)
{
	const struct br_row *x = *(const struct br_row *const *)a,
			    *y = *(const struct br_row *const *)b;

	return x->nr - y->nr;
}

/* The calls that are trapped, and what lies between them. */
static size_t make_runs(struct trap *t, struct lau_bpf_run *r)
{
	const struct br_row *rows[BR_ROWS_MAX];
	size_t nrows = 0, n = 0;
	uint32_t next = 0;

	for (size_t i = 0; i < br_nrows; i++)
		if (!br_rows[i].group || (br_rows[i].group & t->plan->traps))
			rows[nrows++] = &br_rows[i];
	qsort(rows, nrows, sizeof *rows, by_number);
	for (size_t i = 0; i < nrows; i++) {
		uint32_t nr = (uint32_t)rows[i]->nr;

		if (nr > next)
			r[n++] = (struct lau_bpf_run){next, t->pass};
		r[n++] = (struct lau_bpf_run){nr, of_row(t, rows[i])};
		next = nr + 1;
	}
	r[n++] = (struct lau_bpf_run){next, t->pass};
	return n;
}

size_t lau_broker_filter(const struct lau_broker_plan *plan, struct sock_filter *out)
{
	struct lau_bpf_run runs[2 * BR_ROWS_MAX + 1];
	struct trap t = {.plan = plan};
	size_t n;
	unsigned root;

	t.pass = lau_bpf_answer(&t.bpf, PASS);
	t.notify = lau_bpf_answer(&t.bpf, NOTIFY);
	n = make_runs(&t, runs);
	root = lau_bpf_tree(&t.bpf, offsetof(struct seccomp_data, nr), runs, n);
	root = when(&t, BPF_JEQ, offsetof(struct seccomp_data, arch), NATIVE_ARCH, root, t.pass);
	n = lau_bpf_emit(&t.bpf, root, out, LAU_TRAP_MAX);
	B_ASSERT(n > 0);
	return n;
}
