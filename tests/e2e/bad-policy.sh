#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Bad input: one line with its code, status 125 (2 from sbx-policy), nothing run, nothing written.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
P=$TMP/policies
mkdir -p "$P"

tree() # everything the programs might have written to
{
	find "$HOME" "$WS" "$P" "$TMPDIR" -printf '%p %y %s\n' 2>/dev/null | sort
}

# One stderr line "PROGRAM: CODE: ...TEXT...", status, no output, no change on disk. The time
# limit is the proof that nothing blocks.
line_of() # PROGRAM STATUS CODE TEXT COMMAND...
{
	who=$1 want=$2 code=$3 text=$4
	shift 4
	tree >"$TMP/before"
	timeout 10 "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
	tree >"$TMP/after"
	[ "$status" -eq "$want" ] || { echo "status $status, expected $want"; return 1; }
	[ ! -s "$TMP/out" ] || { echo "something on stdout"; return 1; }
	[ "$(wc -l <"$TMP/err")" -eq 1 ] || { echo "not one line:"; cat "$TMP/err"; return 1; }
	case $(cat "$TMP/err") in
	"$who: $code: "*"$text"*) ;;
	*) echo "expected $code ... $text, got:"; cat "$TMP/err"; return 1 ;;
	esac
	cmp -s "$TMP/before" "$TMP/after" || { diff "$TMP/before" "$TMP/after"; return 1; }
	[ ! -e "$WS/ran" ] || { echo "the command ran"; return 1; }
}

bad() # NAME TEXT FILE
{
	check "sbx-policy check: $1" line_of sbx-policy 2 E_POLICY "$2" "$POLICY" check "$3"
	check "sbx-launch: $1" line_of sbx-launch 125 E_POLICY "$2" \
		"$SBX" --policy "$3" -- touch ran
}

head='schemaVersion: 2
kind: Policy
metadata: {name: t}'

file() # NAME: from stdin, with safe permissions
{
	cat >"$P/$1"
	chmod 600 "$P/$1"
}

if [ "$(id -u)" -eq 0 ]; then
	file foreign <<X
$head
spec: {fsProfiles: {p: {read: ["**"]}}}
X
	chown 65534 "$P/foreign"
	bad 'owned by another user' 'owned by uid 65534' "$P/foreign"
	rm "$P/foreign"
fi
common || exit 0
file unreadable </dev/null
if [ "$(id -u)" -eq 0 ]; then
	skip 'unreadable file' 'root reads everything'
else
	chmod 000 "$P/unreadable"
	bad 'unreadable file' 'Permission denied' "$P/unreadable"
fi
bad 'missing file' 'No such file' "$P/none"

file empty </dev/null
bad 'empty file' 'empty:1:1: empty, expected a YAML document' "$P/empty"

file huge </dev/null
truncate -s 5M "$P/huge"
bad 'huge file' 'larger than 4194304 bytes' "$P/huge"

file cyclic <<X
$head
spec: &a {fsProfiles: {p: {read: *a}}}
X
bad 'cyclic alias' 'cyclic:4:34: alias `*a` contains itself' "$P/cyclic"

{
	echo "$head"
	echo 'a0: &a0 [x, x, x, x, x, x, x, x, x, x]'
	for i in 1 2 3 4 5 6 7 8 9; do
		p=$((i - 1))
		echo "a$i: &a$i [*a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p, *a$p]"
	done
	echo 'spec: {}'
} | file bomb
bad 'alias bomb' 'values after alias expansion' "$P/bomb"

file kind <<X
schemaVersion: 2
kind: Foo
X
bad 'wrong kind' 'kind:2:7: expected kind Policy, found Foo' "$P/kind"

file version1 <<X
schemaVersion: 1
kind: Policy
X
bad 'schemaVersion 1' 'version1:1:16: policy schemaVersion 1 is no longer supported' "$P/version1"

file duplicate <<X
$head
spec:
  denyRead: [a]
  denyRead: [b]
