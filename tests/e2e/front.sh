#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The front door: tight limits, each code with what brings it, and what a run says of itself.
. "$(dirname "$0")/../support/e2e.sh"

# ---- mapping of user namespaces ----

# Root maps itself with CAP_SETFCAP alone (user_namespaces(7)).
caps=
launch --allow namespaces true
check 'root is told what it lacks' \
	[ "$(grep -c '^sbx-launch: note: root cannot map .* setfcap to --caps' "$TMP/err")" -eq "$((! $(id -u)))" ]
[ "$(id -u)" -ne 0 ] || caps='--caps chown,dac_override,fowner,fsetid,setfcap'
if unshare -Ur true 2>/dev/null; then
	# shellcheck disable=SC2086
	launch --allow namespaces $caps unshare -Ur id -u
	check 'a command may map itself' grep -qx 0 "$TMP/out"
	# shellcheck disable=SC2086
	launch --allow namespaces $caps unshare -Urpfn sh -c 'echo $$'
	check 'with a pid and a network namespace' grep -qx 1 "$TMP/out"
	cat >child.py <<'EOF'
import ctypes, os, sys
there, back = os.pipe(), os.pipe()
pid = int(sys.argv[1]) if len(sys.argv) > 1 else os.fork()
if pid == 0:
    ctypes.CDLL(None).unshare(0x10000000)
    os.write(there[1], b"x")
    os.read(back[0], 1)
    print(os.getuid(), *open("/proc/self/uid_map").read().split(), flush=True)
    os._exit(0)
len(sys.argv) > 1 or os.read(there[0], 1)
open(f"/proc/{pid}/setgroups", "w").write("deny")
open(f"/proc/{pid}/uid_map", "w").write(f"0 {os.getuid()} 1")
open(f"/proc/{pid}/gid_map", "w").write(f"0 {os.getgid()} 1")
os.write(back[1], b"x")
len(sys.argv) > 1 or os.wait()
EOF
	# shellcheck disable=SC2086
	launch --allow namespaces $caps python3 child.py
	check 'a parent maps its child' grep -qx "0 0 $(id -u) 1" "$TMP/out"
	unshare -U sleep 100 &
	stranger=$!
	while [ "$(readlink /proc/$stranger/ns/user)" = "$(readlink /proc/$$/ns/user)" ]; do :; done
	# shellcheck disable=SC2086
	launch --isolate none --allow namespaces $caps python3 child.py $stranger
	check 'but no process outside' grep -q 'PermissionError.*setgroups' "$TMP/err"
	check 'which is still without a map' [ -z "$(cat /proc/$stranger/uid_map)" ]
	python3 child.py $stranger
	check 'and can be given one by us' [ -n "$(cat /proc/$stranger/uid_map)" ]
	kill $stranger
	wait 2>/dev/null
else
	skip 'mapping of user namespaces' 'this host allows none'
fi
common || exit 0

# ---- limits the caller set ----

limited() # ULIMIT-ARGS LAUNCH-ARGS...: sets $status, through pipes, which have no size
{
	limits=$1
	shift
	(
		# shellcheck disable=SC2086
		ulimit $limits
		exec "$SBX" "$@"
	) 2>&1 >"$TMP/pipe" </dev/null | cat >"$TMP/err"
	status=${PIPESTATUS[0]}
}
rm -f "$TMP/pipe"
mkfifo "$TMP/pipe"
piped() # ULIMIT-ARGS LAUNCH-ARGS...
{
	cat "$TMP/pipe" >"$TMP/out" &
	limited "$@"
	wait
}

