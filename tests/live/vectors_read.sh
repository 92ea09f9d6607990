#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Each file of rows in tests/vectors is read by some test, and each row of the systems' own is in one, or
# in unread.tsv with the reason. VECTORS=DIR: the rows as they were collected, compared as well.
n=0
result() # NAME [WHAT IS WRONG]
{
	n=$((n + 1))
	if [ -z "$2" ]; then echo "ok $n - $1"; else
		echo "not ok $n - $1"
		printf '%s\n' "$2" | sed 's/^/# /' | head -n 20
	fi
}
ids() # FILE...
{
	cat "$@" | grep -v '^#' | cut -f1
}

# the name with its ending, or as a test builds it from the stem
named=$(grep -rhosE "[a-zA-Z0-9_-]+(\.tsv|\"|')" --include='*.c' --include='*.sh' --include='*.py' tests | sort -u)
for file in tests/vectors/*.tsv; do
	name=$(basename "$file")
	grep -qxE "${name%.tsv}(\.tsv|\"|')" <<<"$named" && wrong= || wrong='by no test'
	result "$name is read" "$wrong"
done
result 'what is not read says why' "$(grep -v '^#' tests/vectors/unread.tsv | grep -vP '^[a-z_0-9]+-[0-9]+\t.{15,}')"
read_ids=$(ls tests/vectors/*.tsv | grep -v unread.tsv | xargs cat | grep -v '^#' | cut -f1 | sort)
result 'no row is read and not read' "$(comm -12 <(ids tests/vectors/unread.tsv | sort) <(sort -u <<<"$read_ids"))"
result 'no row is excused twice' "$(ids tests/vectors/unread.tsv | sort | uniq -d)"

# Files whose rows have a test each by their number.
numbers=$(grep -v '^#' tests/vectors/shell_runner.tsv | sed 's/^shell_runner-\([0-9]*\).*/\1/')
result 'each row of the shell runner has a check' \
	"$(for i in $numbers; do grep -q "check '$i" tests/e2e/grida.sh || echo "$i"; done)"
# Tests that go through all rows of a file but for those of some kind name the kinds that they judge.
systems=$(grep -v '^#' tests/vectors/sensitive_paths.tsv | cut -f2 | sort -u)
result 'each system of sensitive_paths.tsv has a test' \
	"$(while read -r s; do grep -rqF "\"$s\"" --include='*.c' tests/unit || echo "$s"; done <<<"$systems")"
if [ -n "${VECTORS:-}" ]; then
	result 'each row that was collected is in a file' \
		"$(ids "$VECTORS"/*.tsv | sort | comm -23 - <(cat <(echo "$read_ids") <(ids tests/vectors/unread.tsv) | sort -u))"
fi
echo "1..$n"
