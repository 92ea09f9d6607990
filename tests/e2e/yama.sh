#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where Yama lets only ancestors look into a process the broker is the command's parent: what a user
# sees of a run is what it is without. E2E_KIN=parent (tests/support/e2e.sh) makes it so anywhere;
# `make check-kin` runs more files so, and a kernel with Yama is booted by `make check-kernels`.
. "$(dirname "$0")/../support/e2e.sh"

state=$HOME/.local/state/sbx-launch
as() # sibling|parent
{
	case $1 in
	parent) e2e_be_parent ;;
	*) rm -f "$state/host" ;;
	esac
}
as parent
# What its user may execute and not read can be looked into with CAP_SYS_PTRACE over it alone.
rm -rf unread made
cp "$(command -v mkdir)" unread && chmod 0111 unread
unread() # WANT OPTIONS...
{
	local want=$1
	shift
	rm -rf made
	launch -q "$@" -- sh -c './unread made'
	[ "$status:$(ls -d made 2>/dev/null)" = "$want" ] || { cat "$TMP/err"; return 1; }
}
if [ "$(id -u)" = 0 ]; then
	check 'a program that may not be read writes, as root' unread 0:made --network host --isolate none
else
	check 'a program that may not be read changes nothing without a user namespace' \
		unread 1: --network host --isolate none
	check 'and is served in one' unread 0:made
fi
rm -rf unread made
common || exit 0

# Under both, and the same: output, status, what is left. `$PPID` and numbers are left out.
table()
{
	cat <<'X'
exit 7
kill -TERM $$
kill -SEGV $$
ulimit -c 0; kill -QUIT $$
sleep 0.05 & wait $!; echo $?
(sleep 0.1; echo late) & echo first; wait
trap "echo got" USR1; kill -USR1 $$; echo on
setsid sh -c "sleep 0.05; echo apart"; echo $?
(sh -c ":" &); (sh -c ":" &); sleep 0.2; cat /proc/[0-9]*/stat 2>/dev/null | grep -c ") Z $PPID "
sh -c "exit 3"; echo $?
echo x >f && cat f && mkdir d && mv f d/f && rm -r d && echo gone
printf "a\nb\n" | sort -r | head -n 1
bash -c "set -m; sleep 9 & kill -STOP %1; sleep 0.1; kill -CONT %1; kill %1; wait %1; echo \$?"
exec sh -c "exit 9"
python3 -c "import ctypes; ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); open(\"undumped\", \"w\"); print(1)"
exec 0<&- 1<&-; exit 4
X
}
try_all() # OPTIONS...
{
	local script
	while read -r script; do
		"$SBX" -qq "$@" -- sh -c "$script" </dev/null 2>&1
		echo "status $?: $script"
	done < <(table | head -n "$rows")
}
rows=99
for options in '' '--network host --isolate none' '--deny-read **/*.env --no-shim'; do
	as sibling
	# shellcheck disable=SC2086
	try_all $options >"$TMP/sibling"
	as parent
	# shellcheck disable=SC2086
	try_all $options >"$TMP/parent"
	check "statuses, output, signals: the same (${options:-default})" diff "$TMP/sibling" "$TMP/parent"
	check 'and something was compared' [ "$(grep -c '^status' "$TMP/parent")" = "$(table | head -n $rows | wc -l)" ]
	rows=$(rounds 2 6)
done

as parent
parent_is_broker()
{
	[ "$("$SBX" -q --network host --isolate none -- sh -c 'cat /proc/$PPID/comm')" = sbx-broker ]
}
check "the command's parent is the broker" parent_is_broker
check 'also in a pid namespace' [ "$("$SBX" -q --isolate pid -- sh -c 'echo $PPID; cat /proc/$PPID/comm' | xargs)" = '2 sbx-broker' ]
launch -q -- /nosuch
check 'a program that is not there: 127' [ $status = 127 ]
launch -q -- "$TMP"
check 'one that cannot be executed: 126' [ $status = 126 ]
launch -q --timeout 200ms --kill-after 200ms -- sh -c 'trap "" TERM; while :; do sleep 0.05; done'
check 'a deadline, and what does not heed it: 137' [ $status = 137 ]
launch -q -- sh -c '(trap "" TERM; sleep 67) & echo left'
check 'what is left running is ended' sh -c '! pgrep -fx "sleep 67" >/dev/null'

