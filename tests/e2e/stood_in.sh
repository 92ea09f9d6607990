#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whoever stands in the directory where a run begins stays there, whatever the command does to its name:
# the directory does not move, nor what it lies in, and no repository comes to be around it or in it.
. "$(dirname "$0")/../support/e2e.sh"

git config --global init.defaultBranch main
git init -q . && mkdir -p src/deep pkg/app other/sub empty || exit 1
top=$WS
obeyed='printf "#!/bin/sh\necho got >>\"%s/got\"\n" "$TMP" >h; chmod +x h'
eval "$obeyed"
from() # DIRECTORY OPTION... -- SCRIPT
{
	cd "$1" || return
	shift
	launch "$@"
	cd "$top" || return
}
ran() { grep -qx ran "$TMP/out"; } # the last word of the script
stays() # NAME-OF-THE-DIRECTORY REASON
{
	[ -d "$1" ] && grep -q "denied modify .*: the run began or works there" "$TMP/err"
}

from src sh -c 'git init -q ../evil; mv ../src ../evil/src'
check 'it is not moved into a repository' stays src
check 'nor from it' [ ! -e evil/src ]
from src --no-shim sh -c 'mv ../src ../evil/src'
check 'also without the shim' stays src
from src sh -c "python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"../src\", -100, b\"../empty\", 2)'"
check 'nor exchanged' eval 'stays src && [ -d src/deep ]'
from src sh -c "python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"../empty\", -100, b\"../src\", 2)'"
check 'nor the other way round' eval 'stays src && [ -d src/deep ]'
from pkg/app sh -c 'mv ../../pkg ../../pkg2 && mkdir -p ../../pkg2/app/.claude && echo x >../../pkg2/app/.claude/settings.json'
check 'nor what it lies in' eval 'stays pkg && [ ! -e pkg2 ] && [ ! -e pkg/app/.claude/settings.json ]'
launch -C pkg/app -- sh -c 'mv ../../pkg ../../pkg2'
check 'nor for --chdir' stays pkg
from src -C ../pkg -- sh -c 'mv ../src ../other/src'
check 'nor the one that --chdir leads away from' stays src
launch -w . -w other/sub -- sh -c 'mv other other2'
check 'nor a second workspace' stays other
from src "$SBX" -q -- sh -c 'mv ../src ../other/src; echo ran'
check 'nor in a run inside a run' eval 'ran && [ -d src ]'
launch -- sh -c 'mv src src2 && mv src2 src && mv pkg/app pkg/app2 && mv pkg/app2 pkg/app'
check 'others move' [ "$status" -eq 0 ]
from src sh -c 'mv deep deep2 && mv deep2 ../deep && mv ../deep deep && mv ../pkg ../pkg3 && mv ../pkg3 ../pkg'
check 'and what lies in it, or beside it' [ "$status" -eq 0 -a -d src/deep -a -d pkg/app ]

from src/deep sh -c 'git init -q .; mkdir .git; echo "gitdir: ../../evil/.git" >.git; echo ran'
check 'no repository comes to be in it' eval 'ran && [ ! -e src/deep/.git ]'
from src/deep sh -c 'cd .. && git init -q .; echo ran'
check 'nor in one between' eval 'ran && [ ! -e src/.git ]'
from src/deep sh -c 'echo "ref: refs/heads/main" >HEAD; mkdir objects refs; echo "[core]" >config; echo ran'
check 'nor a bare one' eval 'ran && [ ! -e src/deep/HEAD ]'
from src/deep sh -c 'mkdir -p .hg && echo x >.hg/hgrc; echo ran'
check 'nor one of another kind' eval 'ran && [ ! -e src/deep/.hg/hgrc ]'
rm -rf src/deep/.hg src/deep/objects src/deep/refs src/deep/config
from src/deep sh -c 'git init -q new && cd new && git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x'
check 'one below it does' [ "$status" -eq 0 -a -d src/deep/new/.git ]
git -C src/deep init -q && from src/deep -w "$top" -- sh -c 'git config x.y z; git -c user.name=a -c user.email=a@b commit -q --allow-empty -m x && echo done'
check 'one that is there is a nested one' eval 'git -C src/deep config x.y && grep -qx done "$TMP/out"'
