#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each file of rows in tests/vectors is read by some test.
n=0
for file in tests/vectors/*.tsv; do
	name=$(basename "$file")
	n=$((n + 1))
	# the name with its ending, or as a test builds it from the stem
	if grep -rqsE "(^|[^a-z_])(${name%.tsv}(\.tsv|\"|'))" --include='*.c' --include='*.sh' --include='*.py' tests; then
		echo "ok $n - $name is read"
	else
		echo "not ok $n - $name is read by no test"
	fi
done
echo "1..$n"
