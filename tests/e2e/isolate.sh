#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --isolate: a pid namespace with its /proc, a private /dev/shm.
. "$(dirname "$0")/../support/e2e.sh"

launch -v true
if ! grep -q 'pid namespace, private /dev/shm' "$TMP/err"; then
	skip 'isolation' 'this host lets no namespaces be made'
	exit 0
fi

as_asked()
{
	launch -v --network host true
	if [ "$(id -u)" = 0 ]; then
		grep -q 'pid namespace, private /dev/shm' "$TMP/err"
	else
		! grep 'confined by' "$TMP/err" | grep -q namespace && launch -v --network host --isolate pid,shm true &&
			grep -q 'pid namespace, private /dev/shm' "$TMP/err"
	fi
}
check 'an ordinary user gets no user namespace unasked' as_asked
# Where /proc cannot be written to a user namespace can be made, and gets no maps: whoever found that out is nobody
# from then on, and the run goes on without it.
maps_refused() # OPTION...
{
	local d
	d=$(mktemp -d /tmp/sbx-e2e-maps.XXXXXX) && chmod 755 "$d" && install -d -o 1 -g 1 "$d/ws" "$d/home"
	unshare -m sh -c 'mount -o bind,remount,ro /proc && cd "$1" && shift && HOME=$PWD/home && export HOME && cd ws && exec setpriv --reuid=1 --regid=1 --clear-groups "$@"' \
		- "$d" "$SBX" -v "$@" sh -c 'id -u; id -un; echo x >made && cat made' >"$TMP/out" 2>"$TMP/err"
	status=$?
	rm -rf "$d"
	[ "$(tr '\n' ' ' <"$TMP/out")" = "1 $(id -un 1) x " ] && [ "$status" = 0 ] && grep -q 'network filter' "$TMP/err"
}
must_refuse() # OPTION...
{
	! maps_refused "$@" && [ "$status" = 125 ] && [ ! -s "$TMP/out" ] && grep -q 'E_FLOOR: .*allow user namespaces' "$TMP/err"
}
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	check 'no maps of user namespaces: the filter' maps_refused
	check 'also for the network alone' maps_refused --isolate none
	check 'and without the shim' maps_refused --no-shim
	check 'refused where the namespace is asked for' must_refuse --require pid-namespace
	check 'and where the one of the network is' must_refuse --isolate none --require network-namespace
fi
common || exit 0

# What runs as `sleep ARG`, in this host's numbers.
sleepers() # ARG
{
	grep -lz "^$1\$" /proc/[0-9]*/cmdline 2>/dev/null | wc -l
}

same 'python semaphores, queues and shared memory' '
	cat >m.py <<PY
import multiprocessing as m
from multiprocessing import shared_memory as s
def f(q, l, i):
    with l: q.put(i * i)
if __name__ == "__main__":
    q, l = m.Queue(), m.Lock()
    ps = [m.Process(target=f, args=(q, l, i)) for i in range(3)]
    [p.start() for p in ps]
    print(sorted(q.get() for _ in ps))
    [p.join() for p in ps]
    x = s.SharedMemory(create=True, size=100)
    x.buf[0] = 7
    y = s.SharedMemory(name=x.name)
    print(y.buf[0])
    y.close(); x.close(); x.unlink()
PY
	command -v python3 >/dev/null && python3 m.py'

private_shm()
{
	echo host >"/dev/shm/sbx-e2e.$$"
	launch -- sh -c "ls /dev/shm; cat /dev/shm/sbx-e2e.$$; echo in >/dev/shm/sbx-e2e.$$ && cat /dev/shm/sbx-e2e.$$"
	set -- "$(cat "/dev/shm/sbx-e2e.$$")"
	rm -f "/dev/shm/sbx-e2e.$$"
	[ "$1" = host ] && [ "$status" = 0 ] && grep -qx in "$TMP/out" && ! grep -q '^sbx-e2e' "$TMP/out"
}
check '/dev/shm is its own, the host keeps what it has' private_shm

closed_shm()
{
	launch --isolate "$1" -- sh -c ': >/dev/shm/sbx-e2e-new'
	[ "$status" != 0 ] && [ ! -e /dev/shm/sbx-e2e-new ]
}
check '/dev/shm is closed with pid alone' closed_shm pid
check '/dev/shm is closed with none' closed_shm none

