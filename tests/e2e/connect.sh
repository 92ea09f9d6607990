#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The network by name: real clients, without proxy variables, against servers with invented names.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

A='--connect a.example.net:80'

# ---- names and addresses ----

as_each 'curl by name' 0 '^a.example.net /x$' $A -- curl -sS -m 20 http://a.example.net/x
as_each 'a name with addresses of both kinds' 0 '^b.example.net /y$' \
	--connect b.example.net:80 -- curl -sS -m 20 http://b.example.net/y
as_each 'a name of IPv6 alone' 0 '^six.example.net /z$' \
	--connect six.example.net -- curl -sS -m 20 http://six.example.net/z
as_each 'a wildcard, in capitals' 0 '^W.Wild.Example.ORG /$' \
	--connect '*.wild.example.org:80' -- curl -sS -m 20 http://W.Wild.Example.ORG/
as_each 'a wildcard is one label' 6 'denied connect x.y.wild.example.org .*allow with --connect x.y.wild.example.org' \
	--connect '*.wild.example.org:80' -- curl -sS -m 20 http://x.y.wild.example.org/
as_each 'an address' 0 '^93.184.216.34:8080 /$' \
	--connect 93.184.216.34:8080 -- curl -sS -m 20 http://93.184.216.34:8080/
as_each 'an exact name may lead to a private address' 0 '^priv.example.net /$' \
	--connect priv.example.net:80 -- curl -sS -m 20 http://priv.example.net/
as_each 'no name leads to the loopback interface' 1 'denied connect loop.example.net:80 .*it is 127.0.0.1' \
	--connect loop.example.net:80 -- python3 -c 'import socket; socket.create_connection(("loop.example.net", 80))'
as_each 'one such address refuses all' 1 'PermissionError' \
	--connect mixed.example.net:80 -- python3 -c 'import socket; socket.create_connection(("mixed.example.net", 80))'
as_each 'another port is denied, and the line has rule and option' 7 \
	'denied connect a.example.net:8080 \(rule .*\): allow with --connect a.example.net:8080' \
	$A -- curl -sS -m 20 http://a.example.net:8080/
as_each 'a deny after it wins' 6 'denied connect w.wild.example.org' \
	--connect '**.example.org' --deny-connect '*.wild.example.org' -- curl -sS -m 20 http://w.wild.example.org/
as_each 'an address that no rule opens' 7 'denied connect 93.184.216.34:80 ' \
	$A -- curl -sS -m 20 http://93.184.216.34/
as_each 'another name is not there' 6 'denied connect other.example.net ' \
	$A -- curl -sS -m 20 http://other.example.net/
: >"$NAMES/asked"
as_each 'a name that does not exist is not there' 6 'Could not resolve host' \
	--connect gone.example.net -- curl -sS -m 20 http://gone.example.net/
check 'and was asked for' grep -q '^gone.example.net 1$' "$NAMES/asked"
: >"$NAMES/asked"
as_each 'a name under a wildcard' 0 198.18 --connect '*.tunnel.example.org' -- getent ahosts leak.tunnel.example.org
check 'is not asked for before somebody connects' [ ! -s "$NAMES/asked" ]
as_each 'localhost is the run'"'"'s own' 0 '^(127.0.0.1|::1) ' $A -- getent hosts localhost
as_each 'a server inside is reached' 0 '^inside$' $A -- python3 -c '
import socket, threading
s = socket.create_server(("0.0.0.0", 0))
def serve():
    c, _ = s.accept(); c.sendall(b"inside"); c.close()
threading.Thread(target=serve).start()
print(socket.create_connection(("127.0.0.1", s.getsockname()[1])).recv(99).decode())'
as_each 'the resolver answers TCP, questions with EDNS, and refuses with a reason' 0 '^198.18 3 sandbox policy$' \
	$A -- python3 -c '
