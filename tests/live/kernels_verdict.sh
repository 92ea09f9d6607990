#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What `make check-kernels` says of results: which refusals must be, under which scope of Yama.
set -u
kernels=tests/kernels
n=0 bad=0
verdict() # WANTED-STATUS WANTED-IN-TABLE NAME, results on stdin: yama userns who part rest
{
	local results table said status
	results=$(sed 's/^/k 6 /; s/ /\t/; s/ /\t/; s/ /\t/; s/ /\t/; s/ /\t/; s/ /\t/' | awk -F '\t' -v OFS='\t' '$6 != "refused" { gsub(/ /, "\t", $7) } 1')
	said=$(printf '%s\n' "$results" | awk -f $kernels/refused.awk -f $kernels/verdict.awk)
	status=$?
	table=$(printf '%s\n' "$results" | awk -f $kernels/refused.awk -f $kernels/table.awk)
	n=$((n + 1))
	case "$status $table" in
	"$1 "*"$2"*) echo "ok $n - $3" ;;
	*)
		bad=1
		echo "not ok $n - $3"
		printf '%s\n' "$said" "$table" | sed 's/^/# /'
		;;
	esac
}
verdict 0 '| k, 6 | 3 | yes | refused: E_FLOOR: Yama lets no | refused: Yama |' 'scope 3: everybody is refused' <<'X'
3 1 root refused sbx-launch: E_FLOOR: Yama lets no
3 1 user refused Yama
X
verdict 1 'smoke 17/17' 'scope 3: a run that is made is wrong' <<'X'
3 1 root smoke 17 0 0 9
X
verdict 1 '**refused**: no Landlock' 'the refusal must name Yama' <<'X'
3 0 user refused no Landlock
X
verdict 0 '| smoke 17/17 | refused: Yama |' 'scope 2: an ordinary user without user namespaces' <<'X'
2 0 root smoke 17 0 0 9
2 0 user refused Yama
X
verdict 1 '**refused**: Yama' 'scope 2: with user namespaces nobody' <<'X'
2 1 user refused Yama
X
verdict 1 '**smoke 16/17**' 'a part that fails' <<'X'
1 0 user smoke 16 1 0 9
X
# A piece of the matrix that is done again, with KEEP=1.
merged() # WANTED NAME: cells of "new" on stdin, then those of "earlier"; what stays, as "yama userns who part ok"
{
	local said dir
	dir=$(mktemp -d) || exit 2
	tee "$dir/all" | sed '/^-/,$d; s/^/k 6 /; s/ /\t/g' >"$dir/new"
	sed '1,/^-/d; s/^/k 6 /; s/ /\t/g' "$dir/all" >"$dir/earlier"
	said=$(awk -F '\t' -f $kernels/merge.awk "$dir/new" "$dir/earlier" | cut -f 3-7 | tr '\t\n' ' ,')
	rm -rf "$dir"
	n=$((n + 1))
	[ "$said" = "$1" ] && echo "ok $n - $2" || { bad=1; echo "not ok $n - $2"; echo "# $said"; }
}
merged '0 0 root smoke 17,0 0 root selftest 5,1 0 user smoke 17,1 1 user smoke 3,' 'what is done again replaces what was found' <<'X'
1 0 user smoke 17 0 0 9
0 0 root smoke 17 0 0 9
-
0 0 root smoke 2 15 0 9
0 0 root selftest 5 0 0 9
1 1 user smoke 3 0 0 9
X
merged '2 0 root smoke 17,2 0 user refused Yama,2 1 user smoke 17,' 'a cell that is refused has no parts, one that runs is not refused' <<'X'
2 0 user refused Yama
2 1 user smoke 17 0 0 9
-
2 0 root smoke 17 0 0 9
2 0 user smoke 17 0 0 9
2 1 user refused Yama
X
echo "1..$n"
exit $bad