not_in_shm()
{
	local dir=/dev/shm/sbx-e2e-ws.$$
	mkdir "$dir" || return
	(cd "$dir" && "$SBX" -- sh -c 'echo x >made') && [ "$(cat "$dir/made")" = x ]
	set -- $?
	(cd "$dir" && "$SBX" --isolate shm -- true) 2>"$TMP/err"
	set -- "$1" $?
	rm -rf "$dir"
	[ "$1" = 0 ] && [ "$2" = 125 ] && grep -q 'E_FLOOR.*the workspace lies in' "$TMP/err"
}
check 'a workspace in /dev/shm is not hidden' not_in_shm

channel_in_shm()
{
	local here=/dev/shm/sbx-launch-$(id -u)
	env -u XDG_RUNTIME_DIR "$SBX" -- sh -c "
		! ls '$here' && ! (: >'$here/x') && ! mv '$here' /dev/shm/moved && ! rm -r '$here' &&
		! (: >\"\$SBX_CHANNEL/ring\") && ! rm \"\$SBX_CHANNEL/ring\" && [ -d \"\$SBX_CHANNEL\" ]"
}
check 'the channel in it can be used, not touched' channel_in_shm

[ "${E2E_KIN:-}" != parent ] || inner_parent=2 # the broker
own_processes()
{
	launch -- sh -c 'echo /proc/[0-9]*; readlink /proc/self; echo $$ $PPID; cat /proc/1/comm; kill -9 1; ls /proc/1/fd | tr -d "0\n"; (echo x >/proc/1/fd/0) && echo open; cat /proc/1/environ'
	[ "$(head -n 1 "$TMP/out" | wc -w)" = 3 ] && grep -qx "3 ${inner_parent:=0}" "$TMP/out" &&
		[ "$(tail -n 1 "$TMP/out")" = sbx-init ] && [ "$status" != 0 ]
}
check 'it sees its own processes alone, and the first is nobody' own_processes

numbers()
{
	launch -- sh -c 'echo $$; sh -c "echo \$\$ >x; : >y"'
	local run
	run=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)
	grep -q "\"call\":\"start\".*\"pid\":3,\"ppid\":$inner_parent" "$run/audit.jsonl" &&
		grep '"path":"./y"' "$run/audit.jsonl" | grep -q "\"pid\":$(cat x)," &&
		! grep -q unverified "$run/audit.jsonl" && grep -q '"pid namespace"' "$run/run.json"
}
check 'the log has the numbers inside' numbers

orphans()
{
	launch --timeout 20 -- sh -c 'for i in 1 2 3 4 5 6 7 8; do (sh -c : & ) ; done; sleep 0.2; cat /proc/[0-9]*/stat | grep -c ") Z "'
	[ "$(cat "$TMP/out")" = 0 ]
}
check 'orphans are reaped' orphans

# The kernel takes down the namespaces beside the launcher's last steps, and that waits for it.
nothing_left()
{
	[ -r "/proc/self/task/$$/children" ] || return 0 # CONFIG_PROC_CHILDREN
	python3 "${0%/*}/nothing_left.py" 20 "$SBX" -q "$@"
}
check 'nothing is left when the launcher has ended' nothing_left -- true
check 'nor of what was left running' nothing_left -- sh -c 'sleep 62 & setsid sleep 62 &'
check 'nor under the contract' nothing_left --result-json /dev/null -- true
check 'nor of a run inside' nothing_left -- "$SBX" -q -- true
check 'nor of one that is ended' nothing_left --network none -- sh -c 'kill -TERM 1; sh -c : &'

left()
{
	launch -v -- sh -c "sleep 61.$$ & setsid sleep 61.$$ & exit 3"
	[ "$status" = 3 ] && grep -q 'ended what was left running: .*sleep' "$TMP/err" && [ "$(sleepers 61.$$)" = 0 ]
}
check 'what is left running is ended and named' left

stubborn()
{
	local ms
	for ms in 300 1200 4800; do # longer where the machine is too busy for the trap to be set
		launch --timeout ${ms}ms --kill-after 0.2 -- sh -c "trap '' TERM; echo set; (sleep 62.$$; sleep 62.$$) & sleep 62.$$; sleep 62.$$"
		[ ! -s "$TMP/out" ] || break
	done
	[ "$status" = 137 ] && [ "$(sleepers 62.$$)" = 0 ]
}
check 'what does not want to end is killed' stubborn

