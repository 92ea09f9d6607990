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

launch -w "$WS/build" -- true
check 'a workspace, too: it is told' grep -q -- "-w $WS/build passes through a symlink out of the current directory" "$TMP/err"

# What works.
launch --modify "$out/mine/l" -- sh -c "echo x >'$out/sub/got'"
check 'a link that no run can have made is followed' [ "$status" -eq 0 -a -s "$out/sub/got" ]
launch --modify "$out" -- sh -c 'echo x >build/got'
check 'and what is named itself is open by any link' [ "$status" -eq 0 -a -s "$out/got" ]
launch --deny-modify . --modify "$WS/link/x" -- sh -c 'echo x >link/x/y'
check 'a link within the workspace is followed' [ "$status" -eq 0 -a -s in/x/y ]
check 'without a word' sh -c '! grep symlink "$1"' - "$TMP/err"
