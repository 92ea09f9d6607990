#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Failures that people reported of other tools, second part: documents of srt and OpenShell, kernels,
# mounts, git, languages and signals (tests/cases.tsv says which case is which test).
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/cases.sh"

srt() # DENYREAD ALLOWREAD ALLOWWRITE DENYWRITE: lists of JSON strings
{
	printf '{"network": {"allowedDomains": [], "deniedDomains": []},\n"filesystem": {"denyRead": [%s], "allowRead": [%s], "allowWrite": [%s], "denyWrite": [%s]}}\n' \
		"$@" >"$TMP/s.json"
	DOC=$TMP/s.json
	chmod 600 "$DOC"
}
own() # TEXT: a document as it is
{
	printf '%s\n' "$1" >"$TMP/own.yaml"
	DOC=$TMP/own.yaml
	chmod 600 "$DOC"
}
prints() # WANT ARGS...: the command's output, under the policy by default
{
	local want=$1
	shift
	launch -q "$@"
	[ "$(cat "$TMP/out")" = "$want" ] || { echo "status $status"; cat "$TMP/out" "$TMP/err"; return 1; }
}

# ---- srt ----

dead() { mkdir -p "$HOME/.tool/projects"; }
srt '' '' '".", "~/.tool/projects"' '"~/.tool"' && dead
check 'SRT-07: a grant inside what is denied stays closed' prints no -p "$DOC" -- sh -c 'touch ~/.tool/projects/p 2>/dev/null || echo no'
middle() { mkdir -p out dist/a && echo k >dist/a/keep && echo l >x.lock; }
held 'SRT-09: patterns in the middle of a denial' middle "srt '' '' '\"\$WS/out/**\", \".\"' '\"dist/*/keep\", \"*.lock\"'" \
	'for f in out/f dist/a/keep x.lock; do echo new >$f; done; mkdir -p dist/b && echo 4 >dist/b/keep; cat out/f dist/a/keep x.lock; ls dist/b' \
	$'new\nk\nl'
keys() { mkdir d && echo k | tee d/a.key >b.key && echo t >t; }
held 'SRT-10: a type of files may not be read' keys "srt '\"*.key\"' '' '\".\"' ''" 'cat d/a.key b.key t' t
lost() { mkdir secrets && echo S >secrets/f; }
held 'SRT-12: a denied read inside a denied write' lost "srt '\"./secrets/f\"' '' '\".\"' '\"./secrets\"'" \
	'cat secrets/f; echo x >secrets/g; ls secrets' f
settings() { mkdir -p "$HOME/.claude" && cd "$HOME/.claude" && prints up "$@" -- sh -c 'echo up; ls -A' && [ -z "$(ls -A)" ]; }
srt '' '' '"."' ''
check 'SRT-14: in a directory of settings, and nothing is made in it' settings -p "$DOC"
check 'SRT-14: under the policy by default as well' settings
trees()
{
	fresh
	git init -q -b main . && git config user.email t@example.org && git config user.name t && git commit -q --allow-empty -m i &&
		git worktree add -q -b old .claude/worktrees/old || return
	(cd .claude/worktrees/old && prints 1 "$@" -- sh -c 'echo e >e; git add e; git commit -qm m && git log --oneline | grep -c m$') &&
		prints 1 "$@" -- sh -c 'git worktree add -q -b n .claude/worktrees/n && cd .claude/worktrees/n && echo d >d && git add d && git commit -qm m && git log --oneline | grep -c m$'
}
check 'SRT-15: worktrees below the settings of an agent, old and new' trees
check 'SRT-15: with srt'"'"'s settings' trees -p "$DOC"
fresh
sed 's/denyRead/denyReed/' "$DOC" >"$TMP/typo.json" && chmod 600 "$TMP/typo.json"
check 'SRT-17: a key that is none is refused with its place and the likely name' sh -c \
	'! "$1" check "$2" >"$3" 2>&1 && grep -q "typo.json:2:15: .*denyRead.*is it .denyReed" "$3" || { cat "$3"; false; }' - "$POLICY" "$TMP/typo.json" "$TMP/err"
config() { rm -f "$HOME/.gitconfig"; git init -q -b main . && git config --global user.email t@example.org && git config --global user.name t && git commit -q --allow-empty -m i; }
held 'CFG-02: a file that is read and not written' config "srt '\"~\"' '\"~/.gitconfig\", \".\"' '' '\"~/.gitconfig\"'" \
	'git log --oneline | wc -l; git config --global a.b c; git config --global a.b' 1
rm -f "$HOME/.gitconfig"

# ---- OpenShell ----

