/* SPDX-License-Identifier: Apache-2.0 */
/*
 * soak - mixed work for a while, each answer of each call checked: soak SECONDS [glob]. Runs in a
 * workspace that soak.sh prepared: .git/hooks may not be changed, host.sock is a socket of the
 * host, and with `glob` secret.env may not be read. Every other round calls the kernel without
 * libc, as programs do that no preload sees.
 *
 * A wrong answer, a worker that died and one that waits a minute for an answer are failures.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 10, PATIENCE_S = 60 };

struct share {
	atomic_bool stop;
	atomic_int wrong;
	atomic_long rounds[WORKERS];
	atomic_long answers[WORKERS];
};
static struct share *share;
static unsigned slot;	 /* which worker this is */
static bool raw;	 /* calls go past libc */
static bool glob;	 /* secret.env may not be read */
static char self_[4096]; /* our own file */
extern char **environ;

static unsigned rnd(unsigned n)
{
	static unsigned state;

	if (!state)
		state = (unsigned)getpid() * 2654435761u;
	state = state * 1103515245u + 12345u;
	return (state >> 16) % n;
}

static void wrong(const char *what, int got)
{
	if (atomic_fetch_add(&share->wrong, 1) < 5)
		fprintf(stderr, "soak: worker %u, pid %d: %s: %s\n", slot, getpid(), what,
			strerror(got));
}

/* `rc` of a call must be a failure with `want`, or a success when that is 0. */
static bool expect(const char *what, long rc, int want)
{
	int got = rc < 0 ? errno : 0;

	atomic_fetch_add(&share->answers[slot], 1);
	if (got != want)
		wrong(what, got);
	return got == want;
}

/* A name that no other worker uses; the four last stay valid. */
static const char *name(const char *stem)
{
	static _Thread_local char buf[4][64];
	static _Thread_local unsigned n;

	n = (n + 1) % 4;
	snprintf(buf[n], sizeof buf[n], "w%u/%s", slot, stem);
	return buf[n];
}

/* ---- calls, by libc or by number ---- */

static int do_open(const char *path, int flags)
{
	return raw ? (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, 0640)
		   : open(path, flags | O_CLOEXEC, 0640);
}
static int do_rename(const char *a, const char *b)
{
	return raw ? (int)syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 0) : rename(a, b);
}
static int do_mkdir(const char *path)
{
	return raw ? (int)syscall(SYS_mkdirat, AT_FDCWD, path, 0750) : mkdir(path, 0750);
}
static int do_remove(const char *path, bool is_dir)
{
	int flags = is_dir ? AT_REMOVEDIR : 0;

	return raw ? (int)syscall(SYS_unlinkat, AT_FDCWD, path, flags)
		   : unlinkat(AT_FDCWD, path, flags);
}

/* ---- what a round does ---- */

static void saves(void)
{
	char text[32], back[32] = "";
	int fd = do_open(name("f.tmp"), O_WRONLY | O_CREAT | O_TRUNC);

	if (!expect("create", fd, 0))
		return;
	snprintf(text, sizeof text, "%u %d", rnd(60000), getpid());
	expect("write", write(fd, text, strlen(text)), 0);
	close(fd);
	expect("rename", do_rename(name("f.tmp"), name("f")), 0);
	expect("the old name", do_open(name("f.tmp"), O_RDONLY), ENOENT);
	fd = do_open(name("f"), O_RDWR);
	if (!expect("open", fd, 0))
		return;
	if (read(fd, back, sizeof back - 1) < 0 || strcmp(text, back) != 0)
		wrong("another file's content", EIO);
	close(fd);
}

static void names(void)
{
	struct stat st;

	expect("mkdir", do_mkdir(name("d")), 0);
	expect("mkdir again", do_mkdir(name("d")), EEXIST);
	expect("rename of a directory", do_rename(name("d"), name("e")), 0);
	expect("symlink", symlink("f", name("l")), 0);
	expect("link", link(name("f"), name("e/h")), 0);
	expect("rmdir of a full one", do_remove(name("e"), true), ENOTEMPTY);
	expect("chmod", chmod(name("e/h"), 0600), 0);
	expect("truncate", truncate(name("l"), 3), 0);
	if (!expect("stat", stat(name("f"), &st), 0) || st.st_size != 3 ||
	    (st.st_mode & 07777) != 0600 || st.st_nlink != 2)
		wrong("another file's attributes", EIO);
	expect("utimes", utimensat(AT_FDCWD, name("l"), NULL, AT_SYMLINK_NOFOLLOW), 0);
	expect("unlink of a link", do_remove(name("l"), false), 0);
	expect("unlink", do_remove(name("e/h"), false), 0);
	expect("rmdir", do_remove(name("e"), true), 0);
}

