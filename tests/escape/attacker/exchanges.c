/* SPDX-License-Identifier: Apache-2.0 */
/* exchanges.c - operations that pass something on: descriptors, what goes over sockets, signals;
 * and what the answer to a call must be. */
#include "composites.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define ARG(i) ak_argument(t, op, (i))

/* ---- descriptors passed on ---- */

long ak_op_send_fd(struct ak_thread *t, const struct ak_op *op)
{
	int fd = (int)ARG(0);
	struct iovec io = {(char[]){"x"}, 1};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} u = {.head = {.cmsg_len = CMSG_LEN(sizeof(int)),
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS}};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = u.room,
			   .msg_controllen = sizeof u.room};

	(void)t;
	memcpy(CMSG_DATA(&u.head), &fd, sizeof fd);
	return sendmsg(AK_SLOT + 9, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
}

long ak_op_receive_fd(struct ak_thread *t, const struct ak_op *op)
{
	struct iovec io = {t->room, 64};
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = u.room,
			   .msg_controllen = sizeof u.room};
	ssize_t n = recvmsg(AK_SLOT + 10, &m, MSG_DONTWAIT);
	int fd;

	if (n < 0 || !CMSG_FIRSTHDR(&m))
		return n;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
	ak_scan_fd(t, fd, t->op, "a received descriptor");
	ak_take_fd(t, fd, op->v[0]);
	return 0;
}

long ak_op_dup_to(struct ak_thread *t, const struct ak_op *op)
{
	int to = (int)ARG(1);

	return to < AK_SLOT ? -1 : dup2((int)ARG(0), to);
}

/* ---- sockets ---- */

static long talk(struct ak_thread *t, int fd, unsigned op)
{
	ssize_t n = send(fd, AK_WORD_ATTACK, AK_WORD, MSG_DONTWAIT | MSG_NOSIGNAL);
	struct pollfd p = {.fd = fd, .events = POLLIN};

	if (n < 0)
		return n;
	if (poll(&p, 1, 5) > 0 && (n = recv(fd, t->room, AK_ROOM, MSG_DONTWAIT)) > 0)
		ak_scan(t->room, (size_t)n, op, "a socket");
	return 0;
}

static int family_of(const struct sockaddr *a)
{
	return a->sa_family == AF_INET || a->sa_family == AF_INET6 ? a->sa_family : AF_UNIX;
}

long ak_op_stream_to(struct ak_thread *t, const struct ak_op *op)
{
	const struct sockaddr *a = (const void *)ARG(0);
	int fd = socket(family_of(a), SOCK_STREAM | (op->v[1] % 4 ? SOCK_NONBLOCK : 0), 0);
	long rc;

	if (fd < 0)
		return -1;
	rc = syscall(SYS_connect, fd, a, t->addr_len);
	if (rc == 0 || errno == EINPROGRESS)
		rc = talk(t, fd, t->op);
	ak_take_fd(t, fd, op->v[2]);
	return rc;
}

/* Pairs that keep messages apart, and what they can send to besides each other. */
long ak_op_pair(struct ak_thread *t, const struct ak_op *op)
{
	static const int types[] = {SOCK_DGRAM,	 SOCK_DGRAM | SOCK_CLOEXEC,  SOCK_SEQPACKET,
				    SOCK_STREAM, SOCK_DGRAM | SOCK_NONBLOCK, SOCK_DGRAM | 0x100};
	const struct sockaddr *a = (const void *)ARG(1);
	int pair[2];
	long rc = syscall(SYS_socketpair, AF_UNIX, types[op->v[0] % 6], op->v[2] % 8 ? 0 : 2,
			  op->v[2] % 11 ? (long)pair : 0x1000);

	if (rc < 0)
		return rc;
	(void)!sendto(pair[0], "ATTACK", 6, MSG_DONTWAIT | MSG_NOSIGNAL, a, t->addr_len);
	(void)!syscall(SYS_connect, pair[1], a, t->addr_len);
	(void)!send(pair[1], "ATTACK", 6, MSG_DONTWAIT | MSG_NOSIGNAL);
	ak_take_fd(t, pair[0], op->v[3]);
	ak_take_fd(t, pair[1], op->v[4]);
	return 0;
}

