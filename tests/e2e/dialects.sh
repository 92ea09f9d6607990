#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Policies of other systems run as they are: OpenShell's YAML, srt's JSON, caliban's TOML.
. "$(dirname "$0")/../support/e2e.sh"

file() # NAME: the text is on stdin
{
	cat >"$TMP/$1" && chmod 600 "$TMP/$1"
}
refused() # TEXT ARGS...
{
	text=$1
	shift
	rm -f ran
	"$SBX" "$@" -- touch ran >"$TMP/err" 2>&1
	status=$?
	[ "$status" -eq 125 ] && [ ! -e ran ] && grep -qF -- "$text" "$TMP/err" ||
		{ cat "$TMP/err"; return 1; }
}
told() # TEXT ARGS...: the command runs, and the line is printed once
{
	text=$1
	shift
	"$SBX" "$@" >"$TMP/err" 2>&1 && [ "$(grep -cF -- "$text" "$TMP/err")" -eq 1 ] ||
		{ cat "$TMP/err"; return 1; }
}
ask=${SBX%launch}policy
check_lists() # LINES FILE: sbx-policy check names so many mistakes, each with its place
{
	"$ask" check "$TMP/$2" 2>"$TMP/err"
	[ $? -eq 2 ] && [ "$(grep -cE "^sbx-policy: E_POLICY: $TMP/$2:[0-9]+:[0-9]+: " "$TMP/err")" -eq "$1" ] ||
		{ cat "$TMP/err"; return 1; }
}
file skip.yaml <<X
version: 1
network_policies:
  a: {endpoints: [{host: a.example.com, port: 443, protocol: rest, tls: skip, access: read-only}], binaries: [{path: /usr/bin/curl}]}
X
# a /dev with a GPU in it, for the reader alone
gpu()
{
	unshare -m sh -c 'mount -t tmpfs none /dev && mknod /dev/null c 1 3 && : >/dev/nvidiactl && : >/dev/nvidia7 &&
		for p in /dev/nvidiactl /dev/nvidia7 /proc/x; do "$1" why -p "$2" modify $p >/dev/null || exit 1; done
		! "$1" why -p "$2" modify /dev/nvidia6 >/dev/null && ! "$1" why -p "$2" modify /proc/sys/x >/dev/null' - "$ask" "$TMP/skip.yaml" &&
		! "$ask" why -p "$TMP/skip.yaml" modify /proc/x
}
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	check 'openshell: the baseline of a host with a GPU' gpu
fi
common || exit 0
try='{ echo x >$1; } 2>/dev/null && echo ok || echo no'

# ---- OpenShell ----
mkdir -p "$HOME/data" "$HOME/out" && echo data >"$HOME/data/f"
# root would have to become a user that is not everywhere, or accept that it does not
hard=hard_requirement
[ "$(id -u)" -ne 0 ] || hard=best_effort
file open.yaml <<X
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [/usr, /bin, /lib, /lib64, /etc, /proc, "$HOME/data"]
  read_write: ["$HOME/out", /dev/null]
landlock: {compatibility: $hard}
X
sed 's/include_workdir: true/include_workdir: false/' "$TMP/open.yaml" | file closed.yaml
sed '/^landlock/d; s|, /dev/null|, /proc|' "$TMP/open.yaml" | file proc.yaml
check 'openshell: read_only is read' out data -p "$TMP/open.yaml" -- cat "$HOME/data/f"
check 'openshell: and not written' out no -p "$TMP/open.yaml" -- bash -c "$try" - "$HOME/data/f"
check 'openshell: read_write is' out ok -p "$TMP/open.yaml" -- bash -c "$try" - "$HOME/out/f"
check 'openshell: what is not listed is closed, whoever owns it' out no -p "$TMP/open.yaml" -- \
	bash -c "ls ~ /opt /root 2>/dev/null || echo no"
check 'openshell: the working directory is open' out ok -p "$TMP/open.yaml" -- bash -c "$try" - f
check 'openshell: unless it is not' out no -p "$TMP/closed.yaml" -- bash -c "$try" - f
sed "s|\[/usr,|[/usr, /nowhere,|; s/: $hard/: hard_requirement/" "$TMP/open.yaml" | file hard.yaml
check 'openshell: hard_requirement refuses a path that is not there' refused \
	'Landlock path unavailable in hard_requirement mode: /nowhere (path does not exist)' \
	-p "$TMP/hard.yaml"
