#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Failures that people met with preloaded libraries, descriptors and logs of other sandboxes, each
# first without the rule (the control: it would have happened), then with it.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

# The same SCRIPT without and with OPTIONS: $bare and $held are what it printed.
twice() # SCRIPT OPTIONS...
{
	local script=$1
	shift
	launch -- bash -c "$script"
	bare=$(cat "$TMP/out")
	launch "$@" -- bash -c "$script"
	held=$(cat "$TMP/out")
}

# ---- a shim that cannot be loaded (PRE-01) ----
fresh
echo S >secret
rm -rf "$TMP/copy"
cp -r "${SBX%/*}" "$TMP/copy"
rm "$TMP"/copy/libsbx-shim*.so
SBX_WAS=$SBX
SBX=$TMP/copy/sbx-launch
launch --deny-read secret -- cat secret
check 'no shim: the run is refused' [ "$status" -eq 125 -a ! -s "$TMP/out" ]
check 'and says what is missing' grep -q E_SHIM "$TMP/err"
launch --no-shim --deny-read secret -- cat secret
check 'unless it was asked for: then the kernel refuses the read' [ "$status" -eq 1 -a ! -s "$TMP/out" ]
for odd in 'a blank' 'a:colon'; do
	rm -rf "$TMP/$odd"
	cp -r "${SBX_WAS%/*}" "$TMP/$odd"
	SBX="$TMP/$odd/sbx-launch"
	launch -- true
	check "a shim whose path holds $odd is refused, not ignored" grep -q 'E_SHIM.*cannot be preloaded' "$TMP/err"
	rm -rf "${TMP:?}/$odd"
done
SBX=$SBX_WAS
launch --deny-read secret -- python3 -Ec 'import ctypes
print(ctypes.CDLL(None).open(b"secret", 0), ctypes.CDLL("libc.so.6").open(b"secret", 0))'
check 'the C library past the shim meets the floor' [ "$(cat "$TMP/out")" = '-1 -1' ]

