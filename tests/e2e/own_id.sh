#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that names itself, its threads or its children by their numbers may do to them what it may
# do to "0"; the launcher, the broker and processes outside stay out of its reach.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

command -v python3 >/dev/null || { skip 'own numbers' 'python3 is not installed'; exit 0; }

cat >"$TMP/ids.py" <<'EOF'
import ctypes, errno, os, resource, struct, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
NR = {"x86_64": dict(setpriority=141, ioprio_set=251, sched_setparam=142, sched_setscheduler=144, sched_setaffinity=203,
                     sched_setattr=314, prlimit64=302, migrate_pages=256, move_pages=279),
      "aarch64": dict(setpriority=140, ioprio_set=30, sched_setparam=118, sched_setscheduler=119, sched_setaffinity=122,
                      sched_setattr=274, prlimit64=261, migrate_pages=238, move_pages=239)}[os.uname().machine]
mask = ctypes.create_string_buffer(128)
struct.pack_into("Q", mask, 0, sum(1 << c for c in os.sched_getaffinity(0) if c < 64))
zero = ctypes.c_int(0)
attr = ctypes.create_string_buffer(struct.pack("IIQiIQQQ", 48, 0, 0, 0, 0, 0, 0, 0))
core = ctypes.create_string_buffer(struct.pack("QQ", *(v & 0xffffffffffffffff for v in resource.getrlimit(resource.RLIMIT_CORE))))
n = ctypes.c_ulong(0)
calls = {
    "setpriority": lambda i: ("setpriority", 0, i, 0),
    "ioprio_set": lambda i: ("ioprio_set", 1, i, 2 << 13 | 4),
    "sched_setaffinity": lambda i: ("sched_setaffinity", i, 128, mask),
    "sched_setparam": lambda i: ("sched_setparam", i, ctypes.byref(zero)),
    "sched_setscheduler": lambda i: ("sched_setscheduler", i, 0, ctypes.byref(zero)),
    "sched_setattr": lambda i: ("sched_setattr", i, attr, 0),
    "prlimit": lambda i: ("prlimit64", i, resource.RLIMIT_CORE, core, None),
    "move_pages": lambda i: ("move_pages", i, n, None, None, None, 0),
    "migrate_pages": lambda i: ("migrate_pages", i, n, None, None),
}
def answer(name, i):
    number, *rest = calls[name](i)
    ctypes.set_errno(0)
    rc = libc.syscall(NR[number], *rest)
    return "0" if rc >= 0 else errno.errorcode[ctypes.get_errno()]
def like(i):
    for name in calls:
        mine = answer(name, 0)
        if mine == "ENOSYS":
            continue
        its = answer(name, i)
        if its != mine: print(name, i, its, "instead of", mine)
what = sys.argv[1]
if what == "own":
    like(os.getpid())
elif what == "thread":
    ids, go, done = [], threading.Event(), threading.Event()
    def other():
        ids.append(threading.get_native_id()); go.set(); done.wait()
    t = threading.Thread(target=other); t.start(); go.wait()
    like(ids[0]); done.set(); t.join()
    t = threading.Thread(target=lambda: like(threading.get_native_id())); t.start(); t.join()
elif what == "child":
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(w); os.read(r, 1); os._exit(0)
    like(pid); os.close(w); os.waitpid(pid, 0)
elif what == "gone":
    pid = os.fork()
    if pid == 0: os._exit(0)
    os.waitpid(pid, 0)
    for name in calls:
        got = answer(name, pid)
        if got not in ("ESRCH", "ENOSYS"): print(name, got)
elif what == "outside":
    for name in calls:
        got = answer(name, int(sys.argv[2]))
        if got not in ("EPERM", "ENOSYS"): print(name, got)
elif what == "ours":
    mine = os.getpid()
    for i in range(1, mine):
        for name in calls:
            got = answer(name, i)
            if got not in ("EPERM", "ESRCH", "ENOSYS"): print(name, i, got)
elif what == "sizes":
    # the kernel alone reads the attributes, at the caller's number as at 0
    for size in (0, 1, 47, 48, 56, 4097):
        got = []
        for i in (0, os.getpid()):
            big = ctypes.create_string_buffer(struct.pack("I", size) + bytes(8192))
            ctypes.set_errno(0)
            got.append((libc.syscall(NR["sched_setattr"], i, big, 0), ctypes.get_errno()))
        if got[0] != got[1]: print(size, got)
EOF

for how in "" "--no-shim" "--isolate none"; do
	for who in own thread child gone sizes; do
		fresh
		# shellcheck disable=SC2086
		launch -qq $how -- python3 "$TMP/ids.py" $who
		check "${how:-plain}: $who" [ "$status$(cat "$TMP/out" "$TMP/err")" = 0 ]
	done
done

fresh
launch --isolate none -- python3 "$TMP/ids.py" outside $$
check 'a process outside' [ "$(cat "$TMP/out")" = '' ]
check 'and a line says so, once' [ "$(grep -c 'denied limits and priorities of a process outside' "$TMP/err")" -eq 1 ]
# The first process of a namespace and the broker have numbers, too.
fresh
launch -qq -- python3 "$TMP/ids.py" ours
check 'the first process and the broker' [ "$status$(cat "$TMP/out" "$TMP/err")" = 0 ]

same 'taskset of the shell itself' 'taskset -p 1 $$ >/dev/null; echo $?'
same 'nice of the shell itself' 'renice -n 19 -p $$ >/dev/null; echo $?; ps -o ni= -p $$ 2>/dev/null'

# What thread pools do: each thread is bound to a processor as it starts, by its own number.
cat >"$TMP/bound.c" <<'EOF'
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
static void *work(void *n) { return n; }
int main(void)
{
	cpu_set_t all, one;
	pthread_attr_t attr;
	pthread_t t;
	int rc, cpu = 0;

	sched_getaffinity(0, sizeof all, &all);
	while (!CPU_ISSET(cpu, &all)) cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	pthread_attr_init(&attr);
	pthread_attr_setaffinity_np(&attr, sizeof one, &one);
	rc = pthread_create(&t, &attr, work, NULL);
	printf("created: %s\n", rc ? strerror(rc) : "yes");
	return rc || pthread_join(t, NULL) || pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}
EOF
cat >"$TMP/omp.c" <<'EOF'
#include <stdio.h>
int main(void)
{
	int n = 0;
#pragma omp parallel num_threads(2) reduction(+ : n)
	n += 1;
	printf("%d threads\n", n);
	return 0;
}
EOF
bin=$TMP/prog && mkdir "$bin"
if ${CC:-cc} -o "$bin/bound" "$TMP/bound.c" -lpthread 2>/dev/null; then
	same 'a thread that is created with its processor' "'$bin/bound'"
fi
if ${CC:-cc} -fopenmp -o "$bin/omp" "$TMP/omp.c" 2>/dev/null; then
	same 'OpenMP binds its threads' "OMP_PROC_BIND=true '$bin/omp'"
else
	skip 'OpenMP binds its threads' 'no OpenMP here'
fi
