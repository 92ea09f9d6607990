#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Rules on endpoints of the network, asked of sbx-policy: documents, options, programs.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy

write() # FILE SANDBOX ENTRY...
{
	file=$1
	{
		printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: n}\nspec:\n  sandbox: {%s}\n' "$2"
		printf '  denyConnect: [bad.example.org, ./closed.sock]\n'
		printf '  fsProfiles:\n    dev:\n      read: ["**"]\n      connect:\n'
		shift 2
		printf '        - %s\n' "$@"
	} >"$file"
}

asks() # STATUS PATTERN ARGS...
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

why() # STATUS PATTERN ENDPOINT [OPTION...]
{
	want=$1 pattern=$2 endpoint=$3
	shift 3
	asks "$want" "$pattern" why -p p.yaml "$@" connect "$endpoint"
}

write p.yaml '' github.com:443 '"**.example.org:443"' 10.0.0.0/8:5432 localhost:5432 '"!evil.example.org"' \
	'{to: "db.example.org:5432", by: [/usr/bin/env, "/opt/*/bin/psql"]}' ./own.sock

check 'a document is valid' "$POLICY" check p.yaml
check 'a name and a port' why 0 '^allowed .*github.com:443 \(p.yaml:11:11\)' github.com:443
check 'another port' why 1 '^denied .*<no matching rule>' github.com:80
check 'names are folded' why 0 '^allowed' GITHUB.com.:443
check 'any depth' why 0 '^allowed' a.b.example.org:443
check 'never the apex' why 1 '^denied' example.org:443
check 'a later rule wins' why 1 '^denied .*evil.example.org .*against \*\*.example.org' evil.example.org:443
check 'a denial of the document wins' why 1 '^denied .*bad.example.org' bad.example.org:443
check 'a range' why 0 '^allowed .*10.0.0.0/8:5432' 10.1.2.3:5432
check 'a mapped address is the one inside' why 0 '^allowed' '[::ffff:10.1.2.3]:5432'
check 'localhost is the loopback' why 0 '^allowed .*localhost:5432' 127.0.0.1:5432
check 'a program' why 0 '^allowed .*db.example.org:5432' db.example.org:5432 --exe /usr/bin/env
check 'another program' why 1 '^denied' db.example.org:5432 --exe /bin/sh
check 'no program' why 1 '^denied' db.example.org:5432
check 'an ancestor' why 0 '^allowed' db.example.org:5432 --exe /bin/sh --exe /usr/bin/env
check 'a pattern of programs' why 0 '^allowed' db.example.org:5432 --exe /opt/x/bin/psql
check 'a question without a port is trouble' why 2 'expected HOST:PORT' github.com
check 'an odd address is trouble' why 2 'another form' 127.1:80
check 'options come last' why 1 '^denied .*cli:--deny-connect:1' github.com:443 --deny-connect github.com
check 'an option opens' why 0 '^allowed .*cli:--connect:1' new.example.net:1 --connect '*.example.net'
check 'JSON' asks 0 '"endpoint":"github.com:443","allowed":true,"matched_rule":"github.com:443"' \
	why -p p.yaml --json connect github.com:443
check 'all that match' asks 1 '> deny +profile +evil.example.org' why -p p.yaml --all connect evil.example.org:443
check 'show' asks 0 'allow +profile +\*\*.example.org:443' show -p p.yaml
check 'show --effective' asks 0 'deny +bad.example.org +\(global' show -p p.yaml --effective
check 'a socket is a path' why 0 '^allowed .*own.sock' ./own.sock
check 'a socket is denied' why 1 '^denied .*closed.sock' ./closed.sock --unix host
check 'and the others are open' why 0 '^allowed' /run/other.sock --unix host

# ---- what is refused ----

refused() # PATTERN ENTRY
{
	write bad.yaml '' "$2"
	asks 2 "$1" check bad.yaml
}
check 'every host' refused 'bad.yaml:11:11: connect: `\*`: every host' '"*"'
check 'a top-level domain' refused 'top-level domain' '"*.com"'
check 'userinfo' refused 'not a host name' 'u@example.org'
check 'by of a socket' refused 'open to every program' '{to: /run/x, by: /bin/sh}'
check 'an unknown field' refused 'unknown field `from`' '{to: a.b, from: x}'
check 'no program at all' refused 'by: the list is empty' '{to: a.b, by: []}'
write host.yaml 'network: host' github.com:443
check 'network host beside endpoints' asks 2 'host.yaml:11:11: .*network: host' why -p host.yaml connect a.b:1
check '--network host beside endpoints' asks 2 -- '--network host' why -p p.yaml --network host connect a.b:1
check '--connect beside --network host' asks 2 -- '--connect a.b' why --network host --connect a.b connect a.b:1
check 'strict refuses what nothing enforces' sh -c '! "$1" --backend bwrap -p p.yaml true 2>"$2" && grep -q "connect .github.com:443.: rules on endpoints" "$2"' \
	sh "$SBX" "$TMP/err"
