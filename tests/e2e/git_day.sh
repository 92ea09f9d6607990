#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A day with git, under the default policy: each operation ends as bare, or is refused with a line whose
# remedy lets it end as bare.
E2E_WHO=user
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

command -v git >/dev/null || { skip 'a day with git' 'git is not installed'; exit 0; }
# hundreds of starts: as an ordinary user alone, as people work
[ "$(id -u)" -ne 0 ] || { skip 'a day with git' 'as an ordinary user'; exit 0; }
export GIT_CONFIG_SYSTEM=/dev/null GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
git config --global user.name n
git config --global user.email n@example.org
git config --global init.defaultBranch main
git config --global protocol.file.allow always
git config --global advice.detachedHead false

# Made once; each operation has a copy at the same place.
make_repositories()
{
	cd / && rm -rf "$HOME/src" && mkdir -p "$HOME/src" && cd "$HOME/src" || exit 1
	git init -q lib && (cd lib && echo l >l && git add l && git commit -qm l)
	git init -q app && (cd app && for i in 1 2 3; do echo $i >README.md && git add README.md && git commit -qm $i || exit; done)
	git clone -q --bare app bare.git
	git -C app remote add origin ../bare.git && git -C app fetch -q origin
	git init -q super && (cd super && git submodule --quiet add "$HOME/src/lib" sub && git commit -qm super)
	git clone -q super again && git clone -q --recurse-submodules super deep
	cd / && mv "$HOME/src" "$TMP/src"
}

repositories()
{
	cd / && rm -rf "$HOME/src" "$HOME/.git-credentials" && cp -a "$TMP/src" "$HOME/src" && cd "$HOME/src/$place" || exit 1
}
make_repositories

# What it ends with, and what is left of its files: bare, sandboxed, sandboxed with the remedy.
day() # OPERATION [DIRECTORY]
{
	local op=$1 place=${2:-app} bare n words
	repositories
	bash -c "$op" >/dev/null 2>"$TMP/bare.err" </dev/null
	bare=$?
	[ $bare -eq 0 ] || { echo "bare it ends with $bare"; cat "$TMP/bare.err"; return 1; }
	words=()
	for n in 1 2 3 4; do
		repositories
		"$SBX" "${words[@]}" -- bash -c "$op" >/dev/null 2>"$TMP/err" </dev/null
		status=$?
		[ $status -eq 0 ] && return 0
		more=$(sed -n 's/^sbx-launch: denied .*allow \(its directory \)\?with \(--.*\)$/\2/p' "$TMP/err" | sed 's/, or with .*//' | tr '\n' ' ')
		[ -n "$more" ] || { echo "ends with $status, and no remedy"; cat "$TMP/err"; return 1; }
		eval "words+=($more)"
	done
	echo "status $status with ${words[*]}"
	cat "$TMP/err"
	return 1
}

while IFS=$'\t' read -r name op; do
	check "$name" day "$op"
