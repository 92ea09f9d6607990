#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Threads, forks, spawns, renames, kills and signals at once, and what they completed against what
# was told (tests/probe/shim_stress_check.c). The long form: make stress.
. "$(dirname "$0")/../support/shim.sh"
seconds=${STRESS_SECONDS:-${FULL:+2}}
seconds=${seconds:-1}
RUN_SECONDS=$((seconds + 90))

fresh()
{
	rm -rf d
	mkdir -p d/ok d/no
	echo abc | tee d/ok/file >d/no/file
	cp "$BIN/shim_stress" d/ok/tool
}

# The log goes straight to the check: in ten minutes it is gigabytes.
stress() # RING-BYTES
{
	fresh
	rm -f "$log"
	mkfifo "$log"
	"$BIN/shim_stress_check" "$T/d" <"$log" >"$T.sums" 2>&1 &
	run all --ring "$1" --rule all:/ --rule "all:!$T/d/no/" -- "$BIN/shim_stress" "$T/d" "$seconds"
	wait $!
	compared=$?
	rm -f "$log"
	cp "$T.sums" "$log" # what a failed check shows
}

stress 8388608
check 'threads, forks, spawns, renames, kills and signals at once: every answer is right' \
	[ "$status" -eq 0 ]
check 'every completed record is told' [ "$compared" -eq 0 ]
sed 's/^/# /' "$T.sums"
stress 16384
check 'the same with a ring that is always full' [ "$status" -eq 0 ]
check 'what is not told is counted, exactly' [ "$compared" -eq 0 ]
check 'and there was something to count' grep -q 'lost by count: [1-9]' "$T.sums"
sed 's/^/# /' "$T.sums"

# the comparison finds one line too few, one too many, and a loss that was not
fresh
run all --ring 67108864 --rule all:/ -- "$BIN/shim_stress" "$T/d" 0.3 record
compare()
{
	"$BIN/shim_stress_check" "$T/d" >"$T.sums" 2>&1
}
is_refused() # FILTER...
{
	! "$@" <"$log" | compare
}
check 'records alone: all are told' compare <"$log"
check 'one record less is found' is_refused sed '0,/rec\.5\.1\t*$/{/rec\.5\.1\t*$/d}'
check 'one record twice is found' is_refused sed '/rec\.5\.1\t*$/p'
check 'one that nobody wrote is found' is_refused sed '0,/rec\.5\.1\t*$/s/rec\.5\.1\t*$/&000000/'
check 'a loss that was none is found' \
	is_refused sed '$a TROUBLE\tcorrupt=0 lost=100 internal=0'
