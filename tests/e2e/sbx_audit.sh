#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-audit on recorded runs (tests/support/mkrun.c), as this user and, when that is root, as an
# ordinary one too.
set -u
B=${B:-build}
here=$(cd "$(dirname "$0")/../.." && pwd)
base=$(mktemp -d "${TMPDIR:-/tmp}/sbx-audit.XXXXXX") || exit 1
trap 'rm -rf "$base"' EXIT
chmod 755 "$base"
cp "$B/sbx-audit" "$B/tests/mkrun" "$base"
cp -R "$here/tests/support/v1" "$base/v1"
chmod -R a+rX "$base/v1"
chmod 755 "$base/sbx-audit" "$base/mkrun"
n=0
failed=0

check() # NAME COMMAND...
{
	n=$((n + 1))
	name=$1
	shift
	if "$@"; then
		echo "ok $n - $who: $name"
	else
		failed=1
		echo "not ok $n - $who: $name"
		sed 's/^/# /' "$state/out" "$state/err" | head -n 30
	fi
}

audit() # STATUS ARGS...: runs sbx-audit into out and err
{
	want=$1
	shift
	$as env -u NO_COLOR XDG_STATE_HOME="$state" "$base/sbx-audit" "$@" >"$state/out" 2>"$state/err"
	status=$?
	[ "$status" -eq "$want" ] && return
	echo "status $status, not $want" >>"$state/err"
	return 1
}

out() # PATTERN: a fixed string in the output
{
	grep -qF -e "$1" "$state/out"
}

mkrun()
{
	$as env XDG_STATE_HOME="$state" MKRUN="${how:-}" "$base/mkrun" "$@"
}

lines() # N
{
	[ "$(wc -l <"$state/out")" -eq "$1" ]
}

summary()
{
	audit 0 "$@" && out "run       $id" && out 'started   2026-11-27 23:24:01 UTC, for 1.500 s' && out "command   make -j2 'it'\\''s'" && out 'ended     status 2' &&
		out 'floor     landlock abi 7, seccomp' && out 'losses    none' &&
		out 'coverage  2 of 3 processes witnessed (1 static)' &&
		out 'events    12: 6 read, 3 modify, 3 exec' && out '6 denied' &&
		out 'read /home/u/.ssh/id  rule .ssh (preset:secrets:3:5)  x5'
}

no_control()
{
	! LC_ALL=C grep -q "[$(printf '\001-\010\013-\037\177')]" "$state/out"
}

escapes()
{
	audit 0 && out 'locked/\x1b[2J\xff' && no_control && audit 0 show && out 'locked/\x1b[2J\xff' &&
		no_control && audit 0 show --json && no_control
}

filters()
{
	audit 0 show --verdict denied && out '.ssh/id' && ! out stdio.h &&
		audit 0 show --op exec && lines 3 &&
		audit 0 show --path 'src/**' && lines 2 &&
		audit 0 show --path '/ws/out/*' && lines 1 &&
		audit 0 show --path '**/id' --path '**/stdio.h' && out stdio.h && out .ssh/id &&
		audit 0 show --pid 500 --kind hello && lines 1 &&
		audit 1 show --op connect && lines 0 &&
		audit 0 show --op modify --verdict denied --json && lines 1 && out '"path_b64":'
}

runs()
{
	audit 0 runs && lines 2 && out "$id  status 2" && out '6 denied' && audit 0 runs --json &&
		lines 2 && out '"live":false'
}

names()
{
	audit 0 show "$id" && audit 0 show "${id%?}" && audit 0 show last &&
		audit 2 show "${id%%T*}" && grep -q 'several runs' "$state/err" &&
		audit 2 show nothing && grep -q 'E_NOTFOUND: no run `nothing`' "$state/err"
}

bad_usage()
{
	audit 2 --json && audit 2 --op read && audit 2 runs x && audit 2 show --op write &&
		audit 2 show --kind x && audit 2 show --pid -1 && audit 2 show a b && audit 2 --frob &&
		audit 0 --help && out 'Exit status: 0' && audit 0 --version && out 'sbx-audit '
}

chain()
{
	audit 0 verify && out 'hold together, and are all'
}

