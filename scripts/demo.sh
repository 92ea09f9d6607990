#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# demo.sh: the main job, for real: a short session under the built-in default policy in a
# throw-away HOME. Ends with status 0 only when everything went as promised.
set -u
B=$(cd "${B:-build}" && pwd) || exit 1
top=$(mktemp -d "${TMPDIR:-/tmp}/sbx-demo.XXXXXX") || exit 1
trap 'rm -rf "$top"' EXIT
export HOME=$top/home XDG_STATE_HOME=$top/home/.local/state XDG_CACHE_HOME=$top/home/.cache
export GIT_CONFIG_NOSYSTEM=1 TMPDIR=$top/tmp
unset XDG_RUNTIME_DIR
mkdir -p "$HOME/.ssh" "$TMPDIR" "$top/project" || exit 1
chmod 700 "$HOME" "$HOME/.ssh"
secret="SECRET-$RANDOM$RANDOM"
echo "$secret" >"$HOME/.ssh/id_demo"
echo "keep me" >"$HOME/notes.txt"
cd "$top/project" || exit 1
failed=0

fail()
{
	echo "demo: UNEXPECTED: $1" >&2
	failed=1
}

git init -q -b main .
git config user.name Demo
git config user.email demo@example.org
cat >hello.c <<'C'
#include <stdio.h>

int main(void)
{
	puts("hello from the sandbox");
	return 0;
}
C
printf 'hello: hello.c\n\t$(CC) -O2 -o $@ $<\n' >Makefile
printf 'hello\n' >.gitignore

cat >session.sh <<'SH'
set -x
make -s hello && ./hello
git add hello.c Makefile .gitignore && git commit -q -m 'first build' && git log --oneline
cat ~/.ssh/id_demo
echo stolen >~/notes.txt
SH
echo '$ sbx-launch sh session.sh'
"$B/sbx-launch" -- sh session.sh >"$top/out" 2>&1
status=$?
sed "s,$top,~demo,g; s,^,    ," "$top/out"
echo
echo '$ sbx-audit'
"$B/sbx-audit" >"$top/summary" 2>&1 || fail "sbx-audit ended with status $?"
sed "s,$top,~demo,g; s,^,    ," "$top/summary"
echo

[ "$status" -ne 0 ] || fail 'the last command of the session succeeded'
grep -q 'hello from the sandbox' "$top/out" || fail 'the program was not built'
[ "$(git log --format=%s -1 2>/dev/null)" = 'first build' ] || fail 'the commit is missing'
! grep -q "$secret" "$top/out" || fail 'the secret was read'
[ "$(cat "$HOME/notes.txt")" = 'keep me' ] || fail 'a file outside the workspace was changed'
grep -q 'denied read .*/\.ssh/id_demo.*secrets' "$top/out" || fail 'no line names the rule of the secret'
grep -q 'denied modify .*/notes\.txt' "$top/out" || fail 'no line names the write outside'
log=$(cat "$XDG_STATE_HOME"/sbx-launch/runs/*/audit.jsonl)
for path in .ssh/id_demo notes.txt; do
	printf '%s\n' "$log" | grep "$path" | grep -q '"allowed":false' || fail "the log has no denial of $path"
done
if [ "$failed" -eq 0 ]; then
	echo "Built and committed; reading the secret and writing outside were denied, rule by rule."
fi
exit "$failed"
