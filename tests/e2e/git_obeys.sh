#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the host's git runs next is closed wherever its configuration says that it lies: each file that
# `git config --list --show-origin` names, where core.hooksPath leads, and where links lead. And what
# links in other protected directories lead to.
. "$(dirname "$0")/../support/e2e.sh"
export GIT_CONFIG_SYSTEM=/dev/null # the machine's own is left alone
export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=a@b

# Inside: the name, what it leads to, and each directory and link on the way, replaced.
cat >"$TMP/plant.sh" <<'SH'
# Without us it runs, too: nothing is touched but in this test's own directories.
is_ours() { case $(readlink -m "$1") in "$TOP"/* | "$HOME"/*) ;; *) return 1 ;; esac; }
for f in "$@"; do
	is_ours "$f" || continue
	for at in "$f" "$(readlink -m "$f")"; do
		put() { mkdir -p "${at%/*}" && printf '#!/bin/sh\ntouch %s/RAN\n' "$TOP" >"$at" && chmod +x "$at"; }
		put; rm -f "$at"; put
		dir=${at%/*}
		while [ "${dir#"$TOP"/}" != "$dir" ] && [ "${dir##*/}" != .git ]; do
			if mv "$dir" "$dir.old"; then
				put
				[ -e "$at" ] || { rm -rf "$dir"; mv "$dir.old" "$dir"; }
			fi
			dir=${dir%/*}
		done
	done
done 2>/dev/null
for f in $ORIGINS; do is_ours "$f" || continue; printf '[core]\n\thooksPath = %s/evil\n' "$TOP" >"$f"; mv "$f" "$f.old"; printf '[core]\n\thooksPath = %s/evil\n' "$TOP" >"$f"; done 2>/dev/null
mkdir -p "$TOP/evil" && printf '#!/bin/sh\ntouch %s/RAN\n' "$TOP" >"$TOP/evil/pre-commit" && chmod +x "$TOP/evil/pre-commit"
true
SH

ran() # the host's git runs what was written
{
	rm -f "$TOP/RAN"
	git commit -q --allow-empty -m m >/dev/null 2>&1
	[ -e "$TOP/RAN" ]
}

obeys() # WAY: a function that sets the repository up; in $TOP, with its variables
{
	fresh
	rm -rf "$HOME"/.[a-z]* "$HOME"/xdg
	export TOP=$WS
	mkdir githooks shared && git init -q . && git commit -q --allow-empty -m i
	(
		"$1"
		ORIGINS=$(git config --list --show-origin | sed -n 's/^file:\([^"\t]*\)\t.*/\1/p' | sort -u)
		hook=$(git rev-parse --git-path hooks)/pre-commit
		[ -d .git/hooks ] || mkdir .git/hooks
		export ORIGINS
		"$SBX" -q -- sh "$TMP/plant.sh" "$hook" 2>"$TMP/err" </dev/null || { cat "$TMP/err"; exit 1; }
		[ -e evil/pre-commit ] || { echo "nothing was tried"; cat "$TMP/err"; exit 1; }
		! ran || { echo "git ran it"; git config --list --show-origin; exit 1; }
		# positive control
		sh "$TMP/plant.sh" "$hook"
		ran || { echo "not even without us"; exit 1; }
	)
}
local_path() { git config core.hooksPath githooks; }
of_the_worktree() { git config extensions.worktreeConfig true && git config --worktree core.hooksPath githooks; }
of_home() { git config --global core.hooksPath githooks; }
of_xdg_in_home() { mkdir -p "$HOME/.config/git" && git config -f "$HOME/.config/git/config" core.hooksPath githooks; }
of_both() { of_xdg_in_home && git config -f "$HOME/.gitconfig" user.name n; }
of_xdg() { export XDG_CONFIG_HOME=$HOME/xdg; mkdir -p "$XDG_CONFIG_HOME/git" && git config -f "$XDG_CONFIG_HOME/git/config" core.hooksPath githooks; }
of_xdg_in_the_workspace() { export XDG_CONFIG_HOME=$TOP/cfg; mkdir -p cfg/git && git config -f cfg/git/config user.name n; }
of_a_global() { export GIT_CONFIG_GLOBAL=$HOME/other && git config -f "$HOME/other" core.hooksPath githooks; }
of_a_global_in_the_workspace() { export GIT_CONFIG_GLOBAL=$TOP/shared/global && git config -f shared/global user.name n; }
of_a_system() { export GIT_CONFIG_SYSTEM=$HOME/system && git config -f "$HOME/system" core.hooksPath githooks; }
of_variables() { export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=Core.HooksPath GIT_CONFIG_VALUE_0=githooks; }
of_an_include() { of_xdg_in_home && git config -f "$HOME/.config/git/config" core.hooksPath no && git config -f "$HOME/.config/git/config" include.path inc && git config -f "$HOME/.config/git/inc" core.hooksPath githooks; }
of_a_linked_include()
{ # what that includes lies beside the link
	git config include.path inc && ln -s ../shared/inc .git/inc
	git config -f shared/inc include.path more && git config -f .git/more core.hooksPath githooks
}
a_link_to_the_path() { git config core.hooksPath hl && ln -s shared/next hl && ln -s ../githooks shared/next; }
a_link_on_the_way() { mkdir githooks/h && git config core.hooksPath way/h && ln -s githooks way; }
a_linked_hook() { mkdir -p .git/hooks && ln -s ../../githooks/pre-commit .git/hooks/pre-commit; }
a_linked_hook_that_is_there() { a_linked_hook && echo '#!/bin/sh' >githooks/pre-commit && chmod +x githooks/pre-commit; }
a_hook_by_three_links() { a_linked_hook && ln -s ../shared/x githooks/pre-commit && ln -s ../other shared/x; }
a_hook_through_a_directory() { mkdir -p .git/hooks && ln -s ../../way/pre-commit .git/hooks/pre-commit && ln -s githooks way; }
a_linked_hook_of_the_path() { of_xdg_in_home && ln -s ../shared/x githooks/pre-commit; }
for way in $(first 5 local_path a_linked_hook of_xdg of_variables a_link_on_the_way of_the_worktree of_home of_xdg_in_home of_both of_xdg_in_the_workspace of_a_global \
	of_a_global_in_the_workspace of_a_system of_an_include of_a_linked_include a_link_to_the_path \
	a_linked_hook_that_is_there a_hook_by_three_links a_hook_through_a_directory \
	a_linked_hook_of_the_path); do
	check "git hooks, $way" obeys $way
