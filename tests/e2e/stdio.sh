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

# What was given to be written to has its mode, owner, times and attributes from outside.
cat >"$TMP/meta.py" <<'EOF'
import os, sys
path = sys.argv[1]
acts = {
    "fchmod": lambda: os.fchmod(1, 0o777),
    "chmod": lambda: os.chmod(path, 0o777),
    "chmod by /proc": lambda: os.chmod("/proc/self/fd/1", 0o777),
    "fchown": lambda: os.fchown(1, os.getuid(), os.getgid()),
    "times": lambda: os.utime(1, (1, 1)),
    "xattr": lambda: os.setxattr(1, "user.sbx", b"x"),
    "xattr by name": lambda: os.setxattr(path, "user.sbx", b"x"),
}
for name, act in acts.items():
    try:
        act()
        print("done:", name, file=sys.stderr)
    except OSError as e:
        pass
os.utime(1)
os.ftruncate(1, 0)
print("written", flush=True)
EOF
metadata() # WANTED REDIRECTION [OPTION...]: what is done
{
	local want=$1 how=$2
	shift 2
	: >"$TMP/out" && chmod 640 "$TMP/out"
	(eval "exec \"\$SBX\" -q \"\$@\" -- python3 '$TMP/meta.py' '$TMP/out' $how '$TMP/out'") 2>"$TMP/err"
	cat "$TMP/err"
	[ "$(cat "$TMP/out")" = written ] && [ "$(grep -c '^done: ' "$TMP/err")" = "$want" ]
}
if ! command -v python3 >/dev/null; then
	skip 'metadata of what was given' 'there is no python3'
elif setfattr -n user.sbx -v y "$TMP/beside" 2>/dev/null || python3 -c "import os; os.setxattr('$TMP/beside', 'user.sbx', b'y')"; then
	check '>> of a file outside: bytes alone' metadata 0 '>>' --read "$TMP"
	check 'and it has the mode that it had' [ "$(stat -c %a "$TMP/out")" = 640 ]
	check '1<> of it: bytes alone' metadata 0 '1<>' --read "$TMP"
	check 'where a rule opens the file they can be changed' metadata 7 '>>' --read "$TMP" --modify "$TMP/out"
else
	skip 'metadata of what was given' 'no attributes on this file system'
fi
exit 0
