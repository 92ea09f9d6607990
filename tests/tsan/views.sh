#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The questions that sbx-audit answers in several threads, under ThreadSanitizer (`make check-tsan`): on a
# record of 100,000 events, and on records that are torn, forged, compressed, cut short or empty. An answer must
# be the same as the build without the sanitizer gives, and no thread may race with another.
set -u
B=${B:-build-tsan} plain=${PLAIN:-build}
base=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
trap 'rm -rf "$base"' EXIT
export HOME=$base XDG_STATE_HOME=$base/state
export TSAN_OPTIONS="exitcode=66 ${TSAN_OPTIONS:-}"
runs=$XDG_STATE_HOME/sbx-launch/runs
mkdir "$base/with" "$base/without" # somebody may build while this runs
cp "$B/sbx-audit" "$base/with" && cp "$plain/sbx-audit" "$plain/tests/mklarge" "$base/without" || exit 1
n=0 failed=0

said() # BUILD COMMAND...: status, answer and page of a question
{
	local audit=$base/$1/sbx-audit out=$base/$1/said
	shift
	rm -f "$base/page.html"
	"$audit" "$@" >"$out" 2>"$out.err"
	echo "status $?" >>"$out"
	[ ! -e "$base/page.html" ] || sha256sum <"$base/page.html" >>"$out"
}
ask() # NAME COMMAND...
{
	local name=$1
	shift
	n=$((n + 1))
	said with "$@"
	said without "$@"
	if ! grep -q 'WARNING: ThreadSanitizer' "$base/with/said.err" && cmp -s "$base/with/said" "$base/without/said" &&
		cmp -s "$base/with/said.err" "$base/without/said.err"; then
		echo "ok $n - $name: $1"
		return
	fi
	failed=1
	echo "not ok $n - $name: $1"
	{ diff "$base/without/said" "$base/with/said"; head -n 60 "$base/with/said.err"; } | head -n 80 | sed 's/^/# /'
}
questions() # NAME RUN OTHER
{
	local question
	ask "$1" report -o "$base/page.html" "$2"
	ask "$1" diff "$2" "$3"
	ask "$1" diff "$3" "$2"
	for question in changes denials tree stats verify ''; do
		ask "$1" ${question:+"$question"} "$2"
	done
}
record() # EVENTS
{
	"$base/without/mklarge" "$1" 2>/dev/null
}
log() # RUN
{
	echo "$runs/$1/audit.jsonl"
}

whole=$(record "${1:-100000}")
other=$(record 20000)
questions 'a whole record' "$whole" "$other"

# files of it that are on the disk, in a git work tree: a thread asks git while others read on
mkdir "$base/ws" && sed -i "s,\"/ws\",\"$base/ws\",g" "$runs/$whole/run.json"
(cd "$base/ws" && git init -q . && grep -o '"path2":"[^"]*' "$(log "$whole")" | sed 's/.*":"//' | head -n 500 |
	while read -r path; do mkdir -p "${path%/*}" && : >"$path"; done && git add build/obj/module0*)
questions 'a record of a git work tree' "$whole" "$other"

damaged=$(record 30000)
truncate -s -50 "$(log "$damaged")"
questions 'a torn end' "$damaged" "$other"

damaged=$(record 30000)
python3 - "$(log "$damaged")" <<'EOP'
# every hundredth line is no event, or one of another kind, time, process or length
import random, sys
random.seed(18)
lines = open(sys.argv[1], "rb").read().splitlines()
for i in range(0, len(lines), 100):
    lines[i] = random.choice((
        b"", b"{", b"[]", b"\xff\x00\x1b", b'{"kind":7}', lines[i][:random.randrange(len(lines[i]))],
        b'{"kind":"result","path":"' + b"a" * 200000 + b'"}', b'{"kind":"exec","allowed":true,"seq":-1,"path":"/x"}',
        lines[i].replace(b'"pid":', b'"pid":-9'), lines[i].replace(b'"ts":"2', b'"ts":"9'),
        b'{"kind":"result","op":"modify","call":"rename","allowed":true,"path":"/ws","path2":"/ws/x","layer":"broker"}'))
open(sys.argv[1], "wb").write(b"\n".join(lines) + b"\n")
EOP
questions 'forged lines' "$damaged" "$other"

packed=$(record 30000)
"$base/without/sbx-audit" prune --compress-above 4000000 >/dev/null
questions 'a compressed record' "$packed" "$other"
truncate -s -2000 "$(log "$packed").zst"
questions 'a compressed record that is cut short' "$packed" "$other"

damaged=$(record 1000)
: >"$(log "$damaged")"
questions 'an empty log' "$damaged" "$other"
rm "$(log "$damaged")"
questions 'no log' "$damaged" "$other"
mkdir "$(log "$damaged")"
questions 'a directory in its place' "$damaged" "$other"
echo "1..$n"
exit $failed
