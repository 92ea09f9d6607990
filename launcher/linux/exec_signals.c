/* exec_signals.c - see exec_signals.h. The handlers are the process's, so their state is, too. */
#include "launcher/linux/exec_signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#include "base/err.h"

#define HELD 2

static const int held[HELD] = {SIGINT, SIGTERM};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned holders;	      /* under the lock */
static struct sigaction before[HELD]; /* under the lock */

/* How many came, times 256, and which was the last. */
static _Atomic uint64_t came;

static void note(int signo)
{
	uint64_t old = came;

	while (!atomic_compare_exchange_weak(&came, &old, ((old >> 8) + 1) << 8 | (unsigned)signo))
		;
}

static void put_back(int n)
{
	while (n-- > 0)
		(void)sigaction(held[n], &before[n], NULL);
}

static int install(struct b_err *err)
{
	struct sigaction act = {.sa_handler = note, .sa_flags = SA_RESTART};

	sigemptyset(&act.sa_mask);
	for (int i = 0; i < HELD; i++) {
		if (sigaction(held[i], &act, &before[i]) < 0) {
			b_fail(err, B_SYSTEM, errno, "handler of signal %d: %s", held[i],
			       strerror(errno));
			put_back(i);
			return -1;
		}
	}
	return 0;
}

int lau_exec_signals_hold(uint64_t *out_mark, struct b_err *err)
{
	int rc;

	pthread_mutex_lock(&lock);
	rc = holders > 0 ? 0 : install(err);
	if (rc == 0) {
		holders++;
		*out_mark = came;
	}
	pthread_mutex_unlock(&lock);
	return rc;
}

void lau_exec_signals_drop(void)
{
	pthread_mutex_lock(&lock);
	if (--holders == 0)
		put_back(HELD);
	pthread_mutex_unlock(&lock);
}

int lau_exec_signals_since(uint64_t mark)
{
	uint64_t now = came;

	return now != mark ? (int)(now & 0xff) : 0;
}
