#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the shim adds to single calls: with nothing preloaded (the noise of the method), with
# the shim at level folded, and at level all; then what other tools add to the same calls. JSON
# lines on stdout. `shim.sh [ROUNDS]`.
set -eu
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
rounds=${1:-201}
bench=$B/tests/bench/bench_shim
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

bench() # LABEL SHIM LEVEL
{
	"$B/tests/mkchannel" --shim "$2" --level "$3" --log /dev/null --alias /bin=/usr/bin \
		--alias /lib=/usr/lib --rule all:/ --rule 'read:!/**/*.env' \
		--rule 'read:!/root/.ssh/' --rule 'modify:!/**/.git/hooks/**' -- \
		"$bench" "$1" "$rounds"
}
bench 'bare against itself' '' folded
bench folded "$B/libsbx-shim.so" folded
bench all "$B/libsbx-shim.so" all

# Preloaded libraries, like ours: both ways in one process.
if command -v fakeroot >/dev/null && fakeroot -- true; then
	fakeroot -- "$bench" fakeroot "$rounds"
else
	echo '# fakeroot: not installed, left out' >&2
fi
if command -v firejail >/dev/null &&
	firejail --quiet --noprofile --trace="$dir/log" /bin/true >/dev/null 2>&1; then
	firejail --quiet --noprofile --trace="$dir/log" "$bench" 'firejail --trace' "$rounds"
else
	echo '# firejail: not installed or does not run here, left out' >&2
fi
# What a user gets, floor and broker included, and what stops both ways: against runs without it,
# before and after, in the same directory.
few=$((rounds / 4 + 1))
mkdir "$dir/ws" "$dir/state"
export XDG_STATE_HOME=$dir/state TMPDIR=$dir/ws SBX_PROFILE=default
whole() # LABEL COMMAND...
{
	"$bench" bare "$few" >"$dir/before"
	"${@:2}" env TMPDIR="$dir/ws" "$bench" "$1" "$few" >"$dir/with"
	"$bench" bare "$few" >"$dir/after"
	python3 - "$dir" <<'P'
import json, sys
def rows(name):
    return [json.loads(l) for l in open(f"{sys.argv[1]}/{name}")]
for before, row, after in zip(rows("before"), rows("with"), rows("after")):
    base = (before["bare_ns"] + after["bare_ns"]) / 2
    ns = row["shim_ns"]
    row.update(bare_ns=round(base), added_ns=round(ns - base), ratio=round(ns / base, 3))
    row["min_ratio"] = round(row["min_ns"] / min(before["min_ns"], after["min_ns"]), 3)
    print(json.dumps(row, separators=(",", ":")))
P
}
alone() # COMMAND...: in the variables of --print-env
{
	bash -c 'eval "$("$0" -q -w "$TMPDIR" --print-env)" && exec "$@"' "$B/sbx-launch" "$@"
}
whole sbx-launch "$B/sbx-launch" -q -w "$dir/ws" --
whole 'sbx-launch --deny-read **/.env' "$B/sbx-launch" -q -w "$dir/ws" --deny-read '**/.env' --
whole --print-env alone
if command -v strace >/dev/null && strace -qq true 2>/dev/null; then
	few=$((rounds / 10 + 1))
	whole 'strace -e %file' strace -f -qq -e trace=%file -o /dev/null
else
	echo '# strace: not installed or not allowed here, left out' >&2
fi