piped '-Sf 1' --audit-required sh -c 'ulimit -f; head -c 4000 /dev/zero >big; echo $?'
check 'a soft limit of file sizes is the command'\''s alone' [ "$status" -eq 0 ]
check 'it gets it back, with the signal' [ "$(sed -n 2p "$TMP/out")" = 153 ]
run=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)
check 'and the log is whole' grep -q '"path":"./big"' "$run/audit.jsonl"
piped '-f 1' sh -c 'echo ran; exit 3'
check 'a hard one: the run goes on' [ "$status" -eq 3 ]
check 'and says that it keeps no record' grep -q '^sbx-launch: E_AUDIT: .*ulimit -f' "$TMP/err"
# shellcheck disable=SC2016
piped '-f 4' sh -c 'i=0; while [ $i -lt 300 ]; do : >f_$i; i=$((i + 1)); done; echo all; exit 4'
check 'nor does a log that fills up to it end the command' [ "$status" -eq 4 ]
check 'which is told once' [ "$(grep -c 'the run continues without it' "$TMP/err")" -eq 1 ]
rm -f f_*
piped '-f 1' --audit-required touch ran
check 'a hard one, the record required: refused' [ "$status" -eq 125 ]
check 'with the remedy, the command not run' grep -q '^sbx-launch: E_AUDIT: .*ulimit -f' "$TMP/err"
check 'not run' [ ! -e ran ]
piped '-Sn 8' sh -c 'ulimit -n'
check 'a soft limit of open files is the command'\''s alone' grep -qx 8 "$TMP/out"
piped '-n 8' touch ran
check 'a hard one is refused by name' grep -q '^sbx-launch: E_LIMIT: a process may have only 8 files' "$TMP/err"
check 'with 125' [ "$status" -eq 125 ]

# Where exactly memory runs out is the C library's.
for kib in 10000 11000 12000 13000 14000 15000 16000; do
	(ulimit -v $kib; exec "$SBX" touch ran) 2>>"$TMP/memory"
done
check 'too little memory is a limit, with the remedy' \
	grep -q '^sbx-launch: E_LIMIT: .*ulimit -v' "$TMP/memory"
rm -f ran
if [ "$(id -u)" -eq 0 ]; then
	skip 'no process to be had is a limit, with the remedy' 'root has no such limit'
else
	(ulimit -u 1; exec "$SBX" touch ran) 2>"$TMP/err"
	check 'no process to be had is a limit, with the remedy' \
		grep -q '^sbx-launch: E_LIMIT: .*ulimit -u' "$TMP/err"
fi
launch -p '' touch ran
check 'an empty policy is a usage error' grep -q '^sbx-launch: E_USAGE: --policy: empty' "$TMP/err"
check 'and none of these ran' [ ! -e ran ]

# ---- each code of sbx-launch(1), what brings it, the status ----

code() # CODE STATUS ARGS...
{
	c=$1 want=$2
	shift 2
	launch "$@"
	if [ "$status" -eq "$want" ] && grep -q "^sbx-launch: $c: " "$TMP/err" &&
		[ "$(grep -c '^sbx-launch: E_' "$TMP/err")" -eq 1 ]; then
		ok "$c: $*"
	else
		{ echo "status $status, not $want $c"; cat "$TMP/err"; } | not_ok "$c: $*"
	fi
}
echo '{}' >empty.yaml
echo x >text
mkdir dir
cp "$(dirname "$SBX")/sbx-launch" alone
code E_USAGE 125 --keep-fd 99 true
code E_USAGE 125 --caps frob true
code E_USAGE 125 --read '' true
code E_USAGE 125 --status-fd x true
code E_POLICY 125 --policy none.yaml true
code E_POLICY 125 --policy dir true
code E_POLICY 125 --policy empty.yaml true
chmod 666 empty.yaml
code E_POLICY 125 --policy empty.yaml true
code E_PROFILE 125 --profile none true
code E_WORKSPACE 125 --workspace none true
code E_WORKSPACE 125 --workspace text true
code E_FLOOR 125 --network loopback true
code E_AUDIT 125 --audit-file none/log true
code E_AUDIT 125 --audit-file inside.jsonl true
code E_NOTFOUND 127 no-such-command
code E_NOTFOUND 127 ./none
code E_NOEXEC 126 ./text
code E_NOEXEC 126 ./dir
SBX=$WS/alone code E_SHIM 125 true

# ---- runs inside runs, deeper than the outermost makes them ----

mkdir other
launch "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- env XDG_STATE_HOME="$WS/other" "$SBX" true
check 'a run too deep inside of others is a floor that cannot be had' \
	grep -q '^sbx-launch: E_FLOOR: .*--best-effort --audit-level none' "$TMP/err"
check 'one line of ours' [ "$(grep -c '^sbx-launch: E_' "$TMP/err")" -eq 1 ]
launch "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" --best-effort true
check 'its record is the outer run'\''s' grep -q '^sbx-launch: E_AUDIT: .*: use --audit-level none$' "$TMP/err"
launch "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" --best-effort --audit-level none echo inner
check 'the remedy works' grep -qx inner "$TMP/out"

