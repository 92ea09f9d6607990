#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# OpenShell's compatibility table on hosts as they may be, and the calls that it forbids.
. "$(dirname "$0")/../support/e2e.sh"
HOST=$(dirname "$SBX")/mkhost

doc() # NAME COMPATIBILITY PATHS
{
	cat >"$TMP/$1.yaml" <<X
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [$3]
landlock: {compatibility: $2}
X
	chmod 600 "$TMP/$1.yaml"
}
system='/usr, /bin, /lib, /lib64, /etc, /proc'
for c in best_effort hard_requirement; do
	doc $c-all $c "$system"
	doc $c-one $c "$system, /nowhere/x"
	doc $c-none $c '/nowhere/x, /nowhere/y'
done
refused() # TEXT COMMAND...: nothing is run
{
	text=$1
	shift
	rm -f ran
	"$@" >"$TMP/err" 2>&1
	[ $? -eq 125 ] && [ ! -e ran ] && grep -qF -- "$text" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
told() # TEXT COMMAND...: it is run, after one line
{
	text=$1
	shift
	rm -f ran
	"$@" >"$TMP/err" 2>&1 && [ -e ran ] && [ "$(grep -cF -- "$text" "$TMP/err")" -eq 1 ] ||
		{ cat "$TMP/err"; return 1; }
}

# ---- the table: what is missing, and what each word makes of it ----
if [ -x "$HOST" ] && "$HOST" --no landlock=ENOSYS true 2>/dev/null; then
	check 'no Landlock, best_effort: told, and run' told 'loss: no Landlock' \
		"$HOST" --no landlock=ENOSYS "$SBX" -p "$TMP/best_effort-all.yaml" touch ran
	check 'no Landlock, hard_requirement: refused' refused 'no Landlock' \
		"$HOST" --no landlock=ENOSYS "$SBX" -p "$TMP/hard_requirement-all.yaml" touch ran
else
	skip 'a host without Landlock' 'mkhost cannot make it here'
fi
check 'a path missing, best_effort: told, and run' told \
	'/nowhere/x is left out (path does not exist): No such file or directory' \
	"$SBX" -p "$TMP/best_effort-one.yaml" touch ran
check 'a path missing, hard_requirement: refused' refused \
	'Landlock path unavailable in hard_requirement mode: /nowhere/x (path does not exist)' \
	"$SBX" -p "$TMP/hard_requirement-one.yaml" touch ran
check 'all missing, hard_requirement: refused' refused 'hard_requirement mode: /nowhere/x' \
	"$SBX" -p "$TMP/hard_requirement-none.yaml" touch ran
cp "$SBX" ./static # needs nothing that is not listed
check 'all missing, best_effort: a loss, and what is left open runs' eval \
	'"$SBX" -p "$TMP/best_effort-none.yaml" ./static --version >"$TMP/out" 2>"$TMP/err" &&
	grep -q "^sbx-launch: loss: .*no listed path exists" "$TMP/err" && grep -q ^sbx-launch "$TMP/out"'
check 'and nothing else does' eval '! "$SBX" -p "$TMP/best_effort-none.yaml" cat /etc/passwd 2>/dev/null'

# ---- each cell: Landlock there or not, so many of the paths there, either word ----
cell() # with|without all|one|none COMPATIBILITY
{
	local host='' want=0 text='' got
	[ "$1" = with ] || host="$HOST --no landlock=ENOSYS"
	case $3-$1-$2 in
	best_effort-with-all) ;;
	hard_requirement-with-all)
		[ "$(id -u)" -ne 0 ] || want=125 text='run as sandbox: there is no user sandbox' ;;
	hard_requirement-without-all) want=125 text='cannot be enforced: no Landlock' ;;
	hard_requirement-*) want=125 text='Landlock path unavailable in hard_requirement mode: /nowhere/x' ;;
	best_effort-without-*) text='loss: no Landlock' ;;
	best_effort-with-one) text='/nowhere/x is left out' ;;
	best_effort-with-none) text='loss: .*no listed path exists' ;;
	esac
	# shellcheck disable=SC2086
	$host "$SBX" -p "$TMP/$3-$2.yaml" ./static --version >"$TMP/out" 2>"$TMP/err"
	got=$?
	[ $got -eq $want ] && { [ -z "$text" ] || grep -q "$text" "$TMP/err"; } &&
		{ [ $want -ne 0 ] || grep -q ^sbx-launch "$TMP/out"; } || { cat "$TMP/out" "$TMP/err"; return 1; }
}
has_none() { "$HOST" --no landlock=ENOSYS true 2>/dev/null; } # can there be a host without?
for landlock in with without; do
	[ $landlock = with ] || has_none || continue
	for paths in all one none; do
		for c in best_effort hard_requirement; do
			check "$landlock Landlock, $paths of the paths, $c" cell $landlock $paths $c
		done
	done
