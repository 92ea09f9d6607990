#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the command may not read it does not read either when it has prepared the name: by an old
# descriptor, a second name, or a link. The host writes to the name in place, as editors and `>` do.
. "$(dirname "$0")/../support/e2e.sh"

# Each in a directory of its own; what is read when the host has written is printed.
cat >"$TMP/window.py" <<'PY'
import ctypes, os, time
def write(p, text="dummy\n"):
    open(p, "w").write(text)
    return p
def read(at):
    if isinstance(at, int): return " ".join(os.listdir(at))
    if isinstance(at, str): return open(at).read()
    if at.seekable(): os.lseek(at.fileno(), 0, os.SEEK_SET)
    return os.read(at.fileno(), 99).decode()
def opened(p):
    fds.append(open(write(p), "r+"))
    return p
def name(p):
    names.append(write(p))
    return p
def link_of(fd):
    fds.append(os.fdopen(fd, "r+"))
    os.link("/proc/self/fd/%d" % fd, "s/.env", src_dir_fd=fd, follow_symlinks=True) # linkat(2)
def rename(): os.rename(opened("f"), "s/.env")
def rename_over(): os.rename(opened("f"), write("s/.env"))
def link(): os.link(name("f"), "s/.env")
def link_by_descriptor(): link_of(os.open(write("f"), os.O_RDWR))
def link_without_name(): link_of(os.open("s", os.O_TMPFILE | os.O_RDWR, 0o600))
def symlink(): os.symlink("../" + name("f"), "s/.env")
def symlink_to_nothing():
    names.append("later")
    os.symlink("../later", "s/.env")
def symlink_moved():
    os.symlink("../" + name("f"), "s/l")
    os.rename("s/l", "s/.env")
def symlink_linked():
    os.symlink("../" + name("f"), "s/l")
    os.link("s/l", "s/.env", follow_symlinks=False)
def exchange():
    if ctypes.CDLL(None, use_errno=True).renameat2(-100, opened("f").encode(), -100, write("s/.env").encode(), 2):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
def fifo():
    os.mkfifo("f")
    fds.append(os.fdopen(os.open("f", os.O_RDWR | os.O_NONBLOCK), "r"))
    os.rename("f", "s/.env")
def directory(): # with what a pattern names below it
    os.mkdir("d")
    opened("d/k")
    os.rename("d", "hidden")
def directory_listed():
    os.mkdir("d")
    names.append(os.open("d", os.O_RDONLY))
    os.rename("d", "hidden")
def directory_deep(): # the directory itself is nothing that a rule names
    os.makedirs("d/deep")
    opened("d/deep/key")
    os.rename("d", "lit")
def directory_led():
    os.makedirs("pub/deep")
    names.append("pub/deep/key")
    os.symlink("pub", "lit")
ways = [rename, rename_over, link, link_by_descriptor, link_without_name, symlink, symlink_to_nothing, symlink_moved,
        symlink_linked, exchange, fifo, directory, directory_listed, directory_deep, directory_led]
top, found = os.getcwd(), {}
for way in ways:
    fds, names = [], []
    os.makedirs(top + "/" + way.__name__ + "/s")
    os.chdir(top + "/" + way.__name__)
    try:
        way()
        said = "made"
    except OSError as e:
        said = e.strerror
    found[way] = fds, names, said
os.chdir(top)
open("ready", "w").close()
for _ in range(400):
    if os.path.exists("go"): break
    time.sleep(0.05)
for way, (fds, names, said) in found.items():
    os.chdir(top + "/" + way.__name__)
    print(way.__name__, said, end=":")
    for at in fds + names:
        try:
            print("", read(at).strip(), end="")
        except OSError as e:
            print("", e.strerror, end="")
    print()
PY

# The host writes where it can.
host()
{
	for _ in $(seq 400); do
		[ -e ready ] && break
		sleep .05
	done
	for d in */; do
		case $d in
		directory_deep/ | directory_led/) name=$d/lit/deep/key ;;
		directory*) name=$d/hidden/SECRET ;;
		*) name=$d/s/.env ;;
		esac
		mkdir -p "${name%/*}"
		timeout 2 sh -c "echo SECRET >$name; [ ! -e $d/hidden ] || echo SECRET >$d/hidden/k" 2>/dev/null
	done
	touch go
}

