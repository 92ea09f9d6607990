/* SPDX-License-Identifier: Apache-2.0 */
/*
 * outsider.c - who is outside: a process with secrets in its environment and descriptors, sockets
 * that nobody inside may reach, and a thread that edits, replaces and moves files of the world, as
 * an editor, git or a build on the host would.
 */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

/* ---- the process outside ---- */

static int told_to;

static void on_signal(int signo)
{
	(void)signo;
	(void)!write(told_to, "s", 1);
}

/* With a canary in its memory; in its environment by an exec of itself (attack_main.c). */
static _Noreturn void be_victim(const struct ak_world *w, int out)
{
	char path[128], env[64], fd[16], name[] = "attacker", verb[] = "victim";
	char *argv[] = {name, verb, fd, NULL}, *envp[] = {env, NULL};

	snprintf(env, sizeof env, "SECRET=%.12s998", (const char *)w->token[0]);
	snprintf(fd, sizeof fd, "%d", out);
	snprintf(path, sizeof path, "%s/home/.ssh", w->base);
	(void)!chdir(path);
	snprintf(path, sizeof path, "%s/home/.ssh/id", w->base);
	if (open(path, O_RDONLY) < 0)
		_exit(1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execve("/proc/self/exe", argv, envp);
	_exit(1);
}

int ak_victim(int out);
int ak_victim(int out)
{
	static const int signals[] = {SIGUSR1, SIGUSR2, SIGCONT, SIGHUP, SIGTERM, SIGIO};

	told_to = out;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned i = 0; i < sizeof signals / sizeof *signals; i++)
		signal(signals[i], on_signal);
	for (;;)
		pause();
}

/* ---- its sockets ---- */

static int listen_at(const struct sockaddr *a, socklen_t n)
{
	int fd = socket(a->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, a, n) < 0 || listen(fd, 16) < 0)
		return -1;
	return fd;
}

static int listen_all(struct ak_outsider *o)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un un = {.sun_family = AF_UNIX};
	socklen_t n = sizeof in;

	o->tcp_fd = listen_at((struct sockaddr *)&in, sizeof in);
	if (o->tcp_fd < 0 || getsockname(o->tcp_fd, (struct sockaddr *)&in, &n) < 0)
		return -1;
	o->port = ntohs(in.sin_port);
	snprintf(un.sun_path, sizeof un.sun_path, "%s/out/host.sock", o->world->base);
	unlink(un.sun_path);
	o->unix_fd[0] = listen_at((struct sockaddr *)&un, sizeof un);
	chmod(un.sun_path, 0777);
	memset(un.sun_path, 0, sizeof un.sun_path);
	snprintf(un.sun_path + 1, 90, "ak-%d", o->port);
	o->unix_fd[1] = listen_at(
		(struct sockaddr *)&un,
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(un.sun_path + 1)));
	return o->unix_fd[0] < 0 || o->unix_fd[1] < 0 ? -1 : 0;
}

static void check_listener(int fd, const char *name, struct ak_outcome *out)
{
	int got = accept(fd, NULL, NULL);

	if (got < 0)
		return;
	ak_world_note(out, AK_F_SOCKET, "the host's %s socket was reached", name);
	close(got);
}

static struct ak_rank rank_of(pid_t pid)
{
	struct rlimit files = {0}, size = {0};
	unsigned long processors[16] = {0};
	struct ak_rank r = {.nice = getpriority(PRIO_PROCESS, (id_t)pid),
			    .policy = sched_getscheduler(pid),
			    .io = (int)syscall(SYS_ioprio_get, 1, pid)};

	(void)prlimit(pid, RLIMIT_NOFILE, NULL, &files);
	(void)prlimit(pid, RLIMIT_FSIZE, NULL, &size);
	(void)syscall(SYS_sched_getaffinity, pid, sizeof processors, processors);
	r.files = files.rlim_cur;
	r.size = size.rlim_cur;
	r.processors = processors[0];
	return r;
}

