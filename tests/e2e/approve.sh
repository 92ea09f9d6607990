#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --mode, sbx-policy approve, --print-argv: what is known to look runs and writes nothing.
. "$(dirname "$0")/../support/e2e.sh"
ask=${SBX%launch}policy

git init -q . && git config user.email a@b && git config user.name n
printf 'b\na\n' >file && mkdir -p d/e && echo x >d/e/f && git add . && git commit -qm one
echo more >>file
tree()
{
	find . -printf '%p %y %s %m %T@ %i\n' | sort
	find . -type f -exec sha256sum {} + | sort
}
# a file that git would refresh in its index, a monitor and a pager that would tell
touch d/e/f
printf '#!/bin/sh\ntouch "%s/ran"\n' "$PWD" >"$TMP/evil" && chmod 755 "$TMP/evil"
git config core.fsmonitor "$TMP/evil"
git config core.pager "$TMP/evil"
before=$(tree)
n=0
while IFS= read -r line; do
	n=$((n + 1))
	launch --mode accept-edits sh -c "$line"
	[ "$status" -eq 0 ] && [ "$(tree)" = "$before" ] ||
		{ echo "$line: $status"; cat "$TMP/err"; } >>"$TMP/wrong"
done <<'Y'
ls -laR
cat file | sort -k1 -r | uniq -c | head -n 1
sort -u file; wc -l file && tail -n 1 file
find . -name '*' -type f -print0 2>/dev/null
git status --short
git diff
git log --oneline -p
git show HEAD
git blame file
git ls-files; git rev-parse HEAD
grep -rn x d || echo none
sed -n '1,2p' file
diff -u file file > /dev/null
cd d && pwd
cut -c1 file | tr a b | nl | od -c
Y
check 'what is read-only runs' [ ! -s "$TMP/wrong" ]
check 'and was tried' [ "$n" -eq 15 ]

while IFS= read -r line; do
	launch --mode accept-edits sh -c "$line"
	[ "$status" -eq 126 ] && [ "$(tree)" = "$before" ] && [ ! -s "$TMP/out" ] &&
		grep -q '^sbx-launch: E_APPROVAL: needs-approval: ' "$TMP/err" ||
		echo "$line: $status" >>"$TMP/wrong"
done <<'Y'
touch new
ls; rm file
ls >new
git log --output=new
git -c core.pager=touch log
sort -o new file
find . -fprintf new x
sed -n 'w new' file
ls $(touch new)
uniq file new
Y
check 'the rest needs approval, and nothing of it runs' [ ! -s "$TMP/wrong" ]

asked() # TEXT ARGS...
{
	text=$1
	shift
	launch --mode accept-edits "$@"
	[ "$status" -eq 126 ] && grep -q "needs-approval: .*$text" "$TMP/err" || { echo "status $status"; cat "$TMP/err"; return 1; }
}
approve_asks() # TEXT WORDS...
{
	local text=$1
	shift
	"$ask" approve -- "$@" >"$TMP/out" 2>"$TMP/err"
	[ $? -eq 1 ] && grep -q "^ask: .*$text" "$TMP/out" || { cat "$TMP/out" "$TMP/err"; return 1; }
}
mkdir -p bin && printf '#!/bin/sh\necho evil; touch made\n' >bin/ls && chmod +x bin/ls
check 'a PATH into what the command may write asks' eval 'PATH=$PWD/bin:$PATH asked "PATH leads to .*/bin/ls, which the command may write" ls'
check 'also below a shell' eval 'PATH=/usr/bin:/bin:$PWD/bin asked "PATH leads to .*/bin/ls" sh -c "cat file; ls"'
check 'a relative one, too' eval 'PATH=bin:$PATH asked "PATH has the command.s current directory" ls'
ln -s "$PWD/bin/ls" "$HOME/cat"
check 'and a link there' eval 'PATH=$HOME:$PATH asked "PATH leads to .*/cat" cat file'
rm bin/ls && ln -s "$(command -v sh)" bin/cat
check 'a link in such a place to a program that is not' eval 'PATH=$PWD/bin:$PATH asked "PATH leads to .*/bin/cat" cat file'
ln -s "$PWD/bin" "$HOME/in" && ln -s "$(dirname "$(command -v ls)")" out && ln -s "$PWD/out" "$HOME/out"
check 'a directory reached by a link' eval 'PATH=$HOME/in:$PATH asked "PATH leads to .*/in/cat" cat file'
check 'a link out of a directory of links' eval 'PATH=$HOME/out:$PATH asked "PATH leads to .*/out/" ls'
check 'one whose place depends on who asks' eval 'PATH=/proc/self/cwd/bin:$PATH asked "PATH leads to /proc" cat file'
rm -r bin out "$HOME/cat" "$HOME/in" "$HOME/out"
launch -q --mode accept-edits ls
check 'else it does not' [ "$status" -eq 0 ]
git config diff.x.textconv 'touch made; cat'
check 'a driver in the configuration of git asks' asked '\.git/config names programs that show differences' git diff
check 'below a shell, too' asked 'names programs' sh -c 'ls && git show HEAD'
launch -q --mode accept-edits git status
check 'what shows no difference does not' [ "$status" -eq 0 ]
for words in '"di"ff' "sh''ow" 'log "-p"'; do
	check "as $words, too" asked 'names programs' sh -c "g''it $words"
