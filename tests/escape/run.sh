#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Attacks on the floor (TAP). Each probe first runs bare and must succeed: the positive control.
# Then it runs under sbx-launch and must be refused, with the outside as it was before. Twice:
# as whoever runs this and, when that is root, as an ordinary user. Without FULL=1 root tries once, as
# itself (sbx-selftest has the same attacks of an ordinary user), or with QUICK=user as the other.
#
# WRAP may name another program that confines, which gets the attack, and in PEER_WS the workspace.
# SBX_ARGS may hold more arguments for sbx-launch; ONLY a pattern of probe names; ON what the host
# lacks (arguments of tests/support/mkhost.c); SBX_RACE_MS how long a race lasts.
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$(cd "$here/../.." && pwd)/$B ;; esac
SBX=${SBX:-$B/sbx-launch}
probe=$B/tests/escape-probe

make_wrapper() # a file, because script(1) starts it, too
{
	cat >"$T/in-sandbox" <<-END
		#!/bin/sh
		export HOME='$T/home' XDG_STATE_HOME='$T/state' XDG_CACHE_HOME='$T/cache'
		exec ${ON:+'$B/tests/mkhost' $ON} '$SBX' -q --workspace '$T/ws' ${SBX_ARGS:-} \${MORE:-} -- "\$@"
	END
	[ -z "${WRAP:-}" ] || printf '#!/bin/sh\nexport PEER_WS=%s/ws\nexec %s "$@"\n' "$T" "$WRAP" >"$T/in-sandbox"
	chmod 755 "$T/in-sandbox"
}

on_tty() # STATEMENT
{
	script -qec "$1" /dev/null </dev/null >"$T/tty" 2>&1
}

attack() # NAME NEEDS PREFIX: stands in the workspace, two descriptors of the outside open
{
	cd "$T/ws" || exit 2
	: >"$T/tty"
	case $2 in *deny*) export MORE="--deny-read $T/ws/hidden" ;; *) unset MORE ;; esac
	case $2 in
	*tty*) on_tty "$3 $probe run $T $1" ;;
	*) $3 "$probe" run "$T" "$1" ;;
	esac
} 8>>"$T/out/f" 9<"$T/out" 2>"$T/err" </dev/null

report() # ok|not NAME DIAGNOSIS
{
	n=$((n + 1))
	if [ "$1" = ok ]; then
		echo "ok $n - $who: $2"
	else
		echo "not ok $n - $who: $2"
		echo "# $3"
		sed 's/^/# /' "$T/err"
	fi
}

one() # NAME NEEDS
{
	case "$2:$who" in *root*:user)
		n=$((n + 1))
		echo "ok $n - $who: $1 # SKIP the kernel refuses ordinary users anyway"
		return ;;
	esac
	# a race can be lost on a busy machine by whoever nothing stops
	for _ in 1 2 3 4 5; do
		"$probe" setup "$T" || exit 2
		attack "$1" "$2" ''
		status=$?
		[ $status -ne 0 ] || break
	done
	if [ $status -ne 0 ]; then
		if case $2 in *host*) true ;; *) false ;; esac; then
			n=$((n + 1))
			echo "ok $n - $who: $1 # SKIP this host refuses it to everybody: $(tr '\n' ' ' <"$T/err")"
		else
			report not "$1" "positive control failed: status $status without the sandbox"
		fi
		return
	fi
	"$probe" setup "$T" || exit 2
	"$probe" state "$T" >"$T/before" || exit 2
	attack "$1" "$2" "$T/in-sandbox"
	status=$?
	"$probe" state "$T" >"$T/after" 2>&1
	# 1: refused with an errno; 159: killed by the filter (SIGSYS)
	if [ $status -ne 1 ] && [ $status -ne 159 ]; then
		report not "$1" "status $status under sbx-launch, 1 or 159 expected"
	elif ! cmp -s "$T/before" "$T/after"; then
		report not "$1" "refused, but the outside changed: $(diff "$T/before" "$T/after" | tr '\n' ' ')"
	else
		report ok "$1 $(sed -n 's/^[a-z0-9-]*: /refused: /p' "$T/err" "$T/tty" | tr -d '\r' | tail -n 1)"
	fi
}

as_me() # FIRST-NUMBER
{
	n=$1
	who=root
	[ "$(id -u)" = 0 ] || who=user
	T=$(mktemp -d /tmp/sbx-escape-XXXXXX) || exit 2
	chmod 755 "$T"
	mkdir -p "$T/ws" "$T/out" "$T/run" "$T/home/.ssh" "$T/state"
	touch "$T/out/f"
	make_wrapper
	"$probe" setup "$T" || exit 2
	mkfifo "$T/hold"
	env MARKER=s3cret-marker "$probe" outside "$T" <"$T/hold" &
	outside=$!
	exec 7>"$T/hold"
	while [ ! -e "$T/run/outside" ] && kill -0 $outside 2>/dev/null; do :; done
	# A sandbox that cannot start would refuse everything.
	if (cd "$T/ws" && "$T/in-sandbox" sh -c 'echo x >made && cat made >/dev/null') 2>"$T/err"; then
		report ok 'the workspace is writable inside'
	else
		report not 'the workspace is writable inside' 'sbx-launch does not work here'
	fi
	while read -r name needs; do
		# shellcheck disable=SC2254
		case $name in ${ONLY:-*}) one "$name" "$needs" ;; esac
	done < <("$probe" list)
	exec 7>&-
	wait $outside
	rm -rf "$T"
}

if [ "${1:-}" = --as-me ]; then
	as_me "$2"
	exit
fi
if [ ! -x "$SBX" ] || [ ! -x "$probe" ]; then
	echo "1..0 # SKIP $SBX or $probe is not built"
	exit 1
fi
out=$(mktemp) || exit 2
quick=me
[ "$(id -u)" != 0 ] || quick=${FULL:+both}
quick=${quick:-${QUICK:-me}}
as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
others() { $as_nobody test -x "$SBX" && $as_nobody test -r "$here/run.sh"; }
[ "$quick" != user ] || others || quick=me
[ "$quick" = user ] || bash "$here/run.sh" --as-me 0 | tee "$out"
if [ "$(id -u)" = 0 ] && [ "$quick" != me ]; then
	if others; then
		$as_nobody bash "$here/run.sh" --as-me "$(grep -c '^\(not \)\?ok' "$out")" | tee -a "$out"
	else
		echo "ok $(($(grep -c '^\(not \)\?ok' "$out") + 1)) - user: all # SKIP $SBX is not reachable for others" |
			tee -a "$out"
	fi
fi
echo "1..$(grep -c '^\(not \)\?ok' "$out")"
rm -f "$out"
