#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A run inside a run: made by the outer supervisor, under both policies, with everything of the
# requester's and nothing more. (On a terminal: terminal.sh; the automata: tests/agreement.)
. "$(dirname "$0")/../support/e2e.sh"

AUDIT=$(dirname "$SBX")/sbx-audit
export SBX
newest_inside() # the id of the last run that was made inside another
{
	basename "$(dirname "$(grep -l parent_run_id "$HOME"/.local/state/sbx-launch/runs/*/run.json | tail -n 1)")"
}
inner() # OUTER-OPTIONS -- INNER-WORDS...: sbx-launch OUTER sbx-launch INNER; sets $status, $TMP/out, $TMP/err
{
	local outer=()
	while [ "$1" != -- ]; do
		outer+=("$1")
		shift
	done
	shift
	launch -q "${outer[@]}" -- "$SBX" -q "$@"
}
says() # TEXT: the inner command printed this, and ended well
{
	[ "$status" -eq 0 ] && [ "$(cat "$TMP/out")" = "$1" ] || {
		echo "status $status"
		cat "$TMP/out" "$TMP/err"
		return 1
	}
}
refused() # STATUS WORDS-IN-STDERR
{
	[ "$status" -eq "$1" ] && grep -q -- "$2" "$TMP/err" || {
		echo "status $status"
		cat "$TMP/out" "$TMP/err"
		return 1
	}
}

if [ "$(id -u)" -eq 0 ]; then
	inner -- --caps setuid -- true
	check 'capabilities that the outer run has not' refused 125 '--caps: the inner run gets only the capabilities'
fi
common || exit 0

# ---- as the command alone would be ----
inner -- -- echo hello
check 'a run inside a run' says hello
inner -- -- "$SBX" -q -- "$SBX" -q -- echo fourth
check 'and inside that' says fourth
inner -- -- "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- echo too-deep
check 'to a depth' refused 125 'a run inside a run needs the outer run to make it, .* is the fourth inside another'
launch -q -- bash -c 'ulimit -f 4; ulimit -t 600; ulimit -s 256; exec "$SBX" -q -- bash -c "ulimit -Hf; ulimit -Ht; ulimit -Hs
	for i in \$(seq 60); do mkdir e\$i; rmdir e\$i; done"'
check 'its limits are of the command' says '4
600
256'
check 'not of what is recorded of it' sh -c '"$1" "$2" | grep -q "^inside" && "$1" "$2" | grep -q "^missing *0 events lost" && "$1" verify "$2"' - "${SBX%/*}/sbx-audit" "$(newest_inside)"
cat >grow.py <<'P'
import os, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
open("grown", "w").close()
try:
    os.truncate("grown", 1 << 20)
except OSError as e:
    sys.exit(27 if e.errno == 27 and os.stat("grown").st_size == 0 else 1)
P
for limit in 64 0; do
	launch -q -- bash -c "ulimit -f $limit; exec \"\$SBX\" -q -- python3 grow.py"
	check "nor may its broker do more (ulimit -f $limit)" [ "$status" -eq 27 ]
done
launch -q --fsize 64K -- "$SBX" -q -- python3 grow.py
check 'than the outer --fsize' [ "$status" -eq 27 ]
rm grow.py grown
launch -q -- bash -c 'ulimit -f 0; exec "$SBX" -q -- true'
check 'nor may its log be kept from being begun' sh -c '[ "$2" = 0 ] && "$1" last | grep -q "^ended *status 0"' - "${SBX%/*}/sbx-audit" "$status"
mkdir -p sub
launch --deny-modify 'sub/**' -- "$SBX" --modify 'sub/**' -- sh -c 'echo >sub/x'
check 'what the outer run denies can be allowed there alone' \
	grep -q 'denied modify .*sub/x (rule sub/\*\*, outer:.*): allow in the outer run, with --modify ' "$TMP/err"
rmdir sub
inner -- -- sh -c 'exit 7'
check 'its status' [ "$status" -eq 7 ]
inner -- -- sh -c 'kill -TERM $$'
check 'its signal' [ "$status" -eq 143 ]
inner -- -- /no/such/program
check 'what is not found' [ "$status" -eq 127 ]
inner -- -- /etc/passwd
check 'what is not executable' [ "$status" -eq 126 ]
mkdir sub
(cd sub && inner -- -- pwd && says "$WS/sub") >"$TMP/sub"
check 'its directory' test ! -s "$TMP/sub"
inner -- -- python3 -c 'import os; print(os.getcwd())'
check 'as getcwd(2) has it' says "$WS"
export FROM_OUTSIDE=1
launch -q -- env -u FROM_OUTSIDE FROM_INSIDE=2 "$SBX" -q -- sh -c 'echo "${FROM_OUTSIDE-none} $FROM_INSIDE"'
check 'its variables are those of who asks' says 'none 2'
unset FROM_OUTSIDE
launch -q -- sh -c 'seq 3 | "$SBX" -q -- tac | "$SBX" -q -- tr "\n" " "'
check 'pipes between two of them' says '3 2 1 '
launch -q -- sh -c 'umask 027; "$SBX" -q -- sh -c umask'
check 'its umask' says 0027
launch -q -- "$SBX" -q --timeout 0.3 --kill-after 0.1 -- sleep 100
check 'its own time limit' [ "$status" -eq 124 ]
launch -q -- sh -c '"$SBX" -q --status-fd 3 -- sh -c "exit 5" 3>st; cat st'
check 'its --status-fd' grep -q '"status":5' "$TMP/out"
cat >Makefile <<'M'
all: a b c d
a b c d: ; @$(SBX) -q -- $(MAKE) -s -f inner.mk $@.out
M
cat >inner.mk <<'M'
%.out: $(foreach n,1 2 3,$(MAKECMDGOALS).$(n)) ; @echo $@
%.1 %.2 %.3: ; @:
M
launch -qq -- make -s -j2
check 'make calls it, with its jobserver' \
	sh -c "[ $status -eq 0 ] && [ \"\$(sort '$TMP/out' | tr '\n' ' ')\" = 'a.out b.out c.out d.out ' ] && [ ! -s '$TMP/err' ]"
launch -q -- sh -c 'for i in $(seq 40); do "$SBX" -q -- echo $i & done; wait'
check 'more at once than are served at once' [ "$(sort -n "$TMP/out" | uniq | wc -l)" -eq 40 ]

# ---- never more than the outer run ----
fresh
echo secret >secret
echo text >text
inner --deny-read secret -- --read secret -- cat secret
check 'what the outer policy hides stays hidden' refused 1 'Permission denied'
inner -- --deny-read text -- cat text
check 'and what the inner one hides' refused 1 'Permission denied'
inner --deny-modify text -- --modify text -- sh -c 'echo x >text'
check 'what the outer policy protects stays so' refused 2 'Permission denied'
check '(unchanged)' [ "$(cat text)" = text ]
inner --deny-modify text -- --modify text -- chmod 600 text
check 'its mode as well' refused 1 'ermi'
inner --deny-read '**/*.env' -- --read '**' -- sh -c 'echo x >a.env; cat a.env'
check 'a pattern of the outer policy' refused 1 'Permission denied'
inner -- --modify "$E2E_ROOT" -- sh -c "echo x >'$E2E_ROOT/planted'"
check 'nothing outside of the workspace can be written' refused 2 'Permission denied'
check '(and was not)' [ ! -e "$E2E_ROOT/planted" ]
inner -- -w "$E2E_ROOT" -- sh -c "echo x >'$E2E_ROOT/planted'"
check 'by no other workspace' [ "$status" -ne 0 -a ! -e "$E2E_ROOT/planted" ]
inner -- --network host -- sh -c 'cat /proc/net/dev | grep -vc "lo:"'
check 'no network that the outer run has not' says 2
launch -q -- grep CapEff /proc/self/status
have=$(cut -f2 "$TMP/out")
inner -- --caps sys_admin,net_admin,sys_ptrace,setuid -- sh -c 'grep CapEff /proc/self/status | cut -f2'
no_more() # refused, or without what the outer one lacks
{
	[ "$status" -eq 125 ] && grep -q 'only the capabilities that the outer run has' "$TMP/err" && return
	[ "$status" -eq 0 ] && [ -n "$have" ] && [ $((0x$(tail -1 "$TMP/out") & ~0x$have)) -eq 0 ]
}
check 'no capability that the outer run has not' no_more
inner -- --allow debug -- true
check '--allow that the outer run has not' refused 125 'the outer run was started without it'
inner --allow debug -- --allow debug -- true
check 'and that it has' [ "$status" -eq 0 ]
inner -- --isolate none -- sh -c 'ls -d /proc/[0-9]* | wc -l'
check "no processes of the host" [ "$(cat "$TMP/out")" -lt 10 ]
launch -q -- sh -c 'ulimit -n 100; ulimit -f 2000; "$SBX" -q -- sh -c "ulimit -Hn; ulimit -Hf"'
check 'its limits' says "100
2000"
inner -- --audit-file "$E2E_ROOT/log" -- true
check 'no file outside is written for it: --audit-file' refused 125 'not in a run inside a run'
inner -- -p "$HOME/.ssh/config" -- true
check 'a policy is read inside' [ "$status" -eq 125 ]
inner -- --audit-level none -- sh -c 'echo x >made-inside'
check 'what it does is recorded, whatever it says' \
	sh -c "for r in \$('$AUDIT' runs | grep -oE '[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}'); do '$AUDIT' show \"\$r\"; done | grep -q made-inside"
check 'the record says inside of which run' \
	sh -c "grep -l parent_run_id \"\$HOME\"/.local/state/sbx-launch/runs/*/run.json | grep -q ."
check 'and sbx-audit shows it' sh -c '"$1" "$2" | grep -q "^inside  *[0-9]"' - "$AUDIT" "$(newest_inside)"
python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX); s.bind("'"$TMP"'/host.sock"); s.listen(); print("up", flush=True)
while True: s.accept()[0].close()' >"$TMP/up" &
host=$!
until [ -s "$TMP/up" ]; do sleep 0.01; done
inner -- --unix host -- python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('$TMP/host.sock')"
check 'no socket of the host' [ "$status" -eq 1 ]
inner --unix "$TMP/host.sock" -- --unix "$TMP/host.sock" -- python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('$TMP/host.sock')"
check 'but one that both open' [ "$status" -eq 0 ]
kill $host
if [ "$E2E_INNER" = nobody ]; then
	launch -q --allow namespaces -- unshare -Ur "$SBX" -q -- true
	check 'who is in a user namespace of its own is not served' refused 125 'in another .* namespace\|needs the outer run'
fi

# ---- hostile requests ----
cat >bad.py <<'P'
import array, os, socket, struct, sys
path = os.environ["SBX_CHANNEL"] + "/ctl"
def talk(data, fds=(), wait=True):
    s = socket.socket(socket.AF_UNIX)
    s.connect(path)
    try:
        s.sendmsg([data], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))] if fds else [])
        s.shutdown(socket.SHUT_WR)
        s.settimeout(15)
        while wait and s.recv(65536): pass
    except OSError: pass
    s.close()
