#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The exec contract by sbx-launch --result-json: tests/vectors/exec_contract.tsv with a sandbox
# around the command, and what only a program of its own can show: real signals, the real grace.
. "$(dirname "$0")/../support/e2e.sh"

here=$(dirname "$0")
R=$TMP/result.json

# Runs under the contract; leaves $status, $R, what went to our own streams in $TMP/out and $TMP/err,
# and the milliseconds it took in $took.
run() # ARGS...
{
	rm -f "$R"
	began=$(date +%s%3N)
	"$SBX" -q --result-json "$R" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
	took=$(($(date +%s%3N) - began))
}

# Each KEY has that JSON value. Results are kept, to be held against the schema.
mkdir "$TMP/results"
has() # KEY VALUE...
{
	cp "$R" "$TMP/results/$(ls "$TMP/results" | wc -l).json"
	python3 - "$R" "$@" <<'PY'
import json, sys
with open(sys.argv[1], encoding="utf-8") as f:
    got = json.load(f)
wrong = [f"{k}: {got.get(k)!r}, not {v}" for k, v in zip(sys.argv[2::2], sys.argv[3::2])
         if got.get(k) != json.loads(v)]
print("\n".join(wrong), json.dumps(got)[:600])
sys.exit(bool(wrong))
PY
}

# As `has`, and the status of sbx-launch.
ends() # STATUS KEY VALUE...
{
	want=$1
	shift
	[ "$status" -eq "$want" ] && has "$@" || { echo "status $status"; cat "$TMP/err"; false; }
}

run sh -c 'echo hi'
check '001: output of a command that succeeds' ends 0 success true exit_code 0 stdout '"hi\n"' stderr '""' output null
check 'nothing is written on our own streams' [ ! -s "$TMP/out" -a ! -s "$TMP/err" ]
run sh -c 'exit 3'
check '002: its status' ends 3 success false exit_code 3
run /nonexistent
check '003: failed to spawn' ends 127 success false exit_code null \
	error '{"code": "E_NOTFOUND", "message": "failed to spawn `/nonexistent`: No such file or directory (os error 2)"}'
run sh -c 'kill -TERM $$'
check '004: a signal of its own' ends 143 success false exit_code null signal 15 stderr '""' timed_out false

# Times out after 75 ms; where the machine is too busy for the command to say `set` by then, later.
late() # SCRIPT OPTIONS...
{
	script=$1 ms=75
	shift
	run --timeout ${ms}ms "$@" sh -c "$script"
	while ! grep -q set "$R" && [ $ms -lt 10000 ]; do
		ms=$((ms * 2))
		run --timeout ${ms}ms "$@" sh -c "$script"
	done
}
# Once more, at most three times, where it took as long as MS beyond its time limit: another
# program's time on the machine is not ours.
soon() # MS COMMAND...
{
	local bound=$1 _
	shift
	for _ in 1 2 3 4; do
		ms=0
		"$@"
		[ $((took - ms)) -ge "$bound" ] || break
	done
}
soon 2000 late 'echo before timeout, set; sleep 100'
check '005: a deadline keeps what was written' ends 124 success false exit_code null timed_out true \
	stdout '"before timeout, set\n"' stderr '"process timed out"'
check '005: 75 ms are 75 ms, and little more' [ $took -ge $ms -a $took -lt $((ms + 2000)) ]
late 'printf set >&2; sleep 100'
check '006: is said on a line of its own' ends 124 stderr '"set\nprocess timed out"'
late 'echo set >&2; sleep 100'
check '007: after a whole line as well' ends 124 stderr '"set\n\nprocess timed out"'
soon 5500 late "trap '' TERM; echo set; exec sleep 100"
check '008: TERM, 5 s, KILL' ends 137 timed_out true killed true signal 9 exit_code null
check '008: after 5 to 5.5 s' [ $took -ge $((ms + 5000)) -a $took -lt $((ms + 5500)) ]
soon 2000 late 'sleep 301.7 & echo set; wait'
check '009: a grandchild that holds the pipes ends with it' ends 124 timed_out true killed false
check '009: at once' [ $took -lt $((ms + 2000)) ]
soon 1000 run sh -c '(trap "" TERM; exec sleep 302.7) & echo done'
check '010: a clean end does not wait for what it left' ends 0 success true stdout '"done\n"'
check '010: but ends it at once' [ $took -lt 1000 ]
soon 2000 run sh -c 'setsid sh -c "setsid sleep 303.7 & echo left >mark" & while [ ! -s mark ]; do :; done'
check '011: what left the session is found' ends 0 success true
check '011: and holds nobody up' [ $took -lt 2000 ]
left() # ARGUMENT of sleep
{
	! grep -lzx "$1" /proc/[0-9]*/cmdline 2>/dev/null
}
for t in 301.7 302.7 303.7; do
	check "nothing is left of sleep $t" left $t