killed()
{
	"$SBX" -- sh -c "sleep 63.$$ & setsid sleep 63.$$ & (trap '' TERM HUP; sleep 63.$$; sleep 63.$$) & wait" &
	local pid=$! i
	for ((i = 0; i < 500 && $(sleepers 63.$$) < 3; i++)); do sleep 0.02; done
	[ "$(sleepers 63.$$)" -ge 3 ] || return
	kill -9 $pid
	wait $pid
	for ((i = 0; i < 500 && $(sleepers 63.$$) > 0; i++)); do sleep 0.02; done
	[ "$(sleepers 63.$$)" = 0 ]
} 2>/dev/null
check 'a supervisor that is killed leaves nothing running' killed

# Orphans in sessions of their own, of nobody's any more; a guard knows them by their mark.
guarded() # OPTIONS...
{
	"$SBX" -q "$@" -- sh -c "(setsid sleep 64.$$ &); setsid sh -c \"(trap '' TERM HUP; sleep 64.$$; sleep 64.$$) &\"; sleep 64.$$" &
	local pid=$! i
	for ((i = 0; i < 500 && $(sleepers 64.$$) < 3; i++)); do sleep 0.02; done
	[ "$(sleepers 64.$$)" -ge 3 ] || return
	kill -9 $pid
	wait $pid
	for ((i = 0; i < 500 && $(sleepers 64.$$) > 0; i++)); do sleep 0.02; done
	[ "$(sleepers 64.$$)" = 0 ]
} 2>/dev/null
check 'without a pid namespace, too' guarded --isolate none --network host
# Whose processes a list of /proc misses: their end is seen by a pipe. A few times, because it is chance that
# a guard finds nobody where somebody is.
all_end() # LINEAGE-OPTIONS, OPTIONS...
{
	local how=$1
	shift
	cp "${SBX%/*}/lineage" . || return
	# shellcheck disable=SC2086
	python3 "${0%/*}/all_end.py" "$(rounds 3 20)" "$SBX" -qq "$@" -- ./lineage $how
}
check 'nor lineages of short lives' all_end 'generations 4' --isolate none
check 'nor a single one' all_end 'generations 1' --isolate none --network host
check 'nor one whose first thread has ended' all_end headless --isolate none
replaced() # one that is killed is followed by another, which does its work
{
	"$SBX" -q --isolate none -- sh -c "(setsid sleep 65.$$ &); setsid sh -c '(sleep 65.$$ &)'; sleep 65.$$" &
	local pid=$! first second i
	for ((i = 0; i < 500 && $(sleepers 65.$$) < 3; i++)); do sleep 0.02; done
	first=$(pgrep -P $pid -x sbx-guard)
	kill -9 "$first"
	for ((i = 0; i < 500; i++)); do
		second=$(pgrep -P $pid -x sbx-guard)
		[ -z "$second" -o "$second" = "$first" ] || break
		sleep 0.02
	done
	[ -n "$second" ] && [ "$second" != "$first" ] || return
	kill -9 $pid
	wait $pid
	for ((i = 0; i < 500 && $(sleepers 65.$$) > 0; i++)); do sleep 0.02; done
	[ "$(sleepers 65.$$)" = 0 ]
} 2>/dev/null
check 'a guard that is killed is followed by another' replaced
marked()
{
	launch -q --isolate none -- bash -c 'ulimit -Hx; ulimit -x 7; python3 -c "import resource; resource.prlimit(0, 10, (7, 7))"; ulimit -Hx'
	[ "$(uniq -c <"$TMP/out" | awk '{ print $1 }')" = 2 ] && [ "$(grep -c 'not permitted' "$TMP/err")" = 2 ]
}
check 'the mark cannot be taken off' marked
check 'where there is a limit already, it is told' bash -c \
	'ulimit -x 1000 && "$1" -v --isolate none -- true 2>&1 | grep -q "limit: if the supervisor is killed by SIGKILL, its processes survive: .*--isolate pid"' - "$SBX"
if command -v bwrap >/dev/null && "$SBX" -q --backend bwrap --isolate none -- true 2>/dev/null; then
	check 'nor below bubblewrap' guarded --backend bwrap --isolate none
fi

same 'statuses of signals' 'exec 2>/dev/null; sh -c "kill -9 \$\$"; echo $?; kill -TERM $$'

wrong()
{
	launch --isolate pid,net true
	[ "$status" = 125 ] && grep -q 'E_USAGE.*auto, none, or a list of pid, shm' "$TMP/err"
}
check 'a wrong part is refused' wrong
