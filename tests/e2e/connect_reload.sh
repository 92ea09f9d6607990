#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules on endpoints that change while a run lasts (--reloadable): by --reload and by SIGHUP, as a
# whole or not at all, for connections that are there as well; a line of the record for each.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

AUDIT=${SBX%/*}/sbx-audit
first_id=

# The policy in use: what stands under `connect`, and after it in spec.
policy() # CONNECT [MORE]
{
	cat >"$D/new.yaml" <<P
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev:
      read: ["**"]
      modify: ["**"]
      connect:
$1
${2:-}
P
	chmod a+r "$D/new.yaml"
	mv "$D/new.yaml" "$D/p.yaml"
}

# One user's launcher, as that user.
sbx()
{
	if [ "$w" = me ]; then
		"$SBX" "$@"
	else
		(cd "$PLACE/ws" && HOME=$PLACE/home TMPDIR=$PLACE/tmp setpriv --reuid=$E2E_UID --regid=$E2E_UID \
			--clear-groups "$SBX" "$@")
	fi
}

# A run whose command does what is written to it, a line each: get HOST PATH; hold HOST PATH, on a
# connection that stays; ask HOST PATH, on that. It answers a line each.
cat >"$TMP/worker.py" <<'P'
import http.client, sys, urllib.request
held = {}
def ask(host, path):
    held[host].request("GET", path)
    held[host].auto_open = 0 # no other connection in its place
    try:
        answer = held[host].getresponse()
    except http.client.RemoteDisconnected:
        return "closed"
    answer.read()
    return str(answer.status)
def do(what, host, path="/x"):
    if what == "get":
        return urllib.request.urlopen(f"http://{host}{path}", timeout=20).read().decode().strip()
    if what == "hold":
        held[host] = http.client.HTTPConnection(host, 80, timeout=20)
    return ask(host, path)
for line in iter(sys.stdin.readline, ""):
    try:
        print(do(*line.split()), flush=True)
    except Exception as e:
        print("failed:", e, flush=True)
P
begin() # OPTIONS...
{
	rm -f "$TMP/to" "$TMP/from"
	mkfifo "$TMP/to" "$TMP/from"
	cp "$TMP/worker.py" "$D/worker.py"
	chmod a+r "$D/worker.py"
	sbx "$@" -p "$D/p.yaml" -- python3 "$D/worker.py" <"$TMP/to" >"$TMP/from" 2>"$TMP/run.err" &
	pid=$!
	exec 7>"$TMP/to" 8<"$TMP/from"
	answer get b.example.net >/dev/null
	for _ in $(seq 300); do
		run_id=$(sbx --ps | sed -n '1s/^\([^ ]*\) .*/\1/p')
		[ -n "$run_id" ] && return
		sleep 0.1
	done
}
answer() # COMMAND...
{
	echo "$*" >&7
	read -r -t 60 said <&8
	echo "$said"
}
end()
{
	exec 7>&- 8<&-
	wait "$pid" 2>/dev/null
}
said() # PATTERN COMMAND...
{
	pattern=$1
	shift
	answer "$@" | grep -qE -- "$pattern"
}
reload() # STATUS PATTERN
{
	sbx --reload "$run_id" >"$TMP/out" 2>&1
	status=$?
	[ "$status" -eq "$1" ] && grep -qE -- "$2" "$TMP/out" || { cat "$TMP/out"; return 1; }
}

# Of all processes of the run but the supervisor, which is $2 of --ps.
broker_only_reads()
{
	local top at n=0
	top=$(sbx --ps | awk 'NR == 1 { print $2 }')
	for at in $(pgrep -P "$top") "$top"; do
		grep ' /memfd:sbx-room' "/proc/$at/maps" >"$TMP/maps" 2>/dev/null || continue
		[ "$at" = "$top" ] && grep -q ' rw-s ' "$TMP/maps" && continue
		n=$((n + 1))
		! grep -v ' r--s ' "$TMP/maps" || return 1
	done
	[ "$n" -ge 1 ]
}

