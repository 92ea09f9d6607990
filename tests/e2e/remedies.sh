#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each remedy that a line names is tried: it is taken as it is printed, the command runs again in a fresh
# copy, and what was refused works. It opens the refused object, and nothing beside it.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

out=$TMP/outside

start()
{
	rm -rf "$out"
	mkdir -p "$out/d"
	printf 'text\n' >"$out/beside"
	fresh
}

# The options behind "allow with", up to the end or a comma.
remedy_of() # FILE
{
	sed -n 's/^sbx-launch: denied .*allow \(its directory \)\?with \(--.*\)$/\2/p' "$1" | sed 's/, or with .*//' | head -n 1
}

tried() # SCRIPT [OPTIONS...]
{
	local script=$1 words bare
	shift
	start
	bash -c "$script" "$out" || { echo 'bare it fails'; return 1; }
	start
	if "$SBX" "$@" -- bash -c "$script" "$out" >"$TMP/out" 2>"$TMP/err" </dev/null; then
		echo 'nothing is refused'
		return 1
	fi
	cp "$TMP/err" "$TMP/told"
	words=$(remedy_of "$TMP/told")
	[ -n "$words" ] || { echo 'no remedy'; cat "$TMP/err"; return 1; }
	eval "words=($words)" || return 1
	start
	"$SBX" -q "$@" "${words[@]}" -- bash -c "$script" "$out" >"$TMP/out" 2>"$TMP/err" </dev/null ||
		{ echo "does not cure: ${words[*]}"; cat "$TMP/err"; return 1; }
	grep -q 'allow its directory' "$TMP/told" && return 0
	bare=$("$SBX" -q "$@" "${words[@]}" -- bash -c ': 2>/dev/null >>"$0/beside" && echo open; : 2>/dev/null >"$0/new" && echo new' "$out" 2>/dev/null)
	[ -z "$bare" ] || { echo "widens more: ${words[*]}: $bare"; return 1; }
	echo "${words[*]}" >>"$TMP/seen"
}

# A made-up name may look like a word, one in sixteen of python's; twice running none does.
tried_again()
{
	tried "$@" || tried "$@" || tried "$@"
}

# names as they come
while IFS= read -r name; do
	check "modify $name" tried "cd \"\$0\" && : >$name"
done < <(head -n "$(rounds 9 99)" <<'EOF'
plain
'two words'
"it's"
'dollar$x'
'star*'
'back\slash'
$'new\nline'
'ümlaut'
'-dash'
'what?'
'q[1]'
'#hash'
'!bang'
'~tilde'
'{a,b}'
'a;b&c|d'
$'tab\there'
$'bell\a'
'"quoted"'
'trailing '
EOF
)
check 'make a directory' tried 'mkdir "$0/made"'
check 'remove' tried 'rmdir "$0/d"'
check 'change the mode' tried 'chmod 700 "$0/d"'
check 'a temporary of mktemp' tried_again 'mktemp "$0/it.XXXXXX"'
check 'a temporary directory' tried_again 'mktemp -d "$0/it-XXXXXXXX"'
command -v python3 >/dev/null && check 'a temporary of python' tried_again 'python3 -c "import sys, tempfile; tempfile.NamedTemporaryFile(dir=sys.argv[1])" "$0"'
check 'a name of digits, as Java makes' tried ': >"$0/abc$(date +%s%N)b"'
check 'a denied read' tried 'cat <"$0/beside" >/dev/null' --deny-read "$out/beside"
check 'debuggers' grep -q 'allow debug' <("$SBX" -- python3 -c 'import ctypes; ctypes.CDLL(None).ptrace(0, 0, 0, 0)' 2>&1)
check 'debuggers are cured' [ "$("$SBX" -qq --allow debug -- python3 -c 'import ctypes; print(ctypes.CDLL(None).ptrace(0, 0, 0, 0))' 2>&1)" = 0 ]
check 'set-id bits' tried 'cp /bin/true f && chmod u+s f; r=$?; rm f; exit $r'
check 'different remedies were seen' [ "$(sort -u "$TMP/seen" | wc -l)" -gt "$(rounds 9 20)" ]

# What the kernel refuses anyway has no line: a directory in use is not removed.
fresh
mkdir -p .git/hooks
launch -- sh -c 'rmdir .git'
check 'a directory that holds something' [ "$(grep -c denied "$TMP/err")" -eq 0 ]
check 'and the answer is that of the kernel' grep -q 'not empty' "$TMP/err"
launch --no-shim -- sh -c 'rmdir .git'
check 'so without the shim' [ "$(grep -c 'denied' "$TMP/err") $(grep -c 'not empty' "$TMP/err")" = '0 1' ]
