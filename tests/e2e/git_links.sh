#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The host's git writes its files through symlinks: none that the command leaves may lead it.
. "$(dirname "$0")/../support/e2e.sh"

export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C
export GIT_COMMITTER_EMAIL=c@example.org GIT_CONFIG_NOSYSTEM=1 GIT_ADVICE=0
git config --global init.defaultBranch main
rc=$HOME/.bashrc

repository() # [DIRECTORY]
{
	git init -q "${1:-.}" && git -C "${1:-.}" commit -q --allow-empty -m first
}

# Every way a symlink, or a directory with one, could come to be at a name; all must fail.
plant='p() # NAME TARGET [AND-BY-EXCHANGE]: what is in its place goes first
{
	rm -rf "$1"
	ln -s "$2" "$1" && echo "made $1"
	ln -s "$2" w && mv -T w "$1" && echo "moved $1"; rm -f w
	ln -s "$2" w && ln w "$1" && echo "linked $1"; rm -f w
	if [ -n "${3:-}" ]; then
		ln -s "$2" w && echo x >"$1" && python3 -c "import ctypes, sys; sys.exit(ctypes.CDLL(None).renameat2(-100, b\"w\", -100, sys.argv[1].encode(), 2) != 0)" "$1" &&
			echo "exchanged $1"; rm -f w
	fi
	rm -rf "$1"
	mkdir -p w/x/y && ln -s "$2" w/x/y/l && mv w "$1" && echo "moved with $1"; rm -rf w "$1"
}'
for how in '' --no-shim; do
	fresh
	repository && echo 'kept' >"$rc" || exit 1
	# shellcheck disable=SC2086
	launch $how bash -c "$plant"'
		p .git/gitk.cache ~/.bashrc exchange; for f in COMMIT_EDITMSG FETCH_HEAD index logs/HEAD newdir/name
		do mkdir -p .git/newdir; p ".git/$f" ~/.bashrc; p ".git/$f" config; done
		for d in logs refs/tags modules/new; do mkdir -p .git/modules; p ".git/$d" ~; done
		mkdir -p .git/modules/new/logs; p .git/modules/new/logs/HEAD ~/.bashrc; rmdir .git/newdir; true'
	check "no symlink comes into a git directory $how" [ "$status" -eq 0 -a ! -s "$TMP/out" ]
	check "there is none $how" sh -c '! find .git -type l | grep .'
	check "the line says why $how" grep -q 'denied modify .*/.git/COMMIT_EDITMSG .*: the git of the host would follow a symlink there: make it outside of the sandbox$' "$TMP/err"
done

# The instance: what the host's git then does.
fresh
repository && echo 'kept' >"$rc" || exit 1
launch sh -c 'rm -f .git/COMMIT_EDITMSG .git/logs/HEAD; ln -s ~/.bashrc .git/COMMIT_EDITMSG; ln -s ~/.bashrc .git/logs/HEAD
	ln -s ~/.bashrc .git/SQUASH_MSG; ln -s ~/.bashrc .git/FETCH_HEAD; printf "touch /nowhere\n" >.git/MERGE_MSG
	git checkout -q -b agent; git commit -q --allow-empty -m "fix" -m "touch /nowhere"; git checkout -q main; true'
GIT_EDITOR=true git commit -q --allow-empty
git merge -q --squash agent
git fetch -q . 2>/dev/null
check 'the host commits, merges and fetches, and its home is as it was' [ "$(cat "$rc")" = kept ]
ln -sf "$rc" .git/COMMIT_EDITMSG
git commit -q --allow-empty -m 'by the link'
check 'which a link would change' grep -q 'by the link' "$rc"
launch sh -c 'mv .git/COMMIT_EDITMSG .git/SQUASH_MSG; mv .git/COMMIT_EDITMSG gone'
check 'one that is there can only be taken away' [ -L gone -a ! -e .git/SQUASH_MSG ]

# The same of the other git directories that the command writes to.
bare()
{
	rm -rf "$TMP/src" && repository "$TMP/src" && git clone -q --bare "$TMP/src" "$1"
}
fresh
echo kept >"$rc"
bare . && launch bash -c "$plant"'; p FETCH_HEAD ~/.bashrc; p logs/HEAD ~/.bashrc; p objects/info ~
	git worktree add -q tree && cd tree && ln -s ~ l && git add l && git commit -qm link && git log -1 --format=%s' 2>/dev/null
check 'nor into a bare repository, where a worktree has links' [ "$(cat "$TMP/out")" = link -a -L tree/l ]
fresh
bare .bare && echo 'gitdir: ./.bare' >.git && launch bash -c "$plant"'; p .bare/FETCH_HEAD ~/.bashrc; p .bare/logs/HEAD ~/.bashrc; ln -s ~ l'
check 'nor into one that a gitfile names' [ ! -s "$TMP/out" -a -L l ]
fresh
repository origin && git -C origin worktree add -q ../linked -b work && cd linked || exit 1
launch bash -c "$plant"'; cd ../origin/.git; mkdir -p logs; p logs/HEAD ~/.bashrc; p logs/refs ~; p objects/info ~
	cd worktrees/linked; p COMMIT_EDITMSG ~/.bashrc; p logs/HEAD ~/.bashrc' 2>/dev/null
check 'nor into the common directory of a worktree, or its own' \
	sh -c '[ ! -s "$1" ] && ! find ../origin/.git -type l | grep .' - "$TMP/out"
fresh
repository sub && repository . || exit 1
launch bash -c "$plant"'; mkdir d && ln -s ~ d/l && mv d e && ln e/l f && mv f gitx && mkdir .github && ln -s ~ .github/l
	git add e && git commit -qm l && git stash -q; git gc -q; mv e/l g'
check 'links elsewhere are free' [ "$status" -eq 0 -a -L g -a -L .github/l ]
