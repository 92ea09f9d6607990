#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All sorts of programs: shells, pipelines, archives, static binaries, descriptors.
. "$(dirname "$0")/../support/e2e.sh"

same 'a pipeline' 'seq 100 | grep 7 | sort -r | head -n 3; echo "${PIPESTATUS[@]}"'
same 'process substitution, both ways' '
	diff <(seq 3) <(seq 4); echo "$?"
	seq 3 | tee >(tac >rev) >/dev/null; while [ ! -s rev ] || [ "$(wc -l <rev)" -lt 3 ]; do :; done; cat rev'
same 'here documents and subshells' 'cat <<X
text $((1 + 1))
X
(cd / && pwd); x=$(echo sub); echo "$x"'
same 'archives keep modes, links and times' '
	mkdir d && echo a >d/f && ln -s f d/l && ln d/f d/h && chmod 640 d/f && touch -d @1000000 d/f
	tar -cf - d | tar -xf - --transform=s,^d,e, && (cd e && stat -c "%n %a %h %Y %F" f h && readlink l)
	cp -a d g && mv d/f d/x && rm -r e && ls -A d g'
same 'find, xargs, sed -i' '
	mkdir -p a/b/c && touch a/1 a/b/2 a/b/c/3 && find a -type f | sort | xargs -n 1 basename
	echo old >a/1 && sed -i s/old/new/ a/1 && cat a/1 && find a -delete && ls -A'
same 'background jobs and wait' 'sleep 0.05 & (exit 6) & wait $!; echo $?; wait; echo $?'
same 'signals and traps' 'trap "echo got; exit 4" USR1; kill -USR1 $$; sleep 5'
same 'limits and terminal questions' 'ulimit -n; [ -t 0 ] || echo no tty; ulimit -c'
same 'errors of the kernel come out as they are' '
	cat none; mkdir x; rmdir none; cat x; mkdir x; echo >x; ln -s loop loop; cat loop; exit 5'

if echo 'int main(void) { return 0; }' | gcc -static -x c - -o "$TMP/probe" 2>/dev/null; then
	static()
	{
		cat >s.c <<'C'
#include <stdio.h>
int main(int argc, char **argv)
{
	FILE *f = fopen("made", "w");
	fprintf(f, "%d\n", argc);
	fclose(f);
	printf("static %s\n", argv[1]);
	return 9;
}
C
		gcc -static -o s s.c
	}
	same_after 'a static binary' static './s arg; echo $?; cat made'
else
	skip 'a static binary' 'no static libc'
fi

# Descriptors above 2: pipes pass, files do not.
exec 7<"$SBX" 8> >(cat >"$TMP/pipe")
launch bash -c 'echo through >&8; head -c 4 <&7'
exec 8>&-
check 'a file descriptor is closed' grep -q 'Bad file descriptor' "$TMP/err"
launch --keep-fd 7 bash -c 'head -c 4 <&7 | tail -c 3'
check '--keep-fd passes it' grep -q ELF "$TMP/out"
exec 7<&-
for _ in $(seq 100); do [ -s "$TMP/pipe" ] && break; sleep 0.02; done
check 'a pipe is passed' grep -q through "$TMP/pipe"

# Closing an end of a pipe is seen by the other side while the command goes on.
"$SBX" bash -c 'exec >&-; while [ ! -e seen ]; do sleep 0.02; done' | { cat; touch seen; }
check 'the reader of a closed output sees the end' [ -e seen ]
head -c 100000000 /dev/zero | "$SBX" head -c 1 | wc -c >"$TMP/out"
check 'a writer to a command that ended is stopped' [ "$(cat "$TMP/out")" -eq 1 ]
launch sh -c 'echo "$TMPDIR" && touch "$TMPDIR/x" && mktemp' && rm -f seen
check 'temporary files are made in the private directory' grep -q '/sbx-launch-.*/tmp\.' "$TMP/out"
exit 0
