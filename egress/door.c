/* SPDX-License-Identifier: Apache-2.0 */
/* door.c - the sockets of a run's namespace on their way (door.h): from the broker to the
 * supervisor, and from there to an sbx-egress that was started before they were. */
#include "egress/door.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

int egr_sockets_send(int sock, const int *fds, size_t n)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(EGR_DOOR_MAX * sizeof(int))] = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = CMSG_SPACE(n * sizeof(int))};
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(n * sizeof(int));
	memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	return sendmsg(sock, &m, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int egr_sockets_receive(int sock, int flags, int *fds, size_t n)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(EGR_DOOR_MAX * sizeof(int))];
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr m = {.msg_iov = &iov,
			   .msg_iovlen = 1,
			   .msg_control = room,
			   .msg_controllen = sizeof room};
	const struct cmsghdr *c;
	ssize_t got;

	do
		got = recvmsg(sock, &m, MSG_CMSG_CLOEXEC | flags);
	while (got < 0 && errno == EINTR);
	if (got != 1)
		return errno = got == 0 ? EPIPE : errno, -1;
	c = CMSG_FIRSTHDR(&m);
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len != CMSG_LEN(n * sizeof(int)))
		return errno = EPROTO, -1;
	memcpy(fds, CMSG_DATA(c), n * sizeof(int));
	return 0;
}
