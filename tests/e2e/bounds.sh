#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bounds.sh - --memory, --cpu-time, --nproc, --fsize, --nofile.
. "$(dirname "$0")/../support/e2e.sh"

fresh
command -v python3 >/dev/null || { skip 'limits' 'no python3'; exit 0; }
grab='import sys
try:
    x = bytearray(int(sys.argv[1]) << 20)
    print("had")
except MemoryError:
    print("none")'
check 'memory: what is below is had' [ "$("$SBX" -q --memory 256M -- python3 -c "$grab" 100)" = had ]
check 'memory: what is above is not' \
	[ "$("$SBX" -q --memory 256M -- python3 -c "$grab" 300; [ $? = 137 ] && echo none)" = none ]
check 'memory: a child has no more' \
	[ "$("$SBX" -q --memory 256M -- sh -c 'ulimit -d unlimited 2>/dev/null; python3 -c "$1" 300' - "$grab" | tail -n 1)" = none ]
if command -v node >/dev/null; then
	check 'memory: node, which reserves far more than it uses' \
		[ "$("$SBX" -q --memory 1G -- node -e 'console.log(1+1)')" = 2 ]
fi

launch -q --cpu-time 1s -- python3 -c 'while True: pass'
check 'cpu-time: a loop ends' [ "$status" = 152 ]
launch -q --cpu-time 1s -- python3 -c 'import signal
signal.signal(signal.SIGXCPU, signal.SIG_IGN)
while True: pass'
check 'cpu-time: one that does not listen is killed' [ "$status" = 137 ]
check 'cpu-time: waiting costs nothing' [ "$("$SBX" -q --cpu-time 1 -- sh -c 'sleep 1.1; echo end')" = end ]

check 'fsize: a larger file fails, what fits is written' \
	[ "$("$SBX" -q --fsize 64K -- sh -c 'trap "" XFSZ; dd if=/dev/zero of=big bs=1K count=100 2>/dev/null; stat -c %s big')" = 65536 ]
check 'fsize: neither does truncate by name' \
	[ "$("$SBX" -q --fsize 64K -- python3 -c 'import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
open("t", "w").close()
try:
    os.truncate("t", 1 << 20)
    print("had")
except OSError as e:
    print(e.errno, os.stat("t").st_size)')" = '27 0' ]
check 'fsize: and not where the broker performs it' \
	[ "$("$SBX" -q --fsize 64K --deny-modify '**/*.no' -- python3 -c 'import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
open("t", "w").close()
os.truncate("t", 1000)
try:
    os.truncate("t", 1 << 20)
    print("had")
except OSError as e:
    print(e.errno, os.stat("t").st_size)')" = '27 1000' ]
"$SBX" -q --fsize 1K -- sh -c 'for i in $(seq 200); do : >f$i; done' 2>/dev/null
check 'fsize: the log is not cut' [ "$("${SBX%/*}/sbx-audit" show | grep -c 'modify \./f[0-9]')" = 200 ]

check 'nofile: as many descriptors and no more' \
	[ "$("$SBX" -q --nofile 20 -- python3 -c 'import os
n = 0
try:
    while True: os.dup(0); n += 1
except OSError: print(n + 3 <= 20 and n > 10, os.sysconf("SC_OPEN_MAX"))')" = 'True 20' ]
check 'nofile: it cannot be raised again' \
	[ "$("$SBX" -q --nofile 20 -- sh -c 'ulimit -n 30 2>/dev/null || echo no')" = no ]

many='import os, time
n = 0
pids = []
try:
    while n < 60:
        p = os.fork()
        if p == 0:
            time.sleep(100)
        pids.append(p); n += 1
except OSError: pass
for p in pids: os.kill(p, 9)
print(n)'
held() # NAME OPTION: by what, on this host
{
	"$SBX" --dry-run --best-effort "$2" 10000000 -- true | sed -n "s/^$1: .*, held by //p"
}
by=$(held nproc --nproc)
if [ "$by" = nothing ]; then
	launch -q --nproc 10 -- true
	check 'nproc: root, without a cgroup, is refused' \
		[ "$status:$(grep -c 'E_FLOOR.*--nproc' "$TMP/err")" = 125:1 ]
	launch -q --best-effort --nproc 10 -- true
	check 'nproc: at best effort it is told' [ "$status:$(grep -c 'loss: --nproc' "$TMP/err")" = 0:1 ]
else
	n=$("$SBX" -qq --nproc 20 -- python3 -c "$many" 2>&1)
	check 'nproc: as many processes and no more, of the run alone' [ "$n" -le 19 -a "$n" -ge 10 ]
	n=$("$SBX" -qq --nproc 20 --deny-read '**/*.no' -- python3 -c "$many" 2>&1)
	check 'nproc: those of the broker are not the command'\''s' [ "$n" -le 19 -a "$n" -ge 10 ]
fi
if [ "$by" = cgroup ]; then
	check 'nproc: of a cgroup that is the run'\''s, and goes with it' sh -c \
		'dir=$("$1" -q --nproc 20 -- sed -n s/^0:://p /proc/self/cgroup) &&
		case $dir in */sbx-launch-*) ! ls -d /sys/fs/cgroup"$dir" /sys/fs/cgroup/unified"$dir" ;; *) false ;; esac' - "$SBX"
fi

launch -q --memory 1G --cpu-time 1m --fsize 1M --nofile 100 -- true
run=$(grep -l '"argv":\["true"\]' "$HOME"/.local/state/sbx-launch/runs/*/run.json | xargs grep -l '"nofile"')
check 'run.json: each limit, and what holds it' \
	[ "$(grep -cE '"limits":\[\{"name":"memory","value":1073741824,"by":"(rlimit|cgroup)"\},\{"name":"cpu-time","value":60,"by":"rlimit"\},\{"name":"fsize","value":1048576,"by":"rlimit"\},\{"name":"nofile","value":100,"by":"rlimit"\}\]' $run)" = 1 ]
check 'dry-run: the same' \
	[ "$("$SBX" --dry-run --memory 1G --nofile 100 -- true | grep -cE '^(memory: 1073741824|nofile: 100), enforced by (rlimit|cgroup)$')" = 2 ]
for bad in '--memory 12X' '--memory -1' '--cpu-time 5ms' '--nproc 1.5' '--nofile 2' '--fsize 0'; do
	launch $bad -- true
	check "$bad is refused, with what is expected" [ "$status:$(grep -cE 'E_USAGE.*expected' "$TMP/err")" = 125:1 ]
done
check 'the launcher needs more than the command has' [ "$("$SBX" -q --nofile 10 --fsize 1 -- echo x)" = x ]
if [ "$(held memory --memory)" = rlimit ]; then
	check 'memory: it is told that each process has it' \
		[ "$("$SBX" -v --memory 1G -- true 2>&1 | grep -c 'limit: --memory: limits each process alone')" = 1 ]
fi
if command -v bwrap >/dev/null && "$SBX" -q --backend bwrap -- true 2>/dev/null; then
	check 'under bubblewrap, too' \
		[ "$("$SBX" -q --backend bwrap --nofile 30 --memory 256M -- sh -c 'ulimit -Hn; python3 -c "$1" 300' - "$grab" | tr '\n' ' ')" = '30 none ' ]
fi
