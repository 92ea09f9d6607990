#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shim alone, below the depth the kernel has a path for.
. "$(dirname "$0")/../support/shim.sh"

cat >use.py <<'END'
import os, sys, threading
for _ in range(41):
    os.chdir("d" * 100)
def say(what, act):
    try:
        print(what, act())
    except OSError as e:
        print(what, e.strerror)
def put(name):
    with open(name, "w") as f:
        return f.write("x")
for sub in "open", "shut":
    say(sub, lambda: (open(sub + "/f").read(), put(sub + "/f"))[0])
    say("list", lambda: os.listdir(sub)); say("make", lambda: put(sub + "/new"))
    say("rename", lambda: os.rename(sub + "/new", sub + "/newer")); say("chmod", lambda: os.chmod(sub + "/f", 0o600))
    say("link", lambda: open("to-" + sub).read()); say("dots", lambda: open(f"{sub}/../{sub}/f").read())
    say("unlink", lambda: os.unlink(sub + "/newer")); say("exec", lambda: os.spawnl(os.P_WAIT, sub + "/tool", "tool"))
say("in", lambda: os.rename("open/f", "shut/g")); say("out", lambda: os.rename("shut/f", "open/g"))
say("cwd", lambda: len(os.getcwd()) - len(sys.argv[1]))
END
python3 - <<'END'
import os
for _ in range(41):
    os.mkdir("d" * 100); os.chdir("d" * 100)
for sub in "open", "shut":
    os.mkdir(sub); open(sub + "/f", "w").write(sub); os.symlink(sub + "/f", "to-" + sub)
    open(sub + "/tool", "w").write("#!/bin/sh\nexit 3\n"); os.chmod(sub + "/tool", 0o755)
END
cat >want <<'END'
open open
list ['f', 'tool']
make 1
rename None
chmod None
link x
dots x
unlink None
exec 3
shut Permission denied
list Permission denied
make Permission denied
rename No such file or directory
chmod Permission denied
link Permission denied
dots Permission denied
unlink No such file or directory
exec 127
in Permission denied
out Permission denied
cwd 4141
END
deep=$T$(printf '/%0100d' $(seq 41 | sed 's/.*/0/') | tr 0 d)
run all --rule all:/ --rule "all:!$deep/shut/" -- python3 -B use.py "$T"
check 'the verdict is that of the whole path' diff - want <<<"$out"
check 'a denial is told of what fits' grep -qF "${deep:0:4095}" <(grep -E "^CALL.open.read.DENY.EACCES" "$log")
run all --rule all:/ --rule "all:!$T/f" --rule "all:!/f" -- python3 -B -c '
import os
for _ in range(41): os.chdir("d" * 100)
os.chdir("open"); print(open("f").read())'
check 'the rest of a path is not the path' [ "$out" = x ]