import socket, struct
def ask(name, opt=b""):
    q = struct.pack(">6H", 7, 256, 1, 0, 0, 1 if opt else 0)
    q += b"".join(bytes([len(l)]) + l for l in name.encode().split(b".")) + b"\0" + struct.pack(">2H", 1, 1) + opt
    s = socket.create_connection(("192.0.2.53", 53)); s.sendall(struct.pack(">H", len(q)) + q)
    n = struct.unpack(">H", s.recv(2))[0]; r = b""
    while len(r) < n: r += s.recv(n - len(r))
    return r
good, bad = ask("a.example.net"), ask("other.example.net", b"\0" + struct.pack(">HHIH", 41, 1232, 0, 0))
print("%d.%d %d %s" % (good[-4], good[-3], bad[3] & 15, bad[-14:].decode()))'

# ---- clients ----

PAGE='/page$'
as_each 'python by name' 0 "$PAGE" $A -- python3 -c '
import urllib.request; print(urllib.request.urlopen("http://a.example.net/page", timeout=20).read().decode())'
as_each 'wget' 0 "$PAGE" $A -- wget -q -T 20 -O - http://a.example.net/page
if command -v node >/dev/null; then
	as_each 'node fetch' 0 "$PAGE" $A -- node -e '
fetch("http://a.example.net/page").then(r => r.text()).then(t => console.log(t))'
	as_each 'node fetch of what is denied' 0 '^fetch failed$' $A -- node -e '
fetch("http://other.example.net/page").catch(e => console.log(e.message))'
fi
if full && command -v java >/dev/null; then
	cat >"$TMP/Get.java" <<'J'
import java.net.*;
import java.net.http.*;
public class Get {
	public static void main(String[] a) throws Exception {
		URI uri = URI.create("http://a.example.net/page");
		System.out.println(new String(uri.toURL().openStream().readAllBytes()));
		System.out.println(HttpClient.newHttpClient().send(HttpRequest.newBuilder(uri).build(),
			HttpResponse.BodyHandlers.ofString()).body());
	}
}
J
	chmod 644 "$TMP/Get.java"
	[ -z "${PLACE:-}" ] || cp "$TMP/Get.java" "$PLACE/ws/"
	cp "$TMP/Get.java" .
	if command -v javac >/dev/null; then
		as_each 'java, both clients' 0 "$PAGE" $A -- java Get.java
	fi
fi
if command -v musl-gcc >/dev/null; then
	cat >"$TMP/get.c" <<'C'
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int n, char **v)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *a;
	char buf[999] = "";
	int s;

	if (getaddrinfo(v[1], "80", &hints, &a))
		return puts("no name"), 6;
	s = socket(a->ai_family, SOCK_STREAM, 0);
	if (connect(s, a->ai_addr, a->ai_addrlen))
		return perror("connect"), 7;
	write(s, "GET /page HTTP/1.0\r\n\r\n", 22);
	while (read(s, buf + strlen(buf), 99) > 0)
		;
	return puts(buf), n != 2;
}
C
	musl-gcc -static -o "$TMP/get" "$TMP/get.c" 2>/dev/null && chmod 755 "$TMP/get"
	[ -z "${PLACE:-}" ] || cp "$TMP/get" "$PLACE/ws/"
	cp "$TMP/get" .
	as_each 'musl, static' 0 "/page" $A -- ./get a.example.net
	as_each 'musl, of what is denied' 6 'no name' $A -- ./get other.example.net
fi
as_each 'bash /dev/tcp' 0 '^HTTP/1' $A -- bash -c '
exec 3<>/dev/tcp/a.example.net/80; printf "GET /page HTTP/1.0\r\n\r\n" >&3; cat <&3'
as_each 'half-closed: the answer comes after the end of the question' 0 '^300000$' \
	--connect a.example.net:7 -- python3 -c '
import socket, threading
s = socket.create_connection(("a.example.net", 7))
def send():
    s.sendall(b"x" * 300000); s.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got = b""
while True:
    d = s.recv(65536)
    if not d: break
    got += d
