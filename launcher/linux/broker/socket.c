/* SPDX-License-Identifier: Apache-2.0 */
/*
 * socket.c - bind, connect, listen, and pairs. The address lies in the caller's memory and could be
 * another when the kernel reads it, so neither is ever left to the kernel: we act on a duplicate of
 * the caller's socket, with the address that was judged.
 */
#include "launcher/linux/broker/broker.h"
#include "launcher/linux/broker/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/mem.h"
#include "core/path.h"

#define SOCK_TYPE 0xf /* the rest of a type are flags */
#define PATH_AT	  offsetof(struct sockaddr_un, sun_path)

/* Sockets made inside are free: by their inodes, the last so many. Each is held, or its number
 * would soon be that of a socket made outside. */
#define MADE_MAX 1024
static struct {
	pthread_mutex_t lock;
	struct {
		int fd;
		dev_t dev;
		ino_t ino;
	} v[MADE_MAX];
	size_t n, next; /* next: to be given up once all are used */
} made = {.lock = PTHREAD_MUTEX_INITIALIZER};

static const struct br_end_spec by_path = {BR_NO_ARG, BR_NO_ARG, BR_END_FOLLOW};

/* A free place: one whose socket was removed, or else the oldest. */
static size_t place(size_t max)
{
	struct stat st;
	size_t at;

	if (made.n < max)
		return made.n++;
	for (size_t i = 0; i < made.n; i++) {
		at = (made.next + i) % made.n;
		if (fstat(made.v[at].fd, &st) == 0 && st.st_nlink)
			continue;
		close(made.v[at].fd);
		return at;
	}
	at = made.next;
	made.next = (at + 1) % made.n;
	close(made.v[at].fd);
	return at;
}

static void note_made(const struct br_broker *b, const struct br_end *e)
{
	int fd = openat(e->at, e->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	size_t at;

	if (fd < 0)
		return; /* not remembered, not free */
	if (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode)) {
		close(fd);
		return;
	}
	pthread_mutex_lock(&made.lock);
	at = place(b->held_max < MADE_MAX ? b->held_max : MADE_MAX);
	made.v[at].fd = fd;
	made.v[at].dev = st.st_dev;
	made.v[at].ino = st.st_ino;
	pthread_mutex_unlock(&made.lock);
}

bool br_made_socket(const struct stat *st)
{
	bool found = false;

	pthread_mutex_lock(&made.lock);
	for (size_t i = 0; i < made.n && !found; i++)
		found = made.v[i].dev == st->st_dev && made.v[i].ino == st->st_ino;
	pthread_mutex_unlock(&made.lock);
	return found;
}

/* The caller's socket, ours as well. */
static int take_socket(struct br_call *c)
{
	return br_take_fd(c, (pid_t)c->n.pid, (int)br_arg(c, 0));
}

/* Made outside of the run: the caller of the launcher passed it on, or a peer outside sent it. It
 * is in the host's network, where the run is not, whomever it is connected to now. */
static bool is_foreign(const struct br_call *c, int fd)
{
	const struct lau_broker_net *net = &c->b->plan->net;
	uint64_t self = 0, where = 0;
	socklen_t self_len = sizeof self, where_len = sizeof where, len = sizeof(int);
	int domain = 0;

	if (!net->is_apart)
		return false;
	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &self, &self_len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &where, &where_len) < 0)
		return errno != ENOTSOCK;
	for (size_t i = 0; i < net->nkept; i++)
		if (net->kept[i] == self)
			return false;
	/* not a namespace: the filter refuses sockets of the network */
	if (c->b->plan->no_inet)
		return domain != AF_UNIX;
	return where != net->run && (!c->b->plan->foreign_roots || where == net->host);
}

static struct br_answer refuse_foreign(struct br_call *c)
{
	char path[48];
	const struct br_told t = {
		.op = SBX_CONNECT,
		.err = EACCES,
		.path = path,
		.len = (size_t)snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)br_tgid(c),
					(int)br_arg(c, 0)),
	};

	br_tell(c, &t);
	return br_fail(EACCES);
}

static int read_address(struct br_call *c, struct br_address *a)
{
	int len = (int)br_arg(c, 2), rc;

	memset(a, 0, sizeof *a);
	if (len < 0 || len > (int)sizeof a->room)
		return -EINVAL;
	a->len = (socklen_t)len;
	rc = br_read(c, br_arg(c, 1), &a->room, (size_t)len);
	return rc == BR_UNREADABLE ? -EACCES : rc;
}

static bool is_path(const struct br_address *a)
{
	return a->any.sa_family == AF_UNIX && a->len > PATH_AT && a->un.sun_path[0];
}

/* The end is made by hand: the path is no argument. */
static struct br_end *end_of(struct br_call *c, const struct br_address *a)
{
	struct br_end *e = &c->end[0];

