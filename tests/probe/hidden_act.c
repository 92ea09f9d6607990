/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hidden_act - a static program, which no shim sees: makes the directory DIR, and tries to make the
 * file EVIL, in one of the ways a program might hope nobody notices.
 *
 *	hidden_act plain|vfork|closed|undumpable|memfd|killed|thread|uring DIR EVIL
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static char **words;

static void act(void)
{
	if (mkdir(words[2], 0700) < 0)
		perror(words[2]);
	close(open(words[3], O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
}

static void *act_in_thread(void *arg)
{
	unshare(CLONE_FS);
	act();
	return arg;
}

/* What the child of a vfork does, its parent's memory being its own. */
static void by_vfork(void)
{
	pid_t pid = (pid_t)syscall(SYS_vfork);

	if (pid == 0) {
		act();
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void by_memfd(char **argv)
{
	static char plain[] = "plain";
	int in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int fd = memfd_create("kworker", MFD_CLOEXEC);
	char buf[4096];
	ssize_t n;

	while ((n = read(in, buf, sizeof buf)) > 0)
		if (write(fd, buf, (size_t)n) != n)
			exit(1);
	argv[1] = plain;
	fexecve(fd, argv, (char *[]){NULL});
	act(); /* an image without a name is not started here */
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 4)
		return 2;
	words = argv;
	if (!strcmp(argv[1], "vfork")) {
		by_vfork();
	} else if (!strcmp(argv[1], "memfd")) {
		by_memfd(argv);
	} else if (!strcmp(argv[1], "thread")) {
		pthread_create(&thread, NULL, act_in_thread, NULL);
		pthread_join(thread, NULL);
	} else if (!strcmp(argv[1], "uring")) {
		char params[256] = {0};

		if (syscall(SYS_io_uring_setup, 8, params) >= 0)
			puts("a ring of the kernel's");
		act();
	} else {
		if (!strcmp(argv[1], "closed"))
			syscall(SYS_close_range, 3, ~0u, 0);
		if (!strcmp(argv[1], "undumpable"))
			prctl(PR_SET_DUMPABLE, 0);
		act();
	}
	if (!strcmp(argv[1], "killed"))
		raise(SIGKILL);
	return 0;
}
