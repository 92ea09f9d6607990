# SPDX-License-Identifier: Apache-2.0
# verdict.awk, after refused.awk: results -> what they come to; status 1 when a cell does not hold.
BEGIN { FS = "\t" }
$6 == "refused" {
	if (is_refused_rightly($3, $4, $5, $7))
		refused++
	else {
		bad++
		print "refused, and should not be: " $0
	}
	next
}
must_be_refused($3, $4, $5) { bad++; print "runs, and should be refused: " $0 }
{ ok += $7; failed += $8; skipped += $9; parts++ }
$8 > 0 { bad++; print "failed: " $0 }
END {
	printf "%d parts of cells: %d ok, %d failed, %d skipped; %d cells refused as they must be\n", parts, ok, failed, skipped, refused
	exit bad > 0 || parts + refused == 0
}
