#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The repositories that the host's git enters by itself (submodules, linked worktrees) stay those that they
# were, and what a rule opens of another repository has a line.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
command -v git >/dev/null || { skip 'what git enters' 'git is not installed'; exit 0; }
git config --global user.email a@b
git config --global user.name n
git config --global protocol.file.allow always

# a superproject with submodules at two depths and one that is its own git directory; a worktree
make()
{
	cd "$WS" && rm -rf top lib linked && git init -q lib && git -C lib commit -q --allow-empty -m l &&
		git init -q top && cd top && git submodule --quiet add "$WS/lib" sub && git submodule --quiet add "$WS/lib" a/b/sub &&
		git clone -q "$WS/lib" old && git submodule --quiet add "$WS/lib" old && git commit -qm s &&
		git worktree add -q wt 2>/dev/null && git worktree add -q ../linked 2>/dev/null
}
# What the host's git would run: a monitor in a repository of the command's own.
cat >"$TMP/evil.sh" <<'P'
evil() { cp -r .git/modules/sub evil && git config -f evil/config core.fsmonitor "touch $RAN; false" && git config -f evil/config core.worktree "$PWD/$1"; }
case $1 in
gitfile) evil sub; echo "gitdir: $PWD/evil" >sub/.git ;;
deep) evil a/b/sub; echo "gitdir: $PWD/evil" >a/b/sub/.git ;;
renamed) evil sub; echo "gitdir: $PWD/evil" >f; mv f sub/.git ;;
removed) evil sub; rm -f sub/.git; echo "gitdir: $PWD/evil" >sub/.git ;;
linked) evil sub; ln -sf ../evil sub/.git ;;
moved) mv sub s2; mkdir sub; git init -q sub; git -C sub config core.fsmonitor "touch $RAN; false" ;;
above) mv a c; mkdir -p a/b/sub; git init -q a/b/sub; git -C a/b/sub config core.fsmonitor "touch $RAN; false" ;;
exchanged) mkdir x; git init -q x; git -C x config core.fsmonitor "touch $RAN; false"; python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b"x", -100, b"sub", 2)' ;;
lead) mv sub s2; git init -q x; git -C x config core.fsmonitor "touch $RAN; false"; ln -s x sub ;;
own) git -C old config core.fsmonitor "touch $RAN; false" ;;
own_file) printf '[core]\n\tfsmonitor = "touch %s; false"\n' "$RAN" >>old/.git/config ;;
own_moved) mv old/.git x; git init -q old; git -C old config core.fsmonitor "touch $RAN; false" ;;
worktree) evil wt; echo "gitdir: $PWD/evil" >wt/.git; rm -rf wt/.git ;;
worktree_moved) mv wt w2; git init -q wt; git -C wt config core.fsmonitor "touch $RAN; false" ;;
esac
P
export RAN=$TMP/ran
enter() { (cd "$WS/top" && git status; git -C wt status; git -C sub status; git submodule status) >/dev/null 2>&1; }
make || exit 1
cp -a "$WS/top" "$TMP/top"
(cd "$TMP/top" && RAN=$TMP/bare sh "$TMP/evil.sh" own_file && git status >/dev/null 2>&1)
check 'bare, the host runs it' [ -e "$TMP/bare" ]
for way in $(first 6 gitfile moved above own_file worktree exchanged deep renamed removed linked lead own own_moved worktree_moved); do
	[ "$way" = gitfile ] || make || exit 1
	rm -f "$RAN"
	(cd "$WS/top" && "$SBX" -q -- sh "$TMP/evil.sh" "$way") >"$TMP/out" 2>"$TMP/err"
	enter
	check "$way: nothing of the command's runs" [ ! -e "$RAN" ]
done
make || exit 1
(cd sub && "$SBX" -q -w "$WS/top" -- sh -c 'echo x >x && git add x && git commit -qm inside') 2>"$TMP/err"
check 'a submodule commits' [ "$(git -C "$WS/top/sub" log -1 --format=%s)" = inside ]
(cd old && "$SBX" -q -w "$WS/top" -- sh -c 'echo x >x && git add x && git commit -qm inside') 2>"$TMP/err"
check 'also one that is its own git directory' [ "$(git -C "$WS/top/old" log -1 --format=%s)" = inside ]
(cd wt && "$SBX" -q -w "$WS/top" -- sh -c 'echo x >x && git add x && git commit -qm inside') 2>"$TMP/err"
check 'and a worktree' [ "$(git -C "$WS/top/wt" log -1 --format=%s)" = inside ]
cd "$WS/top" && "$SBX" -- git submodule --quiet deinit -f sub 2>"$TMP/err"
check 'deinit has a remedy' grep -q 'denied modify .*/sub.*: allow with --modify ' "$TMP/err"

# A directory beside the workspace.
cd "$WS/lib" || exit 1
opens() { grep -q "note: .* opens .*, run or obeyed outside by git" "$TMP/err"; }
git init -q "$HOME/other" && git -C "$HOME/other" commit -q --allow-empty -m x
git init -q --bare "$HOME/bare.git"
for at in other/.git other/.git/hooks other/.git/config bare.git bare.git/hooks; do
	printf '{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[],"allowWrite":[".","%s"],"denyWrite":[]}}' "$HOME/$at" >"$TMP/s.json"
	printf 'version: 1\nfilesystem_policy:\n  include_workdir: true\n  read_only: [/usr, /lib, /lib64, /bin, /etc, /proc, %s]\n  read_write: [/dev/null, %s]\n' "$HOME/$at" "$HOME/$at" >"$TMP/o.yaml"
	chmod 600 "$TMP/s.json" "$TMP/o.yaml"
	for p in s.json o.yaml; do
		launch -q -p "$TMP/$p" -- true
		check "$p opens ~/$at: a line, though quiet" opens
		"$(dirname "$SBX")/sbx-policy" lint "$TMP/$p" >"$TMP/out" 2>&1
		check "$p opens ~/$at: lint" grep -q 'opens .*run or obeyed outside by git.*obeyed-outside' "$TMP/out"
	done
done
for at in other/.git/hooks other/.git/config other/.git/hooks/pre-push bare.git/hooks; do
	launch -q --modify "$HOME/$at" -- true
	check "--modify ~/$at: a line" opens
done
for at in other/.git bare.git; do
	launch -q --modify "$HOME/$at" -- sh -c 'find "$0" -name config -exec sh -c "echo SPOILT >>\"\$0\"" {} \;' "$HOME/$at"
	check "--modify ~/$at: closed, and no line" sh -c '! grep -q "run or obeyed outside by git" "$1" && ! grep -rqx SPOILT "$2"' - "$TMP/err" "$HOME/$at"
done
