#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same work below the launcher, and what was completed against the log: every record is a line
# of it, or one of the number that a gap line tells. The long form: make stress.
. "$(dirname "$0")/../support/e2e.sh"
seconds=${STRESS_SECONDS:-2}
[ "$seconds" -le 20 ] || seconds=20 # some 10 MB of log each
BIN=${SBX%/*}

stress() # [record]
{
	fresh
	rm -rf "$HOME"/.local/state/sbx-launch/runs/*
	mkdir -p ok no
	echo abc | tee ok/file >no/file
	cp "$BIN/shim_stress" ok/tool
	timeout -k 5 $((seconds + 90)) "$SBX" --audit-level all --deny-read 'no/**' -- \
		"$BIN/shim_stress" "$WS" "$seconds" "$@" >"$TMP/out" 2>"$TMP/err"
	status=$?
	log=$(echo "$HOME"/.local/state/sbx-launch/runs/*/audit.jsonl)
}
compare()
{
	"$BIN/shim_stress_check" "$WS" >"$TMP/sums" 2>&1
}

stress
check 'threads, forks, spawns, renames, kills and signals below the floor: every answer is right' \
	[ "$status" -eq 0 ]
check 'every completed record is a line, or counted in a gap' compare <"$log"
sed 's/^/# /' "$TMP/sums"
check 'the log is sound' "$BIN/sbx-audit" verify
stress record
check 'records alone' [ "$status" -eq 0 ]
check 'lines and counted gaps make the sum' compare <"$log"
sed 's/^/# /' "$TMP/sums"
less()
{
	! grep -v '/rec\.5\.3"' "$log" | compare
}
check 'a line less is found' less
