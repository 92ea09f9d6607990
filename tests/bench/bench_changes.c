/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench_changes - one kind of change in the directory DIR, COUNT times, by the names of the C
 * library; for bench_spawn.
 *
 *	bench_changes open|make|move DIR COUNT
 *
 * open: an existing file to write; make: a file, which is removed; move: a file to its other name.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void open_one(void)
{
	int fd = open("there", O_WRONLY | O_CREAT, 0644);

	if (fd < 0)
		exit(1);
	close(fd);
}

static void make_one(void)
{
	int fd = open("new", O_WRONLY | O_CREAT | O_EXCL, 0644);

	if (fd < 0 || close(fd) < 0 || unlink("new") < 0)
		exit(1);
}

static void move_one(void)
{
	static int n;

	if (n++ % 2 ? rename("other", "one") : rename("one", "other"))
		exit(1);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*act)(void);
	} kinds[] = {{"open", open_one}, {"make", make_one}, {"move", move_one}};

	if (argc != 4 || chdir(argv[2]) < 0)
		return 2;
	unlink("new");
	unlink("other");
	close(open("one", O_WRONLY | O_CREAT, 0644));
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (long i = strcmp(kinds[k].name, argv[1]) ? 0 : atol(argv[3]); i > 0; i--)
			kinds[k].act();
	return 0;
}
