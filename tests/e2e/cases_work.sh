#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# git, editors, temporary files, devices, /proc and package stores: what people turn a sandbox off
# for.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/cases.sh"

npm_installs() # a slow starter: for one user
{
	package() { mkdir pkg dep && echo '{"name":"dep","version":"1.0.0"}' >dep/package.json && echo '{"name":"p","version":"1.0.0"}' >pkg/package.json; }
	install='cd pkg && npm install --offline --no-audit --no-fund --no-update-notifier ../dep >/dev/null; echo $?
		test -e node_modules/dep/package.json && echo INSTALLED'
	fresh
	package
	launch -q --preset npm -- bash -c "$install"
	check 'npm installs under its preset' [ "$(cat "$TMP/out")" = $'0\nINSTALLED' ]
	check 'and makes its cache alone at home' [ "$(ls -A "$HOME" | grep -v '^\.local$\|^\.cache$')" = .npm ]
	# A document that grants the workspace alone, and no cache beside it.
	doc '' '' "read: ['**'], modify: ['**']"
	fresh
	package
	"$SBX" -w "$WS" -p "$DOC" -- bash -c "$install" >"$TMP/out" 2>"$TMP/err" </dev/null
	check 'npm without a cache: the denial names the directory and what would allow it' \
		grep -q 'denied modify .*/home/\.npm/.* allow with --modify ' "$TMP/err"
}
[ "$(id -u)" -ne 0 ] || ! command -v npm >/dev/null || npm_installs
common || exit 0

# ---- git ----

two() { git init -q a && git init -q b && chmod 555 .; }
held 'repositories in a directory that is none and cannot be written' two \
	"'' '\".git/hooks/**\", \"**/.git/hooks/**\"' $all" \
	'git -C a status --porcelain; echo $?; echo x >b/.git/hooks/pre-commit; echo $?; chmod 755 .; ls -A' \
	$'0\n1\na\nb'
worktree()
{
	git init -q -b main main && cd main && git config user.email t@example.org && git config user.name t &&
		git commit -q --allow-empty -m i && git worktree add -q ../wt && cd ..
}
held 'commits in a linked worktree, whose repository stays configured as it is' worktree \
	"'' '\"main/.git/hooks/**\", \"main/.git/config\"' \"read: ['**'], modify: ['wt/**', 'main/.git/**']\"" \
	'cd wt && echo 1 >f && git add f && git commit -qm two && git log --oneline | wc -l
	git -C ../main config x.y z; [ $? -ne 0 ] && echo refused; git -C ../main log --oneline wt | wc -l' \
	$'2\nrefused\n2'
fresh
git init -q . && git config user.email t@example.org && git config user.name t
printf '#!/bin/sh\necho $$ >pid\nexec sleep 307.%s\n' $$ >ed && chmod +x ed && git config core.editor "$PWD/ed"
echo 1 >f && git add f
for ms in 1000 4000 16000; do # longer where the machine is too busy for the editor to be there
	launch -q --audit-level none --timeout ${ms}ms -- bash -c 'git commit & wait'
	[ ! -s pid ] || break
done
check 'a commit that ran out of time ends with 124' [ $status -eq 124 ]
check 'and leaves no lock and no editor' \
	bash -c '[ -s pid ] && ! ls .git/*.lock && ! pgrep -fx "sleep 307.$1"' - $$
check 'and a repository that can be used' git add f

# ---- editors ----

saved()
{
	git init -q ws && cd ws && git config user.email t@example.org && git config user.name t &&
		echo 1 >f && echo k >locked.txt && git add . && git commit -qm i && cd .. && echo '{}' >conf.json
}
save='cd ws; sed -i s/1/2/ f; cat f; git checkout -q -- f; cat f; cd ..; sed -i "s/{}/{1}/" conf.json; cat conf.json
	echo x >ws/.t; mv ws/.t ws/locked.txt; cat ws/locked.txt'
single="'' '\"ws/locked.txt\"' \"read: ['**'], modify: ['ws/**', 'conf.json']\""
held 'files are replaced by renames, but for the one that is locked' saved "$single" "$save" \
	$'2\n1\n{}\nk'
check 'a single file that may be changed needs its directory for that, and the denial names it' \
	grep -q 'sed[A-Za-z0-9]*: Permission denied' "$TMP/err"
