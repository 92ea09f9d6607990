#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-audit ship against a stand-in for the server, which loses answers, refuses, and is hostile, and kills of
# the sender at any moment: each event is there once, and each count is right.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

bin=${SBX%/*}
audit=$bin/sbx-audit
if [ ! -e "$bin/sbx-ship" ]; then
	echo "ok - $E2E_INNER: the record to a server # SKIP built without libcurl"
	exit 0
fi
here=$e2e_support
export XDG_STATE_HOME=$TMP/state
runs=$XDG_STATE_HOME/sbx-launch/runs
mkdir -p "$runs" && chmod 700 "$XDG_STATE_HOME/sbx-launch" "$runs"

serve() # NAME [CERT KEY]: port in $port
{
	rm -f "$TMP/port"
	python3 "$here/ship_server.py" "$TMP/port" ${2:+"$2" "$3"} &
	server=$!
	for _ in $(seq 100); do [ -e "$TMP/port" ] && break; sleep 0.05; done
	port=$(cat "$TMP/port")
	to=http://127.0.0.1:$port
}
quit()
{
	kill "$server"
	wait "$server" 2>/dev/null
}
ask() # PYTHON EXPRESSION of r, what the server has
{
	python3 - "$port" "$1" <<-X
		import json, sys, urllib.request
		r = json.load(urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1]))
		if not eval(sys.argv[2]):
		    print({k: v for k, v in r.items() if k not in ("one", "run", "lines")}, file=sys.stderr)
		    sys.exit(1)
	X
}
ship() # STATUS ARGUMENTS...
{
	local want=$1
	shift
	"$audit" ship "$@" >"$TMP/out" 2>"$TMP/err"
	local got=$?
	[ $got -eq "$want" ] && return
	echo "status $got, not $want: $(cat "$TMP/err")" >&2
	return 1
}
says() { grep -qF -e "$1" "$TMP/err" || { cat "$TMP/err" >&2; return 1; }; }
forget() { rm -f "$runs"/*/ship-* "$runs"/.ship-*; }
shipped() # EVENTS RUNS: exactly these, and counted so
{
	ask "r['events'] == r['counted'] == $1 and r['runs'] == r['ended'] == r['whole'] == $2"
}

# ---- all there is, once ----
serve
python3 "$here/ship_runs.py" make "$runs" 0 30 100
"$bin/mkrun" make -j2 >/dev/null
all_once() { ship 0 --to "$to" --allow-http && shipped 3013 31; }
check 'each run and each event arrives once' all_once
again() { ask "r['requests'] == 2" && ship 0 --to "$to" --allow-http && ask "r['requests'] == 2"; }
check 'what was acknowledged is not sent again' again
fields() { ask "r['one']['exe'] and r['one']['rule'].startswith('preset:') and r['one']['path'] in r['one']['line']" &&
	ask "'host-00029' in r['hosts'] and r['run']['policy_hash'] and r['run']['final_hash']"; }
check 'a row says host, program, rule, and the line as it was written' fields
state() { ship 0 --status --json && python3 - "$TMP/out" <<-X
	import json, sys
	s = json.load(open(sys.argv[1]))
	assert s["runs"] == s["runs_complete"] == 31 and s["events_acknowledged"] == 3013, s
	assert s["bytes_waiting"] == s["lag_seconds"] == s["runs_waiting"] == 0 and not s["sending"] and not s["error"], s
	X
}
check 'the status says that nothing waits' state