talk(b"")
talk(b"x")
talk(b"\xff" * 4096)
talk(b"\0" * 512, [0, 1, 2, 0])
talk(b"0.1.0".ljust(32, b"\0") + b"\xff" * 480, [0] * 16)
talk(b"0.1.0".ljust(32, b"\0") + b"\xff" * 480, [0] * 200)
for n in range(40): talk(os.urandom(600), [0, 1, 2], wait=False)
print("done")
P
launch -q -- sh -c 'python3 bad.py && "$SBX" -q -- echo still-served'
check 'noise is refused, and others served' says "done
still-served"
# Nor the outer one from a run inside, where its socket can be reached: it would be served under the
# outer policy alone.
echo secret >hidden.x
for isolate in auto none; do
	launch -q --unix host --network host --isolate $isolate -- sh -c 'c=$SBX_CHANNEL
		set -- --unix host --network host --isolate '$isolate'
		"$SBX" -q "$@" -- cat hidden.x
		"$SBX" -q "$@" --deny-read "*.x" -- sh -c "cat hidden.x; SBX_CHANNEL=$c $SBX -q $* -- cat hidden.x"'
	check "a run inside has its own supervisor alone to ask (--isolate $isolate)" \
		[ "$(cat "$TMP/out"):$status" = secret:125 ]
