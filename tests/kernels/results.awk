# SPDX-License-Identifier: Apache-2.0
# results.awk: output of cells -> one line a part, tab-separated: kernel, abi, yama, userns, who, part, ok, failed, skipped,
# seconds; of a cell that is refused: part "refused", then the cause.
BEGIN { OFS = "\t" }
/^== .* not finished/ { print $2, "-", "-", $4, "-", "unfinished", 0, 1, 0, 0 }
/^== .* abi / { cell = $2 OFS $4 OFS $6 OFS $8 OFS $9 }
/^= refused / { sub(/^= refused /, ""); print cell, "refused", $0 }
/^= [a-z0-9]+ [0-9]+ / { print cell, $2, $3, $4, $5, $6 }