sed 's/hard_requirement/best_effort/' "$TMP/hard.yaml" | file soft.yaml
check 'openshell: best_effort tells of it and goes on' told \
	'/nowhere is left out (path does not exist)' -p "$TMP/soft.yaml" -- true
file bad.yaml <<X
version: 1
filesystem_policy: {read_only: [usr/lib, ../x], read_write: [/]}
process: {run_as_user: root}
X
check 'openshell: every mistake is named' check_lists 5 bad.yaml
check 'openshell: and nothing is run' refused '4 more' -p "$TMP/bad.yaml"
{ sed "s/: $hard/: hard_requirement/" "$TMP/open.yaml"; echo 'network_policies: {a: {endpoints: [{host: a.example.com, port: 443}]}}'; } | file net.yaml
check 'openshell: who may connect is told' told '`a` has no binaries: no program may connect by it' --best-effort \
	-p "$TMP/net.yaml" -- bash -c '[ "$(tail -n +3 /proc/net/dev | grep -vc " lo:")" -eq 0 ]'

check 'openshell: nor does the shim alone take them' eval \
	'[ "$("$SBX" --print-env -p "$TMP/net.yaml" 2>"$TMP/err")" = "return 125 2>/dev/null || exit 125" ] &&
	grep -q "E_FLOOR: cannot be enforced: .*network policy" "$TMP/err"'
check 'openshell: backend bwrap has no such rules' refused 'network policy `a`' --backend bwrap -p "$TMP/net.yaml"

# ---- srt ----
file s.json <<X
{ // as its authors write them
  "network": {"allowedDomains": [], "deniedDomains": []},
  "filesystem": {"denyRead": ["~/data", "./.env"], "allowWrite": [".", "~/out"],
    "denyWrite": ["*.lock", "gen[0-9].c"]} }
X
echo secret >.env
check 'srt: what is listed is written to' out 'ok ok' -p "$TMP/s.json" -- \
	bash -c "echo \$(bash -c '$try' - s) \$(bash -c '$try' - ~/out/s)"
check 'srt: nothing else is' out no -p "$TMP/s.json" -- bash -c "$try" - "$HOME/s"
check 'srt: denyRead closes' out 'no no' -p "$TMP/s.json" -- \
	bash -c 'for f in ~/data/f .env; do cat $f 2>/dev/null || echo no; done | xargs'
check 'srt: denyWrite has wildcards' out 'no no ok' -p "$TMP/s.json" -- \
	bash -c "for f in a.lock gen7.c genx.c; do bash -c '$try' - \$f; done | xargs"
check 'srt: names that are not there yet are protected' out 'no no no ok' -p "$TMP/s.json" -- \
	bash -c "mkdir -p sub .vscode 2>/dev/null; for f in .bashrc sub/.zshrc .mcp.json sub/x; do bash -c '$try' - \$f; done | xargs"
echo '{"network": {"allowedDomains": [],}}' | file comma.json
check 'srt: and in either case' out 'no no ok' -p "$TMP/s.json" -- \
	bash -c 'mkdir -p .CLAUDE; for f in .BashRC .CLAUDE/Commands .CLAUDE/ok; do (: >$f) 2>/dev/null && echo ok || echo no; done | xargs'
check 'srt: a comma too many is refused with its place' refused \
	'comma.json:1:34: a comma after the last value' -p "$TMP/comma.json"
sed 's/"allowedDomains": \[\]/"allowedDomains": ["a.example.com"]/' "$TMP/s.json" | file net.json
check 'srt: no domain but those named' told 'denied connect b.example.com' -p "$TMP/net.json" -- \
	bash -c '! getent ahosts b.example.com'
check 'srt: nor does the shim alone take them' eval \
	'! "$SBX" --print-env -p "$TMP/net.json" >/dev/null 2>"$TMP/err" &&
	grep -q "E_FLOOR: cannot be enforced: .*allowedDomains" "$TMP/err"'


# what a settings file of today may hold
sed 's/^ *"filesystem"/ "credentials": {"files": [{"path": "key", "mode": "deny"}], "envVars": [{"name": "A_TOKEN", "mode": "deny"}]},\n&/' \
	"$TMP/s.json" | file cred.json
