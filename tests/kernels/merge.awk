# SPDX-License-Identifier: Apache-2.0
# merge.awk NEW EARLIER: results of both in the order of the matrix. What was tried anew replaces what was found before: a
# part of a cell, or the whole cell when it is refused now, or was.
function cell() { return $1 FS $3 FS $4 FS $5 }
function keep() { lines[++n] = cell() FS $6 "\n" $0 }
$6 == "unfinished" { if (NR == FNR) keep(); next }
NR == FNR {
	part[cell(), $6]
	if ($6 == "refused") refused[cell()]
	else runs[cell()]
	keep()
	next
}
!((cell(), $6) in part) && !(cell() in refused) && !($6 == "refused" && cell() in runs) { keep() }
END {
	for (i = 2; i <= n; i++) # few, and awk has no sort
		for (j = i; j > 1 && head(lines[j - 1]) > head(lines[j]); j--) {
			line = lines[j]; lines[j] = lines[j - 1]; lines[j - 1] = line
		}
	for (i = 1; i <= n; i++) print substr(lines[i], index(lines[i], "\n") + 1)
}
# By kernel, namespaces, scope, user; parts as they were run.
function head(line,  f) { split(substr(line, 1, index(line, "\n") - 1), f, FS); return sprintf("%-20s %2s %s %s", f[1], f[3], f[2], f[4]) }