done
git config --unset diff.x.textconv
cp .git/config "$TMP/config"
while IFS= read -r text; do
	printf "$text\n" >>.git/config
	check "as $text" asked 'names programs' git diff
	cp "$TMP/config" .git/config
done <<'Y'
[diff "x"] textconv = touch made #]
[diff "a\\\\"] k = v\\\\\n[core]\ntextconv = z\n[diff "x"]\n textconv = touch made
[diff.x]\n textconv = touch made
[DIFF "]"] ; x\r\n\tTextConv\t=\ttouch made
[diff]\n submodule = diff
[format]\n pretty = %%h %%G?
[pretty]\n mine = %%G?
[pretty]\n other = %%h %%+G?
[log]\n diffMerges = remerge
Y
head -c 1100000 /dev/zero | tr '\0' '#' >>.git/config
check 'one that is too long asks' asked 'could not be read completely' git diff
cp "$TMP/config" .git/config
for i in 1 2 3 4 5 6 7 8 9; do
	printf '[include]\npath = more%s\n' $((i + 1)) >"$HOME/more$i"
done
printf '\357\273\277[diff "x"]\ntextconv = touch made\n' >"$HOME/more10"
git config include.path "$HOME/more1"
check 'includes are followed as deep as git does' asked 'more10 names programs' git diff
printf '[include]\npath = more11\n' >"$HOME/more10" && printf '[include]\npath = more1\n' >"$HOME/more11"
check 'and no deeper' asked 'could not be read completely' git diff
rm "$HOME"/more* && cp "$TMP/config" .git/config
git init -q evil && git -C evil config diff.x.textconv 'touch made; cat'
check 'git in another directory asks' asked 'after a cd' sh -c 'cd evil && git diff'
launch -q --mode accept-edits sh -c 'cd evil && ls; git rev-parse --is-inside-work-tree'
check 'what compares no file there does not' [ "$status" -eq 0 ]
rm -rf evil
# Filters run when files are compared, without a difference that is shown.
git init -q evil && printf 'f filter=z\n' >evil/.gitattributes && echo 1 >evil/f
printf '#!/bin/sh\ntouch "%s/ran"; cat\n' "$PWD" >evil/x.sh && chmod 755 evil/x.sh
git -C evil add f && git -C evil config filter.z.clean ./x.sh && sleep .01 && echo 2 >evil/f
for words in 'git status' 'git ls-files -m' 'git ls-files -d -m' 'g""it stat""us'; do
	check "$words in another directory asks" asked 'after a cd' sh -c "cd evil && $words"
	check "$words there: approve says so" \
		sh -c '! "$1" approve -- sh -c "cd evil && $2" >/dev/null 2>&1' - "$ask" "$words"
