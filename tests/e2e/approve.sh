#!/bin/bash
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
mkdir -p bin && printf '#!/bin/sh\necho evil; touch made\n' >bin/ls && chmod +x bin/ls
check 'a PATH into what the command may write asks' eval 'PATH=$PWD/bin:$PATH asked "PATH leads to .*/bin/ls, which the command may write" ls'
check 'also below a shell' eval 'PATH=/usr/bin:/bin:$PWD/bin asked "PATH leads to .*/bin/ls" sh -c "cat file; ls"'
check 'a relative one, too' eval 'PATH=bin:$PATH asked "PATH leads to where the command stands" ls'
ln -s "$PWD/bin/ls" "$HOME/cat"
check 'and a link there' eval 'PATH=$HOME:$PATH asked "PATH leads to .*/cat" cat file'
rm -r bin "$HOME/cat"
launch -q --mode accept-edits ls
check 'else it does not' [ "$status" -eq 0 ]
git config diff.x.textconv 'touch made; cat'
check 'a driver in the configuration of git asks' asked '\.git/config names programs that show differences' git diff
check 'below a shell, too' asked 'names programs' sh -c 'ls && git show HEAD'
launch -q --mode accept-edits git status
check 'what shows no difference does not' [ "$status" -eq 0 ]
git config --unset diff.x.textconv
git init -q evil && git -C evil config diff.x.textconv 'touch made; cat'
check 'git in another directory asks' asked 'behind cd' sh -c 'cd evil && git diff'
launch -q --mode accept-edits sh -c 'cd evil && ls; git status'
check 'what shows no difference there does not' [ "$status" -eq 0 ]
rm -rf evil
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

eval "$("$SBX" --print-argv --mode auto -- printf '%s|' "it's" 'a  b' '' '$x')" >"$TMP/out" 2>"$TMP/err"
check 'what --print-argv prints runs the command' [ "$(cat "$TMP/out")" = "it's|a  b||\$x|" ]
"$SBX" --print-argv --json -- printf $'\xff' >"$TMP/out" 2>"$TMP/err"
check 'words that JSON cannot hold are refused there' [ $? -eq 125 -a ! -s "$TMP/out" ]
check 'as JSON, too' [ "$("$SBX" --print-argv --json -q ls 'a b')" = "[\"$SBX\",\"-q\",\"--\",\"ls\",\"a b\"]" ]
