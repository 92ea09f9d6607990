#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Other preloaded libraries beside the shim, each in both orders; and what cannot be chained.
. "$(dirname "$0")/../support/shim.sh"

echo hello >ok
echo secret >no
policy=(--rule all:/ --rule "all:!$T/no")
lib=/usr/lib/x86_64-linux-gnu
[ -d "$lib" ] || lib=/usr/lib/$(uname -m)-linux-gnu

both_orders() # NAME LIBRARY COMMAND EXPECTED
{
	local order
	[ -e "$2" ] || {
		echo "ok - $SHIM_TEST_USER: $1 # SKIP not installed"
		return
	}
	for order in "$2:$shim" "$shim:$2"; do
		run all "${policy[@]}" -- env LD_PRELOAD="$order" bash -c "$3"
		case $order in "$shim"*) name="$1 behind the shim" ;; *) name="$1 before the shim" ;; esac
		check "$name works, and the shim judges" [ "$out" = "$4" ]
		event "$name: the denial is told" "CALL open read DENY EACCES - * $T/no"
		no_event "$name: no loss" 'LOSS *'
	done
}
judged='cat ok; cat no; sh -c "cat no" || echo refused'
both_orders jemalloc "$lib/libjemalloc.so.2" "$judged" $'hello\nrefused'
both_orders eatmydata "$lib/libeatmydata.so.1" "$judged" $'hello\nrefused'
both_orders faketime "$lib/faketime/libfaketime.so.1" \
	"export FAKETIME='@2001-01-01 00:00:00'; date +%Y; $judged" $'2001\nhello\nrefused'
if [ -e "$lib/libeatmydata.so" ] && [ ! -e "$lib/libeatmydata.so.1" ]; then
	both_orders eatmydata "$lib/libeatmydata.so" "$judged" $'hello\nrefused'
fi
if command -v faketime >/dev/null; then
	run all "${policy[@]}" -- faketime 2001-01-01 sh -c 'date +%Y; cat no || echo refused'
	check 'faketime as it is used' [ "$out" = $'2001\nrefused' ]
	check 'the times told are the true ones' [ "$(count_events 'HELLO *')" -ge 3 ]
fi
if command -v fakeroot >/dev/null; then
	run all "${policy[@]}" -- fakeroot sh -c 'id -u; touch f; chown 1:1 f; stat -c %u f; cat no || echo refused'
	check 'fakeroot: its answers, and ours' [ "$out" = $'0\n1\nrefused' ]
	event 'its change of owner is told' "CALL *chown* modify allow * - * $T/f"
	run all "${policy[@]}" --rule "modify:!$T/f" -- fakeroot sh -c 'chown 2:2 f || echo refused; chmod 600 f || echo refused'
	check 'fakeroot: what is denied is' [ "$out" = $'refused\nrefused' ]
else
	echo "ok - $SHIM_TEST_USER: fakeroot # SKIP not installed"
fi
run all "${policy[@]}" -- env LD_PRELOAD="$lib/libeatmydata.so:$lib/faketime/libfaketime.so.1:$shim" \
	FAKETIME='@2001-01-01 00:00:00' sh -c 'date +%Y; env -i /bin/cat no || echo refused; echo "$LD_PRELOAD" | tr : "\n" | wc -l'
[ ! -e "$lib/libeatmydata.so" ] || [ ! -e "$lib/faketime/libfaketime.so.1" ] ||
	check 'three in a row keep their places' [ "$out" = $'2001\nrefused\n3' ]

# ---- sanitizers ----
cat >san.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static int seen;
static int on_walk(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)path, (void)st, (void)type, (void)at;
	return seen++, FTW_STOP;
}
int main(void)
{
	char name[] = "x", *args[] = {name, NULL}, *p = realpath("/../etc", NULL);
	int fd = open("ok", O_RDONLY);
	pid_t pid;
	printf("%d %d\n", fd >= 0, open("no", O_RDONLY));
	/* each of these has an older meaning, that of programs linked long ago */
	printf("%s %d %d %d\n", p ? p : "NULL", posix_spawn(&pid, "./script", 0, 0, args, environ),
	       posix_spawnp(&pid, "./script", 0, 0, args, environ),
	       nftw(".", on_walk, 2, FTW_ACTIONRETVAL | FTW_PHYS) == FTW_STOP && seen == 1);
	free(p);
	return 0;
}
C
echo 'exit 3' >script
chmod 755 script
today=$'\n/etc 8 8 1'
san() # NAME COMPILER...
{
	local name=$1
	shift
	if ! "$@" -o san san.c 2>/dev/null; then
		echo "ok - $SHIM_TEST_USER: $name # SKIP cannot be built here"
		return
	fi
	run all "${policy[@]}" -- ./san
	check "$name: starts, and is judged" [ "$status:${out%%$'\n'*}" = '0:1 -1' ]
	check "$name: what has two meanings has today's" [ "${out#*-1}" = "$today" ]
}
san 'gcc ASan, shared' gcc -fsanitize=address
san 'gcc ASan, static' gcc -fsanitize=address -static-libasan
san 'clang ASan' clang -fsanitize=address
san 'gcc UBSan' gcc -fsanitize=undefined
san 'gcc TSan' gcc -fsanitize=thread
# such programs ask for no version of what their library defines, too; here it is all four
cat >named.c <<'C'
int realpath(void), posix_spawn(void), posix_spawnp(void), nftw(void);
int realpath(void) { return 0; }
int posix_spawn(void) { return 0; }
int posix_spawnp(void) { return 0; }
int nftw(void) { return 0; }
C
gcc -shared -fPIC -fno-builtin -o libnamed.so named.c && gcc -o unversioned san.c -L. -lnamed
gcc -shared -fPIC -o libnamed.so -x c /dev/null
run all "${policy[@]}" -- env LD_LIBRARY_PATH=. ./unversioned
check 'references without a version: what has two meanings has today'"'s" \
	[ "$status:$out" = "0:1 -1$today" ]

