/* SPDX-License-Identifier: Apache-2.0 */
/* nest_client.c - inside: asks the outer supervisor for a run, and represents it in the process
 * tree: it stops, is continued, gets signals and ends as the command does. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/remedy.h"
#include "base/str.h"
#include "core/channel.h"
#include "launcher/linux/nested/nest.h"
#include "launcher/options/options.h"
#include "launcher/plan/program.h"
#include "launcher/supervise/supervise.h"
#include "policy/bundle.h"

struct client {
	const struct lau_options *o;
	struct lau_nest_request rq;
	struct b_str body;
	int fds[LAU_NEST_FDS];
	size_t nfds;
	int sock;
	struct lau_signals signals;
	bool is_apart; /* the guest is in a session of its own: no signal of the terminal's */
	bool was_continued;
};

/* -1: nobody is there. */
static int connect_to(const char *dir)
{
	b_auto_fd int sock = -1;
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	b_auto(b_str_release) struct b_str path = {0};

	b_str_addf(&path, "%s/" SBX_CHANNEL_CONTROL, dir);
	if (path.len >= sizeof un.sun_path)
		return -1;
	memcpy(un.sun_path, path.s, path.len);
	sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (sock < 0 || connect(sock, (const struct sockaddr *)&un, sizeof un) < 0)
		return -1;
	return b_take_fd(&sock);
}

/* ---- the request ---- */

static void put_process(struct client *c)
{
	c->rq.umask = umask(0);
	umask(c->rq.umask);
	for (int n = 1; n < 32; n++) {
		struct sigaction was;

		if (sigaction(n, NULL, &was) == 0 && was.sa_handler == SIG_IGN)
			c->rq.ignored |= UINT64_C(1) << n;
	}
}

static int put_descriptors(struct client *c, struct b_err *err)
{
	struct lau_pipes pipes;
	int here = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (here < 0)
		return b_fail(err, B_SYSTEM, errno, "the current directory: %s", strerror(errno));
	for (int fd = 0; fd < 3; fd++)
		c->fds[c->nfds++] = fd;
	c->fds[c->nfds++] = here;
	lau_pipes_find(&pipes);
	for (size_t i = 0; i < pipes.n && c->rq.npipes < LAU_NEST_PIPES; i++) {
		if (pipes.v[i] >= LAU_NEST_TOP)
			continue;
		c->rq.pipes[c->rq.npipes++] = pipes.v[i];
		c->fds[c->nfds++] = pipes.v[i];
	}
	lau_pipes_release(&pipes);
	return 0;
}

/* The words of a list, NULL-terminated: free() it. */
static char **words_of(const struct b_strlist *l)
{
	char **v = b_calloc(l->n + 1, sizeof *v);

	if (l->n)
		memcpy(v, l->v, l->n * sizeof *v);
	return v;
}

static int make_request(struct client *c, struct b_err *err)
{
	extern char **environ;
	const struct lau_options *o = c->o;
	struct lau_policy_opts opts = o->policy;
	b_auto(b_strlist_release) struct b_strlist options = {0};
	b_auto(b_str_release) struct b_str bundle = {0};
	b_auto_free char *program = NULL;
	b_auto_free char **sent = NULL, **workspaces = words_of(&o->policy.workspaces),
			 **presets = words_of(&o->policy.presets);
	struct pol_request policy;

	lau_policy_request(&opts, &policy);
	if (lau_options_send(o, &c->rq.arena, &options, err) < 0 ||
	    lau_program_find(o->argv[0], getenv("PATH"), &program, err) < 0 ||
	    pol_bundle_write(&policy, NULL, &bundle, err) < 0 || put_descriptors(c, err) < 0)
		return -1;
	put_process(c);
	sent = words_of(&options);
	c->rq.is_shell = o->is_shell;
	c->rq.program = program;
	c->rq.args = o->argv;
	c->rq.env = environ;
	c->rq.workspaces = workspaces;
	c->rq.presets = presets;
	c->rq.options = sent;
	c->rq.bundle = bundle.s;
	c->rq.bundle_size = bundle.len;
	lau_nest_pack(&c->rq, &c->body);
	return 0;
}

