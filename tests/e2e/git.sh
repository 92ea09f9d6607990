#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# git as people use it, bare and sandboxed: equal output, equal status, equal objects.
. "$(dirname "$0")/../support/e2e.sh"

export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C
export GIT_COMMITTER_EMAIL=c@example.org GIT_AUTHOR_DATE='2026-01-02T03:04:05Z'
export GIT_COMMITTER_DATE='2026-01-02T03:04:05Z' GIT_CONFIG_NOSYSTEM=1 GIT_ADVICE=0
git config --global init.defaultBranch main
git config --global advice.detachedHead false

origin()
{
	git init -q origin
	printf 'one\ntwo\nthree\n' >origin/file
	git -C origin add file
	git -C origin commit -qm first
}

same_after 'clone, edit, commit, branch, rebase' origin '
	git clone --no-local origin copy && cd copy || exit 9
	sed -i s/two/2/ file && git diff --stat && git commit -am second
	git switch -c topic HEAD~1 && echo four >>file && git commit -am third
	git rebase main && git log --format="%H %s" --graph --all && cat file
	git status --porcelain=v2 --branch && git fsck --strict'

same_after 'clone by hard links' origin '
	git clone -q origin copy && git -C copy log --oneline && ls -A copy'

same_after 'stash, merge conflict, abort, gc' origin '
	git clone -q origin copy && cd copy || exit 9
	echo wip >>file && git stash && git stash list && git stash pop
	git commit -qam mine && git switch -qc other HEAD~1 && echo theirs >>file
	git commit -qam theirs && git merge main; git merge --abort && git gc -q && git log --oneline'

same_after 'worktree add and commit in it' origin '
	cd origin && git worktree add ../linked -b work && cd ../linked || exit 9
	echo linked >new && git add new && git commit -m "in the worktree"
	cd ../origin && git log --format="%H %s" --all && git worktree list | sed "s,.*/,,"'

linked()
{
	origin
	git -C origin worktree add -q ../linked -b work
}

# The workspace is the linked worktree alone: its own git data lies outside of it.
fresh
linked
cd linked || exit 1
launch bash -c 'echo x >new && git add new && git commit -qm "in the worktree" && git log --format=%s -1'
check 'a run inside a linked worktree commits' grep -qx 'in the worktree' "$TMP/out"
cat "$TMP/err" >&2
check 'and the main tree sees the commit' \
	[ "$(git -C ../origin log --format=%s -1 work)" = 'in the worktree' ]
launch bash -c 'echo evil >../origin/file'
check 'but the main worktree stays closed' [ "$(head -n 1 ../origin/file)" = one ]

# What makes the host's git obey another configuration: pointers, a gitfile, a repository at the top.
fsmonitor() # DIRECTORY: a repository that runs something
{
	git init -q --bare "$1"
	printf '[core]\n\tfsmonitor = touch %s/ran; false\n\tbare = false\n' "$TMP" >>"$1/config"
}
host_git() # DIRECTORY: nothing of it ran
{
	rm -f "$TMP/ran"
	git -C "$1" status --short >/dev/null 2>&1
	[ ! -e "$TMP/ran" ]
}
fresh
git init -q pointers && cd pointers && git config user.email a@b && git config user.name n || exit 1
echo 1 >f && git add f && git commit -qm i && git worktree add -q ../pointed && fsmonitor evil
cp -r .git/objects .git/refs evil/
"$SBX" -q -- sh -c 'echo ../evil >.git/commondir; echo ../../../evil >.git/worktrees/pointed/commondir
	mv .git/worktrees/pointed x; mv .git x; echo x >HEAD; git worktree add -q w && cd w && echo 2 >g &&
	git add g && git commit -qm g' 2>/dev/null
check 'a worktree can be made and committed in' [ $? -eq 0 ]
check 'a repository keeps its configuration' host_git .
check 'and so does another worktree' host_git ../pointed
echo ../evil >.git/commondir
host_git .
check 'the attack works where nobody looks' [ -e "$TMP/ran" ]
rm .git/commondir
cd ../pointed && fsmonitor evil
"$SBX" -q -- sh -c 'echo "gitdir: evil" >.git; rm -f .git; mv .git x
	echo ../../../../pointed/evil >"$(git rev-parse --git-dir)/commondir"; echo 3 >h && git add h && git commit -qm h' 2>/dev/null
check 'a linked worktree commits' [ $? -eq 0 ]
check 'and keeps its gitfile and pointers' host_git .
mkdir ../bare && cd ../bare && fsmonitor evil
"$SBX" -q -- sh -c 'echo "gitdir: evil" >.git; cp -r evil/* .' 2>/dev/null
check 'a directory does not become a repository' host_git .
mkdir ../top && cd ../top && git init -q --bare . && git -C ../pointers push -q "$PWD" HEAD:main
"$SBX" -q -- sh -c 'git symbolic-ref HEAD refs/heads/other && git update-ref refs/heads/other main
	echo x >>config; echo x >hooks/pre-push; echo ../evil >commondir; mkdir .git; true' 2>/dev/null
check 'a bare repository moves its HEAD' [ "$(cat HEAD)" = 'ref: refs/heads/other' ]
check 'and keeps its configuration and hooks' \
	sh -c '! grep -qx x config && [ ! -e hooks/pre-push ] && [ ! -e commondir ] && [ ! -e .git ]'
