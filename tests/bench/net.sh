#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The network by name against bare sockets, in a network namespace of its own: medians (least..most) of ROUNDS
# rounds that alternate, and the memory of sbx-egress with as many connections as descriptors allow. Needs root.
#
#	B=build tests/bench/net.sh [ROUNDS]
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "${B:-build}" && pwd)
if [ -z "${NET_BENCH:-}" ]; then
	NET_BENCH=1 B=$B exec unshare -n bash "$here/net.sh" "$@"
fi
tmp=$(mktemp -d /tmp/sbx-net.XXXXXX)
trap 'kill $server 2>/dev/null; rm -rf "$tmp"' EXIT
load=$tmp/netload
${CC:-cc} -O2 -o "$load" "$here/../probe/netload.c" -lpthread || exit 1
mkdir "$tmp/ws"
cd "$tmp/ws" || exit 1
ip link set lo up
ip addr add 93.184.216.34/32 dev lo
ulimit -n "$(ulimit -Hn)"
"$load" serve 93.184.216.34 80 >"$tmp/server" &
server=$!
until grep -q ready "$tmp/server"; do sleep 0.1; done

inside()
{
	"$B/sbx-launch" -qq --audit-level none --read "$load" --connect 93.184.216.34:80-81 -- "$@"
}
median() # FILE
{
	sort -n "$1" | awk '{ v[NR] = $1 } END { printf "%s (%s..%s)", v[int((NR + 1) / 2)], v[1], v[NR] }'
}
pair() # TITLE UNIT WHAT N [PORT]
{
	: >"$tmp/bare"
	: >"$tmp/relay"
	for _ in $(seq "$rounds"); do
		"$load" "$3" 93.184.216.34 "${5:-80}" "$4" >>"$tmp/bare"
		inside "$load" "$3" 93.184.216.34 "${5:-80}" "$4" >>"$tmp/relay"
	done
	echo "$1: bare $(median "$tmp/bare"), by the relay $(median "$tmp/relay") $2"
}
rounds=${1:-9}
pair 'new connections' us new 2000
pair 'requests' us request 20000
pair 'bulk' MB/s bulk 0
pair 'connect, nobody accepts' us denied 5000 81
pair 'connect, denied (bare: nobody accepts)' us denied 5000 82
inside "$load" hold 93.184.216.34 80 10000 >"$tmp/held" &
until grep -q held "$tmp/held"; do sleep 0.1; done
for p in /proc/[0-9]*; do
	[ "$(cat "$p/comm" 2>/dev/null)" = sbx-egress ] && [ "$(readlink "$p/ns/net")" = "$(readlink /proc/self/ns/net)" ] &&
		echo "connections $(cat "$tmp/held"), sbx-egress $(grep VmRSS "$p/status")"
done
