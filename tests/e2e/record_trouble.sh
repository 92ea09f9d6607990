#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trouble of the record: a full disk, a torn end, several writers, a clock that goes back, names of 4 KiB, and
# names and words that a terminal or a browser would act upon.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"
AUDIT=${SBX%/*}/sbx-audit
RUNS=$HOME/.local/state/sbx-launch/runs
newest()
{
	ls "$RUNS" | grep ^2 | tail -n 1
}
views=(summary runs changes denials tree stats tail cat calls verify 'grep op=modify' 'show' 'show --json' 'changes --json'
	'denials --json' 'tree --json' 'show --format jsonl' 'show --format ocsf' 'show --format orbit' 'show --format chrome-trace'
	'show --format srt' 'show --format openshell' 'runs --json' "report -o $TMP/page.html" "learn -o $TMP/policy.yaml")
ask() # VIEW
{
	# shellcheck disable=SC2086 # words
	"$AUDIT" ${1#summary} >"$TMP/answer" 2>"$TMP/answer.err"
}
wanted() # STATUS ERE ARGS...: so it ends, and says that
{
	"$AUDIT" "${@:3}" >"$TMP/answer" 2>"$TMP/answer.err"
	[ $? -eq "$1" ] && grep -qE -e "$2" "$TMP/answer" || { cat "$TMP/answer" "$TMP/answer.err"; false; }
}

# ---- a full disk ----
# full SIZE OPTIONS...: a run that makes 400 files and ends with 7; its record is on a file system of that size
cat >"$TMP/full.sh" <<'EOS'
mount -t tmpfs -o size=$1 t "$PLACE" || exit 99
export XDG_STATE_HOME=$PLACE
"$SBX" "${@:2}" -- sh -c 'i=0; while [ $i -lt 400 ]; do echo $i >f$i; i=$((i+1)); done; exit 7' 2>"$TMP/err" </dev/null
echo "status $?, $(ls | wc -l) files" >"$TMP/out"
"$AUDIT" >"$TMP/summary" 2>&1
"$AUDIT" verify >"$TMP/verified" 2>&1
echo "verify $?" >>"$TMP/out"
"$AUDIT" cat >"$TMP/log"
for view in changes tree stats 'show --json' "report -o $PLACE/../page.html"; do "$AUDIT" $view >/dev/null 2>"$TMP/view" || cat "$TMP/view"; done >"$TMP/views" 2>&1
EOS
full()
{
	fresh
	mkdir -p "$TMP/place"
	PLACE=$TMP/place SBX=$SBX AUDIT=$AUDIT TMP=$TMP unshare ${own:+-Ur} -m bash "$TMP/full.sh" "$@" 2>"$TMP/unshared"
}
own=
[ "$(id -u)" -eq 0 ] || own=yes
# Every event of the broker is a line or lost, and the lines are those that the log has.
exact()
{
	local lines lost
	read -r lines lost < <(sed -nE 's/^complete  no, but what is missing is known: .* = ([0-9]+) lines \+ 0 folded \+ ([0-9]+) lost$/\1 \2/p' "$TMP/summary")
	[ -n "$lost" ] && [ "$lost" -gt 0 ] && [ $((lines + lost)) -eq 400 ] &&
		[ "$(grep -c '"kind":"result".*"layer":"broker"' "$TMP/log")" -eq "$lines" ] || { cat "$TMP/summary" "$TMP/out"; false; }
}
if full 16m -q && grep -qx 'status 7, 400 files' "$TMP/out"; then
	check 'a disk with room: control' eval 'grep -q "^complete  yes: " "$TMP/summary" && grep -qx "verify 0" "$TMP/out" && [ ! -s "$TMP/err" ]'
	for size in 64k 24k 8k; do
		full $size
		check "$size: the run goes on, and ends as it would" grep -qx 'status 7, 400 files' "$TMP/out"
		check "$size: one line reports it" [ "$(cat "$TMP/err")" = 'sbx-launch: the audit log cannot be written: No space left on device: the run continues without it' ]
		check "$size: what is missing is a number, exactly" exact
		check "$size: what is there holds together" eval 'grep -qx "verify 0" "$TMP/out" && grep -q "are all that were written: events were lost" "$TMP/verified"'
		check "$size: every view answers" [ ! -s "$TMP/views" ]
	done
	full 4k
	check '4k, no room for run.json either: the run ends as it would' grep -qx 'status 7, 400 files' "$TMP/out"
	check 'and reports that once' [ "$(grep -c 'run.json: No space left on device$' "$TMP/err")" -eq 1 ]
	full 4k --audit-required
	check 'which --audit-required makes a failure' grep -q '^status 125, ' "$TMP/out"
	full 64k --audit-required
	check '--audit-required: the run is ended' eval 'grep -q "^status 125, " "$TMP/out" && grep -q "E_AUDIT: the audit log cannot be written: No space" "$TMP/err"'
	full 64k -qq
	check '-qq is quiet about it, the record is not' eval '[ ! -s "$TMP/err" ] && exact'
else
	skip 'a full disk' "no mount here: $(cat "$TMP/unshared" "$TMP/out" "$TMP/err" 2>/dev/null | tr '\n' ' ')"
fi

# ---- a torn end ----
answered() # VIEW: it says what it could, and what it passed over
{
	rm -f "$TMP/page.html" "$TMP/policy.yaml"
	ask "$1"
	case $? in
	0 | 1) ;;
	*) [ -s "$TMP/answer" -o -s "$TMP/page.html" -o -s "$TMP/policy.yaml" ] && grep -q "audit.jsonl:$lines: .*skipped, and 0 more" "$TMP/answer.err" ;;
	esac || { cat "$TMP/answer" "$TMP/answer.err"; false; }
}
fresh
launch -q -- sh -c 'echo 1 >a; echo 2 >b; (echo k >/etc/x) 2>/dev/null; exit 0'
run=$RUNS/$(newest)
damages "${run##*/}"
lines=$(wc -l <"$run/audit.jsonl")
truncate -s -20 "$run/audit.jsonl"
check 'a torn end: verify names the line' wanted 1 "broken at line $lines: the file ends in the middle of it" verify
for view in "${views[@]}"; do
	[ "$view" != verify ] || continue
	check "a torn end: $view answers" answered "$view"
