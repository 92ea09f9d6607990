# SPDX-License-Identifier: Apache-2.0
# awk -f layers.awk docs/layers.txt FILE...: every #include "room/..." must be allowed by the table,
# and no rooms and no units (x.c and x.h) may include one another in circles, but for those that a
# line `circle:` lists. A line that lists what is no circle any more is refused as well, so that the
# list only becomes shorter. Private headers (x_priv.h) are a room's inside and count for no circle.
# A room is a folder. `x/` in the table allows x and every room in it.
function room(path) {
	sub(/\/[^\/]*$/, "", path)
	return path
}
function unit(path) {
	sub(/\.[ch]$/, "", path)
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
function refuse(text) {
	print text
	bad = 1
}
# `from` includes `to`; edges[from] are those it includes.
function arrow(from, to) {
	if (from == to || (from, to) in seen)
		return
	seen[from, to] = 1
	edges[from] = edges[from] " " to
	nodes[from] = nodes[to] = 1
}
# Whatever `start` leads to: reach[start, x].
function walk(start,    stack, n, at, list, k, i) {
	stack[n = 1] = start
	while (n > 0) {
		at = stack[n--]
		k = split(edges[at], list, " ")
		for (i = 1; i <= k; i++)
			if (!((start, list[i]) in reach)) {
				reach[start, list[i]] = 1
				stack[++n] = list[i]
			}
	}
}
function circles(    a, b, list) {
	for (a in nodes)
		walk(a)
	for (a in nodes) {
		if (!((a, a) in reach))
			continue
		list = ""
		for (b in nodes) {
			if (a == b || !((a, b) in reach) || !((b, a) in reach))
				continue
			if (!(a in circle) || circle[a] != circle[b])
				list = list " " b
		}
		if (list != "")
			refuse("circle: " a " and" list " include one another")
	}
	for (a in circle)
		if (!((a, a) in reach))
			refuse("docs/layers.txt: " a " is in no circle any more: shorten the line")
}
FNR == NR {
	if (/^circle:/) {
		n = split($0, d, " ")
		for (i = 2; i <= n; i++)
			circle[d[i]] = FNR
	} else if (/^[a-z]/) {
		split($0, a, ":")
		known[a[1]] = 1
		n = split(a[2], d, " ")
		for (i = 1; i <= n; i++)
			ok[a[1], d[i]] = 1
	}
	next
}
FNR == 1 && !(room(FILENAME) in known) {
	refuse(FILENAME ": its folder is not in the table")
}
/^#[ \t]*include[ \t]*"[^"]*\// {
	split($0, q, "\"")
	if (!is_allowed(room(FILENAME), room(q[2])))
		refuse(FILENAME ":" FNR ": " room(FILENAME) " may not include " room(q[2]))
	if (!(room(q[2]) in known))
		next
	arrow(room(FILENAME), room(q[2]))
	if (FILENAME !~ /_priv\.h$/ && q[2] !~ /_priv\.h$/)
		arrow(unit(FILENAME), unit(q[2]))
}
END {
	circles()
	exit bad
}
