/* SPDX-License-Identifier: Apache-2.0 */
/* insider.c - the inside: reads programs from standard input, runs each in a child of its own, and
 * writes to standard output what came of it. */
#include "attack.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RACE_MS	 60
#define ROUNDS	 400 /* of thread 0 in a race */
#define CHILD_MS 1500
#define NOBODY	 65534

struct ak_setup ak;
struct ak_arena *ak_arena;
const struct ak_prog *ak_now;

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void nothing(int signo)
{
	(void)signo;
}

/* ---- the descriptors a program begins with ---- */

static void put(int fd, unsigned slot)
{
	if (fd < 0)
		return;
	dup2(fd, AK_SLOT + (int)slot);
	close(fd);
}

static void open_slots(void)
{
	char path[PATH_MAX];
	int pair[2];

	put(open(".", O_PATH | O_DIRECTORY), 0);
	put(open(".", O_RDONLY | O_DIRECTORY), 1);
	put(open("src", O_RDONLY | O_DIRECTORY), 2);
	put(open("src/a", O_RDWR), 3);
	snprintf(path, sizeof path, "%s/out", ak.base);
	put(open(path, O_PATH | O_DIRECTORY), 4);
	put(open("app.env", O_PATH), 5);
	put(open("hidden", O_PATH | O_DIRECTORY), 6);
	if (pipe2(pair, O_NONBLOCK) == 0) {
		put(pair[0], 7);
		put(pair[1], 8);
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0) {
		put(pair[0], 9);
		put(pair[1], 10);
	}
	put(open("src/sub", O_PATH | O_DIRECTORY), 11);
	put(memfd_create("m", 0), 12);
	(void)!pwrite(AK_SLOT + 12, "written through a mapping, ......", 32, 0);
	put(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), 13);
	put(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), 14);
	put(open("ro/f", O_RDONLY), 15);
	put(open("../out/f", O_RDONLY), 15);
}

/* ---- threads ---- */

