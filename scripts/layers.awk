# awk -f layers.awk docs/layers.txt FILE...: every #include "module/..." must be allowed by the table.
FNR == NR {
	if (/^[a-z]/) {
		split($0, a, ":")
		n = split(a[2], d, " ")
		for (i = 1; i <= n; i++)
			ok[a[1], d[i]] = 1
		known[a[1]] = 1
	}
	next
}
/^#[ \t]*include[ \t]*"/ {
	split($0, q, "\"")
	split(q[2], p, "/")
	split(FILENAME, f, "/")
	if (p[1] in known && p[1] != f[1] && !((f[1], p[1]) in ok)) {
		print FILENAME ":" FNR ": " f[1] " may not include " p[1]
		bad = 1
	}
}
END { exit bad }