# ---- an environment without the shim (PRE-02) ----
fresh
echo S >secret
mkdir prot
clean='env -i /bin/cat secret; bash -c "exec -c /bin/cat secret"
python3 -Ec "import os; os.execve(\"/bin/sh\", [\"sh\", \"-c\", \"cat secret; echo x >prot/f\"], {})"
sh -c "unset LD_PRELOAD; cat secret; LD_PRELOAD= sh -c \"cat secret\""; ls prot'
twice "$clean" --deny-read secret --deny-modify 'prot/**'
check 'a clean environment: the control reads and writes' [ "$bare" = $'S\nS\nS\nS\nS\nf' ]
rm -f prot/f
launch --deny-read secret --deny-modify 'prot/**' -- bash -c "$clean"
check 'a clean environment escapes nothing' [ -z "$(cat "$TMP/out")" -a -z "$(ls prot)" ]
check 'and every program is witnessed' \
	[ "$("${SBX%/*}/sbx-audit" | grep -oE '[0-9]+ of [0-9]+ processes' | awk '$1 != $3' | wc -l)" = 0 ]

# ---- static programs (PRE-03) ----
fresh
echo S >secret
mkdir prot
cat >s.c <<'C'
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	char b[8] = {0};
	int f = open("secret", O_RDONLY);
	if (f >= 0 && read(f, b, 1) > 0)
		printf("LEAK %s\n", b);
	if (creat("prot/x", 0600) >= 0)
		puts("WROTE");
	puts("end");
	return 0;
}
C
if gcc -static -o s s.c 2>/dev/null; then
	twice ./s --deny-read secret --deny-modify 'prot/**'
	check 'a static program: the control leaks and writes' [ "$bare" = $'LEAK S\nWROTE\nend' ]
	rm -f prot/x
	launch --deny-read secret --deny-modify 'prot/**' -- ./s
	check 'a static program is held by the floor' [ "$(cat "$TMP/out")" = end -a ! -e prot/x ]
	check 'and told as unwitnessed' \
		[ "$("${SBX%/*}/sbx-audit" show --kind unwitnessed | grep -c static)" = 1 ]
else
	skip 'a static program' 'no static libc'
fi

# ---- programs of another word size, of another C library ----
fresh
echo S >secret
cat >w.c <<'C'
void _start(void);
void _start(void)
{
	__asm__ volatile("int $0x80" : : "a"(1), "b"(7));
}
C
gcc -m32 -nostdlib -static -fno-pie -no-pie -o w w.c 2>/dev/null && ./w 2>/dev/null
if [ $? -eq 7 ]; then
	launch --no-shim -- ./w
	check 'a 32-bit program: its calls are not judged, and so it is killed' [ "$status" -eq 159 ]
	launch -- sh -c './w'
	check 'from a shell, too' [ "$status" -eq 159 ]
	check 'which is explained' grep -q 'note: the system-call filter kills (SIGSYS) .* 32-bit programs do not run' "$TMP/err"
	check 'and is told as of another machine' \
		[ "$("${SBX%/*}/sbx-audit" show --kind unwitnessed | grep -c 'foreign-abi')" = 1 ]
	check 'the loader says nothing of it' [ "$(grep -c 'ld\.so' "$TMP/err")" = 0 ]
else
	skip 'a 32-bit program' 'none can be built or run here'
fi
cat >m.c <<'C'
#include <stdio.h>
int main(void)
{
	puts(fopen("secret", "r") ? "LEAK" : "end");
	return 0;
}
C
if command -v musl-gcc >/dev/null && musl-gcc -o m m.c; then
	twice ./m --deny-read secret
	check 'a program of musl: the control leaks, with the rule it does not' \
		[ "$bare:$held" = LEAK:end ]
	launch --require shim --deny-read secret -- sh -c ./m
	check 'it is witnessed' [ "$status:$(cat "$TMP/out")" = 0:end ]
	check 'and its refused call is told' \
		[ "$("${SBX%/*}/sbx-audit" show --kind denied | grep -c secret)" = 1 ]
else
	skip 'a program of musl' 'no musl-gcc'
fi

# ---- secrets in the environment (ENV-01) ----
fresh
secrets='env | grep -E "^(GITHUB_TOKEN|AWS_SECRET|CI_JOB|FOO|PATH)=" | cut -d= -f1 | sort | tr "\n" " "'
export GITHUB_TOKEN=t AWS_SECRET=k CI_JOB=7 FOO=1
launch -- sh -c "$secrets"
check 'the environment is the one the caller gave' \
	[ "$(cat "$TMP/out")" = 'AWS_SECRET CI_JOB FOO GITHUB_TOKEN PATH ' ]
out=$(env -i PATH="$PATH" HOME="$HOME" CI_JOB="$CI_JOB" "$SBX" -- sh -c "$secrets" 2>"$TMP/err")
check 'given less, the command has no more' [ "$out" = 'CI_JOB PATH ' ]
launch -- env -i PATH="$PATH" sh -c "$secrets"
check 'nor does a program started with less get it back' [ "$(cat "$TMP/out")" = 'PATH ' ]
unset GITHUB_TOKEN AWS_SECRET CI_JOB FOO

# ---- the user's own LD_PRELOAD (PRE-05) ----
fresh
echo S >secret
jemalloc=$(find /usr/lib -name 'libjemalloc.so.2' 2>/dev/null | head -n 1)
if command -v fakeroot >/dev/null && command -v faketime >/dev/null && [ -n "$jemalloc" ]; then
	twice 'faketime 2001-01-01 date +%Y; cat secret' --deny-read secret
	check 'faketime under the sandbox' [ "$bare" = $'2001\nS' -a "$held" = 2001 ]
	out=$(LD_PRELOAD=$jemalloc "$SBX" --deny-read secret -- sh -c \
		'echo "$LD_PRELOAD" | grep -c jemalloc; cat secret; sh -c "cat secret"; ls / >/dev/null && echo ok' 2>"$TMP/err")
	check 'a preloaded allocator stays, and the shim in its grandchildren' [ "$out" = $'1\nok' ]
else
	skip "the user's own LD_PRELOAD" 'faketime, fakeroot or jemalloc is missing'
fi

# ---- pipes, socket pairs and servers of node, python and make (LCK-04) ----
fresh
echo 'process.send(42)' >child.js
echo "const c = require('child_process').fork('./child.js');
c.on('message', (m) => { console.log('ipc', m); c.kill(); })" >parent.js
if command -v node >/dev/null; then
	launch -- node parent.js
	check 'node talks to its child' [ "$(cat "$TMP/out")" = 'ipc 42' ]
else
	skip 'node talks to its child' 'no node'
fi
launch -- python3 -Ec "import socket; a, b = socket.socketpair(); a.sendmsg([b'x']); print(b.recv(1))"
check 'a socket pair works' [ "$(cat "$TMP/out")" = "b'x'" ]
printf 'a b:\n\t@echo $@\n' >Makefile
launch -- make -j2 a b
check "make's job server works" [ "$(sort "$TMP/out" | tr '\n' ' ')" = 'a b ' ]

# ---- descriptors that were open before (FDS-01) ----
fresh
echo S=1 >.env
mkdir sub
out=$("$SBX" --deny-read .env -- sh -c 'cat <&3' 3<.env 2>/dev/null)
check 'an open denied file is not handed on' [ -z "$out" ]
out=$("$SBX" --deny-read .env -- sh -c 'cat /proc/self/fd/3' 3<.env 2>/dev/null)
check 'nor by its name in /proc' [ -z "$out" ]
out=$(cd sub && "$SBX" --workspace . -- python3 -Ec 'import os
try: os.fchdir(4); print(os.listdir("."))
except OSError as e: print(e.errno)' 4<.. 2>/dev/null)
check 'nor an open directory' [ "$out" = 9 ]
out=$("$SBX" --deny-read .env -- cat <.env)
check 'standard input is what the caller gave' [ "$out" = S=1 ]

# ---- many writers, long names, one line each (AUD-01) ----
fresh
mkdir d
launch --audit-level all -- bash -c 'n=$(printf "n%.0s" $(seq 200))
for i in $(seq 16); do (for j in $(seq 25); do : <"d/$n/nofile.$i.$j"; done) 2>/dev/null & done; wait'
log=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)/audit.jsonl
check 'every line is whole' python3 -c "
import json, sys
n = sum('nofile.' in json.loads(l).get('path', '') for l in open('$log', 'rb'))
sys.exit(n != 400)"

# ---- a retry loop (AUD-06) ----
fresh
mkdir d && touch d/f
denials=$(rounds 4000 20000)
launch -q --deny-read 'd/**' -- python3 -Ec '
for i in range('$denials'):
	try: open("d/f"); print("LEAK"); break
	except OSError: pass'
check "$denials denials: none is let through" [ ! -s "$TMP/out" ]
log=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)/audit.jsonl
check 'the log stays short, the count exact' python3 -c "
import json, sys
d = [e for e in map(json.loads, open('$log', 'rb')) if e['kind'] == 'denied' and e['path'].endswith('d/f')]
sys.exit(not (sum(e.get('count', 1) for e in d) == $denials and len(d) < 100))"

# ---- whose refusal was it? (DIA-01) ----
fresh
mkdir lib dac
touch dac/f
chmod 000 dac/f
launch --deny-modify 'lib/**' -- sh -c 'echo y >lib/f'
check 'the denial names operation, path, rule and origin' grep -q 'modify.*lib/f.*lib/\*\*.*cli:--deny-modify:1' "$TMP/err"
if [ "$(id -u)" -ne 0 ]; then
	launch --audit-level all -- cat dac/f
	check "the kernel's own refusal is no denial" [ "$("${SBX%/*}/sbx-audit" show --kind denied | grep -c dac)" = 0 ]
fi
