#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Inside the sandboxes of others: the policy holds, or the run is refused and says what lacks; never
# less. And what --doctor says there, and inside a run of ours.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

export SBX
DIR=$(dirname "$SBX")
mkdir -p "$HOME/.ssh"
echo secret >"$HOME/.ssh/id"

# Each with a control: without sbx-launch the sandbox around lets both be done.
holds() # NAME WORDS-OF-THE-SANDBOX...
{
	local name=$1
	shift
	fresh
	echo secret >a.env
	rm -f "$E2E_ROOT/out"
	if ! "$@" sh -c "cat a.env && echo x >'$E2E_ROOT/out'" >"$TMP/out" 2>"$TMP/err"; then
		skip "$name" "cannot be made here: $(head -n 1 "$TMP/err")"
		return
	fi
	rm -f "$E2E_ROOT/out"
	"$@" "$SBX" -q --deny-read '**/*.env' -- sh -c "echo began; cat a.env; echo x >'$E2E_ROOT/out'" \
		>"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
	if ! grep -q secret "$TMP/out" && [ ! -e "$E2E_ROOT/out" ] &&
		{ grep -q began "$TMP/out" || { [ $status -eq 125 ] && grep -q '^sbx-launch: E_' "$TMP/err"; }; }; then
		ok "$name: $(grep -q began "$TMP/out" && echo holds || echo refused)"
	else
		{ echo "status $status"; cat "$TMP/out" "$TMP/err"; } | not_ok "$name"
	fi
}

cat >"$TMP/landlock.py" <<'P'
import ctypes, os, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
rights = (1 << 13) - 1
attr = struct.pack("Q", rights)
fd = libc.syscall(444, attr, len(attr), 0)
if fd < 0: sys.exit("no Landlock")
root = os.open("/", os.O_PATH)
libc.syscall(445, fd, 1, struct.pack("=Qi", rights, root), 0)
libc.prctl(38, 1, 0, 0, 0)
if libc.syscall(446, fd, 0) < 0: sys.exit("no Landlock")
os.execvp(sys.argv[1], sys.argv[1:])
P
holds 'bubblewrap' bwrap --bind / / --dev-bind /dev /dev --proc /proc --unshare-pid --unshare-ipc
holds 'bubblewrap without a network' bwrap --bind / / --dev-bind /dev /dev --proc /proc --unshare-all
holds 'bubblewrap without capabilities' bwrap --bind / / --dev-bind /dev /dev --proc /proc --unshare-all --cap-drop ALL
holds 'another Landlock domain' python3 "$TMP/landlock.py"
holds 'a pid namespace whose /proc is that of the host' unshare -Upf --map-root-user
holds 'a pid namespace with its own' unshare -Upf --map-root-user --mount-proc
holds 'no new privileges, no capabilities' setpriv --no-new-privs --bounding-set=-all
holds 'a root directory with nothing in /proc' unshare -Umr sh -c 'mount -t tmpfs none /proc && exec "$@"' sh

# KRN-05: no user namespace to be had. A floor that needs none, or one line that says what to do.
fresh
unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces && echo 0 >/proc/sys/user/max_net_namespaces; exec "$@"' sh \
	"$SBX" -q -- sh -c 'echo hi; unshare -n true && echo net' >"$TMP/out" 2>"$TMP/err" </dev/null
status=$?
check 'user namespaces are blocked: it runs, or one line says why not' \
	sh -c "[ \"\$(cat '$TMP/out')\" = hi ] || { [ $status -eq 125 ] && [ \$(grep -c '^sbx-launch: E_' '$TMP/err') -eq 1 ]; }"

# MSC-03: a program that makes a sandbox of its own fails by its own message, and the record has why
launch -q -- unshare -Ur true
check 'a program with a sandbox of its own says what it cannot' grep -q 'unshare failed' "$TMP/err"
check 'and the record says what was refused' \
	sh -c "cat \"\$HOME\"/.local/state/sbx-launch/runs/*/audit.jsonl | grep -q unshare"
launch -q --allow namespaces -- unshare -Ur true
check 'and what opens it does' [ "$status" -eq 0 -o "$(id -u)" -eq 0 ]

# ---- doctor ----
launch -q -- "$SBX" --doctor
check 'doctor inside a run: its supervisor makes others' \
	grep -q '^Inside a run of sbx-launch, whose supervisor makes the runs inside it: --strict works' "$TMP/out"
launch -q -- "$SBX" --doctor --json
check 'as JSON' grep -q '"holds":true,"inside_a_run":true' "$TMP/out"
launch -q --no-shim -- "$SBX" --no-shim -q -- echo began
check 'a run that makes none, and says nothing of itself: refused' \
	sh -c "[ $status -eq 125 ] && grep -q '^sbx-launch: E_FLOOR' '$TMP/err' && ! grep -q began '$TMP/out'"
python3 "$TMP/landlock.py" "$SBX" --doctor >"$TMP/out"
check 'doctor in another Landlock domain' grep -q '^The floor holds here' "$TMP/out"
unshare -Ur "$SBX" --doctor >"$TMP/out" 2>&1
if [ "$(id -u)" -ne 0 ] && unshare -Ur true 2>/dev/null; then
	# root's files look as nobody's there, the shim as well as sbx-launch itself
	fresh
	unshare -Ur "$SBX" -q -- echo runs >"$TMP/own" 2>"$TMP/err"
	check "an installed one runs in a user's own user namespace" [ "$(cat "$TMP/own")" = runs ]
fi
check 'doctor in a user namespace' grep -q '^The floor' "$TMP/out"
exit 0
