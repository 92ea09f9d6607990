#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Requests that are judged inside of TLS, against TLS straight to the server, mitmproxy and squid that look into it
# likewise: medians (least..most) of ROUNDS rounds that alternate, in a network namespace of its own; the memory of a
# stream; one request's judgement. A peer that is not there is named. Needs root, and an idle machine.
#
#	B=build tests/bench/inspect.sh [ROUNDS [SCALE]]		SCALE 1 = whole, 100 = a hundredth, to try it
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "${B:-build}" && pwd)
if [ -z "${INSPECT_BENCH:-}" ]; then
	INSPECT_BENCH=1 B=$B exec unshare -n bash "$here/inspect.sh" "$@"
fi
rounds=${1:-9} scale=${2:-1}
HOST=93.184.216.34
tmp=$(mktemp -d /tmp/sbx-inspect.XXXXXX)
started=
trap 'kill $started 2>/dev/null; rm -rf "$tmp"' EXIT
load=$tmp/tlsload
${CC:-cc} -O2 -o "$load" "$here/../probe/tlsload.c" -lssl -lcrypto -lpthread || exit 1
ip link set lo up
ip addr add $HOST/32 dev lo
ulimit -n "$(ulimit -Hn)"
mkdir "$tmp/ws"
cd "$tmp/ws" || exit 1

ec() { openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "$@" 2>/dev/null; }
ec -x509 -days 2 -subj /CN=ca -keyout "$tmp/ca.key" -out "$tmp/ca.pem"
ec -subj /CN=server -keyout "$tmp/s.key" -out "$tmp/s.csr"
printf 'subjectAltName=IP:%s\nbasicConstraints=critical,CA:FALSE\n' $HOST >"$tmp/ext"
openssl x509 -req -days 2 -in "$tmp/s.csr" -CA "$tmp/ca.pem" -CAkey "$tmp/ca.key" -CAcreateserial -extfile "$tmp/ext" \
	-out "$tmp/s.pem" 2>/dev/null
export SSL_CERT_FILE=$tmp/ca.pem
"$load" serve $HOST 443 "$tmp/s.pem" "$tmp/s.key" >"$tmp/server" &
started=$!
for _ in $(seq 100); do grep -q ready "$tmp/server" && break; sleep 0.1; done

cat >p.yaml <<P
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev: {read: ["**"], connect: [{to: "$HOST:443", http: [GET /*]}]}
P
inside() { "$B/sbx-launch" -qq --audit-level none -p p.yaml --read "$load" -- "$@"; }

# ---- peers: a port of 127.0.0.1, and the authority that it signs by ----

listens() # PORT: within 30 s
{
	for _ in $(seq 300); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return
		sleep 0.1
	done
	return 1
}
peers=
if command -v mitmdump >/dev/null; then
	mitmdump -q --listen-host 127.0.0.1 --listen-port 8081 --set confdir="$tmp/mitm" \
		--set ssl_verify_upstream_trusted_ca="$tmp/ca.pem" >"$tmp/mitm.log" 2>&1 &
	started="$started $!"
	listens 8081 && peers="$peers mitmproxy" || echo 'mitmproxy: does not start'
else
	echo 'mitmproxy: is not there (package mitmproxy)'
fi
if squid -v 2>/dev/null | grep -q with-openssl; then
	helper=$(find /usr/lib/squid -name security_file_certgen | head -1)
	"$helper" -c -s "$tmp/squid-db" -M 4MB >/dev/null
	cat "$tmp/ca.pem" "$tmp/ca.key" >"$tmp/both.pem"
	chmod -R a+rwX "$tmp"
	cat >"$tmp/squid.conf" <<S
http_port 127.0.0.1:8082 ssl-bump generate-host-certificates=on tls-cert=$tmp/both.pem
sslcrtd_program $helper -s $tmp/squid-db -M 4MB
tls_outgoing_options cafile=$tmp/ca.pem
ssl_bump bump all
http_access allow all
cache deny all
access_log none
cache_log $tmp/squid.log
pid_filename none
S
	squid -N -f "$tmp/squid.conf" >/dev/null 2>&1 &
	started="$started $!"
	listens 8082 && peers="$peers squid" || echo 'squid: does not start'
else
	echo 'squid: is not there, or looks into no TLS (package squid-openssl, in the place of squid)'
fi

by() # WHO WHAT N, a number on its output
{
	case $1 in
	direct) "$load" "$2" $HOST 443 "$3" ;;
	inspected) inside "$load" "$2" $HOST 443 "$3" ;;
	mitmproxy) SSL_CERT_FILE=$tmp/mitm/mitmproxy-ca-cert.pem "$load" "$2" $HOST 443 "$3" 8081 ;;
	squid) "$load" "$2" $HOST 443 "$3" 8082 ;;
	esac
}
median() { sort -n "$1" | awk '{ v[NR] = $1 } END { if (NR) print v[int((NR + 1) / 2)], v[1], v[NR]; else print "failed 0 0" }'; }
few() { echo $((($1 + scale - 1) / scale)); }
compare() # TITLE UNIT GOAL WHAT N SLOW-N
{
	for who in direct inspected $peers; do : >"$tmp/$who.n"; done
	for _ in $(seq "$rounds"); do
		for who in direct inspected $peers; do
			case $who in mitmproxy | squid) n=$6 ;; *) n=$5 ;; esac
			by "$who" "$4" "$(few "$n")" >>"$tmp/$who.n" || echo "$1: $who failed" >&2
		done
	done
	read -r bare _ _ <<<"$(median "$tmp/direct.n")"
	for who in direct inspected $peers; do
		median "$tmp/$who.n" | awk -v title="$1" -v who="$who" -v unit="$2" -v goal="$3" -v bare="$bare" '
			{ ratio = unit == "MB/s" ? $1 / bare : $1 ? bare / $1 : 0
			  printf "%s: %s %s %s (%s..%s), %.2f of direct%s\n", title, who, $1, unit, $2, $3, ratio,
				 who == "inspected" ? ", goal " goal : "" }'
	done
}
compare 'new connections' us 0.4 new 2000 200
compare requests us 0.3 request 20000 1000
compare bulk MB/s 0.5 bulk 512 32

# ---- memory: of sbx-egress, without streams and with N ----

rss() # of the run's sbx-egress, KiB
{
	for p in /proc/[0-9]*; do
		[ "$(cat "$p/comm" 2>/dev/null)" = sbx-egress ] &&
			[ "$(readlink "$p/ns/net")" = "$(readlink /proc/self/ns/net)" ] &&
			sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "$p/status"
	done
}
held() # N
{
	rm -f "$tmp/to" "$tmp/from"
	mkfifo "$tmp/to" "$tmp/from"
	inside "$load" hold $HOST 443 "$1" <"$tmp/to" >"$tmp/from" &
	run=$!
	exec 7>"$tmp/to" 8<"$tmp/from"
	read -r _ <&8
	rss
	exec 7>&- 8<&-
	wait "$run"
}
streams=$(few 1000)
one=$(held 1) many=$(held $((streams + 1)))
echo "memory: sbx-egress $one KiB with 1 stream, $many with $((streams + 1)): $(((many - one) / streams)) KiB a stream, goal 256"

if [ -x "$B/tests/bench/bench_request" ]; then
	"$B/tests/bench/bench_request"
else
	echo "request judgement: make bench-build makes bench_request"
fi
