#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every key that public policy files of other systems have loads, or is refused with its place.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

here=$(dirname "$0")
command -v python3 >/dev/null || { skip 'keys of public files' 'python3 is not installed'; exit 0; }
# Root becomes the user of `process`, whom this host may lack: what a run says then is no matter of the document.
run=$SBX
[ "$(id -u)" -ne 0 ] || run=
# shellcheck disable=SC2086
check 'keys of public files, and check says what a run does' \
	python3 "$here/foreign_keys.py" "$(dirname "$SBX")/sbx-policy" "$here/foreign_keys.tsv" $run

# An inner key of Claude Code's is srt's, and decides.
cat >"$TMP/claude.json" <<'J'
{"sandbox": {"enabled": true, "credentials": {"files": [{"path": "/etc/hosts", "mode": "deny"}],
 "envVars": [{"name": "TOKEN_X", "mode": "deny"}]}}}
J
chmod 600 "$TMP/claude.json"
TOKEN_X=1 launch -p "$TMP/claude.json" -- sh -c 'cat /etc/hosts; echo "token ${TOKEN_X-none}"'
check 'what sandbox.credentials names is closed' [ "$(cat "$TMP/out")" = 'token none' ]
sed 's/"envVars"/"envVar"/' "$TMP/claude.json" >"$TMP/wrong.json" && chmod 600 "$TMP/wrong.json"
launch -p "$TMP/wrong.json" -- true
check 'and an inner key that is none is refused with its place' grep -q 'wrong.json:2:2: unknown field `envVar`' "$TMP/err"
exit 0
