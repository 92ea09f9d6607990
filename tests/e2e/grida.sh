#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# grida.sh - --preset grida-call and grida-outer: the rows of the shell runner, by their numbers.
. "$(dirname "$0")/../support/e2e.sh"
POLICY="${SBX%/*}/sbx-policy"

command -v python3 >/dev/null || { skip 'grida' 'no python3'; exit 0; }
data=$HOME/userdata
mkdir -p "$data/deep" "$HOME/userdata-backup" && echo S >"$data/auth.json" && echo B >"$HOME/userdata-backup/x"
export GRIDA_USER_DATA=$data
fresh
other=$TMP/other
mkdir -p "$WS/sub" "$WS-backup" "$other" "$TMP/outside"
echo needle >file.txt
ln -s "$TMP/outside" out && ln -s "$data" link

# A call from DIR with the words: its result in $TMP/r.json.
call() # DIR WORDS...
{
	call_dir=$1
	shift
	rm -f "$TMP/r.json"
	launch -q --preset grida-call --chdir "$call_dir" -w "$WS" -w "$other" \
		--result-json "$TMP/r.json" -- "$@"
}
# What python makes of the result r is true.
says() # EXPRESSION
{
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); sys.exit(0 if eval(sys.argv[2]) else 1)' \
		"$TMP/r.json" "$1" || { cat "$TMP/r.json" "$TMP/err"; return 1; }
}
refused() # STATUS TEXT
{
	[ "$status" = "$1" ] && grep -qF "$2" "$TMP/err" || { echo "status $status"; cat "$TMP/err"; return 1; }
}

# ---- the directory ----
call "$WS" echo hi
check '001: in the workspace; its real path' says 'r["stdout"] == "hi\n" and r["cwd"] == "'"$(realpath "$WS")"'"'
call "$other" pwd
check 'a second workspace is open as well' says 'r["stdout"].strip() == "'"$(realpath "$other")"'"'
call "$TMP" echo hi
check '002: above the workspace' refused 125 cwd-not-in-workspace
call "$WS/nothing" echo hi
check '003: missing' refused 125 cwd-resolve-failed
call "$WS/file.txt" echo hi
check '004: a file' refused 125 cwd-not-a-directory
call "$WS-backup" echo hi
check '005: a sibling with the same beginning' refused 125 cwd-not-in-workspace
call "$WS/out" echo hi
check '006: a link that leads outside' refused 125 cwd-not-in-workspace

# ---- the words ----
rejected()
{
	refused 126 'arg-in-protected-root: Argument rejected: resolves inside a protected directory.' &&
		! grep -qF auth.json "$TMP/err" &&
		says 'r["exit_code"] == -1 and "arg-in-protected-root: Argument rejected" in r["stderr"]'
}
call "$WS" cat "$data/auth.json"
check '007: an absolute path into the data, which is not repeated' rejected
up=$(realpath --relative-to="$WS" "$data")
call "$WS" cat "$up/auth.json"
check '008: a relative one' rejected
call "$WS" cat ./file.txt
check '009: one in the workspace' says 'r["exit_code"] == 0'
call "$WS" grep -n needle file.txt
check '010: options and words that are no paths' says 'r["stdout"] == "1:needle\n"'
call "$WS" grep S "--file=$data/auth.json" file.txt
check '011: the value of an option passes, and the policy keeps it closed' \
	says 'r["exit_code"] == 2 and "ermission denied" in r["stderr"]'
call "$WS" ls auth.json
check '012: a name without a slash' says 'r["exit_code"] == 2'
call "$WS/sub" touch ../link/deep/new.txt
check '013: below a link into the data, what is not there yet' rejected
call "$WS" ls "$HOME/userdata-backup/x"
check '014: a sibling of the data' says 'r["exit_code"] == 0'
call "$WS" echo 'one/two words'
check '015: text with a slash' says 'r["stdout"] == "one/two words\n"'

# ---- the run ----
call "$WS" echo grida-test-ok
check '016: what is told of it, and nothing else' \
	says 'sorted(r) == sorted("cmd args cwd exit_code signal stdout stderr duration_ms timed_out truncated".split()) and (r["cmd"], r["args"], r["exit_code"], r["signal"], r["stdout"], r["stderr"], r["timed_out"], r["truncated"]) == ("echo", ["grida-test-ok"], 0, None, "grida-test-ok\n", "", False, False)'
