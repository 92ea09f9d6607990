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

# ---- what hides a change without a lie ----
tricks() # NAME LINES...: of the python that stands on standard input
{
	name=$1
	shift
	cat >"$TMP/trick.py"
	launch -q --read "$TMP" -- python3 -c "$(cat "$TMP/head.py" "$TMP/trick.py")"
	"$AUDIT" changes >"$TMP/answer" 2>&1
	check "$name" said "$@"
}
cat >"$TMP/head.py" <<'EOP'
import ctypes, os
def write(path):
    with open(path, "w") as f: f.write("evil")
def exchange(a, b):
    if ctypes.CDLL(None).renameat2(-100, a, -100, b, 2) < 0: raise OSError
EOP
fresh && echo was >precious && mkdir d && echo was >d/old
tricks 'written, then removed: it was there' 'D ./precious' 'D ./d' 'D ./d/old' <<'EOP'
write("precious"); os.unlink("precious"); write("d/old"); os.unlink("d/old"); os.rmdir("d")
EOP
fresh && echo was >victim && echo was >second
tricks 'written by another name of the file' 'M ./victim' 'M ./second' <<'EOP'
os.link("victim", "tmp"); write("tmp"); os.unlink("tmp")
os.link("second", "t"); os.rename("t", "second"); write("t"); os.unlink("t")
EOP
fresh && echo was >keep && echo was >w4
tricks 'exchanged' 'M ./keep' 'M ./w4' 'R ./w4 -> ./t4x' <<'EOP'
write("t"); exchange(b"keep", b"t"); os.unlink("t")
write("t4x"); exchange(b"w4", b"t4x")
EOP
fresh && mkdir D12 D15 && echo was >D12/f && echo was >D15/f
tricks 'a directory made anew, or away and back' 'M ./D12' 'M ./D12/f' 'M ./D15/f' <<'EOP'
os.rename("D12", "O12"); os.mkdir("D12"); write("D12/f"); os.unlink("O12/f"); os.rmdir("O12")
os.mkdir("X15"); exchange(b"D15", b"X15"); write("X15/f"); exchange(b"D15", b"X15"); os.rmdir("X15")
EOP
fresh && for f in v1 v3 v4 v9 v14 v16; do echo was >$f; done
tricks 'moved away, written and moved back' 'M ./v3' 'M ./v4' 'M ./v9' 'M ./v14' 'R ./v16 -> ./t16  modified' <<'EOP'
os.rename("v3", "t3"); write("t3"); os.rename("t3", "v3")
write("t4"); os.rename("t4", "v4")
os.mkdir("T"); os.rename("v9", "T/v9"); os.rename("T", "U"); write("U/v9"); os.rename("U/v9", "v9"); os.rmdir("U")
os.unlink("v14"); write("v14")
os.link("v1", "k"); os.unlink("v1"); os.rename("k", "v1")
os.rename("v16", "t16"); write("t16")
EOP
fresh
tricks 'what the run made is new, wherever it is, or temporary' 'A ./a' 'A ./e' 'A ./e/g' 'A ./link' <<'EOP'
write("a"); os.link("a", "link"); os.mkdir("d"); write("d/f"); os.rename("d/f", "d/g"); os.rename("d", "e")
write("gone"); write("gone"); os.rename("gone", "gone2"); os.unlink("gone2"); os.mkdir("dd"); os.rmdir("dd")
EOP
check 'and counted' grep -q '^2 temporary' "$TMP/answer"
fresh
cat >"$TMP/trick.py" <<'EOP'
for i in range(20): os.mkdir("d" * 250); os.chdir("d" * 250)
open("evil", "w").write("evil")
EOP
launch -q -- python3 -c "$(cat "$TMP/head.py" "$TMP/trick.py")"
"$AUDIT" changes >"$TMP/answer" 2>&1
check 'a path that is too long is not a temporary one' eval '[ "$(grep -c "^A" "$TMP/answer")" -ge 17 ] && grep -q "a longer path" "$TMP/answer" && ! grep temporary "$TMP/answer"'
rm -rf d*

# ---- a run inside hides nothing of the run ----
fresh
launch -q --read "${SBX%/*}" -- sh -c "echo evil >evil; $SBX -q -- true"
"$AUDIT" changes >"$TMP/answer" 2>&1
check 'the last run is the outermost' grep -qx 'A ./evil' "$TMP/answer"
check 'and says that there are runs inside' grep -q '^1 runs inside' "$TMP/answer"