check 'a document of Orbit loses them' asks 1 'connect' convert --to orbit p.yaml

write trust.yaml 'trustedAddresses: [198.18.0.0/15]' github.com:443
check 'trusted addresses' "$POLICY" check trust.yaml
write trust.yaml 'trustedAddresses: [here]' github.com:443
check 'trusted addresses are ranges' asks 2 'expected a range' check trust.yaml

# ---- tests in a document ----

cat >>p.yaml <<'X'
tests:
  - {op: connect, path: "github.com:443", allowed: true, matched_rule: "github.com:443"}
  - {op: connect, path: "db.example.org:5432", allowed: false}
  - {op: connect, path: "db.example.org:5432", exe: /usr/bin/env, allowed: true}
X
check 'tests' asks 0 '^1..3$' test p.yaml

# ---- what rules do, and how two policies differ ----

write lint.yaml '' a.example.org:443 '"**.example.org"' b.example.org:443 10.1.0.0/16:80 10.0.0.0/8:80 \
	'{to: "db.example.com:5432", by: [/usr/bin/git]}'
check 'lint: a rule that never decides' asks 1 'lint.yaml:11:11: .a.example.org:443. never decides' lint lint.yaml
check 'lint: a range in a later one' asks 1 'lint.yaml:14:11: .*never decides' lint lint.yaml
lacks() { ! asks 1 "$@"; }
check 'lint: a whole name opens private addresses' lacks 'lint.yaml:13:11' lint lint.yaml
check 'lint: a program has its rule' lacks 'lint.yaml:16' lint lint.yaml
write other.yaml '' a.example.org:443 '"**.example.org"' 10.1.0.0/16:80 10.0.0.0/8:81 \
	'{to: "db.example.com:5432", by: [/usr/bin/env]}'
check 'diff: equal to itself' asks 0 'equal' diff lint.yaml lint.yaml
check 'diff: a port' asks 1 '^- connect +10[.0-9]+:80 .*before by 10.0.0.0/8:80' diff lint.yaml other.yaml
check 'diff: a private address' asks 1 '^- connect +b.example.org:443 at a private address' diff lint.yaml other.yaml
check 'diff: a program' asks 1 '^\+ connect +db.example.com:5432 by /usr/bin/env' diff lint.yaml other.yaml
write suffix.yaml '' '"*.github.io:443"' '"*.example.org:443"'
if cat /usr/lib/libpsl.so.5 /usr/lib/*/libpsl.so.5 2>/dev/null | grep -q psl_builtin; then
	check 'lint: a public suffix' asks 1 'suffix.yaml:11:11: .*below github.io .public-suffix.' lint suffix.yaml
	check 'lint: and no other name' lacks 'suffix.yaml:12' lint suffix.yaml
fi

# ---- rules on requests ----

write h.yaml 'scratch: true' '{to: a.example.net:80, http: [read-only, "!* /x/**"]}'
write i.yaml 'scratch: true' '{to: a.example.net:80, http: [read-only, "!* /y/**"]}'
write j.yaml 'scratch: true' 'a.example.net:80'
check 'diff: rules on requests' asks 1 'connect  GET /[xy]/sbx-any at a.example.net:80' diff ./h.yaml ./i.yaml
check 'diff: none any more' asks 1 '^\+ connect .* at a.example.net:80' diff ./h.yaml ./j.yaml
check 'diff: some that there were not' asks 1 '^- connect .* at a.example.net:80' diff ./j.yaml ./h.yaml
check 'diff: the same' asks 0 '^equal' diff ./h.yaml ./h.yaml
check 'show has them' asks 0 'a.example.net:80 http GET \*\*, HEAD \*\*, OPTIONS \*\*, !\* /x/\*\*' show ./h.yaml --profile dev --effective
check 'convert writes them' asks 1 'http: \["GET \*\*", "HEAD \*\*", "OPTIONS \*\*", "!\* /x/\*\*"\]' convert --to orbit ./h.yaml
