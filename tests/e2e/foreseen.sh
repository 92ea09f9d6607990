#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What will matter in a run is said before: by lint, by check, by --doctor.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"
POLICY=${SBX%launch}policy
AUDIT=${SBX%launch}audit

finds() # PATTERN ARGS...: lint says it, and ends with 1
{
	local pattern=$1
	shift
	"$POLICY" lint "$@" >"$TMP/out" 2>"$TMP/err"
	status=$?
	[ $status -eq 1 ] && grep -qE -- "$pattern" "$TMP/out" || { echo "status $status"; cat "$TMP/out" "$TMP/err"; return 1; }
}
lacks() # PATTERN ARGS...
{
	local pattern=$1
	shift
	"$POLICY" lint "$@" >"$TMP/out" 2>"$TMP/err"
	[ $? -lt 2 ] && ! grep -qE -- "$pattern" "$TMP/out" || { cat "$TMP/out" "$TMP/err"; return 1; }
}
document() # FILE SPEC
{
	printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n%b\n' "$2" >"$1"
	chmod 600 "$1"
}
all='  fsProfiles: {p: {read: ["**"], modify: ["**"]}}'

# ---- hard links ----
document p.yaml "  denyRead: [secret, 'keys/**', '**/*.env']\n  denyModify: [fixed]\n$all"
mkdir -p keys/deep d && echo s >secret && echo k >keys/deep/k && echo e >d/x.env && echo f >fixed && echo o >open
check 'no hard links, no finding' lacks hard-link p.yaml
ln secret other1
check 'a literal that has another name' finds '\./secret, which rule `secret` denies to read, has 1 more name .*\[hard-link\]' p.yaml
"$SBX" -q -p "$PWD/p.yaml" -- sh -c 'cat secret; cat other1' >"$TMP/out" 2>/dev/null
check 'and the other name is open indeed' [ "$(cat "$TMP/out")" = s ]
rm other1
ln keys/deep/k other2
check 'a file below a directory' finds '\./keys/deep/k, .*\[hard-link\]' p.yaml
rm other2
ln d/x.env other3 && ln d/x.env other4
check 'one that a pattern denies' finds '\./d/x\.env, .*has 2 more names .*\[hard-link\]' p.yaml
rm other3 other4
ln fixed other5
check 'one that may not be changed' finds '\./fixed, which rule `fixed` denies to modify.*\[hard-link\]' p.yaml
ln open other6
check 'not what is open' lacks '\./open,' p.yaml
check 'as JSON' sh -c '"$1" lint --json p.yaml | grep -q "\"code\":\"hard-link\""' - "$POLICY"
mkdir -p "$HOME/.ssh" && echo k >"$HOME/.ssh/id_rsa" && ln "$HOME/.ssh/id_rsa" "$HOME/copy"
check 'doctor: of the default policy' sh -c '"$1" --doctor | grep -q "/.ssh/id_rsa, which .* denies, has 1 more name (hard links)"' - "$SBX"
check 'doctor: as JSON' sh -c '"$1" --doctor --json | grep -q "\"linked\":\[{\"path\":\"[^\"]*/.ssh/id_rsa\""' - "$SBX"
rm "$HOME/copy"
check 'doctor: nothing where there is none' sh -c '"$1" --doctor --json | grep -q "\"linked\":\[\]"' - "$SBX"
rm -f other5 other6

# ---- look-alike names ----
nfc=$(printf 'caf\303\251') nfd=$(printf 'cafe\314\201')
document look.yaml "  denyRead: ['$nfc']\n  denyModify: ['$nfc']\n$all"
echo 1 >"$nfc" && echo 2 >"$nfd"
if [ "$(ls | grep -c ^caf)" -eq 2 ]; then
	check 'a name in another form of Unicode' finds '\[look-alike\]' look.yaml
fi
rm -f caf*
check 'and none where there is none' lacks look-alike look.yaml

# ---- what can never decide ----
srt() # FILE DENYREAD ALLOWREAD ALLOWWRITE DENYWRITE
{
	printf '{"network":{"allowedDomains":[],"deniedDomains":[]},"filesystem":{"denyRead":[%s],"allowRead":[%s],"allowWrite":[%s],"denyWrite":[%s]}}\n' \
		"$2" "$3" "$4" "$5" >"$1"
	chmod 600 "$1"
}
mkdir -p "$HOME/.tool/projects" src/gen
srt dead.json '' '' '".", "~/.tool/projects"' '"~/.tool"'
check 'srt: a grant inside what is denied' finds '^dead.json:1:[0-9]+: rule .*\.tool/projects.* opens nothing to modify: .*\[opens-nothing\]' dead.json
check 'and the run keeps it closed' eval '! "$SBX" -q -p "$PWD/dead.json" -- touch "$HOME/.tool/projects/x" 2>/dev/null'
srt live.json '' '' '".", "~/.tool/projects"' '"~/.tool/other"'
check 'srt: one that works is none' lacks opens-nothing live.json
srt deeper.json '"src"' '"src/gen"' '"."' ''
check 'srt: a deeper entry that counts is none' lacks opens-nothing deeper.json
printf '[sandbox]\nenabled = true\n[sandbox.filesystem]\nallow_write = ["${WORKSPACE}", "${WORKSPACE}/src/gen"]\ndeny_write = ["${WORKSPACE}/src"]\n' >dead.toml
chmod 600 dead.toml
check 'caliban: likewise' finds '^dead.toml:4:[0-9]+: .*\[opens-nothing\]' dead.toml
document roots.yaml "$all\n  sandbox: {openModify: [\"~/.tool\", \"~/.tool/projects\"], denyModify: [\"~/.tool\"]}"
check 'our own: likewise' finds '^roots.yaml:.*\.tool.*\[opens-nothing\]' roots.yaml
document fine.yaml "$all"
check 'a plain document has none' lacks opens-nothing fine.yaml

