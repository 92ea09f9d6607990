#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --isolate tmp: a /tmp of the run's own.
. "$(dirname "$0")/../support/e2e.sh"

# What a policy opens here lies below /tmp, home and workspace too: all of it stays.
own() # ARGS...
{
	launch --isolate pid,shm,tmp "$@"
}
mark=/tmp/sbx-own.$$
trap 'rm -rf "$mark" "$mark".*' EXIT

own true
if [ "$status" -ne 0 ]; then
	check 'without mounts it is refused, with what helps' eval \
		'[ "$status" = 125 ] && grep -Eq "E_FLOOR: .*private-tmp: .*(allow user namespaces|grant root)" "$TMP/err"'
	exit 0
fi

private()
{
	echo host >"$mark"
	own -- sh -c "cat $mark; ls -A /tmp; stat -c %a /tmp; set -C; echo in >$mark && cat $mark; ln -s x /tmp/l && mv /tmp/l /tmp/m && rm /tmp/m"
	set -- "$(cat "$mark")"
	rm -f "$mark"
	[ "$status" = 0 ] && [ "$1" = host ] && grep -qx in "$TMP/out" && grep -qx 1777 "$TMP/out" && ! grep -qx host "$TMP/out" &&
		! grep -q sbx-own "$TMP/out"
}
check 'the host'"'"'s is not seen, nor changed' private
gone() { own -- sh -c ": >$mark.gone"; [ "$status" = 0 ] && [ ! -e "$mark.gone" ]; }
check 'what is made goes with the run' gone
recorded()
{
	run=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)
	grep -q '"private /tmp"' "$run/run.json" && grep '"op":"modify"' "$run/audit.jsonl" | grep -q "\"path\":\"$mark.gone\",\"allowed\":true.*builtin:tmp:1"
}
check 'the record has its paths, and that it was the run'"'"'s own' recorded
programs()
{
	own -- sh -c 'echo x >/tmp/note && cat /tmp/note; command -v tmux >/dev/null && SHELL=/bin/sh tmux -L x new -d "sleep 9" && tmux -L x ls | grep -c windows; :'
	[ "$status" = 0 ] && [ "$(head -n 1 "$TMP/out")" = x ] && { ! command -v tmux >/dev/null || [ "$(tail -n 1 "$TMP/out")" = 1 ]; }
}
check 'TMP-06: programs that ask nobody for a place' programs
if command -v java >/dev/null && [ "$(id -u)" -ne 0 ]; then # seconds of work
	echo 'public class T{public static void main(String[] a)throws Exception{System.out.println(java.io.File.createTempFile("abc","b").getParent());}}' >T.java
	own -- java T.java
	check 'TMP-06: Java' [ "$(cat "$TMP/out")" = /tmp ]
fi
unwitnessed()
{
	own --no-shim -- sh -c "echo y >$mark.x && cat $mark.x && rm $mark.x"
	[ "$(cat "$TMP/out")" = y ]
}
check 'also without the shim' unwitnessed

# ---- what stays ----

place() { own -- sh -c 'pwd; echo new >made && cat made; ls -d .git ..'; [ "$(head -n 1 "$TMP/out")" = "$WS" ] && [ "$(cat made)" = new ]; }
check 'the workspace stays, and what is made there' place
at_home()
{
	echo kept >"$HOME/kept"
	mkdir -p "$HOME/.ssh" && echo key >"$HOME/.ssh/id_rsa"
	own -- sh -c "cat ~/kept; cat ~/.ssh/id_rsa; (echo x >~/made); (echo x >~/.bashrc); (echo x >$TMPDIR/made)"
	[ "$(cat "$TMP/out")" = kept ] && [ ! -e "$HOME/made" ] && [ ! -e "$HOME/.bashrc" ] && [ ! -e "$TMPDIR/made" ] &&
		grep -q 'denied modify .*/made (rule <outside workspace>, builtin:tmp:2): allow with --modify' "$TMP/err"
}
check 'the home stays, as closed as elsewhere' at_home
dotdot()
{
	own -- sh -c "cd .. && ls; cd ../.. && ls; ls -A $E2E_ROOT; cat /proc/1/cwd/x /proc/self/root$mark"
	! grep -q bin "$TMP/out"
}
check '".." leads into no other /tmp' dotdot
moved()
{
	own -- sh -c "mv $E2E_ROOT /tmp/elsewhere; mv ${E2E_ROOT%/*} /tmp/elsewhere; mv $WS /tmp/ws; ln $WS/made /tmp/made; mv $HOME/kept /tmp/kept; mkdir -p .git/hooks; ls /tmp"
	! grep -q elsewhere "$TMP/out" && [ -d "$WS" ] && [ -e "$HOME/kept" ]
}
check 'and nothing of what stays changes its place' moved
grants()
{
	mkdir -p "$mark.d/a/b" && echo r >"$mark.d/a/b/r" && echo f >"$mark.f" && echo o >"$mark.d/other"
	own --read "$mark.d/a" --modify "$mark.f" -- sh -c \
		"cat $mark.d/a/b/r; echo g >>$mark.f; (echo x >$mark.d/a/x); cat $mark.d/other; ls $mark.d; mv $mark.d /tmp/q; rm $mark.f"
	[ "$(xargs <"$TMP/out")" = 'r a' ] && [ "$(xargs <"$mark.f")" = 'f g' ] && [ ! -e "$mark.d/a/x" ]
}
check 'what is granted stays, and its neighbours do not' grants
linked()
{
	ln -s "$mark.d" "$mark.l"
	own --read "$mark.l" -- sh -c "ls $mark.l; cat $mark.d/other; echo o >$mark.l && cat $mark.l"
	[ "$(xargs <"$TMP/out")" = 'o o' ]
}
check 'a link gives nothing a second name' linked
missing()
{
	own --modify "$mark.none" true
	[ "$status" = 125 ] && grep -q "modify rule .$mark.none/\*\*. (cli:--modify:1): it is not there, and what is made at it goes" "$TMP/err"
}
check 'what would be lost is refused' missing
check 'nor may the workspace be /tmp itself' eval '(cd /tmp && "$SBX" -w /tmp --isolate tmp true 2>"$TMP/err"); [ $? = 125 ] && grep -q "private-tmp: the workspace is /tmp" "$TMP/err"'
sockets()
{
	command -v python3 >/dev/null || return 0
	python3 -c 'import socket, sys
s = socket.socket(1); s.bind(sys.argv[1]); s.listen(1)
s.settimeout(20)
c = s.accept()[0]; c.send(b"hello")' "$mark.s" &
	for _ in 1 2 3 4 5 6 7 8 9; do [ -S "$mark.s" ] || sleep .2; done
	own --unix "$mark.s" -- python3 -c 'import socket, sys
s = socket.socket(1); s.connect(sys.argv[1]); print(s.recv(9).decode())
s = socket.socket(1); s.bind("/tmp/own.s"); s.listen(1); c = socket.socket(1); c.connect("/tmp/own.s"); print("own")' "$mark.s"
	wait $!
	[ "$(xargs <"$TMP/out")" = 'hello own' ]
}
check 'sockets: one of the host'"'"'s that a rule opens, and own ones' sockets
streams() { own -- sh -c 'echo a >/dev/stdout; echo b >>/proc/self/fd/1'; [ "$(xargs <"$TMP/out")" = 'a b' ]; }
check 'standard output, opened anew' streams
both() { own --deny-modify "$mark.no" -- sh -c "(: >$mark.no) || echo no; (: >$mark.yes) && echo yes"; [ "$(xargs <"$TMP/out")" = 'no yes' ]; }
check 'denials hold in it' both

