/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_spawn - times whole commands against each other in one run.
 *
 *	bench_spawn NAME ROUNDS LABEL=COMMAND...
 *
 * Each round runs every command once, in an order that rotates, so that a slow phase of the
 * machine hits all alike. Output goes to /dev/null. The first command is the base of the
 * ratios. One JSON line a command: name, label, median, p10 and minimum in microseconds, and
 * the ratio of medians. COMMAND is split at spaces; no quoting.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#define MAX_COMMANDS 16
#define MAX_WORDS    64

extern char **environ;

struct command {
	const char *label;
	char *argv[MAX_WORDS];
	double *us;
};

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double run_once(const struct command *c)
{
	posix_spawn_file_actions_t fa;
	double start;
	pid_t pid;
	int status, rc;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&fa, 2, "/dev/null", O_WRONLY, 0);
	start = now_us();
	rc = posix_spawnp(&pid, c->argv[0], &fa, NULL, c->argv, environ);
	if (rc != 0) {
		fprintf(stderr, "bench_spawn: %s: %s\n", c->argv[0], strerror(rc));
		exit(1);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	posix_spawn_file_actions_destroy(&fa);
	if (status != 0) {
		fprintf(stderr, "bench_spawn: %s: status 0x%x\n", c->label, (unsigned)status);
		exit(1);
	}
	return now_us() - start;
}

static void parse(char *arg, struct command *c, size_t rounds)
{
	char *cmd = strchr(arg, '='), *save = NULL;
	size_t n = 0;

	if (!cmd) {
		fprintf(stderr, "bench_spawn: LABEL=COMMAND wanted, not %s\n", arg);
		exit(2);
	}
	*cmd++ = '\0';
	c->label = arg;
	for (char *w = strtok_r(cmd, " ", &save); w && n < MAX_WORDS - 1;
	     w = strtok_r(NULL, " ", &save))
		c->argv[n++] = w;
	c->us = calloc(rounds, sizeof *c->us);
}

int main(int argc, char **argv)
{
	static struct command c[MAX_COMMANDS];
	size_t n = 0, rounds;
	double base;

	if (argc < 4 || argc - 3 > MAX_COMMANDS) {
		fprintf(stderr, "usage: bench_spawn NAME ROUNDS LABEL=COMMAND...\n");
		return 2;
	}
	rounds = strtoul(argv[2], NULL, 10);
	if (rounds < 1)
		return 2;
	for (int i = 3; i < argc; i++)
		parse(argv[i], &c[n++], rounds);
	for (size_t i = 0; i < n; i++)
		run_once(&c[i]); /* warm caches */
	for (size_t r = 0; r < rounds; r++)
		for (size_t i = 0; i < n; i++) {
			struct command *k = &c[(i + r) % n];

			k->us[r] = run_once(k);
		}
	for (size_t i = 0; i < n; i++)
		qsort(c[i].us, rounds, sizeof *c[i].us, by_value);
	base = c[0].us[rounds / 2];
	for (size_t i = 0; i < n; i++)
		printf("{\"name\":\"%s\",\"label\":\"%s\",\"rounds\":%zu,\"median_us\":%.1f,"
		       "\"p10_us\":%.1f,\"min_us\":%.1f,\"ratio\":%.3f}\n",
		       argv[1], c[i].label, rounds, c[i].us[rounds / 2], c[i].us[rounds / 10],
		       c[i].us[0], c[i].us[rounds / 2] / base);
	return 0;
}