for w in $WHO; do
	D=$TMP/d-$w
	[ "$w" = me ] || D=$PLACE/d
	mkdir -p "$D"
	chmod a+rx "$D"
	policy '        - a.example.net:80
        - b.example.net:80'
	begin --reloadable
	check "$w: a connection is open" said '^200$' hold a.example.net
	check "$w: another endpoint is not" said '^failed: ' get other.example.net

	policy '        - other.example.net:80
        - b.example.net:80'
	check "$w: new rules hold when --reload returns" reload 0 'are in force: [0-9]+ connections continue, 1 were ended'
	check "$w: what they open" said '^other.example.net /x$' get other.example.net
	check "$w: what they do not" said '^failed: ' get a.example.net
	check "$w: the connection that was there has ended" said '^(closed|failed: .*(reset|closed|[Bb]roken pipe))' ask a.example.net
	check "$w: a line says so" grep -q 'a.example.net:80.*ended: the rules have changed' "$TMP/run.err"
	check "$w: and another for what is refused by them" grep -q 'denied connect a.example.net:80' "$TMP/run.err"

	check "$w: the broker reads images that it cannot change" broker_only_reads
	policy '        - a.example.net:80
        - b.example.net:nonsense'
	check "$w: a rule that is wrong is refused with its place" reload 125 'E_POLICY: the rules on endpoints stay as they were: .*p.yaml:11:11: '
	check "$w: and nothing has changed" said '^failed: ' get a.example.net
	check "$w: nothing" said '^other.example.net /x$' get other.example.net
	policy '        - a.example.net:80' '  sandbox: {network: host}'
	check "$w: other parts cannot change" reload 125 'p.yaml:11:3: .sandbox. has changed'
	printf 'schemaVersion: 2\nkind: [' >"$D/p.yaml"
	check "$w: nor a text that is broken" reload 125 'E_POLICY: .*p.yaml:[23]:'
	rm "$D/p.yaml"
	check "$w: nor one that is gone" reload 125 'p.yaml: no longer exists'
	policy '        - {to: "a.example.net:80", by: [/usr/bin/none]}'
	check "$w: nor programs be told apart" reload 125 'p.yaml:10:.*was not in the rules when the run began'
	check "$w: and still nothing has changed" said '^other.example.net /x$' get other.example.net

	policy '        - {to: "a.example.net:80", http: [GET /x]}'
	check "$w: rules on requests come" reload 0 'in force'
	check "$w: and hold" said '^a.example.net /x$' get a.example.net /x
	check "$w: all of them" said '^failed: HTTP Error 403' get a.example.net /y
	check "$w: a connection is looked into" said '^200$' hold a.example.net /x
	policy '        - {to: "a.example.net:80", http: [GET /again]}'
	check "$w: others take their place" reload 0 ' 1 connections continue, 0 were ended'
	check "$w: from the next request on" said '^200$' ask a.example.net /again
	check "$w: for all" said '^failed: HTTP Error 403' get a.example.net /x

	policy '        - b.example.net:80'
	kill -HUP "$(sbx --ps | awk 'NR == 1 { print $2 }')"
	for _ in $(seq 300); do
		said '^b.example.net /x$' get b.example.net && break
		sleep 0.1
	done
	check "$w: SIGHUP is the same" said '^b.example.net /x$' get b.example.net
	check "$w: and the command has not heard of it" said '^failed: ' get a.example.net
	end
	check "$w: the run ends as ever" [ $? -eq 0 ]

	[ "$w" = me ] && HOME_OF=$HOME || HOME_OF=$PLACE/home
	HOME=$HOME_OF "$AUDIT" show "$run_id" >"$TMP/shown"
	check "$w: each is in the record" sh -c '[ "$(grep -c " reload rules on endpoints, " "$1")" -eq 4 ] && [ "$(grep -c " reload refused: " "$1")" -eq 5 ]' - "$TMP/shown"
	check "$w: rules are named as they were when they decided" sh -c 'grep " a.example.net:80 " "$1" | grep -q "rule a.example.net:80 (.*p.yaml:10:11)"' - "$TMP/shown"
	HOME=$HOME_OF "$AUDIT" verify "$run_id" >/dev/null
	check "$w: and the record is whole" [ $? -eq 0 ]
	first_id=${first_id:-$run_id}
done

# ---- what other programs read of it ----

