#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every call that passed the broker is in the record, and the run says so: strace is the judge, of the same run.
. "$(dirname "$0")/../support/e2e.sh"
AUDIT=${SBX%/*}/sbx-audit
here=$(dirname "$0")
latest()
{
	echo "$HOME/.local/state/sbx-launch/runs/$("$AUDIT" runs --json | tail -n 1 | sed 's/.*"run_id":"\([^"]*\)".*/\1/')"
}
counted() # OPTIONS... SCRIPT
{
	fresh
	mkdir -p src/deep && for i in 1 2 3 4 5; do echo "line $i" >"src/f$i"; ln -s "f$i" "src/l$i"; done
	echo s >a.env && git init -q . && git config user.email a@b && git config user.name n
	printf 'int main(void) { return 0; }\n' >main.c
	timeout -k 1 60 strace -f -qq -o "$TMP/trace" -e trace="$(python3 "$here/trapped_calls.py" --calls)" -e signal=none \
		"$SBX" -qq --isolate none --deny-read '**/*.env' "${@:1:$#-1}" -- bash -c "${!#}" >"$TMP/out" 2>"$TMP/err" </dev/null
	python3 "$here/trapped_calls.py" "$TMP/trace" "$(latest)" || { tail -n 5 "$TMP/err"; return 1; }
}
program() # NAME OPTIONS... SCRIPT
{
	if command -v "$1" >/dev/null; then
		check "$1: every call is counted once" counted "${@:2}"
	else
		skip "$1: every call is counted once" 'not installed'
	fi
}
if strace -qq -o /dev/null true 2>/dev/null; then
	program bash 'for f in src/*; do read -r x <"$f"; done; cd src; . ./f1 2>/dev/null; echo x >new; for i in 1 2 3; do cat ../a.env; done; cat <<<here'
	program cp 'cp -a src copy; mv copy moved; ln moved/f1 hard; touch -r main.c t; chmod 600 t; mkdir -p a/b/c; rmdir a/b/c; rm -r moved; mkfifo p; install -m 644 main.c g.c; truncate -s 3 g.c; cp a.env b; mv a.env c; rm .git/config; ls -l .'
	program git 'git add . ; git commit -qm x; git status -s; echo y >>main.c; git diff --stat; git stash -q; git stash pop -q; git checkout -q -b b'
	program tar 'tar -cf a.tar src && mkdir out && tar -xf a.tar -C out && tar -tf a.tar'
	program sqlite3 'sqlite3 t.db "create table t(a); insert into t values (1),(2); select sum(a) from t; vacuum;"'
	program python3 'python3 -c "
import os, shutil, tempfile, pathlib, socket
os.makedirs(\"d/e\"); pathlib.Path(\"d/e/f\").write_text(\"x\"); shutil.copytree(\"src\", \"d/s\", symlinks=True)
os.rename(\"d/e\", \"d/g\"); shutil.rmtree(\"d\")
with tempfile.TemporaryDirectory() as t: pass
os.utime(\"main.c\"); s = socket.socket(socket.AF_UNIX); s.bind(\"sock\"); s.listen()
for f in \"a.env\", \"none\", \".git/hooks/x\":
    try: open(f, \"w\")
    except OSError: pass
"'
	program cp --audit-level all 'for i in 1 2 3; do cat a.env; done; cp main.c b; rm b none'
	program cp --no-shim 'for i in 1 2 3; do cat a.env; done; cp main.c b; rm b none'
else
	skip 'every call is counted once' 'no strace, or it may not trace here'
fi

# ---- what the summary says ----
fresh
mkdir -p .git/hooks
launch -qq -- sh -c 'echo 1 >a; mkdir d; for i in 1 2 3; do echo k >.git/hooks/x; done; cat /etc/hostname; exit 0'
check 'the summary says that it is complete, with the sums' eval '"$AUDIT" | grep -qE "^complete  yes: [0-9]+ calls passed the broker: [0-9]+ performed \+ 0 refused \+ 0 asked = [0-9]+ lines \+ 0 folded \+ 0 lost$"'
check 'and of how many processes and places shims alone tell' eval '"$AUDIT" | grep -qE "^          Landlock alone decided what [0-9]+ processes did beside, by rules for [1-9][0-9]* places: their shims tell [0-9]+ calls$"'
launch -qq --no-shim -- sh -c 'for i in 1 2 3; do echo k >.git/hooks/x; done; exit 0'
check 'refusals that are folded are counted' eval '"$AUDIT" | grep -q " 3 refused + 0 asked = [0-9]* lines + 2 folded + 0 lost$"'
launch -qq --no-shim --audit-level denied -- sh -c 'echo 1 >b; echo k >.git/hooks/x; exit 0'
check 'what the level leaves out is not missing' eval '"$AUDIT" | grep -q "^complete  yes: .* 0 performed + 1 refused + " && "$AUDIT" | grep -qE " [1-9][0-9]* not wanted$"'
launch -qq --connect a.example.org:443 -- python3 -c 'import socket
try: socket.getaddrinfo("b.example.net", 443)
except OSError: pass'
check 'names that are refused are asked, not called' eval '"$AUDIT" | grep -qE "^complete  yes: .* \+ [1-9][0-9]* asked = "'
launch -qq -- "$SBX" -qq -- sh -c 'echo 1 >c'
check 'a run inside a run counts its own' eval '[ "$("$AUDIT" last | grep -c "^complete  yes: ")" -eq 1 ]'

# A log that cannot be written: what is missing is a number.
(ulimit -f 8; launch -q -- sh -c 'mkdir $(seq 400 | sed s/^/d/)')
check 'lines that could not be written are lost, and counted' eval '"$AUDIT" | grep -qE "^complete  no, but what is missing is known: .* 400 performed .* = [0-9]+ lines \+ 0 folded \+ [1-9][0-9]* lost$" || { "$AUDIT"; cat "$TMP/err"; false; }'
