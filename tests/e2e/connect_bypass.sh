#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ways past rules on endpoints: each reaches what it is after outside of the sandbox, and nothing inside.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

attacks=$(dirname "$0")/connect_attacks.py

# NAME of one that has no control outside of a run's namespace: `inside`
attack() # NAME [inside]
{
	local w
	if [ "${2:-}" != inside ]; then
		got=$(python3 "$attacks" "$1" 2>&1)
		if [ "$got" != REACHED ]; then
			skip "$1" "outside: $got"
			return
		fi
	fi
	full || export CONNECT_SECONDS=0.7 # a race inside; outside it ends when it is won
	for w in $WHO; do
		launch_as $w -q --read "$attacks" --connect a.example.net:80 -- python3 "$attacks" "$1"
		if [ "$status" -eq 0 ] && ! grep -q REACHED "$TMP/out" && [ -s "$TMP/out" ]; then
			ok "$w: $1: $(tr '\n' ' ' <"$TMP/out" | tr -d '#')"
		else
			{ echo "status $status"; cat "$TMP/out" "$TMP/err"; } | not_ok "$w: $1"
		fi
	done
	unset CONNECT_SECONDS
}

check 'what is allowed is reached' "$SBX" --connect a.example.net:80 -- curl -sS -m 20 -o /dev/null http://a.example.net/

for a in literal name trailing_dot mapped six decimal $(first 2 host_loopback host_mapped host_zero host_short host_number) \
	datagram quic dns raw packet icmp mptcp fast_open fast_open_connect source_route uring abstract unspec route \
	flipped; do
	attack $a
done
for a in swapped relay; do
	attack $a inside
done

# What a name leads to is looked at when it is dialled, not when it was asked for.
as_each 'a name that comes to lead elsewhere' 0 '^13 13$' --connect turns.example.net:80 -- python3 -c '
import errno, socket
said = []
for _ in range(2):
    s = socket.socket()
    try: s.connect((socket.gethostbyname("turns.example.net"), 80)); said.append("open")
    except OSError as e: said.append(str(e.errno))
print(*said)'
