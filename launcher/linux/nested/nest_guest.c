/* SPDX-License-Identifier: Apache-2.0 */
/* nest_guest.c - the request becomes options of a run, less than they say. */
#include "launcher/linux/nested/nest.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "core/path.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/process/process.h"
#include "launcher/options/approve.h"
#include "launcher/options/grida_call.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "launcher/run/dirs.h"
#include "launcher/run/os.h"
#include "launcher/supervise/supervise.h"
#include "policy/engine.h"

enum { RECEIVE_S = 10, HIGH = LAU_NEST_TOP };

struct guest {
	struct lau_watch watch; /* first: the connection, while the run lasts */
	struct lau_guest *g;
	const struct lau_nest_outer *outer;
	struct lau_nest_request rq;
	struct lau_nest_guest run;
	struct lau_options o;
	size_t nfds;
	pid_t pid; /* who asks */
	bool is_apart;
};

/* ---- the request ---- */

union control {
	struct cmsghdr head; /* for its alignment */
	char room[CMSG_SPACE(LAU_NEST_FDS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

static void take_control(struct guest *t, struct msghdr *msg)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		struct ucred who;

		if (c->cmsg_level != SOL_SOCKET)
			continue;
		if (c->cmsg_type == SCM_CREDENTIALS && c->cmsg_len == CMSG_LEN(sizeof who)) {
			memcpy(&who, CMSG_DATA(c), sizeof who);
			t->pid = who.pid;
		} else if (c->cmsg_type == SCM_RIGHTS) {
			t->nfds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
			if (t->nfds <= LAU_NEST_FDS) /* more are refused by their number */
				memcpy(t->rq.fds, CMSG_DATA(c), t->nfds * sizeof(int));
		}
	}
}

static int receive(struct guest *t, struct b_err *err)
{
	const uint64_t until_ms = b_deadline_ms(RECEIVE_S * 1000);
	struct timeval wait = {.tv_sec = RECEIVE_S};
	struct lau_nest_head h;
	union control control;
	struct iovec iov = {&h, sizeof h};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = sizeof control};
	const char version[sizeof h.version] = SBX_VERSION;
	char *body;

	setsockopt(t->g->sock, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
	if (recvmsg(t->g->sock, &msg, MSG_CMSG_CLOEXEC | MSG_WAITALL) != (ssize_t)sizeof h)
		return b_fail(err, B_FORMAT, 0, "the request of the inner run is cut short");
	take_control(t, &msg);
	if (msg.msg_flags & MSG_CTRUNC || memcmp(h.version, version, sizeof version) != 0 ||
	    h.outcome != sizeof(struct lau_outcome) || h.size > LAU_NEST_MAX)
		return b_fail(err, B_FORMAT, 0,
			      "the request of the inner run is damaged, or of another version");
	body = b_arena_alloc(&t->rq.arena, h.size + 1);
	if (lau_nest_receive(t->g->sock, body, h.size, until_ms) < 0)
		return b_fail(err, B_FORMAT, 0, "the request of the inner run is cut short");
	if (lau_nest_parse(body, h.size, &t->rq, err) < 0)
		return -1;
	if (t->nfds != 4 + t->rq.npipes)
		return b_fail(err, B_FORMAT, 0, "the request of the inner run is damaged");
	return 0;
}

/* ---- what the requester has becomes ours ---- */

/* Ours first, out of the way of the numbers that are wanted; everything else of the outer run's
 * goes, and what it locks is then its own again. */
static int take_descriptors(struct guest *t, struct b_err *err)
{
	int high[LAU_NEST_FDS], last, lock, sock = fcntl(t->g->sock, F_DUPFD_CLOEXEC, HIGH);

	last = lock = sock < 0 ? -1 : fcntl(t->run.lock.fd, F_DUPFD_CLOEXEC, sock + 1);
	for (size_t i = 0; i < t->nfds && last >= 0; i++)
		last = high[i] = fcntl(t->rq.fds[i], F_DUPFD_CLOEXEC, last + 1);
	if (last < 0)
		return b_fail_sys(err, B_LIMIT, errno, "descriptors of the inner run");
	lau_fdclose_range(3, (unsigned)sock - 1);
	for (int fd = sock + 1; fd < last; fd++) {
		bool is_own = fd == lock;

		for (size_t i = 0; i < t->nfds; i++)
			is_own |= high[i] == fd;
		if (!is_own)
			close(fd);
	}
	lau_fdclose_range((unsigned)last + 1, ~0u);
	t->g->sock = sock;
	t->run.lock.fd = lock;
	for (int fd = 0; fd < 3; fd++) {
		dup2(high[fd], fd);
		close(high[fd]); /* it would hide that the command has closed its own */
	}
	t->rq.fds[3] = high[3];
	t->run.pipes = (struct lau_pipes){.known = true, .n = t->rq.npipes};
	t->run.pipes.v = b_calloc(LAU_NEST_PIPES, sizeof *t->run.pipes.v);
	for (size_t i = 0; i < t->rq.npipes; i++) {
		int to = t->rq.pipes[i];

		if (lau_fd_kind(high[4 + i]) != LAU_FD_PIPE)
			return b_fail(err, B_FORMAT, 0, "descriptor %d is not a pipe", to);
		t->run.pipes.v[i] = to;
		dup2(high[4 + i], to);
		close(high[4 + i]);
	}
	return 0;
}

/* Its own limits, priority and processors are what the inner run has at most; most of the limits
 * for the command alone. */
static int take_limits(struct guest *t, struct b_err *err)
{
	cpu_set_t cpus;

	for (int which = 0; which < (int)RLIM_NLIMITS; which++) {
		struct rlimit *theirs = &t->run.limits[which];

		if (prlimit(t->pid, (enum __rlimit_resource)which, NULL, theirs) < 0 ||
		    (!lau_limits_keeps(which) &&
		     setrlimit((enum __rlimit_resource)which, theirs) < 0))
			return b_fail(err, B_LIMIT, errno, "limits of the inner run: %s",
				      strerror(errno));
	}
	errno = 0;
	(void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, (id_t)t->pid));
	if (sched_getaffinity(t->pid, sizeof cpus, &cpus) == 0)
		(void)sched_setaffinity(0, sizeof cpus, &cpus);
	return 0;
}

