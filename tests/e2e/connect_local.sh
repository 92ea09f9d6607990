#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Single ports of the host's loopback interface: localhost:PORT in a policy, and proxies of the host.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

check 'outside, the host'"'"'s port answers' sh -c 'curl -sS -m 20 http://127.0.0.1:8080/x | grep -q "127.0.0.1:8080 /x"'
as_each 'a port of the host, by name' 0 '^localhost:8080 /x$' \
	--connect localhost:8080 -- curl -sS -m 20 http://localhost:8080/x
as_each 'by its address' 0 '^127.0.0.1:8080 /x$' \
	--connect 127.0.0.1:8080 -- curl -sS -m 20 http://127.0.0.1:8080/x
as_each 'by a socket of IPv6' 0 '^HTTP/1.1 200' --connect localhost:8080 -- python3 -c '
import socket
s = socket.socket(socket.AF_INET6); s.connect(("::ffff:127.0.0.1", 8080))
s.sendall(b"GET / HTTP/1.0\r\n\r\n"); print(s.recv(99).decode())'
as_each 'another port is the run'"'"'s own' 7 'Failed to connect|Couldn.t connect|Connection refused' \
	--connect localhost:8080 -- curl -sS -m 20 http://127.0.0.1:80/
as_each 'a denial behind it counts' 7 'Failed to connect|Couldn.t connect|Connection refused' \
	--connect localhost:8080 --deny-connect localhost:8080 -- curl -sS -m 20 http://127.0.0.1:8080/
as_each 'without a port the run keeps its own interface' 0 '^inside$' --connect localhost -- python3 -c '
import socket, threading
s = socket.create_server(("127.0.0.1", 8080))
threading.Thread(target=lambda: s.accept()[0].sendall(b"inside")).start()
print(socket.create_connection(("127.0.0.1", 8080)).recv(99).decode())'
as_each 'datagrams stay inside' 0 '^no answer' --connect localhost:7 -- python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1); s.connect(("127.0.0.1", 7))
try: s.send(b"x"); print(s.recv(9))
except OSError: print("no answer")'

doc() # FILE: in the directory of each of $WHO
{
	cat >"$1"
	[ -z "${PLACE:-}" ] || { cp "$1" "$PLACE/ws/$1" && chmod 644 "$PLACE/ws/$1"; }
}

doc by.yaml <<'Y'
schemaVersion: 2
kind: Policy
metadata: {name: by}
spec:
  sandbox: {}
  fsProfiles:
    dev: {read: ["**"], connect: [{to: "localhost:8080", by: [/usr/bin/curl]}]}
Y
as_each 'for one program' 0 '^localhost:8080 /x$' -p by.yaml -- curl -sS -m 20 http://localhost:8080/x
as_each 'and no other' 1 'ConnectionRefusedError' -p by.yaml -- \
	python3 -c 'import socket; socket.create_connection(("127.0.0.1", 8080))'

for w in $WHO; do
	log=$TMP/../log-local-$w
	[ $w = me ] || log=$PLACE/log-local
	rm -f "$log"
	launch_as $w --audit-file "$log" --connect localhost:8080 -- curl -sS -m 20 http://127.0.0.1:8080/
	check "$w: it is an event" grep -q '"op":"connect","path":"127.0.0.1:8080","host":"127.0.0.1","port":8080,.*"allowed":true,"matched_rule":"localhost:8080"' "$log"
done

# ---- a proxy of the host, as other systems name it ----

# the server takes the whole URL for a path, as a proxy does
PROXIED='^a.example.net http://a.example.net/x$'
doc caliban.toml <<'T'
[sandbox]
enabled = true
[sandbox.network]
allow_all_outbound = true
http_proxy_port = 8080
T
doc srt.json <<'J'
{"network": {"allowedDomains": ["a.example.net"], "deniedDomains": [], "httpProxyPort": 8080},
 "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}
J
for d in caliban.toml srt.json; do
	as_each "$d: its proxy is reached" 0 "$PROXIED" -p ./$d -- curl -sS -m 20 -x http://localhost:8080 http://a.example.net/x
	as_each "$d: and nothing else of the host" 7 'Failed to connect|Couldn.t connect|Connection refused' \
		-p ./$d -- curl -sS -m 20 http://127.0.0.1:80/
	as_each "$d: nor a host by itself" '6' 'denied connect a.example.net|Could not resolve' \
		-p ./$d -- curl -sS -m 20 http://a.example.net/x
done
