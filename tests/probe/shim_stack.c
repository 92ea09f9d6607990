/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shim_stack - what shim_law tries, where there is little stack: alternate signal stacks and
 * threads of the sizes that programs take for enough, and calls under way in such numbers that the
 * shim has no rooms left (shim/judge.h).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/probe/law.h"

static int spawned(const char *file)
{
	char *args[] = {strdup(file), NULL};
	int err, status;
	pid_t pid;

	err = posix_spawnp(&pid, file, NULL, NULL, args, environ);
	if (!err && (waitpid(pid, &status, 0) != pid || status))
		err = ECHILD;
	free(args[0]);
	return err;
}

/* Each wrapper that needs much room, and each way in it. */
static int all_ways(void)
{
	DIR *d;
	FILE *f;

	if (both())
		return 1;
	WANT(EACCES, try_open("ok/to-no", O_RDONLY));
	WANT(0, try_open("ok/../ok/made", O_WRONLY | O_CREAT));
	WANT(0, symlink("made2", "ok/dangling"));
	WANT(0, try_open("ok/dangling", O_WRONLY | O_CREAT));
	WANT(0, rename("ok/made", "ok/made3"));
	WANT(0, renameat2(AT_FDCWD, "ok/made3", AT_FDCWD, "ok/made2", RENAME_EXCHANGE));
	WANT(0, link("ok/made2", "ok/../ok/made4"));
	WANT(0, unlink("ok/dangling") || unlink("ok/made2") || unlink("ok/made3"));
	WANT(EACCES, rename("ok/made4", "no/made") < 0 ? errno : 0);
	WANT(0, chmod("ok/made4", 0600) || unlink("ok/../ok/made4"));
	WANT(0, mkdir("ok/d", 0700) || rename("ok/d", "ok/../ok/d2") || rmdir("ok/d2"));
	WANT(0, access("ok/../ok/file", R_OK));
	WANT(EACCES, access(NO_FILE, R_OK) < 0 ? errno : 0);
	d = opendir("ok/../ok");
	f = fopen("ok/link", "r");
	WANT(0, !d || closedir(d) || !f || fclose(f));
	WANT(0, spawned("true"));
	WANT(0, spawned("/bin/true"));
	WANT(ENOENT, spawned("no-such-program"));
	return 0;
}

static int handler_rc = -1;

static void on_signal(int sig)
{
	(void)sig;
	handler_rc = all_ways();
}

/* Below `size` bytes of stack lies a page that ends who reaches it. */
static char *stack_of(size_t size)
{
	enum { GUARD = 4096 };
	char *p = mmap(NULL, size + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);

	if (p == MAP_FAILED || mprotect(p, GUARD, PROT_NONE) < 0)
		return NULL;
	return p + GUARD;
}

/* SIGSTKSZ, as programs are compiled; the kernel's frame is in it. */
static int case_signal_stack(void)
{
	enum { SIZE = 8192, LEAST = 4096 };
	stack_t ss = {.ss_sp = stack_of(SIZE), .ss_size = SIZE};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};

	/* where registers are many, the handler of a bare program may have less than it needs */
	if (getauxval(AT_MINSIGSTKSZ) > LEAST)
		ss.ss_sp = stack_of(ss.ss_size = SIZE + getauxval(AT_MINSIGSTKSZ) - LEAST);
	if (!ss.ss_sp || sigaltstack(&ss, NULL) < 0 || sigaction(SIGUSR1, &sa, NULL) < 0 ||
	    raise(SIGUSR1))
		return fail("signal");
	return handler_rc ? fail("in the handler") : 0;
}

static void *in_thread(void *arg)
{
	return all_ways() ? arg : NULL;
}

static int case_small_thread(void)
{
	size_t size = 16384; /* PTHREAD_STACK_MIN as programs are compiled */
	char *stack = stack_of(size);
	pthread_attr_t attr;
	pthread_t t;
	void *bad = NULL;

	pthread_attr_init(&attr);
	if (!stack || pthread_attr_setstack(&attr, stack, size))
		return fail("stack");
	if (pthread_create(&t, &attr, in_thread, &bad) || pthread_join(t, &bad))
		return fail("thread");
	return bad != NULL;
}

/* More calls under way than the shim has rooms for: all of them wait for a reader. */
static void *wait_for_reader(void *arg)
{
	return open("ok/pipe", O_WRONLY) < 0 ? arg : NULL;
}

static int case_many_under_way(void)
{
	enum { MANY = 24 };
	pthread_t t[MANY];
	void *bad = NULL, *one;
	int i;

	if (mkfifo("ok/pipe", 0600) < 0)
		return fail("mkfifo");
	for (i = 0; i < MANY; i++)
		if (pthread_create(&t[i], NULL, wait_for_reader, &bad))
			return fail("thread");
	for (i = 0; i < 200; i++)
		if (both() || all_ways())
			return 1;
	if (open("ok/pipe", O_RDONLY) < 0)
		return fail("the reader");
	for (i = 0; i < MANY; i++, bad = one ? one : bad)
		if (pthread_join(t[i], &one))
			return fail("join");
	return bad ? fail("a writer") : all_ways();
}

/* A child of vfork() that starts a program keeps what it took for ever: it must take nothing. */
static __attribute__((noinline)) int start_by_vfork(bool is_search)
{
	pid_t pid = vfork();
	int status;

	if (pid == 0) {
		if (is_search)
			execlp("true", "true", (char *)NULL);
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	return pid < 0 || waitpid(pid, &status, 0) < 0 || status;
}

static int case_after_vfork(void)
{
	int i;

	for (i = 0; i < 40; i++)
		if (start_by_vfork(i % 2))
			return fail("the vfork child");
	return case_signal_stack();
}

static const struct law_case cases[] = {
	{"signal_stack", case_signal_stack},
	{"small_thread", case_small_thread},
	{"many_under_way", case_many_under_way},
	{"after_vfork", case_after_vfork},
};

int main(int argc, char **argv)
{
	return law_main(argc, argv, cases, sizeof cases / sizeof *cases);
}
