/* SPDX-License-Identifier: Apache-2.0 */
/*
 * start_egress.c - the supervisor's side of a run's network: what broker and sbx-egress share is
 * made before the broker is forked, and sbx-egress is started when the run uses its network for the
 * first time.
 */
#include "launcher/linux/run/start_egress.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "core/image.h"
#include "egress/door.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/plan/program.h"

#define RELOAD_MS 10000

#define FDS ((int)(EGR_FD_SOCKETS + EGR_DOOR_MAX - EGR_FD_CHANNEL)) /* that sbx-egress gets */

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* ---- before the broker ---- */

static int make_page(struct lau_door *d, struct b_err *err)
{
	void *page;

	d->page_fd = memfd_create("sbx-door", MFD_CLOEXEC);
	if (d->page_fd < 0 || ftruncate(d->page_fd, sizeof(struct egr_page)) < 0)
		return b_fail_sys(err, errno == EFBIG ? B_LIMIT : B_SYSTEM, errno,
				  "the run's network: shared memory");
	page = mmap(NULL, sizeof(struct egr_page), PROT_READ | PROT_WRITE, MAP_SHARED, d->page_fd,
		    0);
	if (page == MAP_FAILED)
		return b_fail_sys(err, B_SYSTEM, errno, "the run's network: shared memory");
	d->page = page;
	return 0;
}

/* The program is opened before the command runs: what is started later is this file. */
static int find_program(struct lau_door *d, struct b_err *err)
{
	b_auto_free char *path = NULL;

	if (lau_egress_find(&path, err) < 0)
		return -1;
	d->program = open(path, O_PATH | O_CLOEXEC);
	return d->program < 0 ? b_fail_sys(err, B_SYSTEM, errno, "%s", path) : 0;
}

int lau_door_prepare(struct lau_door *d, struct lau_broker_door *out, struct b_err *err)
{
	if (find_program(d, err) < 0 || make_page(d, err) < 0)
		return -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, d->channel) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, d->sockets) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, d->control) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "socketpair");
	*out = (struct lau_broker_door){
		.page = d->page, .channel = d->channel[1], .sockets = d->sockets[1]};
	return 0;
}

/* ---- its start ---- */

struct start {
	struct lau_door *d;
	int fds[FDS], nfds;
	char **envp;
	pid_t parent;
	int err;
};

/* In the supervisor's memory, which stands still: system calls only. A descriptor may have the
 * number that another is to get, so that all go up first. */
static int become_egress(void *arg)
{
	enum { ABOVE = EGR_FD_CHANNEL + FDS };
	static char name[] = "sbx-egress";
	char *const argv[] = {name, NULL};
	struct start *s = arg;
	int program = fcntl(s->d->program, F_DUPFD_CLOEXEC, ABOVE), null;
	struct sigaction act = {.sa_handler = SIG_DFL};
	sigset_t none;

	for (int i = 0; i < s->nfds; i++)
		s->fds[i] = fcntl(s->fds[i], F_DUPFD_CLOEXEC, ABOVE);
	for (int i = 0; i < s->nfds; i++)
		if (s->fds[i] < 0 || dup2(s->fds[i], EGR_FD_CHANNEL + i) < 0)
			return s->err = errno, 1;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (program < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || chdir("/") < 0)
		return s->err = errno, 1;
	/* what the terminal sends is the command's; and it does not outlive us */
	(void)setsid();
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != s->parent)
		return s->err = errno, 1;
	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &act, NULL);
	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)syscall(SYS_execveat, program, "", argv, s->envp, AT_EMPTY_PATH);
	s->err = errno;
	return 1;
}

/* The policy in memory of its own. */
static int policy_file(const struct lau_door *d)
{
	b_auto_fd int fd = memfd_create("sbx-policy", MFD_CLOEXEC);

	if (fd < 0 || b_write_all(fd, d->image, d->image_size) < 0)
		return -1;
	return b_take_fd(&fd);
}

static void shut(struct lau_door *d)
{
	for (unsigned i = 0; i < EGR_DOOR_MAX; i++)
		close_one(&d->fd[i]);
	close_one(&d->channel[0]);
	close_one(&d->control[1]);
	close_one(&d->page_fd);
	close_one(&d->program);
	close_one(&d->watch.fd);
	close_one(&d->later);
}

