#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the system-call filter refuses has a line and an event: each row of its table is tried, on hosts with
# namespaces and without.
. "$(dirname "$0")/../support/e2e.sh"

refuse=$(dirname "$SBX")/mkrefusals
BROKER=0x820 NO_INET=0x828 NO_IPC=0xa0
runs() { ls -d "$HOME"/.local/state/sbx-launch/runs/2*; }

# Each row that was met is an event of this run, in the broker's word; what only root could do is told to root.
told() # AT-LEAST [root]: of the program's lines in $TMP/out
{
	local log origin call whom missing=0 who=${2:-$(id -un)}
	log=$(runs | tail -n 1)/audit.jsonl
	[ "$(sort -u "$TMP/out" | wc -l)" -ge "$1" ] || { echo "few rows"; cat "$TMP/out" "$TMP/err"; return 1; }
	while read -r origin call whom; do
		if [ "$whom" = root ] && [ "$who" != root ]; then
			! grep -q "\"rule\":\"$origin\"" "$log" || { echo "the kernel's own: $call"; missing=1; }
		else
			grep -q "\"allowed\":false,\"matched_rule\":\"<system-call filter>\",\"rule\":\"$origin\".*\"call\":\"$call\".*\"errno\":.*\"reason\":\"filter\".*\"layer\":\"broker\"" "$log" ||
				{ echo "not told: $call $origin"; missing=1; }
		fi
	done <"$TMP/out"
	return $missing
}

launch -- "$refuse" $BROKER
check 'each row is refused with its errno' [ "$status" -eq 0 ]
check 'and told' told 50
check 'a person reads what and why' grep -q 'denied .* (system-call filter): .*: no option opens it' "$TMP/err"
"$(dirname "$SBX")/sbx-audit" denials >"$TMP/denials"
check 'sbx-audit names calls' grep -q 'call keyctl$' "$TMP/denials"
launch --no-shim --isolate none --network host -- "$refuse" $NO_IPC
check 'so without namespaces, and without the shim' told 60

# A socket that is refused, with its remedy.
cat >sockets.py <<'P'
import socket, sys
for f, t in ((socket.AF_INET, 1), (socket.AF_INET6, 2), (socket.AF_UNIX, 2)):
    try: socket.socket(f, t)
    except OSError as e: print(f.name, e.errno)
P
launch -- python3 sockets.py
check 'datagrams of unix(7): refused aloud' grep -qx 'sbx-launch: denied socket (system-call filter): a datagram socket reaches any socket path by sendto(2): allow with --unix host' "$TMP/err"
launch --unix host -- python3 sockets.py
check 'and the remedy cures' sh -c '! grep -q AF_UNIX "$1" && ! grep -q "denied socket" "$2"' - "$TMP/out" "$TMP/err"
if unshare -Ur true 2>/dev/null; then
	# no namespaces are to be had
	none() { unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && echo 0 >/proc/sys/user/max_net_namespaces && exec "$@"' - "$SBX" "$@" >"$TMP/out" 2>"$TMP/err"; }
	none -- python3 sockets.py
	check 'without a network namespace sockets are refused' [ "$(xargs <"$TMP/out")" = 'AF_INET 13 AF_INET6 13 AF_UNIX 13' ]
	check 'with a line' grep -qx 'sbx-launch: denied socket (system-call filter): no network: allow with --network host' "$TMP/err"
	check 'and an event' grep -q '"op":"connect".*"call":"socket"' "$(runs | tail -n 1)/audit.jsonl"
	none --network host -- python3 sockets.py
	check 'whose remedy cures' [ "$(xargs <"$TMP/out")" = 'AF_UNIX 13' ]
	none -- "$refuse" $NO_INET
	check 'so each row there' told 60 root
fi

# Protocols that rules on endpoints do not know; MPTCP is answered as by a kernel without it.
cat >protocols.py <<'P'
import socket
for t, p in ((1, 262), (1, 132), (2, 136), (2, 17), (1, 6)):
    try: socket.socket(socket.AF_INET, t, p); print(p, "made")
    except OSError as e: print(p, e.errno)
P
if launch --connect example.org:80 -- true && [ "$status" -eq 0 ]; then
	launch --connect example.org:80 -- python3 protocols.py
	check 'protocols beside TCP and UDP are refused' [ "$(xargs <"$TMP/out")" = '262 93 132 93 136 93 17 made 6 made' ]
	check 'aloud' [ "$(grep -c 'denied socket (system-call filter): rules on endpoints cover only TCP and UDP' "$TMP/err")" -eq 1 ]
	check 'but not MPTCP' [ "$(grep -c '"call":"socket"' "$(runs | tail -n 1)/audit.jsonl")" -le 2 ]
fi
exit 0