echo secret >key
export A_TOKEN=1 A_TOKENS=2
check 'srt: credentials are closed' out 'no 2' -p "$TMP/cred.json" -- \
	bash -c 'echo $(cat key 2>/dev/null || echo no) $A_TOKEN $A_TOKENS'
check 'srt: unless they are given' out 3 -p "$TMP/cred.json" --setenv A_TOKEN=3 -- bash -c 'echo $A_TOKEN'
sed 's/"deny"}\], "env/"mask"}], "env/' "$TMP/cred.json" | file mask.json
check 'srt: what is to be masked is refused' refused 'sbx-launch does not mask credentials' -p "$TMP/mask.json"
check 'srt: or closed, and told of' told 'sbx-launch does not mask credentials' --best-effort -p "$TMP/mask.json" -- \
	bash -c '! cat key 2>/dev/null'
check 'srt: who takes the shim alone is told' eval \
	'"$SBX" --print-env -p "$TMP/cred.json" 2>&1 >/dev/null | grep -q "loss: variable A_TOKEN is not removed"'
unset A_TOKEN A_TOKENS
sed 's/"denyRead"/"disabled": true, &/' "$TMP/s.json" | file off.json
check 'srt: files that are not closed at all are refused' refused 'disabled is true' -p "$TMP/off.json"

# ---- srt: what its own program was seen to do (docs/DIALECTS.md) ----
srt_doc() # NAME DENYREAD ALLOWREAD ALLOWWRITE DENYWRITE: lists of JSON strings
{
	printf '{"_comment": "x", "network": {"allowedDomains": [], "deniedDomains": []},\n"filesystem": {"denyRead": [%s], "allowRead": [%s], "allowWrite": [%s], "denyWrite": [%s]}}\n' \
		"$2" "$3" "$4" "$5" | file "$1"
}
reads='for f; do cat "$f" 2>/dev/null || echo no; done | xargs'
writes='for f; do (: >>"$f") 2>/dev/null && echo ok || echo no; done | xargs'
mkdir -p nest/secrets/open nest/sub nest/keys nest/q1 "nest/q[1]/conf" node_modules/p "$HOME/.tool"
for f in nest/secrets/s nest/secrets/open/o nest/.env nest/sub/.env nest/keys/k nest/note nest/q1/s "nest/q[1]/conf/s" "$HOME/.tool/z" \
	nest/a.pem nest/public.pem; do echo "${f##*/}" >"$f"; done
srt_doc nest.json '"./nest/secrets", "**/.env", "**/keys", "~/.*", "**/*.pem"' '".", "nest/secrets/open", "**/public.pem"' '"."' ''
check 'srt: a denial inside a wider opening stays' out 'note no no no' -p "$TMP/nest.json" -- \
	bash -c "cd nest && set -- note secrets/s .env sub/.env; $reads"
check 'srt: and an opening inside that opens' out 'o public.pem no' -p "$TMP/nest.json" -- \
	bash -c "cd nest && set -- secrets/open/o public.pem a.pem; $reads"
check 'srt: a pattern that matches a directory closes what is in it' out 'no no' -p "$TMP/nest.json" -- \
	bash -c "set -- nest/keys/k ~/.tool/z; $reads"
check 'srt: what is read again is not written' out 'no no ok' -p "$TMP/nest.json" -- \
	bash -c "set -- nest/secrets/open/o nest/secrets/s nest/note; $writes"
check 'srt: a comment is passed over with a line' told '`_comment` is ignored' -p "$TMP/nest.json" -- true
check 'srt: packages are spared the mandatory denies' out 'ok ok no' -p "$TMP/nest.json" -- \
	bash -c "mkdir -p node_modules/p/.vscode nest/.vscode 2>/dev/null; set -- node_modules/p/.vscode/s node_modules/p/.mcp.json nest/.vscode/s; $writes"
check 'srt: which the command line opens' out 'ok no' -p "$TMP/nest.json" --modify nest/.vscode -- \
	bash -c "mkdir -p nest/.vscode 2>/dev/null; set -- nest/.vscode/s nest/.idea; $writes; rm -rf nest/.vscode"
