#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/e2e/shim_law.sh for 32-bit programs: every exported name, and what a preloaded library must
# survive.
. "$(dirname "$0")/../support/shim.sh"
shim=$BIN/libsbx-shim32.so
if [ ! -x "$BIN/shim_32_law" ] || ! "$BIN/shim_32_law" list >/dev/null 2>&1; then
	echo "ok - $SHIM_TEST_USER: 32-bit programs # SKIP no compiler, or no kernel, for them"
	exit 0
fi

fresh()
{
	rm -rf ok no top
	mkdir -p ok/dir no
	printf abc >ok/file
	printf abc >no/file
	: >ok/file2
	: >ok/dir/x
	ln -s file ok/link
	ln -s ../no/file ok/to-no
}
policy=(--rule all:/ --rule "all:!$T/no/" --rule "all:!$T/top/in/secret")

fresh
run all "${policy[@]}" -- "$BIN/shim_32_matrix" "$T"
check 'every name: allowed does, denied does not' [ "$status" -eq 0 ]
printf '%s\n' "$out" | grep '^not ok' | sed 's/^/# /'
check 'and none is left out' [ "$(printf '%s\n' "$out" | grep -c '^# event')" -ge 80 ]
for law in $("$BIN/shim_32_law" list | sed 's/^/shim_32_law:/') $("$BIN/shim_32_odd" list | sed 's/^/shim_32_odd:/') \
	$("$BIN/shim_32_stack" list | sed 's/^/shim_32_stack:/'); do
	fresh
	run all "${policy[@]}" -- "$BIN/${law%:*}" "${law#*:}" "$T"
	name=${law#*:}
	check "law: ${name//_/ }" [ "$status" -eq 0 ]
done
mkdir bare shimmed
(cd bare && "$BIN/shim_32_same") >"$T.bare" </dev/null
run all "${policy[@]}" -- env --chdir=shimmed "$BIN/shim_32_same"
check 'outcomes are those of a run without the shim' \
	[ "$out" = "$(cat "$T.bare")" -a "$(wc -l <"$T.bare")" -gt 40 ]
diff "$T.bare" <(printf '%s\n' "$out") | sed 's/^/# /'
run all "${policy[@]}" -- "$BIN/shim_32_law" early "$T"
event '32-bit writers and a 64-bit reader share the ring' "CALL open read DENY EACCES - * $T/no/file"
