#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-launch --hook and --setup, without agents: what a hook answers, how it fails, what settings
# become, and that an undo gives them back. tests/e2e/agents.sh has the agents themselves.
. "$(dirname "$0")/../support/e2e.sh"

mkdir -p "$HOME/.ssh"
echo secret >"$HOME/.ssh/key"
call='{"session_id":"s1","tool_use_id":"t1","tool_name":"Bash","tool_input":{"command":"echo \"it is $0\"; cat ~/.ssh/key; exit 3","timeout":9}}'

# ---- the hook ----
hook() # ARGS...: the answer in $TMP/out
{
	printf '%s' "$call" | "$SBX" "$@" >"$TMP/out" 2>"$TMP/err"
	status=$?
}
field() # NAME...: of the answer
{
	python3 -c 'import functools, json, sys
print(functools.reduce(lambda j, k: j[k], sys.argv[2:], json.load(open(sys.argv[1]))))' "$TMP/out" "$@"
}
hook -q --hook claude
check 'answers with status 0' [ $status -eq 0 ]
check 'keeps the rest of the call' [ "$(field hookSpecificOutput updatedInput timeout)" = 9 ]
check 'decides nothing for the user' sh -c '! grep -q permissionDecision "$1"' - "$TMP/out"
bash -c "$(field hookSpecificOutput updatedInput command)" >"$TMP/ran" 2>&1
status=$?
check 'its command ends as asked' [ $status -eq 3 ]
check 'runs confined' sh -c 'grep -q "it is " "$1" && ! grep -qx secret "$1"' - "$TMP/ran"
check 'its run says whose it was' sh -c 'grep -l "\"context\":\"agent=claude,session=s1,call=t1\"" "$HOME"/.local/state/sbx-launch/runs/*/run.json'
check 'so does sbx-audit' sh -c '"$1" | grep -q "^context  *agent=claude,session=s1,call=t1$"' - "$(dirname "$SBX")/sbx-audit"

blocked() # NAME ARGS...: status 2, no answer, and a word why
{
	blocked_name=$1
	shift
	hook "$@"
	check "refuses the call: $blocked_name" [ "$status $(wc -c <"$TMP/out") $(grep -c '^sbx-launch: E_' "$TMP/err" | sed 's/[1-9].*/some/')" = '2 0 some' ]
}
blocked 'an option that is not there' --nonesuch --hook claude
blocked 'an option behind it' --hook claude --nonesuch
blocked 'a wrong value' --network moon --hook claude
blocked 'an agent that nobody knows' --hook cloud
blocked 'no agent' --hook
blocked 'a command behind' --hook claude -- true
blocked 'another question' --hook claude --setup codex
good=$call
for call in '' '{' '[]' '{"tool_name":"Bash"}' '{"tool_name":"Bash","tool_input":{"command":1}}' "$(printf '{"tool_name":"Bash","tool_input":{"command":"\377"}}')"; do
	blocked "it reads $(printf '%.30s' "$call" | tr -cd '[:print:]')" --hook claude
done
call=$good
mkdir "$TMP/alone" && cp "$SBX" "$TMP/alone"
printf '%s' "$call" | "$TMP/alone/sbx-launch" --hook claude >"$TMP/out" 2>"$TMP/err"
check 'refuses the call: the other program is gone' [ "$? $(wc -c <"$TMP/out")" = '2 0' ]
printf '#!/bin/sh\necho "{}"\nkill -KILL $$\n' >"$TMP/alone/sbx-adopt"
chmod 755 "$TMP/alone/sbx-adopt"
printf '%s' "$call" | "$TMP/alone/sbx-launch" --hook claude >"$TMP/out" 2>"$TMP/err"
check 'refuses the call: the other program is killed' [ "$? $(wc -c <"$TMP/out")" = '2 0' ]
mkfifo "$TMP/fifo"
exec 9<>"$TMP/fifo"
timeout 60 "$SBX" --hook claude <"$TMP/fifo" >"$TMP/out" 2>"$TMP/err"
check 'refuses the call: nothing comes' [ "$? $(wc -c <"$TMP/out")" = '2 0' ]
exec 9>&-

# ---- the settings ----
declare -A file=([claude]=.claude/settings.json [codex]=.codex/hooks.json [gemini]=.gemini/settings.json
	[cursor]=.cursor/hooks.json [opencode]=.config/opencode/plugins/sbx-launch.js)
