#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The library as a file: what it exports, what it needs, what it costs to map.
set -u
B=${B:-build}
lib=$B/libsbx-shim.so
bad=0

check() # NAME COMMAND...
{
	local name=$1
	shift
	if "$@"; then echo "ok - $name"; else echo "not ok - $name"; bad=1; fi
}

cd "$(dirname "$0")/../.." || exit 1
why=$(scripts/check-abi "$lib" "$B/shim-obj/exports.list" 2>&1)
check 'exports the table, needs five weak names and no library' [ -z "$why" ]
printf '%s' "$why" | sed 's/^/# /'
# each relocation is a word to write, and the page under it to copy, at every start of a program
relocations=$(readelf -rW "$lib" | grep -c R_)
check "few relocations: $relocations" [ "$relocations" -le 24 ]
private=$(readelf -lW "$lib" | awk '$1 == "LOAD" && /RW/ { print $6 }')
private=$((${private:-0xffffffff}))
check "at most 300 KiB private: $private bytes" [ "$private" -le 307200 ]
check 'no executable stack, no writable code' \
	[ -z "$(readelf -lW "$lib" | grep -E 'RWE')" ]
check 'no thread-local storage, which might have to be allocated' \
	[ -z "$(readelf -lW "$lib" | grep -w TLS)" ]
check 'no fork, vfork or signal mask of ours' \
	[ -z "$(nm -D --defined-only "$lib" | grep -wE 'fork|vfork|_Fork|sigprocmask|exit|atexit')" ]
lib32=$B/libsbx-shim32.so
if [ -e "$lib32" ]; then
	why=$(scripts/check-abi "$lib32" "$B/shim32-obj/exports.list" 2>&1)
	check 'so for 32-bit programs' [ -z "$why" ]
	printf '%s' "$why" | sed 's/^/# /'
else
	echo 'ok - so for 32-bit programs # SKIP not built: no compiler for them'
fi
echo 1..7
exit $bad
