#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What was built for macOS, looked at and run on Linux (tests/darwin/main.c): interpose pairs,
# exports, load commands, signature; the launcher from options to exit status against a fake
# sandbox-exec; the shim inserted into a program. Nothing here touches a Mac.
set -u
B=${B:-build}
cd "$(dirname "$0")/../.." || exit 1
case $B in /*) ;; *) B=$PWD/$B ;; esac
D=$B/darwin
OBJDUMP=${OBJDUMP:-llvm-objdump-14}
NM=${NM:-llvm-nm-14}
T=$(mktemp -d) || exit 1
trap 'rm -rf "$T"' EXIT
n=0
failed=0

ok() # ok STATUS WHAT
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		failed=1
		echo "not ok $n - $2"
	fi
}

# ---- the files ----

for machine in x86_64 arm64; do
	case $machine in x86_64) opendir='_opendir$INODE64' ;; *) opendir=_opendir ;; esac
	$OBJDUMP --macho --bind "$D/$machine/libsbx-shim.dylib" >"$T/bind"
	sed 's, (weak_import)$,,' "$T/bind" | awk '/__interpose/ {print $NF}' | sort >"$T/pairs"
	sed -n 's/^#define HAS_\(.*[^ ]\)  *WRAP.*/_\1/p' shim/macos/paths.c | sort >"$T/rows"
	missing=$(comm -23 "$T/rows" "$T/pairs")
	[ -s "$T/rows" ] && [ -z "$missing" ]
	ok $? "$machine: a pair for every row of the table${missing:+: missing $missing}"
	for name in '_open$NOCANCEL' '_openat$NOCANCEL' _fopen '_fopen$DARWIN_EXTSN' _creat \
		_execve _execv _execvp _posix_spawn _posix_spawnp _renamex_np _renameatx_np \
		_clonefile _clonefileat _exchangedata _setxattr _removexattr _chflags \
		_open_dprotected_np _openat_dprotected_np _openbyid_np _freopen _access \
		_faccessat _lchflags _fchflags _setattrlist _setattrlistat _fsetattrlist \
		_fsetxattr _fremovexattr _acl_set_file _acl_set_link_np _fclonefileat _copyfile \
		_undelete _fs_snapshot_create _execvP _system _popen '_popen$DARWIN_EXTSN' \
		_connect '_connect$NOCANCEL' _connectx _bind _dlopen $opendir; do
		grep -qx -- "$(printf %s "$name" | sed 's/\$/\\$/')" "$T/pairs" || missing="$missing $name"
	done
	[ -z "$missing" ]
	ok $? "$machine: and for the names that only macOS has${missing:+: missing$missing}"
	[ -z "$($NM --extern-only --defined-only "$D/$machine/libsbx-shim.dylib" | grep -v 'no symbols')" ]
	ok $? "$machine: the library exports nothing"
	$OBJDUMP --macho --private-headers "$D/$machine/sbx-launch" >"$T/load"
	grep -q 'cmd LC_MAIN' "$T/load" && grep -q 'LC_BUILD_VERSION' "$T/load" &&
		grep -A5 LC_BUILD_VERSION "$T/load" | grep -Eq 'platform (macos|1)$' &&
		grep -q '/usr/lib/libSystem.B.dylib' "$T/load"
	ok $? "$machine: the program is one for macOS, on libSystem"
done
for file in sbx-launch libsbx-shim.dylib; do
	$OBJDUMP --macho --private-headers "$D/arm64/$file" | grep -q LC_CODE_SIGNATURE
	ok $? "arm64: $file carries its ad-hoc signature"
	[ "$($OBJDUMP --macho --universal-headers "$D/$file" | grep -c 'cputype')" = 2 ]
	ok $? "$file holds both machines"
done

# ---- the shim alone ----

