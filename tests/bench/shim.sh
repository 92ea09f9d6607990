#!/bin/bash
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
# strace stops both ways: its base is a run without it, before and after.
if command -v strace >/dev/null && strace -qq true 2>/dev/null; then
	few=$((rounds / 10 + 1))
	"$bench" bare "$few" >"$dir/before"
	strace -f -qq -e trace=%file -o /dev/null "$bench" 'strace -e %file' "$few" >"$dir/strace"
	"$bench" bare "$few" >"$dir/after"
	python3 - "$dir" <<'P'
import json, sys
def rows(name):
    return [json.loads(l) for l in open(f"{sys.argv[1]}/{name}")]
for before, traced, after in zip(rows("before"), rows("strace"), rows("after")):
    base = (before["bare_ns"] + after["bare_ns"]) / 2
    ns = traced["bare_ns"]
    traced.update(bare_ns=round(base), shim_ns=ns, added_ns=round(ns - base), ratio=round(ns / base, 3))
    del traced["min_ratio"]
    print(json.dumps(traced, separators=(",", ":")))
P
else
	echo '# strace: not installed or not allowed here, left out' >&2
fi