w=me
"$AUDIT" show --format openshell "$first_id" >"$TMP/openshell"
check 'shorthand: the policy has a version, and what is refused none' sh -c '
	grep -qE "^CONFIG:LOADED \[INFO\] policy loaded \[version:v1 hash:sha256:[0-9a-f]{12}\]$" "$1" &&
	grep -qE "^CONFIG:LOADED \[INFO\] policy reloaded \[version:v2 hash:sha256:[0-9a-f]{12}\]$" "$1" &&
	grep -qE "^CONFIG:REFUSED \[MED\] policy kept \[version:v2 error:.*p.yaml:11:11: " "$1" &&
	grep -qE "policy reloaded \[version:v5 " "$1" && ! grep -q "version:v6" "$1"' - "$TMP/openshell"
"$AUDIT" show --format ocsf "$first_id" >"$TMP/ocsf"
check 'OCSF: a change of configuration' sh -c '
	[ "$(grep -c "\"class_uid\":5019" "$1")" -eq 9 ] && [ "$(grep "\"class_uid\":5019" "$1" | grep -c "\"status_id\":2")" -eq 5 ]' - "$TMP/ocsf"

# ---- again and again, with connections that go on ----

HELD=$(rounds 200 1000) TIMES=$(rounds 40 1000)
w=me D=$TMP/d-me
STORM=$(dirname "$0")/reload_storm.py
for turn in a b; do
	policy "        - $turn.example.net:80
        - other.example.net:80"
	mv "$D/p.yaml" "$D/p.yaml.$turn"
done
cp "$D/p.yaml.b" "$D/p.yaml"
rm -f "$TMP/to" "$TMP/from"
mkfifo "$TMP/to" "$TMP/from"
sbx --reloadable -qq -p "$D/p.yaml" -- python3 "$STORM" client "$HELD" other.example.net <"$TMP/to" >"$TMP/from" &
pid=$!
exec 7>"$TMP/to" 8<"$TMP/from"
read -r -t 100 ready <&8
run_id=$(sbx --ps | sed -n '1s/^\([^ ]*\) .*/\1/p')
python3 "$STORM" drive "$SBX" "$run_id" "$D/p.yaml" "$TIMES" "$HELD" >"$TMP/storm"
read -r leaks wrong rate live <"$TMP/storm"
check "$TIMES reloads, $rate a second with all that is asked between: what is denied is never open" [ "$leaks" = 0 ]
check 'what is allowed is never shut' [ "$wrong" = 0 ]
check "all of $HELD connections that both allow live" [ "$live" = "$HELD" ]
end

# ---- OpenShell ----

shell_policy() # HOST USER
{
	cat >"$D/o.new" <<P
version: 1
filesystem_policy: {read_only: [/usr, /lib, /lib64, /bin, /etc, /proc, /opt, $TMP], read_write: [/tmp]}
process: {run_as_user: $2}
network_policies:
  api: {endpoints: [{host: $1, port: 80}], binaries: [{path: /**}]}
P
	mv "$D/o.new" "$D/p.yaml"
}
w=me D=$TMP/d-me
shell_policy a.example.net sandbox
begin --reloadable --best-effort -q
openshell_reload_001()
{
	shell_policy b.example.net sandbox
	reload 0 'in force' && said '^b.example.net /x$' get b.example.net && said '^failed' get a.example.net
}
openshell_reload_002()
{
	shell_policy a.example.net nobody
	reload 125 'p.yaml:3:24: .run_as_user. has changed' && said '^b.example.net /x$' get b.example.net && said '^failed' get a.example.net
}
openshell_reload_003()
{
	printf 'version: 1\nnetwork_policies: {api: {endpoints: [{hots: a.example.net}]}}\n' >"$D/p.yaml"
	reload 125 'p.yaml:' && said '^b.example.net /x$' get b.example.net && said '^failed' get a.example.net
}
rows openshell_reload.tsv
end

# ---- who cannot ----

w=me D=$TMP/d-me
policy '        - b.example.net:80'
begin
sbx --reload "$run_id" >"$TMP/out" 2>&1
check 'a run that was not started so is left alone' sh -c '[ "$1" -eq 125 ] && grep -q "not started with --reloadable" "$2"' - $? "$TMP/out"
check 'it goes on' said '^b.example.net /x$' get b.example.net
end
sbx --reload "$run_id" >"$TMP/out" 2>&1
check 'nor is one that has ended asked' [ $? -eq 125 ]
as_each 'without rules on endpoints there is nothing to change' 125 'E_USAGE: --reloadable' --reloadable -- true
as_each 'a run inside would not follow, and is not begun' 125 'E_' --reloadable --connect b.example.net:80 -- "$SBX" -- true