stops_and_goes()
{
	"$SBX" -q --network host --isolate none -- sh -c 'echo $$ >pid; kill -STOP $$; echo on >went; exit 5' &
	local pid=$!
	for _ in $(seq 1500); do grep -q ') T ' "/proc/$pid/stat" 2>/dev/null && break; sleep 0.02; done
	grep -q ') T ' "/proc/$pid/stat" && [ ! -e went ] || { cat "/proc/$pid/stat"; return 1; }
	kill -CONT $pid
	wait $pid
	[ $? = 5 ] && [ -e went ]
}
check 'stopped, the launcher stops; continued, it goes on' stops_and_goes

killed() # WHOM SIGNAL STATUS OPTIONS...: nothing is left
{
	local whom=$1 signal=$2 want=$3 pid child
	shift 3
	rm -f up
	"$SBX" -q "$@" -- sh -c 'sleep 71 & sleep 71 & echo >up; wait' 2>"$TMP/err" &
	pid=$!
	for _ in $(seq 1500); do [ -e up ] && break; sleep 0.02; done
	child=$pid
	[ "$whom" = launcher ] || child=$(pgrep -P $pid sbx-broker)
	kill "-$signal" "$child"
	wait $pid
	status=$?
	for _ in $(seq 1500); do pgrep -fx 'sleep 71' >/dev/null || break; sleep 0.02; done
	[ $status = "$want" ] && ! pgrep -fx 'sleep 71' >/dev/null || { echo "status $status"; cat "$TMP/err"; return 1; }
}
for options in '--isolate none --network host' '--isolate pid'; do
	# shellcheck disable=SC2086
	check "a broker that is killed ends the run: 125 ($options)" killed broker KILL 125 $options
	check 'and it is said' grep -q 'the broker died (signal 9)' "$TMP/err"
	# shellcheck disable=SC2086
	check "a launcher that is killed leaves nothing ($options)" killed launcher KILL 137 $options
	# shellcheck disable=SC2086
	check "a signal reaches the command ($options)" killed launcher TERM 143 $options
done
inside() { [ "$("$SBX" -q -- "$SBX" -q -- sh -c 'echo x >in && cat in')" = x ]; }
check 'a run inside a run' inside

# ---- what is remembered is no wall, and not everybody's word is taken ----
HOST=$(dirname "$SBX")/mkhost
if [ -x "$HOST" ] && "$HOST" --no memory true 2>/dev/null; then
	rm -f "$state/host" ran
	"$HOST" --no memory "$SBX" -q -- true 2>/dev/null
	check 'what a host cannot do is not remembered' [ ! -e "$state/host" ]
	"$HOST" --no keys "$SBX" -q -- true
	sed -i '1s/ self:0 / self:1 /' "$state/host"
	"$HOST" --no memory "$SBX" -q -- sh -c 'echo >ran' 2>"$TMP/err"
	check 'a lie about it is found out before anything is done: 125' \
		[ "$?$(ls ran 2>/dev/null)$(grep -c 'E_FLOOR: the broker cannot serve this run: process_vm_readv(2) is refused' "$TMP/err")" = 1251 ]
fi
plants() # PREPARE: the file is not believed
{
	rm -rf "$state/host" "$TMP/plant"
	as parent
	eval "$1"
	[ "$("$SBX" -q --network host --isolate none -- sh -c 'cat /proc/$PPID/comm')" = sbx-launch ]
}
check 'not believed: of another boot' plants 'sed -i "1s/host 1 ./host 1 x/" "$state/host"'
check 'not believed: of another kernel' plants 'sed -i "1s/ uid:/ 9.9 uid:/" "$state/host"'
check 'not believed: others may write to it' plants 'chmod 602 "$state/host"'
check 'not believed: a link' plants 'mv "$state/host" "$TMP/plant"; ln -s "$TMP/plant" "$state/host"'
check 'not believed: it has another name as well' plants 'ln "$state/host" "$state/other"'
rm -f "$state/other"
check 'not believed: cut short' plants 'sed -i "s/ end$//" "$state/host"'
check 'not believed: a FIFO' plants 'rm "$state/host"; mkfifo "$state/host"'
rm -f "$state/host"
as parent
cp "$state/host" "$TMP/before"
launch -q -- sh -c "echo x >'$state/host'; rm -f '$state/host'; mv '$state' x; cat '$state/host'"
check 'and no command reads or changes it' sh -c '[ ! -s "$1" ] && cmp "$2" "$3"' - "$TMP/out" "$TMP/before" "$state/host"
