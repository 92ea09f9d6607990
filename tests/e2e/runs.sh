#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs that go on: --ps, --stop, --wait.
. "$(dirname "$0")/../support/e2e.sh"

# A run in the background that says when its command is there. $id is its run.
begin() # OPTIONS... -- COMMAND OF THE SHELL
{
	rm -f "$TMP/fifo"
	mkfifo "$TMP/fifo"
	"$SBX" -q "$@" >"$TMP/fifo" 2>"$TMP/run.err" &
	pid=$!
	read -r _ <"$TMP/fifo"
	# the command may speak before its launcher has written down that it goes on
	for _ in $(seq 200); do
		id=$("$SBX" --ps | sed -n "s/^\([^ ]*\)  *$pid .*/\1/p")
		[ -z "$id" ] || break
	done
}

"$SBX" --ps >"$TMP/out" 2>&1
check 'no run goes on' [ $? -eq 0 -a ! -s "$TMP/out" ]

begin -- sh -c 'echo there; exec sleep 100'
check 'a run is listed' [ -n "$id" ]
check 'with its command' sh -c '"$1" --ps | grep -q "sh -c .echo there"' - "$SBX"
"$SBX" --ps --json >"$TMP/out"
check 'as JSON' python3 -c 'import json, sys
d = json.load(open(sys.argv[1])); assert d["run_id"] == sys.argv[2] and d["live"] and d["pid"] == int(sys.argv[3])' \
	"$TMP/out" "$id" "$pid"
"$SBX" --wait "$id" --timeout 50ms 2>"$TMP/err"
check 'waiting for it may have an end: 124' [ $? -eq 124 ]
check 'which is told' grep -q 'did not end within --timeout' "$TMP/err"
check 'and leaves the run alone' kill -0 "$pid"
"$SBX" --stop "$id"
check 'it is stopped' [ $? -eq 0 ]
wait "$pid"
check 'as by SIGTERM: 143' [ $? -eq 143 ]
"$SBX" --wait "$id"
check 'its status can be asked for' [ $? -eq 143 ]
"$SBX" --stop "$id"
check 'who has ended is stopped' [ $? -eq 0 ]

begin --kill-after 200ms -- sh -c 'trap "" TERM INT HUP; echo there; while :; do sleep 0.05; done'
"$SBX" --stop last
check 'a command that does not listen is killed' [ $? -eq 0 ]
wait "$pid"
check 'after --kill-after: 137' [ $? -eq 137 ]

begin -- bash -c 'trap "exit 5" TERM; setsid sh -c "trap : TERM; sleep 100; sleep 100" >/dev/null & echo there; while :; do sleep 0.05; done'
"$SBX" --stop "$id"
wait "$pid"
check 'the command may clean up, and its status counts' [ $? -eq 5 ]
check 'nothing is left' sh -c '! "$1" --ps | grep -q .' - "$SBX"

# stopped with its command it hears of nothing
for how in 'kill -STOP $$' 'kill -STOP 0'; do
	set -m
	begin --kill-after 300ms -- sh -c "echo there; $how; sleep 100"
	set +m
	for _ in $(seq 500); do
		grep -q '^State:.T' "/proc/$pid/status" && break
		sleep 0.01
	done
	"$SBX" --stop "$id" --timeout 30
	check "a run that is stopped is stopped ($how)" [ $? -eq 0 ]
	wait "$pid"
	check 'and has a status' [ $? -eq 143 -o $? -eq 137 ]
done

begin -- sh -c 'echo there; sleep 0.2; exit 7'
"$SBX" --wait "${id%???}"
check 'wait has the status of the run, by the beginning of its id' [ $? -eq 7 ]

begin -- sh -c 'echo there; exec sleep 100'
kill -9 "$pid"
"$SBX" --wait "$id" 2>"$TMP/err"
check 'of a launcher that was killed there is none: 125' [ $? -eq 125 ]
check 'which is told' grep -q 'no status is recorded' "$TMP/err"
"$(dirname "$SBX")/sbx-audit" verify "$id" >"$TMP/out"
check 'and its log is not called broken' [ $? -eq 0 ]
(ulimit -f 0; "$SBX" -qq -- true) >/dev/null 2>&1
"$(dirname "$SBX")/sbx-audit" runs >"$TMP/out" 2>"$TMP/err"
check 'a run without room for its record is listed' [ $? -eq 0 -a ! -s "$TMP/err" ]

"$SBX" --wait nosuch 2>"$TMP/err"
check 'no such run: 127' [ $? -eq 127 ]
"$SBX" --ps --stop last 2>"$TMP/err"
check 'one question at a time' [ $? -eq 125 ]
"$SBX" --stop last -- true 2>"$TMP/err"
check 'no command beside it' [ $? -eq 125 ]
check 'runs are not met from inside' sh -c '! "$1" -q -- "$1" --ps 2>/dev/null | grep -q .' - "$SBX"
