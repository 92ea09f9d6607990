#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The attacker for some seconds (TAP): every policy, with and without namespaces, by turns as this
# user and as an ordinary one. `make attack` is the same for an hour, guided by the broker's lines.
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$(cd "$here/../.." && pwd)/$B ;; esac
T=$(mktemp -d /tmp/sbx-attacker-XXXXXX) || exit 2
trap 'rm -rf "$T"' EXIT
n=0
ok() # NAME STATUS
{
	n=$((n + 1))
	[ "$2" -eq 0 ] && echo "ok $n - $1" || echo "not ok $n - $1"
}

if [ "$(id -u)" = 0 ]; then
	combos='default/auto/me default/none/nobody pattern/auto/nobody pattern/none/me literal/auto/me
		literal/none/nobody srt/auto/nobody srt/none/me openshell/auto/me openshell/none/nobody
		endpoints/auto/nobody endpoints/none/me'
else
	combos='default/auto/me pattern/none/me literal/auto/me srt/none/me openshell/auto/me endpoints/auto/me'
fi
B=$B KEEP=$T SEED=${SEED:-1} COMBOS=$combos "$here/attack" "${ATTACK_SECONDS:-$([ -n "${FULL:-}" ] && echo 12 || echo 6)}" >"$T/out" 2>&1
status=$?
while read -r line; do
	case $line in *' 0 findings'*) ok "$line" 0 ;; *) ok "$line" 1 ;; esac
done < <(grep '^RAN' "$T/out")
[ "$n" -eq "$(echo "$combos" | wc -w)" ]
ok 'all of them ran' $?
ok 'no canary' $status
"$here/attack-planted" --check >"$T/planted" 2>&1
! grep -q '^not ok' "$T/planted" && [ "$(grep -c '^ok' "$T/planted")" -ge 20 ]
ok 'each planted fault applies to the source (make attack-planted)' $?
grep -A3 '^not ok' "$T/planted" | sed 's/^/# /'
gone=$(grep -v '^#' "$here/attack-excluded" | while IFS= read -r row; do
	text=${row#* | }
	text=${text% | *}
	# "name()" is a function
	grep -qF -- "${text%)}" "$here/../../launcher/linux/broker/${row%% | *}" || echo "# $row"
done)
[ -z "$gone" ]
ok 'each line that counts for nothing is there (attack-excluded)' $?
[ -z "$gone" ] || echo "$gone"
[ $status -eq 0 ] || sed 's/^/# /' "$T/out"
echo "1..$n"
