#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What sbx-audit answers about real runs.
. "$(dirname "$0")/../support/e2e.sh"
AUDIT=${SBX%/*}/sbx-audit
ask() # ARGS...: into answer; its status
{
	"$AUDIT" "$@" >"$TMP/answer" 2>"$TMP/answer.err"
}
says() # TEXT ARGS...: a whole line of the answer
{
	text=$1
	shift
	ask "$@" && grep -qxF -e "$text" "$TMP/answer" || { cat "$TMP/answer" "$TMP/answer.err"; false; }
}
has() # TEXT ARGS...: somewhere in it
{
	text=$1
	shift
	ask "$@" && grep -qF -e "$text" "$TMP/answer" || { cat "$TMP/answer" "$TMP/answer.err"; false; }
}
json() # ARGS...: each line is JSON
{
	ask "$@" && python3 -c 'import json, sys
n = [json.loads(line) for line in open(sys.argv[1])]
assert n' "$TMP/answer"
}
no_control()
{
	! LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177')]" "$TMP/answer"
}

fresh
mkdir d .git && git init -q . && echo was >old && echo was >kept && echo was >gone
sleep 1.1 # births are told apart by time
launch --context tool=bash --context session=s1 -- sh -c 'echo 1 >new; cat kept >/dev/null; echo 2 >>kept; mkdir dd
mv old moved; rm gone; echo t >tmp; rm tmp; cp new d/n; mv d e; echo k >.git/hooks/x; echo k >.git/hooks/x; echo k >.git/hooks/x; exit 0'
first=$("$AUDIT" runs --json | tail -n 1 | sed 's/.*"run_id":"\([^"]*\)".*/\1/')

check 'a made file is added' says 'A ./new' changes
check 'a written one is modified' says 'M ./kept' changes
check 'a removed one is removed' says 'D ./gone' changes
check 'a renamed one has both names' says 'R ./old -> ./moved' changes
check 'a directory takes along what was made in it' says 'A ./e/n' changes
check 'what came and went is counted' has '1 temporary files' changes
saved()
{
	fresh
	echo was >doc
	sleep 1.1
	launch -q -- sh -c 'cat doc >/dev/null; sed -i s/was/is/ doc'
	says 'M ./doc' changes && ! grep -q '^[RA]' "$TMP/answer"
}
check 'and not shown' eval 'ask changes && ! grep -q tmp$ "$TMP/answer"'
check 'changes are JSON, too' json changes --json

check 'denials of one kind are one' has '     3  modify ./.git/hooks/x' denials
check 'with the rule' has 'rule .git/hooks/** (preset:protected:' denials
check 'and the option that opens it' has "allow with --modify $WS/.git/hooks/x" denials
check 'and the program, which says itself what it is' has ', by a program that calls itself /usr/bin/' denials
check 'denials are JSON, too' json denials --json
check 'where that is a claim, too' has '","claimed":["exe"],' denials --json
opened()
{
	option=$("$AUDIT" denials | sed -n 's/.*allow with //p' | head -n 1)
	eval "launch -q $option -- sh -c 'echo k >.git/hooks/x'"
	[ "$status" -eq 0 ] && [ -s .git/hooks/x ]
}
check 'that option opens it' opened
told_apart() # what is new comes before what there is more of
{
	fresh
	mkdir -p new other && cd new && git init -q . && git init -q ../other && mkdir -p .git/hooks ../other/.git/hooks || return 1
	(cd ../other && "$SBX" -qq -- sh -c '(echo k >.git/hooks/new) 2>/dev/null; exit 0')
	launch -qq -- sh -c 'echo k >.git/hooks/old; exit 0'
	ask denials && ! grep -q before "$TMP/answer" || { cat "$TMP/answer"; return 1; }
	launch -qq -- true
	launch -qq -- sh -c 'for i in 1 2 3; do echo k >.git/hooks/old; done; echo k >.git/hooks/new; exit 0'
	ask denials && grep '^ *[0-9]  ' "$TMP/answer" | sed 's/^ *//' >"$TMP/lines" &&
		printf '%s\n' '1  modify ./.git/hooks/new  new: in none of the 2 runs before' '3  modify ./.git/hooks/old  as in 1 of the 2 runs before' | diff - "$TMP/lines" &&
		has '"earlier_runs":2,"refused_in":0' denials --json
}
check 'what no earlier run here was refused is new, and comes first' told_apart
cd "$WS" || exit 1
launch -q --connect a.example.org:443 -- python3 -c 'import socket
try: socket.getaddrinfo("b.example.net", 443)
except OSError: pass'
check 'a name that is refused is opened by --connect' has 'allow with --connect b.example.net' denials

check 'the tree has words and counts' has 'cp new d/n  1 changed' tree "$first"
check 'and who started whom' eval 'ask tree "$first" && grep -qE "^  [0-9]+  mkdir dd  1 changed" "$TMP/answer"'
check 'whose word that is' says 'names, words and directories are as the programs reported them' tree "$first"
check 'the tree is JSON, too' json tree --json "$first"
check 'with what is claimed' has '"claimed":["path","argv","cwd"]' tree --json "$first"
the_launchers_word()
{
	launch -q --no-shim -- true
	ask tree && ! grep -q themselves "$TMP/answer" && ask tree --json && [ -s "$TMP/answer" ] && ! grep -q claimed "$TMP/answer"
}
check 'what the launcher saw is no claim' the_launchers_word
began() # where each program began, and its words as far as they fit
{
	fresh
	mkdir sub
	launch -q -- sh -c '/bin/true here; cd sub; /bin/true there; (cd /usr && exec /bin/true elsewhere); /bin/true $(printf "%01900d" 0); /bin/true $(printf "%02500d" 0); exit 0'
	ask tree && grep -qE '^ *[0-9]+  /bin/true here  status 0' "$TMP/answer" && grep -qE '^ *[0-9]+  /bin/true there  in ./sub  status 0' "$TMP/answer" &&
		grep -qE '^ *[0-9]+  /bin/true elsewhere  in /usr  status 0' "$TMP/answer" && ! grep -qE '^[0-9]+  sh -c .*  in ' "$TMP/answer" &&
		ask tree --json && grep -q '"argv":\["/bin/true","there"\],"cwd":"./sub",' "$TMP/answer" && grep -q '"argv":\["/bin/true","here"\],"cwd":".",' "$TMP/answer" &&
		[ "$("$AUDIT" grep --json 'argv_cut' | grep -c '"argv":\["/bin/true","0')" -eq 1 ] && has '"working_directory":"./sub"' show --format ocsf
}
check 'where each began, and its words up to 2,048 bytes' began
kin() # of processes that forked and never began a program
{
	launch -q -- bash -c 'x=$( (/bin/true inner; :); :); (: ; (cat /etc/passwd >/dev/null; :)); exit 0'
	ask tree && [ "$(grep -cE '^[0-9]' "$TMP/answer")" -eq 1 ] && grep -qE '^  [0-9]+  /bin/true inner  ' "$TMP/answer" && grep -qE '^  [0-9]+  cat /etc/passwd  ' "$TMP/answer"
}
check 'what a fork of a fork began is below the program that forked' kin
static_began()
{
	printf 'int main(void) { return 3; }\n' >s.c && gcc -static -o s s.c && launch -q -- sh -c 'cd sub; ../s word; exit 0'
	ask tree --json && grep -q '"argv":\["../s","word"\],"cwd":"./sub",' "$TMP/answer" && launch -q --no-shim -- ./s &&
		ask tree --json && grep -q '"cwd":".",' "$TMP/answer"
}
check 'of a program without a shim, too' static_began
check 'how each ended, and how long it took' eval 'ask tree "$first" && grep -qE "  [0-9]+  cp new d/n  1 changed  status 0  [0-9]+\.[0-9]{3} s$" "$TMP/answer"'
ends() # OPTIONS...: a status, a status by _exit(2), a signal, an exec, a program without a shim
{
	launch -qq "$@" -- bash -c '/bin/false; dash -c "exit 7"; sleep 30 & sleep 0.3; kill -9 $!; wait $!; (exec env true); ./static; exit 5'
	ask tree && for line in 'false  status 1' 'dash -c .exit 7.  status 7' 'sleep 30  killed by signal 9' 'env true' 'true  status 0' 'static  status 3'; do
		grep -qE " [^ ]*$line(  [0-9.]+ s)?(  unwitnessed)?$" "$TMP/answer" || { echo "lacks $line"; cat "$TMP/answer"; return 1; }
	done
	[ "$(grep -c ' bash -c .*  status 5  ' "$TMP/answer")" -eq 1 ]
}
fresh
printf '#include <unistd.h>\nint main(void) { usleep(300000); return 3; }\n' >static.c && gcc -static -o static static.c
if [ "$(printf '6.15\n%s\n' "$(uname -r)" | sort -V | head -n 1)" = 6.15 ]; then
	check 'by a status, a signal, another image, and without a shim' ends
	check 'without a pid namespace, too' ends --isolate none
else
	skip 'by a status, a signal, another image, and without a shim' 'the kernel tells no ends'
fi
unsaid()
{
	launch -qq --no-shim -- sh -c 'exit 4'
	ask tree && grep -qE '  status 4  ' "$TMP/answer" && json tree --json && grep -q '"end":"status","status":4,"duration_ms":[0-9]*' "$TMP/answer"
}
check 'the end of the command is the launcher'"'"'s word' unsaid

check 'an expression finds' has './.git/hooks/x' grep "op=modify and not allowed" "$first"
check 'a glob in one' has './.git/hooks/x' grep "path~'**/hooks/*' and denied" "$first"
check 'a regular expression in one' has './kept' grep "path=~'^\\./k.*t\$' and (op=modify or kind=exec)" "$first"
check 'numbers are compared' has 'hello' grep "pid>=3 and kind=hello" "$first"
nothing()
{
	ask grep "op=modify and path~'**/*.lock' and not allowed" "$first"
	[ $? -eq 1 ] && [ ! -s "$TMP/answer" ]
}
check 'what nothing is true of: 1' nothing
refused() # EXPRESSION TEXT
{
	ask grep "$1" "$first"
	[ $? -eq 2 ] && grep -qF -e "$2" "$TMP/answer.err"
}
check 'an unknown field is named' refused 'pahh=x' 'no field `pahh`'
check 'and a near one offered' refused 'pathh=x' 'did you mean path?'
check 'an open bracket is told' refused '(op=read' 'a `)` is missing'
check 'a bad regular expression is told' refused "path=~'('" 'grep: `(`'
check 'a number that is none is told' refused 'pid=x' 'this field is a number'

check 'calls are found by session' has 'session=s1' calls
check 'and asked for' has "$first" calls tool=bash
check 'calls are JSON, too' json calls --json

launch -- sh -c 'echo 1 >other'
check 'two runs differ' says '+ modify ./other' diff "$first" last
check 'in both ways' says '- denied modify ./.git/hooks/x' diff "$first" last
same_run()
{
	ask diff last last
	[ $? -eq 1 ]
}
check 'a run does not differ from itself' same_run

check 'numbers of a run' has ' changes, ' stats "$first"
check 'programs under the names that they have for themselves' says 'exe, as programs call themselves' stats "$first"
check 'as JSON' json stats --json "$first"
check 'the log as it is' eval '[ "$("$AUDIT" cat | sha256sum)" = "$(sha256sum <"$HOME/.local/state/sbx-launch/runs/$("$AUDIT" runs --json | tail -n 1 | sed "s/.*\"run_id\":\"\([^\"]*\)\".*/\1/")/audit.jsonl")" ]'
check 'the last lines' eval 'ask tail -n 2 && [ "$(wc -l <"$TMP/answer")" -eq 2 ]'
for format in jsonl ocsf orbit; do
	check "format $format is JSON lines" json show --format $format "$first"
done
check 'a whole line has the id of its run' has "\"run_id\":\"$first\"" show --format jsonl --op modify "$first"
check 'OCSF has the class of files' has '"class_uid":1001' show --format ocsf "$first"
pairs()
{
	ask show --format orbit --op modify --verdict allowed "$first"
	[ "$(grep -c '"fs.call.request"' "$TMP/answer")" -eq "$(grep -c '"fs.call.result"' "$TMP/answer")" ] &&
		grep -q '"fs.call.request"' "$TMP/answer"
}
check 'Orbit has pairs' pairs
trace()
{
	ask show --format chrome-trace "$first" && python3 -c 'import json, sys
t = json.load(open(sys.argv[1]))["traceEvents"]
assert any(e["ph"] == "X" and e["name"].endswith("/cp") for e in t) and any(e["ph"] == "i" for e in t)' "$TMP/answer"
}
check 'a trace has bars and marks' trace

# ---- beside git ----
fresh
git init -q . && git config user.name x && git config user.email x@y && printf '*.o\n' >.gitignore && echo 1 >known && mkdir sub && echo 2 >sub/known && git add . && git commit -qm x
sleep 1.1
launch -qq -- sh -c 'cat known >/dev/null; echo 3 >>known; echo 4 >a.o; echo 5 >new; rm sub/known; echo 6 >"sub/a
b.o"; : >"-x"'
check 'what git tracks is marked' says 'M ./known  tracked by git' changes
check 'also when it is gone' says 'D ./sub/known  tracked by git' changes
check 'what it ignores, too' says 'A ./a.o  ignored by git' changes
check 'whatever the name' eval 'says "A ./sub/a\x0ab.o  ignored by git" changes && says "A ./-x" changes'
check 'and nothing else' says 'A ./new' changes
check 'as JSON, too' has '"path":"./new","git":"untracked"' changes --json
# what the repository is configured to run is not run
git config core.fsmonitor "touch $TMP/ran; false" && git config core.hooksPath "$TMP/hooks"
check 'and runs nothing that the repository names' eval 'says "M ./known  tracked by git" changes && [ ! -e "$TMP/ran" ]'
GIT_DIR=$TMP/none ask changes
check 'nor asks another repository' grep -qxF 'M ./known  tracked by git' "$TMP/answer"

# ---- what was asked for ----
go_along_links() # OPTION...
{
	fresh
	mkdir -p real/deep .git/hooks && echo x >real/f && ln -s real link && ln -s ../.git/hooks real/hooks
	printf '#include <stdio.h>\n#include <unistd.h>\nint main(void) { return link("real/j", "link/k") || rename("link/k", "link/l"); }\n' >linked.c && gcc -static -o linked linked.c
	launch -q "$@" --deny-read real/deep -- sh -c 'cat link/f; cat real/../real/f; cat ./real//f; echo 2 >link/g; echo k >link/hooks/x; cat link/deep/y; mv link/f link/h; : >real/g
mv link/h real/../real/i; ln ./real/i link/j; ./linked; mv link/i .git/hooks/y; mv real/j .git/hooks/z; exit 0'
	cp "$TMP/err" "$TMP/prompts"
}
go_along_links
asked() # EXPRESSION ASKED [ASKED2]: the first line that it is true of
{
	ask grep --json "$1" && head -n 1 "$TMP/answer" | python3 -c 'import json, sys
e = json.loads(sys.stdin.read())
got = [e.get("asked", ""), e.get("asked2", "")]
sys.exit(got != sys.argv[1:] and f"asked: {got!r}")' "$2" "${3:-}"
}
check 'a read through a symlink has both paths' asked "path='./real/f' and asked" link/f
check 'a change has what the broker was asked for, not what the shim says' asked "path='./real/g' and op=modify" ''
check 'which has a field of its own, marked as the shim'\''s word' asked "path='./real/g' and op=modify and claimed='link/g' and layer=broker" ''
check 'also of a rename' asked "path2='./real/h' and claimed='link/f' and claimed2='link/h' and layer=broker" ''
check 'and where the last name alone leads elsewhere' asked "path2='./real/i' and claimed='link/h' and layer=broker" ''
check 'it is listed as that' has './real/g (its shim: link/g)' grep op=modify
check 'what the shim says of a path that leads where it says is not said' asked "path='./real/g' and op=modify and not claimed" ''
go_along_links --no-shim
check 'which is the path by which it was asked' asked "path='./real/g' and op=modify" link/g
check 'and one that is refused' asked "path='./.git/hooks/x' and denied" link/hooks/x
check 'a path that leads where it says has one' asked "path='./real/g' and op=modify and not asked" ''
check 'denials say it' has 'modify ./.git/hooks/x, asked for as link/hooks/x' denials
check 'and what lists events' has './real/g (asked for link/g)' grep op=modify
check 'of a rename both paths are told' asked "path2='./real/h'" link/f link/h
check 'a rename that only ends elsewhere' asked "path2='./real/i'" link/h real/../real/i
check 'a link' asked "path='./real/i' and path2='./real/j'" '' link/j
check 'a rename by a program without a shim' asked "path2='./real/l'" link/k link/l
check 'a rename is one line' eval '[ "$("$AUDIT" grep "path2=./real/h" | wc -l)" -eq 1 ]'
check 'one that is refused' asked "path2='./.git/hooks/y' and denied" link/i ''
check 'both are listed' has './real/f -> ./real/h (asked for link/f -> link/h)' grep op=modify
# denials offer what the prompt offered: of the path that was refused
remedies()
{
	grep -o 'allow with .*' "$TMP/prompts" | sort -u >"$TMP/prompted"
	ask denials && grep -o 'allow with .*' "$TMP/answer" | sort -u | diff "$TMP/prompted" -
}
check 'denials offer of a rename what the prompt offered' eval 'remedies && grep -q -- "--modify $WS/.git/hooks/z" "$TMP/answer"'

# ---- learning ----
learned() # SCRIPT: what is learned of its run lets it pass again
{
	fresh
	git init -q . && git config user.name x && git config user.email x@y
	printf 'all: a\na: a.c\n\tcp a.c a\n' >Makefile
	mkdir src && touch a.c src/1 src/2 src/3 src/4
	rm -rf "$TMP/again" && cp -R . "$TMP/again"
	launch -q -- sh -c "$1"
	[ "$status" -eq 0 ] && ask learn last -o "$TMP/policy.yaml" || { cat "$TMP/answer.err"; return 1; }
	fresh
	cp -R "$TMP/again/." .
	launch -q --strict -p "$TMP/policy.yaml" -- sh -c "$1"
	[ "$status" -eq 0 ] && [ "$(wc -l <"$TMP/policy.yaml")" -lt 40 ] && grep -q 'were asked of it again: allowed' "$TMP/policy.yaml" ||
		{ cat "$TMP/policy.yaml" "$TMP/err"; return 1; }
}
check 'git passes under what is learned of it' learned 'git add . && git commit -qm x && git checkout -q -b z && echo 1 >>a.c && git commit -qam y'
check 'make passes' learned 'make && touch b && rm b'
check 'an editor that saves by renaming passes' learned 'sed -i s/a/b/ src/1 && sed -i s/a/b/ a.c'
check 'a link to what is only read passes' learned 'cat src/1 && ln -s src to && cat to/2'
check 'python passes' learned 'python3 -c "open(\"out\", \"w\").write(\"x\")"'
opens_nothing()
{
	fresh
	git init -q . && mkdir -p .git/hooks "$HOME/.ssh" && echo k >"$HOME/.ssh/id_rsa"
	launch -q --modify "$WS/.git/hooks/x" --read "$HOME/.ssh/id_rsa" -- sh -c 'echo k >.git/hooks/x; cat ~/.ssh/id_rsa; echo 1 >a'
	ask learn last -o "$TMP/policy.yaml"
	launch -q -p "$TMP/policy.yaml" -- sh -c '(echo k >.git/hooks/y) 2>/dev/null && echo opened; cat ~/.ssh/id_rsa 2>/dev/null && echo opened; echo 1 >a && echo work'
	[ "$(cat "$TMP/out")" = work ] || { cat "$TMP/policy.yaml" "$TMP/out" "$TMP/err"; false; }
}
check 'nothing that is learned opens a secret or a hook' opens_nothing
# names that a command makes up are no words of the language
learned_of_odd_names()
{
	launch -q -- sh -c 'mkdir "./~" && echo x >"./~/x" && echo x >"*" && echo x >"!a"' || return 1
	ask learn last -o "$TMP/odd.yaml"
	grep -q '"./!a"' "$TMP/odd.yaml" && grep -q '"?"' "$TMP/odd.yaml" && ! grep -qE '"(~|!|\*")' "$TMP/odd.yaml"
}
check 'nor does a name that reads as a home, an exception or a star' learned_of_odd_names

# ---- the page ----
page()
{
	fresh
	launch -q -- python3 -c 'import os
open("<b>x", "w").close()
os.makedirs("<\x2fscript><script>alert(1)<")
open("<\x2fscript><script>alert(1)<\x2fx", "w").close()
open(b"\xff\n", "w").close()'
	[ "$status" -eq 0 ] && ask report -o "$TMP/page.html" && python3 - "$TMP/page.html" <<'EOP'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
assert text.count("<script") == 2 and text.count("</script>") == 2, text.count("<script")
data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)
d = json.loads(data)
assert d["whole"] and len(d["events"]) % 13 == 0 and "./<b>x" in d["strings"]
assert not re.search(r'(src|href)=', text) and "//" not in text.replace(data, "").replace("\\/\\/", "")[:2000]
assert len(text) - len(data) < 400 * 1024
assert d["notes"]["Events"][:2] == [len(d["events"]) // 13] * 2
assert "<b>x" in str(d["paths"])
assert "./<b>x" in [c["path"] for c in d["changes"]] and "python3" in d["processes"][0]["path"]
EOP
}
# What is too much for a browser is summed up, and what was left out is said.
large_page()
{
	local run log view
	run=$("${SBX%/*}/mklarge" 60000 2>/dev/null) && ask report "$run" -o "$TMP/large.html" || return 1
	for view in changes denials tree; do "$AUDIT" $view --json "$run" >"$TMP/large.$view"; done
	log=$HOME/.local/state/sbx-launch/runs/$run/audit.jsonl
	sed -i '50000s/"pid":/"pid":1/' "$log" && ask report "$run" -o "$TMP/broken.html"
	rm -rf "${log%/*}" && python3 - "$TMP" <<'EOP'
import json, re, sys
def data_of(page):
    return json.loads(re.search(r'id="data">(.*?)</script>', open(page, encoding="utf-8").read(), re.S).group(1))
d = data_of(sys.argv[1] + "/large.html")
assert d["whole"] and re.match(r"The record is whole: \d+ lines hold together", d["trust"]), d["trust"]
broken = data_of(sys.argv[1] + "/broken.html")["trust"]
assert broken.startswith("The record was changed: line 50000: "), broken
for key, view in ("changes", "changes"), ("denials", "denials"), ("processes", "tree"):
    alone = [json.loads(line) for line in open(sys.argv[1] + "/large." + view)]
    assert alone or key == "changes", key  # whose files are on no disk
    assert d[key] == alone[:len(d[key])] and len(d[key]) == min(len(alone), 20000), key
everything, here, which = d["notes"]["Events"]
assert everything > 50000 and here == len(d["events"]) // 13 <= 20000 and "sbx-audit show" in which
def look(calls, denied, names=(), left=0):
    assert calls >= sum(n[1] for n in names) + left and denied >= sum(n[2] for n in names)
    return 1 + sum(look(n[1], n[2], *n[4:]) for n in names)
calls, denied, changed, names, left = d["paths"]
assert calls == sum(n[1] for n in names) + left and denied == 2400 and changed == 9600
assert 100 < look(calls, denied, names, left) <= 10001
assert len(d["denials"]) == 300 == d["notes"]["Denials"][0]
EOP
}
check 'the page is one file, and names do nothing to it' page
check 'the page of a large run is bounded, and its sums are right' large_page
dom=$TMP/dom
timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$TMP/chromium" --dump-dom "file://$TMP/page.html#Changes" >"$dom" 2>/dev/null
if [ -s "$dom" ]; then
	check 'a browser draws it' grep -q 'class="row good">A  ./&lt;b&gt;x<' "$dom"
	check 'and runs nothing that a name says' grep -q '<title>sbx-launch: a run</title>' "$dom"
else
	skip 'a browser draws it' 'no chromium that starts here'
fi

check 'a file that is saved by renaming is modified' saved

# A shell that starts commands by vfork() and then does something itself, for the first time.
by_itself()
{
	fresh
	launch -q -- sh -c '/bin/true; echo x >mine'
	[ "$("$AUDIT" show --json --op modify --path '**/mine' | wc -l)" -eq 1 ] && has ' sh[' grep "path~'**/mine'"
}
check 'what a shell does after a command is its own, and told once' by_itself

# ---- on a terminal, and in lnav ----
on_terminal() # ENVIRONMENT...: what a terminal gets of `changes`
{
	env "$@" TERM=xterm script -qec "$AUDIT denials $first" /dev/null </dev/null >"$TMP/answer"
}
check 'a terminal has a pager' eval 'on_terminal PAGER="sed s/^/P:/" && grep -q "^P: .*modify ./.git/hooks/x" "$TMP/answer"'
check 'with colours' grep -q "$(printf '\033')\[31m" "$TMP/answer"
check 'which NO_COLOR takes away' eval 'on_terminal PAGER="sed s/^/P:/" NO_COLOR=1 && ! grep -q "$(printf "\033")\[31m" "$TMP/answer"'
check 'SBX_PAGER goes before it' eval 'on_terminal PAGER=false SBX_PAGER=cat && grep -q "modify ./.git/hooks/x" "$TMP/answer"'
check 'the status is not the pager'"'"'s' eval 'on_terminal PAGER=false; [ $? -eq 0 ]'
check 'a pipe has none' eval 'PAGER="sed s/^/P:/" ask denials "$first" && ! grep -q ^P: "$TMP/answer"'
lnav_reads()
{
	mkdir -p "$TMP/lnav/formats/sbx" "$TMP/log" && cp "${0%/*}/sbx-launch.json" "$TMP/lnav/formats/sbx" &&
		"$AUDIT" cat "$first" >"$TMP/log/audit.jsonl" &&
		HOME=$TMP timeout 60 lnav -n -I "$TMP/lnav" -c ';select count(*) as n from sbx_launch where kind = '"'denied'"'' \
			-c ':write-csv-to -' "$TMP/log/audit.jsonl" >"$TMP/answer" 2>&1
	[ "$(tail -n 1 "$TMP/answer")" -ge 1 ] || { cat "$TMP/answer"; false; }
}
if command -v lnav >/dev/null; then
	check 'lnav has the lines as a table' lnav_reads
else
	skip 'lnav has the lines as a table' 'no lnav'
fi

# ---- following ----
follow()
{
	mkfifo go
	"$SBX" -q -- sh -c 'read x <go; echo late >late' </dev/null &
	run=$!
	until grep -q '"kind":"hello"' "$HOME/.local/state/sbx-launch/runs/$("$AUDIT" runs --json | tail -n 1 | sed 's/.*"run_id":"\([^"]*\)".*/\1/')/audit.jsonl" &&
		"$AUDIT" runs --json | tail -n 1 | grep -q '"live":true'; do :; done
	"$AUDIT" tail -f >"$TMP/followed" &
	tail=$!
	echo >go
	wait $run && wait $tail && grep -q 'modify ./late' "$TMP/followed"
}
check 'tail -f shows what comes and ends with the run' follow

# ---- names that want more ----
fresh
launch -q -- python3 -c 'import os
for name in ("a\nb", "\x1b[2Jx", "\u202ex", "<script>alert(1)</script>", "q\"\\"):
    open(name, "w").close()
open(b"\xff\xfe", "w").close()
deep = "/".join(["d" * 250] * 16)
os.makedirs(deep[:3000].rstrip("/"), exist_ok=True)
try:
    open(".git/config", "w")
except OSError:
    pass'
for view in changes denials tree stats tail cat 'grep op=modify' 'show --format jsonl' 'show --format ocsf' 'show --format orbit' 'show --format chrome-trace'; do
	check "hostile names control nothing: $view" eval 'ask $view; [ $? -lt 2 ] && no_control'
done
check 'a newline does not make two of one name' says 'A ./a\x0ab' changes

# ---- appending to a log ----
printf '{"torn":' >"$TMP/shared"
launch -q --audit-file "$TMP/shared" -- sh -c 'echo 1 >one'
check 'a torn end before it does not swallow the first line' has '"kind":"run"' cat
check 'and the run verifies' has 'and are all' verify
launch -q --audit-file "$TMP/shared" -- sh -c 'echo 1 >two'
check 'a second run in the file verifies' has 'and are all' verify
check 'and sees its own' eval 'ask changes && grep -q ./two "$TMP/answer" && ! grep -q ./one "$TMP/answer"'
both()
{
	"$SBX" -q --audit-file "$TMP/two" -- sh -c 'i=0; while [ $i -lt 300 ]; do echo $i >x$i; i=$((i+1)); done' </dev/null &
	one=$!
	"$SBX" -q --audit-file "$TMP/two" -- sh -c 'i=0; while [ $i -lt 300 ]; do echo $i >y$i; i=$((i+1)); done' </dev/null
	wait $one
	for id in $("$AUDIT" runs --json | tail -n 2 | sed 's/.*"run_id":"\([^"]*\)".*/\1/'); do
		has 'and are all' verify "$id" || return 1
	done
}
check 'two writers at once: each chain holds' both

# ---- compressed logs ----
packed()
{
	launch -q --context tool=p -- sh -c 'i=0; while [ $i -lt 200 ]; do echo $i >z$i; i=$((i+1)); done'
	run=$HOME/.local/state/sbx-launch/runs/$("$AUDIT" runs --json | tail -n 1 | sed 's/.*"run_id":"\([^"]*\)".*/\1/')
	for view in changes denials tree stats cat verify 'show --json' 'grep op=modify' calls; do "$AUDIT" $view; done >"$TMP/plain" 2>&1
	ask prune --compress-above 1000 && [ ! -e "$run/audit.jsonl" ] && [ -s "$run/audit.jsonl.zst" ] || return 1
	for view in changes denials tree stats cat verify 'show --json' 'grep op=modify' calls; do "$AUDIT" $view; done >"$TMP/packed" 2>&1
	cmp "$TMP/plain" "$TMP/packed" && [ "$(wc -c <"$run/audit.jsonl.zst")" -lt 20000 ]
}
check 'a large log is compressed, and every answer stays' packed
damaged()
{
	printf 'x' | dd of="$run/audit.jsonl.zst" bs=1 seek=2000 conv=notrunc 2>/dev/null
	ask verify
	[ $? -ne 0 ]
}
check 'a damaged one does not verify' damaged

# ---- retention ----
prune()
{
	ask prune --keep-runs 2 && [ "$("$AUDIT" runs | wc -l)" -eq 2 ]
}
check 'prune keeps the newest' prune
launch -q -- true
check 'and the key' has 'hold together' verify
