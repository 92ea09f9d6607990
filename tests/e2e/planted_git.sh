#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A repository that a run has planted, or taken apart, neither widens the workspace of the next run nor
# takes it away from what is denied around it.
. "$(dirname "$0")/../support/e2e.sh"

cat >"$TMP/user.yaml" <<'Y'
schemaVersion: 2
kind: Policy
metadata: {name: p}
spec:
  fsProfiles:
    default: {read: ["**", "!private/**"], modify: ["**", "!locked/**"]}
Y
chmod 600 "$TMP/user.yaml"
project()
{
	printf '%s\n' 'schemaVersion: 2' 'kind: Policy' 'metadata: {name: q}' 'spec:' '  fsProfiles:' \
		'    default: {read: ["**", "!hidden/**"], modify: ["**", "!sub/kept/**"]}' >.sbx-launch.yaml
}
lay() # a repository in another one's directory, and things that its documents deny
{
	fresh
	mkdir -p outer/work/sub/kept outer/work/private outer/work/locked outer/work/hidden outer/beside
	git init -q outer && git init -q outer/work && cd outer/work || exit 1
	echo SECRET >private/x
	echo SECRET >hidden/x
	echo kept >sub/kept/x
	project
}

lay
(cd "$WS/outer/work" && "$SBX" -q -- sh -c 'rm -rf .git/HEAD .git/refs .git/objects; rm -rf .git; mv .git x; echo >.git/HEAD.lock; true') 2>/dev/null
check 'a run can take its repository apart' [ ! -e "$WS/outer/work/.git/HEAD" ]
cd "$WS/outer/work/sub" || exit 1
launch -q -- sh -c 'echo x >../../beside/x; echo x >../../x; echo y >here'
check 'the next one is not in the repository around it' [ ! -e ../../beside/x -a ! -e ../../x -a "$(cat here)" = y ]
cat >"$TMP/look.sh" <<'SH'
cat ../private/x ../hidden/x 2>/dev/null
echo spoilt >kept/x
echo y >here
SH
lay && cd "$WS/outer/work" && "$SBX" -q -- git init -q sub 2>/dev/null
check 'a run can plant a repository' [ -e "$WS/outer/work/sub/.git/HEAD" ]
cd "$WS/outer/work/sub" || exit 1
launch -q -p "$TMP/user.yaml" -- sh "$TMP/look.sh"
check 'what documents hide around it stays hidden' [ -z "$(cat "$TMP/out")" ]
check 'what they keep is kept' [ "$(cat kept/x)" = kept -a "$(cat here)" = y ]
launch -q -- sh "$TMP/look.sh"
check 'also what the project alone says' [ "$(cat kept/x)" = kept -a "$(grep -c . "$TMP/out")" = 1 ]
launch -q -- sh -c 'echo x >../x; echo x >../../x; echo y >here'
check 'the repository itself is all that is open' [ ! -e ../x -a ! -e ../../x -a "$(cat here)" = y ]
launch -q -p "$TMP/user.yaml" --workspace . -- sh -c 'cat ../private/x ../hidden/x; echo mine >kept/x'
check 'who names the workspace has that alone' [ "$(cat kept/x)" = mine -a "$(grep -c SECRET "$TMP/out")" = 2 ]

# A gitfile with everything that proves a linked worktree, made in a directory whose name fits.
fresh
mkdir -p top/worktrees/ws/sub top/objects top/refs && echo SECRET >top/objects/x && cd top/worktrees/ws || exit 1
"$SBX" -q --workspace . -- sh -c 'echo ../.. >commondir; echo "$PWD/sub/.git" >gitdir; echo "gitdir: $PWD" >sub/.git; echo ref: refs/heads/m >HEAD' 2>/dev/null
echo 'ref: refs/heads/m' >HEAD
echo 'ref: refs/heads/m' >../../HEAD
cd sub || exit 1
check '(it is made)' [ -e .git -a -e ../gitdir ]
launch -q -- sh -c 'echo spoilt >../../../objects/x; echo x >../new; echo y >here'
check 'a planted gitfile opens nothing' [ "$(cat ../../../objects/x)" = SECRET -a ! -e ../new -a "$(cat here)" = y ]
exit 0
