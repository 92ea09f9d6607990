#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# env.sh - which variables the command has: --env, --passenv, --setenv, and documents.
. "$(dirname "$0")/../support/e2e.sh"

# Names the command has of these; what the run itself sets is left out.
names()
{
	"$SBX" -q "$@" -- env 2>"$TMP/err" | cut -d= -f1 | grep -vE '^(TMP|TEMP|TMPDIR|TMPPREFIX|SBX_|XDG_CACHE_HOME|GOCACHE|CCACHE_DIR|npm_config_cache|LD_PRELOAD|_$)' |
		sort | tr '\n' ' '
}
fresh()
{
	cd "$WS" && rm -rf -- * && : >"$TMP/out"
}

fresh
unset XDG_CACHE_HOME
export GITHUB_TOKEN=t AWS_SECRET_ACCESS_KEY=k CI_JOB=7 FOO=1 NODE_OPTIONS=--no-warnings \
	PYTHONSTARTUP=/nowhere BASH_ENV=/nowhere GIT_SSH_COMMAND=false GIT_AUTHOR_NAME=me \
	LANG=C.UTF-8
base=$(env | cut -d= -f1 | grep -vE '^(TMPDIR|_$|SBX(_AGENTS)?$)' | sort | tr '\n' ' ')

check 'kept by default' [ "$(names | sed 's/ SBX / /;s/^SBX //')" = "$base" ]
out=$(DB_PASSWD=a SESSION_COOKIE=b GH_AUTH=c SSH_AUTH_SOCK=d XDG_SESSION_ID=e "$SBX" -q --env scrub -- \
	sh -c 'echo "$DB_PASSWD$SESSION_COOKIE$GH_AUTH$SSH_AUTH_SOCK$XDG_SESSION_ID"')
check 'scrub: what is hidden in the record is not handed on' [ "$out" = de ]
check 'scrub: neither logins nor hooks, and the rest' \
	[ "$(names --env scrub | tr ' ' '\n' | grep -xE 'GITHUB_TOKEN|AWS_SECRET_ACCESS_KEY|CI_JOB|FOO|NODE_OPTIONS|PYTHONSTARTUP|BASH_ENV|GIT_SSH_COMMAND|GIT_AUTHOR_NAME|PATH' | tr '\n' ' ')" = 'CI_JOB FOO GIT_AUTHOR_NAME PATH ' ]
check 'ENV-01: pass, and names with a star' \
	[ "$(names --env pass --passenv 'CI_*' | tr ' ' '\n' | grep -E 'TOKEN|AWS|CI_JOB|FOO|^PATH$' | tr '\n' ' ')" = 'CI_JOB PATH ' ]
check 'clear: three, and what the run needs' [ "$(names --env clear)" = 'HOME LANG PATH ' ]
check 'clear: a language where there is none' \
	[ "$(env -u LANG "$SBX" -qq --env clear -- sh -c 'echo $LANG' 2>&1)" = C.UTF-8 ]
check 'passenv: a login by its name' \
	[ "$("$SBX" -q --env scrub --passenv GITHUB_TOKEN -- sh -c 'echo $GITHUB_TOKEN$AWS_SECRET_ACCESS_KEY')" = t ]
check 'passenv: of what is not set nothing is made' \
	[ "$(names --env clear --passenv NOT_SET)" = 'HOME LANG PATH ' ]
check 'setenv: under every mode, and before the run'\''s own' \
	[ "$("$SBX" -q --env clear --setenv FOO=2 --setenv "TMPDIR=$WS" -- sh -c 'echo $FOO $TMPDIR')" = "2 $WS" ]
mkdir bin && printf '#!/bin/sh\necho mine\n' >bin/tool && chmod +x bin/tool
check 'setenv: the command is looked for in a PATH that is set' \
	[ "$("$SBX" -q --setenv "PATH=$WS/bin:$PATH" -- tool)" = mine ]
