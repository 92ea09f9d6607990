#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-policy show --plan sbpl: profiles of whole policies, in both styles.
. "$(dirname "$0")/../support/e2e.sh"

policy=$(dirname "$SBX")/sbx-policy
cat >"$TMP/agent.yaml" <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: agent}
spec:
  denyRead: ["**/*.env"]
  denyModify: [".orbit/**", "!.orbit/resources/**", "**/*.env"]
  fsProfiles: {implementer: {read: ["./**"], modify: ["./**", "!docs/?/final.md"]}}
P

shows() # NAME LINE-REGEX ARGS...
{
	name=$1 re=$2
	shift 2
	if "$policy" show --plan sbpl "$@" >"$TMP/out" 2>"$TMP/err" && grep -qE "$re" "$TMP/out"; then
		ok "$name"
	else
		head -c 2000 "$TMP/err" | not_ok "$name"
	fi
}

shows 'the default policy' '^\(deny default\)$'
shows 'secrets are closed, by origin' '^\(deny file-read\* process-exec\* \(subpath .*preset:secrets'
shows 'a glob deny' '^\(deny file-read\* process-exec\* \(regex .*\[Ee\]\[Nn\]\[Vv\]\$.*agent.yaml:5' "$TMP/agent.yaml"
shows 'a question mark is a character' '^\(define sbx-char ' "$TMP/agent.yaml"
shows 'pins on moves' '^\(deny file-write-unlink$' "$TMP/agent.yaml"
shows 'what is denied beyond the rules is said' '^; .*a directory moved there' "$TMP/agent.yaml"
shows 'no network unless asked' '^\(deny file-link\)' "$TMP/agent.yaml"
check 'and none is' sh -c "! grep -q 'allow network.* ip ' '$TMP/out'"
shows 'all of it' '^\(allow network-outbound \(remote ip "\*:\*"\)\)$' --network host "$TMP/agent.yaml"
shows 'Orbit'"'"'s style' '^\(allow file-read\*\)$' --sbpl-style orbit "$TMP/agent.yaml"
CODEX_HOME=/Users/c shows 'a provider'"'"'s directory' '^\(allow file-write\* \(subpath "/Users/c"\)\)$' \
	--sbpl-style orbit "$TMP/agent.yaml"
cd "$WS" || exit 1
"$policy" why --on macos --policy "$TMP/agent.yaml" read x.env y.txt >"$TMP/out" 2>&1
check 'one path is denied on macOS' [ $? -eq 1 ]
check 'by a line of the profile' grep -q '^denied read ./x.env' "$TMP/out"
check 'with its text and origin' \
	grep -qE '^  on macos  line [0-9]+: \(deny file-read\*.*agent.yaml:5' "$TMP/out"
check 'another is allowed' grep -q '^allowed read ./y.txt' "$TMP/out"
"$policy" why --on macos read /dev/ttys001 /dev/dtracehelper /dev/autofs_nowait >"$TMP/out" 2>&1
check 'terminals and what dyld opens are open' [ $? -eq 0 ]
"$policy" why --on macos --deny-read /dev/ttys001 read /dev/ttys001 >"$TMP/out" 2>&1
check 'unless denied by name' [ $? -eq 1 ]
"$policy" why --on macos --reads listed read /usr/local/x /opt/homebrew/x >"$TMP/out" 2>&1
check 'what a person installed is open when listed' [ "$(grep -c ^denied "$TMP/out")" = 2 ]
"$policy" why --on macos --reads listed exec /usr/bin/true >"$TMP/out" 2>&1
check 'the system is open to programs all the same' [ $? -eq 0 ]
"$policy" why --on macos connect /run/x ./x >"$TMP/out" 2>&1
check 'no Unix socket of the host is open' [ "$(grep -c ^denied "$TMP/out")" = 2 ]
shows 'sockets are made where files are' '^\(allow file-write\* file-link network-bind \(subpath '
shows 'and of those the own ones connected to' '^\(allow network-outbound \(subpath \(param "P[0-9]*"\)\)\)$'
"$policy" why --on macos --unix host connect /run/x >"$TMP/out" 2>&1
check 'unless all are' [ $? -eq 0 ]
"$policy" why --unix host connect /run/x >"$TMP/out" 2>&1
check 'on Linux, too' grep -q '^allowed  *connect  */run/x  *by rule unixSockets: host' "$TMP/out"
"$policy" why --on macos --unix /run/x connect /run/x >"$TMP/out" 2>&1
check 'or one is' [ $? -eq 0 ]
shows 'with the network, names are resolved' 'mach-lookup \(global-name "com.apple.dnssd.service"\)' --network host
shows 'and not without' '^\(deny file-link\)'
check 'nothing of it is there' sh -c "! grep -q dnssd '$TMP/out'"
cat >mac.yaml <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: mac}
spec:
  fsProfiles: {default: {read: ["**"], modify: ["**"]}}
  sandbox: {macos: [keychain, "mach:com.example.\"x"]}
