#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Options that widen never narrow: what a command may do by default it may do under each of them, and
# under each two of them. The quick form has each with its neighbour. Every option that the launcher knows is
# among them, or among those that widen nothing.
E2E_WHO=user
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

command -v python3 >/dev/null || { skip 'options that widen' 'python3 is not installed'; exit 0; }

cat >"$TMP/probes.py" <<'EOF'
import ctypes, errno, multiprocessing, os, pty, resource, socket, subprocess, tempfile, threading
def served(kind, make):
    s = make(kind); s.listen(1)
    c = socket.socket(s.family, kind); c.connect(s.getsockname())
    p, _ = s.accept(); c.send(b"x"); assert p.recv(1) == b"x"
def by_path(kind):
    s = socket.socket(socket.AF_UNIX, kind); s.bind("sock%d" % kind); return s
def by_name(kind):
    s = socket.socket(socket.AF_UNIX, kind); s.bind("\0sbx-wider-%d-%d" % (os.getpid(), kind)); return s
def on_loopback(kind):
    s = socket.socket(socket.AF_INET, kind); s.bind(("127.0.0.1", 0)); return s
def pair(kind):
    a, b = socket.socketpair(socket.AF_UNIX, kind); a.send(b"x"); assert b.recv(1) == b"x"
def by_ring(): socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).bind((0, 0))
def files():
    os.mkdir("d"); open("d/f", "w").write("x"); os.rename("d/f", "d/g"); os.link("d/g", "h"); os.symlink("h", "l")
    os.chmod("h", 0o600); os.utime("h"); os.truncate("h", 0); os.unlink("h"); os.unlink("l")
    os.setxattr("d/g", "user.x", b"1"); os.unlink("d/g"); os.rmdir("d"); os.mkfifo("p"); os.unlink("p")
def shared(): os.mkdir("s"); os.chmod("s", 0o2775); os.rmdir("s")
def lock(): multiprocessing.Lock().acquire()
def child(): subprocess.run(["/bin/true"], check=True)
def temporary(): tempfile.TemporaryFile().write(b"x")
def terminal(): os.close(pty.openpty()[0])
def null(): open("/dev/null", "w").write("x"); open("/dev/urandom", "rb").read(1)
def proc(): os.listdir("/proc/self/fd"); open("/proc/self/status").read()
def priority(): os.setpriority(os.PRIO_PROCESS, os.getpid(), 19)
def thread(): t = threading.Thread(target=lambda: None); t.start(); t.join()
def memory(): os.close(os.memfd_create("x"))
def limit(): resource.prlimit(os.getpid(), resource.RLIMIT_CORE, (0, 0))
probes = {f.__name__: f for f in (files, shared, lock, child, temporary, terminal, null, proc, priority, thread, memory, limit, by_ring)}
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    probes["path %d" % kind] = lambda k=kind: served(k, by_path)
    probes["abstract %d" % kind] = lambda k=kind: served(k, by_name)
probes["loopback"] = lambda: served(socket.SOCK_STREAM, on_loopback)
for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
    probes["pair %d" % kind] = lambda k=kind: pair(k)
for name, probe in probes.items():
    try: probe()
    except Exception as e: print(name, type(e).__name__, e)
EOF

# A /dev/shm of its own takes a namespace, which an ordinary user has only beside another one, or when
# asked for (README.md, Limits): --network host asks for none, and --isolate none wants none.
wider=("--unix host" "--unix $HOME" "--network host" "--network watch" "--connect a.example.org:443"
	"--local 9" "--publish 9999" "--upstream-proxy http://127.0.0.1:9" "--proxy-env --connect b.example.org:443" "--allow debug" "--allow namespaces"
	"--allow setid" "--read $HOME" "--also-read /etc/hostname" "--modify $HOME" "--preset npm"
	"--caps chown,dac_override,fowner,fsetid,setuid,setgid,kill" "--isolate pid,shm" "--isolate pid,shm,tmp --read $TMP" "--isolate none" "--env keep" "--passenv LANG"
	"--setenv A=b" "--keep-fd 9" "--workspace $WS" "--reads broad" "--best-effort" "--marked-calls" "--no-shim")
# What denies, limits, names the policy, or speaks of the run and not of what it may do.
narrow='policy dialect image profile deny-read deny-modify deny-connect require-bundle bundle-key strict require backend
net-connections net-bytes net-rate audit-level audit-file audit-required anchor-fd anchor-command learn context mode timeout
kill-after memory cpu-time nproc fsize nofile status-fd command chdir result-json stdin capture-limit capture-over tee quiet
verbose dry-run print-argv print-env on-error doctor selftest ps stop wait reload reloadable json hook setup project undo completion help version'
unknown()
{
	local o
	for o in $("$SBX" --help | sed -n 's/^ \{2,6\}\(-[a-zA-Z], \)\?--\([a-z-]*\).*/\2/p'); do
		case " $(echo $narrow) ${wider[*]}" in
		*" $o "* | *" --$o "* | *" --$o") ;;
		*) echo "--$o" ;;
		esac
	done
}
check 'each option widens and is tried, or is known to widen nothing' [ -z "$(unknown)" ]
run_with() # OPTIONS...
{
	fresh
	"$SBX" -qq "$@" -- python3 "$TMP/probes.py" >"$TMP/out" 2>"$TMP/err" </dev/null 9</dev/null
	status=$?
	grep -v ' note: ' "$TMP/err" >>"$TMP/out"
	case "$(id -u) $*" in
	*"isolate none"*) sed -i '/^lock PermissionError/d' "$TMP/out" ;;
	0\ *) ;;
	*isolate*) ;;
	*"--network host"*) sed -i '/^lock PermissionError/d' "$TMP/out" ;;
	esac
}
run_with
cp "$TMP/out" "$TMP/default"
check 'the default run' [ "$status" -eq 0 ]
check 'and what it may do' [ ! -s "$TMP/default" ]
# Two options may exclude each other: that is said, and nothing runs.
excluded() { [ "$status" -eq 125 ] && grep -q 'E_USAGE' "$TMP/err"; }
bad=0 n=0
for ((i = 0; i < ${#wider[@]}; i++)); do
	for ((k = i + $(rounds 1 0); k <= i + $(rounds 1 99) && k < ${#wider[@]} + $(rounds 1 0); k++)); do
		first=${wider[i]} second=${wider[k % ${#wider[@]}]}
		[ "$first" != "$second" ] || second=
		# shellcheck disable=SC2086
		run_with $first $second
		n=$((n + 1))
		[ "$status" -eq 0 ] && cmp -s "$TMP/out" "$TMP/default" && continue
		[ -n "$second" ] && excluded && continue
		bad=$((bad + 1))
		{ echo "status $status"; head -n 5 "$TMP/out"; } | not_ok "$first with ${second:-nothing}"
	done
done
check "$n runs under options that widen" [ $bad -eq 0 ]