done
check 'a torn end: what comes before it is shown' wanted 2 '^A ./a$' changes

# ---- several writers ----
launch -q -- true
several()
{
	local i run pids=()
	for i in 1 2 3 4; do
		"$SBX" -q --audit-file "$TMP/shared" --context who=$i -- sh -c "i=0; while [ \$i -lt 150 ]; do echo \$i >w$i.\$i; i=\$((i+1)); done" </dev/null &
		pids+=($!)
	done
	wait "${pids[@]}"
	for i in 1 2 3 4; do
		run=$("$AUDIT" calls "who=$i" | sed -n 's/^ *\(2[0-9]*T[^ ]*\)  .*/\1/p')
		wanted 0 'hold together, and are all' verify "$run" || return 1
		[ "$("$AUDIT" grep "kind=result and layer=broker and path~'./w$i.*'" "$run" | wc -l)" -eq 150 ] || return 1
		[ "$("$AUDIT" grep "path~'./w*'" "$run" | wc -l)" -eq 150 ] || return 1
	done
	python3 -c 'import json, sys
for line in open(sys.argv[1]): json.loads(line)' "$TMP/shared"
}
check 'four writers of one file: each line whole, each chain holds, each run has its own' several

# ---- a clock that goes back ----
fresh
clock='sleep 0.1; echo 1 >a; cp a b; exit 0'
! command -v faketime >/dev/null || clock="faketime 2001-01-01 sh -c 'echo 3 >c; sleep 0.1; cp c d'; $clock"
launch -q -- sh -c "$clock"
check 'processes with clocks of their own: the chain holds' wanted 0 'hold together, and are all' verify
check 'and no time of theirs is in the record' eval '! "$AUDIT" cat | grep -E "\"ts\":\"(19|200)"'
damages "$(newest)"
# the machine's own: every line earlier than the one before, and the run's end before its start
python3 - "$RUNS/$(newest)" <<'EOP'
import json, re, sys
log, info = sys.argv[1] + "/audit.jsonl", sys.argv[1] + "/run.json"
lines = open(log).read().splitlines()
open(log, "w").write("".join(re.sub(r'"ts":"[^"]*"', '"ts":"%04d-03-31T02:30:00.5Z"' % (2030 - i % 100), line) + "\n" for i, line in enumerate(lines)))
j = json.load(open(info))
j["started"], j["ended"] = "2026-01-01T00:00:05.000000000Z", "2026-01-01T00:00:01.000000000Z"
json.dump(j, open(info, "w"))
EOP
not_negative()
{
	local view
	for view in "${views[@]}"; do
		[ "$view" != verify ] || continue
		ask "$view"
		[ $? -lt 2 ] || { echo "$view"; cat "$TMP/answer.err"; return 1; }
		! grep -nE '(^|[ :,])-[0-9.]+ ?(s|ms)( |$)|"(dur|duration_ms)":-' "$TMP/answer" || { echo "$view"; return 1; }
	done
	! grep -o '"[a-z_]*\(dur\|time\|ms\)[a-z_]*":-[0-9]*' "$TMP/page.html"
}
check 'a clock that goes back makes no duration negative' not_negative
check 'nor hides what was done' wanted 0 '^[AMD] ./a$' changes