done

# ---- why a path cannot be had ----
ln -s loop "$TMP/loop"
mkdir -p "$TMP/shut/in" && chmod 0 "$TMP/shut"
long=$(printf 'x%.0s' $(seq 300))
reason() # REASON PATH
{
	doc why best_effort "$system, \"$2\""
	told "$2 is left out ($1)" "$SBX" -p "$TMP/why.yaml" touch ran
}
check 'too many symlink levels' reason 'too many symlink levels' "$TMP/loop/x"
check 'path name too long' reason 'path name too long' "/$long"
check 'path component is not a directory' reason 'path component is not a directory' /etc/passwd/x
[ "$(id -u)" -eq 0 ] || check 'permission denied' reason 'permission denied' "$TMP/shut/in"
chmod 700 "$TMP/shut"

# ---- calls ----
cat >"$TMP/calls.py" <<'X'
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
def call(*a):
    ctypes.set_errno(0)
    return "ok" if libc.syscall(*[ctypes.c_long(x) for x in a]) >= 0 else errno.errorcode[ctypes.get_errno()]
def sock(*a):
    try:
        socket.socket(*a).close()
        return "ok"
    except OSError as e:
        return errno.errorcode[e.errno]
NEWUSER = 0x10000000
path = ctypes.create_string_buffer(b"/none/x")
# By row. Sockets are refused as by a kernel that has none of the kind, and newer calls as by one that
# has none of them, so that programs fall back.
probes = {
    "001": [(sock(17, socket.SOCK_RAW, 0), "EAFNOSUPPORT")],
    "003": [(sock(40, socket.SOCK_STREAM), "EAFNOSUPPORT")],
    "007": [(sock(16, socket.SOCK_RAW, 4), "EPROTONOSUPPORT")],
    "008": [(sock(16, socket.SOCK_RAW, 0), "ok")],
    "010": [(sock(socket.AF_UNIX, socket.SOCK_STREAM), "ok")],
    "012": [(call(101, 0, 0, 0, 0), "EPERM")],
    "013": [(call(321, 0, 0, 0), "EPERM")],
    "014": [(call(310, os.getppid(), 0, 0, 0, 0, 0), "EPERM")],
    "015": [(call(311, os.getppid(), 0, 0, 0, 0, 0), "EPERM")],
    "016": [(call(425, 1, 0), "ENOSYS")],
    "017": [(call(165, 0, 0, 0, 0, 0), "EPERM")],
    "018": [(call(166, 0, 0), "EPERM")],
    "019": [(call(155, 0, 0), "EPERM")],
    "020": [(call(308, 0, 0), "EPERM")],
    "022": [(call(n, 0, 0, 0, 0, 0), "ENOSYS") for n in (428, 429, 430, 431, 432, 433)],
    "023": [(call(323, 0), "EPERM"), (call(298, 0, 0, 0, 0, 0), "EPERM")],
    # it gets as far as looking for the file
    "025": [(call(322, -1, ctypes.addressof(path), 0, 0, 0), "ENOENT")],
    "026": [(call(272, NEWUSER), "EPERM")],
    "028": [(call(56, NEWUSER | 17, 0, 0, 0, 0), "EPERM")],
    "029": [(call(435, 0, 0), "ENOSYS")],
    "031": [(call(0, os.open("/etc/passwd", os.O_RDONLY), 0, 0), "ok")],
}
rows = [line.split("\t") for line in open(sys.argv[1]) if not line.startswith("#")]
for row in rows:
    for got, want in probes[row[0][-3:]]:
        if got != want or (want in ("ok", "ENOENT")) != row[2].startswith("allowed"):
            print(row[0], row[1], got, "expected", want)
print(len(rows) > 15)
X
# What network a command has (004, 005, 009) is no question of the filter here; a program that is
# only a descriptor may be executed, and filters may be laid on top (024, 030).
if [ "$(uname -m)" = x86_64 ] && command -v python3 >/dev/null; then
	seccomp=$(cd "$(dirname "$0")" && pwd)/openshell_seccomp.tsv
	check 'its list of forbidden calls' out True -p "$TMP/best_effort-all.yaml" \
		--also-read "$TMP/calls.py" --also-read "$seccomp" -- python3 "$TMP/calls.py" "$seccomp"
fi

# ---- Landlock, row by row ----
# Truncating is held as well (001). Where no path is listed, or none can be opened, nothing is open
# (004, 005): above. A path that is left out is told (007).
mkdir -p "$HOME/ro/d" "$HOME/rw" "$HOME/un" && echo text >"$HOME/ro/f" && cp /bin/true "$HOME/ro/true"
echo text >"$HOME/un/f"
cat >"$TMP/row.yaml" <<X
version: 1
filesystem_policy:
  read_only: [$system, "$HOME/ro"]
  read_write: ["$HOME/rw", /dev/null]
