#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the log of a real run says: denials, killed writers, liars, levels, coverage.
. "$(dirname "$0")/../support/e2e.sh"

AUDIT=${SBX%/*}/sbx-audit
STATE=$HOME/.local/state/sbx-launch/runs
mkdir -p "$HOME/.ssh"
echo secret >"$HOME/.ssh/id_rsa"

shown() # ARGS...: lines of the last run
{
	"$AUDIT" show "$@"
}

count() # KEY: of the last run's counts
{
	"$AUDIT" runs --json | tail -n 1 | python3 -c "import json, sys
print(json.load(sys.stdin)['counts']['$1'])"
}

# calls that the lines of a selection stand for
calls() # FILTERS...
{
	shown --json "$@" | python3 -c 'import json, sys
print(sum(json.loads(l).get("count", 1) for l in sys.stdin))'
}

is() # WANT GOT
{
	[ "$1" = "$2" ] || { echo "$2, not $1"; false; }
}

denial()
{
	launch -- cat "$HOME/.ssh/id_rsa"
	is 1 "$status" && grep -q "sbx-launch: denied read .*id_rsa (rule .*, preset:secrets:.*): allow with --read $HOME/.ssh/id_rsa$" "$TMP/err" &&
		is 1 "$(calls --verdict denied --op read --path '**/id_rsa')"
}
check 'a denial names path, rule and remedy, and is in the log' denial

folded()
{
	launch -- sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do cat "$HOME/.ssh/id_rsa"; done'
	is 12 "$(calls --verdict denied --op read)" && is 12 "$(count denied)" &&
		is 1 "$(grep -c 'sbx-launch: denied' "$TMP/err")" &&
		[ "$(shown --verdict denied | wc -l)" -lt 12 ]
}
check 'equal denials fold into an exact count' folded

killed()
{
	launch -- sh -c 'i=0; while [ $i -lt 30 ]; do i=$((i + 1))
		sh -c ": >f$i; kill -9 \$\$"; done; true'
	is 0 "$status" && is 30 "$(shown --op modify --path 'f*' | wc -l)" && is 0 "$(count lost)"
}
check 'what a process did before SIGKILL is in the log' killed

cat >"$TMP/liar.c" <<'END'
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
/* maps the run's ring by itself and fills it with garbage, header and all */
int main(void)
{
	char path[4200];
	struct stat st;
	uint64_t s = 88172645463325252u, *p;
	int fd, n;

	snprintf(path, sizeof path, "%s/ring", getenv("SBX_CHANNEL"));
	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st))
		return 2;
	p = mmap(NULL, st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return 3;
	for (n = 0; n < 20000000; n++) {
		s ^= s << 13, s ^= s >> 7, s ^= s << 17;
		p[n % 3 ? s % (st.st_size / 8) : s % 64] = s * 0x9e3779b97f4a7c15u;
	}
	return 0;
}
END
liar()
{
	cp "$TMP/liar" .
	launch -- sh -c './liar & pid=$!; while kill -0 $pid; do cat /etc/passwd >/dev/null || exit 9
		: >mark; done 2>/dev/null; wait $pid && exit 7'
	is 7 "$status" && "$AUDIT" verify && [ "$(count corrupt)" -gt 0 ] && "$AUDIT"
}
# The ring lies where the broker may write (below the parent of the workspace).
cat >"$TMP/cutter.c" <<'END'
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void)
{
	char path[4200];
	int fd;

	snprintf(path, sizeof path, "%s/ring", getenv("SBX_CHANNEL"));
	fd = open(path, O_RDWR);
	if (fd < 0)
		return 2;
	return ftruncate(fd, 0) < 0 && open(path, O_RDWR | O_TRUNC) < 0 ? 7 : 3;
}
END
cutter()
{
	cp "$TMP/cutter" . && mkdir -p "$TMP/t" && TMPDIR=$TMP/t launch -- ./cutter
	is 7 "$status"
}