packed() { "$bin/mklarge" 3000 >/dev/null 2>&1 && "$audit" prune --compress-above 1000 && ls "$runs"/*/audit.jsonl.zst >/dev/null &&
	forget && ship 0 --to "$to" --allow-http --name other --compress none && ask "r['whole'] == r['runs'] == 32"; }
check 'compressed logs, and requests that are not, are the same' packed
zstd_too() { command -v zstd >/dev/null || return 0; forget; ship 0 --to "$to" --allow-http --compress zstd && ask "r['whole'] == 32"; }
check 'requests with zstd' zstd_too
quit
rm -rf "$runs"/2*

# ---- nobody there, or one that answers anything but yes ----
python3 "$here/ship_runs.py" make "$runs" 0 5 200
nobody() { ship 1 --to "$to" --allow-http --retry-for 0 && says E_NOTFOUND && ship 1 --status && grep -q '5 waiting' "$TMP/out"; }
check 'no server: status 1, and all waits' nobody
serve
for row in deaf:1 status:1 wait:1 exception:1 header:1 endless:1 heads:1 nonsense:1 refuse:2 login:2 elsewhere:2; do
	hostile() { ship "${row#*:}" --to "$to/${row%:*}" --allow-http --retry-for 0 && ask "r['events'] == 0"; }
	check "an answer that is no acknowledgement: ${row%:*}" hostile
done
clean() { ship 2 --to "$to/refuse" --allow-http && says 'Cannot parse\x1b[2J' && [ "$(wc -l <"$TMP/err")" -eq 1 ]; }
check 'what a server says is one line of text' clean
after() { ship 0 --to "$to" --allow-http && shipped 1000 5; }
check 'and then all is there' after

# ---- answers lost, and kills, at random ----
forget
lost() { ship 0 --to "$to/lost/0.6/1" --allow-http --retry-for 1m && shipped 1000 5 && ask "r['rows'] > 2010"; }
check 'acknowledgements that are lost: sent twice, there once' lost
quit
rm -rf "$runs"/2*
serve
python3 "$here/ship_runs.py" make "$runs" 0 20 3000
kills()
{
	local i pid
	for i in $(seq "$(rounds 12 60)"); do
		"$audit" ship --to "$to/lost/0.3/$i" --allow-http --retry-for 1m 2>/dev/null &
		pid=$!
		sleep "0.0$((RANDOM % 90 + 10))"
		kill -9 $pid 2>/dev/null
		wait $pid 2>/dev/null
	done
	ship 0 --to "$to" --allow-http && shipped 60000 20
}
check 'killed at any moment: none lost, none twice' kills

# ---- a run that goes on ----
follow()
{
	local pid grower i
	python3 "$here/ship_runs.py" grow "$runs" 5000 "$(rounds 3 8)" >/dev/null &
	grower=$!
	for i in $(seq "$(rounds 4 12)"); do
		"$audit" ship --to "$to/lost/0.4/$i" --allow-http --follow --interval 100ms 2>/dev/null &
		pid=$!
		sleep "0.$((RANDOM % 60 + 30))"
		kill -9 $pid
		wait $pid 2>/dev/null
	done
	"$audit" ship --to "$to" --allow-http --follow --interval 100ms 2>"$TMP/err" &
	pid=$!
	sleep 0.5
	ship 2 --to "$to" --allow-http && says 'another process already sends' || return 1
	wait $grower
	for i in $(seq 100); do
		shipped 65000 21 2>/dev/null && break
		sleep 0.2
	done
	kill -TERM $pid
	wait $pid || { echo "status $? at SIGTERM"; return 1; }
	shipped 65000 21
}
check 'a run that goes on, followed through kills and lost answers: exactly its lines' follow
quit
rm -rf "$runs"/2*
forget

# ---- what cannot be sent, and what went before it was ----
serve
python3 "$here/ship_runs.py" make "$runs" 0 3 50
one=$(ls -d "$runs"/2* | head -n 1)
torn() { printf '{"schemaVersion":2,"seq":51,"ki' >>"$one/audit.jsonl" && ship 0 --to "$to" --allow-http && ask "r['events'] == 151 and r['unreadable'] == 1"; }
check 'a line that is none arrives as one that cannot be read' torn
damaged() { echo '{' >"$one/ship-default.json" && python3 "$here/ship_runs.py" make "$runs" 3 4 50 && ship 2 --to "$to" --allow-http &&
	says 'damaged' && ask "r['events'] == 201"; }
check 'a damaged state: that run is named, the others are sent' damaged
rm "$one/ship-default.json"
gone() { ship 1 --to "$to/status" --allow-http --retry-for 0 && rm -rf "$one" && ship 0 --to "$to" --allow-http && ask "r['removed'] == 1" &&
	ship 0 --status --json && grep -q '"runs_removed_unsent":1,' "$TMP/out"; }
check 'a record that was removed before it was sent is told' gone
quit

# ---- who may read ----
refused() { ship 2 "$@" && says E_USAGE; }
check 'http:// is refused unless it is asked for' refused --to http://127.0.0.1:1
check 'a password in the address is refused' refused --to https://u:p@127.0.0.1:1
check 'nor as a parameter' refused --to 'https://127.0.0.1:1/?password=x'
check 'no file: scheme' refused --to file:///etc/passwd
check 'no address at all' refused
printf 'user=reporter\npassword=s3cret\n' >"$TMP/secret"
chmod 644 "$TMP/secret"
check 'credentials that others may read are refused' refused --to https://127.0.0.1:1 --credentials "$TMP/secret"
chmod 600 "$TMP/secret"
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$TMP/key.pem" -out "$TMP/cert.pem" 2>/dev/null
serve tls "$TMP/cert.pem" "$TMP/key.pem"
forget
unknown() { ship 2 --to "https://127.0.0.1:$port" --credentials "$TMP/secret" && says certificate; }
check 'a certificate that nobody vouches for is refused' unknown
forget
known() { ship 0 --to "https://127.0.0.1:$port" --credentials "$TMP/secret" --ca "$TMP/cert.pem"; }
check 'one that --ca vouches for is taken' known
quit
serve
forget
login() { ship 0 --to "$to" --allow-http --credentials "$TMP/secret" && ask "r['heads'] == ['Basic $(printf reporter:s3cret | base64)', 'sbx']"; }
check 'user and password go in a header' login
forget
token() { SBX_SHIP_TOKEN=t0k ship 0 --to "$to" --allow-http --database elsewhere && ask "r['heads'] == ['Bearer t0k', 'elsewhere']"; }
check 'a token of the environment, too' token
quit
true
