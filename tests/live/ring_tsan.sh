#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The ring's threads under ThreadSanitizer, see tests/tsan/ring.c.
echo 1..1
if out=$("${B:-build}/tests/tsan-ring" 2>&1); then
	echo "ok 1 - no race between writers and reader"
else
	echo "not ok 1 - no race between writers and reader"
	printf '%s\n' "$out" | head -n 40 | sed 's/^/# /'
	exit 1
fi