if gcc -O2 -static -o "$TMP/cutter" "$TMP/cutter.c" 2>/dev/null; then
	ring_here() # a run whose ring lies beside the workspace
	{
		local dir=/dev/shm/sbx-e2e.$$

		mkdir -m 700 "$dir" "$dir/ws" "$dir/run" && cp "$TMP/cutter" "$dir/ws" || return
		(cd "$dir/ws" && XDG_RUNTIME_DIR=$dir/run exec timeout 20 "$SBX" -q -- ./cutter)
		set -- $?
		rm -rf "$dir"
		is 7 "$1"
	}
	check 'the ring can be filled by the command, not emptied' cutter
	check 'nor where the broker itself might empty it' ring_here
else
	skip 'a program that empties the ring' 'no static libc'
fi
if gcc -O2 -static -o "$TMP/liar" "$TMP/liar.c" 2>/dev/null; then
	check 'a program that fills the ring with garbage harms neither run nor log' liar
	cp "$TMP/liar" "$WS/plain"
	unwitnessed()
	{
		launch -v -- sh -c 'SBX_CHANNEL=/none ./plain; true'
		is 1 "$(shown --kind unwitnessed | grep -c '\./plain  static')" && "$AUDIT" |
			grep -q '1 of 2 processes witnessed (1 static)'
	}
	check 'a static program is counted as unwitnessed' unwitnessed

	cat >inline.c <<'END'
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* starts ./served N times, each by an execve that no library sees */
static long raw(const char *path, char **args, char **env)
{
	long ret;
#if defined(__x86_64__)
	__asm__ volatile("syscall" : "=a"(ret) : "a"(SYS_execve), "D"(path), "S"(args), "d"(env)
			 : "rcx", "r11", "memory");
#else
	ret = syscall(SYS_execve, path, args, env);
#endif
	return ret;
}
int main(int argc, char **argv)
{
	char name[] = "./served", *args[] = {name, NULL}, *env[] = {NULL};
	int n = argc > 1 ? atoi(argv[1]) : 0;
	if (!n)
		return mkdir("served.d", 0700) | rmdir("served.d");
	for (; n; n--) {
		if (!fork())
			_exit((int)raw(name, args, env));
		wait(NULL);
	}
	return 0;
}
END
	gcc -O2 -w -o starter inline.c && gcc -O2 -w -static -o served inline.c
	unannounced() # COMMAND N COVERAGE
	{
		launch -- "$1" "$2"
		is 0 "$status" && is "$2" "$(shown --kind unwitnessed | grep -c ' unannounced')" &&
			"$AUDIT" | grep -qF "$3"
	}
	check 'what a static program starts is counted when the broker serves it' \
		unannounced ./served 3 '0 of 4 processes witnessed (1 static, 3 unannounced)'
	children() # of witnessed programs, which are so themselves
	{
		launch -- sh -c 'for i in 1 2 3; do (: >"c$i"; rm "c$i"); done; python3 -c "
import os
for i in range(3):
	if not os.fork():
		os.mkdir(str(i)), os._exit(0)
	os.wait()"'
		is 0 "$status" && is 0 "$(shown --kind unwitnessed | wc -l)"
	}
	check 'children without an image of their own are not' children
	if [ "$(uname -m)" = x86_64 ]; then
		check 'what an inline execve starts, too' \
			unannounced ./starter 1 '1 of 2 processes witnessed (1 unannounced)'
		launch --require shim -- ./starter 1
		check 'and --require shim fails for it' [ "$status" = 125 ]
	fi
	printf '#include <sys/stat.h>\n#include <unistd.h>\nint main(void) { mkdir("made", 0755); return rmdir("made"); }\n' >"$TMP/maker.c"
	gcc -O2 -static -o maker "$TMP/maker.c"
	makers()
	{
		launch -- sh -c './maker; ./maker; ./maker'
		is 3 "$(shown --kind unwitnessed | grep -c '\./maker  static')" && "$AUDIT" |
			grep -q '1 of 4 processes witnessed (3 static)'
	}
	check 'one that the broker serves, too' makers
	echo 'int rename(const char *, const char *); int main(int c, char **v) { return c != 3 || rename(v[1], v[2]); }' >"$TMP/mover.c"
	gcc -O2 -static -o mover "$TMP/mover.c"
	moved()
	{
		mkdir -p held/was && touch held/was/f
		launch --audit-level all -- python3 -c 'import os, subprocess
fd = os.open("held/was", os.O_RDONLY | os.O_DIRECTORY)
os.open("f", os.O_RDONLY, dir_fd=fd)
assert subprocess.call(["./mover", "held/was", "held/is"]) == 0
os.open("f", os.O_RDONLY, dir_fd=fd)'
		is 0 "$status" && is 1 "$(calls --op read --path '**/held/was/f')" &&
			is 1 "$(calls --op read --path '**/held/is/f')"
	}
	check 'what one without the shim moved has its new name for who holds it' moved