print(got.decode().splitlines()[-1])'
as_each 'a megabyte by a socket that does not wait' 0 '^1000000$' $A -- python3 -c '
import asyncio
async def main():
    r, w = await asyncio.open_connection("a.example.net", 80)
    w.write(b"GET /big/1000000 HTTP/1.0\r\n\r\n")
    print(len((await r.read()).split(b"\r\n\r\n", 1)[1]))
asyncio.run(main())'
as_each 'nobody listens there: a caller that waits is told' 0 '^Errno 111$' --connect a.example.net:81 -- python3 -c '
import socket
s = socket.socket()
try: s.connect((socket.gethostbyname("a.example.net"), 81))
except OSError as e: print("Errno", e.errno)'

# ---- git ----

git init -q --bare "$TMP/repo.git"
git init -q "$TMP/src"
(cd "$TMP/src" && git -c user.name=x -c user.email=x@example.net commit -q --allow-empty -m first &&
	git push -q "$TMP/repo.git" HEAD:refs/heads/main && cd "$TMP/repo.git" && git symbolic-ref HEAD refs/heads/main &&
	git update-server-info)
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=b.example.net \
	-addext subjectAltName=DNS:b.example.net -keyout "$TMP/key" -out "$TMP/cert" 2>/dev/null
cat >"$TMP/https.py" <<'P'
import functools, http.server, socket, ssl, sys
socket.getfqdn = lambda *_: "names"
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("93.184.216.34", 8443), functools.partial(Quiet, directory=sys.argv[1]))
c = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
c.load_cert_chain(sys.argv[1] + "/cert", sys.argv[1] + "/key")
s.socket = c.wrap_socket(s.socket, server_side=True)
open(sys.argv[1] + "/https-ready", "w").close()
s.serve_forever()
P
python3 "$TMP/https.py" "$TMP" &
https=$!
python3 -c '
import socket
s = socket.create_server(("93.184.216.34", 2222))
while True:
    c, _ = s.accept(); c.sendall(b"SSH-2.0-names\r\n"); c.recv(99); c.close()' &
sshd=$!
trap 'kill $connect_server $https $sshd 2>/dev/null; rm -rf "${PLACE:-/nonexistent}"' EXIT
for _ in $(seq 600); do
	[ -e "$TMP/https-ready" ] && break
	sleep 0.1
done
cp "$TMP/cert" .
[ -z "${PLACE:-}" ] || { cp "$TMP/cert" "$PLACE/ws/cert"; chmod 644 "$PLACE/ws/cert"; }
as_each 'git over https' 0 'refs/heads/main' --connect b.example.net:8443 -- \
	git -c http.sslCAInfo=cert ls-remote https://b.example.net:8443/repo.git
as_each 'ssh reaches its server' 255 'remote software version names|Connection (closed|reset) by 198.18|Connection (closed|reset) by 127' \
	--connect b.example.net:2222 -- ssh -v -F none -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
	-o ConnectTimeout=20 -p 2222 git@b.example.net true

# ---- the record ----

for w in $WHO; do
	log=$TMP/../log-$w
	[ $w = me ] || log=$PLACE/log
	rm -f "$log"
	launch_as $w --audit-file "$log" $A -- sh -c 'curl -sS -m 20 http://a.example.net/ http://a.example.net:8080/ http://other.example.net/'
	check "$w: a connection is an event" grep -q '"op":"connect","path":"a.example.net:80","host":"a.example.net","port":80,"program":"[^"]*curl","allowed":true,"matched_rule":"a.example.net:80","rule":"cli:--connect:1"' "$log"
	check "$w: and a denied one" grep -q '"kind":"denied".*"path":"a.example.net:8080","host":"a.example.net","port":8080,.*"allowed":false' "$log"
	check "$w: and a name that is denied" grep -q '"kind":"denied".*"path":"other.example.net","host":"other.example.net","allowed":false' "$log"
	[ $w = me ] && chained= || chained=--unchained # by the key of that user
	check "$w: the log is valid" python3 "$(dirname "$0")/validate_log.py" $chained "$log"