"$SBX" -q --setenv FOO -- true 2>"$TMP/err"
check 'setenv: a word without a value is refused' [ "$?" = 125 -a "$(grep -c 'setenv.*expected NAME=VALUE' "$TMP/err")" = 1 ]
"$SBX" -q --setenv SBX_CHANNEL=/x -- true 2>"$TMP/err"
check 'setenv: not what is ours' [ $? = 125 ]
"$SBX" -q --env all -- true 2>"$TMP/err"
check 'an unknown mode is refused, with those there are' \
	[ "$?" = 125 -a "$(grep -c 'keep|scrub|pass|clear' "$TMP/err")" = 1 ]

# ---- the loader's variables, and the shim's ----
cat >libnone.c <<'C'
int none;
C
if cc -shared -fPIC -o libnone.so libnone.c 2>/dev/null; then
	out=$(LD_PRELOAD=$WS/libnone.so LD_LIBRARY_PATH=$WS "$SBX" -q --env scrub -- \
		sh -c 'echo "$LD_LIBRARY_PATH|$LD_PRELOAD"')
	check 'scrub: the shim alone is preloaded' [ "${out##*/}${out%%|*}" = libsbx-shim.so ]
	out=$(LD_PRELOAD=$WS/libnone.so "$SBX" -q --env scrub --passenv LD_PRELOAD -- \
		sh -c 'echo "$LD_PRELOAD"')
	check 'scrub: named, another preload stays behind it' [ "${out#*shim.so:}" = "$WS/libnone.so" ]
	out=$(LD_PRELOAD=$WS/libnone.so "$SBX" -q --no-shim --env scrub -- sh -c 'echo "$LD_PRELOAD"')
	check 'scrub: without the shim there is none' [ -z "$out" ]
else
	skip "the loader's variables" 'no C compiler'
