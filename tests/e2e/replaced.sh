#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A file that is replaced while it is opened, under a pattern that denies reads: no open is refused,
# whatever answer the shim got before. What it once takes for refused it must not distrust for good.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

command -v python3 >/dev/null || { skip 'a file being replaced' 'python3 is not installed'; exit 0; }

# Each trigger is an answer that the shim sees and could take for more than it is.
cat >"$TMP/replaced.py" <<'EOF'
import ctypes, errno, os, resource, sys
libc = ctypes.CDLL(None, use_errno=True)
d = os.getcwd()
f, q = d + "/f", d + "/q"
open(f, "w").close()
os.mkdir(d + "/sub")

def fails(call):
    try: call()
    except OSError: return
    raise SystemExit("did not fail")

def raw(*args):
    if libc.syscall(*args) != -1:
        raise SystemExit("a call that cannot be succeeded")

def no_numbers():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    fails(lambda: os.open(f, os.O_RDONLY))
    fails(lambda: os.mkdir(d + "/sub/z/"+"y"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))

SECCOMP, PRCTL = {"x86_64": (317, 157), "aarch64": (277, 167)}[os.uname().machine]
triggers = {
    "nothing": lambda: None,
    "a directory made below another": lambda: os.mkdir(d + "/sub/x"),
    "attributes of a path": lambda: os.chmod(d + "/sub", 0o755),
    "EPERM of O_NOATIME": lambda: os.geteuid() and fails(lambda: os.open("/etc/passwd", os.O_RDONLY | os.O_NOATIME)),
    "ELOOP": lambda: (os.symlink("l", d + "/l"), fails(lambda: os.open(d + "/l", os.O_RDONLY))),
    "ENAMETOOLONG": lambda: fails(lambda: os.open("/" + "n" * 300, os.O_RDONLY)),
    "no descriptor left": no_numbers,
    "a filter by seccomp() that was refused": lambda: raw(SECCOMP, 1, 0, ctypes.c_void_p(8)),
    "a filter by prctl() that was refused": lambda: raw(PRCTL, 22, 2, ctypes.c_void_p(8), 0, 0),
}
triggers[sys.argv[1]]()
ready, go = os.pipe()
pid = os.fork()
if pid == 0:
    os.write(go, b"x")
    for i in range(20000):
        os.close(os.open(q, os.O_WRONLY | os.O_CREAT, 0o644))
        os.rename(q, f)
    os._exit(0)
os.read(ready, 1)
wrong = {}
for i in range(1500):
    try: os.close(os.open(f, os.O_RDONLY))
    except OSError as e: wrong[errno.errorcode[e.errno]] = wrong.get(errno.errorcode[e.errno], 0) + 1
os.kill(pid, 9)
os.waitpid(pid, 0)
print(wrong or "each was opened")
EOF

while IFS= read -r trigger; do
	fresh
	launch -q --deny-read '**/.env' -- python3 "$TMP/replaced.py" "$trigger"
	check "after $trigger" [ "$status $(cat "$TMP/out")" = '0 each was opened' ]
	cat "$TMP/out" "$TMP/err" >>"$TMP/seen"
done <<'EOF'
nothing
a directory made below another
attributes of a path
EPERM of O_NOATIME
ELOOP
ENAMETOOLONG
no descriptor left
a filter by seccomp() that was refused
a filter by prctl() that was refused
EOF

# The shim looks at symlinks again once a filter did not come: a name that leads to a denied file.
fresh
echo secret >.env
ln -s .env innocent
cat >"$TMP/link.py" <<'EOF'
import ctypes, os
ctypes.CDLL(None).syscall({"x86_64": 317, "aarch64": 277}[os.uname().machine], 1, 0, ctypes.c_void_p(8))
try: open("innocent")
except OSError as e: print(e.strerror)
EOF
launch --deny-read '**/.env' -- python3 "$TMP/link.py"
check 'a denied file by a link, after a filter that was refused' \
	[ "$(cat "$TMP/out")" = 'Permission denied' ]
check 'and it is told' grep -q 'denied read .*\.env' "$TMP/err"