done
here=$PWD
cd evil || exit 1
launch -q -w "$here" --mode accept-edits git status
check 'in a nested repository, too' [ "$status" -eq 126 -a ! -e ../ran ]
check 'and says why' grep -q 'git compares files with a configuration that the command may modify: .*/evil/.git/config' "$TMP/err"
git status >/dev/null && check 'where it would run' [ -e ../ran ]
launch -q --mode accept-edits git status
check 'one that is the workspace is the user'"'"'s' [ "$status" -eq 0 ]
cd "$here" && rm -rf evil ran
git init -q sub && git -C sub -c user.email=a@b -c user.name=n commit -q --allow-empty -m s
git add sub 2>/dev/null && git -C sub config core.fsmonitor "$TMP/evil"
rm -f ran
git config --unset core.fsmonitor
git status >/dev/null 2>&1
check 'git asks the monitor of a submodule' [ -e ran ]
rm -f ran
check 'here it asks' asked 'git compares files with a configuration that the command may modify: .*/sub/.git/config' sh -c 'git status && git diff'
check 'and nothing runs' [ ! -e ran ]
printf '[submodule "sub"]\n\tpath = sub\n\turl = x\n\tignore = none\n' >.gitmodules
GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=diff.ignoreSubmodules GIT_CONFIG_VALUE_0=dirty git status >/dev/null 2>&1
check '(what .gitmodules says counts more than a setting)' [ -e ran ]
rm -f ran
for version in 2 3 4; do
	git update-index --index-version $version
	git update-index --force-remove new 2>/dev/null
	check "an index of version $version: approve asks" approve_asks sub/.git/config git status
	check "(below a shell) $version" approve_asks sub/.git/config sh -c 'ls && git diff'
done
cp .git/index "$TMP/index"
git update-index --split-index
check 'an index in two files asks' approve_asks 'index could not be read completely' git status
git update-index --no-split-index
head -c 100 "$TMP/index" >.git/index
check 'a damaged one asks' approve_asks 'index could not be read completely' git status
cp "$TMP/index" .git/index
check 'a work tree elsewhere asks' approve_asks 'index could not be read completely' git --work-tree=d status
mkdir -p .git/modules && mv sub/.git .git/modules/sub && echo 'gitdir: ../.git/modules/sub' >sub/.git
git -C sub config --unset core.fsmonitor
launch -q --mode accept-edits sh -c 'git status && git diff'
check 'a submodule whose configuration is closed does not' [ "$status" -eq 0 -a ! -e ran ]
mkdir evil && git init -q evil/x && mv sub/.git "$TMP/gitfile" && echo 'gitdir: ../evil/x/.git' >sub/.git
check 'unless its gitfile leads elsewhere' approve_asks evil/x/.git/config git status
mv "$TMP/gitfile" sub/.git
echo "$PWD/evil/x/.git" >.git/modules/sub/commondir 2>/dev/null
check 'or its commondir' approve_asks evil/x/.git/config git status
git rm -qf --cached sub 2>/dev/null; rm -rf sub evil .gitmodules .git/modules
# How git finds a repository: a file, a link, a directory that is one.
plant() # DIRECTORY: a repository with a monitor, as a command makes one
{
	git init -q "$1" && git -C "$1" config core.fsmonitor "$TMP/evil" && rm -f ran
}
plant evil
git config --unset core.fsmonitor; mkdir gitfile link bare deep deep/er
echo 'gitdir: ../evil/.git' >gitfile/.git
ln -s ../evil/.git link/.git
cp -r evil/.git/. bare/ && git --git-dir=bare config core.bare false && git --git-dir=bare config core.worktree ../deep
cp -r evil/.git deep/.git
mkdir common && cp evil/.git/HEAD common/ && cp -r evil other && git --git-dir=other/.git config core.repositoryformatversion 1 && git --git-dir=other/.git config extensions.worktreeConfig true &&
	printf '[core]\n\tworktree = %s/deep\n\tbare = false\n' "$PWD" >common/config.worktree && echo ../other/.git >common/commondir
here=$PWD
for at in $(first 3 gitfile bare common link deep/er); do
	cd "$here/$at" || exit 1
	rm -f ../ran "$here/ran"
	git status >/dev/null 2>&1
	check "git runs the monitor in $at" [ -e "$here/ran" ]
	rm -f "$here/ran"
	check "approve asks in $at" sh -c '"$1" approve -w "$2" -- git status | grep -q "^ask: .*a configuration that the command may modify"' - "$ask" "$here"
	launch -q -w "$here" --mode accept-edits git status
	check "accept-edits in $at" [ "$status" -eq 126 -a ! -e "$here/ran" ]
