#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Directories deeper than the kernel has a path for (PATH_MAX): reached by one short chdir(2)
# after the other, judged by their whole path, with and without the shim and the broker.
. "$(dirname "$0")/../support/e2e.sh"

cat >"$TMP/deep.py" <<'END'
import os, subprocess, sys, threading
NAME, LEVELS = "d" * 100, 41
def down(make):
    for _ in range(LEVELS):
        if make:
            os.mkdir(NAME)
        os.chdir(NAME)
def put(name, text="x"):
    with open(name, "w") as f:
        f.write(text)
def get(name):
    with open(name) as f:
        return f.read()
def sh(script):
    sys.stdout.flush(); subprocess.run(["sh", "-c", script], stderr=subprocess.DEVNULL)
def say(what, act):
    try:
        print(what, act())
    except OSError as e:
        print(what, e.strerror)
END
cat >"$TMP/make.py" <<'END'
from deep import *
down(True); put("bottom"); put("a.env", "secret"); put("tool", "#!/bin/sh\necho ran\n")
os.chmod("tool", 0o755); os.mkdir("sub"); put("sub/f"); put("sub/b.env", "secret")
END
cat >"$TMP/use.py" <<'END'
from deep import *
down(len(sys.argv) > 1)
put("new"); say("read", lambda: get("new")); os.rename("new", "newer"); os.link("newer", "hard")
say("same", lambda: os.path.samefile("newer", "hard")); os.unlink("hard")
os.symlink("newer", "l"); say("link", lambda: get("l")); os.mkfifo("fifo"); os.mkdir("dir")
put("l", "through"); say("through", lambda: get("newer"))
say("dots", lambda: get("../" + NAME + "/newer"))
say("dot", lambda: get("dir/../newer")); say("list", lambda: sorted(os.listdir(".")))
fd = os.open("dir", os.O_RDONLY)
with os.fdopen(os.open("at", os.O_CREAT | os.O_RDWR, 0o600, dir_fd=fd), "w") as f:
    f.write("y"); os.fchmod(f.fileno(), 0o640); os.utime(f.fileno(), (1, 1))
say("mode", lambda: oct(os.stat("at", dir_fd=fd).st_mode))
os.chmod("dir/at", 0o600); os.truncate("dir/at", 0); os.utime("dir/at", (2, 2))
os.rename("dir/at", "moved"); os.rename("dir", "dir2"); os.rmdir("dir2")
os.mkdir("x"); put("x/f"); os.rename("x", "../x"); os.rename("../x", "x2"); say("moved", lambda: get("x2/f"))
for name in ("new\nline", "looks\\012so", "is (deleted)"):
    put(name); os.link(name, "other"); fd = os.open(name, os.O_RDWR); os.unlink("other")
    say(repr(name), lambda: os.fchmod(fd, 0o600)); os.unlink(name)
    say("no name", lambda: os.fchmod(fd, 0o600))
say("none", lambda: get("none")); say("not a directory", lambda: get("newer/x"))
say("is one", lambda: get("x2")); say("slash", lambda: get("newer/"))
say("too long", lambda: put("n" * 256))
def many(i):
    for n in range(20):
        put(f"t{i}.{n}"); os.unlink(f"t{i}.{n}")
    put(f"t{i}")
threads = [threading.Thread(target=many, args=(i,)) for i in range(8)]
[t.start() for t in threads]; [t.join() for t in threads]
say("threads", lambda: len([n for n in os.listdir(".") if n[0] == "t"]))
# a shell without the shim does not find its own directory, and says so
sh("echo 'echo ran' >s; sh ./s; printf '#!/bin/sh\necho script\n' >s2; chmod +x s2; ./s2")
END
use="PYTHONDONTWRITEBYTECODE=1 python3 '$TMP/use.py' make"

