/* SPDX-License-Identifier: Apache-2.0 */
/* marks.c - see marks.h. */
#include "launcher/linux/run/marks.h"

#ifdef SBX_MARKS
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { MARKS_MAX = 64 };

static struct {
	const char *name;
	double us;
} marks[MARKS_MAX];
static int count;

void lau_mark(const char *name)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	if (count == MARKS_MAX)
		return;
	marks[count].name = name;
	marks[count++].us = (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

void lau_marks_print(void)
{
	for (int i = 1; i < count; i++)
		dprintf(STDERR_FILENO, "mark %s %.1f\n", marks[i].name,
			marks[i].us - marks[i - 1].us);
}
#endif