mkdir "$WS/real" && ln -s real "$WS/alias"
call "$WS/alias" pwd
check '017: the real path of the directory' says 'r["stdout"].strip() == "'"$(realpath "$WS/real")"'"'
call "$WS" ls missing
check '018: what fails says so' says 'r["exit_code"] != 0 and r["stderr"]'
call "$WS" no-such-program-at-all
check '019: what cannot be started is no exception' \
	says 'r["exit_code"] == -1 and "\n[spawn error] " in r["stderr"]'
rm -f "$TMP/r.json"
launch -q --preset grida-call -w "$WS" --timeout 100ms --result-json "$TMP/r.json" -- sleep 5
check '020: past its time' \
	says 'r["timed_out"] and r["signal"] == "SIGTERM" and r["duration_ms"] < 2000 and r["exit_code"] is None and r["stderr"] == ""'
took() # OPTIONS...: the time that a call is given
{
	rm -f "$TMP/r.json"
	launch -q --preset grida-call -w "$WS" "$@" --dry-run -- true
	sed -n 's/^timeout: *//p' "$TMP/out"
}
check '021: thirty seconds where nobody says' [ "$(took)" = '30000 ms, killed 250 ms later' ]
check '022: no more than a minute' [ "$(took --timeout 10m)" = '60000 ms, killed 250 ms later' ]
call "$WS" python3 -c 'import sys; sys.stdout.write("x" * (2 << 20)); sys.stdout.flush(); sys.stderr.write("y"); print("z")'
check '023: past 1 MiB the rest is dropped, and the command ends as it would' \
	says 'len(r["stdout"]) + len(r["stderr"]) == 1 << 20 and r["truncated"] and r["exit_code"] == 0'
call "$WS" python3 -c 'import sys; sys.stdout.write("x" * 700000); sys.stdout.flush(); sys.stderr.write("y" * 700000)'
check '023: of both streams together' \
	says 'len(r["stdout"]) + len(r["stderr"]) == 1 << 20 and r["truncated"]'
export FOO=1 LC_ALL=C.UTF-8
call "$WS" env
check '024: three variables, and what the run sets' \
	says '{l.split("=")[0] for l in r["stdout"].split()} - {"LD_PRELOAD", "SBX_CHANNEL", "TMPDIR", "TMP", "TEMP", "TMPPREFIX"} == {"PATH", "HOME", "LANG"} and "LANG=C.UTF-8\n" in r["stdout"]'
echo never >"$TMP/in"
rm -f "$TMP/r.json"
"$SBX" -q --preset grida-call -w "$WS" --result-json "$TMP/r.json" -- cat <"$TMP/in"
check '025: standard input is empty' says 'r["exit_code"] == 0 and r["stdout"] == ""'
check '025: also without a result' [ -z "$("$SBX" -q --preset grida-call -w "$WS" -- cat <"$TMP/in")" ]
for ms in 100 400 1600; do # longer where the machine is too busy for the trap to be set
	rm -f "$TMP/r.json"
	launch -q --preset grida-call -w "$WS" --timeout ${ms}ms --result-json "$TMP/r.json" -- \
		sh -c 'trap "" TERM; echo set; sleep 9; sleep 9'
	says 'r["stdout"] == "set\n" and r["duration_ms"] < '$((ms + 1400)) 2>/dev/null && break
done
check '026: killed 250 ms after a TERM that it ignores' \
	says 'r["timed_out"] and r["signal"] == "SIGKILL" and '$((ms + 230))' <= r["duration_ms"] < '$((ms + 1400))
for ms in 100 500 1500; do # as above
	rm -f begun left
	launch -q --preset grida-call -w "$WS" --timeout ${ms}ms -- \
		sh -c '(: >begun; sleep 2; echo late >left) & sleep 5'
	[ ! -e begun ] || break
done
sleep 2.2
check '027: so is what it started' [ -e begun -a ! -e left ]
call "$WS" echo '$HOME; ls | cat' '*'
check '028: no shell reads the words' says 'r["stdout"] == "$HOME; ls | cat *\n"'
plan=$("$SBX" --preset grida-call --timeout 10m --print-argv -- true)
check 'print-argv: the call as it was asked for' [ "$(echo "$plan" | grep -c grida-call)" = 1 ]

