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
# Each variable that make can be given is in one of these lists. What changes a product changes a file that the
# product depends on: build/flags for objects, build/linking for programs and libsbx.a, build/places for what
# names the places of an installation (mk/flags.mk).
builds='CC AR LD_R OBJCOPY CFLAGS LDFLAGS SECTIONS SAN WERROR ARCHIVES STATIC ALL_STATIC PREFIX LIBEXECDIR LIBDIR INCLUDEDIR'
# what only the installation reads, which copies each time; and what names the build, or how much make says
installs='BINDIR MANDIR BASHCOMPDIR ZSHCOMPDIR FISHCOMPDIR STRIP DESTDIR'
others='B V SETUP EMULATOR RELEASE JOBS PKG_CONFIG AGENTS ATTACK_SECONDS RACE_MS SETTINGS SEED SOAK_SECONDS FLEET_HOSTS FLEET_EVENTS
	FLEET_KILLS FLEET_NODE HOSTS_ROUNDS FUZZ_SECONDS STRESS_SECONDS DARWIN_CC DARWIN_LD DARWIN_LIPO ARM64_ROOT QEMU_ARM64'
known()
{
	local v bad=0
	for v in $(sed -n 's/^\([A-Z_0-9]*\) ?=.*/\1/p' GNUmakefile mk/*.mk */module.mk | sort -u); do
		case " $(echo $builds $installs $others) " in
		*" $v "*) ;;
		*) echo "$v: what does it change?" && bad=1 ;;
		esac
	done
	return $bad
}
check 'each variable is known here' known
now()
{
	cat "$out/b/flags" "$out/b/linking" "$out/b/places" "$out/b/gen/places.h"
}
flags()
{
	local v before bad=0
	pc || return 1
	for v in $builds; do
		case $v in
		SAN) v=SAN=address ;;
		ARCHIVES) v=ARCHIVES=no ;;
		CC) v='CC=cc -pipe' ;;
		PREFIX | *DIR) v=$v=/another ;;
		*) v=$v=-another ;;
		esac
		before=$(now)
		make -s B="$out/b" "$v" "$out/b/flags" >/dev/null 2>&1
		[ "$before" != "$(now)" ] || { echo "$v changes nothing"; bad=1; }
		pc || return 1
		[ "$before" = "$(now)" ] || { echo "$v stays"; bad=1; }
	done
	return $bad
}
check 'each variable that changes a product' flags
depend()
{
	local bad=0 p
	make -pnr B="$out/b" all >"$out/all" 2>/dev/null
	grep -E "^$out/b/(obj|shim-obj|shim32-obj)/[^ ]*\.o: ." "$out/all" | grep -v "$out/b/flags" && bad=1
	for p in sbx-launch sbx-policy sbx-audit sbx-selftest sbx-adopt sbx-egress libsbx.a; do
		grep -q "^$out/b/$p: .*$out/b/linking" "$out/all" || { echo "$p does not depend on build/linking"; bad=1; }
	done
	[ "$(grep -cE "^$out/b/obj/[^ ]*\.o: ." "$out/all")" -gt 100 ] || { echo 'few objects'; bad=1; }
	return $bad
}
check 'and each object and program depends on it' depend
again()
{
	local first
	pc PREFIX=/a && first=$(stat -c %y "$out/b/sbx.pc" "$out/b/places" "$out/b/flags" "$out/b/linking") &&
		pc PREFIX=/a && [ "$first" = "$(stat -c %y "$out/b/sbx.pc" "$out/b/places" "$out/b/flags" "$out/b/linking")" ]
}
check 'and nothing is made anew without a change' again
echo "1..$n"
exit $bad