# ---- temporary files ----
document none.yaml "$all\n  sandbox: {scratch: false}"
check 'no place for temporary files' finds '^none.yaml:[0-9]+:[0-9]+: no place for temporary files: .*\[no-temporary\]' none.yaml
check 'and none is there' eval '! env -u TMPDIR "$SBX" -q -p "$PWD/none.yaml" -- mktemp >/dev/null 2>&1'
document tmp.yaml "$all\n  sandbox: {scratch: false, openModify: [/var/tmp]}"
check 'where one is open it is not said' lacks no-temporary tmp.yaml
check 'nor where the run has its own' lacks no-temporary fine.yaml

# ---- what strict will refuse ----
status_of() # WANT PATTERN FILE
{
	"$POLICY" check "$3" >"$TMP/out" 2>&1
	status=$?
	[ $status -eq "$1" ] && { [ -z "$2" ] || grep -qE "$2" "$TMP/out"; } || { echo "status $status"; cat "$TMP/out"; return 1; }
}
shell() # COMPATIBILITY ENDPOINT: of OpenShell
{
	printf 'version: 1\nfilesystem_policy: {include_workdir: true, read_only: [/usr], read_write: []}\nlandlock: {compatibility: %s}\n' "$1"
	printf 'network_policies: {api: {name: api, endpoints: [{host: a.example.org, port: 443%s}], binaries: [{path: /usr/bin/curl}]}}\n' "$2"
}
shell hard_requirement ', protocol: sql, access: read-only' >l7.yaml
shell hard_requirement '' >l4.yaml
chmod 600 l7.yaml l4.yaml
check 'OpenShell: requests that nothing looks into' status_of 1 'loss: l7.yaml:4:[0-9]+: network policy `api`: .*a strict run refuses it' l7.yaml
check 'and the run is refused so' eval '! "$SBX" -p "$PWD/l7.yaml" -- true 2>"$TMP/err" && grep -q E_FLOOR "$TMP/err"'
check 'OpenShell: rules that hold are no loss' status_of 0 '' l4.yaml
# Settings of our own language that no strict run has: check and the run say the same, under each kind of strictness.
settings() # WANTED STATUS, SETTINGS
{
	local run
	printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: p}\nspec:\n  sandbox: {%s}\n  fsProfiles: {p: {read: ["**"], modify: ["**"]}}\n' "$2" >net.yaml
	"$SBX" -qq -p "$PWD/net.yaml" -- true 2>"$TMP/err"
	run=$?
	[ "$run" = "${1/1/125}" ] && status_of "$1" "${3:-}" net.yaml || { echo "run $run"; cat "$TMP/err"; return 1; }
}
check 'a network that this version has not' settings 1 'network: loopback' 'loss: network loopback: .*a strict run refuses it'
check 'a document that does without' settings 0 'network: loopback, strict: false' 'loss: network loopback: '
check 'in the other words' settings 0 'network: loopback, allowFallback: true' 'loss: network loopback: '
check 'limits that nobody would count' settings 1 'network: host, networkLimits: {connections: 3}' 'loss: limits of the network: .*a strict run refuses it'
check 'a proxy that nobody would ask' settings 1 'network: host, upstreamProxy: "http://127.0.0.1:9"' 'loss: the proxy upstream: '
check 'limits without a network are none' settings 0 'networkLimits: {connections: 3}'
check 'an open network' settings 0 'network: host'
printf '{"network":{"allowedDomains":["a.org"],"deniedDomains":[],"httpProxyPort":3128},"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]}}\n' >proxy.json
chmod 600 proxy.json
"$SBX" -p "$PWD/proxy.json" --dry-run -- true >"$TMP/dry" 2>&1
check 'srt: a proxy: as the run says' status_of "$([ "$(grep -c 'would be refused' "$TMP/dry")" -gt 0 ] && echo 1 || echo 0)" '' proxy.json
"$SBX" -p "$PWD/l4.yaml" --network host --dry-run -- true >"$TMP/dry" 2>&1
check 'a remedy names a value that --network has' grep -q 'with --network host: the whole network' "$TMP/dry"
