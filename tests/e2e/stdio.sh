#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
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

# Its name is its directory's, which nobody has opened.
mkdir "$TMP/logs"
L=$TMP/logs/a.log
cat >"$TMP/names.py" <<'EOF'
import ctypes, os, socket, sys
L, libc = sys.argv[1], ctypes.CDLL(None, use_errno=True)
def made(name):
    open(name, "w").write("evil\n")
    return name
def exchange():
    if libc.renameat2(-100, made("x").encode(), -100, L.encode(), 2):
        raise OSError(ctypes.get_errno(), "")
acts = {
    "move": lambda: os.rename(L, "stolen"),
    "replace": lambda: os.rename(made("m"), L),
    "exchange": exchange,
    "remove": lambda: os.unlink(L),
    "second name": lambda: os.link(L, "second"),
    "second name by descriptor": lambda: os.link("/proc/self/fd/1", "third", follow_symlinks=True),
    "a name for another": lambda: os.link(made("o"), L),
    "directory": lambda: os.mkdir(L),
    "FIFO": lambda: os.mkfifo(L),
    "file": lambda: os.mknod(L),
    "symlink": lambda: os.symlink("x", L),
    "socket": lambda: socket.socket(socket.AF_UNIX).bind(L),
    "open": lambda: open(L, "a").write("by name\n"),
}
for name, act in acts.items():
    try:
        act()
        print("done:", name, file=sys.stderr)
    except OSError:
        pass
EOF
names() # WANTED SCRIPT [OPTION...]: acts that are done, while SCRIPT's file is standard output
{
	local want=$1 before=$2
	shift 2
	fresh
	rm -rf "${L%/*}"
	mkdir "${L%/*}"
	echo earlier >"$L"
	(exec >>"$L"; eval "$before"; exec "$SBX" "$@" -- python3 "$TMP/names.py" "$L") 2>"$TMP/err"
	cat "$TMP/err"
	[ "$(sed -n 's/^done: //p' "$TMP/err" | tr '\n' ' ')" = "$want" ]
}
if command -v python3 >/dev/null; then
	for how in '' --no-shim; do
		# shellcheck disable=SC2086
		check "standard output is written to by its name, and no more $how" names 'open ' : $how --read "$TMP"
		check "it is there as it was $how" [ "$(cat "$L")" = "$(printf 'earlier\nby name')" -a "$(ls "$TMP/logs")" = a.log ]
		check "the line says why $how" grep -q 'denied modify .*a.log (.*builtin:stdio:1): a file that is the standard output of the command keeps its name$' "$TMP/err"
		# shellcheck disable=SC2086
		check "one that has left its name does not get it back $how" names '' 'mv "$L" "$TMP/logs/b.log"' $how --read "$TMP"
		check "and nothing is there $how" [ "$(ls "$TMP/logs")" = b.log ]
	done
	names '' : --read "$TMP" --modify "$L" >/dev/null
	check 'where a rule opens the file it can be replaced' grep -q '^done: replace' "$TMP/err"
else
	skip 'the name of standard output' 'there is no python3'
fi
exit 0
