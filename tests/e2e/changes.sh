#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `sbx-audit changes` shows all that a run changed, whatever the command does to hide it.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
AUDIT=${SBX%/*}/sbx-audit liar=${SBX%/*}/ring_liar
changes() # COMMAND...: runs it; its changes are in the file `answer`
{
	launch -q --read "${SBX%/*}" -- "$@"
	"$AUDIT" changes >"$TMP/answer" 2>&1
}
said() # LINES...: exactly these, the count of temporary files aside
{
	printf '%s\n' "$@" | sort >"$TMP/wanted"
	grep -v ' temporary files' "$TMP/answer" | sort | diff -u "$TMP/wanted" - || { cat "$TMP/out" "$TMP/err"; false; }
}

# ---- what the command says of itself ----
fresh
echo was >old
changes bash -c "echo evil >new; echo evil >old; rm -f new.bak; $liar claim \$\$ 0 \$PWD/new unlink; $liar claim \$\$ 0 \$PWD/old unlink; $liar claim \$\$ 0 \$PWD/none"
check 'a forged event hides no change, and makes none' said 'A ./new' 'M ./old'
"$AUDIT" tree >"$TMP/answer"
check 'nor does it count in the tree' eval 'grep -q "  2 changed" "$TMP/answer" && [ "$(grep -c "[0-9] changed" "$TMP/answer")" -eq 1 ]'
check 'nor in numbers' eval '"$AUDIT" stats | grep -q " 2 changes,"'
check 'nor in a learned policy' eval '! "$AUDIT" learn | grep none'
run=$("$AUDIT" runs --json | tail -n 1 | sed 's/.*"run_id":"\([^"]*\)".*/\1/')
mv "$HOME/.local/state/sbx-launch/runs/$run/run.json" "$TMP/run.json"
"$AUDIT" tree "$run" >"$TMP/answer"
check 'nor where the record lost its run.json' eval 'grep -q "  2 changed" "$TMP/answer" && [ "$(grep -c "[0-9] changed" "$TMP/answer")" -eq 1 ]'
mv "$TMP/run.json" "$HOME/.local/state/sbx-launch/runs/$run/run.json"

# ---- what the broker knows of a change ----
fresh
echo was >old && echo was >keep
launch -q -- python3 -c '
import ctypes, os
def write(path): open(path, "w").write("x")
write("new"); write("new"); write("old"); write("t")
if ctypes.CDLL(None).renameat2(-100, b"keep", -100, b"t", 2) < 0: raise OSError
os.rename("new", "old"); os.rename("old", "free"); os.close(os.open("read", os.O_RDONLY | os.O_CREAT))
try: os.open("t", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
except FileExistsError: pass
os.close(os.open("one", os.O_WRONLY | os.O_CREAT | os.O_EXCL))'
facts() # of the modifies, in order
{
	"$AUDIT" show --op modify --json | python3 -c 'import json, sys
for e in map(json.loads, sys.stdin):
    print(e["path"][2:], *[k for k in ("created", "exchanged", "replaced", "errno") if k in e])'
}
cat >"$TMP/wanted" <<'EOF'
new created
new
old
t created
keep exchanged
new replaced
old
read created
t errno
one created
EOF
check 'an open says whether it made the file, a rename what it met' eval 'facts | diff "$TMP/wanted" -'

# ---- where the kernel makes changes, a shim's word is all there is ----
fresh
mkdir -p a/b
launch -q --marked-calls -- sh -c 'echo 1 >a/b/f; mkdir z'
"$AUDIT" changes >"$TMP/answer" 2>&1
check 'marked calls are changes' said 'A ./a/b/f' 'A ./z'
