#!/bin/bash
# Sockets of the host, an ssh agent among them: closed, and opened one by one.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/cases.sh"

ask='python3 -Bc "
import os, socket
def t(f):
    try: f(); return \"yes\"
    except OSError: return \"no\"
def u(kind=socket.SOCK_STREAM): return socket.socket(socket.AF_UNIX, kind)
print(t(lambda: u().connect(\"run/d.sock\")), t(lambda: u().connect(\"l.sock\")),
      t(lambda: u().connect(\"\\0sbx-abs-'$$'\")), t(lambda: u(socket.SOCK_DGRAM).sendto(b\"x\", \"run/g.sock\")))
os.chdir(\"run\")
print(t(lambda: u().connect(\"d.sock\")))"'
serve()
{
	mkdir run && ln -s run/d.sock l.sock
	python3 -c '
import socket, sys, time
s, t, u = (socket.socket(socket.AF_UNIX, k) for k in (socket.SOCK_STREAM, socket.SOCK_STREAM, socket.SOCK_DGRAM))
s.bind("run/d.sock"); s.listen(64); t.bind("\0sbx-abs-" + sys.argv[1]); t.listen(64); u.bind("run/g.sock")
open("ready", "w").close()
time.sleep(30)' $$ &
	server=$!
	until [ -e ready ]; do sleep 0.01; done
}
served() # WANT ARGS...: what is reached
{
	local want=$1 how
	shift
	for how in '' --no-shim; do
		inside "$@" ${how:+"$how"} "$ask" >"$TMP/out"
		[ "$(tr '\n' ' ' <"$TMP/out")" = "$want " ] || { echo "$how: $(cat "$TMP/out" "$TMP/err")"; return 1; }
	done
}
fresh
serve
check 'bare, all are reached' [ "$(bash -c "$ask" | tr '\n' ' ')" = 'yes yes yes yes yes ' ]
doc "'run/**'" "'run/**'" "read: ['**'], modify: ['**']"
check 'stream, linked, abstract and datagram sockets of the host are closed' served 'no no no no no'
doc '' '' "read: ['**'], modify: ['**']"
check 'where files may be read and changed, too' served 'no no no no no'
check 'a rule opens this one, by any path, and no other' served 'yes yes no no yes' --unix run/d.sock
kill $server

if ! command -v ssh-agent >/dev/null; then
	skip 'an ssh agent' 'no ssh-agent'
	exit 0
fi
fresh
mkdir agent keys && ssh-keygen -qN '' -t ed25519 -f keys/id
eval "$(ssh-agent -a "$PWD/agent/s")" >/dev/null
trap 'kill "$SSH_AGENT_PID"' EXIT
ssh-add -q keys/id
export SSH_AUTH_SOCK SSH_AGENT_PID
use='ssh-add -l | wc -l; cat keys/id; echo m | ssh-keygen -Y sign -n git -f keys/id.pub >/dev/null && echo signed'
doc "'keys/id'" '' "read: ['**'], modify: ['**']"
agent() # WANT ARGS...
{
	local want=$1 how
	shift
	for how in '' --no-shim; do
		inside "$@" ${how:+"$how"} "$use" >"$TMP/out"
		[ "$(cat "$TMP/out")" = "$want" ] || { echo "$how: $(cat "$TMP/out" "$TMP/err")"; return 1; }
	done
}
check 'an ssh agent is not reached' bash -c '! "$1" -q -w . -p "$2" -- ssh-add -l' - "$SBX" "$DOC"
check 'with a rule it signs, and the key stays closed' agent $'1\nsigned' --unix agent/s
