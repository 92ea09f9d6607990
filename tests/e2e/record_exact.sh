#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the broker did is in the log, whatever the command says about it in the ring that both it and the
# shim write to: lies about the same call, and a flood.
. "$(dirname "$0")/../support/e2e.sh"
liar=${SBX%/*}/ring_liar
fields() # FILTER...: kind, call, errno and layer of each line of the log about a file
{
	python3 - "$TMP/log" "$1" <<'EOP'
import json, sys
for line in open(sys.argv[1]):
    e = json.loads(line)
    if e.get("path") == "./" + sys.argv[2]:
        print(e["kind"], e.get("call"), e.get("errno", 0), e.get("allowed", "-"), e.get("layer", "shim"))
EOP
}
has() # LINE FILE
{
	fields "$2" | grep -qx "$1"
}

fresh
for facts in - e q c v; do
	echo x >"victim$facts"
	rm -f "$TMP/log"
	launch -q --audit-required --audit-file "$TMP/log" "$liar" forge "$facts" "victim$facts"
	check "a removal that the command speaks of first ($facts) is done" [ "$status" -eq 0 ] && [ ! -e "victim$facts" ]
	check "and the log has it as the broker did it ($facts)" has 'result unlink 0 True broker' "victim$facts"
done

# The broker waits for the collector, and the collector does not let it wait for long.
fresh
rm -f "$TMP/log"
launch -q --audit-required --audit-file "$TMP/log" "$liar" flood 1
check 'a flood of the ring ends well' [ "$status" -eq 0 ]
grep '"layer":"broker"' "$TMP/log" >"$TMP/done"
renames()
{
	[ "$(cat "$TMP/out")" -gt 0 ] && [ "$(grep -c '"call":"rename' "$TMP/done")" -eq "$(cat "$TMP/out")" ]
}
check 'each rename that was done meanwhile is a line' renames
check 'and so is each directory' [ "$(grep -c '"path":"./done-[0-9]*"' "$TMP/done")" -eq 20 ]
check 'what is lost was the command'\''s own' grep -q '"broker_lost":0,' "$(ls -d "$HOME"/.local/state/sbx-launch/runs/*/run.json | tail -n 1)"
check 'the log is sound' "${SBX%/*}/sbx-audit" verify

# Nor does what it says keep the supervisor from its deadline.
fresh
began=$(date +%s%3N)
launch -q --audit-level denied --isolate none --deny-read '**/*secret*/**/[a-c]*x?y*' --deny-modify '**/foo*/*/ba[rz]*/**' \
	--timeout 1s --kill-after 500ms "$liar" moves 20
took=$(($(date +%s%3N) - began))
check 'a flood of moves ends at its deadline' [ "$status" -eq 137 ]
check 'and not much later' [ $took -ge 1500 -a $took -lt 5000 ]
