/* SPDX-License-Identifier: Apache-2.0 */
/* nest_server.c - outside: the socket, the identity of the requester, and a guest for each request.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/pack.h"
#include "base/str.h"
#include "core/channel.h"
#include "launcher/linux/confine/confine_priv.h"
#include "launcher/linux/nested/nest.h"
#include "launcher/options/grida_call.h"
#include "launcher/options/options.h"
#include "launcher/plan/plan.h"
#include "launcher/run/dirs.h"
#include "launcher/run/spawn.h"
#include "policy/engine.h"

static const char *const kinds[] = {"user", "mnt", "net", "pid", "ipc"};

enum { NKINDS = sizeof kinds / sizeof *kinds, BACKLOG = 64, CHAIN = 4096 };

/* ---- the socket ---- */

bool lau_nest_listen(const char *dir, struct lau_nest_server *s)
{
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	b_auto_fd int fd = -1;
	const int on = 1;

	*s = (struct lau_nest_server){.listener = -1, .watch.fd = -1};
	b_str_addf(&s->path, "%s/" SBX_CHANNEL_CONTROL, dir);
	if (s->path.len >= sizeof un.sun_path)
		return false;
	memcpy(un.sun_path, s->path.s, s->path.len);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	/* the credentials of who sends: connecting is the broker's act */
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
	    bind(fd, (const struct sockaddr *)&un, sizeof un) < 0 || listen(fd, BACKLOG) < 0)
		return false;
	s->listener = b_take_fd(&fd);
	return true;
}

void lau_nest_close(struct lau_nest_server *s)
{
	if (s->listener >= 0)
		close(s->listener);
	s->listener = s->watch.fd = -1;
}

void lau_nest_release(struct lau_nest_server *s)
{
	lau_nest_close(s);
	b_str_release(&s->path);
}

/* ---- who asks ---- */

static bool look_ns(pid_t pid, int i, struct stat *out)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, kinds[i]);
	return stat(path, out) == 0;
}

static pid_t parent_of(pid_t pid)
{
	char path[64], text[512];
	b_auto_fd int fd = -1;
	const char *at;
	int parent;
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	at = strrchr(text, ')'); /* the name may hold anything */
	return at && sscanf(at + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

static bool is_guest(const struct lau_watch *w, pid_t pid)
{
	const struct lau_nest_server *s = (const struct lau_nest_server *)w;

	for (size_t i = 0; i < s->n; i++)
		if (s->guests[i] == pid)
			return true;
	return false;
}

/* A process of this run itself: one of a run inside has that one's supervisor to ask, a guest of
 * ours, under whose policy it is. */
static bool is_of_run(const struct lau_nest_server *s, pid_t pid)
{
	for (int i = 0; i < CHAIN && pid > 1; i++) {
		if (is_guest(&s->watch, pid))
			return false;
		if ((pid = parent_of(pid)) == s->supervisor)
			return true;
	}
	return false;
}

static bool has_root(pid_t pid)
{
	struct stat theirs, ours;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/root", (int)pid);
	return stat(path, &theirs) == 0 && stat("/", &ours) == 0 && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

/*
 * Whoever can connect has the same user. What tells a process of the run from others is that it is
 * below the supervisor, and what tells one that has gone into namespaces or a root of its own (in
 * which paths mean something else) is these. The descriptor of the process, looked at last, says
 * that all this was said of one process.
 */
int lau_nest_check(const struct lau_nest_server *s, pid_t pid, struct b_err *err)
{
	b_auto_fd int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct stat st;

	if (fd < 0 || !is_of_run(s, pid))
		return b_fail(err, B_FLOOR, 0, "the process that asks does not belong to the run");
	for (int i = 0; i < NKINDS; i++)
		if (!look_ns(pid, i, &st) || st.st_dev != s->ns[i].dev || st.st_ino != s->ns[i].ino)
			return b_fail(err, B_FLOOR, 0,
				      "a run inside a run: the process that asks is in another %s "
				      "namespace",
				      kinds[i]);
	if (!has_root(pid))
		return b_fail(
			err, B_FLOOR, 0,
			"a run inside a run: the process that asks has another root directory");
	if (syscall(SYS_pidfd_send_signal, fd, 0, NULL, 0) < 0)
		return b_fail(err, B_FLOOR, errno, "the process that asks has ended");
	return 0;
}

/* The one that was checked, whoever has the number now. */
static int open_ns(const struct lau_nest_server *s, pid_t pid, int i)
{
	b_auto_fd int fd = -1;
	struct stat st;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, kinds[i]);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || st.st_dev != s->ns[i].dev || st.st_ino != s->ns[i].ino)
		return -1;
	return b_take_fd(&fd);
}

int lau_nest_take_tmp(const struct lau_nest_server *s, pid_t pid, struct b_err *err)
{
	b_auto_fd int user = open_ns(s, pid, 0), mnt = open_ns(s, pid, 1);
	int tree = user >= 0 && mnt >= 0 ? lau_tmp_of(user, mnt) : -1;

	if (tree < 0)
		b_fail(err, B_FLOOR, errno, "the outer run's /tmp cannot be had: %s",
		       strerror(errno));
	return tree;
}

/* ---- guests ---- */

static bool has_guests(const struct lau_watch *w)
{
	return ((const struct lau_nest_server *)w)->n > 0;
}

/* In the fork: what it needs of the outer run is memory. Locks held by descriptors would keep the
 * outer run's places from being swept. */
static _Noreturn void be_guest(struct lau_nest_server *s, int sock)
{
	struct lau_guest g = {.server = s, .sock = sock};
	struct b_err err;

	prctl(PR_SET_NAME, "sbx-guest", 0, 0, 0);
	if (lau_spawn_die_with(s->supervisor, &err) < 0)
		_exit(125);
	_exit(lau_guest_run(&g));
}

static void set_open(struct lau_nest_server *s)
{
	s->watch.fd = s->n < LAU_NEST_GUESTS ? s->listener : -1;
}

static enum lau_watched take_one(struct lau_watch *w, struct lau_signal *signal)
{
	struct lau_nest_server *s = (struct lau_nest_server *)w;
	b_auto_fd int sock = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC);
	pid_t pid;

	(void)signal;
	if (sock < 0)
		return LAU_WATCH_NOTHING;
	pid = fork();
	if (pid == 0)
		be_guest(s, b_take_fd(&sock));
	if (pid > 0)
		s->guests[s->n++] = pid;
	set_open(s);
	return LAU_WATCH_NOTHING;
}