enum { BASE = EGR_FD_SOCKETS - EGR_FD_CHANNEL };

/* With these descriptors behind channel, page, policy and control. 0 or the errno. */
static int start_with(struct lau_door *d, const int *more, int n, char **envp)
{
	_Alignas(16) char stack[32768];
	struct start s = {.d = d, .parent = getpid(), .nfds = BASE + n, .envp = envp};
	int policy = policy_file(d);

	s.fds[0] = d->channel[0];
	s.fds[1] = d->page_fd;
	s.fds[2] = policy;
	s.fds[3] = d->control[1];
	memcpy(s.fds + BASE, more, (size_t)n * sizeof *more);
	/* with CLONE_VFORK it has executed or ended when this process continues */
	d->pid = policy < 0 ? -1
			    : clone(become_egress, stack + sizeof stack,
				    CLONE_VM | CLONE_VFORK | SIGCHLD, &s);
	if (d->pid < 0)
		s.err = errno;
	close_one(&policy);
	return s.err;
}

static char search_list[] = "LOCALDOMAIN=."; /* the run's resolver knows only whole names */

static void start(struct lau_door *d)
{
	char *envp[] = {search_list, NULL};
	int err = start_with(d, d->fd, (int)egr_door_fds(d->page), envp);

	if (err)
		dprintf(STDERR_FILENO,
			"sbx-launch: E_SYSTEM: sbx-egress: %s: every connection is refused\n",
			strerror(err));
	shut(d);
}

/* ---- before the command ---- */

/* The user's certificates, as this launcher got them; not as a run inside names them. */
static void add_trust(struct b_arena *a, char **envp)
{
	static const char *const vars[] = {"SSL_CERT_DIR",
#define X(name, what) #name,
					   EGR_TRUST_VARS(X)
#undef X
	};
	size_t n = 0;

	envp[n++] = search_list;
	for (size_t i = 0; i < sizeof vars / sizeof *vars; i++) {
		const char *value = getenv(vars[i]);

		if (value && *value == '/')
			envp[n++] = b_arena_printf(a, "%s=%s", vars[i], value);
	}
	envp[n] = NULL;
}

int lau_door_begin(struct lau_door *d, const void *image, size_t size,
		   const int files[LAU_TLS_FILES], struct b_err *err)
{
#define X(name, what) +1
	char *envp[3 EGR_TRUST_VARS(X)];
#undef X
	b_auto(b_arena_release) struct b_arena a = {0};
	int more[1 + LAU_TLS_FILES], pair[2], rc;

	d->image = image;
	d->image_size = size;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return b_fail_sys(err, B_SYSTEM, errno, "socketpair");
	d->later = pair[0];
	more[0] = pair[1];
	memcpy(more + 1, files, sizeof *files * LAU_TLS_FILES);
	add_trust(&a, envp);
	atomic_store(&d->page->ends_tls, 1);
	rc = start_with(d, more, 1 + LAU_TLS_FILES, envp);
	close(pair[1]);
	return rc ? b_fail_sys(err, B_SYSTEM, rc, "sbx-egress") : 0;
}

int lau_door_wait(struct lau_door *d, struct b_err *err)
{
	char byte;
	ssize_t n;

	do
		n = recv(d->later, &byte, 1, 0);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return 0;
	return b_fail(err, B_SYSTEM, n < 0 ? errno : 0,
		      "sbx-egress ended before it had made the run's certificates");
}