static void check_rank(struct ak_outsider *o, struct ak_outcome *out)
{
	const struct ak_rank now = rank_of(o->pid), was = o->rank;

	if (now.nice == was.nice && now.policy == was.policy && now.io == was.io &&
	    now.files == was.files && now.size == was.size && now.processors == was.processors)
		return;
	ak_world_note(out, AK_F_PROCESS,
		      "priority or limits of a process outside: %d/%d/%d/%llu/%llu/%llx", now.nice,
		      now.policy, now.io, (unsigned long long)now.files,
		      (unsigned long long)now.size, (unsigned long long)now.processors);
	o->rank = now;
}

void ak_outsider_check(struct ak_outsider *o, struct ak_outcome *out)
{
	char byte;

	check_listener(o->unix_fd[0], "Unix", out);
	check_listener(o->unix_fd[1], "abstract", out);
	check_listener(o->tcp_fd, "TCP", out);
	ak_servers_check(o->servers, out);
	if (read(o->pipe_fd, &byte, 1) == 1)
		ak_world_note(out, AK_F_PROCESS, "a signal reached a process outside");
	if (waitpid(o->pid, NULL, WNOHANG) == o->pid) {
		ak_world_note(out, AK_F_PROCESS, "the process outside was ended");
		o->pid = -1;
	}
	if (o->pid > 0)
		check_rank(o, out);
}

/* ---- acts ---- */

/* What the thread changes: in the model's words. */
static const char *const touched[] = {
	"home/.ssh/id",	    "out/d",	 "out/d/g", "out/d2", "out/f", "home/notes", "ws/app.env",
	"ws/hidden/secret", "home/.ssh", "out",	    "out/h",  "home",  "ws",	     "ws/hidden",
	"ws/l_host"};

bool ak_is_touched(const char *path)
{
	extern _Atomic bool ak_outsider_acted;

	if (!ak_outsider_acted)
		return false;
	for (unsigned i = 0; i < sizeof touched / sizeof *touched; i++)
		if (!strcmp(path, touched[i]) || (!strncmp(path, "out/d2", 6)))
			return true;
	return false;
}
_Atomic bool ak_outsider_acted;

static void in_world(const struct ak_outsider *o, const char *rel, char out[128])
{
	snprintf(out, 128, "%s/%s", o->world->base, rel);
}

/* As editors save: a new file beside it, then a rename. Its name is denied as the other is. */
static void save(const struct ak_outsider *o, const char *rel, const char *beside)
{
	char from[128], to[128], room[8192], attr[64];
	ssize_t n = -1, got;
	struct stat st;
	int fd;

	in_world(o, rel, to);
	in_world(o, beside, from);
	fd = open(to, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		n = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? read(fd, room, sizeof room) : -1;
		close(fd);
	}
	if (n <= 0)
		return;
	fd = open(from, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	(void)!write(fd, room, (size_t)n);
	(void)!fchown(fd, st.st_uid, st.st_gid);
	fchmod(fd, st.st_mode & 07777);
	got = lgetxattr(to, "user.secret", attr, sizeof attr);
	if (got > 0)
		fsetxattr(fd, "user.secret", attr, (size_t)got, 0);
	close(fd);
	if (rename(from, to) < 0)
		unlink(from);
}

static void move(const struct ak_outsider *o, const char *a, const char *b)
{
	char from[128], to[128];

	in_world(o, a, from);
	in_world(o, b, to);
	(void)!renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE);
}

static void lead(const struct ak_outsider *o, const char *rel, const char *target)
{
	char path[128], beside[128];

	in_world(o, rel, path);
	in_world(o, "out/h/link", beside);
	unlink(beside);
	if (symlink(target, beside) == 0 && lchown(beside, o->world->owner, o->world->owner) == 0)
		(void)!rename(beside, path);
}

/* As a suspended machine, a frozen container or a debugger does. */
static void freeze(const struct ak_outsider *o, uint32_t n)
{
	struct timespec ts = {0, 50000 + (long)(n % 40) * 50000};

	if (o->broker <= 0 || kill(o->broker, SIGSTOP) < 0)
		return;
	nanosleep(&ts, NULL);
	kill(o->broker, SIGCONT);
}

