#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files that the launcher itself writes (--result-json, --audit-file): what an earlier command left
# under such a name leads it nowhere else, and does not make it wait.
. "$(dirname "$0")/../support/e2e.sh"

mkdir "$TMP/elsewhere"
result() # FILE [OPTIONS...]: the command leaves `ran`
{
	rm -f ran
	file=$1
	shift
	timeout -k 1 60 "$SBX" -q --result-json "$file" "$@" -- sh -c 'echo x >ran; echo from-inside' \
		>"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
}
refused() # TEXT
{
	[ "$status" -eq 125 ] && [ ! -e ran ] && grep -q "$1" "$TMP/err" || { echo "$status"; cat "$TMP/err"; return 1; }
}

# A link to what is no regular file.
mkfifo "$TMP/fifo"
cat "$TMP/fifo" >"$TMP/got" &
reader=$!
"$SBX" -q -- ln -s "$TMP/fifo" res.json
result res.json
check 'a planted link to a FIFO is replaced' [ "$status" -eq 0 -a -f res.json -a ! -L res.json ]
check 'the result is in its place' grep -q from-inside res.json
echo end >"$TMP/fifo"
wait $reader
check 'nothing goes through it' [ "$(cat "$TMP/got")" = end ]
for dev in /dev/null /dev/tty /dev/ptmx; do
	rm -f res.json
	"$SBX" -q -- ln -s $dev res.json
	result res.json
	check "one to $dev is, too" [ "$status" -eq 0 -a -f res.json -a ! -L res.json ]
done

# A FIFO at the very name, with and without a reader of the attacker's.
rm -f res.json
"$SBX" -q -- mkfifo res.json
result res.json
check 'a planted FIFO makes nobody wait for ever' refused 'no program has it open for reading'
exec 7<>res.json
result res.json
exec 7>&-
check 'nor is it written to' refused 'E_FLOOR.*res.json: the command may replace this FIFO'

# A link on the way.
for opt in result-json audit-file; do
	rm -rf dir "$TMP/elsewhere"/*
	"$SBX" -q -- ln -s "$TMP/elsewhere" dir
	launch -q --$opt dir/r.json -- sh -c 'echo x >ran'
	check "--$opt: a planted link on the way is refused" refused "dir is a symlink that the command may change"
	check "--$opt: nothing is made" [ -z "$(ls -A "$TMP/elsewhere")" ]
	launch -q --policy none.yaml --$opt dir/r.json -- true
	check "--$opt: nor by a start that fails before" [ "$status" -eq 125 -a -z "$(ls -A "$TMP/elsewhere")" ]
	ln -sfn "$WS/dir" "$TMP/way"
	launch -q --$opt "$TMP/way/r.json" -- sh -c 'echo x >ran'
	check "--$opt: so is one that another leads to" refused "dir is a symlink that the command may change"
	ln -sfn "$TMP/elsewhere" "$TMP/way"
	launch -q --$opt "$TMP/way/r.json" -- true
	check "--$opt: a link that the command cannot change is followed" [ "$status" -eq 0 -a -s "$TMP/elsewhere/r.json" ]
done

# What callers do.
(sleep 0.3; exec cat "$TMP/fifo" >"$TMP/got") &
reader=$!
result "$TMP/fifo"
wait $reader
check 'a FIFO outside, whose reader comes later' grep -q from-inside "$TMP/got"
result /dev/stdout
check '/dev/stdout' grep -q from-inside "$TMP/out"
result /dev/fd/2
check '/dev/fd/N' grep -q from-inside "$TMP/err"
result /dev/null
check '/dev/null' [ "$status" -eq 0 -a -c /dev/null ]
mkfifo "$TMP/log"
cat "$TMP/log" >"$TMP/got" &
reader=$!
launch -q --audit-file "$TMP/log" -- touch by-fifo
wait $reader
check '--audit-file: a FIFO that is read' grep -q by-fifo "$TMP/got"
timeout -k 1 60 "$SBX" -q --audit-file "$TMP/log" -- sh -c 'echo x >ran2' 2>"$TMP/err"
check '--audit-file: one that is not' [ $? -eq 125 -a ! -e ran2 ]
exit 0