srt_doc wider.json '"~"' '' '"."' ''
mkdir -p "$HOME/proj" && echo p >"$HOME/proj/f" && echo h >"$HOME/plain"
check 'srt: what may be written in a closed directory is read as well' out 'p no' -w "$HOME/proj" -p "$TMP/wider.json" -- \
	bash -c "set -- ~/proj/f ~/plain; $reads"
srt_doc brackets.json "\"$WS/nest/q[1]/conf/s\"" '' "\"$WS/nest/q[1]\"" ''
check 'srt: brackets of an absolute path may be a name' out 'no no ok' -p "$TMP/brackets.json" -- \
	bash -c "set -- 'nest/q[1]/conf/s'; a=\$($reads); set -- 'nest/q[1]/conf/s' 'nest/q[1]/w'; echo \$a \$($writes)"
srt_doc missing.json '' '' '"./nest", "./not-there", "../not-there", "l*"' ''
check 'srt: what is not there is not opened' out 'no ok' -p "$TMP/missing.json" -- \
	bash -c "a=\$(mkdir not-there 2>/dev/null && echo ok || echo no); set -- nest/note; echo \$a \$($writes)"
check 'srt: and that is said' told 'and 1 more do not exist and stay closed' -p "$TMP/missing.json" -- true
check 'srt: as is a pattern that opens' told 'srt on Linux ignores patterns in allowWrite' -p "$TMP/missing.json" -- true
ln -s sub nest/dlink
srt_doc linked.json '"nest/dlink"' '' '".", "nest/dlink"' ''
check 'srt: a link closes where it leads to, and opens nothing' out 'no no' -p "$TMP/linked.json" -- \
	bash -c "set -- nest/sub/.env; echo \$($reads) \$($writes)"
srt_doc here.json '"./.env"' '' '"."' ''
git init -q . 2>/dev/null; mkdir -p under && echo u >under/.env
here() { (cd under && out 'no ok no' -p "$TMP/here.json" -- bash -c "set -- .env; a=\$($reads); set -- new ../new; echo \$a \$($writes)"); }
check 'srt: relative paths are below the current directory' here
rm -rf .git under nest/dlink

# ---- caliban ----
file c.toml <<X
[model]
name = "x"
[sandbox]
enabled = true
fail_if_unavailable = true
[sandbox.filesystem]
allow_read = ['\${HOME}/data']
allow_write = ["\${WORKSPACE}"]
deny_read = ["\${WORKSPACE}/.env"]
deny_write = ["\${WORKSPACE}/ro"]
X
check 'caliban: allow_write and deny_write' out 'ok no' -p "$TMP/c.toml" -- \
	bash -c "mkdir ro 2>/dev/null; for f in c ro/c; do bash -c '$try' - \$f; done | xargs"
check 'caliban: allow_read and deny_read' out 'data no no' -p "$TMP/c.toml" -- \
	bash -c 'for f in ~/data/f .env ~/out/s; do cat $f 2>/dev/null || echo no; done | xargs'
sed 's/enabled = true/enabled = false/' "$TMP/c.toml" | file off.toml
check 'caliban: switched off is a refusal' refused 'enabled is false' -p "$TMP/off.toml"
sed 's/^fail_if.*/bwrap_path = "\/nowhere\/bwrap"/' "$TMP/c.toml" | file bwrap.toml
check 'caliban: a bwrap that is not there is refused' refused \
	"sandbox backend 'bwrap' not available at /nowhere/bwrap" -p "$TMP/bwrap.toml"
sed 's/^bwrap_path/fail_if_unavailable = false\n&/' "$TMP/bwrap.toml" | file lax.toml
check 'caliban: or told of, and the command is confined all the same' told \
	'not available at /nowhere/bwrap' -p "$TMP/lax.toml" -- bash -c '! cat .env 2>/dev/null'

printf '[sandbox]\nenabled = true\n[sandbox.network]\nallow_all_outbound = true\n' | file out.toml
check 'caliban: its own processes alone, with the network too' out "0 $(readlink /proc/self/ns/net)" -p "$TMP/out.toml" -- \
	bash -c 'echo "$(ls -d /proc/[0-9]* | grep -vxc "/proc/[1-9]") $(readlink /proc/self/ns/net)"'