static void guest_ended(struct lau_watch *w, pid_t pid)
{
	struct lau_nest_server *s = (struct lau_nest_server *)w;

	for (size_t i = 0; i < s->n; i++)
		if (s->guests[i] == pid) {
			s->guests[i] = s->guests[--s->n];
			set_open(s);
			return;
		}
}

/* They are asked as by --stop, and so end their runs in order; killed, they take them along. */
static void end_guests(struct lau_watch *w, int signo)
{
	struct lau_nest_server *s = (struct lau_nest_server *)w;
	union sigval value = {.sival_int = LAU_STOP_VALUE};

	for (size_t i = 0; i < s->n; i++)
		(void)(signo == SIGKILL ? kill(s->guests[i], SIGKILL)
					: sigqueue(s->guests[i], SIGTERM, value));
	/* the run is over: nobody else is served */
	lau_nest_close(s);
}

bool lau_nest_serve(struct lau_nest_server *s, const struct lau_nest_outer *outer, pid_t like)
{
	s->outer = *outer;
	s->supervisor = getpid();
	for (int i = 0; i < NKINDS; i++) {
		struct stat st;

		if (!look_ns(like, i, &st))
			return false;
		s->ns[i].dev = st.st_dev;
		s->ns[i].ino = st.st_ino;
	}
	s->watch = (struct lau_watch){.fd = s->listener,
				      .ready = take_one,
				      .ended = guest_ended,
				      .end = end_guests,
				      .is_apart = is_guest,
				      .has_child = has_guests};
	return true;
}

/* What goes over the socket of nest.h; the request is read as hostile bytes. */

int lau_nest_send(int sock, const void *data, size_t n)
{
	const char *p = data;

	while (n > 0) {
		ssize_t sent = send(sock, p, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent <= 0)
			return -1;
		p += sent;
		n -= (size_t)sent;
	}
	return 0;
}

