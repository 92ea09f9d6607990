#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is left on the host when launcher, broker or command are killed in a storm of files: nothing
# but what the command made.
. "$(dirname "$0")/../support/e2e.sh"

cat >"$TMP/storm.py" <<'P'
import os, threading
def work(i):
    for n in range(10**9):
        with open(f"t{i}.tmp", "w") as f: f.write(str(n))
        os.replace(f"t{i}.tmp", f"t{i}")
        if n == 20: open(f"go{i}", "w").close()
        try: open(".git/hooks/x", "w")
        except OSError: pass
        try: open("x.env").read()
        except OSError: pass
[threading.Thread(target=work, args=(i,)).start() for i in range(4)]
P
until_() # COMMAND...: within 20 seconds
{
	for _ in $(seq 2000); do
		"$@" 2>/dev/null && return
		sleep 0.01
	done
}
is_gone() { ! kill -0 "$1"; }
left() # NAME WHO STATUS
{
	fresh
	"$SBX" -q --deny-read '**/*.env' -- python3 -B "$TMP/storm.py" >"$TMP/out" 2>"$TMP/err" </dev/null &
	launcher=$!
	until_ [ -e go3 ]
	command=$(pgrep -P $launcher -x python3)
	case $2 in
	launcher) kill -9 $launcher ;;
	broker) kill -9 "$(pgrep -P $launcher -x sbx-broker)" ;;
	command) kill -9 "$command" ;;
	esac
	wait $launcher 2>/dev/null
	status=$?
	check "$1: its status" [ $status -eq "$3" ]
	until_ is_gone "$command"
	check "$1: only what the command made is left" \
		sh -c '! ls -A | grep -vxE "(go[0-3]|t[0-3](\.tmp)?)"'
	"$SBX" -qq --deny-read '**/*.env' -- rm -rf go* t* >"$TMP/out" 2>&1
	check "$1: the next run finds nothing in its way" sh -c "[ ! -s '$TMP/out' ] && [ -z \"\$(ls -A)\" ]"
	check "$1: and no scratch is left after it" [ -z "$(ls -A "$TMPDIR")" ]
}
left 'kill -9 of the launcher' launcher 137
left 'kill -9 of the broker' broker 125
left 'kill -9 of the command' command 137
exit 0
