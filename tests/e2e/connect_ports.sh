#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Single ports both ways (local, publish), limits of the network, and the proxy upstream.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

POLICY=${SBX%/*}/sbx-policy
doc() # FILE: in the directory of each of $WHO
{
	cat >"$1"
	[ -z "${PLACE:-}" ] || { cp "$1" "$PLACE/ws/$1" && chmod 644 "$PLACE/ws/$1"; }
}
policy() # FILE SETTINGS [CONNECT]
{
	doc "$1" <<Y
schemaVersion: 2
kind: Policy
metadata: {name: ports}
spec:
  sandbox: {$2}
  fsProfiles:
    dev: {read: ["**"]${3:+, connect: [$3]}}
Y
}
said() # PATTERN COMMAND...
{
	local pattern=$1
	shift
	"$@" >"$TMP/said" 2>&1
	grep -qE -- "$pattern" "$TMP/said" || { cat "$TMP/said"; return 1; }
}

# ---- local: a port of the host ----

as_each 'local: a port of the host' 0 '^localhost:8080 /x$' --local 8080 -- curl -sS -m 20 http://localhost:8080/x
as_each 'and no other' 7 'Failed to connect|Couldn.t connect|Connection refused' \
	--local 8080 -- curl -sS -m 20 http://127.0.0.1:80/
policy local.yaml 'local: [8080, 5000-5010]'
as_each 'in a document' 0 '^127.0.0.1:8080 /x$' -p local.yaml -- curl -sS -m 20 http://127.0.0.1:8080/x
as_each 'a denial behind it counts' 7 'Failed to connect|Couldn.t connect|Connection refused' \
	-p local.yaml --deny-connect localhost:8080 -- curl -sS -m 20 http://127.0.0.1:8080/
check 'why knows it' said '^allowed +connect +localhost:5007 +by rule localhost:5000-5010 .local.yaml:5:' \
	"$POLICY" why connect localhost:5007 -p local.yaml
policy bad.yaml 'local: [many]'
check 'a mistake has its place' said 'bad.yaml:5:21: local: expected a port or a range' "$POLICY" check bad.yaml

# ---- publish: a server inside ----

SERVER='
import http.server, os, socket, sys
class H(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/quit": os._exit(0)
        self.send_response(200); self.end_headers(); self.wfile.write(b"inside " + self.path.encode())
    def log_message(self, *a): pass
class S(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6 if ":" in sys.argv[2] else socket.AF_INET
    def server_bind(self):
        socket.getfqdn = lambda *_: "x"
        super().server_bind()
S((sys.argv[2], int(sys.argv[1])), H).serve_forever()'
serve() # WHO ADDRESS OPTIONS...: a server of a run at 8901, in the background: $run
{
	local w=$1 at=$2
	shift 2
	launch_as $w -q "$@" -- timeout 60 python3 -c "$SERVER" 8901 $at &
	run=$!
	for _ in $(seq 200); do
		curl -s -m 5 -o /dev/null http://127.0.0.1:8901/ && return
		sleep 0.1
	done
}
ended() # the server of $run, and so the run
{
	curl -s -m 5 -o /dev/null "http://127.0.0.1:8901/quit"
	wait $run
}
policy publish.yaml 'publish: [8901]'
policy tls.yaml 'publish: [8901]' '{to: "a.example.net:443", http: ["GET /**"]}'
for w in $WHO; do
	serve $w 127.0.0.1 --publish 8901
	check "$w: a server inside is seen outside" said '^inside /x$' curl -sS -m 20 http://127.0.0.1:8901/x
	check "$w: by IPv6 as well" said '^inside /x$' curl -sS -m 20 'http://[::1]:8901/x'
	check "$w: two hundred times, eight at once" said '^200$' sh -c \
		'seq 200 | xargs -P 8 -n 1 sh -c "curl -sS -m 20 http://127.0.0.1:8901/y | grep -qx \"inside /y\" && echo ok" | wc -l'
	check "$w: at no other address of the host" said 'refused|Failed to connect|Couldn.t connect' \
		curl -sS -m 5 http://93.184.216.34:8901/
	ended
	serve $w ::1 -p publish.yaml
	check "$w: one that listens at ::1 alone, in a document" said '^inside /x$' curl -sS -m 20 http://127.0.0.1:8901/x
	ended
	serve $w 127.0.0.1 -p tls.yaml
	check "$w: also where sbx-egress begins before the command (TLS)" said '^inside /x$' curl -sS -m 20 http://127.0.0.1:8901/x
	ended
	check "$w: when the run is over the port is free" said 'refused|Failed to connect|Couldn.t connect' \
		curl -sS -m 5 http://127.0.0.1:8901/
done
as_each 'a port that another has is refused, with a remedy' 125 'publish: port 8080 .*another program has it' \
	--publish 8080 -- true
as_each 'publishing opens nothing' 6 'denied connect a.example.net|Could not resolve' \
	--publish 8901 -- curl -sS -m 20 http://a.example.net/
as_each 'with the network of the host there is nothing to publish' 0 '^ran$' --network host --publish 8901 -- echo ran

# ---- limits ----

A='--connect a.example.net:80'
as_each 'connections are counted' 0 '^2 1$' -q $A --net-connections 2 -- python3 -c '
import socket
ok = bad = 0
for _ in range(3):
    try: socket.create_connection(("a.example.net", 80)); ok += 1
    except PermissionError: bad += 1
print(ok, bad)'
as_each 'the line has the option' 0 'denied connect a.example.net:80 .rule <limit>, .*--net-connections' \
	$A --net-connections 1 -- sh -c 'curl -s -m 20 http://a.example.net/ >&2; curl -s -m 20 http://a.example.net/ >&2; true'
as_each 'bytes are counted' 0 '^over$' -q $A --net-bytes 300K -- sh -c '
	curl -s -m 20 -o /dev/null http://a.example.net/big/200000 || exit 1
	curl -s -m 20 -o got http://a.example.net/big/200000 && exit 1
	[ "$(stat -c %s got)" -lt 120000 ] && curl -s -m 20 http://a.example.net/ || echo over'
as_each 'a rate holds' 0 '^slow$' -q $A --net-rate 200K -- python3 -c '
import time, urllib.request
t = time.time()
n = len(urllib.request.urlopen("http://a.example.net/big/500000", timeout=30).read())
print("slow" if n == 500000 and 1.5 < time.time() - t < 20 else (n, time.time() - t))'
policy limits.yaml 'networkLimits: {connections: 1, bytes: 10M, rate: 5M}' '"a.example.net:80"'
as_each 'in a document' 0 '^56$|^7$' -q -p limits.yaml -- sh -c 'curl -s -m 20 -o /dev/null http://a.example.net/; curl -s -m 20 http://a.example.net/; echo $?'
as_each 'what cannot be counted is refused' 125 'limits of the network: the command uses the host' \
	--network host --net-bytes 1M -- true
as_each 'the proxy refuses, too' 0 'a limit of the run' -q $A --proxy-env --net-connections 1 -- sh -c '
	curl -s -m 20 -o /dev/null http://a.example.net/; curl -s -m 20 http://a.example.net/'

check 'show lists the limits' said '^  at most 10485760 bytes$' "$POLICY" show -p limits.yaml
check 'and a published port' said '^  port 8901 is published' "$POLICY" show -p publish.yaml

# ---- the proxy upstream ----

cat >"$TMP/upstream.py" <<'P'
"""A proxy that knows CONNECT alone; logs what it was asked for, and the login."""
import socket, sys, threading
log = open(sys.argv[1], "a", buffering=1)
def pump(a, b):
    try:
        while True:
            d = a.recv(65536)
            if not d: break
            b.sendall(d)
        b.shutdown(socket.SHUT_WR)
    except OSError: pass
def serve(c):
    head = b""
    while b"\r\n\r\n" not in head:
        d = c.recv(1)
        if not d: return
        head += d
    words = head.split(b"\r\n")[0].split()
    log.write(" ".join(w.decode() for w in words[:2]) + " " + " ".join(
        l.decode() for l in head.split(b"\r\n") if l.lower().startswith(b"proxy-auth")) + "\n")
    host, port = words[1].decode().rsplit(":", 1)
    if port == "81":
        c.sendall(b"HTTP/1.1 403 Forbidden\r\n\r\n"); c.close(); return
    s = socket.create_connection((host.strip("[]"), int(port)))
    c.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    threading.Thread(target=pump, args=(s, c), daemon=True).start()
    pump(c, s)
l = socket.create_server(("10.9.9.9", 3129))
open(sys.argv[1] + "-ready", "w").close()
while True:
    c, _ = l.accept()
    threading.Thread(target=serve, args=(c,), daemon=True).start()
P
python3 "$TMP/upstream.py" "$NAMES/upstream" &
upstream=$!
trap 'kill $connect_server $upstream 2>/dev/null; rm -rf "${PLACE:-/nonexistent}"' EXIT
for _ in $(seq 200); do
	[ -e "$NAMES/upstream-ready" ] && break
	sleep 0.1
done
U='--upstream-proxy http://me:s%40cret@10.9.9.9:3129'
as_each 'upstream: a page by the proxy' 0 '^a.example.net /x$' -q $U $A -- curl -sS -m 20 http://a.example.net/x
check 'which is asked for the address, with the login' grep -qx \
	"CONNECT 93.184.216.34:80 Proxy-Authorization: Basic $(printf 'me:s@cret' | base64)" "$NAMES/upstream"
: >"$NAMES/upstream"
as_each 'a denied name is denied before' 6 'Could not resolve' -q $U $A -- curl -sS -m 20 http://other.example.net/
as_each 'no name leads to the loopback interface' 1 'PermissionError' -q $U --connect loop.example.net:80 -- \
	python3 -c 'import socket; socket.create_connection(("loop.example.net", 80))'
as_each 'one such address refuses all' 1 'PermissionError' -q $U --connect mixed.example.net:80 -- \
	python3 -c 'import socket; socket.create_connection(("mixed.example.net", 80))'
as_each 'nor a name under a wildcard to a private one' 1 'PermissionError' -q $U --connect '*.example.net:80' -- \
	python3 -c 'import socket; socket.create_connection(("priv.example.net", 80))'
check 'and the proxy was asked for nothing' [ ! -s "$NAMES/upstream" ]
as_each 'what the proxy refuses is refused' 0 '^13$' -q $U --connect a.example.net:81 -- python3 -c '
import socket
try: socket.create_connection(("a.example.net", 81))
except OSError as e: print(e.errno)'
as_each 'a port of the host is no affair of the proxy' 0 '^localhost:8080 /x$' -q $U --local 8080 -- \
	curl -sS -m 20 http://localhost:8080/x
policy upstream.yaml 'upstreamProxy: "http://10.9.9.9:3129"' '"a.example.net:80"'
: >"$NAMES/upstream"
as_each 'in a document' 0 '^a.example.net /x$' -q -p upstream.yaml -- curl -sS -m 20 http://a.example.net/x
check 'by the proxy' grep -q '^CONNECT 93.184.216.34:80' "$NAMES/upstream"
check 'of the environment' sh -c 'https_proxy=http://10.9.9.9:3129 "$0" -q --upstream-proxy env \
	--connect a.example.net:80 -- curl -sS -m 20 --noproxy "*" http://a.example.net/x | grep -qx "a.example.net /x"' "$SBX"
as_each 'with the network of the host it is refused' 125 'proxy upstream: the command uses the host' \
	$U --network host -- true