X
bad 'duplicate key' 'duplicate:6:3: duplicate key `denyRead`' "$P/duplicate"

file unknown <<X
$head
spec: {fsProfil: {}}
X
bad 'unknown key' 'unknown:4:8: unknown field `fsProfil` in spec, did you mean `fsProfiles`?' "$P/unknown"

printf '%s\nspec:\n\tdenyRead: [a]\n' "$head" | file tabs
bad 'tab indentation' 'tabs:5:1: a tab, expected spaces' "$P/tabs"

printf '%s\nspec: {description: "\xff"}\n' "$head" | file utf8
bad 'bytes that are not UTF-8' 'utf8:4:22: byte 0xff is not UTF-8' "$P/utf8"

file deep <<X
$head
spec: $(printf '[%.0s' {1..5000})
X
bad 'deep nesting' 'nested deeper than 32 levels' "$P/deep"

file escape <<X
$head
spec: {fsProfiles: {p: {read: ["../x"]}}}
X
bad 'a rule that leaves the workspace' 'escape:4:32: fsProfile `p` read rule `../x` must stay' \
	"$P/escape"

mkdir "$P/dir"
bad 'a directory' 'a directory, expected a file' "$P/dir"
mkfifo -m 600 "$P/fifo"
bad 'a FIFO, without waiting' 'not a regular file' "$P/fifo"
bad 'a device' 'not a regular file' /dev/zero

file loose <<X
$head
spec: {fsProfiles: {p: {read: ["**"]}}}
X
check 'the same policy is valid when only its owner may write it' "$POLICY" check "$P/loose"
chmod 664 "$P/loose"
bad 'writable by its group' "chmod go-w $P/loose" "$P/loose"
chmod 606 "$P/loose"
bad 'writable by others' "chmod go-w $P/loose" "$P/loose"
chmod 600 "$P/loose"

both() # NAME CODE TEXT LAUNCH-ARGS... : sbx-policy why and sbx-launch with the same options
{
	name=$1 code=$2 text=$3
	shift 3
	check "sbx-policy why: $name" line_of sbx-policy 2 "$code" "$text" \
		"$POLICY" why "$@" read x
	check "sbx-launch: $name" line_of sbx-launch 125 "$code" "$text" "$SBX" "$@" -- touch ran
}

both 'missing profile' E_PROFILE 'no fsProfile `q`' --policy "$P/loose" --profile q
both 'missing workspace' E_WORKSPACE 'No such file' --workspace "$P/nowhere"
both 'a workspace that is a file' E_WORKSPACE 'ot a directory' --workspace "$P/loose"
both 'a policy by a name that none has' E_POLICY 'no policy `nowhere` in' --policy nowhere
both 'a policy by a name that is none' E_POLICY 'must not contain separators' --policy a:b
both 'a rule with ..' E_USAGE 'contains `..`' --read ../x
both 'an unknown option' E_USAGE 'bogus' --bogus
check 'sbx-launch: missing command' line_of sbx-launch 125 E_USAGE 'no command' "$SBX"

cd "$HOME" || exit 1
both 'the home as workspace' E_WORKSPACE 'it is your home directory'
cd / || exit 1
both 'everything as workspace' E_WORKSPACE 'it is the whole file system'
cd "$WS" || exit 1

check 'sbx-policy: no question' line_of sbx-policy 2 E_USAGE 'no question' "$POLICY"
check 'sbx-policy: unknown question' line_of sbx-policy 2 E_USAGE '`who`' "$POLICY" who
check 'sbx-policy: unknown operation' line_of sbx-policy 2 E_USAGE '`write`' \
	"$POLICY" why write x
ln -s loop loop
check 'sbx-policy: a relative path that leads nowhere' line_of sbx-policy 2 E_USAGE \
	'a loop of symbolic links' "$POLICY" why read loop/x
check 'sbx-policy: a relative path in the home' line_of sbx-policy 2 E_USAGE \
	'must stay inside' "$POLICY" why read '~/x'