echo '{"version": 1}' | file v.json
check 'what is taken for srt is said to be' refused "missing field \`network\` in srt's settings (another kind: --dialect)" \
	-p "$TMP/v.json"

printf '[sandbox]\nenabled = true\nnetwork = "deny"\n' | file deny.toml
sed 's/deny/allow/' "$TMP/deny.toml" | file allow.toml
check 'caliban: network = "deny" is none' out 0 -p "$TMP/deny.toml" -- bash -c 'tail -n +3 /proc/net/dev | grep -vc " lo:"; true'
check 'caliban: "allow" is the host'"'"'s' out "$(readlink /proc/self/ns/net)" -p "$TMP/allow.toml" -- readlink /proc/self/ns/net
check 'caliban: another word is refused' eval 'sed s/deny/denied/ "$TMP/deny.toml" | file word.toml; refused "expected one of deny|allow" -p "$TMP/word.toml"'

# ---- which is which ----
check 'fmt leaves JSON and TOML alone' eval \
	'for f in s.json c.toml; do "$ask" fmt -w "$TMP/$f" 2>&1 | grep -q "expected YAML" || exit 1; done'
check '--dialect takes the text at its word' refused '1:1: expected a value, found `v`' \
	--dialect srt -p "$TMP/open.yaml"
why() # STATUS DOC OP PATH
{
	"$ask" why -p "$TMP/$2" "$3" "$4" >"$TMP/err" 2>&1
	[ $? -eq "$1" ] || { cat "$TMP/err"; return 1; }
}
file mw.yaml <<X
version: 1
network_middlewares:
  guard: {middleware: m, order: 10, on_error: fail_closed, config: {a: 1}, endpoints: {include: [example.org], exclude: []}}
X
check 'openshell: middlewares by name are a loss' refused 'network middlewares' -p "$TMP/mw.yaml"
check 'openshell: which check says, and nothing else' eval '[ "$("$ask" check "$TMP/mw.yaml" 2>&1 | wc -l)" = 1 ]'
sed 's/on_error: fail_closed/on_eror: fail_closed/' "$TMP/mw.yaml" | file mw2.yaml
check 'openshell: a middleware with an unknown key is not' check_lists 1 mw2.yaml
{ cat "$TMP/mw.yaml"; echo '  two: {middleware: n, order: 10}'; } | file mw3.yaml
check 'openshell: nor two of one order' check_lists 1 mw3.yaml
# ---- all that is wrong or told, to who asks as well ----
file many.yaml < <(echo 'version: 1'; echo 'filesystem_policy:'; echo '  read_only:'
	for i in $(seq 256); do echo "    - /p/$i"; done; echo '    - ../x'; echo '    - rel')
check 'openshell: too many paths do not hide what else is wrong' eval \
	'check_lists 4 many.yaml && grep -q "too many filesystem paths (258 > 256)" "$TMP/err" && grep -q ": rel$" "$TMP/err"'
sed 's/port: 443/ports: []/' "$TMP/skip.yaml" | file ports.yaml
check 'openshell: no ports at all are refused' check_lists 1 ports.yaml
sed "s/host: a.example.com/host: 'a b'/" "$TMP/skip.yaml" | file host.yaml
check 'openshell: nor a host that is none' refused "invalid host 'a b'" -p "$TMP/host.yaml"
sed 's/tls: skip, /credential_signing: sigv4, /' "$TMP/skip.yaml" | file sign.yaml
check 'openshell: signing needs a service' refused 'credential_signing needs signing_service' -p "$TMP/sign.yaml"
for verb in check lint show; do
	check "openshell: $verb tells of what is odd" eval \
		'"$ask" $verb "$TMP/skip.yaml" 2>&1 >/dev/null | grep -q "^sbx-policy: note: .*tls: skip"'
done
check 'show --effective has the lists' eval '"$ask" show --effective "$TMP/open.yaml" >"$TMP/out" &&
	grep -qx "openRead:" "$TMP/out" && grep -qF "  /usr  ($TMP/open.yaml:4:15)" "$TMP/out" || { cat "$TMP/out"; false; }'
