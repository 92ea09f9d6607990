#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# For whoever has a Mac: what no test on Linux can tell. Not run by us; tests/mac/github.yml is a
# recipe for runners.
#
#	tests/mac/smoke.sh DIRECTORY-WITH-sbx-launch-AND-libsbx-shim.dylib
#
# Prints TAP. Needs an ordinary user, no other sandbox around, and no rights beyond the temporary
# directory. In this order, because each step needs those before it.
set -u
DIR=${1:?directory with sbx-launch and libsbx-shim.dylib}
SBX=$DIR/sbx-launch
[ "$(uname -s)" = Darwin ] || { echo "1..0 # SKIP not a Mac"; exit 0; }
T=$(mktemp -d /private/tmp/sbx-smoke.XXXXXX) || exit 1
trap 'rm -rf "$T"' EXIT
mkdir "$T/ws" "$T/home" "$T/out"
cd "$T/ws" || exit 1
export HOME=$T/home
n=0
ok() { n=$((n + 1)); if [ "$1" = 0 ]; then echo "ok $n - $2"; else echo "not ok $n - $2"; fi; }
fails() { ! "$@" >/dev/null 2>&1; }
raw() { /usr/bin/sandbox-exec -p "$1" "${@:2}" >/dev/null 2>&1; }
sbx() { "$SBX" -qq -w "$T/ws" "$@"; }

# ---- what our evaluator believes of Seatbelt (sbpl/program.h) ----
base='(version 1)(allow default)'
raw "$base" /usr/bin/true
ok $? "a profile is accepted"
echo x >file
raw "$base(deny file-read-data (literal \"$T/ws/file\"))(allow file-read* (subpath \"$T/ws\"))" /bin/cat file
[ $? -ne 0 ]
ok $? "a later rule on a parent operation does not cancel a leaf"
raw "$base(deny file-read* (literal \"$T/ws/file\"))(allow file-read*)" /bin/cat file
[ $? -ne 0 ]
ok $? "an unfiltered rule does not override filtered ones"
raw '(version 1)(deny default)(allow process*)(allow file-read*)(allow sysctl-read)(allow mach-lookup)' \
	/bin/ln file hard
ok $? "file-link is open under (deny default)"
rm -f hard
raw "$base(deny file-read* (literal \"$T/ws/FILE\"))" /bin/cat file
[ $? -ne 0 ]
ok $? "literals fold case on this volume"
printf x >"$(printf 'caf\303\251')"
raw "$base(deny file-read* (regex #\"^$T/ws/caf[\\x80-\\xff]+\$\"))" /bin/cat "$(printf 'caf\303\251')"
[ $? -ne 0 ]
ok $? "ranges of bytes above 0x80 match"

# ---- the launcher ----
sbx /usr/bin/true
ok $? "the default policy runs /usr/bin/true"
sbx /bin/sh -c 'exit 42'
[ $? -eq 42 ]
ok $? "statuses are the command's"
mkdir "$HOME/.ssh" && echo key >"$HOME/.ssh/id"
fails sbx /bin/cat "$HOME/.ssh/id"
ok $? "a secret cannot be read"
fails sbx /bin/sh -c "echo x >'$T/out/x'"
ok $? "nothing is written outside the workspace"
sbx /bin/sh -c 'echo x >new && mv new moved && rm moved'
ok $? "the workspace is writable"
mkdir -p .git/hooks
fails sbx /bin/sh -c 'echo x >.git/hooks/pre-commit'
ok $? "hooks cannot be planted"
fails sbx /bin/mv .git aside
ok $? "nor their directory moved away"
fails sbx /bin/mkdir .vscode
ok $? "a missing directory above something denied is not made"
[ ! -e .vscode ]
ok $? "and is not there"
mkdir deep deep/er && echo x >deep/er/key
fails sbx --deny-read deep/er/key /bin/mv deep aside
ok $? "a directory above a denied file is not moved"
sbx --deny-read deep/er/key /bin/mkdir deep/other
ok $? "but a new one beside it is made"
raw '(version 1)(allow default)(deny file-write-create (require-all (vnode-type SYMLINK) (literal "'"$T/ws/planted"'")))' \
	/bin/ln -s deep planted
[ ! -L planted ]
ok $? "vnode-type is known of what is being made (a question: the profile does without)"
rm -f planted
ln -s "$HOME/.ssh" link
fails sbx /bin/cat link/id
ok $? "nor a secret read through a link"
echo hidden >hidden.env
fails sbx --deny-read '**/*.env' /bin/cp -c hidden.env shown
ok $? "a clone does not launder"
fails sbx /bin/cp -c "$HOME/.ssh/id" shown
ok $? "nor one of a secret outside the workspace"
[ ! -e shown ]
ok $? "and nothing of it is there"
sbx /bin/cp -c file cloned
ok $? "what may be read may be cloned"
mkdir tree && echo hidden >tree/hidden.env
cat >clone.py <<'EOF'
import ctypes, sys
sys.exit(ctypes.CDLL(None).clonefile(*map(str.encode, sys.argv[1:]), 0) != 0)
EOF
if command -v python3 >/dev/null; then
	fails sbx python3 clone.py tree shown
	ok $? "no directory is cloned with all that lies in it"
	raw '(version 1)(deny default)(allow process*)(allow file-read*)(allow sysctl-read)(allow mach-lookup)(allow file-write-create)' \
		"$(command -v python3)" clone.py file open
	ok $? "file-clone is open under (deny default)"
fi
fails sbx "$SBX" -w "$T/ws" /usr/bin/true
ok $? "a sandbox in a sandbox is refused"
fails sbx /usr/bin/curl -sS --max-time 5 http://127.0.0.1:1
ok $? "no network"printf x >"$(printf 'nai\314\210ve')"
fails sbx --deny-read "$(printf 'na\303\257ve')" /bin/cat "$(printf 'nai\314\210ve')"
ok $? "a name on the disk in the other form of Unicode is denied"

# kern.procargs2 by number, as ps(1) asks: CTL_KERN 1, KERN_PROCARGS2 49
sleep 60 &
other=$!
cat >args.py <<'EOF'
import ctypes, sys
mib, size = (ctypes.c_int * 3)(1, 49, int(sys.argv[1])), ctypes.c_size_t(1 << 16)
sys.exit(ctypes.CDLL(None).sysctl(mib, 3, ctypes.create_string_buffer(1 << 16),
                                  ctypes.byref(size), None, 0) != 0)
EOF
if command -v python3 >/dev/null && python3 args.py $other; then
	fails sbx python3 args.py $other
	ok $? "arguments and environment of other processes cannot be read"
	sbx python3 -c pass
	ok $? "and python starts all the same"
fi
kill $other

# ---- the shim ----
for tool in python3 node; do
	path=$(command -v "$tool") || continue
	case $path in /usr/bin/*) continue ;; esac
	sbx -v "$path" --version 2>"$T/err" >/dev/null
	grep -q '1 of 1' "$T/err"
	ok $? "$tool is witnessed"
done
sbx -v /bin/ls 2>"$T/err" >/dev/null
grep -q '0 of 1' "$T/err"
ok $? "/bin/ls is told as unwitnessed"
# arm64e programs are killed at start by a library of arm64: the variable is left out for them
if [ "$(uname -m)" = arm64 ]; then
	for tool in /usr/bin/true /bin/zsh; do
		sbx "$tool" -c : 2>/dev/null
		[ $? -lt 128 ]
		ok $? "$tool, arm64e, is not killed"
	done
fi
echo "1..$n"