soft="version: 1
filesystem_policy: {include_workdir: false, read_only: [/usr, /bin, /lib, /lib64, /etc, /nope, $WS/ro], read_write: [$WS/rw, /dev/null]}
landlock: {compatibility: best_effort}"
dirs() { mkdir ro rw && echo r >ro/f && echo b >"$HOME/.bashrc"; }
held 'OSH-03: a path that is missing drops nothing else' dirs "own \"\$soft\"" \
	"cd $WS; cat ro/f; for f in ro/g rw/g here; do echo x >\$f; done; ls; ls ro rw; cat ~/.bashrc" $'r\nro:\nf\n\nrw:\ng'
hard=hard_requirement
[ "$(id -u)" -ne 0 ] || hard=best_effort
own "version: 1
filesystem_policy: {read_only: [/usr, /bin, /lib, /lib64, /etc/hosts, /dev/stdin], read_write: [/dev/null, /dev/stdout, /dev/stderr]}
landlock: {compatibility: $hard}"
check 'OSH-04: files, devices and streams among the paths' sh -c '[ "$("$1" -p "$2" -- sh -c "echo o >/dev/stdout" 2>"$3" | cat)" = o ] || { cat "$3"; false; }' \
	- "$SBX" "$DOC" "$TMP/err"

# ---- temporary files ----

fresh
launch -v --unix host -- true
check 'NET-16: the sockets of the host are open in denied directories, too, and that is said' grep -q 'limit: connect: --unix host opens all Unix sockets' "$TMP/err"
launch -- sh -c 'echo x >"$0"' "/tmp/sbx-case-$$"
check 'TMP-06: what is made in /tmp by name is refused with its option' grep -q "allow with --modify /tmp/sbx-case-$$, or with --isolate pid,shm,tmp\$" "$TMP/err"
apart() { ("$SBX" -q --modify "$TMP" "$@" -- sh -c ": >'$TMP'/h.\$\$; sleep 1" & sleep .3; "$SBX" -q --modify "$TMP" "$@" -- sh -c "set -C; : >'$TMP'/h.\$\$"; echo $?; wait); }
check 'TMP-08: with a /tmp of its own a run meets no other' sh -c \
	'for i in 1 2; do "$0" -q --isolate pid,shm,tmp -- sh -c "set -C; : >/tmp/h.\$\$; sleep .5" & p="$p $!"; done; for i in $p; do wait $i || exit; done' "$SBX"
check 'TMP-08: runs that share a directory and the numbers of processes do not meet' sh -c '[ "$1" = 0 ] || echo "$1"' - "$(apart --isolate none)"

# ---- kernels ----

pipes() { printf 'n=0; while [ $n -lt 40 ]; do [ "$(sh -c "echo abc | cat | cat")" = abc ] || echo lost; n=$((n+1)); done; echo $n\n' >p.sh; }
works 'KRN-10: pipelines of three, many times' pipes "'\"x/**\"' '' $all" 'sh p.sh' 40
works 'KRN-11: a FIFO stops nobody else' : "'\"nope/**\"' '' $all" \
	'mkfifo f; (sleep .3; echo t >f) & cat f; wait; (cat f &); sleep .2; echo still; echo x >f; sleep .1' $'t\nstill\nx'
loader=$(ls /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 2>/dev/null | head -n 1)
secret() { mkdir sec && echo T >sec/k; }
held 'KRN-18: a program by its loader' secret "'\"sec/**\"' '' $all" "$loader /bin/cat sec/k; echo end" end
check 'KRN-22: a terminal is to be had' prints /dev/pts/0 -- sh -c 'script -qec tty /dev/null | tr -d "\r"'
launch --allow namespaces -- bwrap --dev-bind / / --unshare-user true
check 'KRN-22: mounts inside are refused, by their program'"'"'s own word' [ "$status" -ne 0 ]
if command -v bwrap >/dev/null && bwrap --bind / / true 2>/dev/null; then
	check 'KRN-23: nothing is made beside the grants, nor vanishes' prints '1 1 1 1 1' --backend bwrap -- sh -c \
		'for c in "mkdir /newdir" "touch /z" "mkdir /opt/y" "touch /dev/zz" "cp /dev/null /etc/zz"; do $c 2>/dev/null; [ $? -eq 0 ]; echo $?; done | xargs'
	links() { mkdir -p "$HOME/real" "$HOME/.config" "$HOME/realws" && ln -sfn "$HOME/real" "$HOME/.config/L" && ln -sfn "$HOME/realws" "$HOME/ws" && cd "$HOME/ws"; }
	linked() { links && prints ok --backend bwrap --modify "$HOME/.config/L" -- sh -c 'touch t && echo x >~/.config/L/f && ls -d /var/run/ >/dev/null && echo ok' && [ -e "$HOME/real/f" ]; }
	check 'KRN-24: links among what is granted' linked
