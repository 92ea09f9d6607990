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
#include "launcher/linux/broker/calls.h"

#if defined(__x86_64__)
#define NATIVE_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define NATIVE_ARCH AUDIT_ARCH_AARCH64
#else
#error "no trap filter for this machine yet"
#endif

#define LOW(i)	  (offsetof(struct seccomp_data, args) + 8u * (i))
#define HIGH(i)	  (LOW(i) + 4u)
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

struct prog {
	struct sock_filter *insn;
	size_t n;
};

static void put(struct prog *p, struct sock_filter insn)
{
	B_ASSERT(p->n < LAU_TRAP_MAX);
	p->insn[p->n++] = insn;
}

static void load(struct prog *p, unsigned off)
{
	put(p, (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, off));
}

static void ret(struct prog *p, unsigned action)
{
	put(p, (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action));
}

/* The next instruction is skipped unless (A op k). */
static void when(struct prog *p, unsigned op, unsigned k)
{
	put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | op | BPF_K, k, 0, 1));
}

/* O_PATH comes first: the kernel then ignores the rest, the access mode included. */
static void put_open(struct prog *p, const struct lau_broker_plan *plan, unsigned flags_arg)
{
	unsigned trapped = WRITE_INTENT;

	if (plan->read_level == POL_READ_DIRECTORY)
		trapped |= O_DIRECTORY;
	load(p, LOW(flags_arg));
	when(p, BPF_JSET, O_PATH);
	ret(p, PASS);
	if (plan->read_level != POL_READ_ALL) {
		put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, trapped, 1, 0));
		ret(p, PASS);
	}
	ret(p, NOTIFY);
}

static void put_openat2(struct prog *p, const struct lau_broker_plan *plan)
{
	if (plan->read_level != POL_READ_ALL && !(plan->traps & POL_TRAP_TRUNCATE)) {
		load(p, LOW(3));
		when(p, BPF_JEQ, POL_QUICK_HOW_SIZE);
		ret(p, PASS);
	}
	ret(p, NOTIFY);
}

/* For clone(2) the bit of CLONE_NEWTIME is one of the exit signal. */
static void put_namespace(struct prog *p, int nr)
{
	load(p, LOW(0));
	when(p, BPF_JSET, NAMESPACES | (nr == SYS_unshare ? CLONE_NEWTIME : 0));
	ret(p, NOTIFY);
	ret(p, PASS);
}

/* A program that makes itself unreadable would be served no more. It keeps its belief: what it
 * fears, others looking into it, is refused to all but the broker. */
static void put_prctl(struct prog *p)
{
	load(p, LOW(0));
	put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PR_SET_DUMPABLE, 0, 3));
	load(p, LOW(1));
	when(p, BPF_JEQ, 0);
	ret(p, ANSWER(0));
	ret(p, PASS);
}

/* SOCK_RAW of unix(7) are datagrams, too. */
static void put_datagrams(struct prog *p)
{
	load(p, LOW(0));
	when(p, BPF_JEQ, AF_UNIX);
	put(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 1));
	ret(p, PASS);
	load(p, LOW(1));
	put(p, (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, SOCK_TYPE_MASK));
	when(p, BPF_JEQ, SOCK_DGRAM);
	ret(p, NOTIFY);
	when(p, BPF_JEQ, SOCK_RAW);
	ret(p, NOTIFY);
	ret(p, PASS);
}

static void put_row(struct prog *p, const struct lau_broker_plan *plan, const struct br_row *row)
{
	switch (row->trap) {
	case BR_TRAP_ALWAYS:
		ret(p, NOTIFY);
		return;
	case BR_TRAP_OPEN:
		put_open(p, plan, row->flags_arg);
		return;
	case BR_TRAP_OPENAT2:
		put_openat2(p, plan);
		return;
	case BR_TRAP_NAMESPACE:
		put_namespace(p, row->nr);
		return;
	case BR_TRAP_PRCTL:
		put_prctl(p);
		return;
	case BR_TRAP_ABSENT:
		ret(p, ANSWER(EOPNOTSUPP));
		return;
	case BR_TRAP_DATAGRAMS:
		put_datagrams(p);
		return;
	}
}

static void put_tree(struct prog *p, const struct lau_broker_plan *plan,
		     const struct br_row *const *rows, size_t n)
{
	size_t at;

	if (n == 1) {
		/* the accumulator holds the number; a row's tests may lose it, for all of them end
		 * in an answer */
		at = p->n;
		put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
						    (unsigned)rows[0]->nr, 0, 0));
		put_row(p, plan, rows[0]);
		p->insn[at].jf = (unsigned char)(p->n - at - 1);
		ret(p, PASS);
		return;
	}
	at = p->n;
	put(p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)rows[n / 2]->nr, 0,
					    1));
	put(p, (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, 0));
	put_tree(p, plan, rows, n / 2);
	p->insn[at + 1].k = (unsigned)(p->n - at - 2);
	put_tree(p, plan, rows + n / 2, n - n / 2);
}

static int by_number(const void *a, const void *b)
{
	const struct br_row *x = *(const struct br_row *const *)a,
			    *y = *(const struct br_row *const *)b;

	return x->nr - y->nr;
}

size_t lau_broker_filter(const struct lau_broker_plan *plan, struct sock_filter *out)
{
	const struct br_row *rows[BR_ROWS_MAX];
	struct prog p = {.insn = out};
	size_t n = 0;

	for (size_t i = 0; i < br_nrows; i++)
		if (!br_rows[i].group || (br_rows[i].group & plan->traps))
			rows[n++] = &br_rows[i];
	qsort(rows, n, sizeof *rows, by_number);
	load(&p, offsetof(struct seccomp_data, arch));
	put(&p, (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, NATIVE_ARCH, 1, 0));
	ret(&p, PASS);
	load(&p, offsetof(struct seccomp_data, nr));
	put_tree(&p, plan, rows, n);
	return p.n;
}
