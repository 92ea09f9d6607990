/*
 * socket.c - bind and connect. The address lies in the caller's memory and could be another when
 * the kernel reads it, so neither is ever left to the kernel: we act on a duplicate of the
 * caller's socket, with the address that was judged.
 */
#include "launcher/linux/broker/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "core/path.h"

#define PATH_AT offsetof(struct sockaddr_un, sun_path)

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

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_storage room;
	};
	char nul; /* a path may fill all */
	socklen_t len;
};

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

static bool was_made(const struct stat *st)
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

static int read_address(struct br_call *c, struct address *a)
{
	int len = (int)br_arg(c, 2), rc;

	memset(a, 0, sizeof *a);
	if (len < 0 || len > (int)sizeof a->room)
		return -EINVAL;
	a->len = (socklen_t)len;
	rc = br_read(c, br_arg(c, 1), &a->room, (size_t)len);
	return rc == BR_UNREADABLE ? -EACCES : rc;
}

static bool is_path(const struct address *a)
{
	return a->any.sa_family == AF_UNIX && a->len > PATH_AT && a->un.sun_path[0];
}

/* The end is made by hand: the path is no argument. */
static struct br_end *end_of(struct br_call *c, const struct address *a)
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

/* The network's addresses are the business of the socket's own namespace and of the filters. */
static struct br_answer elsewhere(struct br_call *c, const struct address *a,
				  int (*act)(int, const struct sockaddr *, socklen_t), int fd)
{
	if (c->b->plan->no_inet && a->any.sa_family != AF_UNIX && a->any.sa_family != AF_UNSPEC)
		return br_fail(EACCES);
	/* abstract: as Landlock answers where it can tell them apart */
	if (c->b->plan->no_scopes && c->b->plan->shares_net && a->any.sa_family == AF_UNIX &&
	    act == connect)
		return br_fail(EPERM);
	if (!br_is_alive(c))
		return br_fail(EINTR);
	if (act == connect && !(fcntl(fd, F_GETFL) & O_NONBLOCK) && !br_may_block(c))
		return br_fail(EAGAIN);
	return br_result(act(fd, &a->any, a->len));
}

static struct br_answer tell(struct br_call *c, enum sbx_op op, struct br_answer a)
{
	return br_told_result(c, op, a);
}

/* ---- connect ---- */

/* The run's own, which the policy hides with everything beside it. */
static bool is_control(const struct br_call *c, const struct br_end *e)
{
	const char *path = c->b->plan->control_path;

	return path && !e->is_pathless && strcmp(path, e->path) == 0;
}

static struct br_answer connect_path(struct br_call *c, const struct address *a, int fd)
{
	struct br_end *e = end_of(c, a);
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char name[32];
	int rc = br_find_object(c, e);

	if (rc < 0)
		return br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	if (!S_ISSOCK(e->st.st_mode))
		return br_fail(ECONNREFUSED);
	if (!was_made(&e->st) && !is_control(c, e) &&
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

struct br_answer br_connect(struct br_call *c)
{
	struct address a;
	int rc = read_address(c, &a);
	b_auto_fd int fd = rc < 0 ? rc : take_socket(c);

	if (fd < 0)
		return br_fail(-fd);
	return is_path(&a) ? connect_path(c, &a, fd) : elsewhere(c, &a, connect, fd);
}

/* ---- bind ---- */

/* Others will see the address as it is bound. Where its text is the object's own, or leads
 * there without a symlink, it is bound as the caller wrote it: under the lock nobody inside can
 * make it mean something else. Else through the parent we hold. */
static struct br_answer bind_at(struct br_call *c, const struct address *a, int fd)
{
	struct br_end *e = &c->end[0];
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	char cwd[BR_TEXT_MAX] = "", text[PATH_MAX];
	size_t cwd_len = 0, len;
	unsigned flags;
	int rc, n;

	if (e->asked[0] == '/' || br_text_of_caller(c, AT_FDCWD, cwd, &cwd_len) == 0) {
		len = sbx_path_join(text, sizeof text, cwd, cwd_len, e->asked, &flags);
		if (len == e->len && !memcmp(text, e->path, len) && !(flags & SBX_PATH_DOTDOT) &&
		    chdir(cwd_len ? cwd : "/") == 0) {
			rc = bind(fd, &a->any, a->len);
			(void)!chdir("/");
			return br_result(rc);
		}
	}
	n = snprintf(un.sun_path, sizeof un.sun_path, "/proc/self/fd/%d/%s", e->at, e->name);
	if (n < 0 || (size_t)n >= sizeof un.sun_path)
		return br_fail(ENAMETOOLONG);
	return br_result(
		bind(fd, (const struct sockaddr *)&un, (socklen_t)(PATH_AT + (size_t)n + 1)));
}

static struct br_answer bind_path(struct br_call *c, const struct address *a, int fd)
{
	struct br_end *e = end_of(c, a);
	struct br_answer answer;
	int rc = br_become(c);

	if (rc == 0) {
		br_lock_moves(c);
		rc = br_find_parent(c, e);
	}
	if (rc < 0)
		return br_fail(rc == BR_UNREADABLE ? EACCES : -rc);
	if (rc == BR_AS_IS)
		return br_fail(EADDRINUSE);
	if (!br_allowed(c, SBX_MODIFY, e->path, e->len)) {
		rc = br_kernel_says(e, BR_WANT_NEW);
		return br_deny(c, SBX_MODIFY, e, rc == EEXIST ? EADDRINUSE : rc);
	}
	if (!br_is_alive(c))
		return br_fail(EINTR);
	answer = bind_at(c, a, fd);
	if (answer.kind == BR_KIND_VALUE)
		note_made(c->b, e);
	return tell(c, SBX_MODIFY, answer);
}

struct br_answer br_bind(struct br_call *c)
{
	struct address a;
	int rc = read_address(c, &a);
	b_auto_fd int fd = rc < 0 ? rc : take_socket(c);

	if (fd < 0)
		return br_fail(-fd);
	return is_path(&a) ? bind_path(c, &a, fd) : elsewhere(c, &a, bind, fd);
}
