#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-launch --selftest: the attacks of tests/escape from the product itself. That it can fail is
# shown by options that let something through.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

left() # directories of ours that a test has left behind
{
	ls -d /tmp/sbx-selftest-* 2>/dev/null | while read -r d; do [ -O "$d" ] && echo "$d"; done
}

tested() # STATUS ARGS...
{
	local want=$1 before
	before=$(left)
	shift
	"$SBX" --selftest "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
	[ "$status" = "$want" ] && [ "$(left)" = "$before" ]
}

# The attacks are made without a sandbox as well, and must not stay with what the user runs.
unhurt() # COMMAND...: it, and no process of the user has another priority
{
	local plain nicer before rc
	sleep 300 &
	plain=$!
	nice -n 5 sleep 300 &
	nicer=$!
	until [ "$(awk '{ print $19 }' /proc/$nicer/stat)" != "$(awk '{ print $19 }' /proc/$plain/stat)" ]; do sleep 0.02; done
	before=$(awk '{ print $19 }' /proc/$plain/stat /proc/$nicer/stat /proc/self/stat)
	"$@"
	rc=$?
	[ "$(awk '{ print $19 }' /proc/$plain/stat /proc/$nicer/stat /proc/self/stat)" = "$before" ] || rc=1
	kill $plain $nicer
	return $rc
}
check 'all hold, and leave priorities as they are' unhurt tested 0
check 'more than sixty, each named' [ "$(grep -c '^held  ' "$TMP/out")" -gt 60 ]
check 'and counted' grep -q "^$(grep -c '^held  ' "$TMP/out") held, 0 got through" "$TMP/out"
check 'a command is not taken for options of the attacks' tested 125 true
if [ "$E2E_INNER" = nobody ]; then
	check 'what gets through is told' tested 1 --json --unix host
	check 'as JSON, too' python3 -c '
import json, sys
t = json.load(open(sys.argv[1]))
through = [p["probe"] for p in t["probes"] if p["result"] == "through"]
assert "unix-container-socket" in through and len(through) == t["through"], through
assert all(p.startswith("unix-") for p in through), through' "$TMP/out"
	check 'nothing can be tested where nothing can run' tested 125 --profile none
	check 'which is an error' grep -q '^sbx-launch: E_FLOOR: selftest: nothing can be run confined: sbx-launch: E_' "$TMP/err"
fi
