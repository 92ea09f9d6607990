#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a sandboxed program does to the files of its record and to the ring: see record.sh.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/record.sh"

# ---- the checks themselves see what they are to see ----
attack 'nothing' "$ACT"
log=$RUNS/$(outer)/audit.jsonl
cp "$log" "$TMP/kept"
not() { ! "$@"; }
mkdir real2
check 'control: an act without a line is seen' not sound
rmdir real2
sed -i '/"path":".\/real"/d' "$log"
check 'control: a line that is gone is seen' not sound
cp "$TMP/kept" "$log"
check 'control: what was there before is sound' sound real evil
printf '%s\n' '{"schemaVersion":2,"seq":99,"kind":"result","path":"./forged","layer":"broker","context":{"who":"outer"}}' >>"$log"
check 'control: a line that was put in is seen' not sound
cp "$TMP/kept" "$log"

# ---- the files of the record ----
attack 'a line is appended to the log' "echo '{\"path\":\"./forged\",\"layer\":\"broker\"}' >>$RUNS/*/audit.jsonl; for d in $RUNS/2*; do echo forged >>\$d/audit.jsonl; done; $ACT"
check 'and the record cannot be seen there' eval 'launch -q -- sh -c "ls $RUNS || cat $RUNS/.key"; [ "$status" -ne 0 ]'
attack 'run.json is written' "for d in $RUNS/2*; do echo '{}' >\$d/run.json; done; cp /dev/null $RUNS/run.json; $ACT"
attack 'a run is made up' "mkdir -p $RUNS/20990101T000000Z-aaaaaa && echo forged >$RUNS/20990101T000000Z-aaaaaa/audit.jsonl; $ACT"
check 'which is not there' [ ! -e "$RUNS/20990101T000000Z-aaaaaa" ]
attack 'the records are removed' "rm -rf $RUNS ${RUNS%/*}; $ACT"
attack 'their directory is moved away' "mv $RUNS $RUNS.old; mv ${RUNS%/*} $HOME/old; mv $HOME/.local $HOME/moved; $ACT" --modify "$HOME/**"
attack 'their directory becomes a symlink' "ln -sfn \$PWD $RUNS; ln -sfn \$PWD ${RUNS%/*}; ln -s \$PWD $RUNS/20990101T000000Z-bbbbbb; $ACT" --modify "$HOME/**"
attack 'a name of the log is linked to' "for d in $RUNS/2*; do ln \$d/audit.jsonl forged; ln -s \$d/audit.jsonl soft; echo forged >>soft; done; $ACT"
attack 'descriptors of others are written to' "for f in /proc/[0-9]*/fd/*; do case \$f in /proc/\$\$/*|/proc/self/*) ;; *) echo forged >>\$f;; esac; done 2>/dev/null; $ACT"
attack 'the memory of others is written to' "python3 -c '
import os
for p in os.listdir(\"/proc\"):
    if p.isdigit() and int(p) != os.getpid():
        try: open(\"/proc/%s/mem\" % p, \"r+b\").write(b\"forged\")
        except OSError: pass
'; $ACT"
attack 'the channel is cut short' "f=\$(sed -n 's,.* rw-s .* \(/.*\),\1,p' /proc/self/maps | head -n 1); truncate -s 0 \"\$f\"; : >\"\$f\"; rm -f \"\$f\"; python3 -c 'import os, sys; os.truncate(sys.argv[1], 0)' \"\$f\"; $ACT"

# ---- the log in the workspace ----
begin
launch -q --audit-file "$WS/log" -- bash -c "rm -f log; echo forged >>log; $ACT"
check 'a log that the command may change is refused' eval '[ "$status" -eq 125 ] && grep -q "E_AUDIT: --audit-file .*the command may modify it" "$TMP/err"'
mkdir "$TMP/logs" && ln -sfn "$WS" "$TMP/logs/in"
launch -q --audit-file "$TMP/logs/in/log" -- true
check 'also by way of a symlink' [ "$status" -eq 125 ]
rm -rf "$TMP/logs"
attack 'a log elsewhere is replaced' "rm -f $TMP/log; mv $TMP/log $TMP/old; echo forged >>$TMP/log; ln -sf \$PWD/x $TMP/log; $ACT" --audit-file "$TMP/log"
rm -f "$TMP/log"

# ---- the ring ----
for facts in $(first 2 - q e c v); do
	attack "an act is told first, with $facts" "$liar claim \$\$ 0 \$PWD/real; : >victim; $liar forge $facts victim; $ACT"
done
attack 'the ring is flooded' "timeout 20 $liar flood 1 >/dev/null; $ACT"
for byte in $(first 1 255 0 65); do
	TOLD=evil-or-gap attack "the ring is filled with $byte" "$liar smash $byte; $ACT"
done
attack 'another process is spoken of' "$liar claim 1 0 \$PWD/forged; $liar claim 4000000 0 \$PWD/forged; $liar claim \$PPID 0 \$PWD/forged; $ACT"
others_word()
{
	show | grep '"path":"./forged"' >"$TMP/claims"
	[ -s "$TMP/claims" ] && ! grep '"layer"' "$TMP/claims" && [ "$(grep -c '"unverified":true' "$TMP/claims")" -ge 2 ] && grep '"pid":1,' "$TMP/claims" | grep -q '"unverified":true'
}
check 'what it said is its own word, and that of the launcher'\''s processes unverified' others_word
attack 'flags that only the broker sets' "for f in 1 2 4 8 10 20 40 80 100 200 400 800 1000 2000 4000 8000 ffff; do $liar claim \$\$ \$f \$PWD/forged; done; $ACT"
