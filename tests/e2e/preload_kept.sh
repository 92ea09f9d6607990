#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What keeps the shim out of a new program: refused in preload-only mode (--on-error deny, which is
# the default) and by --require shim, counted otherwise.
. "$(dirname "$0")/../support/e2e.sh"

export WS TMP XDG_STATE_HOME=$TMP/state SBX_PROFILE=default
AUDIT=${SBX%/*}/sbx-audit
log() { echo "$XDG_STATE_HOME"/sbx-launch/runs/*/audit.jsonl; }
in_env() # SCRIPT: run by a shell that evaluates the variables first
{
	rm -rf "$XDG_STATE_HOME"
	out=$(timeout -k 1 60 bash -c 'eval "$("$SBX" --print-env --workspace "$WS" --deny-read .env '"${options:-}"')"
'"$1" 2>"$TMP/err")
	status=$?
}
loss() { grep -q '"kind":"loss".*"reason":"no-shim"' "$(log)"; }
echo SECRET >.env
echo plain >file

# ---- an environment that cannot be planned ----
cat >"$TMP/big.py" <<'P'
import ctypes, os, sys
foreign = ":".join("/nonexistent/%08d.so" % i for i in range(200))
what = sys.argv[1]
if what == "preload":
    os.execve("/bin/cat", ["cat", "file", ".env"], {"LD_PRELOAD": foreign})
elif what == "variables":
    os.execve("/bin/cat", ["cat", "file", ".env"], {"V%d" % i: "" for i in range(9000)})
elif what == "spawn":
    os.waitpid(os.posix_spawn("/bin/cat", ["cat", "file", ".env"], {"LD_PRELOAD": foreign}), 0)
else:
    ctypes.CDLL(None).clearenv()
    tail = " #" + "x" * 70000 if what == "long" else ""
    sys.exit(os.system("/bin/cat file .env" + tail) >> 8)
P
for what in preload variables spawn; do
	in_env "python3 -E '$TMP/big.py' $what"
	check "$what: refused, not started without the shim" \
		[ "$out$(grep -c 'PermissionError.*Permission denied' "$TMP/err")" = 1 ]
	check "$what: a line says so" loss
	options='--on-error pass' in_env "python3 -E '$TMP/big.py' $what"
	check "$what: started all the same under --on-error pass" [ "$out" = $'plain\nSECRET' ]
done
in_env "python3 -E '$TMP/big.py' long; echo \$?"
check 'a shell command too long to be wrapped: refused' [ "$out" = 127 ]
check 'a line says so' loss
required()
{
	launch --require shim -- python3 -E "$TMP/big.py" preload
	[ "$status" = 125 ] && [ ! -s "$TMP/out" ] && grep -q 'E_AUDIT: required: shim' "$TMP/err"
}
check '--require shim refuses it, and counts it' required

# ---- a directory with a name of its own ----
quoted()
{
	XDG_STATE_HOME="$TMP/q'x y" in_env "python3 -E '$TMP/big.py' quoted; echo \$?"
	[ "$out" = $'plain\n1' ] && grep -q '"kind":"hello".*/cat"' "$TMP/q'x y"/sbx-launch/runs/*/audit.jsonl
}
check "apostrophes in the variables: the command is wrapped" quoted

cat >"$TMP/words.c" <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <wordexp.h>
int main(int argc, char **argv)
{
	wordexp_t w;
	if (argc > 1)
		clearenv();
	if (wordexp("$(/bin/cat .env) $(/bin/cat file)", &w, 0))
		return 3;
	for (size_t i = 0; i < w.we_wordc; i++)
		puts(w.we_wordv[i]);
	return 0;
}
C
export WORDS=$TMP/words # --print-env has a TMP of its own
gcc -w -o "$WORDS" "$TMP/words.c" || exit 1
in_env '"$WORDS" 2>/dev/null; "$WORDS" cleared; echo $?'
check 'commands among words: not without an environment' [ "$out" = $'plain\n3' ]

# ---- file actions that change directory ----
cat >"$TMP/spawn.c" <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
/* chdir|fchdir|dup DIRECTORY PROGRAM [FILE to be its input] */
int main(int argc, char **argv)
{
	posix_spawn_file_actions_t a;
	char *args[] = {"program", NULL};
	pid_t pid;
	int status, err, fd = open(argv[2], O_RDONLY | O_DIRECTORY);
	posix_spawn_file_actions_init(&a);
	if (!strcmp(argv[1], "chdir"))
		posix_spawn_file_actions_addchdir_np(&a, argv[2]);
	else if (!strcmp(argv[1], "fchdir"))
		posix_spawn_file_actions_addfchdir_np(&a, fd);
	else {
		posix_spawn_file_actions_adddup2(&a, fd, 77);
		posix_spawn_file_actions_addfchdir_np(&a, 77);
	}
	err = argc > 4 ? posix_spawn_file_actions_addopen(&a, 0, argv[4], O_RDONLY, 0) : 0;
	if (!err)
		err = posix_spawnp(&pid, argv[3], &a, NULL, args, environ);
	if (err) {
		puts(strerrorname_np(err));
		return 1;
	}
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}
C
printf '#include <stdio.h>\nint main(void) { puts("dynamic"); return 0; }\n' >"$TMP/prog.c"
printf '#include <stdio.h>\nint main(void) { puts("static"); return 0; }\n' >"$TMP/static.c"
mkdir bin sec
gcc -w -o "$TMP/spawn" "$TMP/spawn.c" && gcc -o prog "$TMP/prog.c" || exit 1
cp prog bin/only
echo SECRET >sec/s.txt
export SPAWN=$TMP/spawn
for how in chdir fchdir; do
	options='--deny-read bin/only' in_env "\$SPAWN $how . ./prog; \$SPAWN $how bin ./only"
	check "$how: the program is the one in the directory, and denied there" [ "$out" = $'dynamic\nEACCES' ]
	check "$how: told by its path" grep -q '"kind":"denied".*"path":"[^"]*/bin/only".*"call":"posix_spawnp"' "$(log)"
	options='--deny-read sec/**' in_env "env \$SPAWN $how sec cat s.txt; env \$SPAWN $how sec /bin/cat ../file"
	check "$how: what the actions open is the file in the directory, too" [ "$out" = $'EACCES\nplain' ]
done
in_env 'env $SPAWN dup bin ./only; env $SPAWN dup bin /bin/pwd'
check 'a directory that only the child knows: refused, but for absolute paths' [ "$out" = $'EACCES\n'"$WS/bin" ]
search()
{
	options='--deny-read bin/only' in_env 'PATH=.:/usr/bin env $SPAWN chdir bin only; PATH=.:/usr/bin env $SPAWN chdir bin true && echo ok'
	[ "$out" = $'EACCES\nok' ]
}
check 'a search of PATH begins in that directory' search
if gcc -static -o bin/prog "$TMP/static.c" 2>/dev/null; then
	for how in chdir fchdir; do
		told() # the other `prog`, here, is a dynamic one
		{
			launch -- "$TMP/spawn" $how bin ./prog
			[ "$status$(cat "$TMP/out")" = 0static ] && "$AUDIT" | grep -q '1 of 2 processes witnessed (1 static)' &&
				"$AUDIT" show --kind unwitnessed | grep -q '\./bin/prog  static'
		}
		check "$how: a static program is announced, and counted" told
		held()
		{
			launch --require shim -- "$TMP/spawn" $how bin ./prog
			[ "$status$(cat "$TMP/out")" = 125EACCES ]
		}
		check "$how: --require shim refuses it" held
	done
	unknown()
	{
		launch -- "$TMP/spawn" dup bin ./prog
		[ "$status$(cat "$TMP/out")" = 0static ] && "$AUDIT" | grep -q '1 of 2 processes witnessed (1 unreadable)'
	}
	check 'one that only the child knows is counted as well' unknown
else
	skip 'a static program' 'no static libc'
fi