	e->spec = &by_path;
	e->dirfd = AT_FDCWD;
	e->follow = true;
	e->is_empty = e->is_pathless = false;
	e->asked_len = strnlen(a->un.sun_path, a->len - PATH_AT);
	memcpy(e->asked, a->un.sun_path, e->asked_len);
	e->asked[e->asked_len] = '\0';
	return e;
}

/* No rule names an abstract socket, for it has no path: the event has its name as /proc/net/unix
 * writes it. */
static struct br_answer refuse_abstract(struct br_call *c, const struct br_address *a)
{
	char name[sizeof a->un.sun_path];
	const struct br_told t = {
		.op = SBX_CONNECT,
		.err = EPERM,
		.path = name,
		.len = a->len - PATH_AT < sizeof name ? a->len - PATH_AT : sizeof name,
	};

	for (size_t i = 0; i < t.len; i++)
		name[i] = (char)(a->un.sun_path[i] ? a->un.sun_path[i] : '@');
	br_tell(c, &t);
	return br_fail(EPERM);
}

static bool is_abstract(const struct br_address *a)
{
	return a->any.sa_family == AF_UNIX && a->len > PATH_AT && !a->un.sun_path[0];
}

/* The network's addresses are the business of the socket's own namespace and of the filters. */
static struct br_answer elsewhere(struct br_call *c, const struct br_address *a,
				  int (*act)(int, const struct sockaddr *, socklen_t), int fd)
{
	int err;

	if (c->b->plan->no_inet && a->any.sa_family != AF_UNIX && a->any.sa_family != AF_UNSPEC)
		return br_fail(EACCES);
	/* abstract: as Landlock answers where it can tell them apart */
	if (c->b->plan->no_scopes && c->b->plan->shares_net && is_abstract(a) && act == connect)
		return refuse_abstract(c, a);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	if (act == connect && !(fcntl(fd, F_GETFL) & O_NONBLOCK) && !br_may_block(c))
		return br_fail(EAGAIN);
	err = act(fd, &a->any, a->len) == 0 ? 0 : errno;
	if (err == EPERM && act == connect && is_abstract(a))
		return refuse_abstract(c, a);
	if (act == connect)
		br_net_tell_none(c, a, fd, err);
	return err ? br_fail(err) : br_result(0);
}

/* ---- connect ---- */

/* The run's own, which the policy hides with everything beside it. */
static bool is_control(const struct br_call *c, const struct br_end *e)
{
	const char *path = c->b->plan->control_path;

	return path && !e->is_pathless && strcmp(path, e->path) == 0;
}

static struct br_answer connect_path(struct br_call *c, const struct br_address *a, int fd)
{
	struct br_end *e = end_of(c, a);
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char name[32];
	int rc = br_find_object(c, e);

	if (rc < 0)
		return br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	if (!S_ISSOCK(e->st.st_mode))
		return br_fail(ECONNREFUSED);
	if (!c->b->plan->unix_host && !br_made_socket(&e->st) && !is_control(c, e) &&
	    (e->is_pathless || !br_allowed(c, SBX_CONNECT, e->path, e->len)))
		return br_deny(c, SBX_CONNECT, e, 0);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	br_fd_path(name, e->fd);
	strcpy(un.sun_path, name);
	/* connect(2), of a backlog that is full and a caller that does not wait */
	if (!(fcntl(fd, F_GETFL) & O_NONBLOCK) && !br_may_block(c))
		return br_fail(EAGAIN);
	return br_result(connect(fd, (const struct sockaddr *)&un, sizeof un));
}

/* Another kind of socket has its own answer to an address of this one. */
static bool is_of_paths(int fd)
{
	socklen_t len = sizeof(int);
	int domain = 0;

	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_UNIX;
}

struct br_answer br_connect(struct br_call *c)
{
	struct br_address a;
	int rc = read_address(c, &a);
	b_auto_fd int fd = rc < 0 ? rc : take_socket(c);

	if (fd < 0)
		return br_fail(-fd);
	if (is_foreign(c, fd))
		return refuse_foreign(c);
	if (br_net_is_ours(c, &a))
		return br_net_connect(c, &a, fd);
	return is_path(&a) && is_of_paths(fd) ? connect_path(c, &a, fd)
					      : elsewhere(c, &a, connect, fd);
}

/* ---- bind ---- */

/* From the working directory, which is / again. */
static struct br_answer bind_here(const struct br_address *a, int fd)
{
	struct br_answer answer = br_result(bind(fd, &a->any, a->len));

	(void)!chdir("/");
	return answer;
}

/* Through the parent that we hold: others see an address in our own /proc, unless the caller's is a
 * name alone. */
static struct br_answer bind_held(struct br_call *c, const struct br_address *a, int fd)
{
	const struct br_end *e = &c->end[0];
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char dir[32];
	int n;

	br_fd_path(dir, e->at);
	if (br_changes_alone(c, e) && !memchr(e->asked, '/', e->asked_len))
		return chdir(dir) < 0 ? br_result(-1) : bind_here(a, fd);
	n = snprintf(un.sun_path, sizeof un.sun_path, "%s/%s", dir, e->name);
	if (n < 0 || (size_t)n >= sizeof un.sun_path)
		return br_fail(ENAMETOOLONG);
	return br_result(
		bind(fd, (const struct sockaddr *)&un, (socklen_t)(PATH_AT + (size_t)n + 1)));
}

