# SPDX-License-Identifier: Apache-2.0
# awk -f layers.awk docs/layers.txt FILE...: every #include "room/..." must be allowed by the table.
# A room is a folder. `x/` in the table allows x and every room in it.
function room(path) {
	sub(/\/[^\/]*$/, "", path)
	return path
}
function is_allowed(from, to,    up) {
	if (from == to || (from, to) in ok)
		return 1
	for (up = to; ; sub(/\/[^\/]*$/, "", up)) {
		if ((from, up "/") in ok)
			return 1
		if (up !~ /\//)
			return 0
	}
}
FNR == NR {
	if (/^[a-z]/) {
		split($0, a, ":")
		known[a[1]] = 1
		n = split(a[2], d, " ")
		for (i = 1; i <= n; i++)
			ok[a[1], d[i]] = 1
	}
	next
}
FNR == 1 && !(room(FILENAME) in known) {
	print FILENAME ": its folder is not in the table"
	bad = 1
}
/^#[ \t]*include[ \t]*"[^"]*\// {
	split($0, q, "\"")
	if (!is_allowed(room(FILENAME), room(q[2]))) {
		print FILENAME ":" FNR ": " room(FILENAME) " may not include " room(q[2])
		bad = 1
	}
}
END { exit bad }
