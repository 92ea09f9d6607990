#!/bin/sh
# What the shim adds to single calls: with nothing preloaded (the noise of the method), with
# the shim at level folded, and at level all. JSON lines on stdout. `shim.sh [ROUNDS]`.
set -eu
B=${B:-build}
case $B in /*) ;; *) B=$PWD/$B ;; esac
rounds=${1:-201}

bench() # LABEL SHIM LEVEL
{
	"$B/tests/mkchannel" --shim "$2" --level "$3" --log /dev/null --alias /bin=/usr/bin \
		--alias /lib=/usr/lib --rule all:/ --rule 'read:!/**/*.env' \
		--rule 'read:!/root/.ssh/' --rule 'modify:!/**/.git/hooks/**' -- \
		"$B/tests/bench/bench_shim" "$1" "$rounds"
}
bench 'bare against itself' '' folded
bench folded "$B/libsbx-shim.so" folded
bench all "$B/libsbx-shim.so" all
