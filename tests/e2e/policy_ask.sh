#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-policy: the questions about whole documents: diff, test, lint, why --all.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
umask 077

document() # FILE DENY-READ MODIFY
{
	cat >"$1" <<X
schemaVersion: 2
kind: Policy
metadata: {name: asked}
spec:
  denyRead: [$2]
  denyModify: [$2]
  fsProfiles:
    writer:
      read: ["**"]
      modify: [$3]
X
}

has() # STATUS PATTERN ARGS...: a line of the output or of the messages matches
{
	want=$1 pattern=$2
	shift 2
	"$POLICY" "$@" >"$TMP/out" 2>&1 </dev/null
	status=$?
	[ "$status" -eq "$want" ] && grep -qE -- "$pattern" "$TMP/out" || {
		echo "status $status"
		cat "$TMP/out"
		return 1
	}
}

lacks() # PATTERN ARGS...
{
	pattern=$1
	shift
	"$POLICY" "$@" >"$TMP/out" 2>&1 </dev/null
	! grep -E -- "$pattern" "$TMP/out"
}

json() # EXPRESSION ARGS...: Python's view of the answer `d`
{
	expression=$1
	shift
	"$POLICY" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	python3 -c "import json,sys; d=json.load(open(sys.argv[1])); assert $expression, d" "$TMP/out" ||
		{ cat "$TMP/out" "$TMP/err"; return 1; }
}

# ---- diff ----

document old.yaml '"**/*.env"' '"src/**", "docs/*.md"'
document new.yaml '"**/*.env"' '"src/**", "!src/gen/**", "docs/*"'
document same.yaml '"**/*.env", "**/a.env"' '"docs/*.md", "src", "src/*", "src/**"'
check 'diff: equal to itself' answers 0 'equal: every verdict is the same' diff old.yaml old.yaml
check 'diff: other rules, the same meaning' answers 0 'equal: every verdict is the same' \
	diff old.yaml same.yaml
document all.yaml '"*.env"' '"**"'
cp all.yaml copy.yaml
for d in a b; do
	printf 'kind: Policy\nschemaVersion: 2\nmetadata: {name: m}\nspec: {denyModify: [%s/**]}\n' $d >deny-$d.yaml
done
check 'diff: a copy in the workspace is equal' answers 0 'equal: every verdict is the same' \
	diff ./all.yaml ./copy.yaml
check 'diff: documents without profiles differ by what they deny' answers 1 "profile unrestricted
+ modify   ./a  by rule ** (deny-b.yaml:1:1), before by a/** (deny-a.yaml:4:21)
- modify   ./b  by rule b/** (deny-b.yaml:4:21), before by ** (deny-a.yaml:1:1)" \
	diff deny-a.yaml deny-b.yaml
check 'diff: what becomes allowed and denied, with the rules' answers 1 "profile writer
+ modify   ./docs/a  by rule docs/* (new.yaml:10:41), before by <no matching rule> (builtin:base:44)
- modify   ./src/gen  by rule src/gen/** (new.yaml:10:26), before by src/** (old.yaml:10:16)" \
	diff old.yaml new.yaml
check 'diff --json' json \
	"not d['equal'] and [(x['op'], x['path'], x['change']) for x in d['profiles'][0]['differences']] == [('modify','./docs/a','allowed'),('modify','./src/gen','denied')]" \
	diff --json old.yaml new.yaml
sed 's/writer:/other:/' old.yaml >renamed.yaml
check 'diff: a profile that one has alone' has 1 '^  only in renamed.yaml' diff old.yaml renamed.yaml
check 'diff: options of a run hold for both' answers 0 'equal: every verdict is the same' \
	diff --deny-modify src/gen --deny-modify docs old.yaml new.yaml
sed 's/^spec:/spec:\n  sandbox: {network: host}/' old.yaml >online.yaml
check 'diff: a setting of the run, and nothing else' answers 1 "profile writer
~ network: host, before none" diff old.yaml online.yaml
check 'diff --json: a setting' json "d['profiles'][0]['settings'] == [{'name':'network','before':'none','after':'host'}]" \
	diff --json old.yaml online.yaml
# A run that has the first scratch directory makes no difference.
beside_a_run()
{
	mkfifo "$TMP/busy" && { "$SBX" -q -- sh -c 'echo there; exec sleep 100' >"$TMP/busy" & } || return
	run=$! rc=0
	read -r _ <"$TMP/busy"
	for _ in 1 2 3; do
		(until [ -e "$TMP/done" ]; do "$SBX" -q --audit-level none -- true; done) & others=$!
		for _ in 1 2 3 4 5; do "$POLICY" diff old.yaml old.yaml >"$TMP/out" 2>&1 || { cat "$TMP/out"; rc=1; }; done
		touch "$TMP/done" && wait $others && rm "$TMP/done"
	done
	kill $run
	wait $run
	return $rc
}
check 'diff: equal also while runs begin and end' beside_a_run
check 'diff: a missing file is trouble' has 2 'E_POLICY' diff old.yaml none.yaml
check 'diff: one file is not enough' has 2 'E_USAGE' diff old.yaml

# ---- test ----

cp old.yaml tested.yaml
cat >>tested.yaml <<'X'
tests:
  - {op: read, path: a.env, allowed: false, matched_rule: "**/*.env"}
  - {op: modify, path: src/x.c, allowed: true, rule: "tested.yaml:10:16"}
  - {op: modify, path: "a #1", allowed: false, profile: writer}
