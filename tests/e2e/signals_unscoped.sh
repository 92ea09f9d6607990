#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Below Landlock ABI 6 and without a pid namespace the broker sends signals: to the run's own
# processes, whichever call is used, and to nobody else.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

mkhost=$(dirname "$SBX")/mkhost
[ -x "$mkhost" ] && "$mkhost" --abi 5 true 2>/dev/null || { skip 'signals that Landlock does not scope' 'mkhost is not built here'; exit 0; }
command -v python3 >/dev/null || { skip 'signals that Landlock does not scope' 'python3 is not installed'; exit 0; }
run() { "$mkhost" --abi 5 --no namespaces "$SBX" "$@" >"$TMP/out" 2>"$TMP/err"; }

cat >"$TMP/all.py" <<'EOF2'
import ctypes, errno, os, signal, struct, sys, threading, time
libc = ctypes.CDLL(None, use_errno=True)
NR = dict(x86_64=dict(tkill=200, tgkill=234, rt_sigqueueinfo=129, rt_tgsigqueueinfo=297),
          aarch64=dict(tkill=130, tgkill=131, rt_sigqueueinfo=138, rt_tgsigqueueinfo=240))[os.uname().machine]
NR.update(pidfd_send_signal=424, pidfd_open=434)
def call(name, *args):
    ctypes.set_errno(0)
    return 0 if libc.syscall(NR[name], *args) >= 0 else ctypes.get_errno()
def info(sig):
    return ctypes.create_string_buffer(struct.pack("iiiiii", sig, 0, -1, 0, os.getpid(), os.getuid()), 128)
def kill(pid, sig):
    try: os.kill(pid, sig)
    except OSError as e: return e.errno
    return 0
def by_pidfd(pid, sig):
    fd = libc.syscall(NR["pidfd_open"], pid, 0)
    if fd < 0: return errno.EPERM
    e = call("pidfd_send_signal", fd, sig, None, 0)
    os.close(fd)
    return e
ways = {
    "kill": kill,
    "tkill": lambda p, s: call("tkill", p, s),
    "tgkill": lambda p, s: call("tgkill", p, p, s),
    "sigqueue": lambda p, s: call("rt_sigqueueinfo", p, s, info(s)),
    "tgsigqueue": lambda p, s: call("rt_tgsigqueueinfo", p, p, s, info(s)),
    "pidfd": by_pidfd,
}
if sys.argv[1] == "outside":
    for name, f in ways.items():
        for pid in map(int, sys.argv[2:]):
            e = f(pid, 0)
            if e != errno.EPERM: print(name, pid, "answers", e)
elif sys.argv[1] == "own":
    got = []
    signal.signal(signal.SIGUSR1, lambda *a: got.append(1))
    for name, f in ways.items():
        got.clear()
        e = f(os.getpid(), signal.SIGUSR1)
        if e or got != [1]: print(name, "to itself", e, got)
    for name in ("kill", "sigqueue", "pidfd"):
        pid = os.fork()
        if pid == 0:
            time.sleep(30); os._exit(1)
        e = ways[name](pid, signal.SIGTERM)
        if e or os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) != -signal.SIGTERM: print(name, "to a child", e)
    t = threading.Thread(target=lambda: signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1))
    got.clear(); t.start(); t.join(); time.sleep(0)
    if got != [1]: print("pthread_kill", got)
    if kill(2 ** 22 + 5, 0) != errno.ESRCH: print("nobody")
    if kill(os.getpid(), 9999) != errno.EINVAL: print("no such signal")
EOF2

sleep 100 & outside=$!
run python3 "$TMP/all.py" outside "$outside" $$ 1
check 'by no call a process outside is signalled' [ ! -s "$TMP/out" ]
check 'and each refusal has a line' grep -q "^sbx-launch: denied modify /proc/$outside/stat" "$TMP/err"
run python3 "$TMP/all.py" own
check 'the own process, threads and children are, by each call' [ $? -eq 0 -a ! -s "$TMP/out" ]
check 'without a word' [ "$(grep -c denied "$TMP/err")" = 0 ]
run sh -c "kill -9 -1; exit 3"
check 'all processes: those of the run, and not the caller' [ $? -eq 3 ]
run sh -c "sleep 50 & sleep 50 & python3 -c 'import os; os.kill(-1, 15)'; wait"
check 'all processes: the others of the run are ended' [ $? -eq 143 ]
check 'the one outside is not' kill -0 "$outside"
run sh -c 'python3 -c "import os; os.kill(0, 15)"'
check 'a group: what of it is in the run' [ $? -eq 143 ]
check 'and not what is outside' kill -0 $$
# in a pid namespace the group of the caller has no number
namespaces() { "$mkhost" --abi 5 "$SBX" --isolate pid "$@" >"$TMP/out" 2>"$TMP/err"; }
if namespaces true; then
	namespaces python3 -c 'import os, signal, sys, time
signal.signal(signal.SIGTERM, lambda *a: None)
pid = os.fork()
if pid == 0:
    os.setsid(); signal.signal(signal.SIGTERM, signal.SIG_DFL); time.sleep(0.5); os._exit(7)
time.sleep(0.2); os.kill(0, 15)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))'
	check 'a group without a number: another one is not signalled' [ $? -eq 7 ]
	namespaces sh -c 'kill -TERM 0; exit 3'
	check 'a group without a number: the caller is' [ $? -eq 143 ]
else
	skip 'a group without a number' 'no pid namespace can be made here'
fi
run timeout 0.2 sleep 50
check 'timeout(1) ends its group' [ $? -eq 124 ]
run bash -c 'set -m; sleep 50 & kill %1; wait; jobs; kill -STOP $BASHPID & wait -f $! & sleep 0.1; kill -CONT -1; exit 5'
check 'jobs of a shell' [ $? -eq 5 ]
run python3 -c 'import fcntl, os, sys
r, w = os.pipe()
for cmd, v in ((8, int(sys.argv[1])), (8, 0)):
    try: fcntl.fcntl(r, cmd, v); print("owner")
    except PermissionError: pass' "$outside"
check 'no descriptor signals anybody' [ ! -s "$TMP/out" ]
kill "$outside"