src() { mkdir src && printf 'int a;\n' >src/f.c && chmod 640 src/f.c; }
works 'sed, vim and ed save and leave nothing' src "'' '' \"read: ['**'], modify: ['src/**']\"" \
	'sed -i s/a/b/ src/f.c; ! command -v vim >/dev/null || vim -Nu NONE -i NONE -es -c "s/b/c/" -c "s/c/b/" -c wq src/f.c
	! command -v ed >/dev/null || printf "s/b/c/\nw\ns/c/b/\nw\nq\n" | ed -s src/f.c
	stat -c %a src/f.c; cat src/f.c; ls -A src' $'640\nint b;\nf.c'
held 'where only the final name may be written sed fails, and the file is whole' src \
	"'' '' \"read: ['**'], modify: ['src/*.c']\"" 'sed -i s/a/b/ src/f.c; echo $?; cat src/f.c; ls -A src' \
	$'4\nint a;\nf.c'
check 'and the temporary name is in the denial' grep -q 'src/sed' "$TMP/err"

# ---- temporary files, devices ----

ws() { mkdir ws && echo 1 >ws/a && echo 2 >ws/b; }
mine="read: ['**'], modify: ['ws/**']"
works 'long here-documents, mktemp, tempfile' ws "'' '' \"$mine\"" 'cd ws
	cat >out <<EOF
$(head -c 200000 /dev/zero | tr "\0" a)
EOF
	wc -c <out; f=$(mktemp) && echo x >$f && cat $f
	python3 -Bc "import tempfile; tempfile.NamedTemporaryFile(); print(\"py\")"' $'200001\nx\npy'
if command -v zsh >/dev/null; then
	works 'here-documents of zsh, which asks TMPPREFIX' ws "'' '' \"$mine\"" \
		'cd ws && zsh -fc "cat >out <<EOF
hello
EOF" && cat out' hello
else
	skip 'here-documents of zsh, which asks TMPPREFIX' 'no zsh'
fi
works 'the usual devices' ws "'' '' \"read: ['ws/**'], modify: ['ws/**']\"" 'cd ws; bash -ec "
	echo x >/dev/null; echo y >>/dev/null; : <>/dev/null; head -c1 /dev/zero >/dev/null
	head -c1 /dev/urandom >r; cat <(echo ps); echo z >/dev/stdout; (echo w >/dev/full) 2>/dev/null || echo full
	exec 3>/dev/null; test -c /dev/null && echo OK" | cat' $'ps\nz\nfull\nOK'
works '/proc/self, /dev/fd and process substitution' ws "'' '' \"read: ['ws/**'], modify: ['ws/**']\"" 'cd ws
	diff <(cat a) <(cat b) | head -n 1; echo x | cat /dev/stdin; readlink /proc/self/exe >/dev/null && echo exe
	ls /proc/self/fd >/dev/null && echo fd; ls -l a >/dev/null && echo ls; cat /proc/meminfo >/dev/null && echo mem
	[ "$(nproc)" -gt 0 ] && echo nproc' $'1c1\nx\nexe\nfd\nls\nmem\nnproc'
works 'what /proc tells of others stays closed' ws "'' '' \"$mine\"" \
	'cat /proc/1/environ /proc/kcore /proc/sysrq-trigger 2>&1 >/dev/null | wc -l' 3

# ---- stores of packages ----

store() { mkdir -p store/x app/node_modules && for i in 1 2 3; do echo $i >store/x/$i; done; }
works 'a store of hard links, and moves out of it' store "'' '' \"read: ['**'], modify: ['store/**', 'app/**']\"" \
	'cp -al store/x app/node_modules/x && stat -c %h app/node_modules/x/1
	mv app/node_modules/x app/m1 && mv app/m1 store/m2 && ls store/m2' $'2\n1\n2\n3'
held 'a file that may not be changed is copied, not linked, to where it could be' store \
	"'' '' \"read: ['**'], modify: ['app/**']\"" \
	'cp -al store/x app/node_modules/y; echo $?; rm -rf app/node_modules/y
	cp -a store/x app/node_modules/y; echo $?; cat app/node_modules/y/3; stat -c %h store/x/1' $'1\n0\n3\n1'
exit 0
