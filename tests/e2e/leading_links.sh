#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A symlink that the command makes leads nobody around a rule, however its text spells the way: what
# comes to be there later is not protected as the link's name is.
. "$(dirname "$0")/../support/e2e.sh"

git init -q . && mkdir -p sub && ln -s "$WS" "$TMP/alias" || exit 1
link() # TARGET NAME OPTION...: is it refused, and not there?
{
	local target=$1 name=$2
	shift 2
	launch "$@" -- sh -c 'ln -s "$1" "$2"; mkdir -p evil' - "$target" "$name"
	[ ! -L "$name" ] && grep -q "denied modify .*/$name " "$TMP/err"
	local rc=$?
	rm -rf evil "$name"
	return $rc
}
made() # TARGET NAME OPTION...
{
	local target=$1 name=$2
	shift 2
	launch -q "$@" -- sh -c 'ln -s "$1" "$2"' - "$target" "$name" && [ "$(readlink "$name")" = "$target" ]
	local rc=$?
	rm -f "$name"
	return $rc
}
aliases="/proc/self/root$WS/evil /proc/1/root$WS/evil /proc/thread-self/root$WS/evil /proc/self/cwd/evil
	/dev/fd/../root$WS/evil $TMP/alias/evil $WS/evil evil x/../evil"
for target in $aliases; do
	check "protected: $target" link "$target" .claude
done
for name in .vscode .cursor .github .config; do
	check "protected: $name, by /proc" link "/proc/self/root$WS/evil" $name
	check "protected: $name, by a link of the host's" link "$TMP/alias/evil" $name
	check "protected: $name, to where another run may write" link "$TMP/other/evil" $name
done
for how in '--isolate none' '--no-shim' '--deny-read **/*.env'; do
	# shellcheck disable=SC2086
	check "protected: $how" link "/proc/self/root$WS/evil" .claude $how
done
check 'a literal' link "/proc/self/root$WS/evil" sec --deny-modify sec/x.conf
check 'by .. behind a name of the command' link 'x/../evil' sec --deny-modify sec/x.conf
check 'below a rule' link "/proc/self/root$WS/evil" sub/d --deny-modify 'sub/**/*.conf'
check 'below a rule, by a link of the host' link "$TMP/alias/evil" sub/d --deny-modify 'sub/**/*.conf'
check 'what may not be read' link "/proc/self/root$WS/evil" private --deny-read '**/private/*.key'
check 'in a run inside a run' eval 'launch -- "$SBX" -q -- sh -c "ln -s /proc/self/root$WS/evil .claude; echo ran"; grep -qx ran "$TMP/out" && [ ! -L .claude ]'

# the target is there when the link is made, and another one afterwards
launch -- sh -c "ln -s /usr/share evil; ln -s '$TMP/alias/evil' .claude; ln -s /proc/self/root$WS/evil .vscode; rm evil; mkdir evil"
check 'nor by what is there when it is made' [ -d evil -a ! -L .claude -a ! -L .vscode ]
rm -rf evil
launch -- sh -c "ln -s '$TMP/alias/evil' x; mv -T x .claude; ln x .claude; mkdir d; mv x d/.claude; mv d/.claude .claude"
check 'nor by a move' [ -d d -a ! -L .claude ]
rm -rf x d

for target in /usr/lib ../lib /usr/bin/env /dev/stdout /nowhere sub "$TMP/alias"; do
	check "other names lead where they like: $target" made "$target" l
	check "also under a pattern: $target" made "$target" l --deny-read '**/*.env'
done
check 'a protected name may be a file of the system' made /usr/bin/env .vscode
check 'under a pattern to a program' made /usr/bin/env prog --deny-read 'sub/**/key' --deny-read '**/*.env'
