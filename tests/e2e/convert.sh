#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-policy convert: what is written means the same, proved by diff; what cannot be said is named.
. "$(dirname "$0")/../support/e2e.sh"
ask=${SBX%launch}policy

file() # NAME: the text is on stdin
{
	cat >"$TMP/$1" && chmod 600 "$TMP/$1"
}
same_as() # FROM TO: all is said, and diff finds no difference
{
	"$ask" convert --to "$2" "$TMP/$1" >"$TMP/new.$2" 2>"$TMP/err" && chmod 600 "$TMP/new.$2" &&
		[ ! -s "$TMP/err" ] && "$ask" diff "$TMP/$1" "$TMP/new.$2" >"$TMP/err" ||
		{ cat "$TMP/err" "$TMP/new.$2"; return 1; }
}
names() # FROM TO TEXT...: status 1, and each text stands in a line with the place of its rule
{
	from=$1 to=$2
	shift 2
	"$ask" convert --to "$to" "$TMP/$from" >"$TMP/new.$to" 2>"$TMP/err"
	[ $? -eq 1 ] || { cat "$TMP/err"; return 1; }
	for text; do
		grep -qE "^sbx-policy: [a-zA-Z]+ cannot express: $TMP/$from:[0-9]+:[0-9]+: .*$text" "$TMP/err" ||
			{ echo "no $text"; cat "$TMP/err"; return 1; }
	done
}
round() # FROM TO BACK: there and back again
{
	same_as "$1" "$2" || return
	cp -p "$TMP/new.$2" "$TMP/there" && "$ask" convert --to "$3" "$TMP/there" >"$TMP/back" &&
		chmod 600 "$TMP/back" && "$ask" diff "$TMP/$1" "$TMP/back"
}
only_whom() # FROM TO: one line, of the user that OpenShell's command is when root starts it
{
	"$ask" convert --to "$2" "$1" >"$3" 2>"$TMP/err"
	[ $? -eq 1 ] && chmod 600 "$3" && [ "$(wc -l <"$TMP/err")" -eq 1 ] && grep -q sandbox "$TMP/err" ||
		{ cat "$TMP/err" "$3"; return 1; }
}
around() # FROM TO: from OpenShell's language and back, which names only that
{
	only_whom "$TMP/$1" "$2" "$TMP/there" && only_whom "$TMP/there" openshell "$TMP/back" &&
		"$ask" diff "$TMP/$1" "$TMP/back"
}

file open.yaml <<X
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [/usr, /bin, /lib, /lib64, /opt, /etc, /proc, "/srv/a*b"]
  read_write: [/var/tmp, /dev/null]
landlock: {compatibility: best_effort}
X
sed 's/, "[^]]*"//' "$TMP/open.yaml" | file plain.yaml
check 'openshell to itself' same_as open.yaml openshell
check 'openshell, caliban and back' around open.yaml caliban
check 'openshell, orbit and back' around plain.yaml orbit
check 'a name with a star is no name in orbit' names open.yaml orbit '`/srv/a\*b`: a name with a wildcard'
check 'what is listed only is not in srt' names plain.yaml srt '`reads: listed`' 'strict: false' \
	'always denies'
{ cat "$TMP/plain.yaml"; cat <<X; } | file full.yaml
process: {run_as_user: "1234"}
network_policies: {api: {endpoints: [{host: a.example.com, port: 443}]}}
X
check 'whom it runs as and the network are named' names full.yaml orbit 'network policy `api`' '`1234`: '

file s.json <<X
{"network": {"allowedDomains": [], "deniedDomains": [], "allowAllUnixSockets": true},
 "filesystem": {"denyRead": ["~/.ssh", "./.env"], "allowRead": ["~/.ssh/known_hosts"], "allowWrite": [".", "~/out"],
  "denyWrite": ["**/*.lock", "f[0-2].txt", "a b\\\\\"c"], "allowGitConfig": true}, "mandatoryDenySearchDepth": 2}
X
file case.yaml <<X
schemaVersion: 2
kind: Policy
metadata: {name: o}
spec:
  fsProfiles: {p: {read: ["**"], modify: ["**"]}}
  sandbox: {denyModifyAnyCase: ["\${WORKSPACE}/keep", "\${WORKSPACE}/**/*.Lock"]}
X
check 'names in either case to itself' same_as case.yaml orbit
check 'names in either case are named' names case.yaml srt '/keep`: it distinguishes names by case'
check 'srt to itself' same_as s.json srt
check 'srt, orbit and back' round s.json orbit srt
check 'what openshell cannot deny is named' names s.json openshell '`~/.ssh`: there are no denies' \
	'f2.txt/\*\*`: there are no denies' 'unixSockets: host' '`~/out`: its paths must be absolute'
