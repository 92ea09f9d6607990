/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim_stress_check - compares what shim_stress has completed with what was told: reads a log on
 * standard input, of mkchannel's lines or of JSON lines, and DIR/counts:
 *
 *	shim_stress_check DIR
 *
 * Every completed record is in the log, or counted as lost at a full ring; none is there twice,
 * and none that was not begun. The sum of what was told and what was counted as lost is exact in
 * mkchannel's lines, where each call is a line of its own, and where there were records only.
 * Status 0 = so it is.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/probe/stress.h"

/* One bit for each record of a slot that was told. */
struct seen {
	unsigned char *bits;
	size_t bytes;
};

static struct {
	struct seen slots[STRESS_SLOTS];
	uint64_t told, calls, twice, unknown, lost;
	bool is_json;
} t;

static const struct stress_counts *map_counts(const char *dir)
{
	char path[4096];
	void *p;
	int fd;

	snprintf(path, sizeof path, "%s/counts", dir);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	p = fd < 0 ? MAP_FAILED
		   : mmap(NULL, sizeof(struct stress_counts), PROT_READ, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror(path);
		exit(2);
	}
	close(fd);
	return p;
}

static void see(unsigned slot, uint32_t n)
{
	struct seen *s = slot < STRESS_SLOTS ? &t.slots[slot] : NULL;
	size_t byte = n / 8, bytes;

	if (!s || n > 1u << 30) {
		t.unknown++;
		return;
	}
	if (byte >= s->bytes) {
		bytes = byte * 2 + 64;
		s->bits = realloc(s->bits, bytes);
		if (!s->bits)
			abort();
		memset(s->bits + s->bytes, 0, bytes - s->bytes);
		s->bytes = bytes;
	}
	t.twice += s->bits[byte] >> n % 8 & 1;
	s->bits[byte] |= (unsigned char)(1u << n % 8);
	t.told++;
}

static bool was_seen(const struct seen *s, uint32_t n)
{
	return n / 8 < s->bytes && s->bits[n / 8] >> n % 8 & 1;
}

/* What follows DIR in a path of the workload: the end, or one of its two directories. */
static bool is_counted(const char *rest)
{
	return !*rest || *rest == '\t' || *rest == '\n' || !strncmp(rest, "/ok", 3) ||
	       !strncmp(rest, "/no", 3);
}

static void take_losses(const char *line)
{
	const char *p = strstr(line, t.is_json ? "\"lost\":" : "lost=");
	bool is_told =
		t.is_json ? strstr(line, "\"kind\":\"gap\"") != NULL : !strncmp(line, "TROUBLE", 7);

	if (is_told && p)
		t.lost += strtoull(p + (t.is_json ? 7 : 5), NULL, 10);
}

/* What follows DIR in the line's path; JSON lines have it relative to the workspace. */
static const char *rest_of_path(const char *line, const char *dir)
{
	const char *p = strstr(line, t.is_json ? "/ok/" : dir);

	return p && !t.is_json ? p + strlen(dir) : p;
}

static void take_line(const char *line, const char *dir)
{
	const char *p = rest_of_path(line, dir);
	unsigned slot, n;

	if (!p) {
		take_losses(line);
		return;
	}
	if (!strncmp(p, "/ok/rec.", 8) && sscanf(p + 8, "%u.%u", &slot, &n) == 2)
		see(slot, n);
	else
		t.calls += is_counted(p);
}

/* A thread ends when its last record is complete; a killed writer may have told one more. */
static uint64_t missing_of(const struct stress_counts *c, unsigned slot, uint64_t *out_more)
{
	const struct seen *s = &t.slots[slot];
	uint32_t n, done = atomic_load(&c->done[slot]);
	uint64_t missing = 0;

	for (n = 0; n < done; n++)
		missing += !was_seen(s, n);
	for (n = done; n / 8 < s->bytes; n++)
		if (was_seen(s, n))
			*(n == done && slot >= STRESS_THREADS ? out_more : &t.unknown) += 1;
	return missing;
}

static bool want(bool is_so, const char *what)
{
	if (!is_so)
		fprintf(stderr, "shim_stress_check: %s\n", what);
	return is_so;
}

int main(int argc, char **argv)
{
	uint64_t completed = 0, missing = 0, more = 0, calls, gone, open_end;
	const struct stress_counts *c;
	unsigned i, slots;
	char *line = NULL;
	size_t size = 0;
	bool good, is_exact;

	if (argc != 2)
		return 2;
	while (getline(&line, &size, stdin) > 0) {
		t.is_json = *line == '{';
		take_line(line, argv[1]);
	}
	c = map_counts(argv[1]); /* now: the log may come from a pipe */
	slots = atomic_load(&c->slots);
	for (i = 0; i < slots && i < STRESS_SLOTS; i++) {
		completed += atomic_load(&c->done[i]);
		missing += missing_of(c, i, &more);
	}
	calls = atomic_load(&c->calls);
	is_exact = !t.is_json || !calls;
	gone = t.is_json ? missing : missing + calls - t.calls;
	printf("%llu records of %u writers, %u of them killed, and %llu other calls completed; "
	       "%llu records and %llu calls told; lost by count: %llu, by comparison: %llu\n",
	       (unsigned long long)completed, slots, slots - STRESS_THREADS,
	       (unsigned long long)calls, (unsigned long long)t.told, (unsigned long long)t.calls,
	       (unsigned long long)t.lost, (unsigned long long)gone);
	good = want(completed > 0 && t.told > 0, "there was no work");
	good &= want(!t.twice, "records were told twice");
	good &= want(!t.unknown, "records were told that nobody wrote");
	good &= want(t.is_json || t.calls <= calls, "calls were told that nobody made");
	good &= want(gone <= t.lost, "completed records are lost and not counted");
	/* the first program's start and end are not among the calls, nor the last record of the
	 * killed, nor the ends of the others, which are told where there is room */
	open_end = slots - STRESS_THREADS - more + 3 + atomic_load(&c->ends);
	good &= want(!is_exact || t.lost <= gone + open_end,
		     "more was counted as lost than there was");
	return !good;
}
