#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two brokers over one workspace, a run inside a run and two runs: one makes names in a directory that
# the other moves to where they may not be.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

cat >race.c <<'C'
/* race make|move SECONDS: renames a file into d, or moves d to .claude and back; by system calls, for
 * the shim would refuse the name before the broker sees it. 1 = .claude/settings.json is there. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char at[5][4096]; /* absolute: judged by their text */
enum { D, MOVED, NEW, MADE, WRONG };

static long raw_rename(const char *a, const char *b)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(82L), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return r;
}

static int is_there(void)
{
	struct stat st;

	/* the directory on its way back shows it for a moment under no name */
	return stat(at[WRONG], &st) == 0;
}

static void make_one(void)
{
	close(open(at[NEW], O_CREAT | O_WRONLY, 0644));
	for (int i = 0; i < 50 && raw_rename(at[NEW], at[MADE]) != 0; i++)
		;
	unlink(at[MADE]);
}

static void move_one(void)
{
	raw_rename(at[D], at[MOVED]);
	if (is_there()) {
		printf("seen\n");
		exit(1);
	}
	raw_rename(at[MOVED], at[D]);
	unlink(at[MADE]);
}

int main(int argc, char **argv)
{
	static const char *const names[] = {"d", ".claude", "new", "d/settings.json",
					    ".claude/settings.json"};
	time_t end = time(NULL) + atoi(argv[2]);
	unsigned long n = 0;
	char cwd[2048];

	getcwd(cwd, sizeof cwd);
	for (int i = 0; i < 5; i++)
		snprintf(at[i], sizeof at[i], "%s/%s", cwd, names[i]);
	mkdir(at[D], 0755);
	while (time(NULL) < end) {
		if (strcmp(argv[1], "make") == 0)
			make_one();
		else
			move_one();
		if (++n % 3 == 0)
			usleep((useconds_t)(rand() % 200));
	}
	printf("%s %lu\n", argv[1], n);
	return argc != 3;
}
C
if [ "$(uname -m)" != x86_64 ] || ! cc -O1 -w -o race race.c; then
	skip 'two brokers' 'no compiler, or another machine'
	exit
fi
seconds=$(rounds 1 3)
turns()
{
	awk '$2 < 20 { bad = 1 } END { exit bad || NR != 2 }' "$TMP/out" || { cat "$TMP/out" "$TMP/err"; return 1; }
}
kept() # NAME: both went round often, and what may not be is not there
{
	check "$1: both had their turns" turns
	check "$1: the protected name was not made" [ ! -e .claude/settings.json ]
	check "$1: none was refused for a lock" sh -c '! grep -q EBUSY "$1"' sh "$TMP/err"
	rm -rf .claude d new
}
# Whoever else has runs as this user shares the lock, and may hold it for a while.
in_turns() # FUNCTION NAME
{
	for _ in 1 2 3; do
		"$1"
		turns >/dev/null && break
	done
	kept "$2"
}
inside()
{
	"$SBX" -q -- sh -c '"$SBX" -q -- ./race make '$seconds' & ./race move '$seconds'; rc=$?; wait; exit $rc' >"$TMP/out" 2>"$TMP/err"
}
beside()
{
	: >"$TMP/out"
	"$SBX" -q -- ./race make "$seconds" >>"$TMP/out" 2>"$TMP/err" &
	"$SBX" -q -- ./race move "$seconds" >>"$TMP/out" 2>>"$TMP/err"
	wait
}
# Not by where the session keeps its sockets, nor by a home of its own.
apart()
{
	: >"$TMP/out"
	XDG_RUNTIME_DIR=$TMP/runtime HOME=$TMP/home XDG_STATE_HOME=$TMP/home "$SBX" -q -- ./race make "$seconds" >>"$TMP/out" 2>"$TMP/err" &
	"$SBX" -q -- ./race move "$seconds" >>"$TMP/out" 2>>"$TMP/err"
	wait
}
mkdir -m 700 "$TMP/runtime" "$TMP/home"
in_turns inside 'a run inside a run'
in_turns beside 'two runs'
in_turns apart 'two runs in two environments'

# The lock is nobody's but the brokers'.
page=/dev/shm/sbx-launch-$(id -u)/moves-1
check 'the lock is a private file' [ "$(stat -c %a "$page")" = 600 ]
"$SBX" -qq --isolate none --read /dev/shm --modify /dev/shm -- sh -c "cat $page; : >$page; rm -f $page" >"$TMP/out" 2>&1
check 'which no command can touch, whatever is opened' [ "$(grep -c 'Permission denied' "$TMP/out")" -ge 2 -a -s "$page" ]
# Whoever opens a file with a lease waits for it, with the lock.
"$SBX" -q -- python3 -c 'import fcntl
f = open("leased", "w")
try: fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
except PermissionError: print("refused")' >"$TMP/out" 2>&1
check 'nobody keeps it waiting by a lease' grep -qx refused "$TMP/out"
