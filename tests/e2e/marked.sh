#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --marked-calls (docs/adr/016): off unless asked for, and off where it may not be; on, programs see what
# they see without, the log has the same changes, and a program that marks by itself gets no further.
. "$(dirname "$0")/../support/e2e.sh"

mechanisms() # OPTIONS...: does the run say that calls are marked?
{
	launch -v "$@" -- true
	grep -q 'confined by.*marked calls in [0-9]* director' "$TMP/err"
}
why() # TEXT OPTIONS...
{
	w=$1
	shift
	launch --marked-calls "$@" -- true
	grep -q -- "--marked-calls has no effect, the broker performs all calls: .*$w" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
world()
{
	rm -rf src pub .vscode .claude
	mkdir -p src pub .git/hooks
}
world
if ! mechanisms --marked-calls; then
	cat "$TMP/err" | sed 's/^/# /'
	skip 'marked calls' 'nothing is granted here'
	exit
fi
check 'on when asked for' mechanisms --marked-calls
check 'off by default' sh -c '! grep -q marked "$1"' sh <("$SBX" -v -- true 2>&1)
check 'off: a pattern that denies reading' why 'by a pattern' --deny-read '**/*.env'
check 'off: all is to be recorded' why 'from the broker' --audit-level all
check 'off: the record is required' why 'from the broker' --audit-required
check 'off: no shim' why 'only the shim' --no-shim
check 'no run inside it' sh -c '! "$1" -q --marked-calls -- "$1" -q -- true 2>/dev/null' sh "$SBX"

# ---- programs see what they see without ----

work='set -e
umask 027
mkdir -p src/a/b && echo one >src/a/f && echo two >>src/a/f && cat src/a/f
ln src/a/f src/a/g && mv src/a/g src/a/b/h && ls -R src | sort
ln -s ../f src/a/b/l && cat src/a/b/l && echo three >src/a/b/l && cat src/a/f
cp -r src/a src/c && tar cf src/t -C src c && rm -r src/c && tar xf src/t -C src && rm src/t
mkfifo src/p && (echo in >src/p &) && cat src/p && rm src/p
touch -d 2001-01-01 src/a/f && stat -c "%a %h %Y" src/a/f && chmod 600 src/a/f && : >src/a/f
mv src/c src/d && mv src/d top && find top | sort && rm -r top src/a
mkdir src/x && cd src/x && echo y >y && mv ../x ../z && echo w >w && ls ../z && cd .. && rm -r z
rmdir src/none 2>&1 || true; rm -f src/none; mkdir src 2>&1 || true; ls src'
same 'files and directories' "$work" --marked-calls
same 'python' 'python3 -c "
import os, errno
os.chdir(\"src\")
open(\"f\", \"w\").write(\"a\")
for call in (lambda: open(\"f\", \"x\"), lambda: os.rmdir(\"f\"), lambda: os.mkdir(\"f\"), lambda: os.rename(\"none\", \"f\"),
             lambda: os.unlink(\".\"), lambda: open(\"f/g\", \"w\"), lambda: os.link(\"f\", \"f\"), lambda: os.open(\"../src\", os.O_WRONLY)):
    try:
        call()
        print(\"done\")
    except OSError as e:
        print(e.strerror)
os.symlink(\"f\", \"l\")
fd = os.open(\"l\", os.O_WRONLY | os.O_APPEND); os.write(fd, b\"b\"); print(open(\"f\").read(), oct(os.stat(\"f\").st_mode))
os.replace(\"f\", \"g\"); os.mkdir(\"d\"); os.rename(\"g\", \"d/g\"); os.rename(\"d\", \"e\"); print(sorted(os.listdir(\".\")))
d = os.open(\"e\", os.O_RDONLY); os.rename(\"e\", \"h\"); print(os.open(\"new\", os.O_CREAT | os.O_WRONLY, dir_fd=d) > 2, os.listdir(\"h\"))
import shutil; shutil.rmtree(\"h\"); os.unlink(\"l\")"' --marked-calls

# ---- the log has the same changes ----

changes() # OPTIONS...
{
	world
	"$SBX" -q "$@" -- sh -c 'echo x >src/f; mkdir src/d; mv src/f src/d/g; ln src/d/g src/h; rm -r src/d src/h' 2>/dev/null
	"${SBX%/*}"/sbx-audit cat last | python3 -c '
import json, sys
for e in map(json.loads, sys.stdin):
    if e.get("op") == "modify":
        print(e["call"], e["path"], e.get("path2"), e["allowed"], e.get("error"))'
}
without=$(changes)
with=$(changes --marked-calls)
check 'there are some' [ "$(echo "$with" | wc -l)" -ge 6 ]
check 'the same changes are in the log' [ "$without" = "$with" ]

# ---- a program that marks by itself ----

cat >mark.c <<'C'
/* What is not granted, marked and raw: 0 = nothing was done. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define M ((long)(0x5b78a16cUL << 32 | (uint32_t)AT_FDCWD))
static int bad;
static void no(const char *what, long rc) { if (rc >= 0) { bad++; printf("%s\n", what); } }
static void yes(const char *what, long rc) { if (rc < 0) { bad++; perror(what); } }
static long how(const char *p, unsigned flags, unsigned mode, size_t size)
{
	struct { struct open_how h; uint64_t z; } h = {{.flags = flags, .mode = mode}, 0};
	return syscall(SYS_openat2, M, p, &h, size);
}
int main(int argc, char **argv)
{
	struct stat st;
	yes("open", syscall(SYS_openat, M, "src/f", O_CREAT | O_WRONLY, 0644));
	yes("mkdir", syscall(SYS_mkdirat, M, "src/d", 0755));
	yes("rename", syscall(SYS_renameat2, M, "src/f", M, "src/d/f", 0));
	yes("link", syscall(SYS_linkat, M, "src/d/f", M, "src/g", 0));
	no("git config", syscall(SYS_openat, M, ".git/config", O_CREAT | O_WRONLY, 0644));
	no("git hooks", syscall(SYS_openat, M, ".git/hooks/x", O_CREAT | O_WRONLY, 0755));
	no("to hooks", syscall(SYS_renameat2, M, "src/g", M, ".git/hooks/x", 0));
	no("link to hooks", syscall(SYS_linkat, M, "src/g", M, ".git/hooks/x", 0));
	no("outside", syscall(SYS_openat, M, argv[1], O_WRONLY, 0));
	no("outside in", syscall(SYS_linkat, M, argv[1], M, "src/o", 0));
	no("mode 3", syscall(SYS_openat, M, argv[1], O_ACCMODE, 0));
	no("whiteout", syscall(SYS_renameat2, M, "src/g", M, "src/w", 4));
	no("set-id", syscall(SYS_openat, M, "src/u", O_CREAT | O_WRONLY, 04755));
	no("set-id by openat2", how("src/u", O_CREAT | O_WRONLY, 04755, 24));
	no("set-id by openat2, quickly", how("src/u", O_CREAT | O_WRONLY, 04755, 32));
	no("device", syscall(SYS_mknodat, M, "src/n", S_IFCHR | 0666, 0x103));
	no("granted to protected", syscall(SYS_renameat2, AT_FDCWD, "pub", AT_FDCWD, ".claude", 0));
	no("fresh to protected", syscall(SYS_renameat2, AT_FDCWD, "src/d", AT_FDCWD, ".vscode", 0));
	no("settings", syscall(SYS_openat, M, ".claude/settings.json", O_CREAT | O_WRONLY, 0644));
	no("there", stat("src/u", &st));
	return bad;
}
C
echo outside >"$TMP/outside"
if cc -O1 -w -static -o "$TMP/mark" mark.c 2>/dev/null && cp "$TMP/mark" ./mark && rm mark.c; then
	world
	launch -q --marked-calls -- ./mark "$TMP/outside"
	check 'a static program that marks' [ "$status" -eq 0 ] || sed 's/^/# /' "$TMP/out"
	check 'the outside is as it was' [ "$(cat "$TMP/outside")" = outside ]
	check 'no protected name is there' [ ! -e .claude/settings.json -a ! -e .git/hooks/x ]
	world
	launch -q -- ./mark "$TMP/outside"
	check 'without the option the broker performs them, and moves what it may' sh -c '[ "$1" = 2 ] && [ -d .vscode ]' sh "$status"
else
	skip 'a static program that marks' 'no compiler'
fi