check 'what caliban cannot say is named' names s.json caliban '\*\*/\*.lock/\*\*`: it has no wildcards' \
	'known_hosts`: what is denied cannot be opened again'

file c.toml <<X
[sandbox]
enabled = true
fail_if_unavailable = true
[sandbox.filesystem]
allow_read = ["/srv"]
allow_write = ["\${WORKSPACE}", "~/out"]
deny_read = ["\${HOME}/.ssh"]
deny_write = ["\${WORKSPACE}/ro"]
[sandbox.network]
allow_all_outbound = true
X
check 'caliban to itself' same_as c.toml caliban
check 'caliban, orbit and back' round c.toml orbit caliban
check 'the network of the host is named' names c.toml openshell 'network: host' 'ro`: there are no denies'

file o.yaml <<X
schemaVersion: 2
kind: Policy
metadata: {name: o}
spec:
  denyRead: ["**/*.pem"]
  denyModify: [".orbit/**", "!.orbit/auto/**"]
  fsProfiles: {work: {read: ["./**"], modify: ["src/**", "docs", "!src/gen/**"]}, look: {read: ["./**"]}}
X
check 'a profile must be named' eval '! "$ask" convert --to srt "$TMP/o.yaml" 2>/dev/null'
"$ask" convert --to orbit --profile work "$TMP/o.yaml" | file work.yaml
check 'orbit to itself' eval '"$ask" diff --profile work "$TMP/o.yaml" "$TMP/work.yaml"'
check 'exceptions and single paths are named' names work.yaml caliban '`docs`: it cannot name a path without its contents' \
	'auto/\*\*`: an exception' '\*\*/\*.pem`: it has no wildcards'
cat <<X | file simple.yaml
schemaVersion: 2
kind: Policy
metadata: {name: simple}
spec:
  fsProfiles: {p: {read: ["./**"], modify: ["./**", "!ro/**"]}}
X
check 'orbit to caliban' same_as simple.yaml caliban

# ---- what only srt and caliban have words for ----
cat <<'X' | file nest.json
{"network": {"allowedDomains": [], "deniedDomains": []},
 "filesystem": {"denyRead": [], "allowWrite": ["."], "denyWrite": []},
 "enableWeakerNestedSandbox": true, "bwrapPath": "/usr/bin/bwrap",
 "credentials": {"files": [{"path": "~/.netrc", "mode": "deny"}], "envVars": [{"name": "A_TOKEN", "mode": "deny"}]}}
X
check 'srt to itself keeps credentials and bwrap' eval 'same_as nest.json srt &&
	[ "$(grep -cE "\"(enableWeakerNestedSandbox\": true|bwrapPath\": \"/usr/bin/bwrap\"|name\": \"A_TOKEN\", \"mode\": \"deny\")" "$TMP/new.srt")" -eq 3 ] &&
	grep -q "\.netrc" "$TMP/new.srt"'
check 'variables and the nesting are named' names nest.json orbit '`A_TOKEN`' 'enableWeakerNestedSandbox' '`/usr/bin/bwrap`'
check 'caliban has the nesting' eval 'names nest.json caliban "\`A_TOKEN\`" &&
	grep -qx "enable_weaker_nested_sandbox = true" "$TMP/new.caliban" && grep -qx "bwrap_path = \"/usr/bin/bwrap\"" "$TMP/new.caliban"'
cat <<'X' | file must.toml
[sandbox]
enabled = true
bwrap_path = "/usr/bin/bwrap"
[sandbox.filesystem]
allow_read = ["/"]
allow_write = ["${WORKSPACE}"]
X
check 'srt does not demand its bwrap' names must.toml srt '`/usr/bin/bwrap`: it cannot require'

