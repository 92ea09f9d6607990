#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Supervisor, broker or sbx-egress is killed at some instant: the network is never open, and nothing is left.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

# Tries for as long as it lives: what is denied, by name and by address, and what is allowed. A byte
# for each connection that should not have been.
cat >"$TMP/try.py" <<'P'
import os, socket, sys, time
out = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
begun = False
while True:
    for to in ("93.184.216.35", 80), ("other.example.net", 80), ("a.example.net", 8080), ("a.example.net", 80):
        try:
            s = socket.create_connection(to, 5)
            s.sendall(b"GET /where HTTP/1.0\r\nHost: x\r\n\r\n")
            if b"200" in s.recv(999) and to != ("a.example.net", 80):
                os.write(out, b"X")
            elif not begun:
                begun = True
                os.write(out, b".")
            s.close()
        except OSError:
            pass
P

# Processes of this run, found by a variable that they all inherit.
mine()
{
	grep -lzx "KILL_MARK=$1" /proc/[0-9]*/environ 2>/dev/null
}

# Children of the supervisor by name; sbx-egress has no environment of ours.
child() # SUPERVISOR NAME
{
	local c
	for c in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do
		[ "$(cat "/proc/$c/comm" 2>/dev/null)" = "$2" ] && echo "$c"
	done
}

round() # WHOM MILLISECONDS
{
	local sup victim egress p i
	mark=$1-$2-$RANDOM
	: >"$TMP/tried"
	KILL_MARK=$mark "$SBX" -qq --read "$TMP/try.py" --modify "$TMP/tried" --connect a.example.net:80 -- \
		python3 "$TMP/try.py" "$TMP/tried" >"$TMP/out" 2>&1 </dev/null &
	sup=$!
	for i in $(seq 400); do # it works before it is killed, as far as it works at all
		[ -s "$TMP/tried" ] && break
		sleep 0.05
	done
	[ -s "$TMP/tried" ] || { echo "it never connected"; cat "$TMP/out"; kill -9 $sup; return 1; }
	sleep "0.$2"
	egress=$(child $sup sbx-egress)
	case $1 in
	supervisor) victim=$sup ;;
	broker) victim=$(child $sup sbx-broker) ;;
	egress) victim=$egress ;;
	esac
	[ -n "$victim" ] && [ -n "$egress" ] || { echo "no $1"; kill -9 $sup; return 1; }
	kill -9 $victim
	sleep 0.3
	# without sbx-egress, the run goes on, and has no network
	[ "$1" != egress ] || kill -TERM $sup
	wait $sup 2>/dev/null
	for i in $(seq 200); do
		p=$(mine "$mark")
		[ -z "$p" ] && ! kill -0 "$egress" 2>/dev/null && break
		sleep 0.05
	done
	[ -z "$p" ] || { echo "left: $p"; return 1; }
	! kill -0 "$egress" 2>/dev/null || { echo "sbx-egress is left"; return 1; }
	[ "$(cat "$TMP/tried")" = . ] || { echo "reached: $(cat "$TMP/tried")"; return 1; }
}

# KILL_ROUNDS=300: of each, as before a release
for n in $(seq "${KILL_ROUNDS:-$(rounds 1 3)}"); do
	for whom in supervisor broker egress; do
		check "$whom killed: no open network, nothing left ($n)" round $whom $((100 + RANDOM % 400))
	done
done
