#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Calls by number, and by names of the C library that its headers do not declare.
. "$(dirname "$0")/../support/shim.sh"

mkdir no
echo secret >no/file
echo hello >ok
: >no/wtmp
cat >names.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utmp.h>
#include <utmpx.h>
FILE *_IO_fopen(const char *, const char *);
FILE *_IO_popen(const char *, const char *);
int __clone(int (*)(void *), void *, int, void *, ...);
static char stack[1 << 16] __attribute__((aligned(16)));
static int moved(void *dir) { return chdir(dir); }
static const char *name(long ret) { return ret >= 0 ? "done" : strerrorname_np(errno); }
int main(int argc, char **argv)
{
	char buf[256], value[8];
	struct utmp u = {0};
	struct utmpx x = {0};
	int fd = inotify_init(), file, pid, status;
	FILE *f;
	(void)argc;
	printf("inotify %s ", name(syscall(SYS_inotify_add_watch, fd, argv[1], IN_ACCESS)));
	printf("%s\n", name(syscall(SYS_inotify_add_watch, fd, "ok", IN_ACCESS)));
	printf("mq_open %s\n", name(syscall(SYS_mq_open, "sbx-no", O_RDWR | O_CREAT, 0600, NULL)));
	printf("mq_unlink %s\n", name(syscall(SYS_mq_unlink, "sbx-no")));
	file = open(".", O_RDONLY);
	syscall(SYS_fgetxattr, file, "user.a", value, sizeof value);
	syscall(SYS_statfs, "ok", (struct statfs *)(void *)buf);
	f = _IO_fopen(argv[1], "r");
	printf("_IO_fopen %s ", name(f ? 0 : -1));
	f = _IO_fopen("ok", "r");
	printf("%s", f && fgets(buf, sizeof buf, f) ? buf : "none\n");
	fflush(stdout);
	snprintf(buf, sizeof buf, "cat %s || echo refused", argv[1]);
	f = _IO_popen(buf, "r");
	printf("_IO_popen %s", f && fgets(buf, sizeof buf, f) ? buf : "none\n");
	errno = 0;
	updwtmp("no/wtmp", &u);
	printf("updwtmp %s ", strerrorname_np(errno));
	errno = 0;
	updwtmpx("no/wtmp", &x);
	printf("%s\n", strerrorname_np(errno));
	close(open("ok", O_RDONLY)); /* the directory is noted */
	pid = __clone(moved, stack + sizeof stack, CLONE_FS | SIGCHLD, "no");
	waitpid(pid, &status, 0);
	printf("__clone %s\n", name(open("file", O_RDONLY)));
	return 0;
}
C
gcc -w -o names names.c || exit 1
run all --rule all:/ --rule "all:!$T/no/" --rule 'all:!/dev/mqueue/' -- ./names no/file
line() # NAME LINE
{
	check "$1" grep -qxF "$2" <<<"$out"
}
line 'inotify_add_watch by number' 'inotify EACCES done'
line 'mq_open by number' 'mq_open EACCES'
line 'mq_unlink by number' 'mq_unlink EACCES'
line '_IO_fopen' '_IO_fopen EACCES hello'
line '_IO_popen' '_IO_popen refused'
line 'updwtmp and updwtmpx' 'updwtmp EACCES EACCES'
line '__clone' '__clone EACCES'
event 'mq_open by number is told' 'CALL mq_open modify DENY EACCES - * /dev/mqueue/sbx-no'
event 'fgetxattr by number is told' "CALL getxattr read allow * - * $T"
event 'statfs by number is told' "* statfs * $T/ok"
event 'updwtmp is told' "CALL open modify DENY EACCES - * $T/no/wtmp"
check 'a denied log of logins is as it was' [ ! -s no/wtmp ]
