#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs started under the shim: judged, classified, with the shim in their environment.
. "$(dirname "$0")/../support/shim.sh"

cat >prog.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	const char *p = getenv("LD_PRELOAD"), *c = getenv("SBX_CHANNEL");
	printf("%s %s\n", p ? p : "-", c ? "channel" : "-");
	return 0;
}
C
gcc -o prog prog.c && gcc -static -o static prog.c || exit 1
printf '#!/bin/sh\necho script "$@"\n' >script
printf 'echo plain "$@"\n' >plain
printf '#!%s\n' "$T/script" >nested
chmod +x script plain nested
mkdir bin hide
cp prog bin/tool
cp prog hide/tool
loader=$(readelf -lW prog | sed -n 's/.*interpreter: \(.*\)]/\1/p')
export loader
policy=(--rule all:/)

run all "${policy[@]}" -- ./prog
check 'a program finds both variables' [ "$out" = "$shim channel" ]
event 'and says hello by its path' "HELLO start exec allow 0 - * $T/prog"

for how in 'env -i ./prog' 'env -u LD_PRELOAD ./prog' 'env -u SBX_CHANNEL ./prog' \
	'env SBX_CHANNEL=/elsewhere ./prog' '/bin/sh -c "unset LD_PRELOAD; exec ./prog"' \
	'python3 -Ec "import subprocess; subprocess.run([\"./prog\"], env={})"' \
	'python3 -Ec "import os; os.waitpid(os.posix_spawn(\"./prog\", [\"p\"], {}), 0)"' \
	'python3 -Ec "import os; os.waitpid(os.posix_spawnp(\"./prog\", [\"p\"], {}), 0)"' \
	'python3 -Ec "import os; os.environ.clear(); os.execvp(\"./prog\", [\"p\"])"' \
	'python3 -Ec "import os; os.unsetenv(\"LD_PRELOAD\"); os.system(\"./prog\")"' \
	'perl -e "%ENV = (); exec \"./prog\""' 'perl -e "delete \$ENV{LD_PRELOAD}; print \`./prog\`"' \
	'perl -e "%ENV = (); system(\"./prog; true\")"' 'setpriv --reset-env ./prog' \
	'echo ./prog | env -i /usr/bin/xargs /usr/bin/env -i' 'env -i /usr/bin/nohup ./prog 2>/dev/null' \
	'env -i /usr/bin/setsid -w ./prog' 'env -u LD_PRELOAD "$loader" ./prog' \
	'printf "all:;@env -i ./prog\n" | make -sf -' \
	'! command -v node >/dev/null && env -i ./prog || node -e "require(\"child_process\").spawnSync(\"./prog\", { env: {}, stdio: \"inherit\" })"'; do
	run all "${policy[@]}" -- bash -c "$how"
	check "put back: $how" [ "$out" = "$shim channel" ]
	event "witnessed: $how" "HELLO start exec allow 0 - * $T/prog"
done
cat >shells.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
	char line[4096];
	FILE *f;
	clearenv();
	system("echo \"it's\" 'quo''ted'; ./prog");
	f = popen("cat; ./prog", "w");
	fputs("to a pipe\n", f);
	pclose(f);
	f = popen("./prog", "r");
	while (fgets(line, sizeof line, f))
		fputs(line, stdout);
	return pclose(f);
}
C
gcc -o shells shells.c || exit 1
run all "${policy[@]}" -- ./shells
check 'system and popen without an environment' \
	[ "$out" = "it's quoted"$'\n'"$shim channel"$'\n'"to a pipe"$'\n'"$shim channel"$'\n'"$shim channel" ]

