#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What sbx-policy why says of many paths is what happens to them in a run.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
PROBE=$(dirname "$0")/why_probe.py

tree()
{
	mkdir -p src/gen/deep lib/keys docs .git/hooks 'odd [x]' out
	for d in src src/gen src/gen/deep lib lib/keys docs out 'odd [x]' .git .git/hooks .; do
		for f in a b.env c.key x.lock README config; do
			echo text >"$d/$f"
		done
	done
	ln -s src/a link && ln -s ../lib/keys docs/keys && ln -s c.key lib/alias.txt
}

# A line for each path and operation that the probe tried; what why says of them.
asked() # ARGS...
{
	for op in read modify; do
		"$POLICY" why -0 --json "$@" $op <"$TMP/paths" 2>"$TMP/why.err" >"$TMP/why.$op"
		[ $? -le 1 ] || { cat "$TMP/why.err"; return 1; }
	done
	# One answer a path, in the order of the paths.
	python3 - "$TMP" <<'P' >"$TMP/said"
import json, sys
t = sys.argv[1]
paths = [p for p in open(t + "/paths", "rb").read().decode().split("\0") if p]
for op in "read", "modify":
    for path, line in zip(paths, open(t + "/why." + op)):
        print(op, "allowed" if json.loads(line)["allowed"] else "denied", path)
P
}

agrees() # ARGS...: at least 200 answers, each as it turned out
{
	fresh
	tree
	python3 "$PROBE" draw . >"$TMP/paths"
	asked "$@" || return 1
	"$SBX" "$@" -- python3 "$PROBE" try <"$TMP/paths" >"$TMP/tried" 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
	sort "$TMP/said" >"$TMP/said.sorted"
	sort "$TMP/tried" >"$TMP/tried.sorted"
	[ "$(wc -l <"$TMP/tried")" -ge 200 ] &&
		[ "$(grep -c denied "$TMP/tried")" -ge 4 ] && [ "$(grep -c allowed "$TMP/tried")" -ge 50 ] ||
		{ wc -l "$TMP/tried"; head "$TMP/tried"; return 1; }
	# The probe leaves out what is not there to be read.
	comm -13 "$TMP/said.sorted" "$TMP/tried.sorted" >"$TMP/differ"
	[ ! -s "$TMP/differ" ] || { echo 'happened, but not said:'; head -n 20 "$TMP/differ"; return 1; }
}

# The command's own links in /proc, and what the kernel shows of others: as the run answers.
own_proc()
{
	fresh
	mkdir -p .git/hooks sub ~/.ssh && echo x >f && echo x | tee .git/hooks/h >~/.ssh/id_rsa && ln -s f link && ln -s ~/.ssh/id_rsa closed
	local p op does bad=0
	while read -r op p; do
		p=${p/#\~/$HOME}
		does=denied
		case $op in
		read) "$SBX" -qq -- sh -c 'if [ -d "$0" ]; then ls "$0"; else head -c 1 "$0"; fi' "$p" >/dev/null 2>&1 && does=allowed ;;
		modify) "$SBX" -q -- touch -c "$p" 2>/dev/null && "$SBX" -q -- sh -c ": >>$p" 2>/dev/null && does=allowed ;;
		esac
		why=$("$(dirname "$SBX")/sbx-policy" why "$op" "$p" 2>&1 | tail -n 1)
		[ "${why%% *}" = "$does" ] || { echo "$op $p: run $does, $why"; bad=1; }
	done <<'EOF'
read /proc/self/cwd/f
read /proc/self/cwd
read /proc/self/root/proc/self/cwd/f
read /proc/self/root/proc/1/environ
read /proc/self/exe
read /proc/self/cmdline
read /proc/self/task
read /proc/thread-self/cwd/f
read /proc/mounts
read /proc/cpuinfo
read /proc/sys/kernel/ostype
read /dev/null
read /dev/mem
read ~/.ssh/id_rsa
read ~/.ssh/../.ssh/id_rsa
read link
read closed
modify link
modify closed
modify /dev/null
modify /dev/full
modify /proc/self/oom_score_adj
modify /proc/sys/kernel/hostname
modify /etc/new
modify ~/new
read /proc/self/root/etc/shadow
read /proc/self/root/etc/passwd
read /proc/thread-self/root/etc/passwd
read /proc/self/status
read /proc/self/environ
read /proc/1/environ
read /proc/1/status
read /proc/1/maps
modify /proc/self/cwd/f
modify /proc/self/cwd/new
modify /proc/self/cwd/sub/../new2
modify /proc/self/cwd/.git/hooks/h
modify /proc/self/root/etc/passwd
modify /proc/self/cwd/../outside
modify /proc/1/oom_score_adj
EOF
	return $bad
}
check 'own links in /proc, other processes, links and devices' own_proc

