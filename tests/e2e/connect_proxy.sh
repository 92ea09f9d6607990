#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The run's own proxy: programs that insist on one, its refusals, and ways past it.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

A='--proxy-env --connect a.example.net:80'
P=127.0.0.1:3128

# ---- programs ----

as_each 'the variables' 0 '^http://127.0.0.1:3128 http://127.0.0.1:3128 socks5h://127.0.0.1:3128 localhost,127.0.0.1,::1$' \
	$A -- sh -c 'echo $HTTP_PROXY $https_proxy $ALL_PROXY $no_proxy'
as_each 'one that --setenv sets stays' 0 '^mine$' $A --setenv HTTP_PROXY=mine -- sh -c 'echo $HTTP_PROXY'
as_each 'without the option there are none' 0 '^none$' --connect a.example.net:80 -- sh -c 'echo ${HTTP_PROXY:-none}'
as_each 'and no proxy' 7 'Failed to connect|Couldn.t connect|Connection refused' --connect a.example.net:80 -- \
	curl -sS -m 20 -x http://$P http://a.example.net/x
as_each 'curl, a URL' 0 '^a.example.net /x$' $A -- curl -sS -m 20 http://a.example.net/x
as_each 'curl, CONNECT' 0 '^a.example.net /x$' $A -- curl -sS -m 20 -p http://a.example.net/x
as_each 'curl, SOCKS by name' 0 '^a.example.net /x$' $A -- curl -sS -m 20 -x socks5h://$P http://a.example.net/x
as_each 'curl, SOCKS by address' 0 '^a.example.net /x$' $A -- curl -sS -m 20 -x socks5://$P http://a.example.net/x
as_each 'two URLs for two hosts' 0 '^b.example.net /y$' $A --connect b.example.net:80 -- \
	curl -sS -m 20 http://a.example.net/x http://b.example.net/y
as_each 'python' 0 '/page$' $A -- python3 -c '
import urllib.request; print(urllib.request.urlopen("http://a.example.net/page", timeout=20).read().decode())'
as_each 'wget' 0 '/page$' $A -- wget -q -T 20 -O - http://a.example.net/page
as_each 'a program that uses none' 0 '^a.example.net /x$' $A -- curl -sS -m 20 --noproxy '*' http://a.example.net/x
as_each 'a body of the request' 0 '^300000$' $A -- sh -c \
	'head -c 300000 /dev/zero | curl -sS -m 20 --data-binary @- http://a.example.net/x'
as_each 'a megabyte' 0 '^1000000$' $A -- sh -c 'curl -sS -m 20 http://a.example.net/big/1000000 | wc -c'
as_each 'bytes that come with CONNECT, and the end of one direction' 0 '^300004$' --proxy-env --connect a.example.net:7 -- python3 -c '
import socket, threading
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT a.example.net:7 HTTP/1.1\r\n\r\nearl")
def send():
    s.sendall(b"x" * 300000); s.shutdown(socket.SHUT_WR)
threading.Thread(target=send).start()
got = b""
while True:
    d = s.recv(65536)
    if not d: break
    got += d
assert got.startswith(b"HTTP/1.1 200 Connection established\r\n\r\nearl"), got[:80]
print(got.decode().splitlines()[-1])'

# ---- refusals ----

DENIED='HTTP/1.1 403 Forbidden.*"error":"denied by the policy","endpoint":"a.example.net:8080","why":"no rule".*"program":"[^"]*curl".*"remedy":"--connect a.example.net:8080"'
for w in $WHO; do
	launch_as $w $A -- curl -sS -m 20 -D - http://a.example.net:8080/
	check "$w: a refusal has rule, program and remedy" sh -c 'tr -d "\r\n" <"$1" | grep -qE "$2"' sh "$TMP/out" "$DENIED"
	check "$w: and a line" grep -q 'denied connect a.example.net:8080 .*allow with --connect a.example.net:8080' "$TMP/err"
done
as_each 'the rule and its place' 0 '"rule":"[^"]*b.example.net","place":"cli:--deny-connect:1"' $A --deny-connect b.example.net -- \
	curl -sS -m 20 http://b.example.net/