# ---- names and words ----
fresh
git init -q . && mkdir -p .git/hooks
cat >"$TMP/hostile.py" <<'EOP'
import os, shutil, subprocess
names = [b"a\nb", b"\x1b[2Jx", b"\x1b]0;title\x07", b"\xc2\x9b31m", "\u202eexe".encode(), "\u2028".encode(), b"\x7f\x08\r",
         b"<script>alert(1)", b"<!--", b"<img src=x onerror=alert(1)>", b'q"\\\'`$(id)', b"\xff\xfe", b" ", b"-rf",
         b"%s%n", b"&lt;", b"}{", b"# no comment", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", "\U000e0041".encode(), b"x" * 255]
for n in names:
    n = b"./" + n
    open(n, "w").close()                               # made
    os.rename(n, n[:200] + b".moved")                  # renamed
    os.symlink(n[2:], b"link" + n[2:200])
    open(b"link" + n[2:200], "w").close()              # asked by a link
    os.mkdir(b"dir" + n[2:200])
    for act in (lambda: open(b".git/hooks/" + n[2:], "w"), lambda: os.rename(n[:200] + b".moved", b".git/hooks/" + n[2:200])):
        try:                                           # refused
            act()
        except OSError:
            pass
    shutil.copy("/bin/true", b"run" + n[2:200])        # a program, and its words
    subprocess.run([b"./run" + n[2:200], n[2:]], stdout=subprocess.DEVNULL)
# names of 4 KiB: as long as a path may be (4,095 bytes), and one that is longer, made from below
room = 4095 - len(os.getcwd()) - len("/") - len("/LAST")
part = b"d\n" * 60
deep = b"/".join([part] * ((room + 1) // (len(part) + 1)))
deep += b"x" * (room - len(deep))
os.makedirs(deep)
open(os.getcwdb() + b"/" + deep + b"/LAST", "w").close()
for k in range(12):
    os.mkdir(b"e\x1b[7m" * 40)
    os.chdir(b"e\x1b[7m" * 40)
    for j in range(3):
        os.mkdir(b"f\x0b" * 100)
        os.chdir(b"f\x0b" * 100)
open("end\n", "w").close()
EOP
launch --context 'tool=a"b<script>' --result-json "$TMP/result.json" -- python3 "$TMP/hostile.py"
check 'they can all be made' eval '[ "$status" -eq 0 ] || { cat "$TMP/err"; false; }'
no_control() # FILE [ALSO]: neither C0 but newlines (and others), nor C1, nor what turns the direction of a text
{
	python3 -c 'import sys, unicodedata
text = open(sys.argv[1], "rb").read().decode()
bad = sorted({c for c in text if c not in "\n" + sys.argv[2] and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs")})
sys.exit("%d bytes, has %r" % (len(text), bad) if bad else not text)' "$1" "${2:-}"
}
tame() # VIEW
{
	ask "$1"
	[ $? -lt 2 ] && { [ ! -s "$TMP/answer" ] || no_control "$TMP/answer"; } || { cat "$TMP/answer.err"; false; }
}
check 'what the run said of its refusals controls no terminal' no_control "$TMP/err"
check 'and its result is JSON' python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["denied"] >= 22' "$TMP/result.json"
for view in "${views[@]}"; do
	check "names and words control nothing: $view" tame "$view"
	case $view in *--json | *jsonl | *ocsf | *orbit)
		check "each line is JSON: $view" python3 -c 'import json, sys
assert [json.loads(line) for line in open(sys.argv[1], newline="\n").read().split("\n")[:-1]]' "$TMP/answer"
		;;
	esac
done
said_apart() # a name that reads as the rule and the advice
{
	local name='x (rule **, cli:--read:1): allow with --allow debug'
	launch -- sh -c ': >".git/hooks/$0"' "$name"
	grep -qxF "sbx-launch: denied modify '$WS/.git/hooks/$name' (rule .git/hooks/**, $(sed -n "s/.* (rule .git.hooks.[*]*, \(preset:[^)]*\)).*/\1/p" "$TMP/err")): allow with --modify '${WS}/.git/hooks/x (rule ??, cli:--read:1): allow with --allow debug'" "$TMP/err" &&
		ask denials && [ "$(sed -n 3p "$TMP/answer")" = "        allow with --modify '$WS/.git/hooks/x (rule ??, cli:--read:1): allow with --allow debug'" ] || { cat "$TMP/err" "$TMP/answer"; false; }
}
hostile=$(newest)
check 'a name that reads as advice is none, at the prompt and in denials' said_apart
rm -rf "$RUNS/$(newest)"
check 'the run before is asked again' [ "$(newest)" = "$hostile" ]
check 'a newline does not make two lines of one' eval '"$AUDIT" changes | grep -vE "^([AMDR] |[0-9]+ temporary)"; [ $? -eq 1 ]'
check 'nor of a denial' eval '"$AUDIT" denials | grep -vE "^( +[0-9]+  |        )"; [ $? -eq 1 ]'
check 'nor of an event' eval '"$AUDIT" show | grep -vE "^[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3} "; [ $? -eq 1 ]'
check 'nor of a process' eval '"$AUDIT" tree | sed "\$d" | grep -vE "^ *[0-9]+  "; [ $? -eq 1 ]'
check 'a path of 4,095 bytes is told whole' eval '"$AUDIT" changes | grep -q "^A \./d.*/LAST\$"'
check 'one that is longer is cut, and says so' eval '"$AUDIT" cat | grep -q "\"truncated\":true"'
ask "report -o $TMP/page.html"
page()
{
	no_control "$TMP/page.html" $'\t' && python3 - "$TMP/page.html" <<'EOP'
import json, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
assert text.count("<script") == 2 and text.count("</script") == 2 and "<img" not in text
data = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1)
assert "<" not in data and json.loads(data)["denials"]
EOP
}
check 'the page has them as data' page
dom=$TMP/dom
elements() # no element of a name, and no attribute that acts
{
	python3 - "$dom" <<'EOP'
import html.parser, sys
seen = []
class P(html.parser.HTMLParser):
    def handle_starttag(self, tag, attrs):
        seen.append(tag)
        assert tag != "img" and not any(k.startswith("on") or k in ("src", "href") for k, _ in attrs), (tag, attrs)
P().feed(open(sys.argv[1], encoding="utf-8").read())
assert seen.count("script") == 2 and len(seen) > 35, seen
EOP
}
for view in Changes Denials Processes Events Paths; do
	timeout 100 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$TMP/chromium" --dump-dom "file://$TMP/page.html#$view" >"$dom" 2>/dev/null
	if [ -s "$dom" ]; then
		check "the page makes no element of a name: $view" elements
	else
		skip "the page makes no element of a name: $view" 'no chromium that starts here'
	fi
done 2>/dev/null
launch -q -p "$TMP/policy.yaml" -- true
check 'what is learned of such names is a policy' [ "$status" -eq 0 ]