mkdir ../lay && cd ../lay && git clone -q --bare ../pointers .bare && echo 'gitdir: ./.bare' >.git
"$SBX" -q -- sh -c 'echo x >>.bare/config; echo x >.bare/hooks/pre-push; mv .bare x; git worktree add -q main' 2>/dev/null
check 'so does one that a gitfile names, and a worktree is made' \
	sh -c '! grep -qx x .bare/config && [ ! -e .bare/hooks/pre-push ] && [ -e main/f ]'

# A gitlink makes a nested repository a submodule, which the status at the top looks into.
gitlink() # SBX-OPTIONS...
{
	rm -rf ../super && git init -q ../super && cd ../super || return 1
	git config user.email a@b && git config user.name n && git commit -q --allow-empty -m i
	"$SBX" -q "$@" -- sh -c 'git init -q sub && git -C sub commit -q --allow-empty -m y
		git -C sub config core.fsmonitor "touch '"$TMP"'/ran; false"
		git update-index --add --cacheinfo "160000,$(git rev-parse HEAD),sub"
		echo 1 >f && git add f && git commit -qm mine' >/dev/null 2>&1
	[ "$(git log -1 --format=%s)" = mine ]
}
check 'work at the top goes on without nested repositories' gitlink --deny-modify '*/**/.git/**'
check 'and nothing of one runs' host_git .

fresh
git init -q . && git config core.hooksPath .husky/_ && mkdir -p .husky/_ || exit 1
"$SBX" -q -- sh -c 'echo x >.husky/pre-commit; echo x >.husky/_/pre-commit; mv .husky x; echo 1 >f
	git add f && git commit -qm i' 2>/dev/null
check 'the hooks that the configuration names stay, and a commit is made' \
	[ "$? $(ls -A .husky .husky/_ | tr -d '\n')" = '0 .husky:_.husky/_:' ]

# Submodules: the git directory lies in that of the superproject, and is opened by name.
submodule()
{
	fresh
	git init -q lib && git -C lib commit -q --allow-empty -m l && git init -q super &&
		git -C super -c protocol.file.allow=always submodule --quiet add "$PWD/lib" mod &&
		git -C super commit -qm s && cd super/mod && git config user.email a@b && git config user.name n
}
# Every way in that git runs or obeys next, by name, by a temporary file, by its directory, by a link.
reach='for f in hooks/pre-commit hooks/post-checkout config config.worktree commondir gitdir info/attributes; do
	echo x >"$1/$f"; mkdir "$1/${f%/*}"; echo x >"$1/$f.new"; mv "$1/$f.new" "$1/$f"; ln -sf /nowhere "$1/$f"; rm -f "$1/$f"
	done 2>/dev/null; mv "$1/hooks" "$1/h2"; mkdir "$1/hooks"; ln -s "$PWD" "$1/hooks"; mv "$1/info" "$1/i2"; ln -s "$PWD" "$1/info"'
kept() # GITDIR: as before but for what git writes
{
	! grep -rx x "$1/config" "$1/hooks" "$1/config.worktree" "$1/commondir" "$1/gitdir" "$1/info" 2>/dev/null | grep . &&
		[ -d "$1/hooks" ] && ! [ -L "$1/hooks" ] && ! [ -L "$1/info" ] && ! [ -L "$1/config" ] && ! [ -e "$1/hooks/pre-commit" ]
}
for opened in ../.git/modules/mod ../.git/modules ../.git ..; do
	submodule
	launch --modify "$(realpath $opened)" -- sh -c "$reach"'; echo 1 >f && git add f && git commit -qm inside && git switch -qc b && git gc -q' - ../.git/modules/mod
	check "a submodule commits with --modify $opened" [ "$status $(git log -1 --format=%s)" = '0 inside' ]
	check 'and keeps what git runs and obeys' kept ../.git/modules/mod
	[ $opened = ../.git/modules/mod ] || [ $opened = ../.git/modules ] ||
		check 'and so does the superproject' kept ../.git
	check 'the host'\''s git goes on' git -C .. status --short
done
submodule
launch --modify "$(realpath ../.git/modules/mod)" --modify "$(realpath ../.git/modules/mod/hooks)" -- \
	sh -c 'echo x >../.git/modules/mod/hooks/pre-commit'
check 'named itself, a part of it is opened' [ -e ../.git/modules/mod/hooks/pre-commit ]
check 'and said' grep -q 'hooks/\*\*. opens .*, run or obeyed outside by git (preset:protected:' "$TMP/err"

# A linked worktree with the whole repository opened for it.
fresh
linked
cd linked || exit 1
launch --modify "$(realpath ../origin/.git)" -- sh -c "$reach"'; echo 1 >f && git add f && git commit -qm inside && git tag t && git gc -q' - ../origin/.git
check 'a worktree commits with its repository opened' [ "$status $(git log -1 --format=%s)" = '0 inside' ]
check 'which keeps what git runs and obeys' kept ../origin/.git
check 'and the worktree its pointers' sh -c '[ "$(cat ../origin/.git/worktrees/linked/commondir)" = ../.. ] && git status --short'
launch sh -c "$reach; $reach" - ../origin/.git
launch sh -c "$reach" - ../origin/.git/worktrees/linked
check 'without an option neither is reached' sh -c 'git -C ../origin fsck && git status --short'
check 'nor is what git runs' kept ../origin/.git
check 'here and there' sh -c 'cd ../origin/.git/worktrees/linked && ! ls config config.worktree hooks/pre-commit info/attributes &&
	[ ! -L gitdir ] && ! grep -x x commondir gitdir'