# A log and run.json as 0.1.0 wrote them, before version 2.
old_log()
{
	old=$state/sbx-launch/runs/20251127T232401Z-1a2b3c
	$as mkdir "$old" && $as cp "$base/v1/run.json" "$base/v1/audit.jsonl" "$old" &&
		audit 0 "$(basename "$old")" && out 'denied' && out 'read /home/u/.ssh/id' &&
		audit 0 show --verdict denied "$(basename "$old")" && audit 0 verify "$(basename "$old")" &&
		out 'hold together, and are all' && out 'version 1 has no key' &&
		$as sed -i 3d "$old/audit.jsonl" && audit 1 verify "$(basename "$old")" && out 'broken at line 3'
	rc=$?
	rm -rf "$old"
	return $rc
}

schema_is_made()
{
	audit 0 schema && cmp "$state/out" "$here/docs/schema/fs-call-event.schema.json"
}

no_key()
{
	$as mv "$state/sbx-launch/runs/.key" "$state/key" && audit 2 verify && grep -q 'does not have the key of its chain' "$state/err"
	rc=$?
	$as mv "$state/key" "$state/sbx-launch/runs/.key"
	return $rc
}

tampered() # SED_EXPRESSION PATTERN
{
	cp "$log" "$state/copy"
	$as sed -i "$1" "$log"
	audit 1 verify "$id" && out "$2"
	rc=$?
	cat "$state/copy" >"$log"
	return $rc
}

corrupt_line()
{
	cp "$log" "$state/copy"
	printf 'no json\n{"kind":"denied","path":"x"}\n' >>"$log"
	audit 2 show --kind denied "$id" && out '/.ssh/id' && grep -q "audit.jsonl:[0-9]*: not JSON" "$state/err" &&
		audit 0 "$id" && out 'corrupt   1 lines of the log are not events'
	rc=$?
	cat "$state/copy" >"$log"
	return $rc
}

killed()
{
	how=killed
	id2=$(mkrun sleep 1)
	how=
	audit 0 "$id2" && out 'ended     unknown: sbx-launch was killed' && out 'lines so far' &&
		audit 0 verify "$id2" && out 'how many there were is not recorded'
}

live()
{
	how=live
	mkfifo "$state/hold"
	mkrun sleep 1 <"$state/hold" >"$state/id" &
	exec 9>"$state/hold"
	until [ -s "$state/id" ]; do :; done
	how=
	audit 0 "$(cat "$state/id")" && out 'ended     still running' && audit 0 runs --json && out '"live":true'
	rc=$?
	exec 9>&-
	wait
	return $rc
}

broken_pipe()
{
	$as env XDG_STATE_HOME="$state" "$base/sbx-audit" show 2>"$state/err" | head -n 1 >/dev/null
	[ "${PIPESTATUS[0]}" -eq 0 ] || [ "${PIPESTATUS[0]}" -eq 141 ] && [ ! -s "$state/err" ]
}

schema()
{
	python3 "$here/tests/support/validate_log.py" "$state"/sbx-launch/runs/* >"$state/out" 2>&1
}

tests() # WHO PREFIX
{
	who=$1
	as=$2
	state=$base/$1
	mkdir "$state"
	[ -z "$as" ] || chown 65534:65534 "$state"
	check 'without runs there is nothing to say' audit 2
	check 'no runs are listed' audit 1 runs
	mkrun true >/dev/null
	id=$(mkrun make -j2 "it's")
	log=$state/sbx-launch/runs/$id/audit.jsonl
	check 'the summary tells the run on one screen' summary "$id"
	check 'nothing from the sandbox controls the terminal' escapes
	check 'filters select' filters
	check 'runs are listed' runs
	check 'a run goes by id, unique beginning, or last' names
	check 'wrong usage is refused with status 2' bad_usage
	check 'the chain holds' chain
	check 'a log of version 1 is read as before' old_log
	check 'the schema that is in the sources is that of the table' schema_is_made
	check 'a chain is not verified without its key' no_key
	check 'a changed line breaks the chain' tampered '3s/kind/kinb/' 'broken at line 3'
	check 'a removed line breaks the chain' tampered 3d 'broken at line 3'
	check 'a removed end is noticed' tampered '$d' 'the run ended with another'
	check 'lines that are no events are named and passed over' corrupt_line
	check 'a run whose supervisor was killed is told as such' killed
	check 'a live run is told as such' live
	check 'a reader that leaves early is no trouble' broken_pipe
	check 'logs and run.json keep to their schemas' schema
}

tests "$(id -un)" ''
[ "$(id -u)" -ne 0 ] || tests nobody 'setpriv --reuid=65534 --regid=65534 --clear-groups'
echo "1..$n"
exit $failed
