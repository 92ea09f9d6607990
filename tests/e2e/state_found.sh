#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# State that is found: torn, growing, foreign, or of a version to come.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"
AUDIT=${SBX%launch}audit
state=$HOME/.local/state/sbx-launch

launch -q -- sh -c 'echo 1 >one'
run=$(ls "$state/runs" | grep ^2 | tail -n 1)

# ---- a log that ends without a newline ----
for end in '{"schemaVersion":2,"seq":1' 'no JSON' '"'; do
	printf '%s' "$end" >"$TMP/log"
	launch -q --audit-file "$TMP/log" -- sh -c 'echo 2 >two'
	check "behind $end the first record is whole" sh -c '"$1" show --format jsonl | head -n 1 | grep -q "\"kind\":\"run\""' - "$AUDIT"
	check "and the chain holds" sh -c '"$1" verify' - "$AUDIT"
done
: >"$TMP/log"
launch -q --audit-file "$TMP/log" -- true
check 'an empty file gets no empty line' [ "$(grep -c '^$' "$TMP/log")" -eq 0 ]

# ---- a log that grows while it is read ----
"$SBX" -q --audit-level all -- sh -c 'i=0; while [ ! -e stop ] && [ $i -lt 100000 ]; do echo $i >f$((i % 7)); i=$((i+1)); done' </dev/null &
writer=$!
sleep 0.3
growing()
{
	local verb n=0
	while kill -0 $writer 2>/dev/null && [ $n -lt 12 ]; do
		for verb in cat stats changes denials tree verify 'show --format jsonl'; do
			# shellcheck disable=SC2086
			timeout 20 "$AUDIT" $verb >"$TMP/out" 2>"$TMP/err"
			[ $? -lt 2 ] || { echo "$verb"; cat "$TMP/err"; return 1; }
			! grep -qi 'torn\|not JSON\|ends in the middle' "$TMP/out" "$TMP/err" || { echo "$verb"; cat "$TMP/out" "$TMP/err"; return 1; }
			n=$((n + 1))
		done
	done
	[ $n -gt 0 ]
}
check 'a log that grows is read as far as it is whole' growing
touch stop
wait $writer
check 'and verifies in the end' "$AUDIT" verify

# ---- of a version to come ----
newer=$state/runs/2999${run#2???}
cp -R "$state/runs/$run" "$newer"
sed -i 's/"schemaVersion":2/"schemaVersion":3/' "$newer/run.json" "$newer/audit.jsonl"
says_newer() # VERB...
{
	"$AUDIT" "$@" >"$TMP/out" 2>"$TMP/err"
	[ $? -eq 2 ] && grep -q 'by a newer version' "$TMP/err" || { cat "$TMP/out" "$TMP/err"; return 1; }
}
id=$(basename "$newer")
for verb in show stats changes verify cat; do
	check "$verb says that it is of a newer version" says_newer $verb "$id"
done
"$AUDIT" runs >"$TMP/out" 2>"$TMP/err"
check 'the list has the others' grep -q "$run" "$TMP/out"
before=$(find "$newer" -type f -exec sha256sum {} + | sort)
"$AUDIT" prune >"$TMP/out" 2>"$TMP/err"
check 'prune leaves it as it is' [ "$(find "$newer" -type f -exec sha256sum {} + | sort)" = "$before" ]
rm -rf "$newer"
# one line of a newer writer in an older run's log
damages "$run"
sed -i '2s/"schemaVersion":2/"schemaVersion":9/' "$state/runs/$run/audit.jsonl"
check 'a newer line is no event' sh -c '"$1" verify "$2" >"$3" 2>&1; [ $? -eq 1 ] && grep -q "line 2: a line of a newer version" "$3" || { cat "$3"; false; }' - "$AUDIT" "$run" "$TMP/out"

# ---- files beside the runs ----
printf '99 future 1 2 3\n' >"$state/host"
mkdir -p "$state/images" "$state/future"
printf 'not an image' >"$state/images/$(printf '%064d' 0)"
printf '{"v":9}' >"$state/future/x"
launch -q -- sh -c 'echo 3 >three; cat three'
check 'what a newer version keeps there stops no run' [ "$status:$(cat "$TMP/out")" = 0:3 ]
check 'and stays' [ -e "$state/future/x" ]
"$SBX" -q -- true
check 'twice' [ $? -eq 0 ]
