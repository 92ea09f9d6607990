#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-launch -c and sbx-shell: as /bin/sh, and where programs ask for the path of a shell.
. "$(dirname "$0")/../support/e2e.sh"

SHELL_=$(dirname "$SBX")/sbx-shell
PATH=$(dirname "$SBX"):$PATH
key=$HOME/.ssh/id_test
mkdir -p "$HOME/.ssh"
echo secret >"$key"
: >"$HOME/.npmrc"

# These words given to sh and to sbx-shell: equal output and status.
alike() # WORDS...
{
	/bin/sh "$@" >"$TMP/bare" 2>&1 <"$TMP/in"
	echo "status $?" >>"$TMP/bare"
	"$SHELL_" "$@" >"$TMP/ours" 2>&1 <"$TMP/in"
	echo "status $?" >>"$TMP/ours"
	diff "$TMP/bare" "$TMP/ours"
}
: >"$TMP/in"
printf 'echo "script $0 $# $*"; exit 7\n' >script
check 'a line' alike -c 'echo "$# $1"; exit 3' name 'a b' c
check 'an empty line' alike -c ''
check 'sh with -e' alike -ec 'false; echo not here'
check 'sh with -x and -u' alike -xuc 'echo 1; echo $unset'
check 'a script' alike script one 'two three'
check 'a script behind --' alike -- script --quiet
check 'a script that is not there' alike none
check 'a command that is not there' alike -c 'nonesuch'
check 'a line that is none' alike -c 'if'
check 'a status above 125' alike -c 'exit 255'
check 'a signal' alike -c 'kill -TERM $$'
check 'a pipeline behind' alike -c 'seq 5 | tac; exec 3>&1; echo x >&3'
printf 'echo "from stdin $1"\nread x\nnext\necho "x=$x"\n' >"$TMP/in"
check 'standard input' alike
check 'standard input with operands' alike -s one
: >"$TMP/in"
check 'no file of the host' alike -c 'test -e /nonexistent || echo none'

printf '#!/usr/bin/env sbx-shell\necho "ran $1 by $(readlink /proc/$$/exe)"; cat "$2"; exit 9\n' >first
chmod +x first
./first one "$key" >"$TMP/out" 2>"$TMP/err"
status=$?
check 'a first line: its status' [ $status -eq 9 ]
check 'a first line: by sh' grep -qx "ran one by $(realpath /bin/sh)" "$TMP/out"
check 'a first line: confined' grep -q 'denied read .*id_test' "$TMP/err"
printf '#!/usr/bin/env -S sbx-shell --read=%s --quiet -e\ncat "$1"\nfalse\necho on\n' "$key" >second
chmod +x second
check 'a first line with options of both' [ "$(./second "$key" 2>&1; echo $?)" = "$(printf 'secret\n1')" ]

# ---- sbx-launch -c ----
check '-c: operands' out 'n 1' -c 'echo $0 $1' n 1
check '-c: without a name' out /bin/sh -c 'echo $0'
launch -c 'exit 6'
check '-c: its status' [ "$status" -eq 6 ]
launch -c
check '-c: without a string' [ "$status" -eq 125 ]
check '-c: options stand in front' out "$WS" --env clear -c 'echo "$(pwd)$FOO"'
check '--print-argv gives the words back' [ "$(bash -c "$("$SBX" --print-argv -q -c 'echo "$1"' n 'a b')")" = 'a b' ]
check '--print-argv of sbx-shell, too' [ "$(bash -c "$("$SHELL_" --print-argv --quiet -c 'echo "$1"' n 'a b')")" = 'a b' ]

# ---- a login shell, a person ----
echo 'FROM_PROFILE=yes' >"$HOME/.profile"
check 'a login shell by its name' [ "$(bash -c 'exec -a -sbx-shell "$0" -c "echo \$FROM_PROFILE"' "$SHELL_" 2>&1)" = yes ]
check 'a login shell by -l' [ "$("$SHELL_" -lc 'echo $FROM_PROFILE')" = yes ]
rm "$HOME/.profile"
check 'a terminal' sh -c 'printf "echo at \$((40 + 2)); exit 5\n" | timeout 60 script -qec "$1 -i" /dev/null | grep -q "at 42"' - "$SHELL_"