/* Others will see the address as it is bound. Where its text is the object's own, or leads
 * there without a symlink, it is bound as the caller wrote it: under the lock nobody inside can
 * make it mean something else, unless names there change without us. Else through the parent we
 * hold. */
static struct br_answer bind_at(struct br_call *c, const struct br_address *a, int fd)
{
	struct br_end *e = &c->end[0];
	char cwd[BR_TEXT_MAX] = "", text[PATH_MAX];
	size_t cwd_len = 0, len;
	unsigned flags;

	if (!br_changes_alone(c, e) &&
	    (e->asked[0] == '/' || br_text_of_caller(c, AT_FDCWD, cwd, &cwd_len) == 0)) {
		len = sbx_path_join(text, sizeof text, cwd, cwd_len, e->asked, &flags);
		if (len == e->len && !memcmp(text, e->path, len) && !(flags & SBX_PATH_DOTDOT) &&
		    chdir(cwd_len ? cwd : "/") == 0)
			return bind_here(a, fd);
	}
	return bind_held(c, a, fd);
}

static struct br_answer bind_path(struct br_call *c, const struct br_address *a, int fd)
{
	struct br_end *e = end_of(c, a);
	struct br_answer answer;
	int rc = br_become_maker(c);

	if (rc == 0)
		rc = br_lock_moves(c);
	if (rc == 0)
		rc = br_find_parent(c, e);
	if (rc < 0)
		return br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	if (rc == BR_AS_IS)
		return br_fail(EADDRINUSE);
	if (br_is_kept_name(c, e) || !br_allowed(c, SBX_MODIFY, e->path, e->len)) {
		rc = br_kernel_says(e, BR_WANT_NEW);
		return br_deny(c, SBX_MODIFY, e, rc == EEXIST ? EADDRINUSE : rc);
	}
	if (!br_is_alive(c))
		return br_fail(EINTR);
	answer = br_made(c, e, bind_at(c, a, fd), 0);
	if (answer.kind == BR_KIND_VALUE)
		note_made(c->b, e);
	return answer;
}

struct br_answer br_bind(struct br_call *c)
{
	struct br_address a;
	int rc = read_address(c, &a);
	b_auto_fd int fd = rc < 0 ? rc : take_socket(c);

	if (fd < 0)
		return br_fail(-fd);
	if (is_foreign(c, fd))
		return refuse_foreign(c);
	return is_path(&a) && is_of_paths(fd) ? bind_path(c, &a, fd) : elsewhere(c, &a, bind, fd);
}

/* ---- listen ---- */

/* Without bind(2) the kernel chooses a port, at all addresses, and Landlock does not see it. */
struct br_answer br_listen(struct br_call *c)
{
	b_auto_fd int fd = take_socket(c);

	if (fd < 0)
		return br_fail(-fd);
	if (is_foreign(c, fd))
		return refuse_foreign(c);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	return br_result(listen(fd, (int)br_arg(c, 1)));
}

/* ---- pairs ---- */

static int give(const struct br_call *c, int fd, int flags)
{
	struct seccomp_notif_addfd add = {.id = c->n.id,
					  .srcfd = (uint32_t)fd,
					  .newfd_flags = (uint32_t)flags & SOCK_CLOEXEC};
	int number;

	do
		number = ioctl(c->b->listener, SECCOMP_IOCTL_NOTIF_ADDFD, &add);
	while (number < 0 && errno == EINTR);
	return number < 0 ? -errno : number;
}

/* A pair of datagram sockets can send to any socket path by an address in memory. A pair of
 * SOCK_SEQPACKET also preserves message boundaries, and the kernel ignores addresses. */
struct br_answer br_pair(struct br_call *c)
{
	int flags = (int)br_arg(c, 1) & ~SOCK_TYPE, protocol = (int)br_arg(c, 2);
	int own[2], numbers[2] = {-1, -1}, rc;

	if (flags & ~(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return br_fail(EINVAL);
	/* as the kernel does it: what cannot be written to fails before anything is made */
	rc = br_write(c, br_arg(c, 3), numbers, sizeof numbers);
	if (rc < 0)
		return br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	if (protocol != 0 && protocol != PF_UNIX)
		return br_fail(EPROTONOSUPPORT);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (flags & SOCK_NONBLOCK), 0, own) <
	    0)
		return br_fail(errno);
	for (int i = 0; i < 2 && rc >= 0; i++)
		rc = numbers[i] = give(c, own[i], flags);
	close(own[0]);
	close(own[1]);
	if (rc >= 0)
		rc = br_write(c, br_arg(c, 3), numbers, sizeof numbers);
	return rc < 0 ? br_fail(rc == BR_UNREADABLE ? EACCES : -rc) : br_value(0);
}
