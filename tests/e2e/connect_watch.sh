#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --network watch: what rules on endpoints deny passes, and is recorded as what would be denied.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

W='--network watch'
AUDIT=${SBX%/*}/sbx-audit POLICY=${SBX%/*}/sbx-policy

as_each 'a name that no rule opens passes, and has its line' 0 '^other.example.net /x$' \
	$W -- curl -sS -m 20 http://other.example.net/x
for w in $WHO; do
	launch_as $w $W -- curl -sS -m 20 http://other.example.net/x
	check "$w: the line names rule and option" grep -qE \
		'would deny connect other.example.net:80 \(rule .*\): allow with --connect other.example.net:80' "$TMP/err"
	check "$w: the start says that it is watched" grep -q 'network watch: .* passes' "$TMP/err"
done
as_each 'an address passes' 0 '^93.184.216.34 /$' $W -- curl -sS -m 20 http://93.184.216.34/
as_each 'a private one as well' 0 '^10.9.9.9 /$' $W -- curl -sS -m 20 http://10.9.9.9/
as_each 'a deny rule passes' 0 'would deny connect a.example.net:80 .rule a.example.net' \
	$W --connect '**.example.net' --deny-connect a.example.net -- curl -sS -m 20 http://a.example.net/
as_each 'what a rule opens has no line' 0 '^a.example.net /$' \
	-q $W --connect a.example.net:80 -- sh -c 'curl -sS -m 20 http://a.example.net/'
as_each 'no name leads to the loopback interface' 1 'denied connect loop.example.net:80' \
	$W -- python3 -c 'import socket; socket.create_connection(("loop.example.net", 80))'
as_each 'one such address refuses all' 1 'PermissionError' \
	$W -- python3 -c 'import socket; socket.create_connection(("mixed.example.net", 80))'
as_each 'nor an address at which clouds answer' 7 'denied connect 169.254.169.254:80' \
	$W -- curl -sS -m 5 http://169.254.169.254/
as_each 'the loopback interface is the run'"'"'s own' 7 'Failed to connect|Couldn.t connect|Connection refused' \
	$W -- curl -sS -m 20 http://127.0.0.1:8080/
as_each 'a name that does not exist is not there' 6 'Could not resolve' \
	$W -- curl -sS -m 20 http://gone.example.net/
as_each 'by the proxy' 0 '^other.example.net /x$' $W --proxy-env -- curl -sS -m 20 http://other.example.net/x

# ---- documents ----

doc() # FILE: in the directory of each of $WHO
{
	cat >"$1"
	[ -z "${PLACE:-}" ] || { cp "$1" "$PLACE/ws/$1" && chmod 644 "$PLACE/ws/$1"; }
}
doc watch.yaml <<'Y'
schemaVersion: 2
kind: Policy
metadata: {name: watch}
spec:
  sandbox: {network: watch}
  fsProfiles:
    dev: {read: ["**"], connect: ["b.example.net:80", {to: "a.example.net:80", http: ["GET /ok"]}]}
Y
as_each 'in a document' 0 'would deny connect other.example.net:80' -p watch.yaml -- curl -sS -m 20 http://other.example.net/x
as_each 'a request that its rules deny' 0 '^a.example.net /no$' -p watch.yaml -- curl -sS -m 20 http://a.example.net/no
as_each 'the command line enforces it' 6 'denied connect other.example.net' \
	-p watch.yaml --network none -- curl -sS -m 20 http://other.example.net/x

# ---- the record, and questions ----

for w in $WHO; do
	log=$TMP/../log-watch-$w
	[ $w = me ] || log=$PLACE/log-watch
	rm -f "$log"
	launch_as $w -q --audit-file "$log" -p watch.yaml -- sh -c '
		curl -sS -m 20 http://b.example.net/ http://other.example.net/ http://a.example.net/no'
	check "$w: the event has the mark" grep -q \
		'"path":"other.example.net:80","host":"other.example.net","port":80,"program":"[^"]*curl","allowed":true,"would_deny":true,"matched_rule":"<no matching rule>"' "$log"
	check "$w: and one of a request" grep -q '"request":"GET /no","allowed":true,"would_deny":true' "$log"
	check "$w: what a rule opens has none" sh -c 'grep "\"path\":\"b.example.net:80\"" "$1" | grep -vq would_deny' sh "$log"
	[ $w = me ] && chained= || chained=--unchained # by the key of that user
	check "$w: the log is valid" python3 "$(dirname "$0")/validate_log.py" $chained "$log"
done
said() # PATTERN COMMAND...
{
	local pattern=$1
	shift
	"$@" >"$TMP/said" 2>&1
	grep -qE -- "$pattern" "$TMP/said" || { cat "$TMP/said"; return 1; }
}
"$SBX" -q $W -- curl -sS -m 20 -o /dev/null http://other.example.net/ 2>/dev/null
check 'denials shows it' said 'rule <no matching rule> .*.* passed, because the network is only watched' "$AUDIT" denials
check 'with what allows it' said '^ *allow with --connect other.example.net:80' "$AUDIT" denials
check 'learn writes the rule' said 'other.example.net:80' "$AUDIT" learn
check 'why says so' said '^watched +connect +other.example.net:80 .*, and passes: network watch' \
	"$POLICY" why connect other.example.net:80 $W
check 'and of what is never open' said '^denied +connect +169.254.169.254:80' "$POLICY" why connect 169.254.169.254:80 $W
check 'show says so' said 'network watch: what these deny' "$POLICY" show $W
check 'convert names it' said 'network: watch.: it cannot only watch' "$POLICY" convert --to srt watch.yaml
