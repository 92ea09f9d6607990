#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Device nodes are known by what they are: those outside of /dev are not opened, whatever their name,
# and /dev mounted a second time gives none of its names away.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"

if [ "$(id -u)" -ne 0 ]; then
	skip 'device nodes elsewhere' 'only root makes them; it tries them as an ordinary user'
	exit 0
fi

# Two that the host can open: a disk, and the kernel's log.
place=$E2E_ROOT/nodes
mkdir "$place" && chmod 755 "$place" "$E2E_ROOT"
disk=
for of in /dev/vda /dev/sda /dev/nvme0n1 /dev/loop0 /dev/ram0; do
	if [ -b "$of" ] && (: <"$of") 2>/dev/null; then
		disk=$(stat -c '%Hr %Lr' "$of")
		break
	fi
done
nodes() # DIRECTORY
{
	# shellcheck disable=SC2086
	mknod -m 666 "$1/log" c 1 11 && mknod -m 666 "$1/null" c 1 3 && { [ -z "$disk" ] || mknod -m 666 "$1/disk" b $disk; }
}
if ! nodes "$place" || ! nodes . || ! (: <"$place/log") 2>/dev/null; then
	skip 'device nodes elsewhere' 'none can be made or opened here'
	exit 0
fi
[ -n "$disk" ] || skip 'disks elsewhere' 'no disk can be opened here'

# The command opens each of these for reading and for writing; what it could is printed.
cat >"$TMP/open.sh" <<'END'
for dir; do
	for name in disk log; do
		[ -e "$dir/$name" ] || continue
		(: <"$dir/$name") 2>/dev/null && echo "read $dir/$name"
		(: >>"$dir/$name") 2>/dev/null && echo "written $dir/$name"
		(: 3<>"$dir/$name") 2>/dev/null && echo "both $dir/$name"
		(: >"$dir/$name") 2>/dev/null && echo "made $dir/$name"
		ln -sf "$dir/$name" link && (: <link) 2>/dev/null && echo "by link $dir/$name"
	done
done
(: >/dev/null && head -c 1 /dev/zero && head -c 1 /dev/urandom && ls /dev/pts) >/dev/null && echo end
END
shut() # OPTION...: none is opened, and /dev is as it was
{
	launch -q "$@" -- sh "$TMP/open.sh" "$place" .
	cat "$TMP/out" "$TMP/err"
	[ "$(cat "$TMP/out")" = end ]
}
check 'bare all are opened' sh -c 'sh "$0" "$@" | grep -q "^both .*/log$"' "$TMP/open.sh" "$place" .
inside() # OUTER-OPTIONS : INNER-OPTIONS: not by a run inside, whatever it asks for
{
	local outer=()
	while [ "$1" != : ]; do outer+=("$1"); shift; done
	shift
	launch -q "${outer[@]}" -- "$SBX" -q "$@" -- sh "$TMP/open.sh" "$place" .
	cat "$TMP/out" "$TMP/err"
	[ "$(cat "$TMP/out")" = end ]
}
launch -v true
if grep -q 'pid namespace, private /dev/shm' "$TMP/err"; then
	check 'by the default policy none' shut
	for isolate in pid shm pid,shm; do
		check "--isolate $isolate" shut --isolate $isolate
	done
	check '--network host' shut --network host
	check 'nor by a run inside that names them' inside : --modify "$place/log" --modify "$PWD/log" \
		${disk:+--modify "$place/disk" --modify "$PWD/disk"}
	check 'nor by one without mounts of its own' inside --isolate shm : --isolate none
	check 'a read pattern' shut --deny-read '*/**/*.env'
	check 'a directory that a rule opens' shut --modify "$place"
	check 'a kind of node that a rule opens' shut --modify "$place/*"
	check 'and no line is printed about it' sh -c '! "$0" -v true 2>&1 | grep "device nodes"' "$SBX"
	inner()
	{
		launch -q --modify "$place" -- "$SBX" -q -- sh "$TMP/open.sh" "$place" .
		cat "$TMP/out" "$TMP/err"
		[ "$(cat "$TMP/out")" = end ]
	}
	check 'a run inside a run' inner
else
	skip 'mounts without devices' 'no namespaces here'
fi

