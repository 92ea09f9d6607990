#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The quick part of `make coverage`: what strace sees of these programs is in the shim's log.
here=$(cd "$(dirname "$0")/../coverage" && pwd)
n=0
for program in bash coreutils make perl; do
	n=$((n + 1))
	if ! command -v strace >/dev/null || ! strace -qq true 2>/dev/null; then
		echo "ok $n - coverage of $program # SKIP no strace, or none is allowed"
		continue
	fi
	if out=$("$here/run.sh" "$program" 2>&1); then
		echo "ok $n - coverage of $program"
	else
		echo "not ok $n - coverage of $program"
	fi
	while IFS= read -r line; do echo "# $line"; done <<<"$out"
done
echo "1..$n"