fi
echo S >f
"$SBX" -q --env clear --deny-read f -- sh -c 'cat f; env -i cat f' >"$TMP/out" 2>"$TMP/err"
check 'clear: the floor and the shim hold' [ "$?:$(grep -c S "$TMP/out")" = 1:0 ]
check 'and the log has the denial' \
	[ "$("${SBX%/*}/sbx-audit" show --kind denied | grep -c 'read \./f')" = 2 ]

# ---- what is told ----
GITHUB_TOKEN=planted-value "$SBX" -q --env scrub -- true
run=$(grep -l '"argv":\["true"\]' "$HOME"/.local/state/sbx-launch/runs/*/run.json)
check 'run.json: the mode and the names, no values' \
	[ "$(cat $run | grep -c planted-value):$(grep -cE '"environment":"scrub","removed_variables":\[.*"GITHUB_TOKEN"' $run)" = 0:1 ]
check 'dry-run: the same' \
	[ "$("$SBX" --dry-run --env scrub -- true | grep -cE '^(environment: scrub, without|  - GITHUB_TOKEN)$')" = 2 ]
check 'verbose: how many' \
	[ "$("$SBX" -v --env clear -- true 2>&1 | grep -cE 'environment: clear, [0-9]+ variables removed')" = 1 ]

# ---- secrets in what is shown ----
export GITHUB_TOKEN=planted-value
logs()
{
	cat "$HOME"/.local/state/sbx-launch/runs/*/run.json
}
"$SBX" -q --setenv MY_PASSWORD=sown-value -- echo xplanted-valuey sown-value >"$TMP/out" 2>"$TMP/err"
check 'run.json: the words without secrets; the command has them' \
	[ "$(cat "$TMP/out"):$(logs | grep -cE 'planted-value|sown-value'):$(logs | grep -c '"x\[REDACTED_ENV\]y","\[REDACTED_ENV\]"')" = 'xplanted-valuey sown-value:0:1' ]
words_alone() # what the command got, and what the record has of it
{
	rm -rf "$HOME"/.local/state/sbx-launch/runs/2*
	"$SBX" -q -- sh -c '/bin/echo "$@"; exit 0' sh --password hunter2 -u bob:hunter2 -H 'Authorization: Bearer hunter2' https://u:hunter2@h A_TOKEN=hunter2 '{"password":"hunter2"}' >"$TMP/out" 2>"$TMP/err"
	[ "$(grep -o hunter2 "$TMP/out" | wc -l)" -eq 6 ] && ! grep -l hunter2 "$HOME"/.local/state/sbx-launch/runs/2*/* &&
		grep '"kind":"hello"' "$HOME"/.local/state/sbx-launch/runs/2*/audit.jsonl | grep -qF '"/bin/echo","--password","[REDACTED]","-u","bob:[REDACTED]","-H","Authorization: [REDACTED]","https://u:[REDACTED]@h","A_TOKEN=[REDACTED]","{\"password\":\"[REDACTED]\"}"]'
}
check 'the record: words without what looks like a secret; the command has them' words_alone
"$SBX" --dry-run --setenv MY_PASSWORD=sown-value -- echo planted-value $'a\nplanted-value' >"$TMP/out" 2>&1
check 'dry-run: nor there' \
	[ "$(grep -cE 'planted-value|sown-value' "$TMP/out"):$(grep -cE 'MY_PASSWORD=\[REDACTED\]|^command: echo \[REDACTED_ENV\] a.x0a\[REDACTED_ENV\]' "$TMP/out")" = 0:2 ]
words=$("$SBX" --print-argv -q -- echo "it's planted-value!" planted-value)
check 'print-argv: names the variable in its place, and runs' \
	[ "$(echo "$words" | grep -c planted-value):$(eval "$words")" = "0:it's planted-value! planted-value" ]
words=$("$SBX" --print-argv --json -q -- echo "it's planted-value!")
check 'print-argv as JSON: so does it' \
	[ "$(echo "$words" | grep -c planted-value):$(python3 -c 'import json,subprocess,sys; subprocess.run(json.loads(sys.argv[1]))' "$words")" = "0:it's planted-value!" ]
check 'print-argv: the variable must be there when it runs' \
	[ "$(words=$("$SBX" --print-argv -q -- echo planted-value); unset GITHUB_TOKEN; eval "$words" 2>/dev/null; echo $?)" != 0 ]
"$SBX" --print-argv --setenv MY_PASSWORD=sown-value -- true >"$TMP/out" 2>&1
check 'print-argv: a secret that no variable holds is not printed' \
	[ "$?:$(grep -c sown-value "$TMP/out"):$(grep -c 'passenv MY_PASSWORD' "$TMP/out")" = 125:0:1 ]
echo S >planted-value
"$SBX" --deny-read planted-value -- sh -c "exec cat planted-value 2>/dev/null" >"$TMP/out" 2>"$TMP/err"
check 'a refusal that is told: the path without it' \
	[ "$(grep '^sbx-launch' "$TMP/err" | grep -c planted-value):$(grep '^sbx-launch' "$TMP/err" | grep -c REDACTED_ENV)" = 0:1 ]
check 'and the log has the path' [ "$("${SBX%/*}/sbx-audit" show --kind denied | grep -c planted-value)" -ge 1 ]
"$SBX" -q --env scrub --tee --result-json "$TMP/r.json" -- echo planted-value >"$TMP/out" 2>"$TMP/err"
check 'the tee: nor there, taken away as it was' \
	[ "$(cat "$TMP/out" "$TMP/err" | grep -c planted-value):$(cat "$TMP/out" "$TMP/err" | grep -c REDACTED_ENV)" = 0:1 ]
rm planted-value
GITHUB_TOKEN=t

# ---- documents ----
doc()
{
	printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: p}\nspec:\n  fsProfiles:\n    default: {read: ["**"], modify: ["**"]}\n  sandbox: {%s}\n' "$1" >"$TMP/p.yaml"
}
show='echo "$GITHUB_TOKEN$FOO$CI_JOB"'
doc 'env: scrub, passEnv: [GITHUB_TOKEN]'
check 'a document: its mode, its names' [ "$("$SBX" -q -p "$TMP/p.yaml" -- sh -c "$show")" = t17 ]
doc 'env: pass, passEnv: ["CI_*"]'
check 'a document: a star in a name' [ "$("$SBX" -q -p "$TMP/p.yaml" -- sh -c "$show")" = 7 ]
check 'the command line says otherwise' [ "$("$SBX" -q -p "$TMP/p.yaml" --env keep -- sh -c "$show")" = t17 ]
check 'compiled, it says the same' \
	[ "$("${SBX%/*}/sbx-policy" compile -p "$TMP/p.yaml" -o "$TMP/p.img" >/dev/null && "$SBX" -q --image "$TMP/p.img" -- sh -c "$show")" = 7 ]
doc 'env: scrubbed'
"$SBX" -q -p "$TMP/p.yaml" -- true 2>"$TMP/err"
check 'a wrong word is named by its place' [ "$?:$(grep -c 'p.yaml:7:18: env is `scrubbed`, expected one of keep|scrub|pass|clear' "$TMP/err")" = 125:1 ]
printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: p}\nspec: {sandbox: {env: scrub, passEnv: [FOO]}}\n' >.sbx-launch.yaml
check 'a project file tightens: named by the user, a login stays out' \
	[ "$("$SBX" -q --env keep --passenv GITHUB_TOKEN -- sh -c "$show" 2>/dev/null)" = 17 ]
rm .sbx-launch.yaml
printf '[sandbox]\nenabled = true\n[sandbox.filesystem]\nallow_read = ["/"]\n[sandbox.env]\nscrub_secrets = true\npassthrough = ["AWS_SECRET_ACCESS_KEY"]\n' >"$TMP/c.toml"
check 'caliban: scrub_secrets and passthrough' \
	[ "$("$SBX" -qq -p "$TMP/c.toml" --dialect caliban -- sh -c 'echo "$GITHUB_TOKEN$AWS_SECRET_ACCESS_KEY$FOO"' 2>"$TMP/err"; cat "$TMP/err")" = k1 ]

# ---- accept-edits judges what the command will have ----
git init -q . 2>/dev/null
"$SBX" -q --mode accept-edits -- git status >/dev/null 2>"$TMP/err"
check 'accept-edits: a hook of the caller asks' [ "$?:$(grep -c needs-approval "$TMP/err")" = 126:1 ]
"$SBX" -qq --mode accept-edits --env scrub -- git status >"$TMP/out" 2>&1
check 'accept-edits: scrubbed, it does not' [ $? = 0 ]
"$SBX" -qq --mode accept-edits --env scrub --setenv GIT_EXTERNAL_DIFF=false -- git diff >"$TMP/out" 2>&1
check 'accept-edits: one that is set asks' [ $? = 126 ]

# ---- preload-only mode, and mounts ----
fresh
text=$(SBX_PROFILE=default "$SBX" --print-env --env scrub --setenv MINE=1 2>/dev/null)
out=$(eval "$text"; sh -c 'echo "$GITHUB_TOKEN|$NODE_OPTIONS|$FOO|$MINE|${LD_PRELOAD##*/}"')
check 'print-env: takes away and sets, too' [ "$out" = '||1|1|libsbx-shim.so' ]
"$SBX" --print-env --memory 1G >"$TMP/out" 2>"$TMP/err"
check 'print-env: limits need a command' [ "$(grep -c 'E_USAGE.*--memory: not with --print-env' "$TMP/err")" = 1 ]
if command -v bwrap >/dev/null && "$SBX" -q --backend bwrap -- true 2>/dev/null; then
	check 'bubblewrap: the same variables' \
		[ "$("$SBX" -q --backend bwrap --env scrub --setenv MINE=1 -- sh -c 'echo "$GITHUB_TOKEN|$FOO|$MINE"')" = '|1|1' ]
fi