P
chmod 600 mac.yaml
shows 'a document opens a group' '^\(allow mach-lookup \(global-name "com.apple.secd"\)\) ; keychain' --policy ./mac.yaml
check 'and a service' grep -qF '(allow mach-lookup (global-name "com.example.\"x")) ; macos' "$TMP/out"
sed -i 's/keychain/keychains/' mac.yaml
"$policy" check ./mac.yaml >"$TMP/out" 2>&1
check 'a name that is none is refused' grep -q 'mac.yaml:6:.*no `keychains`, expected a group' "$TMP/out"
cat >cal.toml <<'P'
[sandbox]
enabled = true
[sandbox.network]
allow_mach_lookup = ["com.apple.foo"]
allow_local_binding = true
P
cat >proxy.toml <<'P'
[sandbox]
enabled = true
[sandbox.network]
http_proxy_port = 8080
P
chmod 600 cal.toml proxy.toml
shows "caliban's services" '^\(allow mach-lookup \(global-name "com.apple.foo"\)\)' --policy ./cal.toml
check 'and its local binding' grep -qF '(allow network-bind (local ip "localhost:*"))' "$TMP/out"
shows "caliban's proxy" '^\(allow network-outbound \(remote ip "localhost:8080"\)\)$' --policy ./proxy.toml
rm mac.yaml cal.toml proxy.toml
"$policy" why --on macos modify .vscode .vscodes >"$TMP/out" 2>&1
check 'a directory that cannot be made is told' \
	[ "$(grep -c '^  but  *may not be made: line [0-9]*: (deny file-write-create' "$TMP/out")" = 1 ]
"$policy" why --json --on macos modify .vscode >"$TMP/out" 2>&1
check 'in JSON, too' grep -q '"but":\["may not be made","may not be moved or removed"\]' "$TMP/out"
shows 'and at the end of the profile' '^; directories that cannot be made, .*/\.vscode(,|$)'
shows 'which is said' '^; open for read though no rule says so.*: /, /System, /usr/lib,' --reads listed
check 'of it alone' sh -c "! grep -q '^; open for .*/usr/local' '$TMP/out'"
cat >.sbx-launch.yaml <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: project}
spec:
  denyModify: ["keys/**", "!keys/open/**"]
  fsProfiles: {default: {read: ["**", "!a.key"], modify: ["src/**", "k*/**"]}}
P
shows 'a document beside it only takes away' '^\(deny file-write\* file-link network-bind \(require-all \(subpath .*\(require-not .*project:'
"$policy" why --on macos read a.key >"$TMP/out"
"$policy" why --on macos modify keys/open/x >>"$TMP/out"
check 'one path is denied by the project' grep -q '^denied read ./a.key' "$TMP/out"
check 'what it opens again is not' grep -q '^allowed modify ./keys/open/x' "$TMP/out"
"$policy" why --on macos modify src/x y >"$TMP/out"
check 'changes stay where both allow them' sh -c 'grep -q "^allowed modify ./src/x" "$1" && grep -q "^denied modify ./y" "$1"' - "$TMP/out"
"$policy" show --plan sbpl --sbpl-style orbit >"$TMP/out" 2>&1
check "Orbit's style holds one document" grep -q 'holds the rules of one document.*--sbpl-style hardened' "$TMP/out"
rm .sbx-launch.yaml
"$policy" show --plan sbpl --sbpl-style other >"$TMP/out" 2>&1
check 'an unknown style is a usage error' [ $? -eq 2 ]

# Orbit's style is Orbit's own text, without what any run here adds: byte for byte.
cd "$WS" || exit 1
cat >"$TMP/orbits.yaml" <<'P'
schemaVersion: 2
kind: Policy
metadata: {name: orbits}
spec:
  denyRead: ["**/*.env"]
  denyModify: [".orbit/**", "**/*.env"]
  fsProfiles: {p: {read: ["."], modify: ["."]}}
P
chmod 600 "$TMP/orbits.yaml"
(unset CODEX_HOME CLAUDE_CONFIG_DIR GROK_HOME; HOME=/Users/test "$policy" show --plan sbpl --sbpl-style orbit --policy "$TMP/orbits.yaml") >"$TMP/text" 2>"$TMP/err"
# its rows write /w for the workspace, and letters as they were before Orbit folded them
grep -v '^#' "$(dirname "$0")/sbpl_profile_seed_example.tsv" | cut -f2- | sed 's,\\\\,\\,g' | sed "s,\"/w,\"$WS," |
	grep -v 'regex "^/w' >"$TMP/want"
grep -v '\[Ee\]' "$TMP/text" >"$TMP/got"
check 'Orbit'"'"'s text, byte for byte' cmp "$TMP/got" "$TMP/want"
check 'no set, scratch directory or origin of ours is in it' [ "$(grep -c 'preset\|;\|\.ssh\|sbx-' "$TMP/got")" -eq "$(grep -c 'sbx-' "$TMP/want")" ]
