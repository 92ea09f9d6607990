#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Capabilities: a run has those that it was given and no others, by a program with file capabilities
# or by the broker's hand, whatever sets the caller has them in.
. "$(dirname "$0")/../support/e2e.sh"

sets() # FILE: permitted, effective and ambient, as a program inside has them
{
	grep -E '^Cap(Prm|Eff|Amb):' "$1" | tr -d '\t\n '
}
NONE=CapPrm:0000000000000000CapEff:0000000000000000CapAmb:0000000000000000
# chown, dac_override, fowner, fsetid
ROOT=CapPrm:000000000000001bCapEff:000000000000001bCapAmb:0000000000000000

cp "$(command -v cat)" strong
if [ "$(id -u)" -eq 0 ]; then
	[ -x "$(command -v setcap)" ] && setcap cap_sys_admin,cap_dac_read_search,cap_net_admin,cap_setuid+p strong 2>/dev/null ||
		{ skip 'programs with file capabilities' 'setcap does not work here'; exit 0; }
	WANT=$ROOT
else
	WANT=$NONE
fi
for options in '' '--no-shim' '--isolate none --network host'; do
	# shellcheck disable=SC2086
	"$SBX" -qq $options -- ./strong /proc/self/status >"$TMP/status" 2>&1
	check "a program with file capabilities has no more than the run ($options)" [ "$(sets "$TMP/status")" = "$WANT" ]
done
if [ "$(id -u)" -eq 0 ]; then
	cp strong stronger && setcap cap_sys_admin,cap_dac_read_search+ep stronger
	check 'one that must have them at once does not start' sh -c '! "$1" -q -- ./stronger /proc/self/status 2>/dev/null | grep .' - "$SBX"
fi
"$SBX" -qq --caps none -- ./strong /proc/self/status >"$TMP/status" 2>&1
check 'nor where the run has none' [ "$(sets "$TMP/status")" = "$NONE" ]
SBX=$SBX "$SBX" -qq -- "$SBX" -qq -- ./strong /proc/self/status >"$TMP/status" 2>&1
check 'nor in a run inside' [ "$(sets "$TMP/status")" = "$WANT" ]
[ "$(id -u)" -eq 0 ] || exit 0
[ -x "$(command -v capsh)" ] || { skip 'sets of the caller' 'no capsh'; exit 0; }

# What the caller dropped from the bounding set, and has in others.
mkdir closed && echo old >file && chown 65534 file closed && chmod 600 file && chmod 700 closed && chmod 777 .
work='echo x >>file; echo y >closed/new; chmod 644 file; mv closed/new closed/other; rm -f closed/other'
"$SBX" -q -- sh -c "echo x >>file"
check 'root writes where it is not the owner (positive control)' [ "$(cat file)" = "$(printf 'old\nx')" ]
echo old >file
for options in '' '--no-shim' '--deny-read **/*.none'; do
	capsh --inh=cap_dac_override,cap_fowner,cap_dac_read_search --drop=cap_dac_override,cap_fowner,cap_dac_read_search -- -c \
		"'$SBX' -q $options -- sh -c '$work; grep Cap /proc/self/status >status'" >"$TMP/out" 2>&1
	check "what is in the inheritable set alone is not the broker's either ($options)" \
		[ "$(cat file),$(ls closed),$(stat -c %a file)" = old,,600 ]
	check 'nor the command'\''s' grep -q 'CapPrm:.*0011$' status
done
capsh --secbits=3 -- -c "'$SBX' -q -- sh -c '$work'" >"$TMP/out" 2>&1
check 'nor where being root gives none (SECBIT_NOROOT, locked)' [ "$(cat file),$(ls closed),$(stat -c %a file)" = old,,600 ]
exit 0
