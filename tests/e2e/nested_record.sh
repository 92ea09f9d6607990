#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs inside a run cannot be used to remove what is recorded: neither their own records, nor those of
# other runs; and the outer one says how many there were.
. "$(dirname "$0")/../support/e2e.sh"

runs=$HOME/.local/state/sbx-launch/runs
for i in $(seq 205); do
	old=$runs/$(printf '20260101T000000Z-%06x' "$i")
	damages "${old##*/}"
	mkdir -p -m 700 "$old" && echo old >"$old/audit.jsonl" && echo '{}' >"$old/run.json"
done
launch -q --audit-required --audit-file "$TMP/log" -- sh -c '"$0" -q -- mkdir evil
	for i in $(seq 36); do "$0" -q -- true; (:); done; "$0" -q -- "$0" -q -- mkdir deeper' "$SBX"
check 'runs inside a run' [ "$status" -eq 0 -a -d evil -a -d deeper ]
old() { ls "$runs" | grep -c '^20260101T'; }
check 'remove none of the runs outside' [ "$(old)" -ge 198 ]
outer=$(grep -l '"runs_inside":39' "$runs"/*/run.json)
check 'the outer one says how many there were' [ -f "$outer" ]
outer=${outer%/run.json}
outer=${outer##*/}
check 'and each has a record that names it' [ "$(ls -d "$runs"/*/inside-"$outer" | wc -l)" -eq 39 ]
acts() { for d in "$runs"/*/inside-"$outer"; do cat "${d%/*}/audit.jsonl"; done | grep -c "\"path\":\"./$1\""; }
check 'what one did is found by it' [ "$(acts evil)" -ge 1 ]
check 'and what one inside of that did' [ "$(acts deeper)" -ge 1 ]
check 'sbx-audit names them' sh -c "'${SBX%/*}/sbx-audit' '$outer' | grep -q '^holds  *39 runs inside'"
audit=${SBX%/*}/sbx-audit
nested() { [ "$("$audit" tree "$outer" | grep -c '^  run ')" -eq 38 ] && "$audit" tree "$outer" | grep -qE '^    run [^ ]+  status 0  0 denied  mkdir deeper$'; }
check 'tree lists them, each below the run that it is directly inside of' nested
check 'but not those of another run' eval 'launch -q -- true; ! "$audit" tree | grep -q "^ *run "'
nested_json()
{
	"$audit" tree --json "$outer" | python3 -c 'import json, sys
runs = {e["run_id"]: e for e in map(json.loads, sys.stdin) if "run_id" in e}
below = [e for e in runs.values() if e["parent_run_id"] in runs]
assert len(runs) == 39 and len(below) == 1 and below[0]["command"] == "mkdir deeper", runs
assert sum(e["parent_run_id"] == sys.argv[1] for e in runs.values()) == 38
assert all(e["end"] == "status 0" and e["denied"] == 0 for e in runs.values())' "$outer"
}
check 'as JSON, too' nested_json
check 'one of them lists its own' eval 'inner=$("$audit" tree --json "$outer" | sed -n "s/.*\"parent_run_id\":\"\([^\"]*\)\",\"command\":\"mkdir deeper\".*/\1/p"); "$audit" tree "$inner" | grep -q "^  run .*  mkdir deeper$"'
check 'stats counts them' eval '"$audit" stats "$outer" | grep -q "^39 runs inside this one have records of their own"'
for view in changes denials stats; do
	check "and $view --json" eval '"$audit" $view --json "$outer" | tail -n 1 | grep -q "\"runs_inside\":39[,}]"'
done

# A run of the host's own makes room: the family goes as one, or stays as one.
for i in $(seq 300); do # one in sixteen does
	launch -q -- true
	[ "$(old)" -lt 198 ] && break
done
check 'the newest runs of outside are kept with all that is inside of them' [ "$(ls -d "$runs"/*/inside-"$outer" | wc -l)" -eq 39 ]
check 'while older ones have gone' [ "$(old)" -lt 198 ]

# What a refused start leaves.
before=$(ls -A "$runs" | wc -l)
launch -q -- sh -c '"$0" -q -- ./none; :' "$SBX"
check 'a run inside that is refused leaves nothing' [ "$(ls -A "$runs" | wc -l)" -le $((before + 1)) ]
exit 0