tried() # COMMAND...: runs it beside the host; $TMP/out has what was read
{
	fresh
	cp "$TMP/window.py" .
	host &
	"$@" python3 window.py >"$TMP/out" 2>"$TMP/err" </dev/null
	wait
	sed 's/^/# /' "$TMP/out" "$TMP/err"
}

names=(--deny-read '**/.env' --deny-read '**/hidden/**' --deny-read "$WS/directory_deep/lit/deep/key" --deny-read "$WS/directory_led/lit/deep/key")
tried
check 'without us each of them is a window' [ "$(grep -c SECRET "$TMP/out")" -eq 15 ]
for how in --no-shim ''; do
	# shellcheck disable=SC2086
	tried "$SBX" -q "${names[@]}" $how --
	check "there is none $how" [ "$(grep -c : "$TMP/out")" -eq 15 -a "$(grep -c SECRET "$TMP/out")" -eq 0 ]
	for way in rename rename_over; do
		check "$way is done $how" grep -q "^$way made: dummy" "$TMP/out"
	done
	check "the others are refused $how" [ "$(grep -c 'Permission denied:' "$TMP/out")" -eq 13 ]
done

# ---- tools that save so ----
fresh
mkdir sub
# shellcheck disable=SC2086
cat >save.py <<'PY'
import os, stat
def save(text):
    with open(".env.tmp", "w") as f:
        f.write(text)
    os.chmod(".env.tmp", 0o640)
    os.setxattr(".env.tmp", "user.note", b"kept")
    os.utime(".env.tmp", (1000, 2000))
    before = os.stat(".env.tmp").st_ino
    os.replace(".env.tmp", ".env")
    st = os.stat(".env")
    print(oct(st.st_mode & 0o7777), int(st.st_mtime), st.st_size, st.st_ino != before, os.listxattr(".env") == ["user.note"])
save("first\n"); save("second one\n")
try:
    open(".env"); print("read")
except PermissionError:
    print("denied")
print(sorted(n for n in os.listdir(".") if "env" in n or "sbx" in n))
PY
python3 -c 'import os; open("x","w"); os.setxattr("x","user.note",b"1")' 2>/dev/null || sed -i 's/^    os.setxattr.*//; s/os.listxattr(".env") == .*)$/True)/' save.py
rm -f x
want="0o640 2000 6 True True
0o640 2000 11 True True
denied
['.env']"
for how in --no-shim ''; do
	rm -f .env
	check "an atomic save has what it saved $how" out "$want" --deny-read '**/.env' $how -- python3 save.py
	check "and it is there $how" [ "$(cat .env)" = 'second one' ]
	rm -f .env a
	launch -q --deny-read '**/.env' $how -- sh -c 'echo A=1 >.env; echo A=2 >b; mv b .env; echo x >sub/f; mv sub/f sub/.env; mv -n sub/.env .env; ls -A'
	check "mv, over one and to a new one $how" [ "$status" -eq 0 -a "$(cat .env sub/.env)" = "A=2
x" ]
	launch --deny-read '**/.env' $how -- sh -c 'truncate -s 65M big; mv big .env'
	check "what is too large stays, and a line names the rule $how" sh -c "[ -e big ] && [ $status -ne 0 ] && grep -q 'denied read .*cli:--deny-read' '$TMP/err'"
	rm -f big .env sub/.env
	check "nothing of ours is left $how" [ -z "$(ls -A | grep '^\.sbx')" ]
	launch -q --deny-read '**/.env' $how -- sh -c 'echo 1 >a; echo 2 >s.env; mkdir d && echo 3 >d/f && ln -s f d/l && mv d e && ln a b && ln -s a c && ln -s ../usr/bin/env e2 && mv c c2 && cat e/l b c2'
	check "other moves and links go on $how" [ "$status" -eq 0 ]
	rm -rf a b c2 d e e2 s.env
done
