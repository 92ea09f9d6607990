#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# squid as the proxy upstream: what a real one makes of our CONNECT, what it refuses, and requests that
# are judged on the way to it.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

if ! command -v squid >/dev/null; then
	skip 'squid upstream' 'is not installed'
	exit 0
fi
if [ "$E2E_INNER" != root ]; then # it changes to a user of its own
	skip 'squid upstream' 'needs root to start squid'
	exit 0
fi
mkdir "$TMP/squid"
chmod 777 "$TMP/squid"
for dir in "$TMP" "$(dirname "$TMP")"; do chmod a+x "$dir"; done
cat >"$TMP/squid/conf" <<C
http_port 10.9.9.9:3128
pid_filename none
cache deny all
cache_log /dev/null
access_log stdio:$TMP/squid/log
coredump_dir none
shutdown_lifetime 0
acl shut dst 93.184.216.35
http_access deny shut
http_access allow all
C
squid -N -f "$TMP/squid/conf" >/dev/null 2>&1 &
connect_server="$connect_server $!"
for _ in $(seq 300); do
	curl -sS -m 5 http://10.9.9.9:3128/ >/dev/null 2>&1 && break
	sleep 0.1
done
U='-q --upstream-proxy http://10.9.9.9:3128'
cat >"$TMP/p.yaml" <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev: {read: ["**"], connect: [{to: "a.example.net:80", http: [GET /ok, PUT /ok]}]}
P
[ -z "${PLACE:-}" ] || { cp "$TMP/p.yaml" "$PLACE/p.yaml" && chmod a+r "$PLACE/p.yaml"; }
P="$U -p ${PLACE:-$TMP}/p.yaml"

as_each 'a page' 0 '^a.example.net /x$' $U --connect a.example.net:80 -- curl -sS -m 20 http://a.example.net/x
check 'by CONNECT to the address that was judged' grep -qE 'TCP_TUNNEL/200 .* CONNECT 93\.184\.216\.34:80 ' "$TMP/squid/log"
check 'squid was told no name' sh -c '! grep -q example.net "$1"' - "$TMP/squid/log"
as_each 'a megabyte there and back' 0 '^1048576$' $U --connect a.example.net:80 -- sh -c \
	'head -c 1048576 /dev/zero | curl -sS -m 20 --data-binary @- http://a.example.net/x'
as_each 'and back' 0 '^3000000$' $U --connect a.example.net:80 -- sh -c 'curl -sS -m 20 http://a.example.net/big/3000000 | wc -c'
as_each 'what squid refuses is refused' 56 'Recv failure|reset' $U --connect other.example.net:80 -- \
	curl -sS -m 20 http://other.example.net/x
as_each 'a request that a rule allows' 0 '^a.example.net /ok$' $P -- curl -sS -m 20 http://a.example.net/ok
as_each 'one that none does' 0 '^403$' $P -- curl -sS -m 20 -o /dev/null -w '%{http_code}\n' http://a.example.net/no
as_each 'through the run'\''s own proxy, too' 0 '^a.example.net /ok$' $P --proxy-env -- curl -sS -m 20 http://a.example.net/ok
