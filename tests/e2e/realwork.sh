#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real work where **/*.env may not be read and .git/hooks/** not be changed: as bare, but for what
# is denied; and nothing left on the host, whoever is killed.
. "$(dirname "$0")/../support/e2e.sh"

under() # NAME PREPARE SCRIPT
{
	same_after "$1" "$2" "$3" -qq --deny-read '**/*.env' --deny-modify '.git/hooks/**'
}
run() # SCRIPT: sandboxed, in the workspace as it is
{
	launch -q --deny-read '**/*.env' --deny-modify '.git/hooks/**' bash -c "$1"
}
is() # NAME TEXT: what the run said
{
	check "$1" diff - "$TMP/out" <<<"$2"
}

# ---- git, with a denied file that is tracked ----

repo()
{
	git init -q -b main . && git config user.email t@example.org && git config user.name t
	mkdir -p src conf && echo one >src/a && echo two >src/b && echo secret >conf/app.env
	# not racily clean: git then looks at times, not at content
	touch -d 2020-01-01 src/a src/b conf/app.env
	git add -A && git commit -qm first
}
under 'git status, add -A, commit' repo 'git status --porcelain; echo x >>src/a; echo n >new
	git add -A && git commit -qm second && git show --stat --format=%s && git status --short'
under 'git stash' repo 'echo x >>src/a; git stash -q; cat src/a; git stash pop -q; git diff --stat'
under 'git rebase' repo 'git checkout -qb t; echo x >n; git add n; git commit -qm n
	git checkout -q main; echo y >m; git add m; git commit -qm m; git rebase -q t
	git log --format=%s && git status --short'
under 'git gc, fsck, clone' repo 'git gc -q; git fsck --strict; git clone -q . copy && ls copy; git count-objects'
under 'git worktree' repo 'git worktree add -q wt -b w && ls wt wt/conf && cd wt && echo x >>src/a &&
	git add src/a && git commit -qm w && git log --format=%s && cd .. && git worktree remove --force wt && git worktree list | wc -l'
fresh
repo
run 'cat conf/app.env; git diff --no-index /dev/null conf/app.env | tail -n 1
	echo x >.git/hooks/pre-commit; ln -s /bin/true .git/hooks/post-commit; mv .git/hooks h; git show HEAD:src/a'
is 'the denied file and the hooks stay closed to it' one
check 'no hook came to be' sh -c '! ls .git/hooks | grep -v sample'
run 'echo more >>src/a; echo k >late.env; git add -A; git status --short'
check 'add -A of a denied new file fails as of any unreadable file' grep -q 'open("late.env"): Permission denied' "$TMP/err"

# ---- editors and atomic saves ----

text() { mkdir d && echo one >d/a && chmod 640 d/a && echo secret >d/x.env; }
under 'sed -i' text 'sed -i s/one/1/ d/a; cat d/a; stat -c %a d/a; ls -A d'
if command -v vim >/dev/null; then
	under 'vim, over the file and by a rename' text '
		vim -Nu NONE -i NONE -es -c "set backupcopy=yes" -c "%s/one/two/" -c wq d/a
		vim -Nu NONE -i NONE -es -c "set backupcopy=no" -c "%s/two/three/" -c wq d/a; cat d/a; stat -c %a d/a; ls -A d'
else
	skip 'vim, over the file and by a rename' 'no vim'
fi
under 'a storm of files made and renamed' : 'cat >storm.py <<"P"
import os, threading
def work(i):
    for n in range(30):
        with open(f"w{i}.tmp", "w") as f: f.write(str(n))
        os.replace(f"w{i}.tmp", f"w{i}")
        assert open(f"w{i}").read() == str(n)
    os.mkdir(f"d{i}"); os.rename(f"d{i}", f"e{i}"); os.rmdir(f"e{i}")
ts = [threading.Thread(target=work, args=(i,)) for i in range(6)]
[t.start() for t in ts]; [t.join() for t in ts]; print(sorted(os.listdir(".")))
P
	python3 -B storm.py & python3 -c "print(1)" >/dev/null; wait'

# ---- copies and removals of trees that hold denied files ----

tree() { mkdir -p t/u && echo open >t/a && echo secret >t/b.env && echo open >t/u/c && echo secret >t/u/d.env; }
# NAME SCRIPT: makes `o` of `t`, tells of each denied file, and has all the others
takes()
{
	fresh
	tree
	run "$2"
	check "$1 takes what is allowed" [ "$(cd o && cat a u/c && ls a u/c)" = "$(printf 'open\nopen\na\nu/c')" ]
	check "$1 fails for the rest" sh -c "[ $status -ne 0 ] && grep -q b.env '$TMP/err' && grep -q d.env '$TMP/err' && ! grep -rq secret o"
}
takes 'cp -a' 'cp -a t o'
takes tar 'tar -cf x.tar -C t .; rc=$?; mkdir o && tar -xf x.tar -C o; exit $rc'
command -v rsync >/dev/null && takes rsync 'rsync -a t/ o'
fresh
tree
run 'rm -rf t && ls -A'
check 'rm -rf removes denied files: reading is denied, not removing' [ "$status" -eq 0 ] && [ ! -s "$TMP/out" ]
repo
run 'rm -rf .git/hooks; ls .git/hooks | head -n 1'
check 'rm -rf of what may not be changed removes nothing' [ -s "$TMP/out" ]

# ---- databases, builds, threads ----

if command -v sqlite3 >/dev/null; then
	under 'sqlite in WAL mode, two at once' : 'sqlite3 db "pragma journal_mode=wal; create table t(a); insert into t values(1)"
		for i in 1 2 3 4; do sqlite3 db ".timeout 9000" "insert into t values($i)" & done; wait
		sqlite3 db "select count(*), sum(a) from t; pragma integrity_check"; ls'
else
	skip 'sqlite in WAL mode, two at once' 'no sqlite3'
fi
sources()
{
	for i in $(seq 10); do echo "int f$i(void) { return $i; }" >"f$i.c"; done
	echo 'int f10(void); int main(void) { return f10(); }' >main.c
	printf 'S := $(wildcard *.c)\nprog: $(S:.c=.o)\n\tcc -o $@ $^\n%%.o: %%.c\n\tcc -c -o $@ $<\n' >Makefile
}
under 'make -j8' sources 'make -s -j8 && ./prog; echo $?; ls *.o | wc -l; make -s -j8 -q'
under '200 threads opening at once' text 'python3 -c "
import threading
b, out = threading.Barrier(200), []
def work(i):
    b.wait()
    for n in range(3):
        with open(f\"f{i}\", \"a\") as f: f.write(open(\"d/a\").read())
    out.append(open(f\"f{i}\").read() == 3 * \"one\n\")
ts = [threading.Thread(target=work, args=(i,)) for i in range(200)]
[t.start() for t in ts]; [t.join() for t in ts]; print(len(out), all(out))"; ls | wc -l'
exit 0