# ---- what belongs to others ----
gcc -shared -fPIC -o libother.so -xc - </dev/null || exit 1
run all "${policy[@]}" -- env LD_PRELOAD="$T/libother.so" ./prog
check "a foreign preload stays in front" [ "$out" = "$T/libother.so:$shim channel" ]
run all "${policy[@]}" -- env "LD_PRELOAD=$shim $T/libother.so" ./prog
check "its order stays" [ "$out" = "$shim $T/libother.so channel" ]
run all "${policy[@]}" -- python3 -Ec 'import os
before = dict(os.environ); os.system("true"); os.spawnvpe(os.P_WAIT, "true", ["true"], {}); print(before == dict(os.environ))'
check 'the environment of the caller is left alone' [ "$out" = True ]
cat >tap.c <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>
int open(const char *path, int flags, ...)
{
	int (*next)(const char *, int, ...) = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open");
	va_list ap;
	unsigned mode;
	va_start(ap, flags);
	mode = va_arg(ap, unsigned);
	va_end(ap);
	write(2, "tapped\n", 7);
	return next(path, flags, mode);
}
C
gcc -shared -fPIC -o libtap.so tap.c || exit 1
echo x >allowed
echo x >denied
run all "${policy[@]}" --rule "read:!$T/denied" -- env "LD_PRELOAD=$shim $T/libtap.so" cat allowed
check 'a library behind us sees the calls it wraps' [ "$out" = x -a "$(grep -c tapped "$T.err")" = 1 ]
event 'and we too' "CALL open read allow 0 - * $T/allowed"
run all "${policy[@]}" --rule "read:!$T/denied" -- env "LD_PRELOAD=$shim $T/libtap.so" cat denied
check 'but not those that are denied' [ "$status$(grep -c tapped "$T.err")" = 10 ]
run all "${policy[@]}" --rule "read:!$T/denied" -- env "LD_PRELOAD=$T/libtap.so $shim" cat denied
check 'a library before us sees all' [ "$status$(grep -c tapped "$T.err")" = 11 ]
# ---- classes ----
run all "${policy[@]}" -- env -i ./static
check 'a static program gets what it was given' [ "$out" = '- -' ]
event 'static' "EXEC execv* exec allow 0 static * $T/static"
run all "${policy[@]}" -- env ./script a b
check 'a script runs' [ "$out" = 'script a b' ]
event 'a script has the class of its interpreter' "EXEC execv* exec allow 0 dynamic * $T/script /usr/bin/*sh"
run all "${policy[@]}" -- env ./nested
check 'a script of a script runs' [ "$out" = "script ./nested" ]
run all "${policy[@]}" -- env ./plain x
check 'a file that is no program is a script for execvp' [ "$out" = 'plain x' ]
printf '\177ELF\1\1\1\0\0\0\0\0\0\0\0\0\2\0\3\0\1\0\0\0' >elf32
chmod +x elf32
run all "${policy[@]}" -- env ./elf32
event 'another ABI' "EXEC execv* exec allow 0 foreign-abi * $T/elf32"
event 'a failed exec is told, so that nobody waits for its hello' "CALL execv* exec allow ENOEXEC - * $T/elf32"
if [ "$(id -u)" -eq 0 ]; then
	cp prog setid && chown 65534 setid && chmod u+s setid
	run all "${policy[@]}" -- env ./setid
	event 'set-id' "EXEC execv* exec allow 0 set-id * $T/setid"
	run all "${policy[@]}" -- setpriv --no-new-privs ./setid
	event 'set-id is void under no_new_privs' "EXEC execv* exec allow 0 dynamic * $T/setid"
	cp prog capable
	if python3 -Ec 'import os, struct
os.setxattr("capable", "security.capability", struct.pack("<5I", 0x02000001, 1 << 10, 0, 0, 0))' 2>/dev/null; then
		run all "${policy[@]}" -- setpriv --reuid=65534 --clear-groups ./capable
		event 'file capabilities' "EXEC execv* exec allow 0 file-capability * $T/capable"
		no_event 'are not witnessed' "HELLO * $T/capable"
	fi
fi
if command -v musl-gcc >/dev/null; then
	musl-gcc -o musl prog.c
	run all "${policy[@]}" -- env -i ./musl
	check "another C library loads the shim too" [ "$out" = "$shim channel" ]
	event 'musl' "HELLO start exec allow 0 - * $T/musl"
	cat >calls.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void)
{
	struct stat st;
	char t[] = "secret/XXXXXX", *p = realpath("prog", NULL);
	printf("%d%d%d", open("secret/f", O_RDONLY), access("secret/f", R_OK), mkstemp(t));
	printf("%d%d", open("prog", O_RDONLY) > 2, stat("secret/f", &st));
	printf("%d", (int)syscall(SYS_open, "secret/f", O_RDONLY));
	printf("%d%d%d%d\n", chmod("secret/f", 0600), rename("secret/f", "x"), !p, fopen("secret/f", "w") != NULL);
	fflush(stdout);
	execlp("./musl", "musl", (char *)NULL);
	return 1;
}
C
	mkdir -p secret && echo s >secret/f
	musl-gcc -o calls calls.c
	run all "${policy[@]}" --rule "all:!$T/secret/" -- env -i ./calls
	check 'and judges there' [ "$out" = "-1-1-110-1-1-100"$'\n'"$shim channel" ]
	event 'and tells' "CALL open read DENY EACCES - * $T/secret/f"
else
	echo "ok - $SHIM_TEST_USER: musl # skip no musl-gcc"
fi
run all "${policy[@]}" -- python3 -Ec 'import os
fd = os.memfd_create("m"); os.write(fd, open("prog", "rb").read()); os.execve(fd, ["p"], {})'
check 'a program without a path' [ "$out" = "$shim channel" ]

# ---- names with an old meaning, as programs of 2011 were linked ----
cat >old.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
int old_spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
	      char *const[], char *const[]);
int old_spawnp(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
	       char *const[], char *const[]);
