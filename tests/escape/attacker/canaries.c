/* SPDX-License-Identifier: Apache-2.0 */
/* canaries.c - looking for canaries inside, and what is done with what was found. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

const char *const ak_find_names[AK_F_COUNT] = {
	[AK_F_CONTENT] = "content", [AK_F_NAME] = "name",
	[AK_F_DAC] = "permission",  [AK_F_NOFD] = "no-descriptor",
	[AK_F_MODE] = "mode",	    [AK_F_PROCESS] = "process",
	[AK_F_SOCKET] = "socket",   [AK_F_NETWORK] = "network",
	[AK_F_CHANGED] = "changed", [AK_F_CREATED] = "created",
	[AK_F_REMOVED] = "removed", [AK_F_LAUNDERED] = "laundered",
	[AK_F_DIED] = "died",	    [AK_F_UNRECORDED] = "unrecorded",
	[AK_F_UNTRUE] = "untrue",
};

void ak_found(enum ak_find kind, unsigned op, const char *fmt, ...)
{
	struct ak_outcome *o = &ak_arena->outcome;
	uint32_t at = atomic_fetch_add(&ak_arena->lock, 1);
	va_list ap;

	if (at >= AK_FINDINGS)
		return;
	o->found[at].kind = (uint8_t)kind;
	o->found[at].op = (uint8_t)op;
	va_start(ap, fmt);
	vsnprintf(o->found[at].text, sizeof o->found[at].text, fmt, ap);
	va_end(ap);
}

static bool is_token(const unsigned char *p, const unsigned char *turned)
{
	for (unsigned i = 0; i < AK_TOKEN; i++)
		if ((p[i] ^ turned[i]) != 0xff)
			return false;
	return true;
}

void ak_scan(const void *data, size_t n, unsigned op, const char *by)
{
	static const enum ak_find kinds[] = {AK_F_CONTENT, AK_F_NAME, AK_F_DAC};
	const unsigned char *p = data;

	for (size_t i = 0; i + AK_TOKEN + 3 <= n; i++)
		for (unsigned k = 0; k < 3; k++) {
			if (!is_token(p + i, ak.token[k]))
				continue;
			if (k == 2 && !ak_arena->outcome.was_nobody)
				continue;
			ak_found(kinds[k], op, "canary %.3s by %s", (const char *)p + i + AK_TOKEN,
				 by);
			return;
		}
}

static void scan_entries(struct ak_thread *t, int fd, unsigned op, const char *by)
{
	long n;

	lseek(fd, 0, SEEK_SET);
	while ((n = syscall(SYS_getdents64, fd, t->room, AK_ROOM)) > 0)
		ak_scan(t->room, (size_t)n, op, by);
}

/* A mapping is read by way of a pipe, so that the end of the file is no fault. */
static void scan_mapping(struct ak_thread *t, int fd, int how, unsigned op, const char *by)
{
	const size_t size = 8192;
	void *p = mmap(NULL, size, PROT_READ, how, fd, 0);
	int pipes[2];
	ssize_t n;

	if (p == MAP_FAILED)
		return;
	if (pipe2(pipes, O_NONBLOCK | O_CLOEXEC) == 0) {
		n = write(pipes[1], p, size);
		n = n > 0 ? read(pipes[0], t->room, AK_ROOM) : n;
		if (n > 0)
			ak_scan(t->room, (size_t)n, op, by);
		close(pipes[0]);
		close(pipes[1]);
	}
	munmap(p, size);
}

/* A descriptor that can write to what may not be changed: found before anything is written. With
 * access mode 3 the kernel opens for ioctl(2) alone, neither to read nor to write. */
static void judge_writer(const char *path, int flags, unsigned op)
{
	size_t n = strlen(ak.base);

	if ((flags & O_ACCMODE) == O_RDONLY || (flags & O_ACCMODE) == O_ACCMODE ||
	    strncmp(path, ak.base, n) != 0 || path[n] != '/')
		return;
	if (!strncmp(path + n + 1, "state/", 6)) /* inherited: the log of the run */
		return;
	if (ak_rules((enum ak_policy)ak.policy, path + n + 1) & AK_NO_MODIFY)
		ak_found(AK_F_CHANGED, op, "%.60s was opened for writing", path + n + 1);
}

/* It has ended, and its parent does not ask. */
static bool has_no_memory(int pid)
{
	char path[40], text[300];
	const char *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	state = strrchr(text, ')');
	return state && (state[2] == 'Z' || state[2] == 'X');
}

/* A file of a process that is not the run's, or of the broker's own: what only who may trace it may
 * open. `path` is what the descriptor is called. */
void ak_judge_fd(int fd, unsigned op)
{
	static const char *const closed[] = {"mem",   "environ", "maps", "auxv",
					     "smaps", "root",	 "cwd",	 "pagemap"};
	char link[40], path[256], comm[64], name[32] = "", what[64] = "";
	int flags = fcntl(fd, F_GETFL), pid;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	if (flags < 0 || flags & O_PATH || n < 0)
		return;
	path[n] = '\0';
	judge_writer(path, flags, op);
	if (sscanf(path, "/proc/%d/%63[a-z]", &pid, what) != 2)
		return;
	snprintf(comm, sizeof comm, "/proc/%d/comm", pid);
	fd = open(comm, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	n = read(fd, name, sizeof name - 1);
	close(fd);
	if (has_no_memory(pid))
		return; /* anybody may open what has nothing in it */
	if (n <= 0 || (strncmp(name, "sbx-", 4) != 0 && pid != ak.host_pid))
		return;
	for (unsigned i = 0; i < sizeof closed / sizeof *closed; i++)
		if (!strcmp(what, closed[i]))
			ak_found(AK_F_PROCESS, op, "%.60s of %.20s was opened", path, name);
}

void ak_scan_fd(struct ak_thread *t, int fd, unsigned op, const char *by)
{
	struct stat st;
	ssize_t n;

	if (fstat(fd, &st) < 0)
		return;
	ak_judge_fd(fd, op);
	if (S_ISDIR(st.st_mode)) {
		scan_entries(t, fd, op, by);
		return;
	}
	if (S_ISSOCK(st.st_mode)) {
		n = recv(fd, t->room, AK_ROOM, MSG_DONTWAIT);
	} else if (S_ISREG(st.st_mode)) {
		n = pread(fd, t->room, AK_ROOM, 0);
		if (n > 0)
			ak_scan(t->room, (size_t)n, op, by);
		if (n < 0) /* what cannot be read may be mapped, some day */
			scan_mapping(t, fd, MAP_SHARED, op, by);
		return;
	} else {
		int flags = fcntl(fd, F_GETFL);

		fcntl(fd, F_SETFL, flags | O_NONBLOCK);
		n = read(fd, t->room, AK_ROOM);
	}
	if (n > 0)
		ak_scan(t->room, (size_t)n, op, by);
}

/* Everything that is open at the end, and opened once more by its name in /proc. */
void ak_sweep(struct ak_thread *t)
{
	static const int again[] = {O_RDONLY, O_RDWR, O_RDONLY | O_DIRECTORY};
	char path[40];

	for (int fd = 3; fd < AK_SLOT + AK_SLOTS; fd++) {
		if (fcntl(fd, F_GETFD) < 0)
			continue;
		ak_scan_fd(t, fd, AK_AFTERWARDS, "an open descriptor");
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		for (unsigned i = 0; i < sizeof again / sizeof *again; i++) {
			int more = open(path, again[i] | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);

			if (more < 0)
				continue;
			ak_scan_fd(t, more, AK_AFTERWARDS, "a descriptor opened again");
			close(more);
		}
	}
}
