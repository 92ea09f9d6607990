#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Requests that are judged inside of TLS: what passes and what does not, what is said of names,
# servers that cannot be had, and the files by which clients know the run's authority.
CONNECT_TLS=1
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
        - to: s.example.net:443
          http: [GET /ok/**, POST /ok/*, "!* /ok/no/**"]
        - {to: "93.184.216.40:443", http: [full]}
        - {to: self.example.net:443, http: [full]}
        - {to: mutual.example.net:443, http: [full]}
        - {to: wrong.example.net:443, http: [full]}
        - {to: cut.example.net:443, http: [full]}
        - {to: a.example.net:8080, http: [full]}
        - t.example.net:443
P
cat >"$D/o.yaml" <<'P'
version: 1
network_policies:
  api:
    endpoints:
      - {host: s.example.net, port: 443, protocol: rest, tls: terminate, enforcement: enforce, access: read-only}
      - {host: t.example.net, port: 443, protocol: rest, access: read-only}
    binaries: [{path: /**}]
P
sed 's/tls: terminate/tls: skip/' "$D/o.yaml" >"$D/skip.yaml"
sed 's/^spec:/&\n  sandbox: {scratch: false}/' "$D/p.yaml" >"$D/bare.yaml"
sed '/443/d; /s.example.net/d; /GET/d; s/a.example.net:8080/a.example.net:80/' "$D/p.yaml" >"$D/80.yaml"
cp "$NAMES/ca.pem" "$D/ca.pem"
chmod -R a+rX "$D"
P="--policy $D/p.yaml --profile dev"
O="--policy $D/o.yaml --best-effort"
code='-o /dev/null -w %{http_code}\n'
# what the servers are trusted by, as a user of a private authority has it
export SSL_CERT_FILE=$D/ca.pem

# ---- requests ----

as_each 'a request that a rule allows' 0 '^s.example.net /ok/x$' $P -- curl -sS -m 20 https://s.example.net/ok/x
as_each 'in its one spelling' 0 '^s.example.net /ok/x\?q=1$' $P -- \
	curl -sS -m 20 --path-as-is 'https://s.example.net/no/../ok//%78;y?q=1'
as_each 'a body' 0 '^3000000$' $P -- sh -c \
	'head -c 3000000 /dev/zero | curl -sS -m 20 --data-binary @- https://s.example.net/ok/x'
as_each 'a large answer' 0 '^3000000$' $P -- sh -c 'curl -sS -m 20 https://93.184.216.40/big/3000000 | wc -c'
as_each 'two on one connection' 0 '^s.example.net /ok/2$' $P -- \
	curl -sS -m 20 https://s.example.net/ok/1 https://s.example.net/ok/2
as_each 'by the proxy' 0 '^s.example.net /ok/x$' $P --proxy-env -- curl -sS -m 20 https://s.example.net/ok/x
as_each 'a server that is an address' 0 '^93.184.216.40 /y$' $P -- curl -sS -m 20 https://93.184.216.40/y
as_each 'what no rule allows' 0 '^403$' $P -- curl -sS -m 20 $code https://s.example.net/other
as_each 'what a later rule denies' 0 '^403$' $P -- curl -sS -m 20 $code https://s.example.net/ok/no/x
as_each 'by the proxy, too' 0 '^403$' $P --proxy-env -- curl -sS -m 20 $code https://s.example.net/other
as_each 'another host on the connection' 0 '^421$' $P -- curl -sS -m 20 $code -H 'Host: t.example.net' https://s.example.net/ok/x
as_each 'HTTP/1.1 is what is offered' 0 '^1.1$' $P -- curl -sS -m 20 --http2 -o /dev/null -w '%{http_version}\n' https://s.example.net/ok/x
as_each 'without encryption as ever' 0 '^a.example.net:8080 /z$' $P -- curl -sS -m 20 http://a.example.net:8080/z
as_each 'a run inside' 0 '^s.example.net /ok/x$' $P -- "$SBX" --connect s.example.net:443 -- curl -sS -m 20 https://s.example.net/ok/x
as_each 'and there what is denied' 0 '^403$' $P -- "$SBX" --connect s.example.net:443 -- curl -sS -m 20 $code https://s.example.net/other

# ---- what lasts ----

as_each 'a WebSocket' 0 '^1000000 and the end$' $P -- python3 -c '
import os, socket, ssl, threading
s = ssl.create_default_context().wrap_socket(socket.create_connection(("s.example.net", 443), 20), server_hostname="s.example.net")
s.sendall(b"GET /ok/ws HTTP/1.1\r\nHost: s.example.net\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
          b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
head = b""
while not head.endswith(b"\r\n\r\n"): head += s.recv(1)
assert b" 101 " in head
data, got = os.urandom(1000000), b""
while len(got) < len(data):
    s.sendall(data[len(got):len(got) + 10000])
    want = min(len(data), len(got) + 10000)
    while len(got) < want: got += s.recv(65536)
assert got == data
print(len(got), "and the end" if s.unwrap() else "")'
as_each 'events come when they are sent' 0 '^data: 1 data: 2$' $P -- python3 -c '
import urllib.request
u = "https://s.example.net/ok/"
r = urllib.request.urlopen(u + "events", timeout=20)
first = r.readline().decode().strip(); r.readline()
urllib.request.urlopen(u + "next", timeout=20).read()
print(first, r.readline().decode().strip())'

# ---- names ----

hello='openssl s_client -verify_return_error -brief -connect s.example.net:443'
as_each 'a hello for another name' 1 'unrecognized name' $P -- sh -c "$hello -servername t.example.net </dev/null"
as_each 'which is said' 1 'denied connect s.example.net:443 .*the TLS hello is for another host than the connection' \
	$P -- sh -c "$hello -servername t.example.net </dev/null"
as_each 'a hello without a name' 0 'Verification: OK' $P -- sh -c "$hello -noservername </dev/null"
as_each 'by the proxy, CONNECT for another' 1 'unrecognized name' $P --proxy-env -- sh -c \
	"$hello -proxy 127.0.0.1:3128 -servername t.example.net </dev/null"
as_each 'a client of HTTP/2 alone' 1 'denied connect s.example.net:443 .*does not offer HTTP/1.1' \
	$P -- sh -c "$hello -alpn h2 </dev/null"
as_each 'TLS 1.1' 1 'no TLS with the client' $P -- sh -c "$hello -tls1_1 -cipher DEFAULT@SECLEVEL=0 </dev/null"
as_each 'what no rule looks into stays as it is' 0 'issuer=CN = ca$' $P -- sh -c \
	'openssl s_client -connect t.example.net:443 -servername t.example.net </dev/null'
as_each 'and is trusted as before' 0 '^t.example.net /any$' $P -- curl -sS -m 20 --http1.1 https://t.example.net/any

# ---- servers and clients that do not agree to it ----

as_each 'a server whose authority nobody knows' 0 "^ 502" \
	$P -- curl -sS -m 20 -w ' %{http_code}' https://self.example.net/
as_each 'which is said' 0 'denied connect self.example.net:443 .*the server.s certificate cannot be verified' $P -- curl -sS -m 20 https://self.example.net/
as_each 'a certificate of another name' 0 'certificate cannot be verified: (hostname|Hostname) mismatch' $P -- curl -sS -m 20 https://wrong.example.net/
as_each 'a server that asks who we are' 0 'asks for a client certificate \(mutual TLS\)' $P -- curl -sS -m 20 https://mutual.example.net/
as_each 'a client that trusts another authority' 60 'denied connect s.example.net:443 .*does not trust the run.s certificate .*expects a fixed' \
	$P -- curl -sS -m 20 --cacert "$D/ca.pem" https://s.example.net/ok/x
as_each 'an answer that breaks off' 56 'a part' $P -- curl -sS -m 20 https://cut.example.net/

# ---- files and variables ----

as_each 'one authority more than before' 0 '^2 2 1$' $P -- sh -c \
	'echo $(grep -c BEGIN "$SSL_CERT_FILE") $(grep -c BEGIN "$CURL_CA_BUNDLE") $(grep -c BEGIN "$NODE_EXTRA_CA_CERTS")'
as_each 'no key' 0 '^none of 3$' $P -- sh -c 'cd "${SSL_CERT_FILE%/*}" && ! grep -aq PRIVATE * && echo "none of $(ls | wc -l)"'
as_each 'what --setenv says stays' 0 '^/x$' $P --setenv CURL_CA_BUNDLE=/x -- sh -c 'echo "$CURL_CA_BUNDLE"'
as_each 'a strict reader' 0 '^200$' $P -- python3 -c '
import ssl, urllib.request
c = ssl.create_default_context()
c.verify_flags |= ssl.VERIFY_X509_STRICT
print(urllib.request.urlopen("https://s.example.net/ok/x", timeout=20, context=c).status)'
as_each 'without such rules nothing is set' 0 "^$D/ca.pem $" --connect s.example.net:443 -- sh -c 'echo "$SSL_CERT_FILE $CURL_CA_BUNDLE"'
as_each 'nor for port 80' 0 "^$D/ca.pem $" --policy "$D/80.yaml" --profile dev -- sh -c 'echo "$SSL_CERT_FILE $CURL_CA_BUNDLE"'
as_each 'without a place for them it is refused' 125 'the run has no directory for its certificates' --policy "$D/bare.yaml" --profile dev -- true

# ---- what is recorded ----

for w in $WHO; do
	log=$TMP/../log-tls-$w
	[ $w = me ] || log=$PLACE/log-tls
	rm -f "$log"
	launch_as $w --audit-file "$log" $P -- sh -c 'curl -sS -m 20 https://s.example.net/ok/x https://s.example.net/other'
	check "$w: what is asked is an event" grep -q '"path":"s.example.net:443","host":"s.example.net","port":443,"request":"GET /ok/x","allowed":true' "$log"
	check "$w: and what no rule allows" grep -q '"kind":"denied".*"request":"GET /other","allowed":false' "$log"
	[ $w = me ] && chained= || chained=--unchained
	check "$w: the log is valid" python3 "$(dirname "$0")/validate_log.py" $chained "$log"
done

# ---- OpenShell ----

as_each 'OpenShell: what its preset allows' 0 '^s.example.net /x$' $O -- curl -sS -m 20 https://s.example.net/x
as_each 'OpenShell: what it does not' 0 '"error":"policy_denied","policy":"api","rule":"POST /x","detail":"POST /x not permitted by policy"' \
	$O -- curl -sS -m 20 -d x https://s.example.net/x
as_each 'OpenShell: its header' 0 '^X-OpenShell-Policy: api' $O -- curl -sS -m 20 -D - -d x https://s.example.net/x
as_each 'OpenShell: without enforcement it passes' 0 '^1$' $O -- curl -sS -m 20 -d x https://t.example.net/x
as_each 'OpenShell: an old word is one' 0 'tls: terminate is deprecated' $O -- true
as_each 'OpenShell: what stays encrypted is not judged' 125 '`tls: skip` leaves encrypted' --policy "$D/skip.yaml" -- true