done
rm hidden.x
mkfifo fifo
"$SBX" -q -- sh -c 'echo "$SBX_CHANNEL" >channel; read x <fifo' &
for _ in $(seq 1000); do [ -s channel ] && break; sleep 0.01; done
other=$(cat channel)
"$SBX" -q -- python3 -c "import socket; socket.socket(socket.AF_UNIX).connect('$other/ctl')" 2>"$TMP/err2"
check 'another run cannot be asked' grep -qE 'PermissionError|FileNotFoundError' "$TMP/err2"
echo >fifo
wait

# ---- ends ----
running() { pgrep -f "sleep $1" >/dev/null; }
ends() # SECONDS-OF-SLEEP: within 10 seconds
{
	for _ in $(seq 1000); do
		running "$1" || return 0
		sleep 0.01
	done
	pkill -f "sleep $1"
	return 1
}
n=7$$
launch -q -- sh -c "\"\$SBX\" -q -- sh -c 'echo up >up; exec sleep $n.1' & for i in \$(seq 1000); do [ -e up ] && break; sleep 0.01; done; kill -9 \$!; wait \$!; echo \$?"
check 'kill -9 of who asked ends the run it asked for' ends $n.1
rm -f up
launch -q -- sh -c "\"\$SBX\" -q -- sh -c 'trap \"echo got; exit 9\" USR1; echo up >up; while :; do sleep 0.01; done' & for i in \$(seq 1000); do [ -e up ] && break; sleep 0.01; done; kill -USR1 \$!; wait \$!; echo \$?"
check 'a signal to it reaches the command' says "got
9"
for who in launcher sbx-guest; do
	rm -f up
	"$SBX" -q -- sh -c "\"\$SBX\" -q -- sh -c 'echo up >up; exec sleep $n.2'; echo \$? >status" >"$TMP/out" 2>"$TMP/err" &
	launcher=$!
	for i in $(seq 1000); do [ -e up ] && break; sleep 0.01; done
	if [ $who = launcher ]; then kill -9 $launcher; else kill -9 "$(pgrep -P $launcher -x $who)"; fi
	wait $launcher 2>/dev/null
	check "kill -9 of the $who leaves nothing" ends $n.2
	[ $who = launcher ] || check 'and is told' grep -q 125 status
