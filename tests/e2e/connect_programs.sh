#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules on endpoints for programs (`by`): met by a program and by all that goes back to it, by fork(2)
# and by execve(2), whatever becomes of those between.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

PYTHON=$(readlink -f "$(command -v python3)")
put() # FILE TEXT: in the directory of each of $WHO
{
	printf '%s\n' "$2" >"$1"
	[ -z "${PLACE:-}" ] || { cp "$1" "$PLACE/ws/$1" && chmod 644 "$PLACE/ws/$1"; }
}
policy() # NAME RULES
{
	put "$1.yaml" "schemaVersion: 2
kind: Policy
metadata: {name: $1}
spec:
  sandbox: {}
  fsProfiles:
    dev: {read: ['**'], modify: ['./**'], connect: [$2]}"
}
policy open "{to: 'localhost:8080', by: [$PYTHON]}"
policy shut "'localhost:8080', {to: '!localhost:8080', by: [$PYTHON]}"
policy of-env "{to: 'localhost:8080', by: [$(readlink -f "$(command -v env)")]}"

CURL='curl -sS -m 20 http://localhost:8080/x'
REACHED='^localhost:8080 /x$'
NOT='Failed to connect|Couldn.t connect|Connection refused'
put starts.py "import subprocess, sys
sys.exit(subprocess.run('$CURL'.split()).returncode)"
put becomes.py "import os
os.execvp('curl', '$CURL'.split())"
put shell.py "import os
os.execvp('bash', ['bash', '-c', '$CURL; exit \$?'])"
put deep.py "import os
os.execvp('bash', ['bash', 'deep.sh', '70'])"
put deep.sh "[ \$1 -gt 0 ] || { $CURL; exit; }
bash deep.sh \$((\$1 - 1))
exit"
put orphan.py "import os, time
r, w = os.pipe()
os.set_inheritable(w, True)
if os.fork() == 0:
    middle = os.getpid()
    if os.fork() == 0:
        while os.getppid() == middle:
            time.sleep(0.01)
        os.execvp('curl', '$CURL'.split())
    os._exit(0)
os.wait()
os.close(w)
os.read(r, 1)"
put inside.py "import subprocess, sys
sys.exit(subprocess.run(['$SBX', '-qq', '--connect', 'localhost:8080', '--'] + '$CURL'.split()).returncode)"
# one that was there before its parent became the program
put before.sh "(read -r -t 0.5 <> <(:); $CURL) & exec python3 -c 'import time; time.sleep(2)'"

as_each 'an opening is not for everybody' 7 "$NOT" -p open.yaml -- $CURL
as_each 'it is for what the program starts' 0 "$REACHED" -p open.yaml -- python3 starts.py
as_each 'and for what it becomes' 0 "$REACHED" -p open.yaml -- python3 becomes.py
as_each 'and what that starts' 0 "$REACHED" -p open.yaml -- python3 shell.py
as_each 'seventy programs later' 0 "$REACHED" -p open.yaml -- python3 deep.py
as_each 'and for what has lost its parent' 0 "$REACHED" -p open.yaml -- python3 orphan.py
as_each 'by a program that only starts another' 0 "$REACHED" -p of-env.yaml -- env $CURL
as_each 'not for what its process has started before' 0 "$NOT" -p open.yaml -- bash before.sh
as_each 'nor in a run inside' 7 "$NOT" -p open.yaml -- python3 inside.py

as_each 'a denial is not for everybody' 0 "$REACHED" -p shut.yaml -- $CURL
as_each 'nor for what others start' 0 "$REACHED" -p shut.yaml -- bash -c "bash -c '$CURL; true'; true"
as_each 'or have left alone' 0 "$REACHED" -p shut.yaml -- bash -c "(exec 3>&1; ($CURL >&3; echo >done) &); until [ -e done ]; do sleep 0.05; done; rm done"
as_each 'nor for what its process has started before, as long as that starts nothing' 0 "$REACHED" -p shut.yaml -- bash before.sh
for p in starts becomes shell deep; do
	as_each "a denial is for what the program starts: $p" 7 "$NOT" -p shut.yaml -- python3 $p.py
done
as_each 'and for what has lost its parent' 0 "$NOT" -p shut.yaml -- python3 orphan.py
as_each 'and in a run inside' 7 "$NOT" -p shut.yaml -- python3 inside.py

# A program that is the command's to change
put own.sh '#!/bin/sh'
policy of-own "{to: 'localhost:8080', by: [$PWD/own.sh]}, {to: 'b.example.net:80', by: ['$PWD/bin/*']}"
as_own() # PROGRAM: named by a start, and by lint
{
	"$SBX" -p of-own.yaml -- true 2>"$TMP/err"
	"${SBX%/*}/sbx-policy" lint -p of-own.yaml >"$TMP/out" 2>&1
	[ "$(grep -c "is for the program $1, but the command may change that file" "$TMP/err")" = 1 ] &&
		[ "$(grep -c "is for the program $1, but the command may change that file \[program-changeable\]" "$TMP/out")" = 1 ]
}
others() # POLICY: of which none is named
{
	"$SBX" -p "$1" -- true 2>"$TMP/err"
	! grep -q 'which the command may change' "$TMP/err"
}
if [ "$WHO" = me ]; then
	check 'a program that the command may change is named' as_own "$PWD/own.sh"
	check 'and a pattern of such' as_own "$PWD/bin/\*"
	check 'no other program is' others open.yaml
fi

# Where programs lie at the same addresses each time nothing tells their images apart.
fixed() # STATUS POLICY
{
	setarch -R "$SBX" -qq -p $2 -- $CURL >"$TMP/out" 2>"$TMP/err"
	[ $? = "$1" ]
}
if [ "$WHO" = me ] && setarch -R true 2>/dev/null; then
	check 'without random addresses a denial is for everybody' fixed 7 shut.yaml
fi