else
	skip 'a program that fills the ring with garbage' 'no static libc'
fi

levels()
{
	launch --audit-level modify -- sh -c 'cat /etc/passwd >out; cat "$HOME/.ssh/id_rsa"'
	! shown --op read --verdict allowed && shown --op modify --path out && shown --verdict denied &&
		launch --audit-level denied -- sh -c ': >out; cat "$HOME/.ssh/id_rsa"' &&
		is 1 "$status" && ! shown --kind result && shown --kind denied
}
check 'levels leave out what they say' levels

none()
{
	before=$(ls "$STATE")
	launch --audit-level none -- true
	is 0 "$status" && is "$before" "$(ls "$STATE")"
}
check 'level none leaves nothing behind' none

hidden()
{
	launch -- sh -c 'ls "$0"; cat "$0"/*/audit.jsonl; echo x >"$0/x"' "$STATE"
	! grep -q fs.call "$TMP/out" && [ ! -e "$STATE/x" ] && "$AUDIT" verify
}
check 'the run can neither read nor write the logs' hidden

moved()
{
	launch --audit-file "$TMP/elsewhere.jsonl" -- true
	is 0 "$status" && grep -q '"kind":"exec"' "$TMP/elsewhere.jsonl" && shown --kind exec && "$AUDIT" verify
}
check 'a log kept elsewhere is found again' moved

check 'all these logs keep to their schemas' python3 "$e2e_support/validate_log.py" "$STATE"/*

# ---- --require shim ----
fresh
printf 'int main(void) { return 0; }\n' >s.c
gcc -static -o static s.c && gcc -o dynamic s.c
launch --require shim -- sh -c './dynamic; git --version >/dev/null; make -f /dev/null x 2>/dev/null; echo done'
check 'every program witnessed: the command'"'"'s own status' [ "$status:$(cat "$TMP/out")" = 0:done ]
launch --require shim -- ./static
check 'a command that would run without the shim: 126' [ "$status" -eq 126 ]
check 'and says why' grep -q 'E_NOEXEC.*required: shim.*static' "$TMP/err"
launch --require shim -- sh -c './static; echo "rc $?"'
check 'a program that would is not started' [ "$(cat "$TMP/out")" = 'rc 126' ]
check 'and the run has a hole: 125' [ "$status" -eq 125 ]
check 'which is named' grep -q 'E_AUDIT.*required: shim: 1 program was not started, as it would run without the shim: sbx-audit names' "$TMP/err"
check 'in the summary, too' grep -q '^  no-shim .*  x1$' <("$AUDIT")
launch -- sh -c './static; echo "rc $?"'
check 'without --require it runs' [ "$status:$(cat "$TMP/out")" = '0:rc 0' ]
launch --require shim -- python3 -Ec 'import ctypes, os
ctypes.CDLL("libm.so.6", mode=os.RTLD_DEEPBIND | os.RTLD_NOW)'
check 'a library bound past the shim is a hole too: 125' [ "$status" -eq 125 ]
launch --require shim --audit-level none -- sh -c './static; true'
check 'also when nothing is recorded' [ "$status" -eq 125 ]
loader=$(readelf -lW dynamic | sed -n 's/.*interpreter: \(.*\)]/\1/p')
launch --require shim -- "$loader" ./dynamic
check 'the loader, started by name, loads the shim' [ "$status" -eq 0 ]
check 'and is one program, witnessed' grep -q '^coverage  1 of 1 processes witnessed$' <("$AUDIT")
launch --require shim -- sh -c "'$loader' ./dynamic; true"
check 'also by a program of the run' [ "$status" -eq 0 ]
