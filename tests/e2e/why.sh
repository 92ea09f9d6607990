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
	mkdir -p .git/hooks sub && echo x >f && echo x >.git/hooks/h
	local p op does bad=0
	while read -r op p; do
		does=denied
		case $op in
		read) "$SBX" -qq -- head -c 1 "$p" >/dev/null 2>&1 && does=allowed ;;
		modify) "$SBX" -q -- touch -c "$p" 2>/dev/null && "$SBX" -q -- sh -c ": >>$p" 2>/dev/null && does=allowed ;;
		esac
		why=$("$(dirname "$SBX")/sbx-policy" why "$op" "$p" 2>&1 | tail -n 1)
		[ "${why%% *}" = "$does" ] || { echo "$op $p: run $does, $why"; bad=1; }
	done <<'EOF'
read /proc/self/cwd/f
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
check 'own links in /proc and other processes' own_proc

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
