#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --backend bwrap: the same promises by mounts: what is granted is bound, what is denied in a
# writable directory is covered, and what cannot be covered is refused.
. "$(dirname "$0")/../support/e2e.sh"

policy=$(dirname "$SBX")/sbx-policy
if ! command -v bwrap >/dev/null || ! bwrap --ro-bind / / --unshare-user true 2>/dev/null; then
	skip 'runs inside bubblewrap' 'bwrap is missing or may not make namespaces here'
	exit 0
fi
wrapped()
{
	"$SBX" -q --backend bwrap "$@"
}
answers() # NAME WANT OPTIONS... -- COMMAND...: its output
{
	name=$1 want=$2
	shift 2
	got=$(wrapped "$@" 2>"$TMP/err")
	if [ "$got" = "$want" ]; then ok "$name"; else { echo "$got"; cat "$TMP/err"; } | not_ok "$name"; fi
}

settings() # NAME KEYS
{
	printf '[sandbox]\nenabled = true\n%s\n[sandbox.filesystem]\nallow_write = ["${WORKSPACE}"]\n' "$2" >"$TMP/$1.toml"
	chmod 600 "$TMP/$1.toml"
}
says() # TEXT SCRIPT: of a bwrap that is such a script
{
	unshare -m sh -c 'mount -t tmpfs -o mode=755 none /usr/local/bin && printf "#!/bin/sh\n%s\n" "$1" >/usr/local/bin/bwrap &&
		chmod 755 /usr/local/bin/bwrap && shift && exec "$@"' - "$2" \
		timeout 20 "$SBX" --backend bwrap -p "$TMP/local.toml" -- true 2>"$TMP/err"
	[ $? -eq 125 ] && grep -qF -- "$1" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
settings local 'bwrap_path = "/usr/local/bin/bwrap"'
if [ "$(id -u)" -eq 0 ] && unshare -m mount -t tmpfs none /usr/local/bin 2>/dev/null; then
	check 'a version with signs is none' says 'prints no version' 'echo bubblewrap -1.-9'
	check 'nor does one that hangs' says 'prints no version' 'exec sleep 60'
fi
common || exit 0

mkdir -p keep/sub hide/in .cfg/hooks
echo k >keep/k
echo s >secret
echo h >hide/in/h
answers 'the command runs, and writes in the workspace' 'hi' -- sh -c 'echo hi >f; cat f'
check 'on the host' [ "$(cat f)" = hi ]
wrapped -- sh -c 'exit 7'
check 'its status is ours' [ $? -eq 7 ]
wrapped -- sh -c 'kill -9 $$'
check 'and its signal: 137' [ $? -eq 137 ]
wrapped -- ./keep/k 2>/dev/null
check 'what cannot be executed: 126' [ $? -eq 126 ]
wrapped -- /nosuch 2>/dev/null
check 'what is not there: 127' [ $? -eq 127 ]
wrapped -- sh -c 'echo x >/etc/sbx-x' 2>/dev/null
check 'nothing is written outside' [ $? -ne 0 -a ! -e /etc/sbx-x ]
answers 'a secret is not there' 'no' -- sh -c 'cat ~/.ssh/id 2>/dev/null || echo no'
answers 'nor found by another way' 'no' -- sh -c 'cat /proc/self/root$HOME/.ssh/id /proc/1/root$HOME/.ssh/id 2>/dev/null || echo no'

# ---- covers ----
raw() # PYTHON: without the shim, no library in between
{
	wrapped --no-shim --deny-read secret --deny-read hide --deny-modify keep --deny-modify .cfg/hooks \
		-- python3 -c "$1" 2>&1
}
check 'a denied file cannot be read' sh -c 'case $1 in *Error*) ;; *) exit 1 ;; esac' - "$(raw 'open("secret").read()')"
check 'a denied directory is empty' [ "$(raw 'import os; print(os.listdir("hide"))')" = '[]' ]
check 'and cannot be filled' sh -c 'case $1 in *Error*) ;; *) exit 1 ;; esac' - "$(raw 'open("hide/x", "w")')"
check 'what is kept can be read' [ "$(raw 'print(open("keep/k").read().strip())')" = k ]
changes=('open("keep/k", "a")' 'os.unlink("keep/k")' 'os.rename("keep", "k2")' \
	'os.rename("secret", "s2")' 'os.rename("hide", "h2")' 'os.mkdir("keep/n")' \
	'os.chmod("keep/k", 0o777)' 'os.utime("keep/k")' 'os.rename(".cfg", "c2")' \
	'os.rmdir(".cfg/hooks")' 'os.link("keep/k", "l")' 'open(".cfg/hooks/x", "w")')
raw "import os
for change in r'''$(printf '%s\n' "${changes[@]}")'''.splitlines():
    try: exec(change)
    except OSError: print(change)" >"$TMP/refused"
for change in "${changes[@]}"; do
	check "not allowed: $change" grep -qxF -e "$change" "$TMP/refused"
done
check 'nothing of it has changed' [ "$(cat keep/k secret hide/in/h)" = "$(printf 'k\ns\nh')" ]
check 'beside it all can be changed' [ "$(raw 'import os; os.mkdir(".cfg/n"); open(".cfg/n/f","w").write("x"); os.rename(".cfg/n", ".cfg/m"); print(open(".cfg/m/f").read())')" = x ]
check 'nothing is left of mounts' sh -c '! grep -q "$1" /proc/self/mountinfo' - "$PWD"
wrapped --deny-modify nothere -- true 2>"$TMP/err"
check 'what is not there cannot be covered: 125' [ $? -eq 125 ]
check 'and the rule is named' grep -q 'nothere.*cli:--deny-modify:1' "$TMP/err"
check 'and not made' [ ! -e nothere ]
wrapped --deny-read '**/*.env' -- true 2>"$TMP/err"
check 'nor can a pattern' [ $? -eq 125 ]
"$SBX" --backend bwrap --best-effort --deny-read '**/*.env' -- true 2>"$TMP/err"
check 'best effort says so' grep -q '^sbx-launch: loss: read rule `\*\*/\*.env`' "$TMP/err"

# ---- around it ----
answers 'descriptors are ours to give' "$("$SBX" -q -- sh -c 'ls /proc/self/fd | sort -n | xargs' 9</etc/passwd)" \
	-- sh -c 'ls /proc/self/fd | sort -n | xargs' 9</etc/passwd
answers 'those that are kept are there' ok --keep-fd 9 -- sh -c 'read -r _ <&9 && echo ok' 9</etc/passwd
answers 'its processes are alone' 0 -- sh -c 'ls -d /proc/[0-9]* | grep -vxc "/proc/[1-9]"'
check 'no namespaces inside' sh -c '! "$1" -q --backend bwrap -- unshare -Ur true 2>/dev/null' - "$SBX"
check 'no new privileges, no capability but the four' sh -c \
	'"$1" -q --backend bwrap -- sh -c "grep -q NoNewPrivs:.1 /proc/self/status && grep -qE CapBnd:.00000000000000\(1b\|00\) /proc/self/status"' - "$SBX"
wrapped --timeout 300ms -- sleep 50
check 'a time limit holds: 124' [ $? -eq 124 ]
"$SBX" -q --backend bwrap -- sh -c 'trap "exit 5" TERM; echo up >up; while :; do sleep 0.05; done' &
pid=$!
while [ ! -s up ]; do sleep 0.02; done
kill "$pid"
wait "$pid"
check 'signals reach the command' [ $? -eq 5 ]
"$SBX" -q --backend bwrap -- sh -c 'echo up >up2; exec sleep 1234' &
pid=$!
while [ ! -s up2 ]; do sleep 0.02; done
kill -9 "$pid"
wait "$pid" 2>/dev/null
for _ in $(seq 500); do pgrep -fx 'sleep 1234' >/dev/null || break; sleep 0.02; done
check 'with the launcher it dies' sh -c '! pgrep -fx "sleep 1234" >/dev/null'
"$SBX" --backend bwrap -- sh -c 'cat secret; : >/etc/x' >"$TMP/out" 2>"$TMP/err"
mkdir -p .git/hooks && echo '[core]' >.git/config && echo 'true' >.git/hooks/pre-commit
"$SBX" --backend bwrap --no-shim -- sh -c 'echo evil >>.git/config; echo evil >>.git/hooks/pre-commit
	echo >.git/hooks/new; mv .git git; mv .git/config .git/c; rm -rf .git/hooks; echo >.git/HEAD' >"$TMP/out" 2>"$TMP/protected.err"
check 'protected names that are there hold' sh -c \
	'[ "$(cat .git/config .git/hooks/*)" = "[core]
true" ] && [ -e .git/HEAD ] && [ ! -e git ] && [ ! -e .git/c ]'
check 'of the others is told' grep -q 'note: the protected set covers only existing files: the command can create or move [1-9][0-9]* of its names' "$TMP/protected.err"
rm -rf .git
check 'denials are told, with their rule' grep -q 'denied modify /etc/x (rule' "$TMP/err"
check 'the record names the mounts' sh -c '"$1" | grep -q "^floor .*mounts by bubblewrap"' - "$(dirname "$SBX")/sbx-audit"
check 'the arguments can be read' sh -c '"$1" show --plan bwrap --deny-modify "$2/keep" | grep -q "^--ro-bind $2/keep $2/keep$"' - "$policy" "$PWD"
printf '[sandbox]\nenabled = true\n[sandbox.filesystem]\nallow_write = ["/proj"]\n' >settings.toml
check "so can caliban's" sh -c '"$1" show --plan bwrap --bwrap-style caliban settings.toml | grep -q "^--bind-try /proj /proj$"' - "$policy"

# ---- the second run of a policy finds it compiled: it is the first one in all that it says ----
record() # OPTIONS...: verdicts, and what the record says of a run under them
{
	"$SBX" -qq --backend bwrap "$@" -- sh -c 'cat secret "$HOME/.ssh/id"; (: >/etc/x); (: >keep/new); touch -m keep/k; chmod 700 keep/k
		cat keep/k; echo x >made; mv made moved; rm moved; test -r secret; echo $?' >"$TMP/record" 2>&1
	"$(dirname "$SBX")/sbx-audit" | sed -n -e '/^coverage/p' -e '/^missing/p'
	"$(dirname "$SBX")/sbx-audit" show --json | sed -n 's/.*"kind":"\([^"]*\)".*"path":"\([^"]*\)".*"allowed":\([a-z]*\).*"rule":"\([^"]*\)".*"call":"\([^"]*\)".*/\1 \2 \3 \4 \5/p' | sort
	sed "s,/sbx-launch[^ ]*/,/RUN/,g" "$TMP/record"
}
twice() # OPTIONS...
{
	rm -rf "$HOME/.local/state/sbx-launch/images"
	record "$@" >"$TMP/first"
	record "$@" >"$TMP/second"
	grep -q '^coverage .*witnessed' "$TMP/first" && grep -c denied "$TMP/first" && diff "$TMP/first" "$TMP/second"
}
echo k >keep/k
check 'a second run is as the first' twice --deny-read secret --deny-modify keep
check 'what the shim alone holds, too' twice --best-effort --deny-read '**/secret' --deny-modify '**/k'

# ---- policies of others that speak of bubblewrap ----
plan() { "$policy" show --plan bwrap "$TMP/$1"; }
settings plain ''
settings nested 'enable_weaker_nested_sandbox = true'
check 'caliban: a cgroup namespace' eval 'plan plain.toml | grep -qx -e --unshare-cgroup-try'
check 'nested: none, nor one of users' eval '! plan nested.toml | grep -E -e "--unshare-(cgroup|user)"'
check 'but those of processes and the network' [ "$(plan nested.toml | grep -cxE -e '--unshare-(pid|ipc|net)')" -eq 3 ]
answers 'and the command runs' hi -p "$TMP/nested.toml" -- sh -c 'echo hi >f; cat f'
real=$(readlink -f "$(command -v bwrap)")
settings path "bwrap_path = \"$real\""
answers 'caliban: the bwrap it names' hi -p "$TMP/path.toml" -- sh -c 'echo hi >f; cat f'
unavailable() # PATH TEXT
{
	settings not "fail_if_unavailable = false
bwrap_path = \"$1\""
	rm -f ran
	"$SBX" --backend bwrap -p "$TMP/not.toml" -- touch ran 2>"$TMP/err"
	[ $? -eq 125 ] && [ ! -e ran ] && grep -qF -- "$2" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
check 'which must be there' unavailable /nowhere/bwrap "sandbox backend 'bwrap' not available at /nowhere/bwrap: No such file"
check 'and a program' unavailable /usr/bin "not.toml:4:14: sandbox backend 'bwrap' not available at /usr/bin: no program"
check 'with a name' unavailable '' "not available at an empty path"
settings shut ''
sed -i '/^allow_write/d' "$TMP/shut.toml"
shut()
{
	"$SBX" --backend bwrap -p "$TMP/shut.toml" -- true 2>"$TMP/err"
	[ $? -eq 125 ] && grep -qF "$WS: the policy does not allow reading the working directory" "$TMP/err" ||
		{ cat "$TMP/shut.toml" "$TMP/err"; return 1; }
}
check 'a working directory that is not open is named' shut
cp "$real" "$HOME/bwrap"
check 'and nobody else may be able to change it' unavailable "$HOME/bwrap" "$HOME/bwrap: users other than root can change it"
ln -s "$HOME/bwrap" link
check 'nor by a link' unavailable "$PWD/link" "users other than root can change it"
check 'no other is started in its place' unavailable "$(command -v env)" 'could not make the mounts'

rm link
cat >"$TMP/link.toml" <<X
[sandbox]
enabled = true
[sandbox.filesystem]
allow_write = ["\${WORKSPACE}"]
deny_read = ["\${WORKSPACE}/closed"]
X
chmod 600 "$TMP/link.toml"
mkdir -p closed && ln -s /usr outward
check 'a link that leads out of the workspace is there' \
	[ "$("$SBX" -qq --backend bwrap -p "$TMP/link.toml" -- sh -c 'readlink outward; ls outward | grep -c "^bin$"' 2>&1)" = "/usr
1" ]
rm -r closed outward

# srt's order, where it binds: what is written is bound before what is denied in it. There is no other
# network than none, no setting for writing anywhere (004), and no bridge to a proxy (007).
cat >"$TMP/s.json" <<X
{"network": {"allowedDomains": [], "deniedDomains": []},
 "filesystem": {"denyRead": ["hide", "secret", "/nowhere/x"], "allowWrite": [".", "/nowhere/y"], "denyWrite": ["keep/**"]}}
X
sed 's/^{/{"enableWeakerNestedSandbox": true, /' "$TMP/s.json" >"$TMP/nested.json"
sed 's/"hide"/"*.pem", "hide"/' "$TMP/s.json" >"$TMP/wild.json"
chmod 600 "$TMP"/*.json
mkdir -p .git/hooks .vscode && : >.mcp.json
argv=$(plan s.json)
at() { grep -nxF -e "$1" <<<"$argv" | head -n 1 | cut -d: -f1 | grep .; } # LINE: its number
before() { [ "$(at "$1")" -lt "$(at "$2")" ]; }
srt_linux_argv_001() { [ "$(at --die-with-parent)" -eq 1 ]; } # the terminal is kept, and filtered
srt_linux_argv_002() { before --unshare-net "--bind-try $PWD $PWD"; }
srt_linux_argv_003()
{
	! at '--bind-try / /' && ! at '--bind / /' && ! grep -q /nowhere <<<"$argv" || return 1
	for deny in keep .git/hooks .vscode .mcp.json; do
		before "--bind-try $PWD $PWD" "--ro-bind $PWD/$deny $PWD/$deny" || { echo "$deny"; return 1; }
	done
}
srt_linux_argv_005() { before "--bind-try $PWD $PWD" "--tmpfs $PWD/hide" && at "--ro-bind /dev/null $PWD/secret"; }
srt_linux_argv_006()
{
	at '--dev /dev' && at --unshare-pid && at '--proc /proc' || return 1
	argv=$(plan nested.json)
	at '--ro-bind /proc /proc' && ! at '--proc /proc' && ! at --unshare-pid
	set -- $?
	argv=$(plan s.json)
	return "$1"
}
srt_linux_argv_008() # not dropped: what mounts cannot say is refused
{
	wrapped -p "$TMP/wild.json" -- true 2>"$TMP/err"
	[ $? -eq 125 ] && grep -q '\*\.pem' "$TMP/err" || { cat "$TMP/err"; return 1; }
}
rows srt_linux_argv.tsv
same_git() { git init -q r && cd r && git config user.email a@b && git config user.name n && echo x >f && git add f && git commit -qm m && git status --short && git log --oneline | wc -l; }
export -f same_git
answers 'git works' 1 -- bash -c same_git
