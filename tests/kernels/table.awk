# SPDX-License-Identifier: Apache-2.0
# table.awk, after refused.awk: results of check-kernels -> the table of docs/HOSTS.md. A field says of each part "ok/tried",
# or why the cell is refused, in bold where it must not be.
BEGIN {
	FS = "\t"
	print "| kernel, Landlock ABI | Yama | user namespaces | root | ordinary user |"
	print "|---|---|---|---|---|"
}
$6 == "unfinished" { next }
{
	row = $1 ", " $2 " | " $3 " | " ($4 == 1 ? "yes" : $4 == "aa" ? "AppArmor restricts" : "**no**")
	if (!(row in seen)) { seen[row] = 1; rows[++n] = row }
	if ($6 == "refused") {
		sub(/^sbx-launch: /, "", $7)
		gsub(/\|/, "\\|", $7)
		cell[row, $5] = is_refused_rightly($3, $4, $5, $7) ? "refused: " $7 : "**refused**: " $7
		next
	}
	text = $6 " " $7 "/" $7 + $8 + $9
	cell[row, $5] = cell[row, $5] (cell[row, $5] ? ", " : "") ($8 > 0 ? "**" text "**" : text)
}
function shown(row, who) { return (row, who) in cell ? cell[row, who] : "not tried" }
END { for (i = 1; i <= n; i++) print "| " rows[i] " | " shown(rows[i], "root") " | " shown(rows[i], "user") " |" }