shim_tests() # shim_tests MACHINE LOADER...: in a directory of its own
{
	local machine=$1 status w=$T/$1/tree
	shift
	mkdir -p "$w" && cd "$w" || exit 1
	echo s >secret
	echo k >keep
	echo f >free
	chmod 644 keep
	ln -s made link
	ln -s secret to-secret
	ln free id-1
	ln secret id-2
	# shellcheck disable=SC2016
	timeout -k 1 60 "$B/tests/mkchannel" --shim '' --rule 'read:/' --rule 'exec:/' \
		--rule 'connect:/' --rule "modify:$w/" --rule "read:!$w/secret" --rule "read:!$w/id-2" \
		--rule "exec:!$w/secret" --rule "modify:!$w/*keep" --log "$T/events" -- \
		"$@" shim "$D/libsbx-shim.dylib" "$w" >"$T/shim.tap"
	status=$?
	sed 's/^ok [0-9]*/\x01/; s/^not ok [0-9]*/\x02/' "$T/shim.tap" | grep -v '^1\.\.' >"$T/lines"
	while IFS= read -r line; do
		case $line in
		$'\x01'*) ok 0 "$machine shim:${line#*-}" ;;
		$'\x02'*) ok 1 "$machine shim:${line#*-}" ;;
		esac
	done <"$T/lines"
	ok $status "$machine: the shim's tests ran to their end"
	grep -q "denied" "$T/events" || grep -q 'EACCES\|13' "$T/events"
	ok $? "$machine: its denials are events"
	for call in copyfile clonefile setattrlist openbyid_np connectx execvP; do
		grep -q "$call" "$T/events" || echo "# no event of $call"
	done | grep . && ok 1 "$machine: and name the calls of macOS" || ok 0 "$machine: and name the calls of macOS"
}

[ "$(uname -m)" = x86_64 ] || { echo "1..$n"; exit 0; }
shim_tests x86_64 "$D/load"
if [ -x "$D/load-arm64" ]; then
	# shellcheck disable=SC2086
	shim_tests arm64 $QEMU_ARM64 "$D/load-arm64"
else
	n=$((n + 1))
	echo "ok $n - arm64 shim # SKIP no qemu-aarch64 or no C library for arm64: see scripts/setup"
fi

# ---- the launcher ----

mkdir "$T/home" "$T/home/.ssh" "$T/ws"
echo key >"$T/home/.ssh/id"
cd "$T/ws" || exit 1
export HOME=$T/home FAKE_LOG=$T/log
unset XDG_STATE_HOME XDG_CACHE_HOME
run() { timeout -k 1 30 "$D/load" run "$D/sbx-launch" -w "$T/ws" "$@"; }

status_is() # status_is N WHAT ARG...
{
	local want=$1 what=$2 got
	shift 2
	run "$@" >"$T/out" 2>"$T/err"
	got=$?
	[ $got = "$want" ]
	ok $? "$what (status $got)"
}
says() { grep -q -- "$1" "$T/err"; ok $? "and says: $1"; }

status_is 0 "a command runs" -- /bin/echo hello
[ "$(cat "$T/out")" = hello ]
ok $? "and has our output"
head -2 "$T/log" | tr '\n' ' ' | grep -qx 'sandbox-exec -f '
ok $? "by sandbox-exec, with a file"
profile=$(sed -n 3p "$T/log")
[ ! -e "$profile" ] && case $profile in "$T/home/.local/state/sbx-launch/runs/"*) ;; *) false ;; esac
ok $? "which lay in the run's directory and is gone"
grep -q '^-DP[0-9]*=/' "$T/log"
ok $? "and with parameters for paths"
status_is 42 "its status is the command's" -- /bin/sh -c 'exit 42'
status_is 158 "and its signal, by the number of macOS" -- /bin/sh -c 'kill -USR1 $$'
status_is 127 "a command that is not there" -- no-such-command
status_is 124 "a deadline ends it" --timeout 200ms -- sleep 20
status_is 0 "the other back-end" --backend init -- /bin/echo in-process
grep -q sandbox_init_with_parameters "$T/log"
ok $? "makes the call itself"
printf '#!/nowhere/x\n' >script && chmod +x script
status_is 127 "a script without its interpreter" -- ./script
for code in 64 65 66 71; do
	FAKE_SANDBOX_STATUS=$code status_is 125 "sandbox-exec's own status $code is ours" -- /bin/echo no
	says "(status $code): nothing was run"
	[ ! -s "$T/out" ]
	ok $? "and nothing ran"
