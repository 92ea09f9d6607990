#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Exit statuses, the line that goes with them, --status-fd: sbx-launch(1).
. "$(dirname "$0")/../support/e2e.sh"

is() # NAME STATUS ARGS...
{
	name=$1 want=$2
	shift 2
	launch "$@"
	if [ "$status" -eq "$want" ]; then
		ok "$name"
	else
		{ echo "status $status, not $want"; cat "$TMP/err"; } | not_ok "$name"
	fi
}

# One line "sbx-launch: E_CODE: ..." and nothing on standard output.
says() # NAME STATUS CODE ARGS...
{
	name=$1 want=$2 code=$3
	shift 3
	launch "$@"
	if [ "$status" -eq "$want" ] && [ "$(wc -l <"$TMP/err")" -eq 1 ] && [ ! -s "$TMP/out" ] &&
		grep -q "^sbx-launch: $code: " "$TMP/err"; then
		ok "$name"
	else
		{ echo "status $status, not $want $code"; cat "$TMP/err"; } | not_ok "$name"
	fi
}

same 'status 0' true
same 'status 7' 'exit 7'
same 'status 125 is passed on' 'exit 125'
same 'output of both streams' 'echo out; echo err >&2; exit 3'
same 'nothing is added to the environment but the known names' \
	'env | grep -vE "^(TMPDIR|TMP|TEMP|TMPPREFIX|LD_PRELOAD|SBX_CHANNEL|XDG_CACHE_HOME|GOCACHE|CCACHE_DIR|npm_config_cache|_)=" | sort'
same 'cwd and umask' 'umask; pwd; cd ..; pwd'
is 'died of TERM' 143 sh -c 'kill -TERM $$'
is 'died of KILL' 137 sh -c 'kill -KILL $$'
is 'timed out' 124 --timeout 50ms sleep 100
# TERM ends a shell that a busy machine has not brought to its trap in time: longer, then
ms=50
while
	launch --timeout ${ms}ms --kill-after 50ms sh -c "trap '' TERM; echo set; while :; do sleep 0.05; done"
	[ ! -s "$TMP/out" ] && [ $ms -lt 10000 ]
do
	ms=$((ms * 2))
done
check 'had to be killed' [ "$status" -eq 137 ]
is 'stopped and timed out' 124 --timeout 50ms sh -c 'kill -STOP $$'
is 'stopped with its group and timed out' 124 --timeout 50ms sh -c 'kill -STOP 0'
is 'a time beyond all clocks' 3 --timeout 18446744073709551615ms sh -c 'exit 3'
is 'in time' 3 --timeout 60 sh -c 'exit 3'
says 'not found' 127 E_NOTFOUND no-such-command-anywhere
says 'not found by path' 127 E_NOTFOUND ./none
says 'a directory is not executable' 126 E_NOEXEC /etc
echo 'echo hi' >plain
says 'not executable' 126 E_NOEXEC ./plain
printf '#!/no/such/interpreter\n' >broken && chmod +x broken
says 'interpreter missing' 127 E_NOTFOUND ./broken
printf '\177ELF garbage\0\0' >garbage && chmod +x garbage
says 'bad executable' 126 E_NOEXEC ./garbage
chmod +x plain
launch ./plain
check 'a script without interpreter runs' grep -qx hi "$TMP/out"
says 'no command' 125 E_USAGE -v
says 'unknown option' 125 E_USAGE --frobnicate true
says 'missing workspace' 125 E_WORKSPACE --workspace "$TMP/none" true
says 'profile without a document' 125 E_PROFILE --profile other true

status_line()
{
	"$SBX" --status-fd 9 "$@" 9>"$TMP/status" >"$TMP/out" 2>"$TMP/err"
	cat "$TMP/status"
}
check 'status-fd: own status' [ "$(status_line sh -c 'exit 126')" = \
	'{"phase":"command","status":126,"signal":null,"error":null}' ]
check 'status-fd: signal' [ "$(status_line sh -c 'kill -9 $$')" = \
	'{"phase":"command","status":137,"signal":9,"error":null}' ]
check 'status-fd: ours' grep -q '^{"phase":"setup","status":127,"signal":null,"error":{"code":"E_NOTFOUND"' \
	<(status_line no-such-command)
check 'status-fd: timeout' grep -q '^{"phase":"timeout","status":124,"signal":15,' \
	<(status_line --timeout 50ms sleep 100)
check 'status-fd: wrong options behind it' grep -q '"phase":"setup","status":125,.*"E_USAGE"' \
	<(status_line --timeout never true)
