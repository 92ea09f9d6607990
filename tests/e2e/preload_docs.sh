#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The recipes of docs/PRELOAD.md, as they are printed there, and what stops a shell.
. "$(dirname "$0")/../support/e2e.sh"

doc=$(dirname "$0")/PRELOAD.md
export XDG_STATE_HOME=$TMP/state PATH=${SBX%/*}:$PATH
unset SBX_PROFILE
log() { echo "$XDG_STATE_HOME"/sbx-launch/runs/*/audit.jsonl; }
denied() { grep -q '"kind":"denied".*"path":"[^"]*/\.env"' "${1:-$(log)}"; }
snippet() # N LANGUAGE: the Nth block of that language
{
	awk -v n="$1" -v open="\`\`\`$2" '/^```/ { on = 0 } on && at == n { print } $0 == open { on = 1; at++ }' "$doc"
}
begin()
{
	rm -rf "$XDG_STATE_HOME" "$WS"/*
	echo secret >.env
	echo plain >file
}
document() # FILE PROFILE
{
	cat >"$1" <<Y
schemaVersion: 2
kind: Policy
metadata: {name: docs}
spec:
  denyRead: ["**/.env"]
  fsProfiles:
    $2: {read: ["**"], modify: ["**"]}
Y
}
run_sh() # SCRIPT
{
	out=$(timeout -k 1 60 bash -c "$1" 2>"$TMP/err")
	status=$?
}
check 'all blocks are tried here' [ "$(grep -c '^```[a-z]' "$doc")" = 5 ]
if [ "$(id -u)" -eq 0 ]; then
	begin
	out=$(SBX_PROFILE=default bash -c 'eval "$(sbx-launch --print-env)"
		exec setpriv --reuid=65534 --clear-groups cat /dev/null' 2>"$TMP/err")
	check "another user's program does not start" [ "$?$out" = 126 ]
	check 'and says why' grep -q "E_SHIM: the policy of this environment belongs to another user" "$TMP/err"
fi
common || exit 0

begin
document agent.yaml review
run_sh "$(snippet 1 sh)"$'\ncat .env; cat file'
check 'the first lines of the page' [ "$out" = plain ]
check 'are under the policy they name' denied

begin
run_sh "$(snippet 2 sh)"$'\ncat .env; cat file'
check 'a shell' [ "$out" = plain ]
check 'its programs are recorded' denied

begin
{
	printf 'workspace, tool = "%s", ["sh", "-c", "cat file; touch made; echo $SBX_CHANNEL"]\n' "$WS"
	snippet 1 python
} >"$TMP/harness.py"
out=$(timeout -k 1 60 python3 "$TMP/harness.py" 2>"$TMP/err")
check 'a Python harness' [ "${out%%deny:*}" = $'plain\n' ]
check 'its tools are recorded' grep -q '"path":"[^"]*/made".*"call":"open' "$(log)"

if command -v node >/dev/null; then
	begin
	echo 'console.log(require("fs").readFileSync("file", "utf8").trim() + process.env.SBX_CHANNEL)' >cli.js
	run_sh "$(snippet 3 sh)"
	check 'a node CLI' [ "${out%%deny:*}" = plain ]
	check 'is witnessed' grep -q '"kind":"hello".*/node"' "$(log)"
else
	skip 'a node CLI' 'no node'
fi

begin
document ci.yaml main
printf 'all:\n\t@cat file; cat .env; true\n' >Makefile
ARTIFACTS=$TMP run_sh "export ARTIFACTS='$TMP'; $(snippet 4 sh)"
check 'a CI job' [ "$out" = plain ]
check 'its log is where the job keeps it' denied "$TMP/files.jsonl"

# ---- whatever is wrong stops the shell ----
for words in --bogus '--audit-level much' '--deny-read' '--no-shim=x' '--require shim' '--read' \
	'--policy /nonexistent.yaml' '--image /nonexistent'; do
	out=$(SBX_PROFILE=default bash -c "eval \"\$(sbx-launch --print-env $words 2>/dev/null)\"; echo went on")
	check "--print-env $words: the shell goes no further" [ "$?$out" = 125 ]
done
out=$(bash -c 'eval "$(sbx-launch --print-envs 2>/dev/null)"; echo went on')
check 'the option itself misspelt' [ "$?$out" = 125 ]
launch --bogus -- echo --print-env
check 'but not where it is of the command' [ "$status$(cat "$TMP/out")" = 125 ]
out=$(bash -c 'f() { eval "$(sbx-launch --print-env --bogus 2>/dev/null)"; echo went on; }; f; echo "$?"')
check 'a function returns' [ "$out" = 125 ]

begin
document agent.yaml review
"${SBX%/*}/sbx-policy" compile -p agent.yaml -o image >"$TMP/out" 2>&1
run_sh 'eval "$(sbx-launch --print-env --image image)"; cat .env; cat file'
check 'a compiled policy' [ "$out" = plain ]

# ---- an environment that names no policy ----
begin
long=$TMP/$(printf 'd%.0s' $(seq 200))/$(printf 'd%.0s' $(seq 200))/$(printf 'd%.0s' $(seq 200))
long=$long/$(printf 'e%.0s' $(seq 200))/$(printf 'e%.0s' $(seq 200))
mkdir -p "$long"
out=$(SBX_PROFILE=default XDG_STATE_HOME=$long bash -c 'eval "$(sbx-launch --print-env)"; echo went on' 2>"$TMP/err")
check 'a directory of runs that no shim could be told of: refused' [ "$?$out" = 125 ]
check 'with the reason' grep -q 'E_SHIM.*XDG_STATE_HOME' "$TMP/err"
shim=${SBX%/*}/libsbx-shim.so
for value in deny: deny:relative "deny:$long$long"; do
	out=$(env LD_PRELOAD="$shim" SBX_CHANNEL="$value" cat file 2>"$TMP/err")
	check "SBX_CHANNEL=${value:0:20}: no program starts" [ "$?$out" = 126 ]
	check 'and says why' grep -q 'E_SHIM: SBX_CHANNEL does not name the policy' "$TMP/err"
done
run_sh "$(snippet 2 sh)"
channel=$(dirname "$(log)")
rm -f "$channel/image" && mkfifo -m 600 "$channel/image"
out=$(timeout -k 1 10 env LD_PRELOAD="$shim" SBX_CHANNEL="deny:$channel" cat file 2>"$TMP/err")
check 'a policy that is a pipe: no program starts, none waits' [ "$?$out" = 126 ]