# ---- runs inside ----

inside()
{
	own -- sh -c "echo o >/tmp/o; \"\$0\" -q --modify '/tmp/z*' -- sh -c 'cat /tmp/o; echo z >/tmp/z1; (echo x >/tmp/no) || echo no; cat $mark.f; pwd'; cat /tmp/z1; ls /tmp/no" "$SBX"
	[ "$(xargs <"$TMP/out")" = "o no $WS z" ]
}
check 'a run inside has the same one, by its own rules' inside
fresher()
{
	own -- sh -c "echo o >/tmp/o; \"\$0\" -q --isolate tmp -- sh -c 'ls /tmp/o; echo i >/tmp/i && cat /tmp/i; cat $mark.f'; ls /tmp/i; \"\$0\" -q --isolate tmp --read $mark.d -- cat $mark.d/other; \"\$0\" -q -w $mark.d -- ls $mark.d; \"\$0\" -q -- \"\$0\" -q -- cat /tmp/o" "$SBX"
	[ "$(xargs <"$TMP/out")" = 'i o' ]
}
check 'or a fresh one; and neither leads to the host'"'"'s' fresher
launch -- "$SBX" --isolate tmp true
check 'not where the outer run has the host'"'"'s' eval '[ "$status" = 125 ] && grep -q "the outer run has the host" "$TMP/err"'
own -- sh -c 'mkdir /tmp/here && cd /tmp/here && exec "$0" true' "$SBX"
check 'a place that has no name outside is refused in words' eval '[ "$status" = 125 ] && grep -q "is not the same directory outside of the run" "$TMP/err"'

# ---- where it comes from, and where not ----

caliban()
{
	printf '[sandbox]\nenabled = true\n[sandbox.filesystem]\nallow_write = ["${WORKSPACE}"]\n' >"$TMP/c.toml"
	chmod 600 "$TMP/c.toml"
	launch -p "$TMP/c.toml" -- sh -c ": >$mark.c && echo made; ls /tmp | grep -c own.; :"
	[ "$(xargs <"$TMP/out")" = 'made 1' ] && [ ! -e "$mark.c" ]
}
check 'C11: caliban'"'"'s documents always have it' caliban
launch -p "$TMP/c.toml" --isolate none -- sh -c ": >$mark.c"
check 'but for who says otherwise' eval '[ "$status" != 0 ] && [ ! -e "$mark.c" ]'
launch --backend bwrap --isolate tmp true
check 'bubblewrap has none, and says so' eval '! command -v bwrap >/dev/null || { [ "$status" = 125 ] && grep -q "private-tmp: --backend bwrap binds what rules open" "$TMP/err"; }'
launch -- sh -c ": >$mark.x"
check 'the line of a denial names it' grep -q "$mark.x, or with --isolate pid,shm,tmp" "$TMP/err"

# ---- TMPDIR ----

long=$TMPDIR/$(printf '%060d' 0)
mkdir "$long"
short() { TMPDIR=$long launch -- sh -c 'echo ${#TMPDIR}; mktemp'; [ "$(head -n 1 "$TMP/out")" -le 72 ] && [ "$status" = 0 ]; }
check 'TMPDIR leaves room for the name of a socket' short
exit 0
