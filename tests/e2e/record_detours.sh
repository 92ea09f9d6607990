#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Detours to a name, and what wears the record out before an act: see record.sh.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/record.sh"

# ---- other ways to the same names ----
attack 'through /proc' "mkdir /proc/self/cwd/real-cwd /proc/self/root\$PWD/real-root; exec 9<.; mkdir /proc/self/fd/9/real-fd; $ACT; [ -d real-cwd -a -d real-root -a -d real-fd ] || echo untried"
check 'through /proc: all were made' eval '! grep -q untried "$TMP/out"'
attack 'by a directory that another process passed' "python3 -c '
import array, os, socket
a, b = socket.socketpair()
if os.fork() == 0:
    a.sendmsg([b\"x\"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array(\"i\", [os.open(\".\", os.O_RDONLY)]))])
    os._exit(0)
fd = array.array(\"i\", b.recvmsg(1, 64)[1][0][2])[0]
os.chdir(\"/\")
os.mkdir(\"real-passed\", dir_fd=fd)
try: os.open(\".git/hooks/evil\", os.O_WRONLY | os.O_CREAT, dir_fd=fd)
except OSError: pass
'; $ACT"
attack 'from a directory that is gone' "(mkdir gone && cd gone && rmdir ../gone && mkdir x ../real-gone 2>/dev/null); $ACT"
attack 'a file without a name gets one' "python3 -c '
import ctypes, os
fd = os.open(\".\", os.O_TMPFILE | os.O_WRONLY)
ctypes.CDLL(None).linkat(-100, b\"/proc/self/fd/%d\" % fd, -100, b\"real-linked\", 0x400)
'; $ACT; [ -e real-linked ] || echo untried"
check 'a file without a name gets one: it did' eval '! grep -q untried "$TMP/out"'
attack 'a socket has the name' "python3 -c '
import socket
socket.socket(socket.AF_UNIX).bind(\"real-socket\")
'; $ACT"
attack 'a name is moved, and exchanged' "mkdir x; : >y; mv x real-moved; python3 -c '
import ctypes
print(ctypes.CDLL(None).renameat2(-100, b\"y\", -100, b\"real-moved\", 2))
' >/dev/null; mv y real-exchanged; $ACT"
attack 'names change places meanwhile' "mkdir a b; (for i in \$(seq 60); do mv a c; mv b a; mv c b; done) & for i in \$(seq 60); do mkdir a/n\$i b/m\$i; : >.git/hooks/evil; done 2>/dev/null; wait; $ACT"

# ---- what was there before the act ----
attack 'a thousand refusals of a thousand names' "python3 -c '
for i in range(1000):
    try: open(\".git/hooks/n%d\" % i, \"w\")
    except OSError: pass
'; $ACT"
thousand()
{
	[ "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["counts"]["denied"])' "$RUNS/$(outer)/run.json")" -ge 1001 ] &&
		[ "$("$AUDIT" denials --json "$(outer)" | wc -l)" -ge 1001 ]
}
check 'and each of them is one' thousand
attack 'words of a megabyte' "bash -c '$ACT' \$(head -c 1000000 /dev/zero | tr '\\0' x | fold -w 100000 | tr '\\n' ' '); X=\$(head -c 100000 /dev/zero | tr '\\0' '\"') bash -c :"
attack 'a crowd of processes' "for i in \$(seq 150); do mkdir real-\$i & done; wait; $ACT"
attack 'without standard descriptors' "(exec <&- >&- 2>&-; mkdir real-closed; : >.git/hooks/evil); $ACT"
attack 'under limits of nothing' "(ulimit -f 0; ulimit -c 0; ulimit -n 10; mkdir real-limited; : >.git/hooks/evil) 2>/dev/null; $ACT"
attack 'a sibling is made to speak' "python3 -c '
import ctypes, os, time
libc = ctypes.CDLL(None)
child = os.fork()
if child == 0:
    time.sleep(0.5)
    os._exit(0)
for line in open(\"/proc/%d/maps\" % child):
    span, mode = line.split()[:2]
    if mode != \"rw-s\": continue
    start, end = (int(x, 16) for x in span.split(\"-\"))
    buf = ctypes.create_string_buffer(b\"./forged\" * 512)
    class Iov(ctypes.Structure): _fields_ = [(\"p\", ctypes.c_void_p), (\"n\", ctypes.c_size_t)]
    libc.process_vm_writev(child, ctypes.byref(Iov(ctypes.addressof(buf), 4096)), 1, ctypes.byref(Iov(start, 4096)), 1, 0)
os.wait()
'; $ACT"
