#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What other runs of the same user have made (scratch directories with the agents' own copies, channels,
# records) is closed to a run, also where it may read and write all around, and whichever began first.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

wait_for() # FILE
{
	for _ in $(seq 600); do [ -e "$1" ] && return; sleep 0.05; done
	return 1
}
mkdir "$TMP/a" "$TMP/b" "$TMP/run" "$TMP/state"
chmod 700 "$TMP/run"

# The other run says where its directories are, and lives until it is told to end.
other() # VARIABLES...
{
	rm -rf "$TMP"/a/* "$TMP"/b/*
	env -C "$TMP/a" "$@" "$SBX" -q -w "$TMP/a" -- sh -c 'echo SECRET >"$TMPDIR/copy"; mkdir "$TMPDIR/claude-home"
		echo SECRET >"$TMPDIR/claude-home/login"; echo "$TMPDIR" >scratch; echo "$SBX_CHANNEL" >channel; : >up
		for i in $(seq 1200); do [ ! -e down ] || break; sleep 0.05; done; cat "$TMPDIR/copy" >after' </dev/null >/dev/null 2>"$TMP/other.err" &
	other=$!
}
cat >"$TMP/look.sh" <<'SH'
: >"$OWN/started"
for i in $(seq 600); do [ -n "$1" ] && [ ! -e "$1/up" ] || break; sleep 0.05; done
s=$(cat "$A/scratch")
cat "$s"/copy "$s"/claude-home/login; ls "$s"; ls "$s/claude-home"
echo spoilt >"$s/copy"; rm -f "$s/copy"; mv "$s" "$s.old"; echo x >"$s/new"; chmod 777 "$s"
for d in $DIRS; do ls "$d"; find "$d" -type f -exec cat {} + ; echo x >"$d/new"; mv "$d" "$d.old"; done
echo tried
SH
closed() # BEFORE VARIABLES-OF-THE-OTHER... -- OPTIONS...: BEFORE=1: the run that looks began first
{
	local before=$1 vars=() first pid
	shift
	while [ "$1" != -- ]; do vars+=("$1"); shift; done
	shift
	if [ "$before" = 1 ]; then
		rm -rf "$TMP"/a/* "$TMP"/b/*
		A=$TMP/a OWN=$TMP/b DIRS="$dirs" "$SBX" -q -w "$TMP/b" --read "$TMP" --modify "$TMPDIR" "$@" -- sh "$TMP/look.sh" "$TMP/a" \
			</dev/null >"$TMP/found" 2>"$TMP/look.err" &
		pid=$!
		wait_for "$TMP/b/started" || return 1
	fi
	other "${vars[@]}"
	wait_for "$TMP/a/up" || { cat "$TMP/other.err"; return 1; }
	if [ "$before" = 1 ]; then
		wait "$pid"
	else
		A=$TMP/a OWN=$TMP/b DIRS="$dirs" "$SBX" -q -w "$TMP/b" --read "$TMP" --modify "$TMPDIR" "$@" -- sh "$TMP/look.sh" "" \
			</dev/null >"$TMP/found" 2>"$TMP/look.err"
	fi
	: >"$TMP/a/down"
	wait "$other"
	[ "$(cat "$TMP/found")" = tried ] && [ "$(cat "$TMP/a/after")" = SECRET ] ||
		{ cat "$TMP/found" "$TMP/look.err" "$TMP/other.err"; return 1; }
}
dirs=
check 'the scratch directory of a run that began before' closed 0 X=1 --
check 'of one that began later' closed 1 X=1 --
check 'without the shim' closed 0 X=1 -- --no-shim
mkdir -p "$HOME/.local/state/sbx-launch/runs"
dirs="$HOME/.local/state/sbx-launch"
XDG_STATE_HOME=$TMP/state
export XDG_STATE_HOME
check 'records of runs without XDG_STATE_HOME' closed 0 -u XDG_STATE_HOME -- --read "$HOME" --modify "$HOME/.local/state"
unset XDG_STATE_HOME
# a channel in memory: of a session with another runtime directory
shm=/dev/shm/sbx-launch-$(id -u)
if [ -d "$shm" ] && [ -w /dev/shm ]; then
	dirs=$shm
	check 'channels of runs with another runtime directory' closed 0 -u XDG_RUNTIME_DIR -- --isolate none --read /dev/shm --modify /dev/shm
	check 'without the shim, too' closed 0 -u XDG_RUNTIME_DIR -- --no-shim --isolate none --read /dev/shm --modify /dev/shm
else
	skip 'channels in /dev/shm' 'nothing lies there'
fi
dirs=
check 'its own directory is open as ever' sh -c '"$1" -q -- sh -c "echo 1 >\$TMPDIR/x && mkdir \$TMPDIR/d && cat \$TMPDIR/x" | grep -q 1' - "$SBX"
check 'and that of the run around it' sh -c 'SBX=$1 "$1" -q -- sh -c "echo 2 >\$TMPDIR/x && \$SBX -q -- sh -c \"cat \\\$TMPDIR/x\"" | grep -q 2' - "$SBX"
exit 0
