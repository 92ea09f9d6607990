#!/bin/bash
# The front door: tight limits, each code with what brings it, and what a run says of itself.
. "$(dirname "$0")/../support/e2e.sh"

# ---- limits the caller set ----

limited() # ULIMIT-ARGS LAUNCH-ARGS...: sets $status, through pipes, which have no size
{
	limits=$1
	shift
	(
		# shellcheck disable=SC2086
		ulimit $limits
		exec "$SBX" "$@"
	) 2>&1 >"$TMP/pipe" </dev/null | cat >"$TMP/err"
	status=${PIPESTATUS[0]}
}
rm -f "$TMP/pipe"
mkfifo "$TMP/pipe"
piped() # ULIMIT-ARGS LAUNCH-ARGS...
{
	cat "$TMP/pipe" >"$TMP/out" &
	limited "$@"
	wait
}

piped '-Sf 1' --audit-required sh -c 'ulimit -f; head -c 4000 /dev/zero >big; echo $?'
check 'a soft limit of file sizes is the command'\''s alone' [ "$status" -eq 0 ]
check 'it gets it back, with the signal' [ "$(sed -n 2p "$TMP/out")" = 153 ]
run=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)
check 'and the log is whole' grep -q '"path":"./big"' "$run/audit.jsonl"
piped '-f 1' sh -c 'echo ran; exit 3'
check 'a hard one: the run goes on' [ "$status" -eq 3 ]
check 'and says that it keeps no record' grep -q '^sbx-launch: E_AUDIT: .*ulimit -f' "$TMP/err"
piped '-f 1' --audit-required touch ran
check 'a hard one, the record required: refused' [ "$status" -eq 125 ]
check 'with the remedy, the command not run' grep -q '^sbx-launch: E_AUDIT: .*ulimit -f' "$TMP/err"
check 'not run' [ ! -e ran ]
piped '-Sn 8' sh -c 'ulimit -n'
check 'a soft limit of open files is the command'\''s alone' grep -qx 8 "$TMP/out"
piped '-n 8' touch ran
check 'a hard one is refused by name' grep -q '^sbx-launch: E_LIMIT: only 8 files' "$TMP/err"
check 'with 125' [ "$status" -eq 125 ]

# ---- each code of sbx-launch(1), what brings it, the status ----

code() # CODE STATUS ARGS...
{
	c=$1 want=$2
	shift 2
	launch "$@"
	if [ "$status" -eq "$want" ] && grep -q "^sbx-launch: $c: " "$TMP/err" &&
		[ "$(grep -c '^sbx-launch: E_' "$TMP/err")" -eq 1 ]; then
		ok "$c: $*"
	else
		{ echo "status $status, not $want $c"; cat "$TMP/err"; } | not_ok "$c: $*"
	fi
}
echo '{}' >empty.yaml
echo x >text
mkdir dir
cp "$(dirname "$SBX")/sbx-launch" alone
code E_USAGE 125 --keep-fd 99 true
code E_USAGE 125 --caps frob true
code E_USAGE 125 --read '' true
code E_USAGE 125 --status-fd x true
code E_POLICY 125 --policy none.yaml true
code E_POLICY 125 --policy dir true
code E_POLICY 125 --policy empty.yaml true
chmod 666 empty.yaml
code E_POLICY 125 --policy empty.yaml true
code E_PROFILE 125 --profile none true
code E_WORKSPACE 125 --workspace none true
code E_WORKSPACE 125 --workspace text true
code E_FLOOR 125 --network loopback true
code E_AUDIT 125 --audit-file none/log true
code E_AUDIT 125 --audit-file inside.jsonl true
code E_NOTFOUND 127 no-such-command
code E_NOTFOUND 127 ./none
code E_NOEXEC 126 ./text
code E_NOEXEC 126 ./dir
SBX=$WS/alone code E_SHIM 125 true

# ---- a run inside a run ----

mkdir other
launch env XDG_STATE_HOME="$WS/other" "$SBX" true
check 'a run inside a run is a floor that cannot be had' \
	grep -q '^sbx-launch: E_FLOOR: .*--best-effort --audit-level none' "$TMP/err"
check 'one line of ours' [ "$(grep -c '^sbx-launch: E_' "$TMP/err")" -eq 1 ]
launch "$SBX" --best-effort true
check 'its record is the outer run'\''s' grep -q '^sbx-launch: E_AUDIT: .*: --audit-level none$' "$TMP/err"
launch "$SBX" --best-effort --audit-level none echo inner
check 'the remedy works' grep -qx inner "$TMP/out"

# ---- what it left running ----

launch -v sh -c 'for i in $(seq 22); do sleep 100 & done'
check 'one line for each process left' \
	[ "$(grep -cE '^sbx-launch: left running, now ended: [0-9]+ [a-z]+$' "$TMP/err")" -eq 20 ]
check 'and the rest counted' grep -qx 'sbx-launch: left running, now ended: and 2 more' "$TMP/err"
exit 0