fi
mkdir -p "$HOME/.local" && cp -r "$(dirname "$SBX")" "$HOME/.local/bin"
hidden() { [ "$("$HOME/.local/bin/sbx-launch" -q --deny-read '~' -- sh -c 'echo s; /bin/echo c' 2>"$TMP/err" | xargs)" = 's c' ] || { cat "$TMP/err"; return 1; }; }
check 'KRN-25: installed in what is denied' hidden
mkdir -p "$HOME/.ssh" && echo h >"$HOME/.ssh/known_hosts"
check 'KRN-26: the network of the host opens no file' prints '1 1 1' --network host -- sh -c \
	'for c in "cat $HOME/.ssh/known_hosts" "cp /dev/null /etc/zz" "cp /dev/null ../esc"; do $c >/dev/null 2>&1; echo $?; done | xargs'

# ---- git ----

unrelated() { git init -q -b main . && git config user.email t@example.org && git config user.name t && echo a >a; }
CASE_ARGS=(--deny-read /opt/none)
works 'GIT-06: git under denials that are not its own' unrelated "'\"secret/**\"' '' $all" \
	'git add a && git commit -qm m && git checkout -qb br && git stash list; git branch --show-current' br
CASE_ARGS=()

# ---- the shim and the record ----

fresh
LD_PRELOAD=1 launch -q -- echo ok
check 'PRE-14: rubbish to preload is the loader'"'"'s affair' sh -c '[ "$(cat "$1")" = ok ] && grep -q "cannot be preloaded" "$2"' - "$TMP/out" "$TMP/err"
# of files alone: a name server that is refused has a line of its own
launch --deny-read /etc/hosts -- getent -s files hosts localhost
check 'PRE-16: what the C library opens by itself is refused' [ "$status" -ne 0 ]
check 'PRE-16: and the summary does not say that nothing was' sh -c '"$1" | grep -qx "denied    none seen; refusals by Landlock inside the C library, and signals, are not seen"' - "${SBX%launch}audit"
launch --deny-read /etc/hosts -- cat /etc/hosts
check 'DIA-04: a line has path, rule and remedy' grep -q 'denied read /etc/hosts (rule /etc/hosts/\*\*, cli:--deny-read:1): allow with --read /etc/hosts' "$TMP/err"

# ---- languages, signals, streams ----

cat >fs.py <<'P'
import asyncio, multiprocessing as m, socket, threading
def f(x): return 2 * x
async def main():
    l = asyncio.get_running_loop(); e = asyncio.Event()
    threading.Thread(target=lambda: l.call_soon_threadsafe(e.set)).start()
    await e.wait()
    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    print((await p.communicate(b"z"))[0].decode())
if __name__ == "__main__":
    m.set_start_method("forkserver")
    with m.Pool(2) as p: print(p.map(f, [1, 2, 3]))
    with m.Manager() as g: d = g.dict(); d["a"] = 1; print(d)
    for t in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        a, b = socket.socketpair(socket.AF_UNIX, t)
        a.send(b"x"); a.sendmsg([b"y"]); print(b.recv(2), end=" ")
    asyncio.run(main())
P
if command -v python3 >/dev/null; then
	check 'PY-04, PY-05: forkserver, Manager, socket pairs, asyncio' prints "[2, 4, 6]
{'a': 1}
$(python3 -c 'import socket
for t in (1, 2, 5):
    a, b = socket.socketpair(1, t); a.send(b"x"); a.sendmsg([b"y"]); print(b.recv(2), end=" ")')z" -- python3 fs.py
fi
if command -v java >/dev/null && [ "$(id -u)" -ne 0 ]; then # seconds of work
	cat >L.java <<'J'
import java.net.*; import java.nio.channels.*;
public class L { public static void main(String[] a) throws Exception {
	Selector s = Selector.open(); ServerSocket l = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
	Socket c = new Socket(l.getInetAddress(), l.getLocalPort()); System.out.println("loopback-ok " + s.isOpen() + " " + c.isConnected()); System.exit(0); } }
J
	check 'JVM-01: selectors and loopback sockets of Java' prints 'loopback-ok true true' -- java L.java
fi
statuses() { for c in 'kill -TERM $$' 'kill -ABRT $$' 'exit 255'; do "$SBX" -qq -- sh -c "$c" >/dev/null 2>&1; printf '%s ' $?; done; }
check 'SIG-05: signals and statuses are as bare' [ "$(statuses)" = '143 134 255 ' ]
servers() { "$SBX" -qq -- sh -c 'setsid sleep 307.2 & nohup sleep 307.3 & :' >/dev/null 2>&1 && ! pgrep -u "$(id -u)" -fx 'sleep 307.[23]'; }
check 'SIG-08: servers that are left end with the run' servers
check 'SIG-08: a loop ends at its deadline' eval 'launch -q --timeout 1 -- sh -c "while :; do sleep .2; done"; [ $status -eq 124 ]'
streams() # BARE|SBX
{
	"$@" sh -c 'echo one >/dev/stderr; echo a | tee /dev/stderr; echo y >/proc/self/fd/1' 2>"$TMP/outside.log" | cat
	cat "$TMP/outside.log"
}
check 'STD-01: streams that are opened anew' [ "$(streams env)" = "$(streams "$SBX" -q --)" ]
exit 0
