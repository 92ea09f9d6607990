# SPDX-License-Identifier: Apache-2.0
# shim.sh - sourced by tests/e2e/shim*.sh: runs the script once as this user and, when that is
# root, once more as an ordinary one, with copies of the shim and its probes that anybody may
# read; in the quick form (see e2e.sh) as the ordinary one alone, unless it asks who runs it. No launcher
# and no floor: the shim alone, on a channel of tests/support/mkchannel.c.
#
#	. "$(dirname "$0")/../support/shim.sh"
#	run all --rule read:/ -- cat file	command under the shim: $out, $status, events in $log
#	check 'reads the file' [ "$out" = hello ]
#	event 'a denial' 'CALL open read DENY EACCES - * /etc/shadow'
#
# The script's cwd is an empty directory of its own, $T its physical path.
set -u

if [ -z "${SHIM_TEST_USER:-}" ]; then
	B=${B:-build}
	B=$(cd "$B" && pwd)
	base=$(mktemp -d "${TMPDIR:-/tmp}/sbx-shim.XXXXXX") || exit 1
	trap 'chmod -R u+rwX "$base" 2>/dev/null; rm -rf "$base"' EXIT
	chmod 755 "$base"
	mkdir "$base/bin"
	cp "$B"/libsbx-shim*.so "$B"/tests/mkchannel "$B"/tests/shim_* "$base/bin"
	cp "$0" "$base/bin/test.sh"
	sed -i "s,^\. .*support/shim.sh.*,. '$base/bin/support.sh'," "$base/bin/test.sh"
	cp "$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/shim.sh" "$base/bin/support.sh"
	chmod -R a+rX "$base/bin"
	as() # NAME PREFIX...
	{
		name=$1
		shift
		mkdir "$base/$name" "$base/$name/work"
		[ "$name" != nobody ] || chown -R 65534:65534 "$base/$name"
		(cd "$base/$name/work" && env -i PATH=/usr/local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 \
			HOME="$base/$name" SHIM_TEST_USER="$name" BIN="$base/bin" \
			FULL="${FULL:-}" STRESS_SECONDS="${STRESS_SECONDS:-}" "$@" \
			bash "$base/bin/test.sh") >"$base/$name.tap" ||
			echo "not ok - $name: the script ended with status $?" >>"$base/$name.tap"
		cat "$base/$name.tap"
	}
	[ "$(id -u)" -eq 0 ] && [ -z "${FULL:-}" ] && ! grep -q '"$(id -u)"' "$0" || as "$(id -un)"
	[ "$(id -u)" -ne 0 ] || as nobody setpriv --reuid=65534 --regid=65534 --clear-groups
	echo "1..$(cat "$base"/*.tap | grep -cE '^(not )?ok')"
	if grep -q '^not ok' "$base"/*.tap; then exit 1; fi
	exit 0
fi

T=$(pwd -P)
log=$T.log
shim=$BIN/libsbx-shim.so
out= status=0

run() # LEVEL MKCHANNEL-OPTIONS -- COMMAND...
{
	local level=$1
	shift
	out=$(timeout -k 5 "${RUN_SECONDS:-60}" "$BIN/mkchannel" --shim "$shim" --level "$level" --log "$log" "$@" \
		2>"$T.err" </dev/null)
	status=$?
}

result() # ok|not\ ok NAME
{
	echo "$1 - $SHIM_TEST_USER: $2"
	[ "$1" = ok ] || {
		echo "# status $status, output: $out"
		head -n 5 "$T.err" | sed 's/^/# stderr: /'
		head -n 25 "$log" | sed 's/^/# /'
	}
}

check() # NAME COMMAND...
{
	local name=$1
	shift
	if "$@"; then result ok "$name"; else result 'not ok' "$name"; fi
}

# Pattern over a line of the log, tabs as blanks.
has_event() # PATTERN
{
	local line
	while IFS= read -r line; do
		line=${line//$'\t'/ }
		# shellcheck disable=SC2053
		[[ $line != $1 ]] || return 0
	done <"$log"
	return 1
}

event() # NAME PATTERN
{
	check "$1" has_event "$2"
}

no_event() # NAME PATTERN
{
	if has_event "$2"; then result 'not ok' "$1"; else result ok "$1"; fi
}

count_events() # PATTERN
{
	local line n=0
	while IFS= read -r line; do
		line=${line//$'\t'/ }
		# shellcheck disable=SC2053
		[[ $line != $1 ]] || n=$((n + 1))
	done <"$log"
	echo "$n"
}
