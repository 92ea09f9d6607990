#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Streams that end in every way, half-closed, reset by either end, upgraded and dropped: through a connection that
# is carried, one whose requests are judged, and one whose requests are judged inside of TLS. The run's processes
# keep nothing of them: no descriptor and no memory. 10^4 streams a round in the full form.
CONNECT_TLS=1
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

N=$(rounds 20 500)
STREAMS=$(dirname "$0")/streams.py
for port in 9000 9001; do
	python3 "$STREAMS" serve 93.184.216.40 $port &
	connect_server="$connect_server $!"
done
python3 "$STREAMS" serve 93.184.216.40 444 "$NAMES/good.pem" "$NAMES/good.key" &
connect_server="$connect_server $!"
cat >"$TMP/p.yaml" <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev:
      read: ["**"]
      connect:
        - s.example.net:9000
        - {to: "s.example.net:9001", http: [GET /*, PUT /*]}
        - {to: "s.example.net:444", http: [GET /*, PUT /*]}
P
export SSL_CERT_FILE=$NAMES/ca.pem
for _ in $(seq 300); do
	curl -sS -m 5 http://93.184.216.40:9001/whole >/dev/null 2>&1 && break
	sleep 0.1
done

# Descriptors and KiB of the run's own processes: the supervisor, the broker, sbx-egress.
held()
{
	local fds=0 kib=0 at
	for at in "$pid" $(cat "/proc/$pid/task/$pid/children"); do
		case $(cat "/proc/$at/comm") in sbx-*) ;; *) continue ;; esac
		fds=$((fds + $(ls "/proc/$at/fd" | wc -l)))
		kib=$((kib + $(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$at/status")))
	done
	echo $fds $kib
}
settled() # what is held when it does not become less
{
	local now before=
	for _ in $(seq 50); do
		now=$(held)
		[ "$now" != "$before" ] || break
		before=$now
		sleep 0.2
	done
	echo "$now"
}
round()
{
	echo >&7
	read -r -t 800 good total <&8
	[ "${good:-0}" -gt 0 ] && [ "$good" = "$total" ] || { echo "${good:-none} of ${total:-none}"; tail -20 "$TMP/err"; return 1; }
}

mkfifo "$TMP/to" "$TMP/from"
"$SBX" -qq --audit-level denied -p "$TMP/p.yaml" -- python3 "$STREAMS" client s.example.net "$N" 9000 9001 444 \
	<"$TMP/to" >"$TMP/from" 2>"$TMP/err" &
pid=$!
exec 7>"$TMP/to" 8<"$TMP/from"
check 'every stream ends as it should' round
read -r fds kib <<<"$(settled)"
for turn in 2 3; do
	check "every one, again ($turn)" round
	read -r now_fds now_kib <<<"$(settled)"
	check "$total streams more: $fds descriptors are $now_fds" [ "$now_fds" -le $((fds + 16)) ]
	check "and $kib KiB are $now_kib" [ "$now_kib" -le $((kib + 1024)) ]
done
exec 7>&- 8<&-
wait "$pid"
check 'the run ends as ever' [ $? -eq 0 ]