done
cd "$here" && rm -rf gitfile link bare deep common evil other
# words below a shell, the loader's variables
mkdir -p "$HOME/.ssh" lib && echo k >"$HOME/.ssh/id_y" && cp "$(type -P true)" lib/x.so
for text in "cat '$HOME/.ssh/id_y'" "ls && cat \"$HOME\"/.ssh/id_y" "cd '$HOME'; cat .ssh/id_y" "cd '$HOME/.ssh' && cat id_y" \
	"cd d; cd '$HOME'; cat d/x .ssh/id_y" "sh -c 'cat $HOME/.ssh/id_y'" "grep -f$HOME/.ssh/id_y file" "cat d/../../home/.ssh/id_y"; do
	check "denies a secret in $text" sh -c '"$1" approve -- sh -c "$2" | grep -q "^deny: arg-in-protected-root"' - "$ask" "$text"
done
check 'asks where cd leads nobody knows where' approve_asks 'a cd to a directory that is not known' sh -c 'cd; cat .ssh/id_y'
check 'allows what it knows' [ "$("$ask" approve -- sh -c 'cd d && cat e/f && ls ..')" = 'allow: read-only' ]
for words in 'env LD_PRELOAD=x ls' 'env -S ls' 'xargs ls' 'timeout 1 ls' 'nice ls' 'nohup ls' 'find . -exec ls ;' 'bash -c ls x' 'bash -lc ls' \
	'sh -c LD_PRELOAD=x' 'command ls' 'exec ls' 'eval ls' 'busybox ls' 'stdbuf -o0 ls' 'setsid ls' 'git -C d status' 'git --git-dir=x status'; do
	# shellcheck disable=SC2086
	check "asks for $words" approve_asks 'not known to be read-only\|a variable in front' $words
	check "asks for $words below a shell" approve_asks . sh -c "$words"
done
for at in LD_PRELOAD=$PWD/lib/x.so LD_PRELOAD=lib/x.so LD_AUDIT=/a:$PWD/lib/x.so LD_LIBRARY_PATH=$PWD/lib LD_LIBRARY_PATH=/lib: \
	'LD_PRELOAD=/lib/$LIB/x.so' LD_LIBRARY_PATH=lib; do
	check "asks with $at" sh -c 'env "$2" "$1" approve -- ls 2>/dev/null | grep -q "^ask: .*the variable LD_[A-Z_]* names a place that the command may modify"' - "$ask" "$at"
done
for at in LD_DEBUG_OUTPUT=x GCONV_PATH=lib CDPATH=/ DYLD_INSERT_LIBRARIES=x GIT_DIR=x GIT_INDEX_FILE=x GIT_WORK_TREE=x; do
	check "asks with $at" sh -c 'env "$2" "$1" approve -- ls | grep -q "^ask: .*the variable $3 changes what commands do"' - "$ask" "$at" "${at%%=*}"
done
check 'not with the libraries of the system' sh -c 'LD_LIBRARY_PATH=/usr/lib/none:/lib/none LD_BIND_NOW=1 "$1" approve -- ls | grep -q "^allow"' - "$ask"
rm -rf lib
printf '[diff]\n\texternal = touch made\n' >"$HOME/more" && git config include.path "$HOME/more"
check 'an included one, too' asked 'more names programs' git log -p
git config --unset include.path && rm "$HOME/more"
launch --mode accept-edits --json touch new
check 'a refusal is told as JSON' [ "$(cat "$TMP/out")" = \
	'{"answer":"ask","reason":"needs-approval: `touch` is not known to be read-only","command":["touch","new"]}' ]
BASH_ENV=$TMP/evil launch --mode accept-edits ls
check 'variables are looked at' grep -q 'the variable BASH_ENV' "$TMP/err"
launch --mode accept-edits --network host ls
check 'no network with accept-edits' [ "$status" -eq 125 ]
launch --mode auto --best-effort ls
check 'no mode without a floor' [ "$status" -eq 125 ]
cat >"$TMP/lax.yaml" <<'Y'
schemaVersion: 2
kind: Policy
metadata: {name: p}
spec:
  fsProfiles:
    default: {read: ["**"], modify: ["**"]}
  sandbox: {network: host}