long ak_op_serve_at(struct ak_thread *t, const struct ak_op *op)
{
	const struct sockaddr *a = (const void *)ARG(0);
	int fd = socket(family_of(a), SOCK_STREAM | SOCK_NONBLOCK, 0), other, got;
	long rc;

	if (fd < 0)
		return -1;
	rc = syscall(SYS_bind, fd, a, t->addr_len);
	if (rc == 0 && listen(fd, 4) == 0) {
		other = socket(family_of(a), SOCK_STREAM | SOCK_NONBLOCK, 0);
		rc = syscall(SYS_connect, other, a, t->addr_len);
		got = accept(fd, NULL, NULL);
		if (got >= 0)
			close(got);
		if (other >= 0)
			close(other);
	}
	ak_take_fd(t, fd, op->v[1]);
	return rc;
}

long ak_op_datagram_to(struct ak_thread *t, const struct ak_op *op)
{
	const struct sockaddr *a = (const void *)ARG(0);
	int fd = socket(family_of(a), SOCK_DGRAM | SOCK_NONBLOCK, 0);
	long rc;

	if (fd < 0)
		return -1;
	rc = sendto(fd, "ATTACK", 6, MSG_DONTWAIT | MSG_NOSIGNAL, a, t->addr_len);
	close(fd);
	return rc;
}

/* The other end of a FIFO, which ends meanwhile. */
long ak_op_fifo_pair(struct ak_thread *t, const struct ak_op *op)
{
	const char *path = (const char *)ARG(0);
	long rc = syscall(SYS_mknod, path, S_IFIFO | 0666, 0);
	pid_t pid = fork();
	int status;

	(void)t;
	if (pid == 0) {
		int fd;

		alarm(1);
		fd = (int)syscall(SYS_open, path, op->v[1] % 2 ? O_RDONLY : O_WRONLY);
		_exit(fd < 0);
	}
	if (op->v[2] % 4) {
		struct timespec ts = {0, 3000000};

		nanosleep(&ts, NULL);
		(void)syscall(SYS_open, path, (op->v[1] % 2 ? O_WRONLY : O_RDWR) | O_NONBLOCK);
	}
	kill(pid, op->v[3] % 2 ? SIGKILL : SIGALRM);
	waitpid(pid, &status, 0);
	return rc;
}

/* ---- what the answer must be ---- */

static bool is_alone(const struct ak_thread *t)
{
	for (unsigned i = 0; i < ak_now->n; i++)
		if (ak_now->op[i].thread != t->number)
			return false;
	return true;
}

/* A file that is made has the mode that was asked for, less the umask: where no other thread
 * changes either. */
long ak_op_make_checked(struct ak_thread *t, const struct ak_op *op)
{
	static const mode_t masks[] = {022, 077, 0, 027, 0177, 0222};
	mode_t mask = masks[op->v[1] % 6], mode = op->v[2] % 3 ? 0666 : 0777, is;
	struct stat st;
	long fd;

	if (ak_now->flags & AK_RACE || !is_alone(t))
		return -1;
	umask(mask);
	fd = syscall(SYS_openat, AT_FDCWD, ARG(0), O_CREAT | O_EXCL | O_RDWR, mode);
	if (fd < 0)
		return fd;
	is = fd >= 3 && fstat((int)fd, &st) == 0 ? st.st_mode & 07777 : mode & ~mask;
	if (is != (mode & ~mask))
		ak_found(AK_F_MODE, t->op, "mode %o, umask %o: made with %o", mode, mask, is);
	if (fd >= 3 && (st.st_uid != geteuid()))
		ak_found(AK_F_MODE, t->op, "made for user %u by user %u", st.st_uid, geteuid());
	ak_take_fd(t, fd, op->v[3]);
	return 0;
}

/* A signal to a thread that may wait in the broker. */
long ak_op_interrupt(struct ak_thread *t, const struct ak_op *op)
{
	(void)t;
	(void)op;
	return kill(getpid(), op->v[0] % 2 ? SIGUSR1 : SIGUSR2);
}

long ak_op_back(struct ak_thread *t, const struct ak_op *op)
{
	(void)t;
	(void)op;
	return fchdir(AK_SLOT + 1);
}