done
launch -q --timeout 0.5 --kill-after 0.2 -- "$SBX" -q -- sh -c "trap '' TERM INT; exec sleep $n.3"
check 'the outer time limit ends it' sh -c "[ $status -eq 124 ] || [ $status -eq 137 ]"
check '(all of it)' ends $n.3
launch -q -- sh -c "\"\$SBX\" -q -- sleep $n.4 & sleep 0.2"
check 'it ends with the outer command' ends $n.4

# ---- what the inner run denies beside is no reason for what the outer run denies ----
cd "$TMP" && rm -rf launder && mkdir launder && cd launder && git init -q . && mkdir d && echo bad >d/settings.json && echo SECRET >.env && echo x >f
outer() # SHELL-TEXT
{
	SBX=$SBX "$SBX" -q --deny-read '**/.env' -- sh -c "$1" >"$TMP/out" 2>"$TMP/err" </dev/null
}
outer '"$SBX" -q --deny-modify "$PWD/d/settings.json" -- mv d .claude'
check 'a directory with a name that both deny does not move to the protected one' [ ! -e .claude ]
outer '"$SBX" -q --deny-read "$PWD/x" -- sh -c "ln .env x; mv .env x"; cat x'
check 'a file that both deny to read gets no other name' [ ! -s "$TMP/out" -a "$(cat .env)" = SECRET ]
outer '"$SBX" -q --deny-read "$PWD/f" -- sh -c "ln f e.env; mkdir s; ln -s ../f s/.env; ln f s/.env"'
check 'nor is a name that may not be read prepared' [ ! -e s/.env -a ! -L s/.env ]
outer '"$SBX" -q --deny-modify "$PWD/.git/packed-refs" -- ln -s /tmp/x .git/COMMIT_EDITMSG'
check 'nor a link in a git directory' [ ! -L .git/COMMIT_EDITMSG ]
outer '"$SBX" -q -- sh -c "mkdir a && echo 1 >a/1 && mv a b && mv b/1 b/2 && ln b/2 b/3 && ln -s 3 b/4 && cat b/4"'
check 'what nobody denies moves as ever' [ "$(cat "$TMP/out")" = 1 ]
mkdir -p clone/.git/hooks && echo x >clone/.git/hooks/pre-push
outer '"$SBX" -q -- mv clone moved'
check 'and what each run alone would let move' [ -e moved/.git/hooks/pre-push ]

# ---- what the outer run knows beside its rules ----
cd "$TMP" && mkdir -p given && echo before >given/out
kept() # SHELL-TEXT: with a file outside as the outer run's standard output
{
	rm -rf given && mkdir given && : >given/out
	SBX=$SBX GIVEN=$TMP/given "$SBX" -q --workspace "$WS" -- sh -c "$1" >>"$TMP/given/out" 2>"$TMP/err" </dev/null
	ls given | tr '\n' ' '
	stat -c %a given/out
}
umask 022
check 'the file that is the outer output stays where it is' [ "$(kept '"$SBX" -q --modify "$GIVEN/out" -- sh -c "mv \$GIVEN/out \$GIVEN/gone; rm -f \$GIVEN/out"')" = 'out 644' ]
check 'no file takes its name' [ "$(kept '"$SBX" -q --modify "$GIVEN/out" -- sh -c "echo bad >x; ln -f x \$GIVEN/out; mv x \$GIVEN/out"'; cat given/out)" = 'out 644' ]
check 'nor changes its mode' [ "$(kept '"$SBX" -q --modify "$GIVEN/out" -- chmod 777 "$GIVEN/out"')" = 'out 644' ]
check 'also four deep' [ "$(kept '"$SBX" -q -- "$SBX" -q --modify "$GIVEN/out" -- chmod 777 "$GIVEN/out"')" = 'out 644' ]
check 'its bytes are written as before' [ "$(kept '"$SBX" -q --modify "$GIVEN/out" -- sh -c "echo more >>\$GIVEN/out"'; cat given/out)" = 'out 644
more' ]
exit 0
