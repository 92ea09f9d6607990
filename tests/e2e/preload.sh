#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Preload-only mode: the variables of --print-env, in harnesses of several kinds.
. "$(dirname "$0")/../support/e2e.sh"

here=$(cd "$(dirname "$0")" && pwd)
export WS TMP XDG_STATE_HOME=$TMP/state SBX_PROFILE=default
log() { echo "$XDG_STATE_HOME"/sbx-launch/runs/*/audit.jsonl; }
begin() # a fresh workspace with something to deny, and no runs
{
	rm -rf "$XDG_STATE_HOME" "${WS:?}"/* "$WS"/.[!.]*
	echo secret >.env
	echo plain >file
}
in_env() # SCRIPT: run by a shell that evaluates the variables first
{
	out=$(timeout -k 1 60 bash -c 'set -e; eval "$("$SBX" --print-env --workspace "$WS" --deny-read .env '"${options:-}"')"; set +e
'"$1" 2>"$TMP/err")
	status=$?
}
logged() # PATTERN of a whole line of the log
{
	grep -qE "$1" "$(log)"
}

# ---- a shell ----
begin
in_env 'cat .env; echo $?; cat file; env -i /bin/cat .env; sh -c "echo x >made; cat made"'
check 'a shell: what is denied is, what is allowed works' [ "$out" = $'1\nplain\nx' ]
check 'the first line says that there is no floor' \
	[ "$(head -n 1 "$(log)" | grep -c '"kind":"loss".*"reason":"no-floor"')" = 1 ]
check 'a denial is a line with its rule' \
	logged '"kind":"denied".*"path":"[^"]*/\.env","allowed":false,"matched_rule":"[^"]*\.env[^"]*","rule":"cli:--deny-read:1"'
check 'a change is a line' logged '"kind":"result".*"op":"modify".*/made","allowed":true'
check 'every image says hello' logged '"kind":"hello".*/cat"'
check 'every line keeps to the schema' python3 "$here/validate_log.py" --unchained "$(log)"
check 'the summary reads it' "${SBX%/*}/sbx-audit" 

audit=${SBX%/*}/sbx-audit
export STILL=$TMP/still NONE=$TMP/none # --print-env has a TMP of its own
printf '\177ELFx' >"$NONE" && chmod 755 "$NONE"
begin
in_env 'cat .env; cat file; env "$NONE" 2>/dev/null; (ulimit -f 0; cat file); sh -c "LD_PRELOAD= exec env -u SBX_CHANNEL cat file >/dev/null"'
shows() { "$audit" >"$TMP/summary" && cat "$TMP/summary" && grep -qE "$1" "$TMP/summary"; }
check 'the summary: nobody was killed' shows '^ended     not recorded in preload-only mode$'
check 'the command is an environment' shows '^command   \(an environment: --print-env\)$'
check 'calls are counted from the log' \
	shows "^events    $(grep -cE '"kind":"(result|denied|exec)"' "$(log)") so far: [1-9][0-9]* read, .*; 1 denied$"
check 'lines that could not be written are in the shims'"'"' counters' shows '^missing   [1-9][0-9]* events lost, 0 failures'
check 'programs are counted, failed starts taken back' shows '^coverage  ([0-9]+) of \1 processes witnessed$'
check 'the list of runs has no number it does not know' \
	[ "$("$audit" runs | grep -cE ' preload-only +\? denied  \(an environment: --print-env\)$')" = 1 ]
check 'run.json claims no counts' [ "$("$audit" runs --json | grep -c '"preload_only":true')$("$audit" runs --json | grep -c '"counts"')" = 10 ]
out=$("$audit" verify)
check 'verify: not chained, and not broken' [ "$?$(grep -c ' lines, not chained: ' <<<"$out")" = 11 ]
printf 'int main(void) { return 0; }\n' >"$TMP/still.c"
if gcc -static -o "$TMP/still" "$TMP/still.c" 2>/dev/null; then
	begin
	in_env 'env "$STILL"; env "$STILL"; sh -c "\"$STILL\"; true"'
	check 'static programs are counted as unwitnessed' shows '^coverage  3 of 6 processes witnessed \(3 static\)$'
fi

before=$(find "$TMPDIR"/sbx-print-env-* | wc -l)
"$SBX" --print-env -w "$WS" --audit-file "$TMP/nowhere/log" >"$TMP/out" 2>"$TMP/err"
check 'a failure leaves no temporary directory' \
	[ "$?:$(find "$TMPDIR"/sbx-print-env-* | wc -l)" = "125:$before" ]

# ---- stacks that are enough without us ----
for law in signal_stack small_thread; do
	begin
	mkdir ok no
	touch ok/file no/file
	ln -s file ok/link
	ln -s ../no/file ok/to-no
	options="--audit-level all --deny-read 'no/**' --deny-modify 'no/**'" \
		in_env 'exec "${SBX%/*}/shim_stack" '"$law"' .'
	check "little room: $law" [ "$status" = 0 ]
done

# ---- a Python subprocess harness ----
begin
cat >"$TMP/harness.py" <<'PY'
import os, subprocess, sys
sbx, workspace = sys.argv[1:]
text = subprocess.run([sbx, "--print-env", "--workspace", workspace, "--deny-read", ".env"],
                      check=True, capture_output=True, text=True).stdout
env = dict(os.environ)
shell = subprocess.run(["sh", "-c", text + "\nenv -0"], check=True, capture_output=True)
env.update(e.split("=", 1) for e in shell.stdout.decode().split("\0") if "=" in e)
def tool(*argv):
    return subprocess.run(argv, env=env, capture_output=True, text=True)
print(tool("cat", "file").stdout, tool("cat", ".env").returncode,
      tool("sh", "-c", "cat .env || echo refused").stdout, sep="", end="")
PY
out=$(timeout -k 1 60 python3 "$TMP/harness.py" "$SBX" "$WS" 2>"$TMP/err")
check 'a Python harness' [ "$out" = $'plain\n1refused' ]
check 'its tools are recorded' logged '"kind":"denied".*/\.env"'

# ---- a node CLI ----
if command -v node >/dev/null; then
	begin
	in_env 'node -e "
const fs = require(\"fs\"), cp = require(\"child_process\");
for (const f of [\".env\", \"file\"])
	try { console.log(fs.readFileSync(f, \"utf8\").trim()); } catch (e) { console.log(e.code); }
console.log(cp.spawnSync(\"cat\", [\".env\"], { env: {} }).status);"'
	check 'a node CLI, and what it starts with an empty environment' [ "$out" = $'EACCES\nplain\n1' ]
else
	skip 'a node CLI' 'no node'
fi

# ---- a CI job ----
begin
printf 'all:\n\t@cat file; cat .env; true\n' >Makefile
options='--audit-file "$TMP/job.jsonl"' in_env 'exec make -s all'
check 'a CI job: make and its recipes' [ "$out" = plain ]
check 'the log goes where the job keeps it' grep -q '"kind":"denied".*/\.env"' "$TMP/job.jsonl"

# ---- refusals ----
begin
out=$(SBX_PROFILE='' bash -c 'eval "$("$SBX" --print-env)"; echo went on' 2>"$TMP/err")
check 'no profile: the shell goes no further' [ "$?" -eq 125 -a -z "$out" ]
check 'and says why' grep -q 'E_PROFILE.*SBX_PROFILE' "$TMP/err"
in_env 'chmod 644 "${SBX_CHANNEL#deny:}/image"; exec 9<"${SBX_CHANNEL#deny:}/image"; echo x >&2; true'
channel=$(echo "$XDG_STATE_HOME"/sbx-launch/runs/*)
shim=${SBX%/*}/libsbx-shim.so
try() # VALUE-OF-SBX_CHANNEL
{
	out=$(env LD_PRELOAD="$shim" SBX_CHANNEL="$1" cat .env file 2>"$TMP/err")
	status=$?
}
try "deny:$channel"
check 'the whole policy is used' [ "$status:$out" = 1:plain ]
chmod 666 "$channel/image"
try "deny:$channel"
check 'a policy that others may write: no program starts' [ "$status:$out" = 126: ]
check 'and says why' grep -q E_SHIM "$TMP/err"
chmod 600 "$channel/image"
printf x | dd of="$channel/image" bs=1 seek=400 conv=notrunc status=none
try "deny:$channel"
check 'a policy with a wrong checksum: no program starts' [ "$status:$out" = 126: ]
try "$channel"
check 'unless the environment says pass' [ "$status:$out" = $'0:secret\nplain' ]
try "deny:$channel/gone"
check 'a policy that is gone: no program starts' [ "$status:$out" = 126: ]

begin
in_env 'env LD_PRELOAD="libc.so.6:$LD_PRELOAD" cat .env file'
check 'the C library before the shim: no program starts' [ "$status:$out" = 126: ]
check 'and says why' grep -q 'E_SHIM.*before the shim.*/libc.so.6' "$TMP/err"
check 'and it is told' logged '"kind":"loss".*"reason":"preloaded-before"'
in_env 'env LD_PRELOAD="$LD_PRELOAD:libc.so.6" cat .env file'
check 'behind the shim it may stand' [ "$status:$out" = 1:plain ]

# ---- a run in such an environment ----
begin
in_env '"$SBX" -w "$WS" -- cat .env file'
check 'a run would leave its policy: refused' [ "$status:$out" = 125: ]
check 'and says why' grep -q 'E_FLOOR.*--print-env environment' "$TMP/err"
options='--on-error pass' in_env '"$SBX" -w "$WS" -- cat .env file'
check 'so it is where failures pass' [ "$status:$out" = 125: ]
in_env '"$SBX" -w "$WS" --best-effort -- cat file'
check 'with --best-effort it runs' [ "$status:$out" = 0:plain ]
check 'and the loss is told' grep -q 'loss: .*--print-env environment' "$TMP/err"

# ---- what a log must survive ----
begin
mkfifo "$TMP/fifo"
timeout -k 1 20 "$SBX" --print-env -w "$WS" --audit-file "$TMP/fifo" >"$TMP/out" 2>"$TMP/err"
check 'a log that is a FIFO is refused' [ "$?" -eq 125 ]
check 'and that is said' grep -q 'E_AUDIT.*regular file' "$TMP/err"
options='--audit-file "$WS/log"' in_env 'rm log; mkfifo log; cat file; exec 3<>log; cat .env file'
check 'one that becomes a FIFO holds nobody up' [ "$status:$out" = $'1:plain\nplain' ]
begin
in_env 'python3 -c "
import resource, signal
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
print(open(\"file\").read().strip())"'
check 'a limit on file sizes ends no program' [ "$status:$out" = 0:plain ]
begin
export WRITERS=$(rounds 8 20)
in_env 'for i in $(seq $WRITERS); do
	(for j in $(seq $WRITERS); do : <"file"; cat "$(printf "n%.0s" $(seq 200))/none.$i.$j" "$PWD"/file; done) & done >/dev/null 2>&1; wait'
check 'many writers: no line is torn' python3 "$here/validate_log.py" --unchained "$(log)"
check 'and none is missing' [ "$(grep -c '"kind":"hello".*/cat"' "$(log)")" -ge $((WRITERS * WRITERS)) ]

# ---- programs of the other word size, started by what is witnessed itself ----
cat >"$TMP/p32.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
static int tell(const char *path)
{
	int fd = open(path, O_RDONLY);
	return fd < 0 ? errno == EACCES ? 1 : 2 : close(fd);
}
int main(int argc, char **argv)
{
	char *args[] = {"cat", argc > 1 ? argv[1] : "file", NULL}, *none[] = {NULL};
	struct timespec t[2] = {{1, 0}, {1, 0}};
	char *preload = getenv("LD_PRELOAD");
	pid_t pid;
	int status = -1;
	printf("%zu %d %d %d ", sizeof(void *), tell("file"), tell(".env"), fopen(".env", "r") != NULL);
	printf("%d%d ", utimensat(AT_FDCWD, ".env", t, 0), utimensat(AT_FDCWD, "file", t, 0));
	printf("%s\n", preload ? strrchr(preload, '/') + 1 : "-");
	fflush(stdout);
	if (posix_spawn(&pid, "/bin/cat", NULL, NULL, args, none) == 0)
		waitpid(pid, &status, 0);
	if (argc > 2)
		return system("cat .env; cat file");
	execve("/bin/cat", args, none);
	return 9;
}
C
export P32=$TMP/p32
# some hosts run none, though their kernel says so
runs_32() { python3 -c 'import os, sys; os.execv(sys.argv[1], sys.argv[1:])' "$1" >"$TMP/out" 2>&1; grep -q '^4 ' "$TMP/out"; }
if [ -e "${SBX%/*}/libsbx-shim32.so" ] && gcc -m32 -w -o "$P32" "$TMP/p32.c" 2>/dev/null && runs_32 "$P32"; then
	begin
	options='--deny-modify .env' in_env 'env "$P32"; env -i "$P32" .env; echo $?'
	check 'a 32-bit program, judged; what it starts; and it again' \
		[ "$out" = $'4 0 1 0 -10 libsbx-shim32.so\nplain\nplain\n4 0 1 0 -10 libsbx-shim32.so\n1' ]
	check 'no loader complains' [ "$(grep -c 'ld.so' "$TMP/err")" = 0 ]
	check 'it says hello' logged '"kind":"hello".*/p32"'
	check 'and is told' logged '"kind":"denied".*"path":"[^"]*/\.env".*"call":"open"'
	check 'with 64-bit programs before and behind it' logged '"kind":"hello".*/cat"'
	begin
	in_env 'env "$P32" file system'
	check 'its shell, which is not 32-bit, runs what is checked' [ "${out##*$'\n'}" = plain -a "$(grep -c '^secret' <<<"$out")" = 0 ]
	gcc -m32 -w -D_FILE_OFFSET_BITS=64 -D_TIME_BITS=64 -o "$P32" "$TMP/p32.c"
	begin
	options='--deny-modify .env' in_env 'env "$P32"'
	check 'one with times of 64 bits' [ "${out%%$'\n'*}" = '4 0 1 0 -10 libsbx-shim32.so' ]
	check 'all its lines keep to the schema' python3 "$here/validate_log.py" --unchained "$(log)"
	if gcc -m32 -w -static -o "$P32" "$TMP/p32.c" 2>/dev/null; then
		begin
		in_env 'env "$P32"'
		check 'a static one is told as static' logged '"path":"[^"]*/p32".*"image":"static"'
	fi
else
	skip 'a 32-bit program' 'no compiler or library for them'
fi