/* Its process group, so that the terminal and the shell around it mean both of us; in another
 * session there is no such thing, and no terminal for the command. */
static void take_group(struct guest *t)
{
	t->is_apart = getsid(t->pid) != getsid(0) || setpgid(0, getpgid(t->pid)) < 0;
	if (t->is_apart)
		(void)setsid();
}

static void take_signals(const struct guest *t)
{
	sigset_t none;

	for (int n = 1; n < 32; n++) {
		struct sigaction as = {.sa_handler = SIG_DFL};

		if (t->rq.ignored >> n & 1)
			as.sa_handler = SIG_IGN;
		(void)sigaction(n, &as, NULL); /* not KILL, not STOP */
	}
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	umask(t->rq.umask);
}

/* The outer policy must let the directory be read: much is derived from it, and looked at. */
static int may_look(const struct guest *t, const char *dir, struct b_err *err)
{
	const struct pol_ruleset *rules = &t->outer->plan->engine->rules;
	struct pol_answer a;
	bool is_kept = !rules->own_tmp || !lau_is_in_tmp(dir);

	for (size_t i = 0; i < rules->ntmp_kept; i++)
		is_kept |= sbx_path_under(dir, strlen(dir), rules->tmp_kept[i],
					  strlen(rules->tmp_kept[i]));
	if (!is_kept)
		return b_fail(err, B_FLOOR, 0,
			      "%s: the outer run has a /tmp of its own, and what lies in it has no "
			      "name outside",
			      dir);
	if (pol_engine_check(t->outer->plan->engine, SBX_READ, dir, &a, err) < 0)
		return -1;
	if (!a.allowed)
		return b_fail(err, B_FLOOR, 0, "%s: closed by the outer run: rule `%s` (%s)", dir,
			      a.matched, a.origin);
	return 0;
}

/* By its name: the descriptor is of the outer run's mounts, which the inner one is not in. Where
 * the name leads to something else here (the outer run's own /dev/shm), it cannot be. */
static int take_place(const struct guest *t, struct b_err *err)
{
	b_auto_fd int fd = t->rq.fds[3];
	struct stat asked, here;
	char link[32], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	if (fstat(fd, &asked) < 0 || !S_ISDIR(asked.st_mode) || *path != '/' || chdir(path) < 0 ||
	    stat(".", &here) < 0 || here.st_dev != asked.st_dev || here.st_ino != asked.st_ino)
		return b_fail(err, B_FLOOR, 0,
			      "the current directory is not the same directory outside of the run: "
			      "change to another one");
	return may_look(t, path, err);
}

/* ---- options: less than is asked for, never more than the outer run's ---- */

static int check_more(const struct guest *t, struct b_err *err)
{
	if (t->o.allow & ~t->outer->options->allow)
		return b_fail(err, B_FLOOR, 0,
			      "--allow: the outer run was started without it: start the outer run "
			      "with it, too");
	if (t->outer->cgroup >= 0 &&
	    (t->o.bounds.v[LAU_BOUND_MEMORY] || t->o.bounds.v[LAU_BOUND_NPROC]))
		return b_fail(err, B_USAGE, 0,
			      "--memory and --nproc of the outer run limit all runs inside it, "
			      "too: leave them out here");
	for (char **w = t->rq.workspaces; *w; w++) {
		b_auto_free char *real = realpath(*w, NULL);

		if (real && may_look(t, real, err) < 0)
			return -1;
	}
	return 0;
}

static void add_texts(struct b_strlist *out, char **v)
{
	for (; *v; v++)
		b_strlist_add(out, *v);
}