done

# Programs of the workspace that the configuration names.
fresh
git init -q . && git commit -q --allow-empty -m i && mkdir tools && echo 'exit 0' | tee tools/{fs,clean,al,merge,free} >/dev/null && chmod +x tools/* || exit 1
git config core.fsmonitor ./tools/fs && git config filter.x.clean 'sh -c "python3 tools/clean %f"' && git config alias.x '!"$PWD"/other; ./tools/al x' &&
	git config --global merge.m.driver "$WS/tools/merge %O %A" && git config diff.d.command tools/later && git config core.excludesFile tools/free || exit 1
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=gpg.ssh.program GIT_CONFIG_VALUE_0=tools/gpg "$SBX" -q -- \
	sh -c 'for f in fs clean al merge later gpg free; do echo evil >tools/$f; done; mv tools t' 2>"$TMP/err"
check 'programs that the configuration names are closed, and what it reads is not' [ "$(cd tools && grep -l evil * | xargs)" = free ]
check 'the line says so' grep -q 'denied modify .*/tools/fs (rule .*/tools/fs, builtin:git:1' "$TMP/err"

# An earlier run may have written a configuration with very many names.
fresh
git init -q . && git init -q sub && printf '[submodule "s"]\n\tpath = sub\n\turl = x\n' >.gitmodules || exit 1
{ printf '[alias]\n\tx = "!'; seq -f 'a/%g' -s ' ' 12000 | tr -d '\n'; echo '"'; } >>sub/.git/config
"$SBX" -- true >"$TMP/out" 2>"$TMP/err"
check 'too many are an error, with the cause' [ $? -eq 125 -a "$(grep -c '^sbx-launch: E_LIMIT: .*names more than 10000 files' "$TMP/err")" = 1 ]

# A linked worktree, with settings of its own; its hooks are run at its own top.
fresh
git init -q . && git commit -q --allow-empty -m i && git worktree add -q wt 2>/dev/null &&
	git config extensions.worktreeConfig true && git -C wt config --worktree core.hooksPath h || exit 1
"$SBX" -q -- sh -c 'mkdir wt/h && echo x >wt/h/pre-commit; mkdir h && echo x >h/f' 2>/dev/null
check 'hooks of a linked worktree below are closed, the same name here is not' [ ! -e wt/h/pre-commit -a -e h/f ]

# Submodules are named by their paths, and have submodules; whatever else lies there.
fresh
git init -q . && git commit -q --allow-empty -m i || exit 1
deep='third_party/google/protobuf a/b/c/modules/d/e/f .sub x'
for m in $deep; do
	mkdir -p .git/modules/$m/objects .git/modules/$m/refs .git/modules/$m/hooks $m &&
		echo 'ref: refs/heads/main' >.git/modules/$m/HEAD &&
		git config -f .git/modules/$m/config core.worktree "$PWD/$m" &&
		git config -f .git/modules/$m/config core.hooksPath hk || exit 1
done
(cd .git/modules && seq 1 3000 | sed s/^/f/ | xargs touch)
"$SBX" -q -- sh -c 'for m in '"$deep"'; do g=.git/modules/$m
	echo SPOILT >$g/config.worktree; echo SPOILT >>$g/config; echo SPOILT >$g/hooks/x; mkdir -p $m/hk; echo SPOILT >$m/hk/pre-commit; echo fine >$m/f; done' 2>/dev/null
check 'configuration and hooks of submodules at any depth are closed' [ -z "$(grep -rl SPOILT .)" ]
check 'and what else is in them is not' [ "$(cat third_party/google/protobuf/f .sub/f x/f)" = 'fine
fine
fine' ]
"$SBX" -q -- sh -c 'cd .git/modules && seq 1 4100 | sed s/^/d/ | xargs mkdir' 2>/dev/null
"$SBX" -q -- true 2>"$TMP/err"
check 'more than are looked at is an error' [ $? -eq 125 ]

# Those of linked worktrees lie in the worktree's own directory: seen from the main one, from the
# worktree, and where an option opens the git directory.
fresh
mkdir main && git init -q main && git -C main commit -q --allow-empty -m i && git -C main worktree add -q ../wt 2>/dev/null || exit 1
deep='sub two/parts third_party/google/protobuf'
spoil=
for m in $deep; do
	for g in worktrees/wt/modules/$m worktrees/wt/modules/sub/modules/$m modules/$m/worktrees/w/modules/$m modules/$m; do
		mkdir -p main/.git/$g/objects main/.git/$g/refs main/.git/$g/hooks && echo 'ref: refs/heads/main' >main/.git/$g/HEAD &&
			git config -f main/.git/$g/config core.bare false || exit 1
		spoil="$spoil $g"
	done
done
cat >"$TMP/spoil.sh" <<'SH'
for g in $1; do g=$2/$g
	for f in config.worktree config config.lock hooks/x commondir info/attributes; do mkdir -p "$(dirname $g/$f)"; echo SPOILT >>$g/$f; done
	echo fine >$g/index; done 2>/dev/null
SH
(cd main && "$SBX" -q -- sh "$TMP/spoil.sh" "$spoil" .git)
check 'submodules of linked worktrees are closed' [ -z "$(grep -rl SPOILT .)" ]
check 'but for what git writes' [ "$(find main/.git -name index -exec grep -l fine {} + | wc -l)" -eq 12 ]
find . -name index -exec grep -l fine {} + | xargs rm
(cd wt && "$SBX" -q -- sh "$TMP/spoil.sh" "$spoil" "$WS/main/.git")
check 'from the worktree, too' [ -z "$(grep -rl SPOILT .)" ]
check 'its own are written as ever' [ "$(find main/.git/worktrees/wt -name index -exec grep -l fine {} + | wc -l)" -eq 6 ]
mkdir other && (cd other && "$SBX" -q --workspace "$PWD" --modify "$WS/main/.git" -- sh "$TMP/spoil.sh" "$spoil" "$WS/main/.git")
check 'and where an option opens the directory' [ -z "$(grep -rl SPOILT .)" ]
check 'which is written then' [ "$(find main/.git -name index -exec grep -l fine {} + | wc -l)" -eq 12 ]

# ---- agents and others ----
fresh
mkdir -p .claude/commands .claude/agents .claude/skills/deep/er .claude/hooks .idea prompts skills/one/sub other
ln -s ../../prompts/x.md .claude/commands/x.md
ln -s ../../prompts/none.md .claude/agents/none.md
ln -s ../../skills/one .claude/skills/one
ln -s ../../../../prompts/y.md .claude/skills/deep/er/y.md
ln -s ../../other/z.md skills/one/z.md
ln -s ../other/idea.xml .idea/x.xml
ln -s . .claude/skills/loop
ln -s ../skills .claude/skills/loop2
ln -s ../.. .claude/hooks/top
for f in prompts/x.md prompts/y.md prompts/free.md other/free; do echo good >$f; done
"$SBX" -- sh -c 'for f in prompts/x.md prompts/none.md prompts/y.md skills/one/new skills/one/sub/new other/z.md other/idea.xml; do
	echo bad >$f; echo bad >t; mv t $f; rm -f $f; done; rm -f t; mv skills s2; mv skills/one s3; echo bad >prompts/free.md; echo bad >other/free; mkdir -p skills/two && echo bad >skills/two/f' >"$TMP/out" 2>"$TMP/err"
check 'where links in protected directories lead is closed' [ "$(grep -rl bad . | sort | tr '\n' ' ')" = './other/free ./prompts/free.md ./skills/two/f ' ]
check 'and is there' [ "$(cat prompts/x.md prompts/y.md)" = 'good
good' ]
check 'one that leads to the workspace is told' grep -q 'hooks/top leads to .*the workspace, which stays open' "$TMP/err"
