/* SPDX-License-Identifier: Apache-2.0 */
/* probes.c - see probes.h. */
#include "selftest/probes.h"

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

static const char *base = ".";

void st_base(const char *dir)
{
	base = dir;
}

const char *st_at(const char *rel)
{
	static char buf[4][512];
	static unsigned turn;
	char *out = buf[turn++ % 4];

	snprintf(out, sizeof buf[0], "%s/%s", base, rel);
	return out;
}

const struct st_outside *st_outside(void)
{
	static struct st_outside o;
	FILE *f;
	int pid;

	if (o.pid)
		return &o;
	f = fopen(st_at("run/outside"), "re");
	if (!f ||
	    fscanf(f, "%d %lu %d %d %d", &pid, &o.marker, &o.secret_fd, &o.tcp, &o.udp) != 5) {
		fprintf(stderr, "probe: the process outside was not started\n");
		exit(2);
	}
	fclose(f);
	o.pid = pid;
	return &o;
}

int st_reads_secret(int fd)
{
	char buf[4096];
	ssize_t n;

	if (fd < 0)
		return -1;
	n = read(fd, buf, sizeof buf);
	if (n < 0)
		return -1;
	errno = ENODATA;
	return memmem(buf, (size_t)n, ST_SECRET, strlen(ST_SECRET)) ? 0 : -1;
}

int st_writes(int fd)
{
	if (fd < 0 || write(fd, "x", 1) != 1)
		return -1;
	return close(fd);
}

static const struct st_probe *const tables[] = {st_file_probes, st_change_probes, st_process_probes,
						st_system_probes, st_race_probes};

const struct st_probe *st_probe_at(size_t i)
{
	for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
		for (const struct st_probe *p = tables[t]; p->name; p++)
			if (i-- == 0)
				return p;
	return NULL;
}

int st_run(const char *name)
{
	const struct st_probe *p;

	for (size_t i = 0; (p = st_probe_at(i)); i++) {
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

static FILE *to; /* nftw(3) takes no context */

static int show_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	char buf[64] = "";
	int fd;

	(void)ftw;
	fprintf(to, "%s %d %o %lld %d %lu", path, type, st->st_mode, (long long)st->st_size,
		(int)st->st_uid, (unsigned long)st->st_ino);
	if (S_ISREG(st->st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || read(fd, buf, sizeof buf - 1) < 0)
			return -1;
		close(fd);
		fprintf(to, " %s", buf);
	}
	putc('\n', to);
	return 0;
}

static int show_process(void)
{
	pid_t pid = st_outside()->pid;
	struct rlimit lim;
	cpu_set_t set;

	if (prlimit(pid, RLIMIT_NOFILE, NULL, &lim) < 0 ||
	    sched_getaffinity(pid, sizeof set, &set) < 0)
		return -1;
	fprintf(to, "outside %llu %d %d %d\n", (unsigned long long)lim.rlim_cur,
		getpriority(PRIO_PROCESS, (id_t)pid), sched_getscheduler(pid), CPU_COUNT(&set));
	return 0;
}

int st_state(FILE *out)
{
	to = out;
	if (nftw(st_at("out"), show_entry, 16, FTW_PHYS) < 0 ||
	    nftw(st_at("home"), show_entry, 16, FTW_PHYS) < 0)
		return -1;
	return show_process();
}
