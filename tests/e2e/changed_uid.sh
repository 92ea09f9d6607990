#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A process that changes its user without an exec is served as before by descriptor, by working
# directory and by /proc/self: each call ends as bare, for each way to change.
E2E_WHO=root
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

command -v python3 >/dev/null || { skip 'a change of user' 'python3 is not installed'; exit 0; }
[ "$(id -u)" -eq 0 ] || { skip 'a change of user' 'an ordinary user stays what it is'; exit 0; }

cat >"$TMP/uid.py" <<'EOF'
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
N = 65534
SETFSUID, SETFSGID = {"x86_64": (122, 123), "aarch64": (151, 152)}[os.uname().machine]
ways = {
    "setuid": lambda: (os.setgid(N), os.setuid(N)),
    "setresuid": lambda: (os.setresgid(N, N, N), os.setgroups([]), os.setresuid(N, N, N)),
    "setreuid": lambda: (os.setregid(N, N), os.setreuid(N, N)),
    "seteuid": lambda: (os.setegid(N), os.seteuid(N)),
    "setfsuid": lambda: (libc.syscall(SETFSGID, N), libc.syscall(SETFSUID, N)),
    "setgid": lambda: os.setgid(N),
    "back": lambda: (os.seteuid(N), os.seteuid(0)),
}
def answer(name, call):
    try: got = call()
    except OSError as e: got = errno.errorcode[e.errno]
    else: got = got if isinstance(got, (str, bytes, list)) else "done"
    print(name, got)
def close(fd): os.close(fd)
def tries():
    new = os.O_CREAT | os.O_RDWR
    yield "open", lambda: close(os.open("a", new, 0o644))
    yield "openat", lambda: close(os.open("b", new, 0o644, dir_fd=d))
    fd = os.open("a", os.O_RDWR)
    yield "fchmod", lambda: os.fchmod(fd, 0o600)
    yield "ftruncate", lambda: os.ftruncate(fd, 3)
    yield "fchown", lambda: os.fchown(fd, -1, os.getegid())
    yield "futimens", lambda: os.utime(fd, (1, 1))
    yield "mkdirat", lambda: os.mkdir("D", dir_fd=d)
    yield "renameat", lambda: os.rename("b", "c", src_dir_fd=d, dst_dir_fd=d)
    yield "linkat", lambda: os.link("c", "e", src_dir_fd=d, dst_dir_fd=d)
    yield "symlinkat", lambda: os.symlink("c", "s", dir_fd=d)
    yield "fsetxattr", lambda: os.setxattr(fd, "user.x", b"1")
    yield "fgetxattr", lambda: os.getxattr(fd, "user.x")
    yield "flistxattr", lambda: os.listxattr(fd)
    yield "fremovexattr", lambda: os.removexattr(fd, "user.x")
    yield "fchdir", lambda: os.fchdir(d)
    yield "chdir", lambda: os.chdir("D")
    yield "relative", lambda: close(os.open("x", new, 0o644))
    yield "above", lambda: close(os.open("../a", os.O_RDWR))
    yield "list by descriptor", lambda: sorted(os.listdir(d))
    yield "list here", lambda: os.listdir(".")
    yield "by /proc/self/fd", lambda: close(os.open("/proc/self/fd/%d" % fd, os.O_RDONLY))
    yield "by /proc/thread-self/fd", lambda: close(os.open("/proc/thread-self/fd/%d" % fd, os.O_RDONLY))
    yield "list of descriptors", lambda: str(fd) in os.listdir("/proc/self/fd") and "done"
    yield "by /proc/self/cwd", lambda: os.listdir("/proc/self/cwd")
    yield "the parent's descriptors", lambda: os.listdir("/proc/%d/fd" % os.getppid()) and "done"
    yield "unlinkat", lambda: os.unlink("e", dir_fd=d)
    yield "mkfifoat", lambda: os.mkfifo("f", dir_fd=d)
    s = socket.socket(socket.AF_UNIX)
    yield "bind", lambda: s.bind("sock")
    yield "listen", lambda: s.listen(1)
    yield "connect", lambda: socket.socket(socket.AF_UNIX).connect("sock")
    yield "root's file", lambda: close(os.open("/root-only", os.O_RDONLY))
    yield "a root's directory", lambda: os.mkdir("/proc/self/cwd/../rooted/x")
    yield "fexecve", lambda: os.fork() or os.execve(os.open("/bin/true", os.O_RDONLY), ["true"], {})
    yield "owner", lambda: str(os.stat("../a").st_uid)

os.chmod(".", 0o777)
os.mkdir("rooted")
pid = os.fork()
if pid == 0:
    d = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    ways[sys.argv[1]]()
    me = os.getpid()
    for name, call in tries():
        answer(name, call)
        if os.getpid() != me: os._exit(0)
        sys.stdout.flush()
    os._exit(0)
os.waitpid(pid, 0)
EOF

for how in '' --no-shim; do
	for way in setuid setresuid setreuid seteuid setfsuid setgid back; do
		# shellcheck disable=SC2086
		same "${how:-plain}: $way" "umask 022; python3 '$TMP/uid.py' $way" -q $how --caps setuid,setgid,chown,dac_override,fowner \
			--deny-read '**/*.never' --deny-modify '**/never/**'
	done
done
