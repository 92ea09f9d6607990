#!/bin/bash
# OpenShell's compatibility table on hosts as they may be, and the calls that it forbids.
. "$(dirname "$0")/../support/e2e.sh"
HOST=$(dirname "$SBX")/mkhost

doc() # NAME COMPATIBILITY PATHS
{
	cat >"$TMP/$1.yaml" <<X
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [$3]
landlock: {compatibility: $2}
X
	chmod 600 "$TMP/$1.yaml"
}
system='/usr, /bin, /lib, /lib64, /etc, /proc'
for c in best_effort hard_requirement; do
	doc $c-all $c "$system"
	doc $c-one $c "$system, /nowhere/x"
	doc $c-none $c '/nowhere/x, /nowhere/y'
done
refused() # TEXT COMMAND...: nothing is run
{
	text=$1
	shift
	rm -f ran
	"$@" >"$TMP/err" 2>&1
	[ $? -eq 125 ] && [ ! -e ran ] && grep -qF -- "$text" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
told() # TEXT COMMAND...: it is run, after one line
{
	text=$1
	shift
	rm -f ran
	"$@" >"$TMP/err" 2>&1 && [ -e ran ] && [ "$(grep -cF -- "$text" "$TMP/err")" -eq 1 ] ||
		{ cat "$TMP/err"; return 1; }
}

# ---- the table: what is missing, and what each word makes of it ----
if [ -x "$HOST" ] && "$HOST" --no landlock=ENOSYS true 2>/dev/null; then
	check 'no Landlock, best_effort: told, and run' told 'loss: no Landlock' \
		"$HOST" --no landlock=ENOSYS "$SBX" -p "$TMP/best_effort-all.yaml" touch ran
	check 'no Landlock, hard_requirement: refused' refused 'no Landlock' \
		"$HOST" --no landlock=ENOSYS "$SBX" -p "$TMP/hard_requirement-all.yaml" touch ran
else
	skip 'a host without Landlock' 'mkhost cannot make it here'
fi
check 'a path missing, best_effort: told, and run' told \
	'/nowhere/x is left out (path does not exist): No such file or directory' \
	"$SBX" -p "$TMP/best_effort-one.yaml" touch ran
check 'a path missing, hard_requirement: refused' refused \
	'Landlock path unavailable in hard_requirement mode: /nowhere/x (path does not exist)' \
	"$SBX" -p "$TMP/hard_requirement-one.yaml" touch ran
check 'all missing, hard_requirement: refused' refused 'hard_requirement mode: /nowhere/x' \
	"$SBX" -p "$TMP/hard_requirement-none.yaml" touch ran
cp "$SBX" ./static # needs nothing that is not listed
check 'all missing, best_effort: a loss, and what is left open runs' eval \
	'"$SBX" -p "$TMP/best_effort-none.yaml" ./static --version >"$TMP/out" 2>"$TMP/err" &&
	grep -q "^sbx-launch: loss: .*no listed path is there" "$TMP/err" && grep -q ^sbx-launch "$TMP/out"'
check 'and nothing else does' eval '! "$SBX" -p "$TMP/best_effort-none.yaml" cat /etc/passwd 2>/dev/null'

# ---- why a path cannot be had ----
ln -s loop "$TMP/loop"
mkdir -p "$TMP/shut/in" && chmod 0 "$TMP/shut"
long=$(printf 'x%.0s' $(seq 300))
reason() # REASON PATH
{
	doc why best_effort "$system, \"$2\""
	told "$2 is left out ($1)" "$SBX" -p "$TMP/why.yaml" touch ran
}
check 'too many symlink levels' reason 'too many symlink levels' "$TMP/loop/x"
check 'path name too long' reason 'path name too long' "/$long"
check 'path component is not a directory' reason 'path component is not a directory' /etc/passwd/x
[ "$(id -u)" -eq 0 ] || check 'permission denied' reason 'permission denied' "$TMP/shut/in"
chmod 700 "$TMP/shut"

# ---- calls ----
cat >"$TMP/calls.py" <<'X'
import ctypes, errno, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    ctypes.set_errno(0)
    return "ok" if libc.syscall(*[ctypes.c_long(x) for x in a]) >= 0 else errno.errorcode[ctypes.get_errno()]
def sock(*a):
    try:
        socket.socket(*a).close()
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
NEWUSER = 0x10000000
# Sockets are refused as by a kernel that has none of the kind, so that programs fall back.
for name, got, want in (
    ("001 AF_PACKET", sock(17, socket.SOCK_RAW, 0), "EAFNOSUPPORT"),
    ("003 AF_VSOCK", sock(40, socket.SOCK_STREAM), "EAFNOSUPPORT"),
    ("007 AF_NETLINK 4", sock(16, socket.SOCK_RAW, 4), "EPROTONOSUPPORT"),
    ("008 AF_NETLINK 0", sock(16, socket.SOCK_RAW, 0), "ok"),
    ("012 ptrace", call(101, 0, 0, 0, 0), "EPERM"),
    ("013 bpf", call(321, 0, 0, 0), "EPERM"),
    ("014 process_vm_readv", call(310, os.getppid(), 0, 0, 0, 0, 0), "EPERM"),
    ("015 process_vm_writev", call(311, os.getppid(), 0, 0, 0, 0, 0), "EPERM"),
    ("016 io_uring_setup", call(425, 1, 0), "ENOSYS"),
    ("017 mount", call(165, 0, 0, 0, 0, 0), "EPERM"),
    ("018 umount2", call(166, 0, 0), "EPERM"),
    ("019 pivot_root", call(155, 0, 0), "EPERM"),
    ("020 setns", call(308, 0, 0), "EPERM"),
    ("022 fsopen", call(430, 0, 0), "ENOSYS"),
    ("022 fsconfig", call(431, 0, 0, 0, 0, 0), "ENOSYS"),
    ("022 fsmount", call(432, 0, 0, 0), "ENOSYS"),
    ("022 fspick", call(433, 0, 0, 0), "ENOSYS"),
    ("022 move_mount", call(429, 0, 0, 0, 0, 0), "ENOSYS"),
    ("022 open_tree", call(428, 0, 0, 0), "ENOSYS"),
    ("023 userfaultfd", call(323, 0), "EPERM"),
    ("023 perf_event_open", call(298, 0, 0, 0, 0, 0), "EPERM"),
    ("026 unshare", call(272, NEWUSER), "EPERM"),
    ("028 clone", call(56, NEWUSER | 17, 0, 0, 0, 0), "EPERM"),
    ("029 clone3", call(435, 0, 0), "ENOSYS"),
    ("031 read", call(0, os.open("/etc/passwd", os.O_RDONLY), 0, 0), "ok"),
):
    if got != want:
        print(name, got, "expected", want)
print("done")
X
if [ "$(uname -m)" = x86_64 ] && command -v python3 >/dev/null; then
	check 'its list of forbidden calls' out 'done' -p "$TMP/best_effort-all.yaml" \
		--also-read "$TMP/calls.py" -- python3 "$TMP/calls.py"
fi
