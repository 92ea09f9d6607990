#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
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

# Abstract sockets, which no path names: in the host's network namespace each refused connect has a line, whose name can do
# nothing to a terminal, an event, and the remedy that it names.
fresh
cat >names.py <<'END'
import socket, sys
for name in (b"sbx-n-" + sys.argv[1].encode(), b"sbx\x1b]0;x\a\0\xff" + sys.argv[1].encode(), b"sbx-nobody"):
    s = socket.socket(socket.AF_UNIX)
    try:
        s.connect(b"\0" + name)
        print("yes")
    except OSError as e:
        print(e.errno)
END
python3 -c '
import socket, sys, time
all = [socket.socket(socket.AF_UNIX) for _ in range(2)]
for s, name in zip(all, (b"sbx-n-", b"sbx\x1b]0;x\a\0\xff")):
    s.bind(b"\0" + name + sys.argv[1].encode())
    s.listen(64)
open("ready", "w").close()
time.sleep(60)' $$ &
server=$!
until [ -e ready ]; do sleep 0.01; done
names() # WANT ARGS...
{
	local want=$1
	shift
	launch "$@" -- python3 names.py $$
	[ "$(tr '\n' ' ' <"$TMP/out")" = "$want " ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}
seen='sbx\x1b]0;x\x07@\xff'
for how in '' --no-shim; do
	# shellcheck disable=SC2086
	check "abstract sockets of the host are closed ${how:-with the shim}" names '1 1 111' --network host $how
	check 'a line has the name, the reason and the remedy' grep -qx "sbx-launch: denied connect @sbx-n-$$ (rule .*): an abstract socket, which has no path: allow with --unix host" "$TMP/err"
	check 'whatever bytes are in it' grep -qF "denied connect @$seen$$ (" "$TMP/err"
	check 'and none of them does anything' [ "$(grep -c denied "$TMP/err") $(LC_ALL=C tr -d '\12\40-\176' <"$TMP/err" | wc -c)" = '2 0' ]
	check 'each is an event' [ "$(grep -c '"kind":"denied".*"op":"connect","path":"@sbx' "$(ls -td "$HOME"/.local/state/sbx-launch/runs/2* | head -n 1)/audit.jsonl")" = 2 ]
done
check 'the remedy cures' names 'yes yes 111' --network host --unix host
check 'and beside it a path is denied alone' names 'yes yes 111' --network host --unix host --deny-connect /run/nobody
check 'a network namespace has its own' names '111 111 111' --unix host
printf '%s\n' 'schemaVersion: 2' 'kind: Policy' 'metadata: {name: p}' 'spec: {sandbox: {unixSockets: none}}' >.sbx-launch.yaml
check 'and where a document closes all, they are closed' names '1 1 111' --network host --unix host
rm .sbx-launch.yaml
inner() # WANT OPTIONS OF THE OUTER RUN...
{
	local want=$1
	shift
	launch -q "$@" -- "$SBX" -q --network host --unix host -- python3 names.py $$
	[ "$(tr '\n' ' ' <"$TMP/out")" = "$want " ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}
check 'a run inside of one that closes them has none' inner '1 1 111' --network host
check 'inside of one that opens them it has them' inner 'yes yes 111' --network host --unix host
kill $server

# A connected socket of the host as input: it is read, and stays connected where it is.
fresh
cat >input.py <<'END'
import ctypes, socket, subprocess, sys
l = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(l.getsockname())
p, _ = l.accept()
p.sendall(b"given\n")
inside = """
import ctypes, os, socket
b = socket.socket(fileno=os.dup(0))
print(b.recv(6))
c = ctypes.CDLL(None, use_errno=True)
print(c.connect(b.fileno(), b"\\0" * 16, 16), ctypes.get_errno())
try:
    b.connect(("127.0.0.1", %d))
    print("reached")
except OSError as e:
    print(e.errno)
""" % l.getsockname()[1]
subprocess.run(sys.argv[1:] + ["python3", "-Ic", inside], stdin=s)
END
python3 input.py "$SBX" -- >"$TMP/out" 2>"$TMP/err"
check 'a socket as input is read' grep -q given "$TMP/out"
check 'and not connected elsewhere' [ "$(sed 1d "$TMP/out" | tr '\n' ' ')" = '-1 13 13 ' ]
check 'which is told, once, with a remedy' [ "$(grep -c 'denied connect /proc/.*/fd/.*--keep-fd' "$TMP/err")" = 1 ]
python3 input.py "$SBX" --keep-fd 0 -- >"$TMP/out" 2>"$TMP/err"
check 'the remedy works' grep -q reached "$TMP/out"

# Pairs of datagrams work, and lead nowhere but to their other end.
fresh
cat >pair.py <<'END'
import array, fcntl, os, socket
a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
for m in (b"one", b"", b"three"):
    a.send(m)
print([b.recv(9) for _ in range(3)], fcntl.fcntl(a, fcntl.F_GETFD))
n, m = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
try:
    n.recv(1)
except BlockingIOError:
    print("nonblocking")
a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [n.fileno()]))])
print(len(b.recvmsg(9, 64)[1]))
import ctypes
c = ctypes.CDLL(None, use_errno=True)
print(c.socketpair(1, 2, 0, None), ctypes.get_errno(), c.socketpair(1, 2, 6, ctypes.byref(ctypes.c_uint64())), ctypes.get_errno())
before = len(os.listdir("/proc/self/fd"))
c.socketpair(1, 2, 0, 8)
print(len(os.listdir("/proc/self/fd")) - before)
END
python3 pair.py >"$TMP/bare"
for how in '' --no-shim; do
	inside ${how:+"$how"} 'python3 pair.py' >"$TMP/out"
	check "datagram pairs ${how:-with the shim}" cmp "$TMP/out" "$TMP/bare"
done
if command -v socat >/dev/null; then
	check 'socat runs' [ "$(inside 'echo hello | socat - exec:cat,socktype=2' 2>&1)" = hello ]
else
	skip 'socat runs' 'no socat'
fi

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

# Without a broker, which makes pairs of datagram sockets something that reaches nothing else, the shim does.
if command -v bwrap >/dev/null && "$SBX" -q --backend bwrap -- true 2>/dev/null; then
	out=$("$SBX" -q --backend bwrap -- python3 -c '
import socket
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW, socket.SOCK_SEQPACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK):
    a, b = socket.socketpair(socket.AF_UNIX, kind)
    a.send(b"1"); a.send(b"22")
    print(b.recv(1))
try: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as e: print(e.strerror)' 2>&1 | tr '\n' ' ')
	check 'pairs under mounts' [ "$out" = "b'1' b'1' b'1' b'1' b'1' Permission denied " ]
else
	skip 'pairs under mounts' 'no bubblewrap'
fi
