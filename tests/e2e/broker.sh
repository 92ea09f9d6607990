#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Denies inside what is allowed, held by the broker for programs without the shim as well: real
# programs, what stays on the host, the log.
. "$(dirname "$0")/../support/e2e.sh"

git_here()
{
	git init -q . && git config user.email t@example.org && git config user.name t
	mkdir -p src lib && echo one >src/a && echo two >lib/b && echo secret >app.env
	# not racily clean: git then looks at times, not at content
	touch -d 2020-01-01 src/a lib/b app.env
	git add -A && git commit -qm first
}
fresh
git_here
check 'the protected set is in the default policy' \
	grep -q 'Permission denied' <("$SBX" -qq --no-shim -- sh -c 'echo x >.git/hooks/pre-commit' 2>&1)
check 'and nothing was made' [ ! -e .git/hooks/pre-commit ]
launch -q --no-shim sh -c 'echo x >new && mv new newer && rm newer && mkdir d && rmdir d && ln -s a l && rm l'
check 'all else works without the shim' [ "$status" -eq 0 ]
launch -q --no-shim --deny-modify 'src/**' sh -c 'echo x >src/a; rm -rf src; mv src s2; : >lib/c'
check 'a denied tree keeps its files' grep -qx one src/a
check 'and its siblings can be changed' [ -e lib/c ]
launch -q --no-shim --deny-read '**/*.env' sh -c 'cat app.env; cat <app.env; cp app.env x; mv app.env y; ln app.env z; cat src/a'
check 'a denied pattern is not read, and not moved into reach' [ "$(cat "$TMP/out")" = one ]
check 'nothing of it is copied' [ ! -e y ] && [ ! -e z ]
rm -f x
mkdir -p "$HOME/.ssh" "$HOME/dots" && echo key >"$HOME/dots/key" && echo open >"$HOME/dots/other"
ln -sf ../dots/key "$HOME/.ssh/id_linked"
launch -q --no-shim sh -c 'cat ~/.ssh/id_linked; cat ~/dots/key; cat ~/dots/other'
check 'a secret that is a link is closed where it leads' [ "$(cat "$TMP/out")" = open ]
launch -q --no-shim --deny-read '**/*.env' sh -c 'echo new >late.env; cat late.env; mkdir -p deep/er; echo new >deep/er/x.env; cat deep/er/x.env'
check 'names that did not exist are denied, too' [ ! -s "$TMP/out" ]

for how in --no-shim ''; do
	# shellcheck disable=SC2086
	launch -q $how --deny-read '**/*.env' sh -c 'ls -l app.env 2>&1
		python3 -Ec "import os