check 'status-fd: too few descriptors' grep -q '"phase":"setup","status":125,.*"E_LIMIT"' \
	<(ulimit -n 32 && status_line true)
gone() # DESCRIPTOR ARGS...: with a pipe there that nobody reads; the status
{
	python3 - "$@" <<'PY'
import os, subprocess, sys
read, write = os.pipe()
os.close(read)
fd = int(sys.argv[1])
def place():
    os.dup2(write, fd)
run = subprocess.run([os.environ["SBX"], *sys.argv[2:]], preexec_fn=place, close_fds=False,
                     stdout=subprocess.DEVNULL)
sys.exit(run.returncode if run.returncode >= 0 else 99)
PY
	[ $? -eq "$want" ]
}
export SBX
want=127
check 'status-fd: a reader that is gone' gone 9 --status-fd 9 no-such-command 2>/dev/null
want=3
check 'errors that nobody reads do not keep the command from running' \
	gone 2 -v --best-effort --network loopback sh -c 'exit 3'
check 'the command has SIGPIPE as we were given it' [ "$("$SBX" sh -c 'kill -PIPE $$'; echo $?)" = 141 ]
# (with no room for the channel)
check 'what cannot report is not preloaded' [ \
	"$(ulimit -f 8 && "$SBX" sh -c 'echo "${LD_PRELOAD-none}"' 2>/dev/null)" = none ]
check 'status-fd is not inherited' grep -q 'Bad file descriptor' <(
	"$SBX" --status-fd 9 -- bash -c 'echo x >&9' 9>/dev/null 2>&1)

# The command keeps its streams when one of them is the status descriptor.
"$SBX" --status-fd 1 -- sh -c 'echo out; echo err >&2' >"$TMP/out" 2>"$TMP/err"
check 'status-fd 1: output, then the line' [ "$(cat "$TMP/out")" = 'out
{"phase":"command","status":0,"signal":null,"error":null}' ]
check 'status-fd 1: errors' [ "$(cat "$TMP/err")" = err ]
"$SBX" --status-fd 2 -- sh -c 'echo out; echo err >&2' >"$TMP/out" 2>"$TMP/err"
check 'status-fd 2: errors, then the line' [ "$(cat "$TMP/err")" = 'err
{"phase":"command","status":0,"signal":null,"error":null}' ]
check 'status-fd 2: output' [ "$(cat "$TMP/out")" = out ]

# The shim is found beside any place the tree was installed to, and trusted by owner and mode.
mkdir -p "$TMP/usr/bin" "$TMP/usr/libexec/sbx-launch"
cp "$SBX" "$TMP/usr/bin" && cp "${SBX%/*}"/libsbx-shim.so "$TMP/usr/libexec/sbx-launch"
"$TMP/usr/bin/sbx-launch" -- sh -c 'echo "$LD_PRELOAD"' >"$TMP/out" 2>&1
check 'shim: below ../libexec' [ "$(cat "$TMP/out")" = \
	"$TMP/usr/libexec/sbx-launch/libsbx-shim.so" ]
chmod o+w "$TMP/usr/libexec/sbx-launch/libsbx-shim.so"
"$TMP/usr/bin/sbx-launch" -- sh -c 'echo "$LD_PRELOAD"' >"$TMP/out" 2>&1
check 'shim: not when anybody may write it' [ "$(grep -c "^$TMP" "$TMP/out")" = 0 ]
rm -r "$TMP/usr"

# Nothing of ours is left behind.
launch sh -c 'echo "$SBX_CHANNEL"; touch "$TMPDIR/left"'
check 'scratch directory is gone' [ -z "$(find "$TMPDIR" -mindepth 1 -name 'sbx-launch-*')" ]
check 'channel was there' [ -n "$(cat "$TMP/out")" ]
check 'channel is gone' [ ! -e "$(cat "$TMP/out")" ]
"$SBX" -v sh -c 'sleep 300 & exit 4' 2>"$TMP/err"
check 'what is left running is ended and named' grep -q 'left running.*sleep' "$TMP/err"
launch --version
check 'version' grep -qE '^sbx-launch [0-9]' "$TMP/out"
launch --help
check 'help' grep -q -- '--network' "$TMP/out"
rm -rf "$HOME/.local" "$HOME/.cache"
launch --dry-run sh -c 'echo ran >ran'
check 'dry run prints a plan' grep -q '^policy: builtin' "$TMP/out"
check 'dry run runs nothing' [ ! -e ran ]
check 'dry run writes nothing' [ -z "$(ls -A "$HOME")" ]
exit 0