# ---- inside a run ----
# Which run a process is in: its channel.
run='echo $SBX_CHANNEL'
"$SHELL_" -c "$run; sbx-shell -c '$run'; sbx-shell -c 'sbx-shell -c \"$run\"'; exit 4" >"$TMP/out" 2>&1
check 'in a run of its own it is sh' [ "$(sort -u "$TMP/out" | wc -l) $(wc -l <"$TMP/out")" = '1 3' ]
"$SBX" -- sh -c "$run; sbx-shell -c '$run; sbx-shell -c \"$run\"'" >"$TMP/out" 2>&1
check 'in another run it is one inside' [ "$(sort -u "$TMP/out" | wc -l) $(wc -l <"$TMP/out")" = '2 3' ]
"$SHELL_" -c "$run; sbx-shell --deny-read=script -c '$run; cat script; sbx-shell -c \"cat script\"'" >"$TMP/out" 2>&1
check 'with options it is one inside' [ "$(grep -c ^/ "$TMP/out") $(grep -c 'Permission denied' "$TMP/out")" = '2 2' ]
deep='echo deep'
for _ in 1 2 3 4 5 6; do deep="sbx-shell -c \"$(printf '%s' "$deep" | sed 's/[\\"$]/\\&/g')\""; done
check 'as deep as one likes' [ "$("$SHELL_" -c "$deep")" = deep ]
SBX_CHANNEL=$TMP SBX_SHELL=$TMP "$SHELL_" -c "cat '$key'" >"$TMP/out" 2>&1
check 'variables alone do not make it sh' grep -q 'Permission denied' "$TMP/out"

# ---- who asks for a shell ----
printf 'all: a b\n%%:\n\t@echo $@ >$@; cat %s; touch %s\n' "$key" "$HOME/made" >Makefile
make -k SHELL="$SHELL_" >"$TMP/out" 2>&1
check 'make: works' [ "$(cat a b)" = "$(printf 'a\nb')" ]
check 'make: confined' sh -c '! grep -qx secret "$1" && [ ! -e "$2" ]' - "$TMP/out" "$HOME/made"
mkdir sub
printf 'all:\n\t@$(MAKE) -C sub\n' >Makefile
printf 'all:\n\t@echo below >made; echo "$$SBX_CHANNEL"\n' >sub/Makefile
check 'make: a recursive one' make SHELL="$SHELL_"
check 'make: below' grep -q below sub/made

if command -v npm >/dev/null; then
	mkdir -p dep app
	cat >dep/package.json <<X
{"name":"dep","version":"1.0.0","scripts":{"postinstall":"cat '$key'; echo evil >>'$HOME/.npmrc'; echo ok >own; true"}}
X
	echo '{"name":"app","version":"1.0.0","scripts":{"hi":"npm run -s again && echo hi","again":"echo again"}}' >app/package.json
	printf 'script-shell=%s\nallow-scripts=true\nupdate-notifier=false\n' "$SHELL_" >"$HOME/.npmrc"
	cp "$HOME/.npmrc" "$TMP/npmrc"
	(cd app && npm install --offline --no-audit --no-fund --install-links --foreground-scripts ../dep) >"$TMP/out" 2>&1
	if [ -e app/node_modules/dep/own ]; then
		ok 'npm: a script of a package works'
	else
		not_ok 'npm: a script of a package works' <"$TMP/out"
	fi
	check 'npm: confined' sh -c 'cmp "$1" "$2" && ! grep -qx secret "$3" && grep -q "denied read" "$3"' - "$HOME/.npmrc" "$TMP/npmrc" "$TMP/out"
	check 'npm run: words and scripts that run scripts' [ "$(cd app && npm run -s hi -- there 2>/dev/null)" = "$(printf 'again\nhi there')" ]
else
	skip 'npm' 'not installed'
fi
# the command line that GitHub's runner makes of `shell: sbx-shell -e {0}`
printf 'echo step\ncat %s\necho not here\n' "$key" >"$TMP/step.sh"
"$SHELL_" -e "$TMP/step.sh" >"$TMP/out" 2>&1
status=$?
check 'a step of GitHub Actions' [ "$status $(grep -cx 'step' "$TMP/out") $(grep -c 'not here' "$TMP/out")" = '1 1 0' ]
git init -q repo && printf '#!/usr/bin/env sbx-shell\necho hook >../hooked; cat %s && echo read\n' "$key" >repo/.git/hooks/post-commit
chmod +x repo/.git/hooks/post-commit
git -C repo -c user.name=n -c user.email=e@x commit -q --allow-empty -m x >"$TMP/out" 2>&1
check 'a git hook' sh -c 'grep -q "denied read" "$1" && ! grep -qx read "$1"' - "$TMP/out"
exit 0