static void act(const struct ak_outsider *o, uint32_t n)
{
	char path[128];

	if (o->freezes) {
		freeze(o, n / 10);
		return;
	}
	switch (n % 10) {
	case 0:
		save(o, "ws/app.env", "ws/.app.tmp.env");
		break;
	case 1:
		save(o, "ws/hidden/secret", "ws/hidden/.secret.tmp");
		break;
	case 2:
		save(o, "home/.ssh/id", "home/.ssh/.id.tmp");
		break;
	case 3:
		save(o, "ws/src/a", "ws/src/.a.tmp");
		break;
	case 4:
		move(o, "ws/src/sub", "ws/pub/sub");
		break;
	case 5:
		move(o, "ws/pub/sub", "ws/src/sub");
		break;
	case 6:
		move(o, "out/d", "out/d2");
		move(o, "out/d2", "out/d");
		break;
	case 7:
		lead(o, "ws/l_host",
		     (const char *const[]){"src", "hidden", "../out", ".git/hooks"}[n / 10 % 4]);
		break;
	case 8:
		in_world(o, "out/h/1", path);
		close(open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0644));
		unlink(path);
		break;
	case 9:
		save(o, "out/d/g", "out/h/g");
		break;
	}
}

static void *act_along(void *arg)
{
	struct ak_outsider *o = arg;
	struct ak_rng r = {0};
	uint64_t seed = 0;

	while (!o->is_over) {
		struct timespec ts = {0, 100000};

		if (o->acts) {
			if (seed != o->seed)
				r.s = seed = o->seed;
			act(o, ak_rnd(&r, 0xffffffffu));
			o->is_acting = false;
		} else {
			o->is_acting = false;
			ts.tv_nsec = 1000000;
		}
		nanosleep(&ts, NULL);
	}
	return NULL;
}

void ak_outsider_acts(struct ak_outsider *o, unsigned flags, uint64_t seed)
{
	o->seed = seed;
	if (flags & (AK_HOST | AK_FREEZE)) {
		ak_outsider_acted = true;
		o->freezes = flags & AK_FREEZE;
		o->acts = true;
		return;
	}
	if (!o->acts)
		return;
	o->acts = false;
	o->is_acting = true;
	while (o->is_acting) { /* until the act at hand is done */
		struct timespec ts = {0, 50000};

		nanosleep(&ts, NULL);
	}
}

/* The broker, a child of this process or of its children: the launcher may be below a program that
 * makes the host an older one, and its command below the broker. */
static void find_broker(struct ak_outsider *o, pid_t parent, unsigned depth)
{
	char path[64], name[32];
	int pid;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", parent, parent);
	f = fopen(path, "re");
	while (f && !o->broker && fscanf(f, "%d", &pid) == 1) {
		FILE *comm;

		snprintf(path, sizeof path, "/proc/%d/comm", pid);
		comm = fopen(path, "re");
		if (comm && fgets(name, sizeof name, comm) && !strcmp(name, "sbx-broker\n"))
			o->broker = pid;
		if (comm)
			(void)fclose(comm);
		if (!o->broker && depth)
			find_broker(o, pid, depth - 1);
	}
	if (f)
		(void)fclose(f);
}

void ak_outsider_launcher(struct ak_outsider *o, pid_t launcher)
{
	find_broker(o, launcher, 1);
}

int ak_outsider_start(struct ak_outsider *o, struct ak_world *w)
{
	pthread_t thread;
	int pipes[2];

	o->world = w;
	if (w->policy == AK_ENDPOINTS)
		o->servers = ak_servers_start(o->ports);
	if (listen_all(o) < 0 || pipe2(pipes, O_NONBLOCK) < 0)
		return -1;
	o->pipe_fd = pipes[0];
	o->pid = fork();
	if (o->pid == 0)
		be_victim(w, pipes[1]);
	close(pipes[1]);
	o->rank = rank_of(o->pid);
	fcntl(pipes[0], F_SETFD, FD_CLOEXEC);
	return pthread_create(&thread, NULL, act_along, o) == 0 ? 0 : -1;
}

void ak_outsider_stop(struct ak_outsider *o)
{
	o->is_over = true;
	ak_servers_stop(o->servers, o->reached);
	if (o->pid > 0) {
		kill(o->pid, SIGKILL);
		waitpid(o->pid, NULL, 0);
	}
	close(o->tcp_fd);
	close(o->unix_fd[0]);
	close(o->unix_fd[1]);
	close(o->pipe_fd);
}