/* No more than the requester's limits: who may change anything may raise them. */
static void cut_bounds(const struct guest *t, struct lau_bounds *b)
{
	static const enum __rlimit_resource limits[LAU_BOUND_COUNT] = {
		[LAU_BOUND_MEMORY] = RLIMIT_AS,
		[LAU_BOUND_CPU] = RLIMIT_CPU,
		[LAU_BOUND_NPROC] = RLIMIT_NPROC,
		[LAU_BOUND_FSIZE] = RLIMIT_FSIZE,
		[LAU_BOUND_NOFILE] = RLIMIT_NOFILE};

	for (int i = 0; i < LAU_BOUND_COUNT; i++) {
		rlim_t most = t->run.limits[limits[i]].rlim_max;

		if (b->v[i] && most < b->v[i])
			b->v[i] = most;
	}
}

static int make_options(struct guest *t, struct b_err *err)
{
	const struct lau_options *outer = t->outer->options;
	struct lau_options *o = &t->o;

	lau_options_init(o);
	if (lau_policy_take(&o->policy, t->rq.bundle, t->rq.bundle_size, err) < 0 ||
	    lau_options_receive(t->rq.options, o, err) < 0 || check_more(t, err) < 0)
		return -1;
	add_texts(&o->policy.workspaces, t->rq.workspaces);
	add_texts(&o->policy.presets, t->rq.presets);
	/* recorded as the outer run is: nothing may be done inside that nobody hears of */
	o->audit_level = outer->audit_level;
	o->audit_required |= outer->audit_required;
	o->no_shim = outer->no_shim;
	if (!o->caps)
		o->caps = outer->caps;
	o->is_shell = t->rq.is_shell;
	o->argv = t->rq.args;
	cut_bounds(t, &o->bounds);
	return lau_call_settle(o, err);
}

/* ---- while it lasts ---- */

static enum lau_watched hear(struct lau_watch *w, struct lau_signal *out)
{
	struct lau_nest_news news;
	ssize_t n = recv(w->fd, &news, sizeof news, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return LAU_WATCH_NOTHING;
	if (n != (ssize_t)sizeof news || news.kind != LAU_NEST_SIGNAL || news.value <= 0 ||
	    news.value >= NSIG) {
		w->fd = -1; /* gone, or mad: the run has nobody */
		return LAU_WATCH_OVER;
	}
	*out = (struct lau_signal){.signo = news.value, .sender = -1};
	return LAU_WATCH_SIGNAL;
}

/* Who stands for us in the shell's eyes stops; we must go on hearing of it. */
static void tell_stopped(struct lau_watch *w, int signo)
{
	const struct lau_nest_news news = {LAU_NEST_STOPPED, signo};

	if (w->fd >= 0)
		(void)lau_nest_send(w->fd, &news, sizeof news);
}

static int prepare(struct guest *t, struct b_err *err)
{
	const struct lau_nest_news started = {LAU_NEST_STARTED, 0};
	struct lau_nest_news news = started;

	/* from here on what is done counts as the outer run's */
	if (t->outer->cgroup >= 0 && lau_cgroup_enter(t->outer->cgroup) < 0)
		return b_fail(err, B_LIMIT, errno, "the outer run's cgroup: %s", strerror(errno));
	if (receive(t, err) < 0 || lau_nest_check(t->g->server, t->pid, err) < 0 ||
	    lau_movelock_join(t->outer->lock, &t->run.lock, err) < 0 ||
	    take_descriptors(t, err) < 0 || take_limits(t, err) < 0)
		return -1;
	if (t->outer->plan->engine->rules.own_tmp && !(t->outer->lost & LAU_NO_TMP) &&
	    (t->run.tmp_tree = lau_nest_take_tmp(t->g->server, t->pid, err)) < 0)
		return -1;
	take_group(t);
	take_signals(t);
	if (take_place(t, err) < 0 || make_options(t, err) < 0)
		return -1;
	t->run.outer = t->outer;
	lau_os_borrow_environ(t->rq.env);
	t->run.program = t->rq.program;
	t->watch = (struct lau_watch){.fd = t->g->sock, .ready = hear, .stopped = tell_stopped};
	news.value = t->is_apart;
	return lau_nest_send(t->g->sock, &news, sizeof news) < 0
		       ? b_fail(err, B_SYSTEM, errno, "the inner run has ended")
		       : 0;
}

int lau_guest_run(struct lau_guest *g)
{
	const struct lau_nest_news done = {LAU_NEST_DONE, 0};
	struct guest t = {.g = g,
			  .outer = &g->server->outer,
			  .run = {.lock = LAU_MOVELOCK_INIT, .tmp_tree = -1}};
	struct lau_outcome out = {.phase = LAU_PHASE_SETUP};
	int status;

	if (prepare(&t, &out.err) == 0) {
		status = lau_run_guest(&t.o, &t.run, &t.watch, &out);
	} else {
		/* who asks prints it: our standard error may be the outer run's */
		out.phase = LAU_PHASE_SETUP;
		status = lau_outcome_status(&out);
	}
	if (lau_nest_send(g->sock, &done, sizeof done) == 0)
		(void)lau_nest_send(g->sock, &out, sizeof out);
	return status;
}
