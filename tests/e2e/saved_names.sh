#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Programs save a file under a temporary name and rename it: whoever has that open has the file
# itself open afterwards. What the protected set closes is closed by its temporary name, too.
. "$(dirname "$0")/../support/e2e.sh"

export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=C
export GIT_COMMITTER_EMAIL=c@example.org GIT_CONFIG_NOSYSTEM=1 GIT_ADVICE=0

# Opens NAME for writing while something outside has just made it, and writes when it is FILE.
catch='import os, sys, time
name, file, ready = sys.argv[1:]
fds = []
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_CREAT, os.O_WRONLY | os.O_APPEND):
	try: fds.append(os.open(name, flags))
	except OSError as e: print(e.strerror)
open(ready, "w")
end = time.time() + 20
while os.path.exists(name) and time.time() < end: time.sleep(.01)
for fd in fds: os.write(fd, b"evil")'
saved() # NAME FILE [SBX-OPTIONS...]: FILE is what the host wrote
{
	local name=$1 file=$2
	shift 2
	rm -f ready
	echo good >"$name" && chmod 666 "$name" || return 1
	"$SBX" -qq "$@" -- python3 -c "$catch" "$name" "$file" "$PWD/ready" >"$TMP/caught" 2>&1 &
	for _ in $(seq 200); do [ -e ready ] && break; sleep .05; done
	mv "$name" "$file"
	wait $!
	[ "$(cat "$file")" = good ]
}

fresh
git init -q . && git commit -q --allow-empty -m i && git worktree add -q ../tree 2>/dev/null
mkdir -p .claude .git/modules/m/hooks .git/modules/a/b/hooks && git init -q sub || exit 1
for f in .git/config.lock .git/config.worktree.lock .git/modules/m/config.lock .git/modules/a/b/config.lock \
	.git/worktrees/tree/config.worktree.lock .mcp.json.tmp.12.345 .claude/settings.local.json.tmp.12.345; do
	case $f in *.lock) to=${f%.lock} ;; *) to=${f%.tmp.*} ;; esac
	[ ! -e "$to" ] || cp "$to" "$TMP/kept"
	check "the host saves $to as it wrote it" saved $f $to --no-shim
	rm -f "$to"
	[ ! -e "$TMP/kept" ] || mv "$TMP/kept" "$to"
done
saved x.lock x
caught=$?
check 'which is not so of a name that nobody protects' [ $caught -ne 0 -a "$(cat x)" != good ]

# The real thing: git outside, many times, and a command that tries each.
(for i in $(seq 40); do git config foo.bar "$i"; sleep .02; done) &
host=$!
launch python3 -c 'import os, time
end, caught = time.time() + 2, []
while time.time() < end and not caught:
	try: caught.append(os.open(".git/config.lock", os.O_WRONLY))
	except OSError: pass
time.sleep(.1)
for fd in caught: os.write(fd, b"[core]\n\tfsmonitor = touch ran; false\n"); print("caught")'
wait $host
check 'git config outside is not caught' [ "$status" -eq 0 -a ! -s "$TMP/out" ]
check 'and all of it was written' [ "$(git config foo.bar)" = 40 ]

# What a person opens can be saved; what he opens beside it is not opened by that.
launch --modify .git/config --modify .claude/settings.json sh -c 'git config sub.x y && echo 1 >.claude/settings.json.tmp.1.2 &&
	mv .claude/settings.json.tmp.1.2 .claude/settings.json; echo x >.git/config.worktree.lock'
check 'a file that is opened can be saved' [ "$(git config sub.x) $(cat .claude/settings.json)" = 'y 1' ]
check 'and no other' [ ! -e .git/config.worktree.lock ]
launch git config a.b c
check 'the line names the file that has to be opened' grep -q 'denied modify .*/.git/config.lock .*allow with --modify [^ ]*/.git/config$' "$TMP/err"
launch git -C sub config a.b c
check 'a nested repository is configured' [ "$(git -C sub config a.b)" = c ]
