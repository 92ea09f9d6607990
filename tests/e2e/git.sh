#!/bin/bash
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
exit 0