# ---- the policy ----
echo alias >"$HOME/.bashrc"
call "$WS" sh -c 'cat ~/userdata/auth.json ~/.bashrc; echo x >~/no; mktemp >/dev/null && echo temp; echo y >made && cat made'
check 'the data is closed to any words, the home to writing; the workspace and its temp are open' \
	says 'r["stdout"] == "temp\ny\n"' 
check 'nothing was written at home' [ ! -e "$HOME/no" ]
call "$WS" python3 -c 'import socket; socket.create_connection(("1.1.1.1", 80), 1)'
check 'there is no network' says 'r["exit_code"] == 1'
launch -q --preset grida-call -w "$HOME" -- true
check 'a workspace that contains the data is refused' refused 125 'overlap'
launch -q --preset grida-call -w "$data/deep" --chdir "$data/deep" -- true
check 'and one inside of it' refused 125 'overlap'
(unset HOME GRIDA_USER_DATA; cd "$WS"; "$SBX" -q --preset grida-call -w "$WS" -- true) >"$TMP/out" 2>"$TMP/err"
check 'by passwd where the environment says nothing' [ $? = 0 -o "$(grep -c 'GRIDA_USER_DATA\|HOME' "$TMP/err")" = 1 ]

# may PRESET OP PATH: what the policy answers.
may()
{
	"$POLICY" why --preset "$1" -w "$WS" "$2" "$3" >/dev/null 2>&1
}
check 'outer: the home, its data and /tmp may be changed' \
	eval 'may grida-outer modify "$HOME/x" && may grida-outer modify "$data/x" && may grida-outer read "$data/x" && may grida-outer modify /tmp/x'
check 'outer: not what starts programs, nor logins' \
	eval '! may grida-outer modify "$HOME/.bashrc" && ! may grida-outer read "$HOME/.ssh/id" && ! may grida-outer read "$HOME/.cargo/credentials.toml"'
check 'call: neither' eval '! may grida-call read "$HOME/.zshrc" && ! may grida-call modify "$HOME/x"'
for p in grida-outer grida-call; do
	bad=
	for path in .git/config pkg/.git/hooks/pre-commit .hg/store .zshrc .envrc sub/.npmrc package-lock.json a/.git x/.svn/y .gitmodules .claude.json; do
		may $p modify "$WS/$path" && bad="$bad $path"
	done
	for path in src/index.ts chart.svg sub/gitignore-ish.txt .github/workflows/x.yml .gitignore bun.lock Cargo.lock; do
		may $p modify "$WS/$path" || bad="$bad !$path"
	done
	check "$p: protected paths" [ -z "$bad" ]
done

# ---- as Grida has it: the call inside of its host ----
inside() # OPTIONS... -- WORDS...: a call by a command of the host
{
	launch -q --preset grida-outer -w "$WS" -- "$SBX" -q --preset grida-call -w "$WS" --chdir "$WS" "$@"
}
fresh
inside -- sh -c 'echo inner >made; cat made'
check 'a call runs inside of its host' [ "$status:$(cat "$TMP/out")" = 0:inner ]
inside -- sh -c 'cat ~/userdata/auth.json; echo x >~/no; echo end'
check 'with its own policy: the data stays closed, the home as well' [ "$(cat "$TMP/out")" = end -a ! -e "$HOME/no" ]
launch -q --preset grida-outer -w "$WS" -- sh -c 'cat ~/userdata/auth.json; echo x >~/yes'
check 'which the host itself opens' [ "$(cat "$TMP/out")" = S -a -e "$HOME/yes" ]
inside -- cat "$data/auth.json"
check 'with its gate of words' refused 126 arg-in-protected-root
launch -q --preset grida-outer -w "$WS" -- "$SBX" -q --preset grida-call -w "$WS" --chdir "$TMP" -- true
check 'and of the directory' refused 125 cwd-not-in-workspace
echo never >"$TMP/in"
"$SBX" -q --preset grida-outer -w "$WS" -- "$SBX" -q --preset grida-call -w "$WS" --chdir "$WS" -- cat <"$TMP/in" >"$TMP/out" 2>"$TMP/err"
check 'its standard input is empty' [ "$?:$(cat "$TMP/out" "$TMP/err")" = 0: ]
inside --timeout 200ms -- sleep 20
check 'its time is its own' [ "$status" -eq 124 ]
inside -- env
check 'so are its variables' [ "$(grep -c '^GRIDA_USER_DATA' "$TMP/out")" -eq 0 ]
