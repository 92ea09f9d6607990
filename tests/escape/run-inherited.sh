#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Descriptors that a caller passes on (TAP): every kind of launcher/linux/confine/confine_priv.h as standard
# input, and above 2. Bare each must do what it can; inside, what its row says, with and without the
# host's network, namespaces and the broker. Then the remedy that was printed. As whoever runs this
# and, when that is root, as an ordinary user. Without FULL=1 root tries as the ordinary user, and by itself
# what that cannot have; of the ways to run only the first kind of each fate has all.
set -u
here=$(cd "$(dirname "$0")" && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$(cd "$here/../.." && pwd)/$B ;; esac
SBX=$B/sbx-launch inherit=$B/tests/inherit probe=$B/tests/escape-probe

report() # CONDITION NAME DIAGNOSIS
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $who: $2"
	else
		echo "not ok $n - $who: $2"
		echo "# $3"
		sed 's/^/# /' "$T/err"
	fi
}

use() # NAME N WRAPPER...: gives it, and uses it inside
{
	local name=$1 number=$2
	shift 2
	(cd "$T/ws" && exec "$inherit" "$T" give "$name" "$number" "$@" "$inherit" "$T" use "$name" "$number") \
		</dev/null >/dev/null 2>"$T/err"
}

# What must come of it: passes, refused at the start, or refused by the call.
expected() # FATE MODE
{
	case $1:$2 in
	PASSES:* | GUARDED:host | NET_HOST:host) echo 0 ;;
	GUARDED:none | GUARDED:less) echo 1 ;;
	*) echo 125 ;;
	esac
}

# Where nothing can differ one of them will do, unless ALL is set.
modes() # FATE
{
	case "${FULL:-}${ALL:-} $seen" in
	' '*" $1 "*) echo none; return ;; # the quick form has had one
	esac
	seen="$seen$1 "
	case ${ALL:-}$1 in
	PASSES | REFUSED) echo none ;;
	UNIX_HOST) echo none host ;;
	*) echo none host less bare ;;
	esac
}

one() # NAME FATE
{
	local mode want status
	use "$1" 0 /usr/bin/env
	status=$?
	if [ $status -ne 0 ]; then
		n=$((n + 1))
		if [ $status = 77 ]; then
			echo "ok $n - $who: $1 # SKIP not on this host: $(tr '\n' ' ' <"$T/err")"
		else
			echo "not ok $n - $who: $1: positive control failed: $status: $(cat "$T/err")"
		fi
		return
	fi
	modes "$2" >"$T/modes"
	for mode in $(cat "$T/modes"); do
		want=$(expected "$2" $mode)
		use "$1" 0 "$T/$mode"
		status=$?
		report $((status != want)) "$1 as standard input, $mode: $want" "status $status"
		[ $want = 125 ] || continue
		grep -q 'E_FLOOR: standard input (descriptor 0) is .*--keep-fd 0' "$T/err"
		report $? "$1, $mode: the refusal names it and a remedy" "no such line"
	done
	use "$1" 9 "$T/none"
	status=$?
	want=1
	[ "$1" = pipe ] && want=0
	report $((status != want)) "$1 as descriptor 9: $want" "status $status"
	case $2 in PASSES) return ;; esac
	# kept, it is as it was, but for what no descriptor may do
	MORE='--keep-fd 0' use "$1" 0 "$T/none"
	status=$?
	case $1 in
	unix-unconnected | namespace | userfaultfd | pidfd | *-nonblocking*) want=1 ;; # by the broker, the filter, Landlock
	*) want=0 ;;
	esac
	report $((status != want)) "$1, kept: $want" "status $status"
}

wrapper() # NAME HOST-ARGUMENTS ARGUMENTS
{
	cat >"$T/$1" <<-END
		#!/bin/sh
		export HOME='$T/home' XDG_STATE_HOME='$T/state' XDG_CACHE_HOME='$T/cache'
		exec ${2:+'$B/tests/mkhost' $2} '$SBX' -q --workspace '$T/ws' --best-effort $3 \${MORE:-} -- "\$@"
	END
	chmod 755 "$T/$1"
}

as_me() # FIRST-NUMBER
{
	n=$1 seen=' '
	who=root
	[ "$(id -u)" = 0 ] || who=user
	T=$(mktemp -d /tmp/sbx-inherit-XXXXXX) || exit 2
	chmod 755 "$T"
	mkdir -p "$T/run" "$T/home/.ssh" "$T/state"
	"$probe" setup "$T" || exit 2
	wrapper none '' ''
	wrapper host '' '--network host'
	wrapper less '--no namespaces' ''
	wrapper bare '--no listener' '' # no broker
	mkfifo "$T/hold"
	"$probe" outside "$T" <"$T/hold" &
	outside=$!
	exec 7>"$T/hold"
	while [ ! -e "$T/run/outside" ] && kill -0 $outside 2>/dev/null; do :; done
	for mode in none host less bare; do
		(cd "$T/ws" && "$T/$mode" /bin/true) 2>"$T/err" </dev/null
		report $? "the sandbox starts, $mode" 'it does not'
	done
	"$inherit" list >"$T/list" 2>"$T/err"
	report $? 'every kind has a row' 'one has none'
	while read -r name fate; do
		# shellcheck disable=SC2254
		case $name in ${ONLY:-*}) one "$name" "$fate" ;; esac
	done <"$T/list"
	exec 7>&-
	wait $outside
	rm -rf "$T"
}

if [ "${1:-}" = --as-me ]; then
	as_me "$2"
	exit
fi
if [ ! -x "$SBX" ] || [ ! -x "$inherit" ]; then
	echo "1..0 # SKIP $SBX or $inherit is not built"
	exit 1
fi
out=$(mktemp) || exit 2
as_itself()
{
	bash "$here/run-inherited.sh" --as-me "$(grep -c '^\(not \)\?ok' "$out")" | tee -a "$out"
}
as_nobody='setpriv --reuid 65534 --regid 65534 --clear-groups'
others() { [ "$(id -u)" = 0 ] && $as_nobody test -x "$SBX" && $as_nobody test -r "$here/run-inherited.sh"; }
others && [ -z "${FULL:-}" ] || as_itself
if others; then
	$as_nobody bash "$here/run-inherited.sh" --as-me "$(grep -c '^\(not \)\?ok' "$out")" |
		tee -a "$out"
	[ -n "${FULL:-}" ] || for kind in $(sed -n 's/^ok [0-9]* - user: \([^ ]*\) # SKIP.*/\1/p' "$out"); do
		ONLY=$kind as_itself
	done
fi
echo "1..$(grep -c '^\(not \)\?ok' "$out")"
rm -f "$out"