static struct ak_thread *new_thread(unsigned number)
{
	struct ak_thread *t = calloc(1, sizeof *t);
	char *room = mmap(NULL, AK_ROOM + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	if (!t || room == MAP_FAILED)
		_exit(9);
	mprotect(room + AK_ROOM, 4096, PROT_NONE); /* what is read may be more */
	t->room = (unsigned char *)room;
	t->number = number;
	t->rng.s = ak_now->seed + number;
	return t;
}

static bool run_once(struct ak_thread *t)
{
	bool any = false;

	for (unsigned i = 0; i < ak_now->n; i++)
		if (ak_now->op[i].thread == t->number) {
			any = true;
			ak_run_op(t, i);
		}
	t->turns++;
	return any;
}

static void *go(void *arg)
{
	struct ak_thread *t = arg;
	unsigned rounds = ak_now->flags & AK_RACE ? ROUNDS : 1;

	if (t->number == 0) {
		for (unsigned i = 0; i < rounds && !ak_arena->is_over; i++)
			run_once(t);
		ak_arena->is_over = 1;
	} else {
		while (!ak_arena->is_over && run_once(t))
			;
	}
	return NULL;
}

static void start(unsigned number)
{
	struct ak_thread *t = new_thread(number);
	pthread_t thread;
	pthread_attr_t attr;

	if (number && ak_now->flags & AK_FORK) {
		if (fork() == 0) {
			go(t);
			_exit(0);
		}
		return;
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256u << 10);
	pthread_create(&thread, &attr, go, t);
}

/* ---- one program ---- */

static void drop_root(void)
{
	if (geteuid() != 0 || setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
	    setresuid(NOBODY, NOBODY, NOBODY) < 0)
		return;
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
	ak_arena->outcome.was_nobody = true;
}

static _Noreturn void run_program(int in, int out)
{
	const struct rlimit files = {256, 256}, core = {0, 0};
	const struct sigaction act = {.sa_handler = nothing},
			       again = {.sa_handler = nothing, .sa_flags = SA_RESTART};
	uint64_t until = now_ms() + (ak_now->flags & AK_RACE ? RACE_MS : 400);
	unsigned threads = 0;
	struct ak_thread *sweeper;
	char ws[128];

	setpgid(0, 0);
	/* one that was removed and made anew has another; the old one has no name */
	snprintf(ws, sizeof ws, "%s/ws", ak.base);
	(void)!chdir(ws);
	close(in);
	close(out);
	setrlimit(RLIMIT_NOFILE, &files);
	setrlimit(RLIMIT_CORE, &core);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	sigaction(SIGUSR2, &again, NULL);
	umask(022);
	if (ak_now->flags & AK_DROP)
		drop_root();
	open_slots();
	for (unsigned i = 0; i < AK_BUFFERS; i++)
		strcpy(ak_arena->path[i], "src/a");
	ak_arena->how[0] = ak_arena->how[1] = (struct open_how){.flags = O_RDONLY};
	for (unsigned i = 0; i < ak_now->n; i++)
		threads = ak_now->op[i].thread + 1u > threads ? ak_now->op[i].thread + 1u : threads;
	sweeper = new_thread(AK_THREADS);
	for (unsigned i = threads; i-- > 0;)
		start(i);
	while (!ak_arena->is_over && now_ms() < until) {
		struct timespec ts = {0, 300000};

		nanosleep(&ts, NULL);
	}
	ak_arena->is_over = 1;
	ak_sweep(sweeper);
	_exit(0);
}

/* Everything of the child's group, whatever it waits for. */
static void end_group(pid_t pid)
{
	int status;

	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	for (int tries = 0; tries < 200; tries++) {
		pid_t gone = waitpid(-1, &status, WNOHANG);

		if (gone < 0)
			return;
		if (gone == 0) {
			struct timespec ts = {0, 500000};

			kill(-pid, SIGKILL);
			nanosleep(&ts, NULL);
		}
	}
}

static void run(const struct ak_prog *p, int in, int out)
{
	uint64_t until = now_ms() + CHILD_MS;
	pid_t pid;
	int status;

	memset(ak_arena, 0, sizeof *ak_arena);
	ak_arena->outcome.magic = AK_MAGIC;
	ak_now = p;
	pid = fork();
	if (pid == 0)
		run_program(in, out);
	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0 && now_ms() < until) {
		struct timespec ts = {0, 200000};

		nanosleep(&ts, NULL);
	}
	ak_arena->is_over = 1;
	if (pid > 0)
		end_group(pid);
	ak_arena->outcome.pid = pid;
	ak_arena->outcome.nfound = ak_arena->lock < AK_FINDINGS ? ak_arena->lock : AK_FINDINGS;
}

static bool all(int fd, void *buf, size_t n, bool is_read)
{
	for (char *p = buf; n > 0;) {
		ssize_t got = is_read ? read(fd, p, n) : write(fd, p, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		p += got;
		n -= (size_t)got;
	}
	return true;
}

int ak_inside(void)
{
	struct ak_prog p;
	int in, out, null = open("/dev/null", O_RDWR);

	ak_launcher = getppid();

	/* out of the way of programs, whose first numbers are 0 to 2 */
	in = fcntl(0, F_DUPFD_CLOEXEC, 200);
	out = fcntl(1, F_DUPFD_CLOEXEC, 200);
	dup2(null, 0);
	dup2(null, 1);
	if (null > 2)
		close(null);
	signal(SIGUSR1, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	ak_arena = mmap(NULL, sizeof *ak_arena, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (ak_arena == MAP_FAILED || !all(in, &ak, sizeof ak, true) || ak.magic != AK_MAGIC)
		return 9;
	while (all(in, &p, sizeof p, true)) {
		run(&p, in, out);
		if (!all(out, &ak_arena->outcome, sizeof ak_arena->outcome, false))
			break;
	}
	return 0;
}
