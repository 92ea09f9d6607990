#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A socket of the host that `--unix` does not open gets no name that it opens, whatever is moved. What
# the run has made itself moves as it likes.
. "$(dirname "$0")/../support/e2e.sh"

cat >"$TMP/serve.py" <<'PY'
import os, select, socket, sys
socks = []
for name in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    s.bind(name)
    s.listen(8)
    socks.append(s)
open("ready", "w").close()
while not os.path.exists("over"):
    for s in select.select(socks, [], [], 0.2)[0]:
        c = s.accept()[0]
        c.sendall(b"HOST")
        c.close()
PY
cat >"$TMP/move.py" <<'PY'
import ctypes, os, socket
os.chdir("w")
def ask(name):
    try:
        s = socket.socket(socket.AF_UNIX)
        s.connect(name)
        return s.recv(9).decode()
    except OSError as e:
        return e.strerror
def tried(what, act, name):
    try:
        act()
        said = "done"
    except OSError as e:
        said = e.strerror
    print(what, said, ask(name), sep=": ")
def exchange():
    open("socks/e", "w").close()
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, b"host.sock", -100, b"socks/e", 2):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def by_descriptor():
    fd = os.open("host.sock", os.O_PATH)
    os.link("/proc/self/fd/%d" % fd, "socks/f", src_dir_fd=fd, follow_symlinks=True)
tried("itself", lambda: 0, "host.sock")
tried("opened", lambda: 0, "socks/open")
tried("link", lambda: os.link("host.sock", "socks/l"), "socks/l")
tried("link by descriptor", by_descriptor, "socks/f")
tried("symlink", lambda: os.symlink("../host.sock", "socks/s"), "socks/s")
tried("exchange", exchange, "socks/e")
tried("directory", lambda: os.rename("d", "socks/d"), "socks/d/x/host.sock")
tried("rename", lambda: os.rename("host.sock", "socks/r"), "socks/r")
tried("elsewhere", lambda: os.rename("host.sock", "host2.sock"), "host2.sock")
tried("hidden", lambda: os.rename("socks/open", "closed.sock"), "closed.sock")
own = socket.socket(socket.AF_UNIX)
own.bind("own.sock")
own.listen(8)
if os.fork() == 0:
    while True:
        c = own.accept()[0]
        c.sendall(b"OWN")
        c.close()
tried("own", lambda: os.rename("own.sock", "socks/own"), "socks/own")
os.makedirs("e/x")
tried("own in a directory", lambda: (os.rename("socks/own", "e/x/own"), os.rename("e", "socks/e2")), "socks/e2/x/own")
tried("own linked", lambda: os.link("socks/e2/x/own", "socks/own3"), "socks/own3")
PY
prepare()
{
	fresh
	mkdir -p w/socks w/d/x
	cp "$TMP"/*.py .
	python3 serve.py w/host.sock w/socks/open w/d/x/host.sock &
	for _ in $(seq 200); do
		[ -e ready ] && break
		sleep .05
	done
}
over()
{
	touch over
	wait
	sed 's/^/# /' "$TMP/out" "$TMP/err"
}

for how in --no-shim ''; do
	prepare
	# shellcheck disable=SC2086
	"$SBX" --unix "$WS/w/socks/**" $how -- timeout 20 python3 move.py >"$TMP/out" 2>"$TMP/err" </dev/null
	over
	no='Permission denied'
	check "of the host's sockets only the opened one answers $how" [ "$(grep -c 'HOST$' "$TMP/out")" -eq 1 ]
	check "it is the one $how" grep -q '^opened: done: HOST' "$TMP/out"
	for way in link 'link by descriptor' exchange directory rename; do
		check "$way is refused $how" grep -q "^$way: $no" "$TMP/out"
	done
	check "a link is a way to the object, which is judged $how" grep -q "^symlink: done: $no" "$TMP/out"
	check "elsewhere it moves, as closed as it was $how" grep -q "^elsewhere: done: $no" "$TMP/out"
	check "the run's own move and answer $how" [ "$(grep -c '^own.*: done: OWN' "$TMP/out")" -eq 3 ]
	check "a line names the operation $how" grep -q "denied connect .*host.sock" "$TMP/err"
done
prepare
"$SBX" -q --unix host -- timeout 20 python3 move.py >"$TMP/out" 2>"$TMP/err" </dev/null
over
check 'where all are open they move' [ "$(grep -c 'HOST$' "$TMP/out")" -ge 6 ]