# Sockets and endpoints: as connect(2) ends.
sockets()
{
	fresh
	local n args what does why
	python3 -c 'import os, socket, sys, time
s = []
for p in ("in.sock", sys.argv[1] + "/out.sock"):
    if os.path.exists(p): os.unlink(p)
    k = socket.socket(socket.AF_UNIX); k.bind(p); k.listen(9); s.append(k)
open("ready", "w").close()
while not os.path.exists("over"): time.sleep(.05)' "$HOME" &
	for n in $(seq 200); do [ -e ready ] && break; sleep .05; done
	local bad=0
	while IFS='|' read -r args what; do
		what=${what/#\~/$HOME} args=${args//\~/$HOME} does=denied
		# shellcheck disable=SC2086
		"$SBX" -qq $args -- python3 -c 'import socket, sys
t = sys.argv[1]
if "/" in t: socket.socket(socket.AF_UNIX).connect(t)
else:
    try: socket.create_connection((t.rsplit(":", 1)[0].strip("[]"), t.rsplit(":", 1)[1]), 5)
    except ConnectionRefusedError: pass' "$what" >"$TMP/did" 2>&1 && does=allowed
		# shellcheck disable=SC2086
		why=$("$POLICY" why $args connect "$what" 2>&1 | tail -n 1)
		[ "${why%% *}" = $does ] || { echo "connect $what $args: run $does, $why"; tail -n 1 "$TMP/did"; bad=1; }
	done <<'EOF'
|./in.sock
|~/out.sock
--unix host|~/out.sock
--unix ~/out.sock|~/out.sock
--unix ~/other|~/out.sock
|192.0.2.7:9
--network host|127.0.0.1:9
|127.0.0.1:9
|localhost:9
|[::1]:9
|0.0.0.0:9
--connect 192.0.2.8:9|127.0.0.1:9
--deny-connect 127.0.0.1:9 --connect 192.0.2.8:9|127.0.0.1:9
--local 9|127.0.0.1:9
--local 9|127.0.0.1:10
--network watch|127.0.0.1:9
--connect 192.0.2.8:9|192.0.2.7:9
--connect 192.0.2.0/24:9 --deny-connect 192.0.2.7:9|192.0.2.7:9
EOF
	touch over
	wait
	return $bad
}
if command -v python3 >/dev/null; then
	check 'sockets and endpoints' sockets
fi

# Relative paths, from the directory in which a command would open them.
relative()
{
	local dir op p does bad=0 other=$HOME/other
	fresh
	git init -q . && mkdir -p sub/deep .git/hooks "$other" && ln -sfn "$other" sub/out && echo x | tee f sub/g "$other/o" >.git/hooks/h
	while read -r dir op p; do
		cd "$WS/$dir" || return 1
		does=denied
		case $op in
		read) "$SBX" -qq --deny-read sub/g -- head -c 1 "$p" >/dev/null 2>&1 && does=allowed ;;
		modify) "$SBX" -qq --deny-read sub/g -- sh -c ': >>"$0"' "$p" 2>/dev/null && does=allowed ;;
		esac
		why=$("$POLICY" why --deny-read sub/g "$op" "$p" 2>&1 | tail -n 1)
		[ "${why%% *}" = "$does" ] || { echo "in $dir: $op $p: run $does, $why"; bad=1; }
	done <<'EOF'
. read sub/../f
. read sub/deep/../../f
. read sub/../sub/g
sub read g
sub read ../f
sub read ./../sub/g
sub/deep read ../g
sub modify ../.git/hooks/h
. modify sub/../.git/hooks/h
. modify sub/out/../other/o
sub modify ../../beside
sub modify out/o
sub modify new
EOF
	cd "$WS/sub" || return 1
	[ "$(find . -name g -print0 | "$POLICY" why -0 --deny-read sub/g read)" != "$("$POLICY" why --deny-read sub/g read ../f)" ] || bad=1
	"$POLICY" why read ../f | grep -qF ' ./f ' && "$POLICY" why read deep/.. | grep -qF ' ./sub ' && "$POLICY" why modify ../../x | grep -qF " ${WS%/*}/x " || { echo 'shown otherwise'; bad=1; }
	return $bad
}
check 'relative paths' relative

umask 077
cat >"$TMP/globs.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: globs}
spec:
  denyRead: ["**/*.env", "lib/keys/**"]
  denyModify: ["**/*.env", "**/*.lock", "lib/keys/**", "!lib/keys/a"]
  fsProfiles:
    writer:
      read: ["**", "!docs/README"]
      modify: ["src/**", "!src/gen/*", "lib/**", "out", "*.key", "docs/?.md"]
X
cat >"$TMP/plain.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: plain}
spec:
  fsProfiles:
    writer: {read: ["**"], modify: ["src/**", "out/**"]}
X
chmod 755 "$TMP"
cp "$PROBE" "$TMP/probe.py" && PROBE=$TMP/probe.py
check 'the built-in default' agrees --read "$TMP/probe.py"
check 'the default with rules of the command line' \
	agrees --read "$TMP/probe.py" --deny-modify src/gen --deny-read lib --read lib/keys
check 'trees alone' agrees -p "$TMP/plain.yaml" --read "$TMP/probe.py"
check 'globs, exceptions and reads closed by pattern' agrees -p "$TMP/globs.yaml" --read "$TMP/probe.py"
