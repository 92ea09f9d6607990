/* SPDX-License-Identifier: Apache-2.0 */
/* outside.c - the fixture and the process that lives outside the sandbox: victim and services. */
#include "selftest/probes.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static char marker[] = ST_SECRET; /* found by its address */

/* -- fixture -- */

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int put(const char *rel, const char *text)
{
	int fd = open(st_at(rel), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return -1;
	return close(fd);
}

int st_make_fixture(void)
{
	static const char *const fresh[] = {"ws", "out"};

	/* The outside process stands in the home: what an attack moved away is put back. */
	(void)!rename(st_at("ws/home"), st_at("home"));
	(void)!rename(st_at("ws/ssh"), st_at("home/.ssh"));
	(void)!rename(st_at("ws/id"), st_at("home/.ssh/id"));
	for (size_t i = 0; i < 2; i++)
		if (nftw(st_at(fresh[i]), remove_one, 16, FTW_DEPTH | FTW_PHYS) < 0 &&
		    errno != ENOENT)
			return -1;
	if ((mkdir(st_at("home"), 0755) < 0 && errno != EEXIST) ||
	    (mkdir(st_at("home/.ssh"), 0700) < 0 && errno != EEXIST) ||
	    (mkdir(st_at("run"), 0755) < 0 && errno != EEXIST))
		return -1;
	unlink(st_at("run/sigusr2"));
	(void)chmod(st_at("home/.ssh/id"), 0644);
	if (access(st_at("home/.ssh/id"), F_OK) < 0 && put("home/.ssh/id", ST_SECRET "\n") < 0)
		return -1;
	return mkdir(st_at("ws"), 0755) < 0 || mkdir(st_at("out"), 0755) < 0 ||
			       mkdir(st_at("out/empty"), 0755) < 0 || put("ws/f", "inside\n") < 0 ||
			       mkdir(st_at("ws/src"), 0755) < 0 ||
			       mkdir(st_at("ws/hidden"), 0755) < 0 ||
			       put("ws/hidden/id", ST_SECRET "\n") < 0 ||
			       mkdir(st_at("ws/.git"), 0755) < 0 ||
			       mkdir(st_at("ws/.git/hooks"), 0755) < 0 ||
			       put("ws/.git/config", "[core]\n") < 0 ||
			       put("out/f", "outside\n") < 0
		       ? -1
		       : 0;
}

/* -- services -- */

static int listen_unix(const char *path, int type, bool abstract)
{
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	socklen_t len = sizeof sa;
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

	strncpy(sa.sun_path + abstract, path, sizeof sa.sun_path - 2);
	if (abstract)
		len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(path));
	else
		unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0)
		return -1;
	if (type == SOCK_STREAM && listen(fd, 8) < 0)
		return -1;
	return fd;
}

static int listen_inet(int type, int *out_port)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof sa;
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&sa, len) < 0 ||
	    getsockname(fd, (struct sockaddr *)&sa, &len) < 0)
		return -1;
	if (type == SOCK_STREAM && listen(fd, 8) < 0)
		return -1;
	*out_port = ntohs(sa.sin_port);
	return fd;
}

static void heard(int sig)
{
	int fd;

	if (sig != SIGUSR2)
		return;
	fd = open(st_at("run/sigusr2"), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	if (fd >= 0)
		close(fd);
}

static void greet(int fd)
{
	int c = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	if (c < 0)
		return;
	(void)!write(c, "!", 1);
	close(c);
}

static void echo(int fd)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof from;
	char c;

	if (recvfrom(fd, &c, 1, 0, (struct sockaddr *)&from, &len) == 1 && len)
		(void)sendto(fd, &c, 1, 0, (struct sockaddr *)&from, len);
}

enum { SOCKETS = 6 };

static int open_services(struct pollfd *fds, struct st_outside *me)
{
	char name[64];

	snprintf(name, sizeof name, "sbx-escape-%d", (int)getpid());
	fds[0].fd = listen_unix(st_at("run/container.sock"), SOCK_STREAM, false);
	fds[1].fd = listen_unix(st_at("home/.ssh/agent.sock"), SOCK_STREAM, false);
	fds[2].fd = listen_unix(name, SOCK_STREAM, true);
	fds[3].fd = listen_inet(SOCK_STREAM, &me->tcp);
	fds[4].fd = listen_inet(SOCK_DGRAM, &me->udp);
	fds[5].fd = listen_unix(st_at("run/datagram.sock"), SOCK_DGRAM, false);
	for (int i = 0; i < SOCKETS; i++) {
		fds[i].events = POLLIN;
		if (fds[i].fd < 0)
			return -1;
	}
	return 0;
}

static int announce(const struct st_outside *me)
{
	FILE *f = fopen(st_at("run/outside.new"), "we");

	if (!f)
		return -1;
	fprintf(f, "%d %lu %d %d %d\n", (int)me->pid, me->marker, me->secret_fd, me->tcp, me->udp);
	if (fclose(f))
		return -1;
	return rename(st_at("run/outside.new"), st_at("run/outside"));
}

int st_serve_outside(void)
{
	struct st_outside me = {.pid = getpid(), .marker = (unsigned long)marker};
	struct pollfd fds[SOCKETS];
	struct sigaction act = {.sa_handler = heard};
	int shm;

	/* who started us holds the other end of standard input: its end is ours. */
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
	signal(SIGPIPE, SIG_IGN); /* a client may be gone before it is greeted */
	me.secret_fd = open(st_at("home/.ssh/id"), O_RDONLY | O_CLOEXEC);
	shm = shmget((key_t)(0x5b780000 | (me.pid & 0xffff)), 4096, IPC_CREAT | 0600);
	if (me.secret_fd < 0 || shm < 0 || chdir(st_at("home/.ssh")) < 0 ||
	    open_services(fds, &me) < 0 || announce(&me) < 0) {
		perror("outside");
		return 1;
	}
	for (;;) {
		struct pollfd all[SOCKETS + 1] = {{.fd = 0, .events = POLLIN}};

		memcpy(all + 1, fds, sizeof fds);
		if (poll(all, SOCKETS + 1, -1) < 0)
			continue;
		if (all[0].revents)
			break;
		for (int i = 0; i < SOCKETS; i++) {
			if (!all[i + 1].revents)
				continue;
			if (i < 4)
				greet(fds[i].fd);
			else
				echo(fds[i].fd);
		}
	}
	shmctl(shm, IPC_RMID, NULL);
	return 0;
}
