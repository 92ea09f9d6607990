#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rows of other systems that a whole run answers: modes of Grida's agent, caliban's detection, Orbit's events.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"
POLICY=${SBX%launch}policy
AUDIT=${SBX%launch}audit

fresh
git init -q .
mkdir -p "$HOME/.ssh" && echo k >"$HOME/.ssh/id_rsa"
echo text >"$HOME/note"
mkdir "$TMP/bin" && printf '#!/bin/sh\necho tested >tested\n' >"$TMP/bin/npm" && chmod 755 "$TMP/bin/npm"

runs() # MODE STATUS COMMAND...
{
	launch --mode "$1" -- "${@:3}"
	[ "$status" -eq "$2" ] || { echo "status $status"; cat "$TMP/err"; return 1; }
}
asked() # MODE COMMAND...: needs approval, and nothing of it ran
{
	runs "$1" 126 "${@:2}" && grep -q 'E_APPROVAL: needs-approval' "$TMP/err"
}
says_of() # WANT OP PATH
{
	"$POLICY" why "$2" "$3" >"$TMP/out" 2>&1
	grep -q "^$1 " "$TMP/out" || { cat "$TMP/out"; return 1; }
}
modes_001() { runs accept-edits 0 cat "$HOME/note"; }
modes_002() { says_of allowed modify ./new; }
modes_003() { says_of denied modify ./.git/hooks/pre-commit; }
modes_004() { runs accept-edits 0 ls -la; }
modes_005() { asked accept-edits npm test; }
modes_006() { asked accept-edits curl x; }
modes_007() { says_of denied modify /etc/x && asked accept-edits touch "$HOME/x"; }
modes_008() { PATH=$TMP/bin:$PATH runs auto 0 npm test && [ -s tested ]; }
modes_009() { runs auto 0 bash -c 'echo 1 >ran' && [ -s ran ]; }
modes_010() { runs auto 1 sh -c 'echo x >.git/hooks/pre-commit || exit 1' || [ "$status" -ne 0 ]; [ ! -e .git/hooks/pre-commit ]; }
modes_011() { launch --mode auto -- cat "$HOME/.ssh/id_rsa"; [ "$status" -ne 0 ] && [ ! -s "$TMP/out" ]; }
modes_012()
{
	[ -x "${SBX%sbx-launch}mkhost" ] && "${SBX%sbx-launch}mkhost" --no landlock true 2>/dev/null || return 77
	"${SBX%sbx-launch}mkhost" --no landlock "$SBX" --mode auto -- touch never 2>"$TMP/err"
	[ $? -eq 125 ] && [ ! -e never ]
}
modes_013() { echo s >"$HOME/given"; launch --reads system --also-read "$HOME/given" -- cat "$HOME/given"; [ "$(cat "$TMP/out")" = s ]; }
modes_014() { runs nonsense 125 true && grep -q 'E_USAGE.*accept-edits' "$TMP/err"; }
rows modes.tsv