printf 'version: 1\nfilesystem_policy: {read_only: [/nowhere/a]}\nlandlock: {compatibility: best_effort}\n' | file none.yaml
check 'openshell: no path is there, and that is why' eval '! "$SBX" -p "$TMP/none.yaml" -- /bin/true 2>"$TMP/err" &&
	grep -q "note: .*/nowhere/a is left out" "$TMP/err" && grep -q "loss: .*no listed path exists" "$TMP/err" || { cat "$TMP/err"; false; }'
sed 's|"denyRead": \["~/data", "./.env"\]|"denyRead": [], "allowRead": ["."]|; s|^  "filesystem|  "credentials": {"files": [{"path": "op.c", "mode": "deny"}]},\n&|' \
	"$TMP/s.json" | file again.json
check 'srt: allowRead opens no credential' why 1 again.json read "$WS/op.c"
check 'srt: but what is beside it' why 0 again.json read "$WS/other.c"

# ---- srt: what it denies on the network, and single sockets ----
sed 's/"deniedDomains": \[\]/"deniedDomains": ["a.example.com"]/' "$TMP/s.json" | file less.json
check 'srt: denied domains hold without a network' out ok -p "$TMP/less.json" -- echo ok
check 'srt: with the network of the host they are refused' refused 'deniedDomains: rules on the network' \
	--network host -p "$TMP/less.json"
check 'srt: or told' told 'deniedDomains: rules on the network' --network host --best-effort -p "$TMP/less.json" -- true
sed 's|"deniedDomains": \[\]|"deniedDomains": [], "allowUnixSockets": ["/tmp/a.sock"]|' "$TMP/s.json" | file sock.json
if [ "$(uname)" = Linux ]; then
	check 'srt: single sockets are for macOS' why 1 sock.json connect /tmp/a.sock
	check 'srt: and open there' sh -c '"$1" show --plan sbpl "$2" | grep -q "/tmp/a\.sock"' - "$ask" "$TMP/sock.json"
	check 'srt: not in the plan of one that names none' sh -c '! "$1" show --plan sbpl "$2" | grep -q "a\.sock"' - "$ask" "$TMP/s.json"
fi

# ---- wide rules: what the kernel does at a word is not theirs to open, above all not to root ----
file wide.json <<'X'
{"network": {"allowedDomains": [], "deniedDomains": []},
 "filesystem": {"denyRead": [], "allowWrite": ["/"], "denyWrite": []}}
X
sed 's|"/"|"/", "/proc/sys/kernel/core_pattern", "/dev/vda"|' "$TMP/wide.json" | file named.json
printf '[sandbox]\nenabled = true\n[sandbox.filesystem]\nallow_write = ["/"]\n' | file wide.toml
sed 's|"/"|"/dev"|' "$TMP/wide.toml" | file dev.toml
core='v=$(cat /proc/sys/kernel/core_pattern); { echo "$v" >/proc/sys/kernel/core_pattern; } 2>/dev/null || echo closed'
for doc in wide.json wide.toml proc.yaml; do
	check "$doc: core_pattern is closed" out closed -p "$TMP/$doc" -- bash -c "$core"
	check "$doc: why says so" why 1 $doc modify /proc/sys/kernel/core_pattern
	check "$doc: the rest of /proc is open" why 0 $doc modify /proc/self/oom_score_adj
done
for doc in wide.json wide.toml dev.toml; do
	check "$doc: disks are closed" why 1 $doc modify /dev/vda
	check "$doc: for reading, too" why 1 $doc read /dev/vda
	check "$doc: /dev/null is not" out ok -p "$TMP/$doc" -- bash -c 'echo x >/dev/null && echo ok'
done
check 'but who names it has it' eval 'why 0 named.json modify /proc/sys/kernel/core_pattern && why 0 named.json modify /dev/vda'
check 'and is told' eval '"$ask" show "$TMP/named.json" 2>&1 >/dev/null | grep -q "core_pattern. re-opens"'
if command -v bwrap >/dev/null && bwrap --ro-bind / / --proc /proc --dev /dev true 2>/dev/null; then
	check 'under bubblewrap as well' out closed --backend bwrap -p "$TMP/proc.yaml" -- bash -c "$core"
fi

check 'two documents of which one is foreign do not merge' refused 'merges with no other' \
	-p "$TMP/open.yaml" -p "$TMP/closed.yaml"
