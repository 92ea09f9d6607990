#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Patterns, paths that do not exist or lead elsewhere, links, renames: where tools of this kind are
# known to go wrong.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/cases.sh"

# ---- patterns ----

many() { mkdir -p foo/{a,b}/data/cache && touch foo/{a,b}/data/cache/a-file-with-a-long-name-{1..1500} && echo keep >foo/a/data/keep; }
held 'a star between fixed names, over many files' many "'\"foo/*/data/cache/**\"' '' $all" \
	'echo hello; cat foo/a/data/keep; cat foo/b/data/cache/a-file-with-a-long-name-42 && echo read' \
	$'hello\nkeep'
gnupg() { mkdir -p home/.gnupg/keys && echo k >home/.gnupg/keys/a.key && echo p >home/.gnupg/ring; }
held 'dir/** closes the directory too' gnupg "'home/.gnupg/**' '' $all" \
	'cat home/.gnupg/keys/a.key home/.gnupg/ring; ls home/.gnupg; echo $?' 2
check 'and sbx-policy says the same' \
	bash -c '! "$1" why -w . -p "$2" read home/.gnupg home/.gnupg/ring' - "$POLICY" "$DOC"
keys() { mkdir d && echo old | tee d/a.key >b.key && echo t >a.txt; }
held 'a pattern of file names holds for writers' keys "'' '\"**/*.key\"' $all" \
	'for f in b.key d/a.key d/new.key a.txt; do echo new >$f; done; cat b.key d/a.key a.txt; ls d' \
	$'old\nold\nnew\na.key'
dots() { mkdir -p secrets vault/.hid && for f in secrets/{a,.token} vault/{.x,.hid/y}; do echo 1 >$f; done; }
held 'stars match names that begin with a dot' dots "'\"secrets/*\", \"vault/**\"' '' $all" \
	'cat secrets/a secrets/.token vault/.x vault/.hid/y; echo done' 'done'

private() { mkdir -p proj/private/ok && for f in proj/{private/{ok/f,g},h}; do echo "$f" >$f; done; }
reads='for f in proj/private/ok/f proj/private/g proj/h; do cat $f; done'
held 'the last rule that matches wins: an allow' private \
	"'' '' \"read: ['**', '!**/private/**', 'proj/private/ok/**'], modify: []\"" "$reads" \
	$'proj/private/ok/f\nproj/h'
held 'the last rule that matches wins: a deny, of less' private \
	"'' '' \"read: ['proj/private/ok/**', '**', '!**/private/**'], modify: []\"" "$reads" proj/h
siblings() { mkdir -p work/{proj,proj-secrets,projects} && for d in work/*; do echo "$d" >$d/f; done; }
held 'a sibling with the same beginning is not inside' siblings \
	"'' '' \"read: ['work/proj/**'], modify: ['work/proj/**']\"" \
	'for d in proj proj-secrets projects; do cat work/$d/f; echo x >work/$d/g && echo wrote $d; done' \
	$'work/proj\nwrote proj'

# A bare name is that name; a trailing slash or a leading ./ change nothing.
documents() { mkdir -p Documents/sub && echo 1 >Documents/f && echo 2 >Documents/sub/g; }
look='cat Documents/f; cat Documents/sub/g; ls Documents'
for rule in $(first 1 Documents Documents/ ./Documents); do
	held "the rule $rule is the directory itself" documents "$rule '' $all" "$look" $'1\n2'
	check "and lint tells of $rule" bash -c '"$1" lint "$2" | grep -q "Documents/\*\*"' - "$POLICY" "$DOC"
done
held 'the rule Documents/* is its entries' documents "'Documents/*' '' $all" "$look" $'2\nf\nsub'
agrees()
{
	local path want
	for path in Documents Documents/f Documents/sub Documents/sub/g; do
		want=allowed
		"$POLICY" why -w . -p "$DOC" read $path >"$TMP/why" || want=denied
		case $path in */f | */sub) [ $want = denied ] ;; *) [ $want = allowed ] ;; esac || return
		[ $want = allowed ] || grep -qF 'Documents/*' "$TMP/why" || return
	done
}
check 'and sbx-policy agrees, and names it' agrees

# ---- paths ----

for up in .. ../..; do
	doc "'$up'" '' "read: ['**'], modify: ['**']"
	check "the rule $up is refused where it stands" bash -c '! "$1" -w . -p "$2" -- touch ran 2>"$3" &&
		[ ! -e ran ] && grep -qE "p.yaml:5:[0-9]+: .*\.\." "$3"' - "$SBX" "$DOC" "$TMP/err"
done
held 'a denied name is denied before it exists' : "'\".env\", \"secrets/**\"' '\".env\", \"secrets/**\", \"Cargo.lock\"' $all" \
	'mkdir secrets && echo k >secrets/token; echo S >.env; echo L >Cargo.lock; ls -A' ''
