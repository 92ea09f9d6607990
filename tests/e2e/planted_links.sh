#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What an earlier run could replace by a symlink does not lead a grant of the next run out of the
# workspace, however the grant is spelled.
. "$(dirname "$0")/../support/e2e.sh"

out=$(dirname "$WS")/elsewhere
mkdir -p "$out/sub" "$out/mine" build && echo secret >"$out/file" || exit 1
launch sh -c 'rmdir build; ln -s "$1" build; mkdir a; ln -s "$1" a/out; ln -s "$1/file" f; mkdir -p in/x; ln -s in link' - "$out"
check 'an ordinary run leaves links' [ -L build -a -L a/out -a -L f ]
ln -s "$WS" "$out/ws"

not_led() # TEXT NAME OPTIONS...: what is made at NAME does not come to be outside; a line says so
{
	local text=$1 name=$2
	shift 2
	launch "$@" -- sh -c "echo x >'$name'"
	[ ! -e "$out/got" ] && grep -qF "passes through a symlink out of the workspace to $out" "$TMP/err" &&
		grep -qF 'not followed: name the target itself' "$TMP/err" && grep -qF "$text" "$TMP/err"
}
env_home() # COMMAND...: the workspace lies in the home
{
	HOME=${WS%/*} "$@"
}
check 'an absolute path' not_led "$WS/build" build/got --modify "$WS/build"
check 'one below the link' not_led "$WS/a/out" a/out/got --modify "$WS/a/out/got"
check 'a pattern behind it' not_led "$WS/build" build/got --modify "$WS/build/g*"
check 'a path that comes to the workspace by another link' not_led "$out/ws/build" build/got --modify "$out/ws/build"
check 'one of the home' env_home not_led "~/${WS##*/}/build" build/got --modify "~/${WS##*/}/build"
check 'a relative one' not_led build build/got --modify build
rm -f "$out/got"
launch --deny-read "$out" --also-read f --read "$WS/build" -- cat f build/file
check 'nor what is opened for reading' sh -c '[ "$1" -ne 0 ] && [ ! -s "$2" ]' - "$status" "$TMP/out"
check 'and two lines say so' [ "$(grep -c 'not followed: name the target itself' "$TMP/err")" -eq 2 ]

# Another directory that the run may change is like a workspace.
ln -s "$out/sub" "$out/mine/l"
launch --modify "$out/mine" --modify "$out/mine/l" -- sh -c "echo x >'$out/sub/got'"
check 'a link in what else is granted' [ ! -e "$out/sub/got" ]
launch --modify "$out/mine/l" --modify "$out/mine" -- sh -c "echo x >'$out/sub/got'"
check 'in either order' [ ! -e "$out/sub/got" ]

# What the launcher itself enters, reads and writes. From the workspace, and where that is a repository from elsewhere.
led() # OPTIONS...: refused, with what is to be named
{
	"$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	[ $? -ne 0 ] && grep -q "the symlink $WS/[a-z]* leads out of $WS, to $out[a-z/]*, and an earlier run could have made it: name that itself" "$TMP/err" && [ ! -s "$TMP/out" ]
}
at_root() { (cd / && "$@"); }
check 'a workspace is not led' led "$SBX" -w "$WS/build" -- echo ran
check 'nor is -w with a relative path' led "$SBX" -w build -- echo ran
check 'nor the directory to begin in' led "$SBX" -C build -- echo ran
check 'nor what is read as standard input' led "$SBX" --result-json 2 --stdin f -- cat
check 'nor what sbx-policy is asked for' led "$(dirname "$SBX")/sbx-policy" why -w build modify x
"$SBX" -q -- true
check 'nor a report' led "$(dirname "$SBX")/sbx-audit" report -o f
check 'nor one below a link' led "$(dirname "$SBX")/sbx-audit" report -o build/file
check 'which is as it was' [ "$(cat "$out/file")" = secret ]
check 'from elsewhere a directory is no workspace of a run' at_root "$SBX" -q -w "$WS/build" -- true
mkdir .git && printf 'ref: refs/heads/x\n' >.git/HEAD
for o in "-w $WS/build" "-C $WS/build" "--result-json 2 --stdin $WS/f"; do
	# shellcheck disable=SC2086
	check "from elsewhere out of a project: $o" led at_root "$SBX" $o -- cat
done
check 'what leads to a place of the same project works' at_root "$SBX" -q -w "$WS/link" -- true
check 'and what is named itself' at_root "$SBX" -q -w "$out" -- true
ln -s "$WS" "$out/../person" && check "a person's own link to a project works" at_root "$SBX" -q -w "$out/../person" -- true
check 'and one in a home' env HOME="$out" sh -c 'ln -s "$0" "$1/home" && cd "$1" && exec "$2" -q -w ~/home -- true' "$WS" "$out" "$SBX"
rm -rf .git

# What works.
launch --modify "$out/mine/l" -- sh -c "echo x >'$out/sub/got'"
check 'a link that no run can have made is followed' [ "$status" -eq 0 -a -s "$out/sub/got" ]
launch --modify "$out" -- sh -c 'echo x >build/got'
check 'and what is named itself is open by any link' [ "$status" -eq 0 -a -s "$out/got" ]
launch --deny-modify . --modify "$WS/link/x" -- sh -c 'echo x >link/x/y'
check 'a link within the workspace is followed' [ "$status" -eq 0 -a -s in/x/y ]
check 'without a word' sh -c '! grep symlink "$1"' - "$TMP/err"