# ---- caliban ----
table() # LINES OF [sandbox]
{
	printf '[sandbox]\nenabled = true\n%b\n[sandbox.filesystem]\nallow_write = ["${WORKSPACE}"]\n' "$1" >"$TMP/c.toml"
	chmod 600 "$TMP/c.toml"
}
refused() # LINES: as a document, with its place
{
	table "$1"
	"$POLICY" check "$TMP/c.toml" >"$TMP/out" 2>&1
	[ $? -eq 2 ] && grep -q 'c.toml:[0-9]*:[0-9]*: ' "$TMP/out" || { cat "$TMP/out"; return 1; }
}
approves() # WORD LINES OPTIONS...
{
	table "$2"
	"$POLICY" approve -p "$TMP/c.toml" "${@:3}" -- make >"$TMP/out" 2>&1
	grep -q "^$1: " "$TMP/out" || { cat "$TMP/out"; return 1; }
}
no_backend() # LINES: a run by bubblewrap
{
	table "$1"
	launch --backend bwrap -p "$TMP/c.toml" -- touch never
	[ "$status" -eq 125 ] && [ ! -e never ] && grep -q "bwrap" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
flag='auto_allow_bash_if_sandboxed ='
caliban_detect_014() { no_backend 'fail_if_unavailable = true\nbwrap_path = "/nonexistent/bwrap"' && grep -q "backend 'bwrap' not available at /nonexistent/bwrap" "$TMP/err"; }
caliban_detect_015() { no_backend 'fail_if_unavailable = false\nbwrap_path = "/nonexistent/bwrap"'; }
caliban_detect_019() { refused '[sandbox.network]\nhttp_proxy_port = 1\nsocks_proxy_port = 2'; }
caliban_detect_020() { refused '[sandbox.network]\nallowed_domains = ["x.org"]'; }
caliban_detect_021() { refused '[sandbox.network]\ndenied_domains = ["x.org"]'; }
caliban_detect_024()
{
	[ -x "${SBX%sbx-launch}mkhost" ] && "${SBX%sbx-launch}mkhost" --no landlock true 2>/dev/null || return 77
	table "$flag true"
	"${SBX%sbx-launch}mkhost" --no landlock "$POLICY" approve -p "$TMP/c.toml" -- make >"$TMP/out" 2>&1
	grep -q '^ask: needs-approval: it would not run sandboxed here' "$TMP/out"
}
caliban_detect_025() { approves allow "$flag true" && approves allow "$flag true" --auto-allow; }
caliban_detect_026() { approves ask "$flag false" && approves ask "$flag false" --auto-allow && approves ask '' --auto-allow; }
caliban_detect_028() { refused 'bogus_field = true'; }
rows caliban_detect.tsv
check 'the option is the flag of other documents' eval '[ "$("$POLICY" approve --auto-allow -- make)" = "allow: it runs sandboxed" ]'
check 'whose denials come first all the same' eval 'table "$flag true" && "$POLICY" approve -p "$TMP/c.toml" --deny-read "$HOME/note" -- cat "$HOME/note" | grep -q ^deny:'

# ---- Orbit's events ----
cat >"$TMP/o.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: o}
spec:
  denyRead: [secret]
  denyModify: [fixed]
  fsProfiles: {p: {read: ["**"], modify: ["open/**", "fixed*"]}, none: {read: ["**"]}}
X
chmod 600 "$TMP/o.yaml"
mkdir -p open && echo s >secret && echo f >fixed && echo p >p
events() # PROFILE SCRIPT: the lines of Orbit
{
	launch -q --audit-level all -p "$TMP/o.yaml" --profile "$1" -- sh -c "$2"
	"$AUDIT" show --format orbit >"$TMP/events"
}
event() # TYPE PATH RULE
{
	python3 - "$TMP/events" "$@" <<'P'
import json, sys
name, kind, path, rule = sys.argv[1:5]
for line in open(name):
    e = json.loads(line)
    text = json.dumps(e)
    if kind in text and '"%s"' % path in text and (not rule or '"%s"' % rule in text):
        sys.exit(0)
print(open(name).read()[-2000:])
sys.exit(1)
P
}
if command -v python3 >/dev/null; then
	fs_call_events_001() { events p 'cat p' && event fs.call.request ./p '' && event fs.call.result ./p ''; }
	fs_call_events_002() { events p 'cat secret' && event fs.call.denied ./secret secret; }
	fs_call_events_003() { events p 'echo x >fixed' && event fs.call.denied ./fixed fixed; }
	fs_call_events_006() { events p 'mkdir open/../open/d; ls .' && event fs.call.request ./open/d ''; }
	fs_call_events_008() { events p 'echo x >elsewhere' && event fs.call.denied ./elsewhere '<no matching rule>'; }
	fs_call_events_009() { events none 'echo x >elsewhere' && event fs.call.denied ./elsewhere '[]'; }
	rows fs_call_events.tsv
fi