# Without mounts of its own the broker is the wall, where opens are its own to perform.
check '--isolate none with a read pattern' shut --isolate none --deny-read '*/**/*.env'
written()
{
	launch -q --isolate none -- sh "$TMP/open.sh" "$place" .
	cat "$TMP/out" "$TMP/err"
	tail -n 1 "$TMP/out" | grep -qx end && ! grep -E '^(written|both|made)' "$TMP/out"
}
check '--isolate none: none is written to' written
told()
{
	launch -v --isolate none true
	grep -q 'limit: device nodes outside /dev .*--isolate auto' "$TMP/err"
}
check 'and a line says what remains' told
named()
{
	launch -q "$@" --modify "$place/log" -- sh "$TMP/open.sh" "$place" .
	cat "$TMP/out" "$TMP/err"
	grep -qx "written $place/log" "$TMP/out" && ! grep -E 'disk|\./' "$TMP/out"
}
check 'the node that a rule names is opened, and no other' named
check 'so it is without mounts' named --isolate none --deny-read '*/**/*.env'
check 'what has no state is opened without mounts' out '' --isolate none --deny-read '*/**/*.env' -- sh -c ': >null'
if command -v bwrap >/dev/null && bwrap --ro-bind / / true 2>/dev/null; then
	check '--backend bwrap' sh -c '"$0" -q --backend bwrap --best-effort -- sh "$1" . | { ! grep -E "read|written|both"; }' "$SBX" "$TMP/open.sh"
fi

# As somebody whom the mode lets open them.
user()
{
	local home=$E2E_ROOT/other
	mkdir "$home" "$home/ws" && chown -R $E2E_UID "$home" && chmod 755 "$TMP" "$TMP/open.sh" "$E2E_ROOT"
	(cd "$home/ws" && HOME=$home XDG_STATE_HOME=$home/state TMPDIR=$home setpriv --reuid=$E2E_UID --regid=$E2E_UID --clear-groups \
		"$SBX" -q -- sh "$TMP/open.sh" "$place") >"$TMP/out" 2>"$TMP/err" </dev/null
	cat "$TMP/out" "$TMP/err"
	[ "$(cat "$TMP/out")" = end ]
}
check 'as an ordinary user' user

# ---- /dev a second time, in mounts with a /dev of their own ----

cat >"$TMP/again.sh" <<'END'
set -e
mount --make-rprivate /
mount -t tmpfs dev /dev
for d in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
	IFS=: read -r name major minor <<-X
	$d
	X
	mknod -m 666 "/dev/$name" c "$major" "$minor"
done
ln -s /proc/self/fd /dev/fd
mkdir /dev/pts /dev/shm
mount -t tmpfs shm /dev/shm
mount -t devpts -o newinstance,ptmxmode=666 pts /dev/pts
mkdir -p "$DIR/dev"
mount --bind /dev "$DIR/dev"
names() { stat -c '%n %A %u %g %t %T' /dev/*; }
before=$(names)
for how in '' '--isolate none' '--network host'; do
	said=$("$SBX" -q $how $MORE -- sh -c '
		cd "$0"
		rm -f dev/full && echo removed
		mv dev/zero moved && echo moved
		mv -f file dev/random && echo replaced
		chmod 600 dev/null && echo changed
		chown 1:1 dev/null && echo given
		ln dev/null also && echo linked
		ln -s x dev/new && echo made
		mkdir dev/dir && echo made
		rm -f dev/fd && echo removed
		echo x >dev/file && echo made
		echo x >beside && rm beside && echo end' "$DIR" 2>"$TMP/again.err") || :
	[ "$said" = end ] || { echo "under '$how': $said"; cat "$TMP/again.err"; exit 1; }
	[ "$(names)" = "$before" ] || { echo "changed under '$how':"; names; exit 1; }
done
END
again()
{
	DIR=$1 MORE=${MORE:-} SBX="$SBX" TMP=$TMP unshare -m sh "$TMP/again.sh"
}
if unshare -m true 2>/dev/null; then
	mkdir rootfs
	echo x >rootfs/file
	check '/dev mounted in the workspace keeps its names' again rootfs
	mkdir "$E2E_ROOT/clean" && echo x >"$E2E_ROOT/clean/file"
	MORE="--modify $E2E_ROOT/clean" check 'and in a directory that the kernel keeps' again "$E2E_ROOT/clean"
fi
exit 0
