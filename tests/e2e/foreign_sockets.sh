#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A socket of the host's network that a peer outside sends stays connected as it is: no call finds it
# another peer. It was connected without waiting, so that the kernel takes fast open for its first
# connection once its peer has gone (tests/escape/run-inherited.sh has those that the caller gives).
. "$(dirname "$0")/../support/e2e.sh"
common || exit 0

# The host: sends the socket to whoever connects, drops its peer, and prints whether the service was reached.
cat >"$TMP/host.py" <<'P'
import select, socket, struct, subprocess, sys
unix = socket.socket(socket.AF_UNIX); unix.bind("/tmp/%s.sock" % sys.argv[1]); unix.listen()
def listener():
    s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(); return s
first, service = listener(), listener()
c = socket.socket(); c.setblocking(False); c.connect_ex(first.getsockname())
select.select([], [c], []); c.setblocking(True)
peer, _ = first.accept()
run = subprocess.Popen(sys.argv[2:] + [str(service.getsockname()[1])])
unix.settimeout(20)
client, _ = unix.accept()
peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)); peer.close()
socket.send_fds(client, [b"x"], [c.fileno()])
run.wait()
service.settimeout(0.2)
try: service.accept(); print("REACHED")
except socket.timeout: print("not reached")
P
cat >"$TMP/inside.py" <<'P'
import ctypes, errno, socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
_, fds, _, _ = socket.recv_fds(s, 1, 1)
fd, port = fds[0], int(sys.argv[2])
C = ctypes.CDLL(None, use_errno=True)
to = struct.pack("=HH4s8x", 2, socket.htons(port), socket.inet_aton("127.0.0.1"))
class Iov(ctypes.Structure): _fields_ = [("base", ctypes.c_char_p), ("len", ctypes.c_size_t)]
class Msg(ctypes.Structure): _fields_ = [("name", ctypes.c_char_p), ("namelen", ctypes.c_uint), ("iov", ctypes.c_void_p), ("iovlen", ctypes.c_size_t), ("control", ctypes.c_void_p), ("controllen", ctypes.c_size_t), ("flags", ctypes.c_int)]
class Many(ctypes.Structure): _fields_ = [("msg", Msg), ("len", ctypes.c_uint)]
iov = Iov(b"x", 1)
msg = Msg(to, 16, ctypes.addressof(iov), 1, None, 0, 0)
many = Many(msg, 0)
FAST, on = 0x20000000 | 0x4000, struct.pack("i", 1)
acts = {
    "connect": lambda: C.connect(fd, to, 16),
    "free": lambda: C.connect(fd, bytes(16), 16),
    "bind": lambda: C.bind(fd, bytes([2]) + bytes(15), 16),
    "listen": lambda: C.listen(fd, 1),
    "sendto": lambda: C.sendto(fd, b"x", 1, FAST, to, 16),
    "sendmsg": lambda: C.sendmsg(fd, ctypes.byref(msg), FAST),
    "sendmmsg": lambda: C.sendmmsg(fd, ctypes.byref(many), 1, FAST),
    "option": lambda: C.setsockopt(fd, 6, 30, on, 4),
    "repair": lambda: C.setsockopt(fd, 6, 19, on, 4),
}
for _ in range(2):
    C.send(fd, b"x", 1, 0x4000)
for name in sys.argv[3:] or acts:
    for _ in range(3):
        rc = acts[name]()
    print(name, "done" if rc >= 0 else errno.errorcode[ctypes.get_errno()])
P
name=$(mktemp -u sbx-foreign-XXXXXX)
sock=/tmp/$name.sock
# bare: the hole that is closed
bare() { python3 "$TMP/host.py" "$name" sh -c 'exec python3 "$0" "$1" "$2" sendto' "$TMP/inside.py" "$sock"; }
check 'bare, fast open reaches the service' sh -c "$(declare -f bare); TMP='$TMP' name='$name' sock='$sock'; bare | grep -qx REACHED"
rm -f "$sock"
inside() # OPTION...
{
	rm -f "$sock"
	python3 "$TMP/host.py" "$name" "$SBX" --unix "$sock" --read "$TMP/inside.py" "$@" -- python3 "$TMP/inside.py" "$sock" >"$TMP/out" 2>"$TMP/err"
	rm -f "$sock"
}
want='connect EACCES,free EACCES,bind EACCES,listen EACCES,sendto ENOTSUP,sendmsg ENOTSUP,sendmmsg ENOTSUP,option ENOPROTOOPT,repair EPERM,not reached'
for how in '' '--connect 127.0.0.1:1' '--isolate none'; do
	# shellcheck disable=SC2086
	inside $how
	check "each is refused: ${how:-default}" [ "$(paste -sd, "$TMP/out")" = "$want" ]
done
check 'with a line' grep -qx 'sbx-launch: denied sendto (system-call filter): fast open connects without connect(2), which is what is judged: allow with --network host' "$TMP/err"
check 'that says what can be done with such a socket' grep -q 'denied connect .*: a socket made outside of the run: --keep-fd passes on what the launcher was started with; what a process sends stays connected as it is$' "$TMP/err"
check 'and an event' grep -q '"op":"connect".*"call":"sendto"' "$(ls -d "$HOME"/.local/state/sbx-launch/runs/2* | tail -n 1)/audit.jsonl"
inside --network host
check 'the remedy cures' grep -qx REACHED "$TMP/out"