as_each 'CONNECT that is denied' 56 '^403$' $A -- curl -sS -w '%{http_connect}\n' -m 20 -p http://a.example.net:8080/
as_each 'SOCKS that is denied' 97 '\(2\)|connect' $A -- curl -sS -m 20 -x socks5h://$P http://a.example.net:8080/
as_each 'nobody listens there' 0 '^502' --proxy-env --connect a.example.net:81 -- \
	curl -sS -m 20 -o /dev/null -w '%{http_code}\n' http://a.example.net:81/
as_each 'a name that leads to the loopback interface' 0 '^403' --proxy-env --connect loop.example.net:80 -- \
	curl -sS -m 20 -o /dev/null -w '%{http_code}\n' http://loop.example.net/
as_each 'no request' 0 '^400' $A -- curl -sS -m 20 -o /dev/null -w '%{http_code}\n' --noproxy '*' http://$P/x
as_each 'a head without an end' 0 '^431' $A -- curl -sS -m 20 -o /dev/null -w '%{http_code}\n' \
	-H "X: $(printf '%09000d' 0)" http://a.example.net/
check 'where there is no rule, strict refuses' sh -c '! "$1" --proxy-env true 2>"$2" && grep -q "proxy-env: without rules on endpoints the run has no proxy" "$2"' \
	sh "$SBX" "$TMP/err"
cat >srt.json <<'J'
{"network": {"allowedDomains": ["a.example.net"], "deniedDomains": []},
 "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []}}
J
[ -z "${PLACE:-}" ] || { cp srt.json "$PLACE/ws/" && chmod 644 "$PLACE/ws/srt.json"; }
for w in $WHO; do
	launch_as $w --proxy-env -p ./srt.json -- curl -sS -m 20 -D - http://b.example.net/
	check "$w: under a document of srt it is srt's" sh -c \
		'tr -d "\r\n" <"$1" | grep -q "403 Forbidden.*X-Proxy-Error: blocked-by-allowlist.*Connection blocked by network allowlist$"' sh "$TMP/out"
done

# ---- programs are known ----

cat >by.yaml <<'Y'
schemaVersion: 2
kind: Policy
metadata: {name: by}
spec:
  sandbox: {}
  fsProfiles:
    dev: {read: ["**"], connect: [{to: "a.example.net:80", by: [/usr/bin/curl]}]}
Y
[ -z "${PLACE:-}" ] || { cp by.yaml "$PLACE/ws/" && chmod 644 "$PLACE/ws/by.yaml"; }
as_each 'a rule for one program' 0 '^a.example.net /x$' --proxy-env -p by.yaml -- curl -sS -m 20 http://a.example.net/x
as_each 'and no other' 0 '^403$' --proxy-env -p by.yaml -- python3 -c '
import urllib.request, urllib.error
try: urllib.request.urlopen("http://a.example.net/x", timeout=20)
except urllib.error.HTTPError as e: print(e.code)'

# ---- ways past it: what each is after is reached outside, by the first line ----

for to in 93.184.216.35:80 127.0.0.1:80 10.9.9.9:80; do
	check "outside, $to answers" curl -sS -m 20 -o /dev/null "http://$to/"
done
attack() # NAME HOST[:PORT]
{
	as_each "$1" 0 '^403$|^400$' --proxy-env --connect a.example.net:80 --connect '*.wild.example.org:80' -- \
		curl -sS -m 20 -o /dev/null -w '%{http_code}\n' --noproxy '' -x http://$P "http://$2/"
}
attack 'an address that no rule opens' 93.184.216.35
attack 'the host'"'"'s loopback interface' 127.0.0.1
attack 'by its name' localhost
attack 'by IPv6' '[::1]'
attack 'mapped' '[::ffff:127.0.0.1]'
attack 'NAT64' '[64:ff9b::7f00:1]'
attack 'the unspecified address' 0.0.0.0
attack 'a private address' 10.9.9.9
attack 'a fake address of no name' 198.18.60.1
attack 'another name' other.example.net
as_each 'a short form of an address' 0 '^HTTP/1.1 40[03]' $A -- python3 -c '
import socket
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"CONNECT 127.1:80 HTTP/1.1\r\n\r\n"); print(s.recv(99).decode())'
as_each 'another Host than the URL'"'"'s' 0 '^a.example.net /x$' $A -- curl -sS -m 20 -H 'Host: other.example.net' http://a.example.net/x
as_each 'a second request on the same connection' 0 '^1 close$' $A --connect b.example.net:80 -- python3 -c '
import socket
s = socket.create_connection(("127.0.0.1", 3128))
s.sendall(b"GET http://a.example.net/x HTTP/1.1\r\n\r\n")
got = b""
while True:
    d = s.recv(999)
    if not d: break
    got += d
