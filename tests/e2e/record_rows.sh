#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `sbx-audit show --format` says in the words of others, by the rows that they are known by: the events
# of Orbit, OpenShell's shorthand lines, srt's violation store.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"
AUDIT=${SBX%/*}/sbx-audit

fresh
git init -q . && mkdir -p .git/hooks
client='import socket, sys
s = socket.socket()
s.settimeout(5)
try:
    s.connect((sys.argv[1], int(sys.argv[2])))
except OSError as e:
    print(e)'
cat >client.py <<EOP
$client
EOP
launch -q --connect a.example.net:80 -- sh -c 'echo 1 >new; cat new; (echo k >.git/hooks/x) 2>/dev/null
python3 client.py a.example.net 80; python3 client.py 192.0.2.7 443; exit 3'
for format in orbit openshell srt ocsf jsonl chrome-trace; do
	"$AUDIT" show --format $format >"$TMP/$format" || echo "format $format: status $?"
done

cat >http.yaml <<'EOP'
schemaVersion: 2
kind: Policy
metadata: {name: n}
spec:
  fsProfiles:
    dev: {read: ["**"], connect: [{to: "a.example.net:80", http: [GET /ok]}]}
EOP
launch -q -p http.yaml -- sh -c 'curl -s -m 20 http://a.example.net/ok http://a.example.net/other
printf "x\r\n\r\n" | python3 -c "import socket, sys
s = socket.create_connection((\"a.example.net\", 80), 20)
s.sendall(sys.stdin.buffer.read())
s.recv(1000)"'
"$AUDIT" show --format openshell >>"$TMP/openshell"
"$AUDIT" show --format ocsf >"$TMP/ocsf-http"

event() # TYPE BODY
{
	grep -F "\"event_type\":\"$1\"" "$TMP/orbit" | grep -qF "\"body_kind\":\"$2\""
}
audit_event_types_001() { [ "$(grep -c '"run.started"' "$TMP/orbit")" -eq 1 ] && event run.started run_started; }
audit_event_types_002() { tail -n 1 "$TMP/orbit" | grep -q '"event_type":"run.finished"'; }
audit_event_types_018() { event fs.call.request fs_call_request; }
audit_event_types_019() { event fs.call.result fs_call_result; }
audit_event_types_020() { event fs.call.denied fs_call_denied; }
audit_event_types_021() { event tool.denied tool_denied; }
audit_event_types_023() { event cli.invocation.started cli_invocation_started; }
audit_event_types_024() { event cli.invocation.finished cli_invocation_finished; }

line() # ERE: a whole line
{
	grep -qxE "$1" "$TMP/openshell" || { cat "$TMP/openshell"; return 1; }
}
openshell_ocsf_shorthand_001()
{
	line 'NET:OPEN \[INFO\] ALLOWED python3[.0-9]*\([0-9]+\) -> a\.example\.net:80 \[policy:cli:--connect:1 engine:mechanistic\]'
}
openshell_ocsf_shorthand_002()
{
	line 'NET:REFUSE \[MED\] DENIED python3[.0-9]*\([0-9]+\) -> 192\.0\.2\.7:443/tcp \[policy:[^ ]+ engine:broker\]'
}
openshell_ocsf_shorthand_003()
{
	line 'HTTP:GET \[INFO\] ALLOWED [^ ]+ -> GET http://a\.example\.net/ok \[policy:[^ ]*http\.yaml:6:[0-9]+\]' &&
		line 'HTTP:GET \[MED\] DENIED [^ ]+ -> GET http://a\.example\.net/other \[policy:[^ ]*http\.yaml:6:[0-9]+\]' &&
		line 'HTTP:REFUSE \[MED\] DENIED [^ ]+ -> a\.example\.net \[policy:[^ ]*http\.yaml:6:[0-9]+ reason:a first line .*\]'
}
openshell_ocsf_shorthand_005() { line 'PROC:LAUNCH \[INFO\] python3[.0-9]*\([0-9]+\) \[cmd:python3 client\.py a\.example\.net 80\]'; }
openshell_ocsf_shorthand_006() { line 'PROC:TERMINATE \[INFO\] (da|ba|)sh\([0-9]+\) \[exit:3\]'; }
openshell_ocsf_shorthand_008() { line 'LIFECYCLE:START \[INFO\] sbx-launch success'; }
openshell_ocsf_shorthand_009() { line 'CONFIG:LOADED \[INFO\] policy loaded \[version:v1 hash:sha256:[0-9a-f]{12}\]'; }

rows audit_event_types.tsv
rows openshell_ocsf_shorthand.tsv
reserved()
{
	! sed 's/.*"event_type":"\([^"]*\)".*/\1/' "$TMP/orbit" | sort -u |
		grep -vxE 'run\.(started|finished)|fs\.call\.(request|result|denied)|tool\.denied|cli\.invocation\.(started|finished)'
}
check 'no other event of Orbit'\''s is written' reserved
check 'each line of a shorthand is of a known class' eval \
	'! grep -vE "^(NET:OPEN|NET:REFUSE|HTTP:GET|HTTP:REFUSE|PROC:LAUNCH|PROC:TERMINATE|LIFECYCLE:START|CONFIG:LOADED) \[(INFO|MED)\] " "$TMP/openshell"'

