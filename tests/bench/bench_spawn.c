/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_spawn - times whole commands against each other in one run.
 *
 *	bench_spawn [-p PREPARE] NAME ROUNDS LABEL=COMMAND...
 *	bench_spawn [-p PREPARE] -i COMMAND NAME ROUNDS LABEL=LAUNCHER...
 *
 * Each round runs every command once, in an order that rotates, so that a slow phase of the
 * machine hits all alike; before each, and not timed, PREPARE. Output goes to /dev/null. With -i
 * the same COMMAND is run by a process that stays below each LAUNCHER (none: bare), so that the
 * start of the launcher is no part of the figure. The first is the base of the ratios.
 *
 * One JSON line each: name, label, median, p10 and minimum in microseconds, the ratio of medians,
 * and the spread: first and third quartile of the ratios to the base of the same round; the same of
 * what each takes longer than the base (added_us). Words are split at spaces; no quoting.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MAX_COMMANDS 16
#define MAX_WORDS    64

extern char **environ;

struct command {
	const char *label;
	char *argv[MAX_WORDS];
	int to, from; /* of the process below the launcher; 0: none */
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

static void die(const char *label, const char *why)
{
	fprintf(stderr, "bench_spawn: %s: %s\n", label, why);
	exit(1);
}

static double spawn_once(const char *label, char *const *words)
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
	rc = posix_spawnp(&pid, words[0], &fa, NULL, words, environ);
	if (rc != 0)
		die(words[0], strerror(rc));
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	posix_spawn_file_actions_destroy(&fa);
	if (status != 0)
		die(label, "the command failed");
	return now_us() - start;
}

/* ---- the process below a launcher ---- */

/* For each byte of standard input the command once, and how long it took. */
static int serve(char *const *words)
{
	char byte;

	while (read(STDIN_FILENO, &byte, 1) == 1) {
		double us = spawn_once("inside", words);

		if (write(STDOUT_FILENO, &us, sizeof us) != sizeof us)
			return 1;
	}
	return 0;
}

static void start_inside(struct command *c, const char *self, char *const *words)
{
	int to[2], from[2], n = 0;
	posix_spawn_file_actions_t fa;
	pid_t pid;

	if (pipe2(to, O_CLOEXEC) < 0 || pipe2(from, O_CLOEXEC) < 0)
		die(c->label, strerror(errno));
	while (c->argv[n])
		n++;
	c->argv[n++] = (char *)(uintptr_t)self;
	c->argv[n++] = (char[]){"--serve"};
	while (*words && n < MAX_WORDS - 1)
		c->argv[n++] = *words++;
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, to[0], 0);
	posix_spawn_file_actions_adddup2(&fa, from[1], 1);
	if (posix_spawnp(&pid, c->argv[0], &fa, NULL, c->argv, environ) != 0)
		die(c->label, "cannot be started");
	posix_spawn_file_actions_destroy(&fa);
	close(to[0]);
	close(from[1]);
	c->to = to[1];
	c->from = from[0];
}

/* ---- rounds ---- */

static double run_once(const struct command *c)
{
	double us;

	if (!c->to)
		return spawn_once(c->label, c->argv);
	if (write(c->to, "x", 1) != 1 || read(c->from, &us, sizeof us) != sizeof us)
		die(c->label, "the command failed inside");
	return us;
}

static void split(char *text, char **words)
{
	char *save = NULL;
	size_t n = 0;

	for (char *w = strtok_r(text, " ", &save); w && n < MAX_WORDS / 2;
	     w = strtok_r(NULL, " ", &save))
		words[n++] = w;
}

static void parse(char *arg, struct command *c, size_t rounds)
{
	char *cmd = strchr(arg, '=');

	if (!cmd)
		die(arg, "LABEL=COMMAND wanted");
	*cmd++ = '\0';
	c->label = arg;
	split(cmd, c->argv);
	c->us = calloc(rounds, sizeof *c->us);
}

static double over(double us, double base)
{
	return us / base;
}

static double added(double us, double base)
{
	return us - base;
}

/* Quartiles of how this command compares to the base, round by round. `us` is by rounds still. */
static void quartiles(const struct command *base, const struct command *c, size_t rounds,
		      double (*compare)(double us, double base), double out[2])
{
	double *v = calloc(rounds, sizeof *v);

	for (size_t r = 0; r < rounds; r++)
		v[r] = compare(c->us[r], base->us[r]);
	qsort(v, rounds, sizeof *v, by_value);
	out[0] = v[rounds / 4];
	out[1] = v[rounds - 1 - rounds / 4];
	free(v);
}

/* Round 0 warms the caches. */
static void measure(struct command *c, size_t n, size_t rounds, const struct command *prepare)
{
	for (size_t r = 0; r <= rounds; r++)
		for (size_t i = 0; i < n; i++) {
			struct command *k = &c[(i + r) % n];
			double us;

			if (prepare->label)
				run_once(prepare);
			us = run_once(k);
			if (r > 0)
				k->us[r - 1] = us;
		}
}

static void report(const char *name, struct command *c, size_t n, size_t rounds)
{
	double spread[MAX_COMMANDS][2], more[MAX_COMMANDS][2], base;

	for (size_t i = 0; i < n; i++) {
		quartiles(&c[0], &c[i], rounds, over, spread[i]);
		quartiles(&c[0], &c[i], rounds, added, more[i]);
	}
	for (size_t i = 0; i < n; i++)
		qsort(c[i].us, rounds, sizeof *c[i].us, by_value);
	base = c[0].us[rounds / 2];
	for (size_t i = 0; i < n; i++)
		printf("{\"name\":\"%s\",\"label\":\"%s\",\"rounds\":%zu,\"median_us\":%.1f,"
		       "\"p10_us\":%.1f,\"min_us\":%.1f,\"ratio\":%.3f,\"q1\":%.3f,\"q3\":%.3f,"
		       "\"added_us\":%.1f,\"added_q1\":%.1f,\"added_q3\":%.1f}\n",
		       name, c[i].label, rounds, c[i].us[rounds / 2], c[i].us[rounds / 10],
		       c[i].us[0], c[i].us[rounds / 2] / base, spread[i][0], spread[i][1],
		       c[i].us[rounds / 2] - base, more[i][0], more[i][1]);
}

int main(int argc, char **argv)
{
	static struct command c[MAX_COMMANDS], prepare, inside;
	size_t n = 0, rounds;
	int opt;

	if (argc > 2 && !strcmp(argv[1], "--serve"))
		return serve(argv + 2);
	while ((opt = getopt(argc, argv, "+p:i:")) != -1) {
		struct command *k = opt == 'p' ? &prepare : &inside;

		if (opt == '?')
			return 2;
		k->label = opt == 'p' ? "prepare" : "inside";
		split(optarg, k->argv);
	}
	if (argc - optind < 3 || argc - optind - 2 > MAX_COMMANDS)
		die("usage", "[-p PREPARE] [-i COMMAND] NAME ROUNDS LABEL=COMMAND...");
	rounds = strtoul(argv[optind + 1], NULL, 10);
	if (rounds < 1)
		return 2;
	for (int i = optind + 2; i < argc; i++)
		parse(argv[i], &c[n++], rounds);
	for (size_t i = 0; inside.label && i < n; i++)
		start_inside(&c[i], argv[0], inside.argv);
	measure(c, n, rounds, &prepare);
	report(argv[optind], c, n, rounds);
	return 0;
}