missing() { mkdir home; }
works 'rules of what does not exist stop nothing, and make nothing' missing \
	"'\"home/.aws/**\", \"no/such/dir/**\"' '' \"read: ['**', 'also/missing/**'], modify: ['**']\"" \
	'HOME=$PWD/home; echo hello; ls -A home' hello
gitfile() { echo 'gitdir: /nonexistent' >.git; }
works 'the parent of a protected path may be a file' gitfile "'' '\".git/hooks/**\", \".git/config\"' $all" \
	'echo ok; cat .git' $'ok\ngitdir: /nonexistent'

meta() { mkdir d && printf '#!/bin/sh\necho RAN\n' >d/s && chmod +x d/s && cp /bin/echo d/e; }
held 'denied content: not by exec, not by the shell, not by cp; stat is free' meta "'d/**' '' $all" \
	'd/s; d/e RAN2; . d/s; sh d/s; cp d/s copy; stat -c %s d/s; ls d; test -e d/s && echo exists; ls' \
	$'19\nexists\nd'
fresh
meta
check 'access() of it says no' bash -c '[ "$("$1" -q -w . -p "$2" -- python3 -c "
import os; print(os.access(\"d/s\", os.R_OK), os.path.exists(\"d/s\"))")" = "False True" ]' - "$SBX" "$DOC"

# ---- symbolic links ----

stow()
{
	mkdir -p home dotfiles real/pkg && echo A >dotfiles/bashrc && ln -s ../dotfiles/bashrc home/.bashrc
	ln -s /usr/share/missing home/.profile && echo S >real/pkg/.env && ln -s real link
}
held 'dot files that are links: no trouble, and protected where they lead' stow \
	"'\"**/.env\"' '\"home/.bashrc\", \"home/.profile\"' $all" \
	'HOME=$PWD/home; echo hello; echo B >>home/.bashrc; cat dotfiles/bashrc; cat link/pkg/.env' \
	$'hello\nA'
linked()
{
	mkdir denied allowed && echo top >denied/secret && ln -s ../denied allowed/dlink
	ln -s ../denied/secret allowed/flink && echo ok >allowed/plain && ln -s plain allowed/good
}
closed="'denied/**' 'denied/**' $all"
held 'a link is judged by where it leads' linked "$closed" \
	'cd allowed; cat dlink/secret; cat flink; cat plain; cat good; echo n >dlink/new; echo n >flink; stat -c %s ../denied/secret ../denied/new' \
	$'ok\nok\n4'
one() { mkdir denied && echo s >denied/f; }
held 'a link to what is denied may be made, one in it may not' one "$closed" \
	'ln -s denied/f l; echo $?; readlink l; cat l; echo $?; ln -s x denied/l; echo $?' $'0\ndenied/f\n1\n1'
etc() { mkdir etc && touch a; }
held 'the name of a link is judged, of a node too' etc "'' 'etc/**' $all" \
	'ln -s ../a etc/e1; echo $?; ln a etc/e2; echo $?; mknod etc/p p; echo $?; ls etc' $'1\n1\n1'
prot() { mkdir prot && echo p >prot/f && ln -s prot/f l; }
held 'a call on the link itself is not judged by its target' prot "'' 'prot/**' $all" \
	'touch -h l; echo $?; mv l l2; echo $?; rm l2; echo $?; ln -s prot/f l; touch l; echo $?; tar cf t.tar l; echo $?' \
	$'0\n0\n0\n1\n0'

# ---- renames, hard links ----

hooks() { mkdir -p .git/hooks .claude && echo '{}' >.claude/settings.json; }
held 'a rename into a denied name' hooks "'' '\".git/hooks/**\", \".claude/settings.json\"' $all" \
	'echo evil >x && mv x .git/hooks/pre-commit; echo evil >.claude/x && mv .claude/x .claude/settings.json
	ls .git/hooks; cat .claude/settings.json' '{}'
a() { mkdir a && echo 1 >a/f; }
move='python3 -Bc "import os; os.mkdir(\"new\"); os.rename(\"a/f\", \"new/f\"); os.link(\"new/f\", \"a/g\"); print(\"OK\")"'
for network in none host; do
	CASE_ARGS=(--network $network)
	works "moves and links between directories, network $network" a "'' '' $all" "$move" OK
done
CASE_ARGS=()
out() { mkdir -p out/inc-working && echo x >out/inc-working/o && echo '{}' >out/conf.json; }
works 'directories are renamed and files saved in a writable tree' out \
	"'' '' \"read: ['**'], modify: ['out/**']\"" 'python3 -Bc "
import os
os.rename(\"out/inc-working\", \"out/inc-final\")
open(\"out/.conf.tmp\", \"w\").write(\"{}\"); os.replace(\"out/.conf.tmp\", \"out/conf.json\")
open(\"out/conf.json\", \"r+\").truncate(0)
os.unlink(\"out/inc-final/o\"); os.rmdir(\"out/inc-final\"); print(\"OK\")"' OK
held 'a hard link out of a denied directory' one "'denied/**' '' $all" \
	'ln denied/f x && cat x; python3 -c "import os; os.link(\"denied/f\", \"y\")"; ls' denied