Y
chmod 600 "$TMP/lax.yaml"
launch -p "$TMP/lax.yaml" --mode accept-edits cat /proc/net/dev
check 'a policy does not bring the network back' [ "$status:$(grep -cv 'lo:\||' "$TMP/out")" = 0:0 ]
launch --mode auto sh -c 'echo y >new; echo z >"$HOME/new"'
check 'auto runs all, under the floor' [ -s new -a ! -e "$HOME/new" ]

check 'approve allows what looks' [ "$("$ask" approve -- ls -l)" = 'allow: read-only' ]
"$ask" approve --json -- make >"$TMP/out"
check 'asks for the rest with status 1' \
	[ "$?:$(cat "$TMP/out")" = '1:{"answer":"ask","reason":"needs-approval: `make` is not known to be read-only","command":["make"]}' ]
mkdir -p "$HOME/.ssh" && echo k >"$HOME/.ssh/id_x" && ln -s "$HOME/.ssh" link
for word in "$HOME/.ssh/id_x" --file="$HOME/.ssh/id_x" link/new; do
	"$ask" approve -- grep x "$word" >"$TMP/out"
	check "denies a secret as $word" grep -q '^deny: arg-in-protected-root' "$TMP/out"
done
check 'a list allows' [ "$("$ask" approve --allow-command 'make *' -- make all)" = 'allow: listed' ]
check 'not what is chained' [ "$("$ask" approve --allow-command 'make *' -- make 'a;b' | cut -c1-4)" = 'ask:' ]
check 'auto-allow allows' "$ask" approve --auto-allow -- make

# What does not run sandboxed here is not called so: strict refuses it, a lax policy runs it bare.
if [ -x "$(dirname "$SBX")/mkhost" ] && "$(dirname "$SBX")/mkhost" --no landlock true 2>/dev/null; then
	bare() # LACK OPTIONS...: approve --auto-allow on a host without
	{
		local lack=$1
		shift
		"$(dirname "$SBX")/mkhost" --no "$lack" "$ask" approve --auto-allow "$@" -- make >"$TMP/out" 2>"$TMP/err"
		[ $? = 1 ] && grep -q '^ask: needs-approval: it would not run sandboxed here: ' "$TMP/out" ||
			{ cat "$TMP/out" "$TMP/err"; return 1; }
	}
	printf '[sandbox]\nenabled = true\nauto_allow_bash_if_sandboxed = true\nfail_if_unavailable = false\n[sandbox.filesystem]\nallow_write = ["${WORKSPACE}"]\n' >"$TMP/c.toml"
	chmod 600 "$TMP/c.toml"
	check 'auto-allow where there is no Landlock: asks' bare landlock
	check 'also where the policy would run it bare' bare landlock -p "$TMP/c.toml"
	check 'and where a rule needs what is not there' bare listener --deny-modify '**/*.env'
fi

eval "$("$SBX" --print-argv --mode auto -- printf '%s|' "it's" 'a  b' '' '$x')" >"$TMP/out" 2>"$TMP/err"
check 'what --print-argv prints runs the command' [ "$(cat "$TMP/out")" = "it's|a  b||\$x|" ]
"$SBX" --print-argv --json -- printf $'\xff' >"$TMP/out" 2>"$TMP/err"
check 'words that JSON cannot hold are refused there' [ $? -eq 125 -a ! -s "$TMP/out" ]
check 'as JSON, too' [ "$("$SBX" --print-argv --json -q ls 'a b')" = "[\"$SBX\",\"-q\",\"--\",\"ls\",\"a b\"]" ]

# What --mode excludes is not advised.
if [ -x "$(dirname "$SBX")/mkhost" ] && "$(dirname "$SBX")/mkhost" --no landlock true 2>/dev/null; then
	"$(dirname "$SBX")/mkhost" --no listener "$SBX" --mode auto --deny-modify '**/*.env' -- true 2>"$TMP/err"
	check 'auto without a broker: refused' [ $? -eq 125 ]
	check 'and no word of --best-effort, which --mode excludes' sh -c 'grep -q "cannot be enforced" "$1" && ! grep -q -e --best-effort "$1" || { cat "$1"; false; }' - "$TMP/err"
	"$(dirname "$SBX")/mkhost" --no listener "$SBX" --deny-modify '**/*.env' -- true 2>"$TMP/err"
	check 'elsewhere it is' grep -q -e --best-effort "$TMP/err"
fi