char *old_realpath(const char *, char *);
int old_nftw(const char *, __nftw_func_t, int, int);
__asm__(".symver old_spawn, posix_spawn@GLIBC_2.2.5");
__asm__(".symver old_spawnp, posix_spawnp@GLIBC_2.2.5");
__asm__(".symver old_realpath, realpath@GLIBC_2.2.5");
__asm__(".symver old_nftw, nftw@GLIBC_2.2.5");
static int one(const char *path, const struct stat *st, int type, struct FTW *at)
{
	return 0;
}
static pid_t pid = -1;
static void say(const char *what, int err)
{
	int status = 0;
	if (!err)
		waitpid(pid, &status, 0);
	printf("%s %s %d\n", what, err ? strerrorname_np(err) : "started", WEXITSTATUS(status));
	fflush(stdout);
}
int main(int argc, char **argv)
{
	char *args[] = {"zero", "a b", NULL}, *none[] = {NULL}, buf[4096], *p;
	posix_spawn_file_actions_t once;
	setenv("PATH", ".", 1);
	posix_spawn_file_actions_init(&once);
	posix_spawn_file_actions_addopen(&once, 5, "once", O_CREAT | O_EXCL | O_WRONLY, 0600);
	say("old", old_spawn(&pid, "./plain", &once, NULL, args, none));
	say("old, search", old_spawnp(&pid, "plain", NULL, NULL, args, none));
	say("old, missing", old_spawn(&pid, "./missing", NULL, NULL, args, none));
	say("old, program", old_spawn(&pid, "./prog", NULL, NULL, args, none));
	say("new", posix_spawn(&pid, "./plain", NULL, NULL, args, none));
	say("new, search", posix_spawnp(&pid, "plain", NULL, NULL, args, none));
	p = old_realpath(".", NULL);
	printf("%s %s\n", p ? p : "NULL", p ? "-" : strerrorname_np(errno));
	p = realpath("bin", NULL);
	printf("%s\n", p ? p : "NULL");
	printf("%s\n", old_realpath("bin", buf) ? buf : "NULL");
	printf("%d", old_nftw("bin", one, 9, FTW_PHYS | 0x100));
	printf(" %d\n", nftw("bin", one, 9, FTW_PHYS | 0x100));
	return 0;
}
C
if [ "$(uname -m)" = x86_64 ]; then
	gcc -w -o old old.c || exit 1
	printf 'echo plain "$@" "${LD_PRELOAD-none}"\n' >plain
	want=$(./old) && rm once
	run all "${policy[@]}" -- ./old
	check 'old names mean what they meant' \
		[ "$(sed "s,$shim,none,; s,none channel,- -," <<<"$out")" = "$want" ]
	check 'the present ones what they mean' grep -qx 'new ENOEXEC 0' <<<"$out"
	check 'the shell of an old posix_spawn has the shim' grep -qxF "plain a b $shim" <<<"$out"
	event 'its file is told' "EXEC posix_spawn exec allow 0 * $T/plain"
	event 'and the shell says hello' 'HELLO start exec allow 0 - * /bin/sh'
	rm -f once
	run all "${policy[@]}" --rule "exec:!$T/plain" -- ./old
	check 'an old posix_spawn is judged' grep -qx 'old EACCES 0' <<<"$out"
	check 'and its search' grep -qx 'old, search EACCES 0' <<<"$out"
	rm -f once
	run all "${policy[@]}" --rule 'exec:!/usr/bin/dash' --rule 'exec:!/usr/bin/bash' -- ./old
	check 'and its shell' grep -qx 'old EACCES 0' <<<"$out"
else
	echo "ok - $SHIM_TEST_USER: old names # SKIP they are those of x86-64"
fi
printf 'echo plain "$@"\n' >plain

# ---- verdicts ----
run all "${policy[@]}" --rule "exec:!$T/prog" -- bash -c './prog; echo $?'
check 'a denied program does not start' [ "$out" = 126 ]
event 'told' "CALL execve exec DENY EACCES * $T/prog"
no_event 'and never starts' "EXEC * $T/prog"
run all "${policy[@]}" --rule "exec:!$T/prog" -- python3 -Ec 'import os
try: os.posix_spawn("./prog", ["p"], {})
except PermissionError: print("EACCES")'
check 'nor by posix_spawn' [ "$out" = EACCES ]
run all "${policy[@]}" --rule "exec:!$T/script" -- bash -c './nested; echo $?'
check 'nor as the interpreter of a script' [ "$out" = 126 ]
ln -s prog alias
run all "${policy[@]}" --rule "exec:!$T/prog" -- bash -c './alias; echo $?'
check 'nor by a symlink' [ "$out" = 126 ]
run all "${policy[@]}" --rule "exec:!$T/hide/" -- env "PATH=$T/hide:$T/bin:/usr/bin" tool
check 'the search of execvp goes on after a denial' [ "$out" = "$shim channel" ]
run all "${policy[@]}" --rule "exec:!$T/hide/" -- env "PATH=$T/hide:$T/bin:/usr/bin" \
	python3 -Ec 'import os; os.waitpid(os.posix_spawnp("tool", ["tool"], {}), 0)'
check 'that of posix_spawnp too' [ "$out" = "$shim channel" ]
run all "${policy[@]}" --rule "exec:!/usr/bin/dash" --rule "exec:!/usr/bin/bash" -- \
	python3 -Ec 'import os; print(os.system("true") >> 8)'
check 'system without a shell' [ "$out" = 127 ]
run all "${policy[@]}" -- bash -c 'nonexistent-command; echo $?; ./missing; echo $?; . ./missing; : ; ./bin; echo $?'
check 'what is missing is missing as ever' [ "$out" = $'127\n127\n126' ]