/* The broker has ended, or reports that the run has: sbx-egress is no longer needed. */
static bool is_over(const struct lau_door *d)
{
	char byte;

	return recv(d->channel[0], &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static enum lau_watched ready(struct lau_watch *w, struct lau_signal *out)
{
	struct lau_door *d = (struct lau_door *)w;

	(void)out;
	if (is_over(d))
		shut(d);
	else
		start(d);
	return LAU_WATCH_NOTHING;
}

/* The run goes on, and nothing of it reaches the network any more. */
static void ended(struct lau_watch *w, pid_t child)
{
	struct lau_door *d = (struct lau_door *)w;

	if (d->pid == child)
		d->pid = 0;
}

static bool is_apart(const struct lau_watch *w, pid_t child)
{
	return ((const struct lau_door *)w)->pid == child;
}

static bool has_egress(const struct lau_watch *w)
{
	return ((const struct lau_door *)w)->pid > 0;
}

/* ---- beside the command ---- */

/* What is first read of any of these starts it: a question for a name, a connection. */
static int watch(struct lau_door *d)
{
	d->watch.fd = epoll_create1(EPOLL_CLOEXEC);
	if (d->watch.fd < 0)
		return -1;
	for (int i = -1; i < (int)(EGR_SOCKETS + d->page->publish.n); i++) {
		struct epoll_event ev = {.events = EPOLLIN};
		int fd = i < 0 ? d->channel[0] : d->fd[i];

		/* EPERM: /dev/null, for want of IPv6 */
		if (epoll_ctl(d->watch.fd, EPOLL_CTL_ADD, fd, &ev) < 0 && errno != EPERM)
			return -1;
	}
	return 0;
}

/* Those of the namespace, around the listeners. */
static int take_sockets(struct lau_door *d)
{
	int made[EGR_SOCKETS + EGR_INSIDE];
	uint32_t n = d->page->publish.n;

	if (egr_sockets_receive(d->sockets[0], MSG_DONTWAIT, made,
				EGR_SOCKETS + (n ? EGR_INSIDE : 0)) < 0)
		return -1;
	memcpy(d->fd, made, EGR_SOCKETS * sizeof *made);
	if (n)
		memcpy(d->fd + EGR_SOCKETS + n, made + EGR_SOCKETS, EGR_INSIDE * sizeof *made);
	return 0;
}

int lau_door_opened(struct lau_door *d, const void *image, size_t size, struct b_err *err)
{
	d->image = image;
	d->image_size = size;
	close_one(&d->channel[1]);
	close_one(&d->sockets[1]);
	d->watch.ready = ready;
	d->watch.ended = ended;
	d->watch.is_apart = is_apart;
	d->watch.has_child = has_egress;
	if (take_sockets(d) < 0 ||
	    (d->later < 0 ? watch(d) : egr_sockets_send(d->later, d->fd, egr_door_fds(d->page))) <
		    0)
		return b_fail_sys(err, B_SYSTEM, errno, "the run's network");
	close_one(&d->sockets[0]);
	if (d->later >= 0) /* it needs us no more */
		shut(d);
	return 0;
}

/* ---- another policy ---- */

/* False: it did not answer within the time, or said that it could not. */
static bool ask_to_judge_by(struct lau_door *d, struct egr_reloaded *out)
{
	struct pollfd p = {.fd = d->control[0], .events = POLLIN};
	b_auto_fd int policy = policy_file(d);

	return policy >= 0 && egr_sockets_send(d->control[0], &policy, 1) == 0 &&
	       poll(&p, 1, RELOAD_MS) == 1 &&
	       recv(d->control[0], out, sizeof *out, MSG_DONTWAIT) == (ssize_t)sizeof *out &&
	       !out->err;
}

int lau_door_reload(struct lau_door *d, const void *image, size_t size, struct egr_reloaded *out,
		    struct b_err *err)
{
	*out = (struct egr_reloaded){0};
	d->image = image;
	d->image_size = size;
	if (d->pid <= 0 || ask_to_judge_by(d, out))
		return 0;
	(void)kill(d->pid, SIGKILL);
	return b_fail(err, B_SYSTEM, 0,
		      "sbx-egress did not accept the new rules and was ended: every connection is "
		      "refused");
}

uint64_t lau_door_unheard(const struct lau_door *d)
{
	uint64_t told, heard;

	if (!d->page)
		return 0;
	heard = atomic_load(&d->page->heard);
	told = atomic_load(&d->page->told);
	return told > heard ? told - heard : 0;
}

void lau_door_release(struct lau_door *d)
{
	shut(d);
	close_one(&d->channel[1]);
	close_one(&d->control[0]);
	for (int i = 0; i < 2; i++)
		close_one(&d->sockets[i]);
	if (d->pid > 0) {
		(void)kill(d->pid, SIGKILL);
		while (waitpid(d->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	d->pid = 0;
	if (d->page)
		(void)munmap(d->page, sizeof *d->page);
	d->page = NULL;
}
