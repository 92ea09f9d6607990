/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ends.c - how processes of the run end, as the kernel reports through a pidfd (Linux 6.15,
 * PIDFD_GET_INFO). The collector learns of a process some milliseconds after its start: a process
 * that has ended by then is not seen here, and its shim has reported its status.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/mem.h"
#include "launcher/run/os.h"

enum { WATCHED_MAX = 256 };

/* Newer than the headers of Debian 12; include/uapi/linux/pidfd.h and nsfs.h. */
struct pidfd_info_v0 {
	uint64_t mask, cgroupid;
	uint32_t pid, tgid, ppid, ids[8];
	int32_t exit_code; /* as wait(2) has it */
};
_Static_assert(sizeof(struct pidfd_info_v0) == 64, "PIDFD_INFO_SIZE_VER0");
#define GET_INFO	_IOWR(0xff, 11, struct pidfd_info_v0) /* PIDFD_GET_INFO, 6.13 */
#define INFO_EXIT	(UINT64_C(1) << 3)		      /* PIDFD_INFO_EXIT, 6.15 */
#define PID_FROM_INSIDE _IOR(0xb7, 6, int)		      /* NS_GET_PID_FROM_PIDNS, 6.11 */

struct lau_ends {
	int space; /* the run's pid namespace; -1 = it has ours */
	size_t n, max;
	uint32_t pid[WATCHED_MAX];
	struct pollfd fds[WATCHED_MAX];
};

enum answer { ENDED, NOT_YET, NEVER, NO_SUCH_CALL };

/* NEVER: it was waited for, and this kernel does not remember. */
static enum answer ask(int fd, int *out_status)
{
	struct pidfd_info_v0 info = {.mask = INFO_EXIT};

	if (ioctl(fd, GET_INFO, &info) < 0)
		return errno == ESRCH ? NEVER : NO_SUCH_CALL;
	if (!(info.mask & INFO_EXIT))
		return NOT_YET;
	*out_status = info.exit_code;
	return ENDED;
}

/* The descriptors that the launcher needs itself come first. */
static size_t room(void)
{
	struct rlimit lim;

	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur / 4 >= WATCHED_MAX)
		return WATCHED_MAX;
	return lim.rlim_cur / 4;
}

struct lau_ends *lau_os_ends_new(pid_t init)
{
	struct lau_ends *e;
	char path[64];
	int space = -1;

	if (init > 0) {
		snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)init);
		space = open(path, O_RDONLY | O_CLOEXEC);
		if (space < 0)
			return NULL;
	}
	e = b_calloc(1, sizeof *e);
	e->space = space;
	e->max = room();
	return e;
}

void lau_os_ends_free(struct lau_ends *e)
{
	if (!e)
		return;
	for (size_t i = 0; i < e->n; i++)
		close(e->fds[i].fd);
	if (e->space >= 0)
		close(e->space);
	free(e);
}

/* aud_ends.watch: of one that is gone by now nothing is known. */
void lau_os_ends_watch(void *ends, uint32_t pid)
{
	struct lau_ends *e = ends;
	int fd;

	if (e->n == e->max)
		return;
	for (size_t i = 0; i < e->n; i++)
		if (e->pid[i] == pid)
			return;
	if (e->space >= 0) {
		int outside = ioctl(e->space, PID_FROM_INSIDE, (unsigned long)pid);

		if (outside <= 0)
			return;
		fd = (int)syscall(SYS_pidfd_open, outside, 0);
	} else {
		fd = (int)syscall(SYS_pidfd_open, pid, 0);
	}
	if (fd < 0)
		return;
	e->pid[e->n] = pid;
	e->fds[e->n++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

static void forget(struct lau_ends *e, size_t i)
{
	close(e->fds[i].fd);
	e->n--;
	e->fds[i] = e->fds[e->n];
	e->pid[i] = e->pid[e->n];
}

/* aud_ends.next: a process that nobody has waited for yet is asked again the next time. */
bool lau_os_ends_next(void *ends, uint32_t *out_pid, int *out_status)
{
	struct lau_ends *e = ends;

	if (!e->n || poll(e->fds, e->n, 0) <= 0)
		return false;
	for (size_t i = e->n; i-- > 0;) {
		enum answer a = e->fds[i].revents ? ask(e->fds[i].fd, out_status) : NOT_YET;

		*out_pid = e->pid[i];
		if (a != NOT_YET)
			forget(e, i);
		if (a == NO_SUCH_CALL)
			e->max = 0; /* an older kernel: no more of them */
		if (a == ENDED)
			return true;
	}
	return false;
}