static void denials(void)
{
	expect("a hook", do_open(".git/hooks/x", O_WRONLY | O_CREAT), EACCES);
	expect("a renamed hook", do_rename(name("f"), ".git/hooks/x"), EACCES);
	expect("a directory of hooks", do_mkdir(".git/hooks/d"), EACCES);
	expect("no such directory", do_open("none/x", O_WRONLY | O_CREAT), ENOENT);
	expect("not a directory", do_open("secret.env/x", O_WRONLY), ENOTDIR);
	if (!glob)
		return;
	expect("a secret", do_open("secret.env", O_RDONLY), EACCES);
	expect("a linked secret", do_open("secret.link", O_RDONLY), EACCES);
	expect("a renamed secret", do_rename("secret.env", name("s")), EACCES);
}

/* Several at once, in what is shared between processes. */
static void round_(void)
{
	saves();
	names();
	denials();
}

static bool reap(pid_t pid, int want)
{
	int status = -1;

	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	atomic_fetch_add(&share->answers[slot], 1);
	if (status == want)
		return true;
	wrong("a child's status", status == -1 ? ECHILD : EIO);
	return false;
}

/* What a killed child left. */
static void clean(void)
{
	static const char *const left[] = {"f", "f.tmp", "l", "e/h", "s", "p", "sock"};

	for (unsigned i = 0; i < sizeof left / sizeof *left; i++)
		unlink(name(left[i]));
	rmdir(name("e"));
	rmdir(name("d"));
}

static void forks(void)
{
	for (unsigned i = 0; i < 4; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			round_();
			_exit(0);
		}
		reap(pid, 0);
	}
}

static void kills(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			round_();
	usleep(rnd(3000));
	kill(pid, SIGKILL);
	reap(pid, SIGKILL);
	clean();
}

static void stops(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		for (unsigned i = 0; i < 20; i++)
			round_();
		_exit(0);
	}
	for (unsigned i = 0; i < 6; i++) {
		usleep(rnd(1000));
		kill(pid, SIGSTOP);
		usleep(rnd(4000));
		kill(pid, SIGCONT);
	}
	reap(pid, 0);
}

static void execs(void)
{
	char number[16];
	static char once[] = "once", with_glob[] = "glob", without[] = "-";
	char *argv[] = {self_, once, number, glob ? with_glob : without, NULL};

	snprintf(number, sizeof number, "%u", slot);
	for (unsigned i = 0; i < 4; i++) {
		pid_t pid;
		int rc = posix_spawn(&pid, self_, NULL, NULL, argv, environ);

		if (rc != 0)
			wrong("spawn", rc);
		else
			reap(pid, 0);
	}
}

static void *opens(void *unused)
{
	(void)unused;
	for (unsigned i = 0; i < 20; i++) {
		int fd = do_open(".git/HEAD", O_RDONLY);

		expect("open by a thread", fd, 0);
		close(fd);
		expect("a hook by a thread", do_open(".git/hooks/x", O_WRONLY | O_CREAT), EACCES);
	}
	return NULL;
}
static void *opens_forever(void *unused)
{
	for (;;)
		opens(unused);
	return NULL;
}

static void threads(void)
{
	pthread_t thread[8];

	for (unsigned i = 0; i < 8; i++)
		if (pthread_create(&thread[i], NULL, opens, NULL) != 0)
			wrong("a thread", EAGAIN);
	for (unsigned i = 0; i < 8; i++)
		pthread_join(thread[i], NULL);
}

/* One thread executes while the others' calls are with the broker. */
static void thread_execs(void)
{
	pthread_t thread;
	pid_t pid = fork();

	if (pid == 0) {
		for (unsigned i = 0; i < 3; i++)
			pthread_create(&thread, NULL, opens_forever, NULL);
		usleep(rnd(2000));
		execl(self_, self_, "nothing", (char *)NULL);
		_exit(1);
	}
	reap(pid, 0);
}

static void sockets(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX}, host = {.sun_family = AF_UNIX};
	int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), pair[2], a;
	int c = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char byte = 0;

	snprintf(at.sun_path, sizeof at.sun_path, "%s", name("sock"));
	snprintf(host.sun_path, sizeof host.sun_path, "host.sock");
	expect("connect to the host", connect(c, (void *)&host, sizeof host), EACCES);
	expect("connect to none", connect(c, (void *)&at, sizeof at), ENOENT);
	expect("bind", bind(s, (void *)&at, sizeof at), 0);
	expect("listen", listen(s, 4), 0);
	expect("connect", connect(c, (void *)&at, sizeof at), 0);
	a = accept4(s, NULL, NULL, SOCK_CLOEXEC);
	expect("accept", a, 0);
	if (write(c, "x", 1) != 1 || read(a, &byte, 1) != 1 || byte != 'x')
		wrong("what a socket carries", EIO);
	close(a);
	close(c);
	close(s);
	expect("unlink of a socket", do_remove(name("sock"), false), 0);
	if (expect("socketpair", socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0)) {
		close(pair[0]);
		close(pair[1]);
	}
}