done < <(head -n "$(rounds 12 99)" <<'EOF'
worktree-in	sh -c 'git worktree add -q wt1 -b wt1 && git worktree remove wt1; r=$?; git branch -D wt1; exit $r'
worktree-out	sh -c 'git worktree add -q ../wtX -b wtX; r=$?; git worktree remove --force ../wtX; git branch -D wtX; exit $r'
submodule	sh -c 'git submodule add -q ~/src/lib sub; r=$?; git rm -qf --cached sub .gitmodules; rm -rf sub .git/modules/sub .gitmodules; git config --remove-section submodule.sub; exit $r'
commit	sh -c 'echo x>>README.md && git commit -qam x'
rebase	sh -c 'git checkout -q -b f HEAD~1; echo y>y; git add y; git commit -qm y; git rebase main; r=$?; git checkout -q main; git branch -D f; exit $r'
stash	sh -c 'echo z>>README.md; git stash -q && git stash pop -q; git checkout -q .'
branch-m	sh -c 'git branch aa; git branch -m aa bb; r=$?; git branch -D aa bb; exit $r'
gitconfig-set	git config user.foo x
remote-add	sh -c 'git remote add r1 ~/src/lib && git fetch -q r1 && git remote remove r1'
gc	git gc -q
bisect	sh -c 'git bisect start && git bisect bad && git bisect good HEAD~1; git bisect reset'
cherry	sh -c 'git cherry-pick --allow-empty HEAD --no-commit; git cherry-pick --abort; git reset -q --hard'
init-sub	sh -c 'git init -q nn && cd nn && echo 1>a && git add a && git commit -qm 1; r=$?; cd ..; rm -rf nn; exit $r'
notes	sh -c 'git notes add -f -m hi HEAD'
hookcommit	sh -c 'printf "#!/bin/sh\nexit 0\n" > .git/hooks/pre-commit'
stash -u	sh -c 'echo n>n; echo z>>README.md; git stash -q -u && git stash pop -q'
init --shared	git init -q --shared nn
status	git status
log	git log --oneline
clone-file	sh -c 'rm -rf c1; git clone -q file://$HOME/src/lib c1; rm -rf c1'
clone-local	sh -c 'rm -rf c1; git clone -q ~/src/lib c1; rm -rf c1'
tag	sh -c 'git tag v$$; git tag -d v$$'
checkout-b	sh -c 'git checkout -q -b n1 && git checkout -q main && git branch -D n1'
gitconfig-get	git config user.name
fetch	git fetch ~/src/lib
fsck	git fsck
grep	git grep -q 3
am	sh -c 'git format-patch -1 -o p && git am -q p/*; git am --abort; rm -r p'
clean	git clean -nd
init	git init -q .
archive	sh -c 'git archive HEAD | tar t'
blame	git blame README.md
lfsless	git maintenance run --quiet
pull	sh -c 'git pull -q ~/src/app main'
push -u	git push -q -u origin main
config --shared	git init -q --shared=group nn
credential store	sh -c 'printf "protocol=https\nhost=example.org\nusername=u\npassword=p\n\n" | git credential-store store'
amend	git commit -q --amend -m amended
merge	sh -c 'git checkout -q -b m HEAD~1 && echo m>m && git add m && git commit -qm m && git checkout -q main && git merge -q -m mm m'
EOF
)

# In a submodule, and around one: its git directory is that of the repository above.
check 'commit in a submodule' day "sh -c 'echo x >x && git add x && git commit -qm x'" super/sub
if full; then
	check 'branch and stash in a submodule' day "sh -c 'git checkout -q -b s && echo y >>l && git stash -q && git stash pop -q && git commit -qam y'" deep/sub
	check 'commit of a submodule that moved on' day "sh -c 'cd sub && echo x >x && git add x && git commit -qm x && cd .. && git commit -qam moved'" super
	check 'submodule update --init' day "git submodule --quiet update --init" again
	check 'submodule add and update' day "sh -c 'git submodule --quiet add ~/src/lib sub2 && git commit -qm two && git submodule --quiet update --init'" super
	check 'submodule status' day "git submodule status --recursive" deep
	check 'submodule foreach' day "git submodule --quiet foreach git status --short" deep
	check 'push to a bare repository by its path' day "git push -q ../bare.git main:other"
fi
check 'push of a new branch' day "sh -c 'git checkout -q -b pushed && echo p >p && git add p && git commit -qm p && git push -q ../bare.git pushed'"

# Signed by an agent: its socket is the host's, and the public key lies among the secrets.
if command -v ssh-agent >/dev/null && command -v ssh-keygen >/dev/null; then
	mkdir -p "$HOME/.ssh" && chmod 700 "$HOME/.ssh"
	ssh-keygen -q -t ed25519 -N '' -f "$HOME/.ssh/id_sign"
	eval "$(ssh-agent -a "$TMP/agent.sock")" >/dev/null
	trap 'kill "$SSH_AGENT_PID" 2>/dev/null' EXIT
	ssh-add -q "$HOME/.ssh/id_sign" 2>/dev/null
	sign="git -c gpg.format=ssh -c user.signingkey=$HOME/.ssh/id_sign.pub commit -q -S --allow-empty -m signed"
	check 'signed by ssh-agent' day "$sign"
	# the remedies open the socket and the public key alone
	place=app
	repositories
	"$SBX" -q --unix "$SSH_AUTH_SOCK" --read "$HOME/.ssh/id_sign.pub" -- sh -c "$sign; cat $HOME/.ssh/id_sign" >"$TMP/out" 2>"$TMP/err"
	check 'and the private key stays closed' [ ! -s "$TMP/out" ]
	check 'the commit is signed' eval 'git cat-file commit HEAD | grep -q "BEGIN SSH SIGNATURE"'
else
	skip 'signed by ssh-agent' 'no ssh-agent'
fi
