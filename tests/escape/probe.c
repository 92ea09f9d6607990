/*
 * probe.c - main() of the escape probes: one static program, so that nothing preloaded is on
 * the way of an attack.
 *
 *	probe list             name and needs, a line each
 *	probe setup DIR        a fresh fixture
 *	probe state DIR        what the outside looks like, to be compared before and after
 *	probe outside DIR      the process outside; until its standard input closes
 *	probe run DIR NAME     the attack: 0 it worked, 1 refused, 2 no such thing
 */
#include "tests/escape/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *base;

const char *at(const char *rel)
{
	static char buf[4][512];
	static unsigned turn;
	char *out = buf[turn++ % 4];

	snprintf(out, sizeof buf[0], "%s/%s", base, rel);
	return out;
}

const struct outside *outside(void)
{
	static struct outside o;
	FILE *f;
	int pid;

	if (o.pid)
		return &o;
	f = fopen(at("run/outside"), "re");
	if (!f ||
	    fscanf(f, "%d %lu %d %d %d", &pid, &o.marker, &o.secret_fd, &o.tcp, &o.udp) != 5) {
		fprintf(stderr, "probe: no outside process\n");
		exit(2);
	}
	fclose(f);
	o.pid = pid;
	return &o;
}

int reads_secret(int fd)
{
	char buf[4096];
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, sizeof buf);
	if (n < 0)
		return -1;
	errno = ENODATA;
	return memmem(buf, (size_t)n, SECRET, strlen(SECRET)) ? 0 : -1;
}

int writes(int fd)
{
	if (fd < 0 || write(fd, "x", 1) != 1)
		return -1;
	return close(fd);
}

static const struct probe *const tables[] = {file_probes, process_probes, system_probes};

static int list(void)
{
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct probe *p = tables[t]; p->name; p++)
			printf("%s%s%s%s%s\n", p->name, p->needs & NEEDS_ROOT ? " root" : "",
			       p->needs & NEEDS_HOST ? " host" : "",
			       p->needs & NEEDS_TTY ? " tty" : "",
			       p->needs & NEEDS_DENY ? " deny" : "");
	return 0;
}

static int run(const char *name)
{
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct probe *p = tables[t]; p->name; p++) {
			if (strcmp(p->name, name) != 0)
				continue;
			errno = 0;
			if (p->attack() == 0)
				return 0;
			fprintf(stderr, "%s: %s\n", name, strerror(errno));
			return 1;
		}
	fprintf(stderr, "probe: no probe named %s\n", name);
	return 2;
}

static int show_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char buf[64] = "";
	int fd;

	(void)ftw;
	printf("%s %d %o %lld %d %lu", path, type, st->st_mode, (long long)st->st_size,
	       (int)st->st_uid, (unsigned long)st->st_ino);
	if (S_ISREG(st->st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, buf, sizeof buf - 1) < 0)
			return -1;
		close(fd);
		printf(" %s", buf);
	}
	putchar('\n');
	return 0;
}

static int show_process(void)
{
	pid_t pid = outside()->pid;
	struct rlimit lim;
	cpu_set_t set;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &lim) < 0 ||
	    sched_getaffinity(pid, sizeof set, &set) < 0)
		return -1;
	printf("outside %llu %d %d %d\n", (unsigned long long)lim.rlim_cur,
	       getpriority(PRIO_PROCESS, (id_t)pid), sched_getscheduler(pid), CPU_COUNT(&set));
	return 0;
}

static int show_state(void)
{
	if (nftw(at("out"), show_entry, 16, FTW_PHYS) < 0 ||
	    nftw(at("home"), show_entry, 16, FTW_PHYS) < 0)
		return 2;
	return show_process() < 0 ? 2 : 0;
}

int main(int argc, char **argv)
{
	const char *verb = argc > 1 ? argv[1] : "";

	if (!strcmp(verb, "list"))
		return list();
	if (argc < 3) {
		fprintf(stderr, "usage: probe list | setup|state|outside DIR | run DIR NAME\n");
		return 2;
	}
	base = argv[2];
	if (!strcmp(verb, "outside"))
		return serve_outside();
	if (!strcmp(verb, "state"))
		return show_state();
	if (!strcmp(verb, "run") && argc == 4)
		return run(argv[3]);
	if (strcmp(verb, "setup") != 0)
		return 2;
	if (make_fixture() == 0)
		return 0;
	perror("probe: setup");
	return 2;
}
