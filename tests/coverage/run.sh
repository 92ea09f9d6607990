#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How much of what programs do to files is in the record, strace being the judge. Each command runs bare
# under strace, then, in the same directory made anew, under the shim at the level all: the log of the shim
# has so many percent of the calls. Last it runs as a run, which strace follows: every call that passed the
# broker is in the record, and in its sums, exactly.
#
#	tests/coverage/run.sh [-v] [PROGRAM...]		all without names
set -u
B=${B:-build}
B=$(cd "$B" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
verbose=
[ "${1:-}" != -v ] || { verbose=-v; shift; }
base=$(mktemp -d "${TMPDIR:-/tmp}/sbx-coverage.XXXXXX") || exit 1
trap 'rm -rf "$base"' EXIT
export COVERAGE_CWD=$base/work HOME=$base/home LC_ALL=C.UTF-8 GIT_CONFIG_NOSYSTEM=1 TMPDIR=$base/tmp
export GIT_AUTHOR_DATE='2026-01-01T00:00:00Z' GIT_COMMITTER_DATE='2026-01-01T00:00:00Z'
rc=0

fill()
{
	rm -rf "$base/work" "$base/home" "$base/tmp"
	mkdir -p "$base/work/src/deep/er" "$base/home" "$base/tmp"
	cd "$base/work" || exit 1
	unset OLDPWD # which bash looks at
	printf 'int f(void);\nint main(void) { return f(); }\n' >main.c
	printf 'int f(void) { return 0; }\n' >f.c
	printf 'all: prog\nprog: main.o f.o\n\tgcc -o $@ main.o f.o\n%%.o: %%.c\n\tgcc -c $<\n' >Makefile
	for i in 1 2 3 4 5; do echo "line $i" >"src/f$i"; ln -s "f$i" "src/l$i"; done
	echo deep >src/deep/er/file
	git init -q . && git config user.email a@b && git config user.name n
}

# PROGRAM, the least percentage, the work
commands=(
	'bash|99|for f in src/*; do [ -r "$f" ] && read -r x <"$f"; done; cd src; . ./f1 2>/dev/null; echo x >new; cat <<<here >/dev/null; [[ -x /bin/sh ]]; type -p make >/dev/null'
	'coreutils|99|cp -a src copy; mv copy moved; ls -lR moved >/dev/null; ln moved/f1 hard; touch -r main.c t; chmod 600 t; stat t >/dev/null; readlink -f src/l1 >/dev/null; mkdir -p a/b/c; rmdir a/b/c; rm -r moved; sort src/f1 >sorted; head -c 3 sorted >/dev/null; du -s . >/dev/null; find . -name "f*" >/dev/null; install -m 644 f.c g.c; truncate -s 3 g.c; mktemp >/dev/null; tail -n1 main.c >/dev/null; wc -l main.c >/dev/null; realpath src/l2 >/dev/null; mkfifo p; dd if=main.c of=dd.out status=none; tee x <f.c >/dev/null'
	'git|99|git add . && git commit -qm x && git status -s && echo y >>main.c && git diff --stat && git log --oneline && git stash -q && git stash pop -q && git checkout -q -b b && git gc -q'
	'gcc|99|gcc -O1 -o prog main.c f.c && gcc -c main.c && ld -r -o r.o main.o && ar rcs lib.a main.o'
	'make|99|make -s -j2 && touch f.c && make -s && make -s -n'
	'python|99|python3 -c "
import os, shutil, tempfile, json, subprocess, glob, pathlib, sqlite3
os.makedirs(\"d/e\", exist_ok=True)
pathlib.Path(\"d/e/f\").write_text(\"x\"); shutil.copytree(\"src\", \"d/s\", symlinks=True)
print(len(glob.glob(\"d/**\", recursive=True))); os.rename(\"d/e\", \"d/g\"); shutil.rmtree(\"d\")
with tempfile.NamedTemporaryFile() as t: t.write(b\"x\")
with tempfile.TemporaryDirectory() as t: pass
subprocess.run([\"true\"]); os.access(\"src\", os.W_OK); list(os.scandir(\".\")); os.utime(\"main.c\")
"'
	'node|99|node -e "
const fs = require(\"fs\"), cp = require(\"child_process\"), path = require(\"path\");
fs.mkdirSync(\"n/o\", { recursive: true }); fs.writeFileSync(\"n/o/f\", \"x\"); fs.copyFileSync(\"n/o/f\", \"n/g\");
fs.readdirSync(\"src\"); fs.statSync(\"main.c\"); fs.accessSync(\"main.c\"); fs.renameSync(\"n/g\", \"n/h\");
fs.symlinkSync(\"h\", \"n/l\"); fs.readlinkSync(\"n/l\"); fs.realpathSync(\"n/l\"); fs.chmodSync(\"n/h\", 0o600);
fs.promises.readFile(\"n/o/f\").then(() => fs.rmSync(\"n\", { recursive: true })); cp.execSync(\"true\");
"'
	'npm|99|mkdir dep && echo "{\"name\":\"dep\",\"version\":\"1.0.0\"}" >dep/package.json && echo "{\"name\":\"a\",\"version\":\"1.0.0\"}" >package.json && npm install --offline --no-audit --no-fund --loglevel=silent ./dep >/dev/null'
	'perl|99|perl -MFile::Copy -MFile::Path=make_path,remove_tree -MFile::Temp=tempfile -e "make_path(\"p/q\"); copy(\"main.c\", \"p/q/c\"); move(\"p/q/c\", \"p/d\"); opendir(D, \"src\"); readdir D; my (\$h, \$n) = tempfile(); -e \"x\"; -r \"main.c\"; unlink \"p/d\"; remove_tree(\"p\"); system(\"true\"); utime 1, 2, \"f.c\"; chmod 0600, \"f.c\""'
	'tar|95|tar -cf a.tar src && mkdir out && tar -xf a.tar -C out && tar -tf a.tar >/dev/null'
	'rsync|95|rsync -a src/ copy/ && echo x >>src/f1 && rsync -a --delete src/ copy/'
	'vim|90|vim -u NONE -es -c "e main.c" -c "normal Ohello" -c wq </dev/null; true'
	'openssl|95|openssl rand -out key 32 && openssl enc -aes-256-cbc -pbkdf2 -pass file:key -in main.c -out c.enc && openssl enc -d -aes-256-cbc -pbkdf2 -pass file:key -in c.enc -out d.c && cmp main.c d.c && openssl dgst -sha256 -out sum main.c && openssl genpkey -algorithm ed25519 -out k.pem'
	'sqlite3|95|sqlite3 t.db "create table t(a); insert into t values (1),(2); select sum(a) from t; vacuum;"'
)

# Opens of every kind are the broker's where a pattern denies reading; without a namespace the processes have
# the numbers that strace sees.
complete() # NAME SCRIPT
{
	local run options=()
	[ "$1" != npm ] || options=(--preset npm)
	fill
	XDG_STATE_HOME=$base/state timeout -k 1 240 strace -f -qq -o "$base/trace" -e signal=none \
		-e trace="$(python3 "$here/../support/trapped_calls.py" --calls)" \
		"$B/sbx-launch" -qq --isolate none --deny-read '**/*.env' "${options[@]}" -- bash -c "$2" >"$base/out" 2>&1 </dev/null ||
		{ printf '%-10s its work fails in a run\n' "$1"; tail -n 3 "$base/out"; rc=1; }
	for run in "$base"/state/sbx-launch/runs/2*; do :; done
	if python3 "$here/../support/trapped_calls.py" "$base/trace" "$run" >"$base/out" 2>&1; then
		printf '%-10s complete: %s calls passed the broker, as strace saw\n' "$1" "$(sed -n "s/.*'calls': \([0-9]*\).*/\1/p" "$base/out")"
	else
		printf '%-10s NOT COMPLETE\n' "$1"
		cat "$base/out"
		rc=1
	fi
}

one() # NAME THRESHOLD SCRIPT
{
	fill
	timeout -k 1 240 strace -f -y -qq -s 4096 -e trace=%file,fchdir -e signal=none -o "$base/trace" \
		bash -c "$3" >/dev/null 2>&1 </dev/null
	fill
	timeout -k 1 240 "$B/tests/mkchannel" --shim "$B/libsbx-shim.so" --level all --log "$base/log" \
		--rule all:/ -- bash -c "$3" >/dev/null 2>&1 </dev/null
	sed -i "s,^[0-9]* *$,," "$base/trace"
	python3 "$here/judge.py" $verbose "$base/trace" "$base/log" "$2" "$1" || rc=1
}

for c in "${commands[@]}"; do
	name=${c%%|*} rest=${c#*|}
	[ $# -eq 0 ] || [[ " $* " == *" $name "* ]] || continue
	program=$name
	case $name in coreutils) program=cp ;; python) program=python3 ;; esac
	if ! command -v "$program" >/dev/null; then
		printf '%-10s skipped: not installed\n' "$name"
		continue
	fi
	one "$name" "${rest%%|*}" "${rest#*|}"
	complete "$name" "${rest#*|}"
done
exit $rc