# ---- OCSF: the classes of the network, and what each must have ----
ocsf()
{
	python3 - "$TMP/ocsf" "$TMP/ocsf-http" <<'EOP'
import json, sys
lines = [json.loads(line) for name in sys.argv[1:] for line in open(name)]
by = {}
for e in lines:
    by.setdefault(e["class_uid"], []).append(e)
    assert e["type_uid"] == e["class_uid"] * 100 + e["activity_id"], e
    assert e["category_uid"] == e["class_uid"] // 1000 and e["metadata"]["version"] == "1.8.0", e
opened = [e for e in by[4001] if e["dst_endpoint"].get("hostname") == "a.example.net"]
assert opened and all(e["dst_endpoint"]["port"] == 80 and e["connection_info"]["direction_id"] == 2 for e in opened), opened
refused = [e for e in by[4001] if e["dst_endpoint"].get("ip") == "192.0.2.7"]
assert refused and refused[0]["activity_id"] == 5 and refused[0]["action_id"] == 2, refused
http = {e["http_request"]["url"].get("path"): e for e in by[4002]}
assert http["/ok"]["activity_id"] == 3 and http["/ok"]["action_id"] == 1, http
assert http["/ok"]["http_request"]["http_method"] == "GET" and http["/ok"]["http_request"]["url"]["hostname"] == "a.example.net"
assert http["/other"]["action_id"] == 2 and http["/other"]["firewall_rule"]["uid"].rsplit(":", 2)[0].endswith("http.yaml")
assert "http_method" not in http[None]["http_request"] and "first line" in http[None]["status_detail"], http[None]
EOP
}
check 'OCSF: connections, requests and refusals' ocsf

# ---- srt's violation store: one a denial, the last hundred ----
violations()
{
	python3 - "$TMP/srt" <<'EOP'
import base64, json, sys
all = [json.loads(line) for line in open(sys.argv[1])]
hooks = [v for v in all if v["line"].endswith(" ./.git/hooks/x")]
assert len(hooks) == 1 and hooks[0]["line"].startswith("deny open"), all
for v in all:
    assert sorted(v) == ["command", "encodedCommand", "line", "timestamp"]
    assert base64.b64decode(v["encodedCommand"]).decode() == v["command"][:100]
EOP
}
check 'a violation of srt has line, command, encodedCommand and timestamp' violations
launch -q -- python3 -c 'for i in range(130):
    try:
        open(".git/hooks/%d" % i, "w")
    except OSError:
        pass'
"$AUDIT" show --format srt >"$TMP/srt"
check 'the last hundred stay' [ "$(wc -l <"$TMP/srt")" -eq 100 ]
check 'they are the last ones' eval 'tail -n 1 "$TMP/srt" | grep -q "hooks/129\"" && ! grep -q "hooks/29\"" "$TMP/srt"'
