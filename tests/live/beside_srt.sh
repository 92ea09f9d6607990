#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A few settings of srt's, with srt itself beside: make check-differential has hundreds. What the
# two may differ in is a row of docs/DIALECTS.md.
set -u
B=${B:-build}
dir=tests/differential
rows=$(sed -n 's/^| `\([a-zA-Z-]*\)` |.*/\1/p' docs/DIALECTS.md | sort)
if [ -n "$rows" ] && [ "$rows" = "$(python3 $dir/srt.py --rows | sort)" ]; then
	echo "ok 1 - the differences that are known are those of docs/DIALECTS.md"
else
	echo "not ok 1 - the differences that are known are those of docs/DIALECTS.md"
fi
if ! why=$($dir/srt-cli); then
	echo "ok 2 - srt beside sbx-launch # SKIP $why"
elif $dir/run 5 9000 >"${TMPDIR:-/tmp}/beside-srt.$$" 2>&1; then
	echo "ok 2 - srt beside sbx-launch"
else
	echo "not ok 2 - srt beside sbx-launch"
	sed 's/^/# /' "${TMPDIR:-/tmp}/beside-srt.$$" | head -n 40
fi
rm -f "${TMPDIR:-/tmp}/beside-srt.$$"
echo 1..2