for one in "$lib"/lib{a,l,t,ub}san.so.*[0-9]; do
	case $one in *.so.*.* | *'*'*) continue ;; esac
	run all "${policy[@]}" -- env LD_PRELOAD="$one:$shim" ASAN_OPTIONS=detect_leaks=0 cat no
	no_event "${one##*/} before the shim hands on: no loss" 'LOSS *'
done

# ---- a library before the shim that hands nothing on ----
run all "${policy[@]}" -- env LD_PRELOAD="libc.so.6:$shim" cat no
event 'the C library before the shim is a loss' 'LOSS start * preloaded-before * */libc.so.6'
run all "${policy[@]}" -- env LD_PRELOAD="$shim:libc.so.6" cat no
check 'behind it, all is as it was' [ "$status:$out" = 1: ]
no_event 'and no loss' 'LOSS *'
cat >front.c <<'C'
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
int rename(const char *from, const char *to)
{
#ifdef BY_NUMBER
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
#else
	return from == to;
#endif
}
C
gcc -shared -fPIC -o libblind.so front.c
gcc -shared -fPIC -DBY_NUMBER -o libnumber.so front.c
run all "${policy[@]}" -- env LD_PRELOAD="$T/libblind.so:$shim" cat ok
event 'so is a library with a definition of its own' "LOSS start * preloaded-before * $T/libblind.so"
run all "${policy[@]}" -- env LD_PRELOAD="$T/libnumber.so:$shim" cat ok
no_event 'one that calls by number is seen: no loss' 'LOSS *'

# ---- a library that is first by its own mark ----
cat >first.c <<'C'
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void early(void)
{
	int fd = open("no", O_RDONLY);
	if (fd >= 0)
		write(2, "early open\n", 11), close(fd);
}
C
gcc -shared -fPIC -o libordinary.so first.c
gcc -shared -fPIC -Wl,-z,initfirst -o libfirst.so first.c
run all "${policy[@]}" -- env LD_PRELOAD="$shim:$T/libordinary.so" true
check 'constructors of other libraries find the shim at work' [ "$(grep -c 'early open' "$T.err")" = 0 ]
run all "${policy[@]}" -- env LD_PRELOAD="$shim:$T/libfirst.so" cat ok
check 'a library marked initfirst as well: the program runs' [ "$out" = hello ]
run all "${policy[@]}" -- env LD_PRELOAD="$shim:$T/libfirst.so" cat no
check 'and is judged' [ "$status:$out" = 1: ]

# ---- an allocator that opens files ----
cat >alloc.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static char pool[1 << 20];
static size_t used;
static int calls, wrong;
void *malloc(size_t n)
{
	void *p = pool + used;
	char link[64];
	struct stat st;
	int fd, saved = errno;
	calls++;
	fd = open("ok", O_RDONLY);
	wrong |= fd < 0 || close(fd) < 0 || open("no", O_RDONLY) >= 0 || errno != EACCES;
	wrong |= readlink("/etc/malloc.conf", link, sizeof link) >= 0 || stat("ok", &st) < 0;
	errno = saved;
	used += (n + 15) & ~(size_t)15;
	return used < sizeof pool ? p : NULL;
}
void free(void *p) { (void)p; }
void *calloc(size_t n, size_t size) { return malloc(n * size); }
void *realloc(void *old, size_t n)
{
	void *p = malloc(n);
	return old && p ? memcpy(p, old, n) : p;
}
int main(void)
{
	FILE *f = fopen("ok", "r");
	char line[64] = "";
	if (f && fgets(line, sizeof line, f))
		printf("%s%d %d\n", line, calls > 1, wrong);
	return 0;
}
C
gcc -w -fno-builtin -o alloc alloc.c || exit 1
run all "${policy[@]}" -- ./alloc
check 'an allocator that opens files, and is judged' [ "$out" = $'hello\n1 0' ]

# ---- loads that fail ----
run all "${policy[@]}" -- bash -c 'ulimit -n 3; exec /bin/cat ok'
event 'a program that cannot load it is announced' "EXEC execve exec allow 0 unreadable *"
no_event 'and never says hello, so that it counts as unwitnessed' 'HELLO * /bin/cat'
cp /bin/cat small && chmod 755 small
run all "${policy[@]}" -- bash -c 'ulimit -v 1100; ./small ok'
no_event 'nor does one that has no room for it' 'HELLO * */small'
