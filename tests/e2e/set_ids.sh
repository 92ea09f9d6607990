#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Set-id bits: directories may have them, which shared trees need; files may not, by any call, with a line
# that names the option which opens it.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"

# shared trees, as tools make them
tree()
{
	mkdir -p "$HOME/tree/sub" && echo f >"$HOME/tree/sub/f"
	chmod 2775 "$HOME/tree" "$HOME/tree/sub"
}
modes='find . -type d -not -path "./.git/*" | sort | xargs stat -c "%n %a"'
if command -v git >/dev/null; then
	same 'git init --shared' "git init -q --shared r && git -C r config core.sharedRepository && stat -c %a r/.git/objects"
fi
same_after 'cp -a of a shared tree' tree "cp -a ~/tree t && $modes"
same_after 'tar xp of a shared tree' tree "tar cf t.tar -C ~ tree && tar xpf t.tar && rm t.tar && $modes"
command -v rsync >/dev/null &&
	same_after 'rsync -a of a shared tree' tree "rsync -a ~/tree . && $modes"
same 'install -d and mkdir -m' "install -d -m 2775 a; mkdir -m 3775 b; $modes"
same 'what is made in a shared directory' "mkdir -m 2775 d; mkdir d/e; touch d/f; stat -c '%n %a' d d/e d/f"

# a program with somebody's rights is none any longer when it is opened to write
for how in '>helper' '>>helper' '<>helper' 'mapped'; do
	for bits in 4755 2755 6711; do
		cp /bin/true helper && chmod $bits helper || exit 1
		case $how in
		mapped) launch -- python3 -c 'import mmap; f = open("helper", "r+b"); m = mmap.mmap(f.fileno(), 0); m[0:4] = b"evil"; m.flush()' ;;
		*) launch -- sh -c "echo evil $how" ;;
		esac
		check "a set-id program is written to: $how, $bits" [ "$(stat -c %a helper)" = "${bits#?}" -a "$status" -eq 0 ]
		rm -f helper
	done
done
cp /bin/true helper && chmod 4755 helper && launch --allow setid -- sh -c ': >>helper'
check 'where set-id bits are allowed they stay until it is written' [ "$(stat -c %a helper)" = 4755 ]
launch -- sh -c 'cat helper >/dev/null; ./helper'
check 'and where it is read, or run' [ "$status" -eq 0 -a "$(stat -c %a helper)" = 4755 ]
rm -f helper

command -v python3 >/dev/null || { skip 'each call' 'python3 is not installed'; exit 0; }
cat >"$TMP/ids.py" <<'EOF'
import ctypes, errno, os, stat, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
os.umask(0)
OPENAT2, FCHMODAT2 = 437, 452
def ok(rc):
    if rc < 0: raise OSError(ctypes.get_errno(), "")
    return rc
def how(flags, mode): return ctypes.create_string_buffer(struct.pack("QQQ", flags, mode, 0))
n = 0
def fresh(directory=False):
    global n; n += 1
    name = "o%d" % n
    if directory: os.mkdir(name)
    else: open(name, "w").close()
    return name
def by_fd(name, mode):
    fd = os.open(name, os.O_RDONLY)
    try: os.fchmod(fd, mode)
    finally: os.close(fd)
def fchmodat2(name, mode):
    rc = libc.syscall(FCHMODAT2, -100, name.encode(), mode, 0)
    if rc < 0 and ctypes.get_errno() == errno.ENOSYS: os.chmod(name, mode)
    else: ok(rc)
changes = {
    "chmod": os.chmod,
    "fchmod": by_fd,
    "fchmodat": lambda name, mode: os.chmod(name, mode, dir_fd=os.open(".", os.O_RDONLY)),
    "fchmodat2": fchmodat2,
    "by /proc/self/fd": lambda name, mode: os.chmod("/proc/self/fd/%d" % os.open(name, os.O_RDONLY), mode),
}
makes = {
    "open": lambda name, mode: os.close(os.open(name, os.O_CREAT | os.O_WRONLY, mode)),
    "open to read": lambda name, mode: os.close(os.open(name, os.O_CREAT | os.O_RDONLY, mode)),
    "openat2": lambda name, mode: os.close(ok(libc.syscall(OPENAT2, -100, name.encode(), how(os.O_CREAT | os.O_WRONLY, mode), 24))),
    "mknod": lambda name, mode: os.mknod(name, stat.S_IFREG | mode),
    "mkfifo": os.mkfifo,
    "O_TMPFILE": lambda name, mode: os.close(os.open(".", os.O_TMPFILE | os.O_RDWR, mode)),
}
def answer(call, *args):
    try: call(*args)
    except OSError as e: return errno.errorcode[e.errno]
    return "done"
for mode in (0o4755, 0o2755, 0o6755):
    for name, call in changes.items():
        d, f = fresh(True), fresh()
        print(name, "%o" % mode, "directory", answer(call, d, mode), "%o" % (os.stat(d).st_mode & 0o7777))
        print(name, "%o" % mode, "file", answer(call, f, mode), "%o" % (os.stat(f).st_mode & 0o6000))
    for name, call in makes.items():
        new, old = "n%d" % n, fresh()
        print(name, "%o" % mode, "new", answer(call, new, mode), os.path.exists(new) and "%o" % (os.stat(new).st_mode & 0o6000))
        if "open" in name: print(name, "%o" % mode, "old", answer(call, old, mode))
print("mkdir", answer(os.mkdir, "m", 0o2755))
print("plain", answer(os.chmod, fresh(), 0o755))
EOF

bare_of() # what files may be, as a policy: the bits are refused, with EPERM
{
	sed -e '/ file /s/ done .*/ EPERM 0/' -e '/ new /s/ done .*/ EPERM False/'
}
fresh
python3 "$TMP/ids.py" >"$TMP/bare"
for how in '' --no-shim "--unix $HOME/none"; do
	fresh
	# shellcheck disable=SC2086
	launch $how -- python3 "$TMP/ids.py"
	bare_of <"$TMP/bare" >"$TMP/want"
	check "${how:-plain}: directories may, files may not" diff "$TMP/want" "$TMP/out"
	check "${how:-plain}: a line says so" grep -q 'denied set-id bits of .*: allow with --allow setid' "$TMP/err"
	fresh
	# shellcheck disable=SC2086
	launch -q $how --allow setid -- python3 "$TMP/ids.py"
	check "${how:-plain}: --allow setid" diff "$TMP/bare" "$TMP/out"
done
fresh
launch -q --audit-file "$TMP/log" -- sh -c 'touch f; chmod u+s f'
check 'the record says why' grep -q '"errno":1,"reason":"set-id"' "$TMP/log"
rm -f "$TMP/log"