done

learned() # PATTERN
{
	"${SBX%/*}/sbx-audit" learn >"$TMP/learned"
	grep -qE -- "$1" "$TMP/learned" || { cat "$TMP/learned"; return 1; }
}
"$SBX" -q $A -- curl -sS -m 20 -o /dev/null http://a.example.net/
check 'learn lists what was connected to' learned '^        - "a.example.net:80" # 1$'

# ---- runs inside runs, and hosts without namespaces ----

INNER='curl -sS -m 20 http://a.example.net/; curl -sS -m 20 http://b.example.net/; curl -sS -m 20 http://w.wild.example.org/; true'
for w in $WHO; do
	launch_as $w -q $A --connect b.example.net:80 -- "$SBX" -q $A --connect w.wild.example.org -- sh -c "$INNER"
	check "$w: a run inside reaches what both open" [ "$(cat "$TMP/out")" = 'a.example.net /' ]
	launch_as $w -q $A -- "$SBX" -q -- sh -c "$INNER"
	check "$w: and nothing that it does not open" [ ! -s "$TMP/out" ]
	launch_as $w -q -- "$SBX" -q $A -- sh -c "$INNER"
	check "$w: nor what the outer run does not" [ ! -s "$TMP/out" ]
done
if unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_net_namespaces' 2>/dev/null; then
	lacking() # ARGS...: where nobody makes a network namespace
	{
		unshare -U -r sh -c 'echo 0 >/proc/sys/user/max_net_namespaces; exec "$@"' sh "$SBX" "$@" >"$TMP/out" 2>&1
	}
	lacking $A -- echo ran
	check 'without a network namespace strict refuses, with a remedy' grep -q 'E_FLOOR: rules on endpoints: no network namespace: .* or use --best-effort' "$TMP/out"
	lacking -q --best-effort $A -- sh -c 'echo ran; curl -sS -m 5 http://93.184.216.34/ && echo OPEN'
	check 'best effort runs without a network' sh -c 'grep -q ran "$1" && ! grep -q OPEN "$1"' sh "$TMP/out"
fi

# ---- callers that do not wait until the other end is there ----

# its queue is full: who connects waits
python3 -c '
import socket, sys, time
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("93.184.216.34", 98)); s.listen(0)
c = [socket.socket() for _ in range(3)]
for x in c: x.setblocking(False); x.connect_ex(("93.184.216.34", 98))
open(sys.argv[1], "w").close()
time.sleep(120)' "$TMP/../full" &
full_server=$!
for _ in $(seq 100); do
	[ -e "$TMP/../full" ] && break
	sleep 0.1
done
interrupted() # HOST HOW: the line of a connect that is interrupted
{
	rm -f "$TMP/../full.jsonl"
	"$SBX" -qq --audit-file "$TMP/../full.jsonl" --connect '*.wild.example.org:98' --connect 93.184.216.34:98 -- python3 -c '
import os, signal, socket, sys
def over(*_): raise TimeoutError
signal.signal(signal.SIGALRM, over)
pid = os.fork()
if pid == 0:
    signal.alarm(1)
    try: socket.create_connection((sys.argv[1], 98))
    except TimeoutError: os._exit(0)
if sys.argv[2] == "killed":
    import time; time.sleep(0.5); os.kill(pid, signal.SIGKILL)
os.waitpid(pid, 0)' "$1" "$2" </dev/null
	grep -q "\"op\":\"connect\",\"path\":\"$1:98\"" "$TMP/../full.jsonl"
}
for how in interrupted killed; do
	check "a connect whose caller is $how has its line" interrupted 93.184.216.34 $how
	check "and one by a name under a wildcard" interrupted w.wild.example.org $how
done
kill $full_server
rm -f "$TMP/../full"