same 'files are made, read, moved, removed' "$use" -q
same 'without the shim' "$use" -q --no-shim
same 'with every open in the broker' "$use" -q --deny-read '**/*.env'
same 'with every open in the broker, without the shim' "$use" -q --no-shim --deny-read '**/*.env'
same 'getcwd' "python3 -c 'import sys; sys.path.insert(0, \"$TMP\"); sys.dont_write_bytecode = True
from deep import *; down(True); print(len(os.getcwd()) - len(\"$WS\"))'" -q
deep() { PYTHONDONTWRITEBYTECODE=1 python3 "$TMP/make.py"; }
tree='find . | sed "s/d\{9,\}/D/g" | sort'
for how in '' --no-shim; do
	# shellcheck disable=SC2086
	same_after "find, tar, rm -rf $how" deep "$tree; tar cf t.tar d* && tar tf t.tar | wc -l; rm -rf d*; ls" -q $how
done

# What is denied is so at any depth.
cat >"$TMP/denied.py" <<'END'
from deep import *
down(False)
os.symlink("a.env", "l"); fd = os.open("sub", os.O_RDONLY)
say("allowed", lambda: get("bottom"))
say("read", lambda: get("a.env")); say("by a link", lambda: get("l"))
say("by dots", lambda: get("sub/../a.env")); say("below", lambda: get("sub/b.env"))
say("at", lambda: os.open("b.env", os.O_RDONLY, dir_fd=fd))
say("by proc", lambda: get(f"/proc/self/fd/{os.open('a.env', os.O_PATH)}"))
say("rename", lambda: os.rename("a.env", "y")); say("link", lambda: os.link("a.env", "z"))
say("up", lambda: os.rename("a.env", "../../../y"))
say("write", lambda: put("keep.ro")); say("make", lambda: os.mkdir("dir.ro"))
say("chmod", lambda: os.chmod("sub/g.ro", 0o777)); say("unlink", lambda: os.unlink("sub/g.ro"))
say("fchmod", lambda: os.fchmod(os.open("sub/g.ro", os.O_RDONLY), 0o777))
say("fchmod of another", lambda: os.fchmod(os.open("sub/f", os.O_RDONLY), 0o600))
say("onto", lambda: os.rename("bottom", "h.ro"))
sh("./tool; cat a.env")
END
cat >"$TMP/denied.want" <<'END'
allowed x
read Permission denied
by a link Permission denied
by dots Permission denied
below Permission denied
at Permission denied
by proc Permission denied
rename Permission denied
link Permission denied
up Permission denied
write Permission denied
make Permission denied
chmod Permission denied
unlink Permission denied
fchmod Permission denied
fchmod of another None
onto Permission denied
ran
END
for how in '' --no-shim; do
	fresh
	deep && PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$TMP python3 -c 'from deep import *; down(False); put("sub/g.ro")'
	# shellcheck disable=SC2086
	launch $how --deny-read '**/*.env' --deny-modify '**/*.ro' python3 -B "$TMP/denied.py"
	check "denied at depth $how" diff "$TMP/denied.want" "$TMP/out"
	log=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)/audit.jsonl
done
# Every length about the one the kernel knows no more.
cat >"$TMP/edge.py" <<'END'
from deep import *
import deep
deep.LEVELS = 38; down(True)
here = len(os.getcwd()); ok = 0; bad = []
def refused(act):
    try:
        act()
    except PermissionError:
        return True
for length in range(4088, 4102):
    name = "n" * 200; rest = "m" * (length - here - 202)
    os.makedirs(f"{name}/{rest}"); os.chdir(name); os.chdir(rest)
    put("f"); put("x.env"); os.mkdir("d"); os.rename("f", "d/g"); os.rename("d", "e")
    fd = os.open("e/g", os.O_RDWR); os.fchmod(fd, 0o600); os.chmod("e/g", 0o644); os.close(fd)
    good = get("e/g") == "x" and refused(lambda: get("x.env")) and refused(lambda: os.rename("x.env", "y"))
    good = good and refused(lambda: get("e/../x.env")) and refused(lambda: get(f"../{rest}/x.env"))
    good = good and sorted(os.listdir(".")) == ["e", "x.env"]
    os.unlink("x.env"); os.unlink("e/g"); os.rmdir("e")
    os.chdir("../.."); os.removedirs(f"{name}/{rest}")
    ok += good; bad += [] if good else [length]
print(ok, bad)
END
for how in '' --no-shim; do
	fresh
	# shellcheck disable=SC2086
	launch -q $how --deny-read '**/*.env' python3 -B "$TMP/edge.py"
	check "each length about PATH_MAX $how" [ "$(cat "$TMP/out")" = '14 []' ]
done

check 'a cut path is marked, with the rule of the whole one' \
	grep -q '"truncated":true,"allowed":false,"matched_rule":"\*\*/\*.env","rule":"cli:--deny-read:1"' "$log"
check 'and none is told under a wrong name' \
	sh -c "! grep -qE '\"path2?\":\"(/|\./)?(a.env|keep.ro|bottom)\"' '$log'"
check 'the log is as its schema says' python3 "$(dirname "$0")/validate_log.py" "$log"
fresh
deep && launch -q --deny-read '**/tool' python3 -B -c "import sys; sys.path.insert(0, '$TMP')
from deep import *; down(False); os.execv('./tool', ['tool'])"
check 'and what may not be executed' grep -q 'Permission denied' "$TMP/err"

# Beyond what is held of a path: refused, never judged by a part of it.
fresh
launch -q --deny-read '**/*.env' python3 -B -c "import sys; sys.path.insert(0, '$TMP')
from deep import *
import deep
deep.LEVELS = 250; deep.NAME = 'e' * 250; down(True)"
check 'a path beyond 60 KiB is refused' grep -q 'File name too long' "$TMP/err"
exit 0