X
sed 's|/dev/null|/tmp|' "$TMP/row.yaml" >"$TMP/tmp.yaml" # below which all of this lies
sed "s|\"$HOME/ro\"|\"$HOME/ro/f\"|" "$TMP/row.yaml" >"$TMP/file.yaml"
printf 'version: 1\n' >"$TMP/bare.yaml"
chmod 600 "$TMP"/*.yaml
does() # DOC SCRIPT: all of it
{
	"$SBX" --no-shim -p "$TMP/$1.yaml" -- bash -c "set -e; $2" >"$TMP/err" 2>&1 || { cat "$TMP/err"; return 1; }
}
denied() # DOC SCRIPT: refused for want of permission
{
	! "$SBX" --no-shim -p "$TMP/$1.yaml" -- bash -c "$2" >"$TMP/err" 2>&1 &&
		grep -qE 'Permission denied|Operation not permitted|cross-device' "$TMP/err" || { cat "$TMP/err"; return 1; }
}
openshell_landlock_001() # a file goes from one rule to another only where both allow it
{
	denied row 'mv ~/ro/f ~/rw/f' && denied row 'ln ~/ro/f ~/rw/f' && denied row 'truncate -s 0 ~/ro/f' &&
		does row 'mkdir -p ~/rw/a ~/rw/b; : >~/rw/a/f; mv ~/rw/a/f ~/rw/b/f; rm -r ~/rw/a ~/rw/b'
}
openshell_landlock_002() { does row 'read -r t <~/ro/f; [ "$t" = text ]; ls ~/ro | grep -q f; ~/ro/true'; }
openshell_landlock_003()
{
	does row 'cd ~/rw; mkdir d; echo x >d/f; mkfifo p; ln -s f d/l; ln d/f d/g; truncate -s 0 d/f; mv d e; rm -r e p'
}
openshell_landlock_006() { refused 'hard_requirement mode: /nowhere/x' "$SBX" -p "$TMP/hard_requirement-none.yaml" touch ran; }
openshell_landlock_007() { told '/nowhere/x is left out' "$SBX" -p "$TMP/best_effort-one.yaml" touch ran; }
openshell_landlock_008()
{
	refused 'Landlock path unavailable in hard_requirement mode: /nowhere/x (path does not exist): No such file' \
		"$SBX" -p "$TMP/hard_requirement-one.yaml" touch ran
}
openshell_landlock_009() # nothing is closed to root
{
	[ "$(id -u)" -ne 0 ] || return 77
	chmod 0 "$TMP/shut"
	reason 'permission denied' "$TMP/shut/in"
	set -- $?
	chmod 700 "$TMP/shut"
	return "$1"
}
openshell_landlock_010() { reason 'too many symlink levels' "$TMP/loop/x"; }
openshell_landlock_011() { reason 'path name too long' "/$long"; }
openshell_landlock_012() { reason 'path component is not a directory' /etc/passwd/x; }
openshell_landlock_013() { has_none || return 77; cell without all best_effort; }
openshell_landlock_014() { has_none || return 77; cell without all hard_requirement; }
openshell_landlock_015() { does best_effort-all ': >in-workdir'; }
openshell_landlock_016() { denied row ': >in-workdir'; }
openshell_landlock_017() { does bare ': >in-workdir; cat /etc/passwd' && denied bare ': >/var/log/sbx-e2e' && denied bare 'ls /opt'; }
openshell_landlock_018() { denied row ': >/usr/sbx-e2e'; }
openshell_landlock_019() { does tmp 'f=$(mktemp /tmp/sbx-e2e.XXXXXX); echo x >$f; rm $f'; }
openshell_landlock_020() { does row 'cat /etc/passwd; ls /usr'; }
openshell_landlock_021() { denied row 'ls /opt' && denied row 'ls /root'; }
openshell_landlock_022() { denied row ': >~/un/g' && denied row 'cat ~/un/f'; }
openshell_landlock_023() { does file 'cat ~/ro/f' && denied file 'cat ~/ro/true'; }
openshell_landlock_024() # what only root may reach is opened before the command is somebody else
{
	[ "$(id -u)" -eq 0 ] || return 77
	mkdir -p "$TMP/only/in" && chmod 700 "$TMP/only"
	cat >"$TMP/who.yaml" <<X
version: 1
filesystem_policy: {read_only: [$system, "$TMP/only/in"]}
landlock: {compatibility: hard_requirement}
process: {run_as_user: "61234", run_as_group: "61235"}
X
	chmod 600 "$TMP/who.yaml"
	[ "$("$SBX" -p "$TMP/who.yaml" -- id -u 2>"$TMP/err")" = 61234 ] || { cat "$TMP/err"; return 1; }
}
rows openshell_landlock.tsv
