#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-policy fmt and schema.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
HERE=$(dirname "$0")
umask 077

cat >ugly.yaml <<'X'
# top comment
schemaVersion:   2 # two
kind: Policy


metadata: {name:   docs,labels: {a: b}}
spec:
    # about denies
    denyRead: [ "**/*.env" ,  '*.pem'
       ]
    denyModify:
    - ".orbit/**"   # why
    # - "old"
    - "!.orbit/open/**"

    fsProfiles:
        # the writer
        writer:
            read: &all ["**"]
            modify: [ "src/**", # sources
                "docs/**" ]   # documents
        # reader next
        reader: {read: *all}
    description: |
        two lines
          of text

        here
tests:
-   op: read
    path: "a
      b"
    allowed: true
- {op: read, path: y, allowed: false}
# the end
X
cat >nice.yaml <<'X'
# top comment
schemaVersion: 2  # two
kind: Policy

metadata: {name: docs, labels: {a: b}}
spec:
  # about denies
  denyRead: ["**/*.env", '*.pem']
  denyModify:
    - ".orbit/**"  # why
    # - "old"
    - "!.orbit/open/**"

  fsProfiles:
    # the writer
    writer:
      read: &all ["**"]
      modify:
        - "src/**"  # sources
        - "docs/**"  # documents
    # reader next
    reader: {read: *all}
  description: |
    two lines
      of text

    here
tests:
  - op: read
    path: "a b"
    allowed: true
  - {op: read, path: y, allowed: false}
# the end
X

formatted() # FILE: is what the formatter makes of ugly.yaml
{
	diff nice.yaml "$1"
}
to_stdout() { "$POLICY" fmt ugly.yaml >out.yaml && formatted out.yaml; }
check 'fmt keeps comments, order, anchors and spelling' to_stdout
from_stdin() { "$POLICY" fmt - <ugly.yaml >out.yaml && formatted out.yaml; }
check 'fmt of standard input' from_stdin
idempotent() { "$POLICY" fmt nice.yaml >out.yaml && formatted out.yaml; }
check 'fmt of what is formatted changes nothing' idempotent
crlf() { sed 's/$/\r/' ugly.yaml >crlf.yaml && "$POLICY" fmt crlf.yaml >out.yaml && formatted out.yaml; }
check 'fmt of lines that end in CR LF' crlf
named() { "$POLICY" fmt --check ugly.yaml nice.yaml >out; [ $? -eq 1 ] && [ "$(cat out)" = 'ugly.yaml: not formatted' ]; }
check 'fmt --check names what is not formatted' named
check 'fmt --check of what is' "$POLICY" fmt --check nice.yaml
untouched() { cp ugly.yaml copy.yaml && "$POLICY" fmt copy.yaml >out && cmp ugly.yaml copy.yaml; }
check 'fmt without -w writes nothing' untouched
in_place()
{
	cp ugly.yaml copy.yaml && chmod 640 copy.yaml && ln -s copy.yaml link.yaml &&
		"$POLICY" fmt -w link.yaml && formatted copy.yaml && [ -L link.yaml ] &&
		[ "$(stat -c %a copy.yaml)" = 640 ] && [ "$(find . -name '*.yaml*' | wc -l)" -eq 6 ]
}
check 'fmt -w replaces the file, keeps its mode and the link to it' in_place
refused() # TEXT PATTERN
{
	printf '%b' "$1" >bad.yaml
	cp bad.yaml before.yaml
	"$POLICY" fmt -w bad.yaml 2>err
	[ $? -eq 2 ] && grep -q "$2" err && cmp bad.yaml before.yaml || { cat err; return 1; }
}
check 'fmt refuses what is no YAML' refused 'a: [\n' 'bad.yaml:2:1'
check 'fmt refuses directives' refused '%YAML 1.1\n---\na: b\n' 'directives'
check 'fmt refuses a numbered block' refused 'a: |2\n    b\n' 'bad.yaml:1:4: a block scalar'
refused_many() { "$POLICY" fmt ugly.yaml nice.yaml 2>err; [ $? -eq 2 ] && grep -q E_USAGE err; }
check 'fmt refuses several files on standard output' refused_many

# ---- schema ----

"$POLICY" schema >schema.json
is_published() { cmp schema.json "$HERE/policy.schema.json"; }
check 'schema prints the file of docs/schema' is_published
for name in exec-result fs-call-event run; do
	"$POLICY" schema $name >other.json
	check "schema $name" cmp other.json "$HERE/$name.schema.json"
done
"$POLICY" schema nothing >out 2>err
check 'schema of what there is not' [ "$? $(wc -l <err)" = '2 1' -a ! -s out ]
cat >times.yaml <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: times, other: 1}
other: {}
spec:
  created_at: 2026-05-18T01:02:03.5+01:00
  updated_at: ~
  description: ~
  sandbox:
    network: none
    unixSockets: ["${XDG_RUNTIME_DIR}/bus"]
    readRoots: ["~/x", "/srv/*", "${CARGO_HOME}"]
    strict: true
    allowFallback: false
  denyModify: [" a/** ", "!a\\b/**", "~user", "a/..b", "..."]
  fsProfiles: {w: {read: ["!x", "."], modify: []}, "ü b": {}}
X
check 'documents of the tests are valid by the schema' \
	python3 "$HERE/validate_policy.py" schema.json ugly.yaml nice.yaml times.yaml
check 'they are valid by sbx-policy' "$POLICY" check ugly.yaml nice.yaml times.yaml
# Each is refused by both: the schema's judge is asked of all at once.
mkdir edits
edits=()
both_refuse() # SED NUMBER
{
	cmp -s "edits/$2.yaml" times.yaml && { echo "nothing changed: $1"; return 1; }
	! "$POLICY" check "edits/$2.yaml" 2>/dev/null && grep -q "^edits/$2\.yaml: " judged
}
for edit in 's/: 2$/: 3/' 's/Policy/Role/' 's/times, /..x, /' 's/times/a.b/' 's/name: times, //' \
	's/created_at/created/' 's/01:00$/01/' 's/description: ~/description: 5/' \
	's/"\.\.\."/"\/x"/' 's/"\.\.\."/"a\/..\/b"/' 's/"\.\.\."/"~"/' 's/"\.\.\."/"!"/' \
	's/"\.\.\."/" "/' 's/"\.\.\."/5/' 's/denyModify/denyRead/' 's/read:/reads:/' 's/"ü b"/" "/' \
	's/modify: \[\]/modify: x/' \
	's/network: none/network: off/' 's/network:/net:/' 's/"~\/x"/"x"/' 's/"~\/x"/"\/a\/..\/x"/' \
	's/strict: true/strict: false/' 's/strict: true/strict: 1/' 's/\["${XDG.*/some/' \
	's/^other: {}/tests: [{op: read, path: x}]/' \
	's/^other: {}/tests: [{op: write, path: x, allowed: true}]/' \
	's/^other: {}/tests: [{op: read, path: x, allowed: "yes"}]/'; do
	edits+=("$edit")
	sed "$edit" times.yaml >"edits/${#edits[@]}.yaml"
done
python3 "$HERE/validate_policy.py" schema.json edits/*.yaml >judged
for ((i = 1; i <= ${#edits[@]}; i++)); do
	check "both refuse: ${edits[i - 1]}" both_refuse "${edits[i - 1]}" "$i"
done
