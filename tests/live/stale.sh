#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whatever variable of make changes a product, a product of before is not taken for it.
set -u
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
out=$(mktemp -d "${TMPDIR:-/tmp}/sbx-stale.XXXXXX") || exit 1
trap 'rm -rf "$out"' EXIT
n=0 bad=0
check() # NAME COMMAND...
{
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >"$out/log" 2>&1; then echo "ok $n - $name"; else
		echo "not ok $n - $name"
		sed 's/^/# /' "$out/log" | head -n 20
		bad=1
	fi
}
pc() # VARIABLE...
{
	make -s B="$out/b" "$@" "$out/b/sbx.pc"
}

prefix()
{
	pc PREFIX=/a && grep -qx 'prefix=/a' "$out/b/sbx.pc" &&
		pc PREFIX=/b && grep -qx 'prefix=/b' "$out/b/sbx.pc" && ! grep -q /a "$out/b/sbx.pc"
}
check 'another PREFIX, another pkg-config file' prefix
places()
{
	local v
	for v in LIBDIR INCLUDEDIR; do
		pc PREFIX=/a "$v=/first" && grep -q /first "$out/b/sbx.pc" || return 1
		pc PREFIX=/a "$v=/second" && grep -q /second "$out/b/sbx.pc" && ! grep -q /first "$out/b/sbx.pc" || return 1
	done
}
check 'so with LIBDIR and INCLUDEDIR' places
# Objects and programs depend on build/flags, what names the places of an installation on build/places (mk/flags.mk).
now()
{
	cat "$out/b/flags" "$out/b/places" "$out/b/gen/places.h"
}
flags()
{
	local v before
	pc || return 1
	for v in CFLAGS=-O1 LDFLAGS=-s CC='cc -pipe' LIBEXECDIR=/x PREFIX=/y SAN=address; do
		before=$(now)
		pc "$v" || return 1
		[ "$before" != "$(now)" ] || { echo "$v changes nothing"; return 1; }
		pc || return 1
		[ "$before" = "$(now)" ] || { echo "$v stays"; return 1; }
	done
}
check 'each variable that changes a compilation' flags
again()
{
	local first
	pc PREFIX=/a && first=$(stat -c %y "$out/b/sbx.pc" "$out/b/places" "$out/b/flags") &&
		pc PREFIX=/a && [ "$first" = "$(stat -c %y "$out/b/sbx.pc" "$out/b/places" "$out/b/flags")" ]
}
check 'and nothing is made anew without a change' again
echo "1..$n"
exit $bad
