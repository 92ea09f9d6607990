#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs that no shim sees, names, words and runs inside, against the record: see record.sh.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/record.sh"

# ---- programs that no shim sees ----
attack 'without LD_PRELOAD' "unset LD_PRELOAD; bash -c '$ACT'"
attack 'with another LD_PRELOAD' "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libdl.so.2 bash -c '$ACT'"
attack 'with an empty environment' "env -i /bin/bash -c '$ACT'"
attack 'with LD_AUDIT and LD_BIND_NOW' "LD_AUDIT=/nonexistent.so LD_BIND_NOW=1 bash -c '$ACT'"
attack 'without the variables of the run' "for v in \$(env | sed -n 's/^\(SBX_[A-Z_]*\)=.*/\1/p'); do unset \$v; done; bash -c '$ACT'"
for how in $(first 4 plain vfork memfd uring closed undumpable killed thread); do
	attack "a static program: $how" "$hidden $how real .git/hooks/evil; $hidden plain real .git/hooks/evil 2>/dev/null; echo tried"
done
attack 'descriptors are closed' "python3 -c 'import os
os.closerange(3, 4096)
os.mkdir(\"real\")
try: open(\".git/hooks/evil\", \"w\")
except OSError: pass'; echo tried"
attack 'a name that is the launcher'\''s' "cp /bin/bash sbx-launch; (exec -a sbx-launch ./sbx-launch -c '$ACT')"
own_exe()
{
	show | grep '"path":"./real"' | grep -qv '"exe":"[^"]*bin/sbx-launch"'
}
check 'is not taken for it' own_exe

# ---- the end in the middle ----
begin
launch -q --context who=outer -- bash -c 'for n in 1 2 3 4 5 6 7 8; do
	python3 -c "import os
i = 0
while True: os.mkdir(\"real$n-%d\" % i); i += 1" & p=$!
	until [ -e real$n-$n ]; do :; done; kill -9 $p; wait $p; done 2>/dev/null; mkdir real; (: >.git/hooks/evil) 2>/dev/null; echo tried'
check 'killed in the middle: was tried' eval 'grep -qx tried "$TMP/out" && [ "$(ls -d real*-* | wc -l)" -gt 8 ]'
check 'killed in the middle: each directory that stands has its line' sound real evil
attack 'everything in sight is killed' "mkdir real; (: >.git/hooks/evil) 2>/dev/null; echo tried; kill -9 -1"
begin
launch -q --context who=outer -- bash -c "$ACT; kill -9 \$PPID 1 2 2>/dev/null; mkdir real2; echo tried"
check 'the supervisor is killed: was tried' grep -qx tried "$TMP/out"
check 'the supervisor is killed: what was done before has its line, and nothing is done after' sound real evil
attack 'somebody acts when the run has ended' "(setsid bash -c 'sleep 0.3; mkdir real-late' &) >/dev/null 2>&1; $ACT"
attack 'others are traced' "python3 -c 'import ctypes, os
c = ctypes.CDLL(None)
for p in os.listdir(\"/proc\"):
    if p.isdigit() and int(p) != os.getpid(): c.ptrace(16, int(p), 0, 0)
'; $ACT"

# ---- names and words ----
attack 'a name with a line in it' "mkdir \$'x\\n{\"seq\":1,\"kind\":\"result\",\"path\":\"./forged\",\"layer\":\"broker\"}'; $ACT"
attack 'words with a line in them' "bash -c : \$'\\n{\"kind\":\"result\",\"path\":\"./forged\",\"layer\":\"broker\"}' '\"],\"layer\":\"broker\",\"path\":\"./forged'; $ACT"
attack 'a name with quotes and braces' "mkdir '\",\"layer\":\"broker\",\"path\":\"./forged' '\\\",\"chain\":\"00\"}'; $ACT"
attack 'names that a terminal acts upon' "mkdir \$'\\e]0;owned\\a' \$'\\e[2J' \$'\\x9b31m'; (: >.git/hooks/\$'\\e[31mforged') 2>/dev/null; $ACT"
no_control()
{
	"$AUDIT" show "$(outer)" >"$TMP/answer" && "$AUDIT" denials "$(outer)" >>"$TMP/answer" && cat "$TMP/err" >>"$TMP/answer"
	! LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177')]" "$TMP/answer"
}
check 'and do not act upon one' no_control
attack 'a name of 4 KiB' "python3 -c 'import os
d = os.open(\".\", os.O_RDONLY)
for i in range(20):
    os.mkdir(\"d\" * 250, dir_fd=d); d = os.open(\"d\" * 250, os.O_RDONLY, dir_fd=d)
try: os.mkdir(\"forged/\" * 590)
except OSError: pass'; $ACT"

# ---- runs inside ----
attack 'a context from inside' "SBX_CONTEXT=who=forged bash -c '$ACT'; $SBX --context who=forged -- true"
attack 'a run inside without a record' "$SBX -q --audit-level none -- bash -c '$ACT'"
attack 'a run inside without events' "$SBX -q --no-shim -- bash -c '$ACT'"
attack 'a run inside that hears of denials alone' "$SBX -q --audit-level denied -- true; $ACT"
attack 'a run inside with a log of its own' "$SBX -q --audit-file \$PWD/own -- true; $SBX -q --audit-file $RUNS/x -- true; $ACT"
attack 'a run inside whose command is killed' "$SBX -q --timeout 300ms --kill-after 100ms -- sleep 5; $ACT"
attack 'many runs inside' "for i in 1 2 3 4; do $SBX -q -- true & done; wait; $ACT"
