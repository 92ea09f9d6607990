#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is refused before anything runs, what runs with a loss under --best-effort, where the log
# may lie, a run inside a run.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

# Refused: 125, each line "sbx-launch: CODE: ...", the command not run.
refused() # NAME CODE LINES ARGS...
{
	name=$1 code=$2 lines=$3
	shift 3
	rm -f ran
	launch "$@" touch ran
	if [ "$status" -eq 125 ] && [ ! -e ran ] && [ ! -s "$TMP/out" ] &&
		[ "$(grep -c "^sbx-launch: $code: " "$TMP/err")" -eq "$lines" ] &&
		[ "$(wc -l <"$TMP/err")" -eq "$lines" ]; then
		ok "$name"
	else
		{ echo "status $status"; cat "$TMP/err"; } | not_ok "$name"
	fi
}

refused 'loopback is refused' E_FLOOR 1 --network loopback
launch --network loopback --best-effort true
check 'best effort runs' [ "$status" -eq 0 ]
check 'and says the loss' grep -q '^sbx-launch: loss: network loopback' "$TMP/err"
run=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)
check 'and records it' grep -q '"losses":\[.*network loopback' "$run/run.json"

(cd / && refused 'the root is no workspace' E_WORKSPACE 1)
cd "$HOME" && refused 'the home is no workspace' E_WORKSPACE 1
cd "$WS" || exit 1

refused 'a log that the command may write is refused' E_AUDIT 1 --audit-file ./log.jsonl
check 'and not made' [ ! -e log.jsonl ]
refused 'a log that cannot be opened is refused' E_AUDIT 1 --audit-file "$TMP/none/log"
printf '\177ELF\0\0\0\0' >broken && chmod +x broken
launch ./broken
check 'neither leaves a run, nor does what is no program' [ "$run" = "$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)" ]
launch --audit-file "$TMP/log" sh -c "echo x >made; echo forged >>'$TMP/log'"
check 'a log elsewhere is written' grep -q '"path":"./made"' "$TMP/log"
check 'and the command cannot' sh -c '! grep -qx forged "$1"' - "$TMP/log"
check 'its line names no option, which would refuse the run' grep -q "denied modify $TMP/log (.*): the log of the run, no option opens it\$" "$TMP/err"
check 'a forged line is refused and logged' grep -q '"allowed":false' "$TMP/log"
launch sh -c 'cat "$HOME"/.local/state/sbx-launch/runs/*/audit.jsonl || ls "$SBX_CHANNEL"; rm -f "$SBX_CHANNEL/ring" && echo removed; : >"$SBX_CHANNEL/ring" && echo emptied'
check 'the command reads no log, and neither removes nor empties the ring' [ ! -s "$TMP/out" ]
chmod 000 "$HOME/.local/state/sbx-launch/runs"
if [ "$(id -u)" -ne 0 ]; then
	refused 'no place for the log' E_AUDIT 1
	launch --audit-level none sh -c 'exit 3'
	check 'level none does without' [ "$status" -eq 3 ]
fi
chmod 700 "$HOME/.local/state/sbx-launch/runs"

launch "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" --audit-level none --network host sh -c 'echo inner'
check 'too deep a run inside a run has no floor of its own' grep -q '^sbx-launch: E_FLOOR: .*inside a run' "$TMP/err"
launch "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" -q -- "$SBX" --best-effort -q --audit-level none --network host sh -c 'echo inner; echo x >in; echo y >"$HOME/out"'
check 'but with --best-effort that of the outer one' grep -qx inner "$TMP/out"
check 'works in the workspace' [ -e in ]
check 'and nowhere else' [ ! -e "$HOME/out" ]
launch --no-shim sh -c 'env | grep -cE "^(LD_PRELOAD|SBX_CHANNEL)="'
check '--no-shim preloads nothing' grep -qx 0 "$TMP/out"
LD_PRELOAD=libm.so.6 launch sh -c 'echo "$LD_PRELOAD"'
check 'a foreign LD_PRELOAD stays behind the shim' grep -q 'libsbx-shim.so:libm.so.6$' "$TMP/out"
launch -q --read "$HOME/.ssh" sh -c 'echo x >"$HOME/out"'
check '-q says denials, and no notes' [ "$(grep -c '^sbx-launch: denied modify' "$TMP/err") $(grep -c '^sbx-launch' "$TMP/err")" = '1 1' ]
launch -qq sh -c 'echo x >"$HOME/out"'
check '-qq says neither' [ "$(grep -c sbx-launch "$TMP/err")" -eq 0 ]
launch -q sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo x >"$HOME/out$i"; done'
check 'of more than are shown the end says how many' [ "$(grep -c '^sbx-launch: denied modify' "$TMP/err") $(grep -c '^sbx-launch: 12 refused: sbx-audit denials$' "$TMP/err")" = '10 1' ]
launch -qq sh -c 'for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo x >"$HOME/out$i"; done'
check 'and with -qq nothing of that' [ "$(grep -c sbx-launch "$TMP/err")" -eq 0 ]

# What no network reaches is the run's doing, and has a line that says so; what answers inside has none.
cat >net.py <<'EOT'
import socket, sys
for kind, host, port in ((1, '127.0.0.1', 9), (1, '192.0.2.7', 80), (1, '2001:db8::7', 443), (2, '192.0.2.53', 53), (2, '127.0.0.53', 53)):
    try:
        socket.socket(10 if ':' in host else 2, kind).connect((host, port))
    except OSError as e:
        print(host, e.errno)
EOT
launch python3 net.py
check 'without a network connects fail as the kernel says' grep -qx '192.0.2.7 101' "$TMP/out"
denied='^sbx-launch: denied connect'
check 'a connect that it refuses has a line' grep -q "$denied 192.0.2.7:80 (rule <no network>, .*: allow with --connect 192.0.2.7:80\$" "$TMP/err"
check 'in IPv6 as well' grep -qF 'denied connect [2001:db8::7]:443 (' "$TMP/err"
check 'the remedy for a name server is the name' grep -q "$denied 192.0.2.53:53 .*: allow with --connect HOST:PORT the host" "$TMP/err"
check "nor is there the host's at an address of loopback" grep -q "$denied 127.0.0.53:53 .*: allow with --connect HOST:PORT the host" "$TMP/err"
check 'what is not there inside has none' [ "$(grep -c "$denied" "$TMP/err")" -eq 4 ]
run=$(ls -d "$HOME"/.local/state/sbx-launch/runs/* | tail -n 1)
check 'and each is an event' [ "$(grep -c '"op":"connect".*"allowed":false' "$run/audit.jsonl")" -eq 4 ]
launch --network host python3 -c "import socket; s = socket.socket(2, 2); s.connect(('192.0.2.53', 53))"
check "the host's network has none" [ "$(grep -c "$denied" "$TMP/err")" -eq 0 ]
exit 0