done
FAKE_INSIDE=1 status_is 125 "in a sandbox already" -- /bin/echo no
says 'already in a sandbox'
FAKE_NO_SANDBOX_EXEC=1 status_is 125 "without sandbox-exec" -- /bin/echo no
says '/usr/bin/sandbox-exec cannot be used'
FAKE_NO_SANDBOX_EXEC=1 status_is 0 "the other back-end does without it" --backend init -- /bin/echo in
# without a floor: refused, or by the shim alone
cp "$D/probe" .
for missing in FAKE_NO_SANDBOX_EXEC FAKE_INSIDE; do
	rm -f "$T/log"
	export $missing=1
	status_is 0 "$missing, but --best-effort" --best-effort -- ./probe read probe read \
		"$T/home/.ssh/id"
	[ "$(grep -c '^sbx-launch: loss: ' "$T/err")" = 1 ] && [ ! -e "$T/log" ]
	ok $? "tells one loss and asks nothing of Seatbelt"
	[ "$(cat "$T/out")" = "read probe 0
read $T/home/.ssh/id 13" ]
	ok $? "and the shim checks"
	run_json=$(ls -td "$T/home/.local/state/sbx-launch/runs/"*/run.json | head -1)
	grep -q 'the whole policy, for programs that do not load the shim' "$run_json" &&
		grep -q 'the shim alone' "$run_json"
	ok $? "which run.json records"
	status_is 125 "$missing and no shim is no run" --best-effort --no-shim -- /bin/echo no
	says 'nothing would enforce the policy'
	status_is 0 "$missing in a plan" --dry-run -- /bin/echo no
	grep -q 'would be refused' "$T/out"
	ok $? "says that it would be refused"
	unset $missing
done
cat >lax.yaml <<'EOF'
schemaVersion: 2
kind: Policy
metadata: {name: lax}
spec:
  fsProfiles: {p: {read: ["**"], modify: ["**"]}}
  sandbox: {allowFallback: true}
EOF
chmod 600 lax.yaml
FAKE_INSIDE=1 status_is 0 "a document may be lax" -p ./lax.yaml -- ./probe read probe
says '^sbx-launch: loss: '
# options of Linux
for options in '--caps none' '--isolate pid' '--isolate shm' '--require landlock' \
	'--require broker' '--require network-namespace' '--require shim --no-shim'; do
	# shellcheck disable=SC2086
	status_is 125 "$options is refused" $options -- /bin/echo no
	says 'E_FLOOR'
done
status_is 0 "--allow is told to do nothing" --allow debug -- /bin/echo
says 'note: --allow has no effect on macOS'
status_is 0 "--isolate none is what there is" --isolate none -- /bin/echo
status_is 0 "--require shim runs what loads it" --require shim -- ./probe read probe
status_is 126 "and nothing else" --require shim -- /bin/echo no
says 'required: shim'
FAKE_INIT_FAILS=1 status_is 125 "a profile that the call rejects" --backend init -- /bin/echo no
says 'macOS rejects the profile'
status_is 0 "the plan without a run" --dry-run -- /bin/echo no
grep -q '(version 1)' "$T/out" && grep -q '(deny default)' "$T/out"
ok $? "shows the profile"
"$D/load" run "$D/sbx-launch" --doctor >"$T/out"
grep -q '^macOS  *14.4$' "$T/out"
ok $? "the doctor knows the release"

# ---- both, in a program for macOS ----

cp "$D/probe" .
status_is 0 "the shim is inserted into a program" -- ./probe read probe read "$T/home/.ssh/id" \
	write new write /etc/no mkdir .claude mkdir .claude/hooks exec ./probe unlink new
cat >"$T/want" <<EOF
read probe 0
read $T/home/.ssh/id 13
write new 0
write /etc/no 13
mkdir .claude 0
mkdir .claude/hooks 13
unlink new 0
EOF
cmp -s "$T/want" "$T/out"
ok $? "which denies what the policy denies, with EACCES, also after an exec"
says 'denied read .*/.ssh/id (rule ~/.ssh/\*\*, preset:secrets'
log=$(ls -d "$T/home/.local/state/sbx-launch/runs/"*/audit.jsonl | tail -1)
[ "$(grep -c '"kind":"hello"' "$log")" = 2 ] && [ "$(grep -c '"kind":"denied"' "$log")" = 3 ] &&
	[ "$(grep -vc '"layer":' "$log")" -ge 10 ]
ok $? "and told every call"
status_is 0 "the shim knows what programs for macOS need" --reads listed --read ./probe -- \
	./probe read /usr/bin/env read /usr/include/stdio.h
[ "$(cat "$T/out")" = "read /usr/bin/env 0
read /usr/include/stdio.h 13" ]
ok $? "and no more"
[ -z "$(find /tmp -maxdepth 1 -name 'sbx-launch-profile*' 2>/dev/null)" ]
ok $? "no profile is left behind"
echo "1..$n"
exit $failed
