#!/bin/bash
# Input and output that are files outside the workspace: opened by name as without a sandbox.
. "$(dirname "$0")/../support/e2e.sh"

run() # SCRIPT [SBX-OPTIONS...]
{
	script=$1
	shift
	echo given >"$TMP/in"
	"$SBX" "$@" -- bash -c "$script" <"$TMP/in" >"$TMP/out" 2>"$TMP/err"
	status=$?
}

run 'echo one >/dev/stdout; echo two >>/dev/stderr'
check '> /dev/stdout' [ "$(cat "$TMP/out")" = one ]
check '>> /dev/stderr' [ "$(cat "$TMP/err")" = two ]
run 'echo three | tee /dev/stderr >/dev/null'
check 'tee /dev/stderr' [ "$(cat "$TMP/err")" = three ]
run 'cat /dev/stdin; echo no >/dev/stdin' --reads system
check 'what is open for reading is read' [ "$(cat "$TMP/out")" = given ]
check 'and not written to' [ "$(cat "$TMP/in")" = given ]
echo kept >"$TMP/beside"
run "echo x >'$TMP/beside'; echo x >'$TMP/new'"
check 'nothing beside it is opened' [ "$(cat "$TMP/beside")$(ls "$TMP" | grep -cx new)" = kept0 ]

# Closed ones stay closed for the command, and nothing of ours takes their place.
cat >"$TMP/which.py" <<'EOF'
import os, sys
closed = []
for fd in range(3):
    try:
        os.fstat(fd)
    except OSError:
        closed.append(fd)
open(sys.argv[1], "w").write(f"{closed}\n")
EOF
mode=$(stat -c %a /dev/null)
for how in '<&-' '>&-' '2>&-' '<&- >&-' '<&- >&- 2>&-'; do
	(eval "exec '$SBX' python3 '$TMP/which.py' inside $how")
	(eval "exec python3 '$TMP/which.py' bare $how")
	check "$how" cmp bare inside
done
check 'and /dev/null is as it was' [ "$(stat -c %a /dev/null)" = "$mode" ]

# A secret stays one.
mkdir -p "$HOME/.ssh" && echo key >"$HOME/.ssh/id_rsa"
"$SBX" -- sh -c 'cat /dev/fd/0 >/dev/null && cat "$HOME/.ssh/id_rsa"' <"$HOME/.ssh/id_rsa" \
	>"$TMP/out" 2>&1
check 'a secret as input is not opened by name' [ "$(grep -cx key "$TMP/out")" = 0 ]
"$SBX" -- sh -c 'echo x >>"$HOME/.ssh/id_rsa"' >>"$HOME/.ssh/id_rsa" 2>/dev/null
check 'nor written to as output' [ "$(cat "$HOME/.ssh/id_rsa")" = key ]
exit 0
