#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bodies larger than memory, through a connection whose requests are judged and through one that is not,
# with and without the run's proxy: all of it comes through, and the relay keeps none of it. 10 GiB in the
# full form.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

SIZE=$(rounds $((1 << 30)) $((10 << 30)))
SMALL=$((16 << 20))
LIMIT=40960 # KiB that sbx-egress may ever have had
python3 "$(dirname "$0")/large.py" 93.184.216.34 9000 &
connect_server="$connect_server $!"
python3 "$(dirname "$0")/large.py" 93.184.216.34 9001 &
connect_server="$connect_server $!"
for _ in $(seq 300); do
	curl -sS -m 5 http://93.184.216.34:9000/1 >/dev/null 2>&1 && curl -sS -m 5 http://93.184.216.34:9001/1 >/dev/null 2>&1 && break
	sleep 0.1
done
cat >"$TMP/p.yaml" <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev:
      read: ["**"]
      connect:
        - {to: "a.example.net:9000", http: [GET /*, PUT /x]}
        - a.example.net:9001
P
truncate -s "$SIZE" "$TMP/large"
truncate -s "$SMALL" "$TMP/small"

# The most memory that the run's sbx-egress has had, in KiB.
peak()
{
	for egress in $(cat "/proc/$pid/task/$pid/children"); do
		[ "$(cat "/proc/$egress/comm")" != sbx-egress ] || sed -n 's/^VmHWM:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$egress/status"
	done
}

# The command does what it reads, a line each, and says the answer.
run() # OPTIONS...
{
	rm -f "$TMP/to" "$TMP/from"
	mkfifo "$TMP/to" "$TMP/from"
	"$SBX" -q -p "$TMP/p.yaml" "$@" -- bash -c 'while read -r line; do eval "$line" 2>&1; done' <"$TMP/to" >"$TMP/from" &
	pid=$!
	exec 7>"$TMP/to" 8<"$TMP/from"
}
does() # EXPECTED COMMAND
{
	echo "$2" >&7
	read -r -t 800 got <&8 || got=nothing
	[ "$got" = "$1" ] || { echo "$got"; return 1; }
}

for how in '' --proxy-env; do
	for port in 9000 9001; do
		name="$port${how:+ $how}"
		# shellcheck disable=SC2086
		run $how
		check "$name: a small body" does "$SMALL" "curl -sS -m 800 -T '$TMP/small' http://a.example.net:$port/x"
		before=$(peak)
		check "$name: $((SIZE >> 20)) MiB there" does "$SIZE" "curl -sS -m 800 -T '$TMP/large' http://a.example.net:$port/x"
		check "$name: and back" does "$SIZE" "curl -sS -m 800 http://a.example.net:$port/$SIZE | wc -c"
		after=$(peak)
		check "$name: the relay had ${before:-no} KiB and then ${after:-no}" [ "${after:-$LIMIT}" -lt "$LIMIT" ]
		check "$name: which is no more than for the small one" [ "${after:-9999999}" -le "$((${before:-0} + 4096))" ]
		exec 7>&- 8<&-
		wait "$pid"
	done
done
