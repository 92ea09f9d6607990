/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lineage.c - processes that are hard to find in /proc. All keep standard output open: who reads
 * its other end sees when the last has ended. They end by themselves when nobody has the other end,
 * or after two minutes.
 *
 *	lineage generations N	N lineages in sessions of their own, in which each generation
 *				makes the next and ends
 *	lineage headless	a process whose first thread has ended; another goes on
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SECONDS = 120, TURNS = 1000 };

/* Does somebody wait for the end, within this time? */
static int is_read(int ms)
{
	struct pollfd out = {.fd = STDOUT_FILENO};

	return poll(&out, 1, ms) == 0;
}

static void generations(void)
{
	time_t end = time(NULL) + SECONDS;

	while (time(NULL) < end) {
		if (fork() > 0 || !is_read(0))
			_exit(0);
		for (volatile int i = 0; i < TURNS; i++)
			;
	}
	_exit(0);
}

static void *go_on(void *unused)
{
	(void)unused;
	(void)is_read(SECONDS * 1000);
	_exit(0);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 0;
	pthread_t other;

	(void)signal(SIGCHLD, SIG_IGN); /* nobody waits for a generation */
	if (argc == 2 && !strcmp(argv[1], "headless") && fork() == 0) {
		(void)setsid();
		if (pthread_create(&other, NULL, go_on, NULL) != 0)
			return 2;
		pthread_exit(NULL);
	}
	for (int i = 0; i < n; i++) {
		if (fork() == 0) {
			(void)setsid();
			generations();
		}
	}
	puts("ready");
	(void)fflush(stdout);
	return is_read(SECONDS * 1000);
}