hook_of() # FILE: the command of our hook, as the agent's shell gets it
{
	case $1 in
	*.js) sed -n 's/.*"-c", \(".*"\)\],$/\1/p' "$1" ;;
	*) grep -o '"command": "[^"]*--hook [^"]*"' "$1" | sed 's/^"command": //' ;;
	esac | python3 -c 'import json, sys; print(json.load(sys.stdin))'
}
for agent in $(first 3 claude codex opencode gemini cursor); do
	at=$HOME/${file[$agent]}
	launch --setup $agent --dry-run
	check "$agent: --dry-run shows" sh -c 'grep -q "^+.*--hook" "$1" && [ ! -e "$2" ]' - "$TMP/out" "$at"
	launch -q --setup $agent
	check "$agent: --setup makes the file" [ "$status $(test -s "$at"; echo $?)" = '0 0' ]
	[ $agent = opencode ] || check "$agent: it is JSON" python3 -m json.tool "$at"
	cp -p "$at" "$TMP/once"
	launch -q --setup $agent
	check "$agent: once more changes nothing" sh -c 'cmp "$1" "$2" && grep -q "nothing to do" "$3"' - "$at" "$TMP/once" "$TMP/out"
	tool=$(grep -oE 'Bash|run_shell_command|Shell|"bash"' "$at" | head -n 1 | tr -d '"')
	printf '{"tool_name":"%s","tool_input":{"command":"ls"}}' "$tool" | sh -c "$(hook_of "$at")" >"$TMP/out" 2>"$TMP/err"
	check "$agent: what it names is our hook" grep -q 'sbx-launch.*--quiet' "$TMP/out"
	sh -c "$(hook_of "$at" | sed 's,/sbx-launch,/sbx-gone,')" >"$TMP/out" 2>&1 </dev/null
	check "$agent: a launcher that is gone refuses the call" [ $? -eq 2 ]
	launch --network host --setup $agent
	check "$agent: other options" grep -q -e '--network=host --hook' "$at"
	launch --setup $agent --undo
	check "$agent: --undo leaves nothing" [ "$(cd "$HOME" && find . -path ./.local -prune -o -path './.c*' ! -path './.cache*' -print -o -path './.g*' -print)" = '' ]
	launch --setup $agent --undo
	check "$agent: once more has nothing to undo" [ "$status $(grep -c 'nothing to undo' "$TMP/out")" = '0 1' ]
done
check 'nothing is left of it beside the runs' [ ! -e "$HOME/.local/state/sbx-launch/setup" ]

mkdir -p "$HOME/.claude" "$HOME/.codex"
settings=$HOME/.claude/settings.json
printf '{"b": 1,   "env": {"X": "\\u00e9"},\n\t"hooks": {"PreToolUse": [ {"matcher": "Write", "hooks": []} ], "Stop": []}}' >"$settings"
chmod 640 "$settings"
cp -p "$settings" "$TMP/before"
launch --setup claude
check 'the rest stays' python3 -c 'import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert b["hooks"]["PreToolUse"].pop()["matcher"].startswith("Bash") and a == b' "$TMP/before" "$settings"
check 'so does the mode' [ "$(stat -c %a "$settings")" = 640 ]
launch --setup claude --undo
check 'an undo gives the bytes back' cmp "$settings" "$TMP/before"
launch --setup claude
sed -i 's/"b": 1/"b": 2/' "$settings"
sed 's/"b": 1/"b": 2/' "$TMP/before" >"$TMP/edited"
launch --setup claude --undo
check 'an undo leaves what was changed since' python3 -c 'import json, sys
a, b = (json.load(open(f)) for f in sys.argv[1:])
assert a == b' "$TMP/edited" "$settings"
echo '{}' >"$settings"
launch --setup claude
sed -i 's/^{/{ "a": 1,/' "$settings"
launch --setup claude --undo
check 'and takes out what it has made around' [ "$(python3 -m json.tool --compact "$settings")" = '{"a":1}' ]
ln -s ../dotfiles.json "$HOME/.codex/hooks.json"
echo '{"hooks":{}}' >"$HOME/dotfiles.json"
launch --setup codex
check 'a link of the user is followed' [ "$(readlink "$HOME/.codex/hooks.json") $(grep -c -e --hook "$HOME/dotfiles.json")" = '../dotfiles.json 1' ]
launch --setup codex --undo
check 'and back' [ "$(cat "$HOME/dotfiles.json")" = '{"hooks":{}}' ]

refused() # NAME PART ARGS...: an error that says this, and the settings are as before
{
	refused_name=$1 refused_part=$2
	shift 2
	cp "$settings" "$TMP/was"
	launch "$@"
	check "$refused_name: refused" [ "$status $(grep -c -e "$refused_part" "$TMP/err")" = '125 1' ]
	check "$refused_name: nothing changed" cmp "$settings" "$TMP/was"
}
echo '{"disableAllHooks": true}' >"$settings"
refused 'hooks out of force' disableAllHooks --setup claude
echo '{"hooks": ' >"$settings"
refused 'no JSON' 'settings.json: line 2' --setup claude
echo '{"hooks": {"PreToolUse": {}}}' >"$settings"
refused 'another shape' 'expected a list' --setup claude
refused '--undo alone' 'needs --setup\|only together' --undo
rm -r "$HOME/.claude"

# ---- a project ----
launch --setup claude --project
check 'a project: its file' grep -q -e --hook .claude/settings.json
launch --setup claude --project --undo
check 'a project: undone' [ ! -e .claude ]
mkdir elsewhere && ln -s elsewhere .claude
launch --setup claude --project
check 'a project: no link is followed' [ "$status $(ls elsewhere | wc -l) $(grep -c symlink "$TMP/err")" = '125 0 1' ]
exit 0
