# SPDX-License-Identifier: Apache-2.0
# verdict.awk: results -> what they come to; status 1 when a cell does not hold. Refused may only be an ordinary user under
# Yama 2 without user namespaces, and the refusal must name Yama.
BEGIN { FS = "\t" }
$6 == "refused" {
	if ($3 >= 2 && $4 == 0 && $5 == "user" && $7 ~ /[Yy]ama/)
		refused++
	else {
		bad++
		print "refused, and should not be: " $0
	}
	next
}
{ ok += $7; failed += $8; skipped += $9; parts++ }
$8 > 0 { bad++; print "failed: " $0 }
END {
	printf "%d parts of cells: %d ok, %d failed, %d skipped; %d cells refused as they must be\n", parts, ok, failed, skipped, refused
	exit bad > 0 || parts == 0
}