int lau_nest_receive(int sock, void *data, size_t n, uint64_t until_ms)
{
	char *p = data;

	while (n > 0) {
		ssize_t got = recv(sock, p, n, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return -1;
		p += got;
		n -= (size_t)got;
		if (n > 0 && until_ms && b_now_ms() >= until_ms)
			return -1;
	}
	return 0;
}

/* In the order of lau_nest_parse(). */
void lau_nest_pack(const struct lau_nest_request *r, struct b_str *out)
{
	b_pack_u64(out, r->ignored);
	b_pack_u64(out, r->umask);
	b_pack_u64(out, r->is_shell);
	b_pack_u64(out, r->npipes);
	for (size_t i = 0; i < r->npipes; i++)
		b_pack_u64(out, (uint64_t)r->pipes[i]);
	b_pack_text(out, r->program);
	b_pack_list(out, (char const *const *)r->args);
	b_pack_list(out, (char const *const *)r->env);
	b_pack_list(out, (char const *const *)r->workspaces);
	b_pack_list(out, (char const *const *)r->presets);
	b_pack_list(out, (char const *const *)r->options);
	b_pack_bytes(out, r->bundle, r->bundle_size);
}

int lau_nest_parse(const void *data, size_t n, struct lau_nest_request *r, struct b_err *err)
{
	struct b_unpack in = b_unpack_from(&r->arena, data, n);

	r->ignored = b_unpack_u64(&in, UINT64_MAX);
	r->umask = (unsigned)b_unpack_u64(&in, 0777);
	r->is_shell = b_unpack_u64(&in, true);
	r->npipes = b_unpack_u64(&in, LAU_NEST_PIPES);
	for (size_t i = 0; i < r->npipes; i++) {
		r->pipes[i] = (int)b_unpack_u64(&in, LAU_NEST_TOP - 1);
		in.is_bad |= r->pipes[i] < 3;
	}
	r->program = b_unpack_text(&in);
	r->args = b_unpack_list(&in);
	r->env = b_unpack_list(&in);
	r->workspaces = b_unpack_list(&in);
	r->presets = b_unpack_list(&in);
	r->options = b_unpack_list(&in);
	r->bundle = b_unpack_bytes(&in, &r->bundle_size);
	if (!b_unpack_done(&in) || !r->args[0] || !r->bundle)
		return b_fail(err, B_FORMAT, 0, "the request of the inner run is damaged");
	return 0;
}

/* What a run inside a run may have: the outer run's, and less. */

/* The outer run's own /tmp is its too: what one has made there the other is to find, where rules
 * allow. One that it asked for lies over that. */
static void inherit_tmp(const struct lau_nest_guest *g, struct lau_plan *plan)
{
	const struct pol_ruleset *theirs = &g->outer->plan->engine->rules;
	struct pol_ruleset *rules = &plan->engine->rules;
	char cwd[4096];

	if (!theirs->own_tmp)
		return;
	plan->lost_above = g->outer->lost & LAU_NO_TMP;
	if (!plan->lost_above)
		plan->isolate |= LAU_ISOLATE_OUTER_TMP;
	if (!rules->own_tmp) {
		rules->own_tmp = true;
		rules->tmp_kept = theirs->tmp_kept;
		rules->ntmp_kept = theirs->ntmp_kept;
	}
	plan->isolate_must |= plan->isolate & LAU_ISOLATE_OUTER_TMP;
	if (getcwd(cwd, sizeof cwd) && lau_is_in_tmp(cwd))
		plan->tmp_cwd = b_arena_strndup(&plan->arena, cwd, strlen(cwd));
}

int lau_nest_plan(const struct lau_nest_guest *g, const struct lau_options *o,
		  struct lau_host *host, struct lau_dirs *dirs, struct lau_plan *plan,
		  struct b_err *err)
{
	const struct lau_plan *outer = g->outer->plan;

	if (lau_dirs_find_inside(o, g->outer->dirs, dirs, err) < 0 ||
	    lau_call_check(o, dirs, err) < 0)
		return -1;
	if (!outer->engine->rules.own_tmp && o->isolate & LAU_ISOLATE_TMP)
		return b_fail(err, B_FLOOR, 0,
			      "--isolate tmp: the outer run has the host's /tmp, which its rules "
			      "close: give it one of its own");
	dirs->outer = &outer->engine->rules;
	if (lau_plan_policy(o, host, dirs, plan, err) < 0)
		return -1;
	if (plan->identity.is_set)
		return b_fail(err, B_FLOOR, 0,
			      "the policy names a user for the command, and a run inside a run "
			      "cannot change the user");
	/* else the host's processes would be seen where the outer run sees its own alone */
	if (outer->isolate & LAU_ISOLATE_PID && !(g->outer->lost & LAU_NO_PID)) {
		plan->isolate |= LAU_ISOLATE_PID;
		plan->isolate_must |= LAU_ISOLATE_PID;
	}
	/* what its mounts keep away (device nodes) is no rule */
	plan->isolate |= outer->isolate & LAU_ISOLATE_SHM;
	inherit_tmp(g, plan);
	return 0;
}

static void limit_devices(const struct lau_plan *outer, struct lau_plan *plan)
{
	struct lau_names both = {plan->devices, plan->ndevices};
	const struct lau_names theirs = {outer->devices, outer->ndevices};

	lau_names_meet(&plan->arena, &theirs, &both);
	plan->ndevices = both.n;
	for (size_t i = 0; i < both.n; i++)
		plan->devices[i] = both.v[i];
}

void lau_nest_limit(const struct lau_nest_guest *g, struct lau_plan *plan)
{
	if (plan->keep_caps & ~g->outer->plan->keep_caps)
		lau_plan_loss(plan, "--caps: the inner run gets only the capabilities that the "
				    "outer run has: start the outer run with them");
	plan->keep_caps &= g->outer->plan->keep_caps;
	/* the inner run's mounts open them, and the outer run's closed the others */
	limit_devices(g->outer->plan, plan);
}

bool lau_nest_may(const struct lau_nest_guest *g, const struct lau_plan *plan)
{
	/* a limit that counts processes by user namespace would be had once more by each */
	if (plan->bounds.by[LAU_BOUND_NPROC] == LAU_HELD_RLIMIT)
		return false;
	/* its broker would not know that names change without it */
	if (plan->nclean)
		return false;
	return plan->floor.uses_broker && !plan->is_wrapped && !plan->identity.is_set &&
	       (!g || g->outer->depth + 1 < LAU_NEST_DEPTH);
}
