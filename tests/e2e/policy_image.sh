#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-policy compile and --image: a policy in one file.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
umask 077
cat >"$TMP/p.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: packed}
spec:
  denyModify: ["**/*.lock"]
  sandbox: {network: host}
  fsProfiles:
    writer: {read: ["**"], modify: ["src/**"]}
    reader: {read: ["**"]}
X
mkdir src

compile() { "$POLICY" compile -o "$TMP/p.image" "$@" "$TMP/p.yaml" >"$TMP/c.out" 2>&1; }
check 'compile' compile --profile writer --modify out
refused() # PATTERN ARGS...
{
	pattern=$1
	shift
	launch "$@" -- touch src/refused
	[ "$status" -eq 125 ] && grep -qE "$pattern" "$TMP/err" && [ ! -e src/refused ] || { cat "$TMP/err"; return 1; }
}
foreign() { cp "$TMP/p.image" "$TMP/bad.image"; chown 12345 "$TMP/bad.image" && refused 'owned by uid 12345' --image "$TMP/bad.image"; }
if [ "$(id -u)" -eq 0 ]; then
	check 'a file of another user is refused' foreign
	rm -f "$TMP/bad.image"
else
	skip 'a file of another user is refused' 'needs root'
fi
common || exit 0
same_answers()
{
	for op in read modify exec; do
		for path in src/a src/a.lock b out/x /etc/passwd "$HOME/.ssh/id" /usr/bin/env; do
			a=$("$POLICY" why --json -p "$TMP/p.yaml" --profile writer --modify out $op "$path")
			b=$("$POLICY" why --json --image "$TMP/p.image" $op "$path")
			[ -n "$a" ] && [ "$a" = "$b" ] || { echo "$a"; echo "$b"; return 1; }
		done
	done
}
check 'why --image answers as the documents do, with their places' same_answers
runs()
{
	mv "$TMP/p.yaml" "$TMP/away.yaml"
	launch --image "$TMP/p.image" -- sh -c 'echo 1 >src/a; echo 2 >src/a.lock; cat src/a'
	mv "$TMP/away.yaml" "$TMP/p.yaml"
	[ "$status" -eq 0 ] && [ "$(cat "$TMP/out")" = 1 ] && [ ! -e src/a.lock ] &&
		grep -q "rule \*\*/\*.lock, $TMP/p.yaml:5:16" "$TMP/err" || { cat "$TMP/out" "$TMP/err"; return 1; }
}
check 'sbx-launch --image holds it, without the documents' runs
elsewhere()
{
	mkdir -p sub/src && cd sub && launch --image "$TMP/p.image" -w . -- sh -c 'echo 1 >src/b; echo 2 >../src/c'
	cd ..
	[ -e sub/src/b ] && [ ! -e src/c ]
}
check 'in another workspace the same rules hold' elsewhere
tighter() { launch --image "$TMP/p.image" --deny-modify src -- sh -c 'echo 1 >src/d'; [ "$status" -ne 0 ] && [ ! -e src/d ]; }
check 'options come on top' tighter
setting() { "$POLICY" diff --json "$TMP/p.yaml" "$TMP/p.yaml" >/dev/null && launch --dry-run --image "$TMP/p.image" -- true && ! grep -q 'network namespace' "$TMP/out"; }
check 'settings of the document hold' setting

damaged() # OFFSET
{
	cp "$TMP/p.image" "$TMP/bad.image"
	printf '~' | dd of="$TMP/bad.image" bs=1 seek="$1" conv=notrunc 2>/dev/null
	refused 'E_FORMAT.*compile' --image "$TMP/bad.image"
}
for at in 0 9 50 110 150 400 5000; do
	check "a changed byte is refused: $at" damaged "$at"
done
short() { head -c "$1" "$TMP/p.image" >"$TMP/bad.image"; refused 'E_FORMAT' --image "$TMP/bad.image"; }
check 'a file cut short is refused' short 2000
check 'an empty file is refused' short 0
writable() { cp "$TMP/p.image" "$TMP/bad.image"; chmod 620 "$TMP/bad.image"; refused 'writable by its group' --image "$TMP/bad.image"; }
check 'a file that others may write is refused' writable
kept()
{
	"$POLICY" compile -o here.image --profile writer --modify / "$TMP/p.yaml" >"$TMP/c.out" 2>&1 &&
		before=$(cksum <here.image) &&
		launch --image here.image -- sh -c 'echo x >>here.image; rm -f here.image; mv src here.image; echo 1 >src/k'
	[ "$(cksum <here.image)" = "$before" ] && [ -e src/k ] || { cat "$TMP/err"; return 1; }
}
check 'the command cannot change the image it runs by' kept
mkfifo "$TMP/fifo"
onto() { ! "$POLICY" compile -o "$1" "$TMP/p.yaml" --profile writer 2>"$TMP/err" && [ -p "$1" ] && grep -q 'not a regular file' "$TMP/err"; }
check 'nothing but a regular file is replaced' onto "$TMP/fifo"
check 'a FIFO is refused, not waited for' refused 'not a regular file' --image "$TMP/fifo"
check 'a document is no image' refused 'not a compiled policy' --image "$TMP/p.yaml"
check '--image and --policy exclude each other' refused 'E_USAGE.*--policy' --image "$TMP/p.image" -p "$TMP/p.yaml"
private() { [ "$(stat -c %a "$TMP/p.image")" = 600 ]; }
check 'the file is private' private

# The cache: found by the rules, and used when it is of these rules.
sed 's/modify: \["src/modify: ["open/' "$TMP/p.yaml" >"$TMP/other.yaml"
mkdir -p open
cached() { (cd "$1/sbx-launch/images" && ls | grep -v ^key-); }
# All runs alike, their files of standard input and output too: those are rules.
with() { XDG_STATE_HOME=$TMP/state.$1 timeout 20 "$SBX" -q -p "$TMP/$1.yaml" --profile writer -- sh -c "$2" 2>"$TMP/err"; }
both() # each policy with a cache of its own
{
	rm -rf "$TMP"/state.*
	for which in p other; do
		with $which true && [ "$(cached "$TMP/state.$which" | wc -l)" -eq 1 ] || return
	done
}
writes() { with p "echo x >$1" && [ "$(ls "$TMP/state.p/sbx-launch/images" | wc -l)" -eq 2 ]; }
mine() { both && writes src/x && ! writes open/x && [ ! -e open/x ]; }
check 'a cached image serves' mine
swapped()
{
	both && cp -f "$TMP/state.other/sbx-launch/images/$(cached "$TMP/state.other")" \
		"$TMP/state.p/sbx-launch/images/$(cached "$TMP/state.p")" || return
	writes src/x && ! writes open/x && [ ! -e open/x ]
}
check 'one of other rules does not, whatever its name' swapped
waiting()
{
	both && name=$TMP/state.p/sbx-launch/images/$(cached "$TMP/state.p") || return
	rm -f "$name" && mkfifo "$name" && writes src/y && [ -e src/y ]
}
check 'a FIFO in its place is not waited for' waiting