# ---- what it left running ----

launch -v sh -c 'for i in $(seq 22); do sleep 100 & done'
check 'one line for each process left' \
	[ "$(grep -cE '^sbx-launch: ended what was left running: [0-9]+ [a-z]+$' "$TMP/err")" -eq 20 ]
check 'and the rest counted' grep -qx 'sbx-launch: ended what was left running: and 2 more' "$TMP/err"

# ---- a workspace that holds our programs ----

mkdir own
cp "$(dirname "$SBX")"/sbx-* "$(dirname "$SBX")"/libsbx-shim.so own
own=$WS/own/libsbx-shim.so
SBX=$WS/own/sbx-launch launch sh -c "echo x >'$own'; rm own/sbx-policy; mv own moved; echo y >own/new"
check 'the next run'\''s programs cannot be changed' cmp "$own" "$(dirname "$SBX")/libsbx-shim.so"
check 'removed or moved' [ -x own/sbx-policy ]
check 'what lies beside them can' [ -s own/new ]
check 'the remedy says why' grep -q 'builtin:self:[0-9]*): a program of this sandbox: .*allow with --modify' "$TMP/err"
SBX=$WS/own/sbx-launch launch -q --modify own sh -c "rm '$own'; echo x >'$own'"
check 'and works' grep -qx x "$own"

# ---- devices are the host's ----

mode=$(stat -c %a /dev/null)
launch sh -c "chmod $mode /dev/null || chown 0 /dev/null || touch -d 2001-01-01 /dev/null"
check 'nobody changes a device node' [ "$(grep -c 'Operation not permitted' "$TMP/err")" -eq 3 ]
launch sh -c 'echo x >/dev/null && touch /dev/null'
check 'but writes to it' [ "$status" -eq 0 ]

# ---- --allow debug, --allow namespaces ----

hint='denied ptrace (system-call filter): debuggers, strace and LeakSanitizer need --allow debug'
launch sh -c 'strace true; strace true; :'
check 'a debugger is refused with one hint' [ "$(grep -cF "$hint" "$TMP/err")" -eq 1 ]
launch --unix host strace true
check 'also with all sockets open' grep -qF "$hint" "$TMP/err"
launch --allow debug strace -o trace true
check 'which helps' grep -q '^execve(' trace

cat >ns.py <<'EOF'
import ctypes, os
clone = {"x86_64": 56, "aarch64": 220}[os.uname().machine]
c = ctypes.CDLL(None, use_errno=True)
for flag in [0x80] + [1 << n for n in (17, 25, 26, 27, 28, 29, 30)]:
    print("unshare", hex(flag), c.unshare(flag), ctypes.get_errno())
for flag in [1 << n for n in (17, 25, 26, 27, 28, 29, 30)]:
    if (pid := c.syscall(clone, flag | 17, 0, 0, 0, 0)) == 0:
        c._exit(0)
    print("clone", hex(flag), pid, ctypes.get_errno())
EOF
launch python3 ns.py
check 'no namespace is made' [ "$(grep -c -- ' -1 1$' "$TMP/out")" -eq 15 -a "$(wc -l <"$TMP/out")" -eq 15 ]
check 'and one line says what helps' grep -qx \
	'sbx-launch: denied namespaces (system-call filter): programs that make their own need --allow namespaces; what mounts in them (bwrap, podman) cannot work inside' "$TMP/err"
launch sh -c '(exit 3); true | true; sleep 0 & wait; exit 4'
check 'other children are' [ "$status" -eq 4 -a ! -s "$TMP/err" ]

launch sh -c 'exec 2>/dev/null; echo x >/proc/$$/uid_map'
check 'the remedy for a map is the option' \
	grep -q 'uid_map .*: mapping user namespaces needs --allow namespaces$' "$TMP/err"
launch sh -c 'exec 2>/dev/null; echo x >/proc/$$/oom_score_adj'
check 'no remedy names a process by its number' \
	[ "$(grep -c 'denied modify /proc/[0-9]*/oom_score_adj (rule [^)]*)$' "$TMP/err")" -eq 1 ]
exit 0