/* An open that blocks; every other time its caller is killed in it. */
static void fifos(void)
{
	bool killed = rnd(2);
	pid_t pid;
	int fd;

	expect("mkfifo", mkfifo(name("p"), 0600), 0);
	pid = fork();
	if (pid == 0) {
		char byte = 0;

		fd = do_open(name("p"), O_RDONLY);
		_exit(fd >= 0 && read(fd, &byte, 1) == 1 && byte == 'y' ? 0 : 1);
	}
	if (killed) {
		usleep(rnd(2000));
		kill(pid, SIGKILL);
	} else {
		fd = do_open(name("p"), O_WRONLY);
		if (expect("open of a fifo", fd, 0) && write(fd, "y", 1) != 1)
			wrong("write to a fifo", errno);
		close(fd);
	}
	reap(pid, killed ? SIGKILL : 0);
	expect("unlink of a fifo", do_remove(name("p"), false), 0);
}

static void on_signal(int sig)
{
	(void)sig;
}

static void signals(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	struct itimerval often = {{0, 700}, {0, 700}}, never = {{0, 0}, {0, 0}};

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < 5; i++)
		round_();
	setitimer(ITIMER_REAL, &never, NULL);
}

/* ---- the workers ---- */

static void (*const work[])(void) = {round_,  forks,	    kills,   stops, execs,
				     threads, thread_execs, sockets, fifos, signals};
enum { KINDS = sizeof work / sizeof *work };

static void worker(unsigned number)
{
	slot = number;
	while (!atomic_load(&share->stop)) {
		work[number % KINDS]();
		raw = atomic_fetch_add(&share->rounds[number], 1) % 2 == 0;
	}
	_exit(0);
}

/* Until `seconds` have gone by; false when a worker died or hangs. */
static bool watch(const pid_t *pids, long seconds)
{
	long seen[WORKERS] = {0}, since[WORKERS] = {0};

	for (long tick = 0; tick < seconds * 10 && atomic_load(&share->wrong) == 0; tick++) {
		usleep(100000);
		for (unsigned i = 0; i < WORKERS; i++) {
			long now = atomic_load(&share->answers[i]);

			if (now != seen[i])
				since[i] = tick;
			seen[i] = now;
			if (tick - since[i] > PATIENCE_S * 10) {
				fprintf(stderr, "soak: worker %u waits for an answer\n", i);
				sleep(5); /* for whoever wants to see what it waits for */
				return false;
			}
			if (waitpid(pids[i], NULL, WNOHANG) == pids[i]) {
				fprintf(stderr, "soak: worker %u died\n", i);
				return false;
			}
		}
	}
	return true;
}

static int soak(long seconds)
{
	pid_t pids[WORKERS];
	bool alive;

	for (unsigned i = 0; i < WORKERS; i++) {
		slot = i;
		if (mkdir(name(""), 0755) != 0 && errno != EEXIST)
			wrong("mkdir", errno);
		pids[i] = fork();
		if (pids[i] == 0)
			worker(i);
	}
	alive = watch(pids, seconds);
	atomic_store(&share->stop, true);
	for (unsigned i = 0; alive && i < WORKERS; i++)
		reap(pids[i], 0);
	printf("rounds:");
	for (unsigned i = 0; i < WORKERS; i++)
		printf(" %ld", atomic_load(&share->rounds[i]));
	printf("\nwrong answers: %d\n", atomic_load(&share->wrong));
	return alive && atomic_load(&share->wrong) == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "nothing") == 0)
		return 0;
	share = mmap(NULL, sizeof *share, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	if (argc < 2 || share == MAP_FAILED ||
	    readlink("/proc/self/exe", self_, sizeof self_ - 1) < 0)
		return 2;
	glob = strcmp(argv[argc - 1], "glob") == 0;
	if (strcmp(argv[1], "once") == 0 && argc == 4) {
		slot = (unsigned)strtoul(argv[2], NULL, 10);
		round_();
		return atomic_load(&share->wrong) != 0;
	}
	return soak(strtol(argv[1], NULL, 10));
}
