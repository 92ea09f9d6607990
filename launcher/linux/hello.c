/* hello.c - see hello.h. */
#include "launcher/linux/hello.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int lau_hello_open(int socks[2])
{
	const int on = 1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, socks) < 0)
		return -1;
	return setsockopt(socks[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

pid_t lau_hello_read(int sock)
{
	_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(struct ucred))];
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = room,
			     .msg_controllen = sizeof room};
	const struct cmsghdr *c;
	struct ucred who;
	ssize_t n;

	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	c = n == 1 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (!c || c->cmsg_type != SCM_CREDENTIALS)
		return 0;
	memcpy(&who, CMSG_DATA(c), sizeof who);
	return who.pid;
}
