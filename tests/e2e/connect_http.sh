#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Requests that are judged: `http` of an endpoint and `protocol: rest` of OpenShell, with real
# programs, their refusals, their lines, and ways past the rules.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

D=${PLACE:-$TMP}/policies
mkdir -p "$D"
cat >"$D/p.yaml" <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev:
      read: ["**"]
      modify: ["**"]
      connect:
        - to: a.example.net:80
          http:
            - GET /ok/**
            - POST /ok/*
            - "!* /ok/no/**"
            - {to: "GET /find", query: {tag: "v*"}}
        - b.example.net:80
P
cat >"$D/o.yaml" <<'P'
version: 1
network_policies:
  api:
    endpoints:
      - {host: a.example.net, port: 80, protocol: rest, enforcement: enforce, access: read-only}
      - {host: b.example.net, port: 80, protocol: rest, access: read-only}
    binaries: [{path: /**}]
P
chmod -R a+rX "$D"
P="--policy $D/p.yaml --profile dev"
O="--policy $D/o.yaml --best-effort"
code='-o /dev/null -w %{http_code}\n'

# ---- what passes ----

as_each 'a request that a rule allows' 0 '^a.example.net /ok/x$' $P -- curl -sS -m 20 http://a.example.net/ok/x
as_each 'in its one spelling' 0 '^a.example.net /ok/x\?q=1$' $P -- \
	curl -sS -m 20 --path-as-is 'http://a.example.net/no/../ok//%78;y?q=1'
as_each 'a body' 0 '^300000$' $P -- sh -c \
	'head -c 300000 /dev/zero | curl -sS -m 20 --data-binary @- http://a.example.net/ok/x'
as_each 'a body that is asked for first' 0 '^300000$' $P -- sh -c \
	'head -c 300000 /dev/zero | curl -sS -m 20 -H "Expect: 100-continue" --data-binary @- http://a.example.net/ok/x'
as_each 'two on one connection' 0 '^a.example.net /ok/2$' $P -- \
	curl -sS -m 20 http://a.example.net/ok/1 http://a.example.net/ok/2
as_each 'a query that a rule names' 0 '^a.example.net /find\?tag=v1$' $P -- curl -sS -m 20 'http://a.example.net/find?tag=v1'
as_each 'python' 0 '/ok/page$' $P -- python3 -c '
import urllib.request; print(urllib.request.urlopen("http://a.example.net/ok/page", timeout=20).read().decode())'
as_each 'by the proxy' 0 '^a.example.net /ok/x$' $P --proxy-env -- curl -sS -m 20 http://a.example.net/ok/x
as_each 'by the proxy, CONNECT' 0 '^a.example.net /ok/x$' $P --proxy-env -- curl -sS -m 20 -p http://a.example.net/ok/x
as_each 'an endpoint without such rules' 0 '^b.example.net /any$' $P -- curl -sS -m 20 http://b.example.net/any

# ---- what does not ----

as_each 'another path' 0 '^403$' $P -- curl -sS -m 20 $code http://a.example.net/other
as_each 'another method' 0 '^403$' $P -- curl -sS -m 20 $code -X DELETE http://a.example.net/ok/x
as_each 'what a later rule denies' 0 '^403$' $P -- curl -sS -m 20 $code http://a.example.net/ok/no/x
as_each 'another query' 0 '^403$' $P -- curl -sS -m 20 $code 'http://a.example.net/find?tag=v1&tag=x'
as_each 'another host on the connection' 0 '^421$' $P -- curl -sS -m 20 $code -H 'Host: b.example.net' http://a.example.net/ok/x
as_each 'dots behind an escaped slash' 0 '^400$' $P -- curl -sS -m 20 $code --path-as-is http://a.example.net/ok/..%2fno/x
as_each 'by the proxy, too' 0 '^403$' $P --proxy-env -- curl -sS -m 20 $code -p http://a.example.net/other
as_each 'in a run inside, whose own rules open all' 0 '^403$' $P -- "$SBX" --connect a.example.net:80 -- \
	curl -sS -m 20 $code http://a.example.net/other
as_each 'and there what both allow' 0 '^a.example.net /ok/x$' $P -- "$SBX" --connect a.example.net:80 -- \
	curl -sS -m 20 http://a.example.net/ok/x
raw='import socket, sys
s = socket.create_connection(("a.example.net", 80), 20)
s.sendall(sys.argv[1].encode().decode("unicode_escape").encode("latin-1"))
got = b""
while True:
    d = s.recv(65536)
    if not d: break
    got += d
print(got.decode("latin-1"))'
A='Host: a.example.net\r\n'
as_each 'the second of two that come at once' 0 '^HTTP/1.1 403' $P -- \
	python3 -c "$raw" "GET /ok/1 HTTP/1.1\r\n$A\r\nGET /other HTTP/1.1\r\n$A\r\n"
as_each 'a length beside chunks' 0 '^HTTP/1.1 400' $P -- python3 -c "$raw" \
	"POST /ok/x HTTP/1.1\r\n${A}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /other HTTP/1.1\r\n$A\r\n"
as_each 'what is no request' 0 '^HTTP/1.1 400' $P -- python3 -c "$raw" 'SSH-2.0-x\r\n\r\n'
as_each 'CONNECT inside' 0 '^HTTP/1.1 501' $P -- python3 -c "$raw" "CONNECT b.example.net:80 HTTP/1.1\r\n$A\r\n"

# ---- what is said of it ----

for w in $WHO; do
	launch_as $w $P -- python3 -c "$raw" "GET /ok/1 HTTP/1.1\r\n$A\r\nGET /other HTTP/1.1\r\n$A\r\n"
	check "$w: the first is answered, the second is not" sh -c 'grep -q "^a.example.net /ok/1" "$1" && ! grep -q "^a.example.net /other" "$1"' \
		sh "$TMP/out"
	launch_as $w $P -- curl -sS -m 20 -D - http://a.example.net/ok/no/x
	check "$w: the answer names rule and place" sh -c 'tr -d "\r\n" <"$1" |
		grep -qE "X-Sbx-Denied: policy.*\"request\":\"GET /ok/no/x\".*\"rule\":\"\* /ok/no/\*\*\",\"place\":\"[^\"]*p.yaml:14:15\""' sh "$TMP/out"
	check "$w: and a line" grep -qE 'denied connect a.example.net:80 \(rule \* /ok/no/\*\*, [^ ]*p.yaml:14:15\): GET /ok/no/x' "$TMP/err"
	log=$TMP/../log-http-$w
	[ $w = me ] || log=$PLACE/log-http
	rm -f "$log"
	launch_as $w --audit-file "$log" $P -- sh -c 'curl -sS -m 20 http://a.example.net/ok/x http://a.example.net/other'
	check "$w: what is asked is an event" grep -q '"op":"connect","path":"a.example.net:80","host":"a.example.net","port":80,"request":"GET /ok/x","allowed":true,"matched_rule":"GET /ok/\*\*","rule":"[^"]*p.yaml:12:15"' "$log"
	check "$w: and what no rule allows" grep -q '"kind":"denied".*"path":"a.example.net:80".*"request":"GET /other","allowed":false,"matched_rule":"a.example.net:80","rule":"[^"]*p.yaml:10:15"' "$log"
	[ $w = me ] && chained= || chained=--unchained
	check "$w: the log is valid" python3 "$(dirname "$0")/validate_log.py" $chained "$log"
done

# ---- OpenShell ----

as_each 'OpenShell: what its preset allows' 0 '^a.example.net /x$' $O -- curl -sS -m 20 http://a.example.net/x
as_each 'OpenShell: what it does not' 0 '"error":"policy_denied","policy":"api","rule":"POST /x","detail":"POST /x not permitted by policy"' \
	$O -- curl -sS -m 20 -d x http://a.example.net/x
as_each 'OpenShell: its header' 0 '^X-OpenShell-Policy: api' $O -- curl -sS -m 20 -D - -d x http://a.example.net/x
as_each 'OpenShell: without enforcement it passes' 0 '^1$' $O -- curl -sS -m 20 -d x http://b.example.net/x
as_each 'OpenShell: which is said' 0 'are recorded, but pass' $O -- true