static int send_request(struct client *c)
{
	union {
		struct cmsghdr head; /* for its alignment */
		char room[CMSG_SPACE(LAU_NEST_FDS * sizeof(int))];
	} control = {0};
	struct lau_nest_head head = {
		.version = SBX_VERSION, .outcome = sizeof(struct lau_outcome), .size = c->body.len};
	struct iovec iov = {&head, sizeof head};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.room,
			     .msg_controllen = CMSG_SPACE(c->nfds * sizeof(int))};
	struct cmsghdr *m = CMSG_FIRSTHDR(&msg);

	m->cmsg_level = SOL_SOCKET;
	m->cmsg_type = SCM_RIGHTS;
	m->cmsg_len = CMSG_LEN(c->nfds * sizeof(int));
	memcpy(CMSG_DATA(m), c->fds, c->nfds * sizeof(int));
	if (sendmsg(c->sock, &msg, MSG_NOSIGNAL) != (ssize_t)sizeof head)
		return -1;
	return lau_nest_send(c->sock, c->body.s, c->body.len);
}

/* ---- while it lasts ---- */

static void tell(const struct client *c, int signo)
{
	const struct lau_nest_news news = {LAU_NEST_SIGNAL, signo};

	(void)lau_nest_send(c->sock, &news, sizeof news);
}

/* What the terminal sends to our group reaches the guest and its command by itself. */
static void take_signals(struct client *c)
{
	struct lau_signal s;

	while (lau_signals_next(&c->signals, &s)) {
		if (s.signo == SIGCHLD || s.signo == SIGPIPE)
			continue;
		if (s.signo == SIGCONT && c->was_continued) {
			c->was_continued = false;
			continue;
		}
		if (!s.from_kernel || c->is_apart)
			tell(c, s.signo);
	}
}

/* 1 = it goes on, 0 = *out is how it ended, -1 = nobody will tell. */
static int take_news(struct client *c, struct lau_outcome *out)
{
	struct lau_nest_news news;

	if (lau_nest_receive(c->sock, &news, sizeof news, 0) < 0)
		return -1;
	switch (news.kind) {
	case LAU_NEST_STARTED:
		c->is_apart = news.value;
		return 1;
	case LAU_NEST_STOPPED:
		lau_signals_stop_self(news.value);
		c->was_continued = true;
		tell(c, SIGCONT);
		return 1;
	case LAU_NEST_DONE:
		return lau_nest_receive(c->sock, out, sizeof *out, 0);
	default:
		return -1;
	}
}

/* As in a run: ours would hide that the command has closed its own. */
static void let_go_of_stdio(void)
{
	b_auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null < 0)
		return;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
}

static int stand_for(struct client *c, struct lau_outcome *out, struct b_err *err)
{
	struct pollfd p[2] = {{.fd = c->sock, .events = POLLIN},
			      {.fd = c->signals.fd, .events = POLLIN}};
	int rc = 1;

	while (rc > 0) {
		if (poll(p, 2, -1) < 0)
			continue;
		if (p[1].revents)
			take_signals(c);
		if (p[0].revents)
			rc = take_news(c, out);
	}
	if (rc == 0)
		return 1;
	return b_fail(err, B_FLOOR, 0,
		      "the outer run, which made this one, has ended it without a status");
}

static void release(struct client *c)
{
	/* the directory, and nobody else's */
	if (c->nfds > 3)
		close(c->fds[3]);
	for (size_t i = 4; i < c->nfds; i++)
		close(c->fds[i]);
	b_arena_release(&c->rq.arena);
	b_str_release(&c->body);
	close(c->sock);
}

bool lau_nest_is_served(void)
{
	const char *dir = getenv(SBX_ENV_CHANNEL);
	b_auto_fd int sock = dir && *dir == '/' ? connect_to(dir) : -1;

	return sock >= 0;
}

bool lau_nest_is_shells(const struct lau_options *o)
{
	const char *dir = getenv(SBX_ENV_CHANNEL), *shells = getenv(SBX_ENV_SHELL);

	return o->is_shell && dir && shells && strcmp(dir, shells) == 0 && lau_nest_is_served();
}

int lau_nest_ask(const struct lau_options *o, struct lau_outcome *out, struct b_err *err)
{
	const char *dir = getenv(SBX_ENV_CHANNEL);
	struct client c = {.o = o};
	int rc = -1;

	if (!dir || *dir != '/' || (c.sock = connect_to(dir)) < 0)
		return 0;
	if (make_request(&c, err) == 0 && lau_signals_open(&c.signals, err) == 0) {
		if (send_request(&c) == 0) {
			let_go_of_stdio();
			rc = stand_for(&c, out, err);
		} else {
			b_fail_sys(err, B_FLOOR, errno,
				   "the outer run does not accept the request");
		}
		lau_signals_close(&c.signals);
	}
	release(&c);
	return rc;
}