done

# Signals for the launcher, from the outside; the command says when it is there.
interrupt() # SIGNAL OPTIONS...: leaves $status, $R
{
	sig=$1
	shift
	rm -f there
	# (started with `&` INT would be ignored; and bash takes a child that ended well meanwhile for
	# one that has dealt with INT)
	python3 - "$sig" "$R" "$SBX" "$@" <<'PY'
import os, signal, subprocess, sys, time
sig, result, sbx, *options = sys.argv[1:]
p = subprocess.Popen([sbx, "-q", "--result-json", result, *options, "sh", "-c",
                      "echo out; : >there; exec sleep 100"], stdin=subprocess.DEVNULL,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
while not os.path.exists("there") and p.poll() is None:
    time.sleep(0.002)
p.send_signal(getattr(signal, "SIG" + sig))
sys.exit(p.wait(20))
PY
	status=$?
}
interrupt INT
check '012: INT is passed on, and obeyed' ends 130 success false exit_code 130 interrupted 2 signal 2 \
	stdout '"out\n"' stderr '"process interrupted by signal SIGINT"'
interrupt TERM
check '013: TERM' ends 143 success false exit_code 143 interrupted 15 \
	stderr '"process interrupted by signal SIGTERM"'
interrupt HUP
check 'HUP' ends 129 exit_code 129 stderr '"process interrupted by signal SIGHUP"'

head -c 1048576 /dev/zero >"$TMP/mega"
run --stdin "$TMP/mega" true
check '015: input that is not read is no error of a command that succeeds' ends 0 success true exit_code 0
run --stdin "$TMP/mega" sh -c 'exit 3'
check '015: of one that fails it is' ends 3 success false exit_code 3 \
	error '{"code": "E_SYSTEM", "message": "failed to write process stdin: Broken pipe (os error 32)"}'
export MY_TOKEN=hush-hush
run --tee sh -c 'printf "out hush-"; printf "hush.\n"; echo err hush-hush >&2'
check '016: --tee shows both streams, without secrets' [ "$(sort "$TMP/err")" = 'err [REDACTED_ENV]
out [REDACTED_ENV].' ]
check '016: keeps output raw and errors without secrets' ends 0 stdout '"out hush-hush.\n"' stderr '"err [REDACTED_ENV]\n"'
run /no/hush-hush
check '016: nor does an error show one' [ "$(cat "$TMP/err" "$R" | grep -c hush-hush):$(grep -c 'REDACTED_ENV' "$TMP/err")" = 0:1 ]
launch --timeout hush-hush -- true
check '016: nor one of the options' [ "$(grep -c hush-hush "$TMP/err"):$status" = 0:125 ]
run sh -c 'echo out hush-hush; echo err >&2'
check '017: without it nothing is shown' [ ! -s "$TMP/err" ]
check '017: and all is kept raw' ends 0 stdout '"out hush-hush\n"'
run printf 'a\377b\342\202'
check '018: bytes that are no text' ends 0 stdout '"a\ufffdb\ufffd"' stdout_b64 '"Yf9i4oI="'
soon 2000 run --capture-limit 64 sh -c 'trap "" TERM; yes'
check '020: too much is cut, and ends the command' ends 137 success false exit_code null stdout_truncated true \
	stdout '"y\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\ny\n\n[orbit: output truncated after capture limit]\n"'
check '020: at once' [ $took -lt 2000 ]
ORBIT_EXEC_OUTPUT_CAPTURE_LIMIT_BYTES=3 run echo 123
check 'the limit by the variable' has stdout '"123\n[orbit: output truncated after capture limit]\n"'
run --capture-limit 10 --capture-over drop sh -c 'echo 0123456789abc; echo err >&2; exit 4'
check 'what is too much can be dropped instead' ends 4 exit_code 4 stdout '"0123456789"' stdout_truncated true \
	stderr '"err\n"' stderr_truncated false
mkdir -p sub
run --chdir sub pwd
check '--chdir' ends 0 stdout "\"$WS/sub\\n\""
run --chdir none pwd
check '--chdir: nowhere to go' ends 125 success false exit_code null
run sh -c 'read -r pid comm state ppid pgrp rest </proc/self/stat; echo $pgrp $$'
check '022: the command leads its process group' [ "$(python3 -c 'import json, sys; print(len(set(json.load(open(sys.argv[1]))["stdout"].split())))' "$R")" = 1 ]
run --deny-read '!bad' touch "$WS/ran"
check '023: a policy that is refused runs nothing' [ "$status" -eq 125 -a ! -e "$WS/ran" ]

head -c $(rounds 2097152 10485760) /dev/urandom >"$TMP/ten"
run --stdin "$TMP/ten" --capture-limit none sh -c 'tee /dev/stderr'
check "$(rounds 2 10) MiB in and on both streams at once" python3 - "$R" "$TMP/ten" <<'PY'
import base64, json, sys
r = json.load(open(sys.argv[1]))
want = open(sys.argv[2], "rb").read()
assert r["success"], r["error"]
assert base64.b64decode(r["stdout_b64"]) == want
assert base64.b64decode(r["stderr_b64"]) == want
PY

# Side by side: a hundred sandboxes, each with its own result, log and scratch.
sandboxes=$(rounds 24 100)
for i in $(seq "$sandboxes"); do
	"$SBX" -q --result-json "$TMP/par.$i" sh -c "echo run $i; echo \$\$ >\"\$TMPDIR/x\"; exit $((i % 5))" </dev/null 2>>"$TMP/par.err" &
done
wait
check "$sandboxes runs at once" python3 - "$TMP" "$sandboxes" <<'PY'
import json, sys
for i in range(1, int(sys.argv[2]) + 1):
    r = json.load(open(f"{sys.argv[1]}/par.{i}"))
    assert (r["stdout"], r["exit_code"]) == (f"run {i}\n", i % 5), (i, r)
PY
check 'say nothing' sh -c 'cat "$1" && [ ! -s "$1" ]' sh "$TMP/par.err"
check 'leave nothing in the scratch' [ -z "$(ls -A "$TMPDIR")" ]

# ---- cases of others ----

timed() # ARGS...
{
	local began
	began=$(date +%s%3N)
	launch "$@"
	took=$(($(date +%s%3N) - began))
}
# With --timeout, longer where the command has not said `set` by then.
timed_late() # ARGS...
{
	ms=500
	timed --timeout ${ms}ms "$@"
	while ! grep -q set "$TMP/out" && [ $ms -lt 10000 ]; do
		ms=$((ms * 2))
		timed --timeout ${ms}ms "$@"
	done
}
# TMO-01: workers outlive the time-out because only the shell is signalled.
soon 1500 timed_late sh -c 'sleep 311.7 & (sleep 312.7 & wait) & echo set; wait'
check 'TMO-01: a time-out ends the workers too' [ "$status" -eq 124 -a $took -ge $ms -a $took -lt $((ms + 1500)) ]
check 'TMO-01: and leaves none' left 311.7
check 'TMO-01: nor one of theirs' left 312.7

# TMO-04: TERM is heard, and has its grace; what ignores it is killed after that.
soon 2000 timed_late --kill-after 3 bash -c 'trap "echo cleaning; sleep 0.3; echo done; exit 0" TERM; echo set; sleep 60 & wait'
check 'TMO-04: time to clean up' [ "$status $(tr '\n' ' ' <"$TMP/out")" = '124 set cleaning done ' ]
check 'TMO-04: as much as that takes' [ $took -ge $((ms + 300)) -a $took -lt $((ms + 2000)) ]
soon 2200 timed_late --kill-after 700ms bash -c 'trap "" TERM; echo set; while :; do sleep 0.2; done'
check 'TMO-04: then KILL' [ "$status" -eq 137 -a $took -ge $((ms + 700)) -a $took -lt $((ms + 2200)) ]

# SIG-03: the status is the command's, and ours are told from it.
printf '#!/bin/sh\n' >noexec
printf '\177ELFgarbage\0\n' >bad && chmod +x bad
statuses=
for line in 'sh -c "exit 42"' 'sh -c "kill -TERM \$\$"' 'sh -c "ulimit -c 0; kill -SEGV \$\$"' no-such-cmd ./noexec ./bad \
	'--timeout 50ms -- sleep 9' '--policy no-such-policy.yaml -- true'; do
	eval "launch $line"
	statuses="$statuses $status"
done
check 'SIG-03: statuses' [ "$statuses" = ' 42 143 139 127 126 126 124 125' ]

# Where the result goes.
fresh
run --stdin null cat
check 'stdin null is at its end' ends 0 stdout '""'
echo 'hello' | "$SBX" -q --result-json "$R" cat
check 'stdin is ours by default' has stdout '"hello\n"'
check 'to a descriptor' [ "$("$SBX" -q --result-json 1 echo x | cut -c1-46)" = '{"schemaVersion":1,"success":true,"stdout":"x\' ]
launch --result-json 77 true
check 'a descriptor that is not open is refused' grep -q 'E_USAGE.*descriptor 77 is not open' "$TMP/err"
run --timeout never true
check 'wrong options behind it are told there, too' ends 125 success false error \
	"{\"code\": \"E_USAGE\", \"message\": $(sed 's/^sbx-launch: E_USAGE: //' "$TMP/err" | python3 -c 'import json, sys; print(json.dumps(sys.stdin.read().strip()))')}"
launch --tee true
check 'options of the contract need it' grep -q E_USAGE "$TMP/err"
echo mine >"$TMP/victim"
"$SBX" -q --result-json out.json sh -c "echo '{\"success\": true}' >out.json; ln -sf $TMP/victim out.json; exit 1" 2>"$TMP/err"
cp out.json "$R"
check 'the command cannot forge the file' has success false exit_code 1
check 'nor make us write elsewhere' [ "$(cat "$TMP/victim")" = mine ]
check 'the file is ours alone' [ "$(stat -c %a out.json)" = 600 ]
check 'nothing else is left beside it' [ "$(ls -A)" = out.json ]
mkdir -p .git/hooks
run sh -c 'for i in 1 2 3; do echo k >.git/hooks/x; done 2>/dev/null; cat .git/config 2>/dev/null; exit 0'
check 'a result has what was refused' ends 0 success true denied 3 denials_beyond 0 denials "[{\"op\": \"modify\", \"path\": \"$WS/.git/hooks/x\",
	\"matched_rule\": \".git/hooks/**\", \"rule\": \"$(sed -n 's/.*"rule":"\([^"]*\)".*/\1/p' "$R" | head -n 1)\", \"count\": 3, \"message\":
	\"denied modify $WS/.git/hooks/x (rule .git/hooks/**, $(sed -n 's/.*"rule":"\([^"]*\)".*/\1/p' "$R" | head -n 1)): allow with --modify $WS/.git/hooks/x\"}]"
named()
{
	id=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["run_id"])' "$R")
	"${SBX%/*}/sbx-audit" denials "$id" | grep -q '     3  modify ./.git/hooks/x'
}
check 'and names the record' named
run sh -c 'i=0; while [ $i -lt 60 ]; do echo k >.git/hooks/$i; i=$((i + 1)); done 2>/dev/null; exit 0'
many() { python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
assert [r["denied"], len(r["denials"]), r["denials_beyond"]] == [60, 50, 10], r' "$R"; }
check 'as many kinds as have a place' many
run --audit-level none true
check 'without a record there is none to name' ends 0 run_id null
check 'every result is by its schema' python3 "$here/validate_policy.py" "$here/exec-result.schema.json" \
	"$TMP/results"/*.json
check 'and there were some' [ "$(ls "$TMP/results" | wc -l)" -gt 20 ]
exit 0