# ---- what neither a rule nor a setting says: diff sees it, convert keeps it or names it ----
tells() # OLD NEW LINE...: they are not equal, and each line says why
{
	old=$1 new=$2
	shift 2
	"$ask" diff "$TMP/$old" "$TMP/$new" >"$TMP/out" 2>"$TMP/err"
	[ $? -eq 1 ] && "$ask" diff --json "$TMP/$old" "$TMP/$new" | grep -q '^{"equal":false' || { cat "$TMP/out" "$TMP/err"; return 1; }
	for line; do
		grep -qxF -- "$line" "$TMP/out" || { echo "no $line"; cat "$TMP/out"; return 1; }
	done
}
keeps() # FILE DIALECT: in its own language nothing is lost and nothing is named
{
	"$ask" convert --to "$2" "$TMP/$1" >"$TMP/kept" 2>"$TMP/err" && [ ! -s "$TMP/err" ] && chmod 600 "$TMP/kept" &&
		"$ask" convert --to "$2" --dialect "$2" "$TMP/kept" | cmp - "$TMP/kept" || { cat "$TMP/err" "$TMP/kept"; return 1; }
	shift 2
	for text; do
		grep -qF -- "$text" "$TMP/kept" || { echo "no $text"; cat "$TMP/kept"; return 1; }
	done
}
{ cat "$TMP/open.yaml"; echo 'process: {run_as_user: "1234"}'; } | file user.yaml
sed 's/1234/54321/' "$TMP/user.yaml" | file other.yaml
check 'diff: whom it runs as' tells open.yaml user.yaml '~ process: user 1234, before user sandbox'
check 'diff: as another one' tells user.yaml other.yaml '~ process: user 54321, before user 1234'
sed 's/a.example.com/b.example.com/' "$TMP/full.yaml" | file full2.yaml
check 'diff: rules on the network of openshell' eval 'tells full.yaml full2.yaml &&
	grep -q "^~ network rules: network_policies .*b.example.com.*, before .*a.example.com" "$TMP/out"'
sed 's/"allowedDomains": \[\]/"allowedDomains": ["a.example.com"]/' "$TMP/nest.json" | file net.json
sed 's/"deniedDomains": \[\]/"deniedDomains": ["b.example.com"]/' "$TMP/nest.json" | file less.json
check 'diff: of srt' tells nest.json net.json '~ network rules: allowedDomains ["a.example.com"], before none'
check 'diff: what srt denies' tells nest.json less.json '~ network rules: deniedDomains ["b.example.com"], before none'
"$ask" convert --to orbit "$TMP/nest.json" 2>/dev/null | file nest.yaml
check 'diff: variables' tells nest.json nest.yaml '~ variables taken: none, before A_TOKEN' \
	'~ bwrap: none, before /usr/bin/bwrap, inside another sandbox'
sed 's/, "bwrapPath.*bwrap",/,/' "$TMP/nest.json" | file plain.json
sed 's|/usr/bin/bwrap|/usr/local/bin/bwrap|' "$TMP/must.toml" | file must2.toml
check 'diff: bwrap' tells must.toml must2.toml '~ bwrap: /usr/local/bin/bwrap, to be trusted, before /usr/bin/bwrap, to be trusted'
sed 's/best_effort/hard_requirement/' "$TMP/plain.yaml" | file hard.yaml
check 'diff: what must be there' eval 'tells plain.yaml hard.yaml && grep -q "^~ must be there: /usr, /bin" "$TMP/out"'
check 'srt keeps its network' keeps net.json srt '"allowedDomains": ["a.example.com"]'
check 'and what it denies' keeps less.json srt '"deniedDomains": ["b.example.com"]'
check 'openshell keeps its network' keeps full.yaml openshell 'network_policies:' 'a.example.com' 'run_as_user": "1234"'
for to in orbit openshell caliban; do
	check "denied domains are named to $to" names less.json $to 'deniedDomains: rules on the network'
done
file all.toml <<'X'
[other]
x = 1
[sandbox]
enabled = false
bwrap_path = "/usr/bin/bwrap"
auto_allow_bash_if_sandboxed = true
[sandbox.filesystem]
allow_read = ["/srv", "/a \"b\""]
[sandbox.network]
allowed_domains = ["a.example.com"]
denied_domains = ["b.example.com"]
http_proxy_port = 3128
allow_local_binding = true
allow_mach_lookup = ["com.example.a"]
[sandbox.env]
scrub_secrets = true
passthrough = ["A"]
X
check 'caliban keeps all' keeps all.toml caliban 'enabled = false' 'allow_local_binding = true' 'http_proxy_port = 3128' \
	'allow_mach_lookup = ["com.example.a"]' 'denied_domains = ["b.example.com"]' 'allow_read = ["/srv", "/a \"b\""]' \
	'passthrough = ["A"]' 'auto_allow_bash_if_sandboxed = true'
check 'its domains are named to others' names all.toml srt 'denied_domains: rules' 'allowed_domains: rules' 'http_proxy_port'
printf '[sandbox]\nenabled = true\n[sandbox.filesystem]\nallow_write = ["/"]\n' | file wide.toml
check 'what a wide rule does not open is named' names wide.toml orbit '`/`: the parts of /proc'