print(os.listxattr(\"app.env\") is not None)
try: os.getxattr(\"app.env\", \"user.x\")
except PermissionError: print(\"content\")"'
	check "labels, access lists and names of attributes are free, values are not $how" \
		[ "$(sed 's/.* //' "$TMP/out" | tr '\n' ' ')" = 'app.env True content ' ]
done

# Real work under a read pattern and the protected set, as bare but for what is denied.
under='--deny-read **/*.env'
work() # NAME SCRIPT
{
	# shellcheck disable=SC2086
	same_after "$1" git_here "$2" -q $under
}
work 'git worktree' 'git worktree add -q --no-checkout "$TMPDIR/wt" && git -C "$TMPDIR/wt" checkout -q HEAD -- src lib && cat "$TMPDIR/wt/src/a"; git worktree prune'
work 'find and xargs' 'find . -name "[ab]" -print0 | sort -z | xargs -0 cat'
work 'a pipeline through a fifo' 'mkfifo p; echo hi >p & cat p; wait'
work 'process substitution' 'diff <(echo a) <(echo b)'
work 'compiling' 'echo "int main(void){return 0;}" >m.c && cc m.c -o m && ./m && echo ran'
work 'python' 'python3 -c "
import os, tempfile, pathlib, shutil, sqlite3
p = pathlib.Path(\"t\"); p.mkdir(); (p/\"a\").write_text(\"x\")
os.replace(p/\"a\", p/\"b\"); shutil.copytree(p, \"u\"); print(sorted(os.listdir(\"u\")))
with tempfile.NamedTemporaryFile() as f: f.write(b\"1\")
c = sqlite3.connect(\"db\"); c.execute(\"pragma journal_mode=wal\"); c.execute(\"create table t(a)\"); c.commit(); print(c.execute(\"select count(*) from t\").fetchall())
"'
work 'a server on a Unix socket' 'python3 -c "
import socket, threading
s = socket.socket(socket.AF_UNIX); s.bind(\"srv.sock\"); s.listen()
t = threading.Thread(target=lambda: s.accept()[0].sendall(b\"hi\")); t.start()
c = socket.socket(socket.AF_UNIX); c.connect(\"srv.sock\"); print(c.recv(2), s.getsockname()); t.join()
"'

# Directories that move: what lies in them decides, with the shim and without.
for how in --no-shim ''; do
	fresh
	mkdir -p sub src/a lib evil/hooks good/objects pkg/node_modules/x secrets test conf
	echo s >pkg/node_modules/x/a.env; echo s >secrets/k; echo s >conf/a.env; echo x >conf/b
	rules=(--deny-modify '**/.git/hooks/**' --deny-read 'secrets/**' --deny-read '**/*.env'
		--read 'test/**/*.env')
	# shellcheck disable=SC2086
	launch $how "${rules[@]}" sh -c '
		mv src lib2 && mv lib2/a lib2/b && mv lib2 src && echo tree
		mv pkg/node_modules pkg/.tmp-x && mv pkg/.tmp-x pkg/node_modules && echo npm
		mv good sub/.git && echo git
		mv evil other && mv other evil && echo there and back
		mkdir n && mv n sub/.git/n && mv sub/.git/n m && echo new'
	check "moving what may move works $how" \
		[ "$(tr '\n' ' ' <"$TMP/out")" = 'tree npm git there and back new ' ]
	rm -rf sub/.git
	# shellcheck disable=SC2086
	launch $how "${rules[@]}" sh -c 'mv evil sub/.git; mv secrets pub; mv conf test/conf; ls -A'
	check "what would escape or meet a rule stays $how" \
		[ -d evil/hooks ] && [ -d secrets ] && [ -d conf ] && [ ! -e sub/.git ]
	check "its rule is named to the person $how" \
		grep -q 'denied modify .*evil/hooks\|denied modify .*\.git/hooks (rule \*\*/\.git/hooks' "$TMP/err"
done
work 'git worktree move' 'git worktree add -q --no-checkout wt && git worktree move wt wt2 && git worktree list --porcelain | grep -c wt2; git worktree remove --force wt2'

# A socket of the host.
fresh
python3 -c '
import socket, time
s = socket.socket(socket.AF_UNIX); s.bind("host.sock"); s.listen()
open("ready", "w").close(); time.sleep(30)' &
server=$!
while [ ! -e ready ]; do :; done
launch -q --no-shim python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("host.sock")'
check 'a socket of the host is closed' grep -q 'Permission denied' "$TMP/err"
launch -q --unix host python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("host.sock")'
check 'unless sockets are opened' [ "$status" -eq 0 ]
launch -q --no-shim --unix host.sock python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("host.sock")'
check 'or this one is' [ "$status" -eq 0 ]
launch -q --no-shim --unix other.sock python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect("host.sock")'
check 'and not another' grep -q 'Permission denied' "$TMP/err"
kill $server

# The log.
fresh
run_log() # ARGS...: the log of a run
{
	launch "$@"
	cat "$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)/audit.jsonl"
}
run_log --no-shim --deny-modify 'keep/**' sh -c 'echo x >made; mkdir keep; echo x >keep/y' >"$TMP/log"
check 'what the broker performs is logged' grep -q '"path":"./made".*"layer":"broker"' "$TMP/log"
check 'what it refuses, too, with the rule' grep -q '"allowed":false,"matched_rule":"keep/\*\*".*"layer":"broker"' "$TMP/log"
run_log sh -c 'mkdir once; rmdir once' >"$TMP/log"
check 'what the shim tells is logged once' [ "$(grep -c '"op":"modify"' "$TMP/log")" -eq 2 ]

# Forty opens that wait are forty threads of the broker; when they have ended, those go.
fresh
cat >wait.py <<'P'
import os, threading, time
for i in range(40): os.mkfifo(f"p{i}")
ts = [threading.Thread(target=lambda i=i: open(f"p{i}", "w").close()) for i in range(40)]
[t.start() for t in ts]
open("waiting", "w").close()
while not os.path.exists("go"): time.sleep(.02)
for i in range(40): open(f"p{i}").read()
[t.join() for t in ts]
open("done", "w").close()
while not os.path.exists("end"): time.sleep(.02)
P
"$SBX" -q --timeout 60 -- python3 -B wait.py >"$TMP/out" 2>"$TMP/err" </dev/null &
launcher=$!
threads_are() # TEST NUMBER: of the broker, within twenty seconds
{
	for _ in $(seq 1000); do
		n=$(awk '/^Threads:/ { print $2 }' "/proc/$(pgrep -P $launcher -x sbx-broker)/status" 2>/dev/null)
		[ "${n:-0}" "$1" "$2" ] && return
		sleep 0.02
	done
	echo "$n threads"
	return 1
}
check 'each open that waits has a thread' threads_are -gt 40
touch go
check 'which goes when that has ended' threads_are -le 12
touch end
wait $launcher
check 'and all were answered' [ "$? $(ls done)" = '0 done' ]

# Who would look into the broker is told, whatever the policy says of /proc; and a descriptor that
# is no directory leads nowhere, as to the kernel.
fresh
cat >look.py <<'END'
import errno, os, socket
broker = os.environ["BROKER"]
for act in (lambda: os.truncate(f"/proc/{broker}/mem", 0), lambda: os.mkdir(f"/proc/{broker}/cwd/d"),
            lambda: os.getxattr(f"/proc/{broker}/environ", "user.x")):
    try:
        act()
    except PermissionError:
        print("refused")
try:
    made = socket.socket()
    os.mkdir("d", dir_fd=made.fileno())
except OSError as e:
    print(errno.errorcode[e.errno])
END
# the broker is a child of the launcher, as the command is
# shellcheck disable=SC2016
"$SBX" -qq --no-shim --isolate none -- sh -c \
	'BROKER=$(pgrep -P $PPID -x sbx-broker) exec python3 -B look.py' >"$TMP/out" 2>&1
check 'who would look into the broker is refused' [ "$(grep -c refused "$TMP/out")" -eq 3 ]
check 'and a socket is no directory' grep -qx ENOTDIR "$TMP/out"
cat "$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)/audit.jsonl" >"$TMP/log"
check 'and each of them is in the record' [ "$(grep -c '"path":"/proc/[0-9]*/\(mem\|cwd/*\|environ\)".*"allowed":false,"matched_rule":"<supervisor>"' "$TMP/log")" -ge 3 ]

# A file that has lost the name that led to it may have another.
fresh
cat >other.py <<'END'
import os
open("a", "w").close()
os.link("a", "b")
fd = os.open("b", os.O_RDWR)
os.unlink("b")
os.fchmod(fd, 0o640)
os.truncate(f"/proc/self/fd/{fd}", 7)
END
"$SBX" -q --no-shim -- python3 -B other.py
check 'a file is changed by its descriptor' [ "$(stat -c '%a %s' a)" = '640 7' ]
cat "$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)/audit.jsonl" >"$TMP/log"
check 'and the record names it as it was called' \
	[ "$(grep -c '"path":"./b",\("asked":"[^"]*",\)*"allowed":true.*"call":"\(fchmodat\|truncate\)","layer' "$TMP/log")" -eq 2 ]

# What is made beside a denied file can be executed.
fresh
echo s >.env
for shim in '' --no-shim; do
	"$SBX" -q $shim --deny-read .env -- sh -c 'cp /bin/true prog && ./prog && printf "#!/bin/sh\nexit 7\n" >run.sh &&
		chmod +x run.sh; ./run.sh; [ $? -eq 7 ] && ! cat .env' 2>/dev/null
	check "a program that is made beside a denied file runs $shim" [ $? -eq 0 ]
done
check 'who denies nothing there pays for no such opens' sh -c '! "$1" -v -- true 2>&1 | grep -q "all opens"' - "$SBX"
# However much lies beside it.
fresh
mkdir "$TMP/crowd"
(cd "$TMP/crowd" && seq 1100 | xargs touch && echo secret >key && echo open >other)
"$SBX" -q --no-shim --deny-read "$TMP/crowd/key" -- sh -c 'cat "$1/other"; cat "$1/key"' - "$TMP/crowd" >"$TMP/out" 2>/dev/null
check 'a denied file in a crowd is closed, and the crowd is not' [ "$(cat "$TMP/out")" = open ]
rm -rf "$TMP/crowd"

# What was written and closed is executed at once: the broker holds it no more (ETXTBSY).
cat >busy.c <<'C'
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
	int busy = 0;

	for (int i = 0; i < 800; i++) {
		int fd = open("run", O_WRONLY | O_CREAT | O_TRUNC, 0755), status;
		if (write(fd, "#!/bin/true\n", 12) != 12 || close(fd) < 0)
			return 2;
		pid_t pid = vfork();
		if (pid == 0) {
			execl("./run", "run", (char *)0);
			_exit(1);
		}
		waitpid(pid, &status, 0);
		busy += status != 0;
	}
	return busy > 0;
}
C
gcc -O1 -o busy busy.c && "$SBX" -q --no-shim -- ./busy
check 'what was written is executed at once' [ $? -eq 0 ]

# However many wait for what never comes, the others go on.
cat >waiters.py <<'P'
import errno, os, socket, threading, time
errors = []
server = socket.socket(socket.AF_UNIX)
server.bind("s.sock")
server.listen(0)
os.mkfifo("f")
def wait(f):
    try:
        f()
    except OSError as e:
        errors.append(e.errno)
def connect():
    socket.socket(socket.AF_UNIX).connect("s.sock")
threading.stack_size(65536)
for i in range(130):
    for f in connect, lambda: os.open("f", os.O_RDONLY):
        threading.Thread(target=wait, args=(f,), daemon=True).start()
def go_on():
    for i in range(50):
        os.close(os.open("n%d" % i, os.O_CREAT | os.O_WRONLY))
    os._exit(0 if errors and set(errors) <= {errno.EAGAIN, errno.ENOMEM} else 1)
while len(errors) == 0:
    time.sleep(0.01)
go_on()
P
timeout 60 "$SBX" -qq --no-shim --deny-read '**/*.env' -- python3 waiters.py >"$TMP/out" 2>&1
check 'those who wait hold nobody up' [ $? -eq 0 ]

# What has lost its name is opened for no more than the descriptor was that led to it.
for shim in '' --no-shim; do
	fresh
	echo secret >z.env
	"$SBX" -q $shim --deny-read '**/*.env' -- \
		sh -c 'exec 3>>z.env; rm z.env; cat /proc/self/fd/3' >"$TMP/out" 2>"$TMP/err"
	check "a denied file is not read once its name is gone $shim" [ $? -ne 0 -a ! -s "$TMP/out" ]
done
# Another name left, and the directory called otherwise: the former path says nothing.
fresh
mkdir priv priv2
echo secret >priv/x
cp priv/x priv/w
cat >"$WS/names.py" <<'P'
import ctypes, os
libc = ctypes.CDLL(None)
held = os.open("priv/x", os.O_PATH)
writer = os.open("priv/w", os.O_WRONLY)
for name in "x", "w":
    os.link("priv/" + name, "priv/" + "yz"[name == "w"])
    os.unlink("priv/" + name)
    os.rename("priv/" + "yz"[name == "w"], "priv2/" + "yz"[name == "w"])
os.rename("priv", "pub")
for fd in held, writer:
    try:
        print(os.read(os.open("/proc/self/fd/%d" % fd, os.O_RDONLY), 9))
    except PermissionError:
        pass
    libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, b"named%d" % fd, 0x400)
    libc.linkat(fd, b"", -100, b"empty%d" % fd, 0x1000)
P
"$SBX" -qq --no-shim --deny-read 'priv/?' --deny-read 'priv2/?' -- python3 names.py >"$TMP/out" 2>&1
check 'nor once another name of it has moved on' [ $? -eq 0 -a ! -s "$TMP/out" -a -d pub ]
check 'nor can it be named anew' sh -c '! ls | grep -q "named\|empty"'
"$SBX" -qq --deny-read '**/*.env' -- python3 - >"$TMP/out" 2>&1 <<'P'
import errno, os
def refused(f):
    try:
        f()
    except OSError as e:
        return e.errno == errno.EACCES
    return False
def at(fd):
    return "/proc/self/fd/%d" % fd
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
os.write(os.open(at(fd), os.O_WRONLY), b"hello")
assert os.read(os.open(at(fd), os.O_RDONLY), 9) == b"hello"
f = open("a", "w+")
os.unlink("a")
os.open(at(f.fileno()), os.O_RDWR)
os.truncate(at(f.fileno()), 0)
os.fchmod(f.fileno(), 0o600)
open("ro", "w").close()
r = os.open("ro", os.O_RDONLY)
os.unlink("ro")
os.open(at(r), os.O_RDONLY)
assert refused(lambda: os.open(at(r), os.O_WRONLY))
assert refused(lambda: os.fchmod(r, 0o600))
m = os.memfd_create("m")
os.open(at(m), os.O_RDWR)
os.mkdir("dd")
d = os.open("dd", os.O_RDONLY)
os.rmdir("dd")
os.open(".", os.O_RDONLY, dir_fd=d)
P
check 'temporary files without a name are used as ever' [ $? -eq 0 ]

# A link does not stand for a protected directory.
fresh
mkdir -p evil/hooks
"$SBX" --no-shim -- sh -c 'ln -s evil .claude; ln -s evil x; mv -T x .claude; ln x .claude; [ ! -e .claude ]' \
	>"$TMP/out" 2>"$TMP/err"
check 'no symlink takes the place of .claude, made, moved or linked' [ $? -eq 0 ]
check 'nothing of it is left' [ ! -L .claude ]
check 'and it is told, by the rule that it would get around' grep -q 'denied modify .*/\.claude (rule \.claude/' "$TMP/err"
"$SBX" -q -- sh -c 'ln -s evil a && ln -s /usr/include b && mv a c && mkdir d && ln -s ../evil d/e && mv d f'
check 'other links are made and moved' [ $? -eq 0 ]
"$SBX" -q --deny-modify '**/*.env' -- sh -c 'ln -s evil g && ln -s ../evil f/h && mv g i && mv f j'
check 'also where a pattern may match below any of them' [ $? -eq 0 ]

# What a program names is started or mapped with it: judged as well.
fresh
cp /bin/true den.env
printf '#!%s\n' "$PWD/den.env" >script
printf '#!/bin/sh\nexec ./script\n' >outer
chmod +x script outer
printf 'int main(void){return 0;}\n' >"$TMP/n.c"
cc -o loaded "$TMP/n.c" -Wl,--dynamic-linker="$PWD/den.env"
for program in ./script ./loaded; do
	"$SBX" -q --deny-read '**/*.env' -- $program >"$TMP/out" 2>"$TMP/err"
	check "$program names a denied program: not started" [ $? -eq 126 ]
	check 'which is named' grep -q 'den.env' "$TMP/err"
done
"$SBX" -q --no-shim --deny-read '**/*.env' -- sh -c './script; a=$?; ./loaded; echo $a $?' >"$TMP/out" 2>/dev/null
check 'nor from inside' grep -qx '126 126' "$TMP/out"
rm -f den.env && printf 'int main(void){return 0;}\n' | cc -x c -o fine - && printf '#!%s\n' "$PWD/fine" >script
"$SBX" -q --deny-read '**/*.env' -- ./script
check 'an allowed one is' [ $? -eq 0 ]

# A thread with a umask of its own becomes the process.
fresh
cat >own.c <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile int has_made;

static int make(const char *name)
{
	return close(open(name, O_WRONLY | O_CREAT | O_EXCL, 0666));
}

static void *go(void *arg)
{
	unshare(CLONE_FS);
	umask(077);
	while (!has_made)
		usleep(1000);
	execl("/proc/self/exe", "own", "again", (char *)NULL);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	(void)argv;
	if (argc > 1)
		return make("second");
	umask(022);
	pthread_create(&t, NULL, go, NULL);
	usleep(100000);
	make("before");
	make("first");
	has_made = 1;
	for (;;)
		pause();
}
END
gcc -pthread -o own own.c
"$SBX" -q -- ./own
check 'and its files have that one' [ "$(stat -c %a first second | xargs)" = '644 600' ]

# Its death.
fresh
cat >die.sh <<'END'
echo $$ >pid
while [ ! -e go ]; do sleep 0.02; done
mkdir after || echo refused
sleep 30
END
"$SBX" -q -- sh die.sh >"$TMP/out" 2>"$TMP/err" &
launcher=$!
while [ ! -s pid ]; do sleep 0.02; done
broker=$(pgrep -P $launcher -x sbx-broker)
kill -9 "$broker"
touch go
wait $launcher
status=$?
check 'a run whose broker dies ends with 125' [ "$status" -eq 125 ]
check 'and says so' grep -q 'E_FLOOR: the broker died' "$TMP/err"
check 'and nothing was allowed since' [ ! -e after ]
exit 0