X
check 'test: the tests of a document' answers 0 'ok 1 - read a.env: denied by **/*.env
ok 2 - modify src/x.c: allowed at tested.yaml:10:16
ok 3 - modify a \#1: denied
1..3' test tested.yaml
# A document goes with its tests, however it is named.
named() { for f in ./tested.yaml "$PWD/tested.yaml" "../${PWD##*/}/tested.yaml"; do "$POLICY" test "$f" >"$TMP/out" 2>&1 || { cat "$TMP/out"; return 1; }; done; }
check 'test: by any name of the file' named
sed 's/rule: "tested/rule: "ested/' tested.yaml >other.yaml
check 'test: but by another' has 1 '^not ok 2' test other.yaml
echo '- {op: modify, path: docs/x.c, allowed: true}' >more.yaml
check 'test: a file of tests, that fail' answers 1 'not ok 1 - modify docs/x.c: allowed
# more.yaml:1:3: denied by <no matching rule> (builtin:base:44)
1..1' test -p old.yaml more.yaml
check 'test --table' has 1 '^FAIL +modify +docs/x.c +denied by .*, expected allowed' \
	test --table -p old.yaml more.yaml
check 'test --json' json "d['ok'] is False and d['path'] == 'docs/x.c' and d['line'] == 1" \
	test --json -p old.yaml more.yaml
check 'test: none is trouble' has 2 'no tests' test old.yaml
echo '- {op: modify, path: x, allowed: true, profile: none}' >more.yaml
check 'test: an unknown profile is trouble' has 2 'more.yaml:1:3: .*no fsProfile' \
	test -p old.yaml more.yaml
echo '- {op: modify, pat: x, allowed: true}' >>tested.yaml
sed -i 's/^- /  - /' tested.yaml
check 'check reads the tests, too' has 2 'tested.yaml:15:5: missing field .path. in a test' \
	check tested.yaml

# ---- lint ----

check 'lint: nothing to say' answers 0 '' lint old.yaml
mkdir -p dir '[id]' && touch '[id]/x' .env
document odd.yaml '"secret"' '"dir", "src/a", "src/**", "[id]/x", "x[ab]", "lib/**", "!lib/**"'
check 'lint: shadowed by another spelling' has 1 \
	'^odd.yaml:10:23: modify rule .src/a. never decides: .* .src/\*\*. \(odd.yaml:10:32\) .*\[shadowed\]$' \
	lint odd.yaml
check 'lint: undone by its opposite' has 1 '^odd.yaml:10:61: .*never decides.*!lib/\*\*.*\[shadowed\]' \
	lint odd.yaml
check 'lint: a literal that is a directory here' has 1 \
	'^odd.yaml:10:16: rule .dir. names the directory alone.*\[literal-directory\]' lint odd.yaml
check 'lint: brackets' has 1 '^odd.yaml:10:52: .*\[literal-character\]' lint odd.yaml
check 'lint: a name with brackets that exists' lacks ':10:42:.*literal' lint odd.yaml
check 'lint: credentials in the workspace' has 1 'lets the command read ./.env.*\[secret-reachable\]' \
	lint odd.yaml
check 'lint: a secret that an option opens' has 1 \
	'cli:--read:1: rule .~/.ssh/\*\*. opens secrets: .*/.ssh can be read \[secret-reachable\]' \
	lint --read '~/.ssh' old.yaml
check 'lint: what this kernel cannot hold' has 1 '\[not-enforced\]$' lint --abi 1 old.yaml
check 'lint --json' json "d[0]['file'] == 'odd.yaml' and d[0]['line'] and {x['code'] for x in d} >= {'shadowed','literal-directory','literal-character','secret-reachable'}" \
	lint --json odd.yaml
rm .env
sed -i 's/denyModify: .*/denyModify: []/; s/"dir".*]/"**"]/; s/"secret"/"secret\/**"/' odd.yaml
check 'lint: read denied, modify not' has 1 'odd.yaml:5:14: .*may overwrite or remove.*\[deny-read-only\]' \
	lint odd.yaml
check 'lint: a broken document is trouble' has 2 'E_POLICY' lint /dev/null
echo 'x: [' >broken.yaml
check 'lint: with its place' has 2 'broken.yaml:2:1' lint broken.yaml

"$POLICY" why -p new.yaml modify src/a '~/b' docs/x >"$TMP/out" 2>"$TMP/err"
check 'why: trouble with one path is its status' [ $? -eq 2 ]
check 'and leaves the answers to the others' [ "$(wc -l <"$TMP/out")" -eq 2 ]
check 'and is told' grep -q '~/b.*must stay inside' "$TMP/err"

# ---- why --all ----

check 'why --all: all rules that match, in order' answers 1 "denied   modify   ./src/gen/x  by rule src/gen/** (new.yaml:10:26), against src/** (new.yaml:10:16)  [broker]
    allow  profile  src/** (new.yaml:10:16)
  > deny   profile  src/gen/** (new.yaml:10:26)" why --all -p new.yaml modify src/gen/x
check 'why --all --json' json "[m['decides'] for m in d['matches']] == [False, True] and d['matches'][1]['tier'] == 'profile'" \
	why --all --json -p new.yaml modify src/gen/x
check 'a question that is none suggests one' has 2 'did you mean .lint.' lnit x

# ---- beside another document ----

printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: p}\nspec: {denyModify: ["docs/**"]}\n' >.sbx-launch.yaml
check 'lint: what another document closes' has 1 \
	'^new.yaml:10:[0-9]+: modify rule .docs/\*. opens what another document closes.*project:.*\[layer-weakened\]' \
	lint new.yaml
check 'lint: what it leaves open is no finding' lacks 'src/\*\*.*layer-weakened' lint new.yaml
document half.yaml '"**/*.env"' '"docs/**", "src/**"'
document less.yaml '"**/*.env"' '"src/**"'
check 'diff: with the other document in force' answers 0 'equal: every verdict is the same' \
	diff half.yaml less.yaml
rm .sbx-launch.yaml