print(got.count(b"HTTP/1.1 200"), "close")'
as_each 'more heads that never end than there is room for' 0 '^a.example.net /x a.example.net /x$' $A -- python3 -c '
import socket, subprocess, resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
socks = []
for i in range(1500):
    try:
        s = socket.create_connection(("127.0.0.1", 3128), 5); socks.append(s); s.sendall(b"GET ")
    except OSError: pass
def page(*options):
    return subprocess.run(["curl", "-sS", "-m", "20", *options, "http://a.example.net/x"], capture_output=True, text=True).stdout.strip()
direct = page("--noproxy", "*")
for s in socks: s.close()
print(direct, page())'

# ---- the record ----

for w in $WHO; do
	log=$TMP/../log-proxy-$w
	[ $w = me ] || log=$PLACE/log-proxy
	rm -f "$log"
	launch_as $w --audit-file "$log" $A -- sh -c 'curl -sS -m 20 http://a.example.net/ http://a.example.net:8080/'
	check "$w: what is asked of it is an event" grep -q '"op":"connect","path":"a.example.net:80","host":"a.example.net","port":80,"program":"[^"]*curl","allowed":true,"matched_rule":"a.example.net:80","rule":"cli:--connect:1"' "$log"
	check "$w: and what is denied" grep -q '"kind":"denied".*"path":"a.example.net:8080".*"program":"[^"]*curl","allowed":false' "$log"
	[ $w = me ] && chained= || chained=--unchained
	check "$w: the log is valid" python3 "$(dirname "$0")/validate_log.py" $chained "$log"
done

# ---- many at once ----

burst() # proxy|connect: 400 connections, of which none is reset
{
	launch_as me -qq $A -- python3 -c '
import select, socket, sys
def one():
    s = socket.socket()
    if sys.argv[1] == "proxy":
        s.connect(("127.0.0.1", 3128))
    else:
        s.setblocking(False)
        s.connect_ex(("a.example.net", 80))
    return s
c = [one() for _ in range(400)]
good = 0
for s in c:
    select.select([], [s], [], 20)
    s.setblocking(True); s.settimeout(20)
    s.sendall(b"GET http://a.example.net/x HTTP/1.0\r\nHost: a.example.net\r\n\r\n")
for s in c:
    got = b""
    while x := s.recv(4096): got += x
    good += b" 200 " in got
print(good)' "$1"
	[ "$(cat "$TMP/out")" = 400 ]
}
check '400 connections to the proxy at once' burst proxy
check 'and to the endpoint, without waiting' burst connect

# ---- the last act of a run ----

python3 -c '
import socket, sys
s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); s.bind(("93.184.216.34", 99)); s.listen(64)
while True:
    c = s.accept()[0]; c.settimeout(2)
    try: open(sys.argv[1], "a").write(c.recv(4000).decode().split(" ")[1] + "\n")
    except (OSError, IndexError): pass
    c.close()' "$TMP/reached" &
last_server=$!
all_told() # every path that the server was asked for has its line
{
	for i in $(seq $(rounds 6 20)); do
		: >"$TMP/reached"
		rm -f "$TMP/../last.jsonl"
		"$SBX" -qq --audit-file "$TMP/../last.jsonl" --proxy-env --connect a.example.net:99 -- python3 -c '
import os, socket, time
c = [socket.create_connection(("127.0.0.1", 3128)) for _ in range(3)]
time.sleep(0.1)
for i, s in enumerate(c): s.send(b"GET http://a.example.net:99/%d HTTP/1.1\r\nHost: x\r\n\r\n" % i)
os._exit(0)' </dev/null
		sleep 0.2
		[ "$(wc -l <"$TMP/reached")" -le "$(grep -c '"op":"connect"' "$TMP/../last.jsonl")" ] || return 1
	done
}
check 'what is asked of it as the last act of a run is an event' all_told
kill $last_server
