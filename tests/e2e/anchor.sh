#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The end of a record, given to something outside; how the command ended.
. "$(dirname "$0")/../support/e2e.sh"
AUDIT=${SBX%/*}/sbx-audit
fresh
last()
{
	"$AUDIT" runs --json | tail -n 1 | sed 's/.*"run_id":"\([^"]*\)".*/\1/'
}
final()
{
	sed 's/.*"final_hash":"\([^"]*\)".*/\1/' "$HOME/.local/state/sbx-launch/runs/$(last)/run.json"
}
launch -q --anchor-command 'echo "$SBX_RUN $SBX_HASH" >"$HOME/anchor"' -- true
check 'a command outside gets run and hash' eval '[ "$status" -eq 0 ] && [ "$(cat "$HOME/anchor")" = "$(last) $(final)" ]'
check 'which verify shows' eval '"$AUDIT" verify | grep -q "$(final)"'
"$SBX" -q --anchor-fd 7 -- true 7>"$TMP/anchor" </dev/null
check 'and says what the chain is worth' eval '"$AUDIT" verify | grep -qF "a program that can read $HOME/.local/state/sbx-launch/runs/.key can forge them: only an anchor shows that"'
check 'a descriptor gets them' eval '[ "$(cat "$TMP/anchor")" = "$(last) $(final)" ]'
launch -q --anchor-command 'exit 3' -- true
check 'a command that fails is told, and the run is as it was' eval '[ "$status" -eq 0 ] && grep -q "anchor-command: status 3" "$TMP/err"'
launch -q --audit-required --anchor-command 'exit 3' -- true
check 'where the record is required it fails the run' [ "$status" -eq 125 ]
launch -q -- "$SBX" --anchor-command 'touch /tmp/outside' -- true
check 'a run inside has no command outside' eval '[ "$status" -ne 0 ] && [ ! -e /tmp/outside ]'

ended() # FIELD STATUS SCRIPT
{
	launch -q -- sh -c "$3"
	"$AUDIT" show --json --kind exit >"$TMP/exit" && grep -q "$1" "$TMP/exit" && "$AUDIT" tree | head -n 1 | grep -q "$2"
}
check 'the end of the command is a line' ended '"status":7,' '  status 7  [0-9.]* s$' 'exit 7'
check 'so is its signal' ended '"signal":9,' '  killed by signal 9  [0-9.]* s$' 'kill -9 $$'
check 'and the log keeps to its schema' python3 "$e2e_support/validate_log.py" "$HOME/.local/state/sbx-launch/runs/$(last)"

# More denials than a person reads in a second.
mkdir -p .git/hooks && git init -q .
launch -- python3 -c 'for i in range(40):
    try:
        open(".git/hooks/%d" % i, "w")
    except OSError:
        pass'
check 'a closing line says how many and where' grep -qx 'sbx-launch: 40 refused: sbx-audit denials' "$TMP/err"
