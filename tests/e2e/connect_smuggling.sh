#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Requests that two readers could read in two ways, through the relay to real servers: what no rule
# allows reaches none of them, whatever it is hidden in. Each server first shows that it would serve
# it.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

TABLE=$(dirname "$0")/smuggling.tsv
S="python3 $(dirname "$0")/smuggle.py"
mkdir -p "$TMP/s"

start_python()
{
	$S serve "$1" "$2" &
}
start_node()
{
	$S node >"$TMP/s/node.js"
	node "$TMP/s/node.js" "$1" "$2" &
}
start_nginx()
{
	cat >"$TMP/s/nginx.conf" <<C
daemon off;
master_process off;
user root root;
pid $TMP/s/nginx.pid;
error_log /dev/null;
events {}
http {
	log_format seen '\$request_method \$uri';
	access_log $2 seen;
	client_body_temp_path $TMP/s/body;
	proxy_temp_path $TMP/s/p; fastcgi_temp_path $TMP/s/f; uwsgi_temp_path $TMP/s/u; scgi_temp_path $TMP/s/c;
	server { listen 93.184.216.34:$1; location / { return 200 ok; } }
}
C
	nginx -e /dev/null -c "$TMP/s/nginx.conf" -p "$TMP/s" 2>/dev/null &
}

# What the server served of PATH.
served() # LOG PATH
{
	grep -cE "^(GET|POST) $2$" "$1"
}

port=9000
for server in python node nginx; do
	port=$((port + 1)) log=$TMP/s/$server.log
	program=$server
	[ $server != python ] || program=python3
	if ! command -v $program >/dev/null; then
		skip "behind us $server" "is not installed"
		continue
	fi
	: >"$log"
	start_$server $port "$log"
	connect_server="$connect_server $!"
	for _ in $(seq 300); do
		curl -sS -m 5 "http://93.184.216.34:$port/no" >/dev/null 2>&1 && break
		sleep 0.1
	done
	check "$server serves what the rules deny, where nobody asks them" [ "$(served "$log" /no)" -ge 1 ]
	: >"$log"
	cat >"$TMP/s/p.yaml" <<P
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev:
      read: ["**"]
      connect:
        - {to: "a.example.net:$port", http: [GET /ok/**, POST /ok/**]}
P
	launch_as me -qq -p "$TMP/s/p.yaml" -- $S send "$TABLE" a.example.net $port
	cp "$TMP/out" "$TMP/s/said"
	check "$server: every row was sent" [ "$(wc -l <"$TMP/s/said")" -eq "$(grep -vc '^#' "$TABLE")" ]
	check "$server: rows that pass are served" [ "$(served "$log" '/ok/.*')" -ge 5 ]
	grep -v '^#' "$TABLE" | while IFS='	' read -r id want _; do
		got=$(sed -n "s/^$id //p" "$TMP/s/said")
		[ "$want" = - ] || [ "$got" = "$want" ] || echo "$id: $got, not $want"
	done >"$TMP/s/wrong"
	check "$server: each row has its answer" sh -c 'cat "$1"; [ ! -s "$1" ]' - "$TMP/s/wrong"
	check "$server: nothing that was hidden is served" sh -c '! grep -E "/no" "$1" | grep -v "%252e\|%2e%2e/no"' - "$log"
done
