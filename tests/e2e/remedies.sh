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

# ---- each kind of rule, operation and option that lines name ----

# What is opened beside the refused object, by BESIDE, prints something; both options of "or with" are tried.
cures() # SETUP SCRIPT BESIDE [OPTIONS...]
{
	local setup=$1 script=$2 beside=$3 line words more
	shift 3
	start && $setup
	bash -c "$script" "$out" >/dev/null || { echo 'bare it fails'; return 1; }
	start && $setup
	"$SBX" "$@" -- bash -c "$script" "$out" >"$TMP/out" 2>"$TMP/told" </dev/null && { echo 'nothing is refused'; return 1; }
	line=$(sed -n 's/^sbx-launch: denied .*allow \(its directory \)\?with \(--.*\)$/\2/p' "$TMP/told" | head -n 1)
	[ -n "$line" ] || { echo 'no remedy'; cat "$TMP/told"; return 1; }
	for more in "${line%%, or with *}" "${line##*, or with }"; do
		eval "words=($more)" || return 1
		[ -z "${wider:-}" ] || words=(--modify "$(dirname "${words[1]}")")
		start && $setup
		"$SBX" -q "$@" "${words[@]}" -- bash -c "$script" "$out" >"$TMP/out" 2>"$TMP/err" </dev/null ||
			{ echo "does not cure: ${words[*]}"; cat "$TMP/err"; return 1; }
		[ "$more" = "${line%%, or with *}" ] || continue
		start && $setup
		more=$("$SBX" -qq "$@" "${words[@]}" -- bash -c "$beside" "$out" 2>/dev/null)
		[ -z "$more" ] || { echo "widens more: ${words[*]}: $more"; return 1; }
	done
}

plain() { :; }
secrets() { rm -rf "$HOME/.ssh" && mkdir -p "$HOME/.ssh" && echo k >"$HOME/.ssh/id_a" && echo k >"$HOME/.ssh/id_b"; }
check 'a secret is read' cures secrets 'cat ~/.ssh/id_a' 'cat ~/.ssh/id_b; cp /dev/null ~/.ssh/id_b && echo written'
check 'a secret is changed' cures secrets ': >>~/.ssh/id_a' ': >>~/.ssh/id_b && echo written; cat ~/.ssh/id_b'
settings() { mkdir -p .vscode && echo '{}' | tee .vscode/settings.json >.vscode/tasks.json && git init -q .; }
check 'settings that outsiders obey' cures settings ': >.vscode/settings.json' ': 2>/dev/null >.vscode/tasks.json && echo tasks; : 2>/dev/null >>.git/config && echo git'
check 'a configuration of git' cures settings 'git config a.b c' ': >.git/hooks/post-commit && echo hook'
both() { echo a | tee a.key b.key >file; }
check 'a file of a pattern is read' cures both 'cat a.key' 'cat b.key' --deny-read '**/*.key'
check 'a file of a pattern is changed' cures both ': >>a.key' ': >>b.key && echo b' --deny-modify '**/*.key'
npm() { mkdir -p "$HOME/.npm/x" "$HOME/.cargo/registry"; }
check 'a place of a tool: by name, or by its preset' cures npm ': >~/.npm/x/y' ': >~/.npm/x/z && echo z; : >~/.cargo/registry/q && echo q'
bare() { rm -rf "$out/r.git" "$out/s.git" && git init -q --bare "$out/r.git" && git init -q --bare "$out/s.git" && git init -q -b main . && git config user.email t@example.org && git config user.name t && git commit -q --allow-empty -m m; }
check 'a git directory beside: its hooks stay closed' cures bare 'git push -q "$0/r.git" main' \
	'for f in r.git/hooks/post-receive r.git/config s.git/HEAD; do : 2>/dev/null >>"$0/$f" && echo $f; done'
if command -v python3 >/dev/null; then
	datagram='import socket; socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)'
	check 'a datagram socket' cures plain "python3 -c '$datagram'" ':'
	check 'a debugger' cures plain "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).personality(0x40000) < 0)'" ':'
	check 'a limit is no remedy of others' sh -c '! grep -q "allow with" "$1"' - <("$SBX" -- python3 -c 'import ctypes; ctypes.CDLL(None).syscall(250, 0, 0)' 2>&1)
fi
# A document without any rule that opens: the remedy is the same.
echo '{"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": {"denyRead": [], "allowWrite": [], "denyWrite": []}}' >"$TMP/nothing.json"
check 'a document that opens nothing' cures plain ': >new' ': 2>/dev/null >other && echo other' --policy "$TMP/nothing.json"
# The test itself: a remedy that opens the directory around is found.
wider=yes
check 'one that widens more is found' sh -c 'grep -q "widens more" "$1"' - <(cures secrets ': >>~/.ssh/id_a' ': >>~/.ssh/id_b && echo written')
wider=

# A name that a rule gives is not one that was made up, however it looks.
for f in .AbCdEf id.Ab12Cd tmp.AbCdEfGh12; do
	fresh
	launch --deny-modify $f -- sh -c "echo >$f"
	check "$f: the remedy is the name itself" sh -c 'grep -q "allow with --modify $1\$" "$2" || { cat "$2"; exit 1; }' - "$WS/$f" "$TMP/err"
done
mkdir -p "$HOME/own"
launch -- sh -c ': >"$HOME/own/.AbCdEf"'
check 'nor is one before which nothing stands' sh -c '! grep -q "\.\*" "$1"' - "$TMP/err"

# What the kernel refuses anyway has no line: a directory in use is not removed.
fresh
mkdir -p .git/hooks
launch -- sh -c 'rmdir .git'
check 'a directory that holds something' [ "$(grep -c denied "$TMP/err")" -eq 0 ]
check 'and the answer is that of the kernel' grep -q 'not empty' "$TMP/err"
launch --no-shim -- sh -c 'rmdir .git'
check 'so without the shim' [ "$(grep -c 'denied' "$TMP/err") $(grep -c 'not empty' "$TMP/err")" = '0 1' ]
stashes() { git init -q . && git config user.email t@example.org && git config user.name t && echo a >f && git add f && git commit -q -m m && echo b >f; }
fresh
stashes
launch -- git stash
check 'git stash, which tries to remove .git: no line' [ "$status $(grep -c denied "$TMP/err")" = '0 0' ]
if [ "$(id -u)" != 0 ]; then
	launch -- touch /etc/zz
	check 'what file permissions refuse anyway: no option' [ "$(grep -c 'file permissions refuse it anyway, no option opens it$' "$TMP/err") $(grep -c -e --modify "$TMP/err")" = '1 0' ]
fi
