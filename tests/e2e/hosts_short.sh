#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A host that is short of something a run needs for itself: processes, room, modes of files. It runs,
# or one line says what is missing and what cures it, and --doctor says the same.
. "$(dirname "$0")/../support/e2e.sh"

last() # FILE: its last error
{
	sed -n 's/^ *\(sbx-launch: \)\?\(E_[A-Z]*: .*\)/\2/p' "$1" | tail -n 1
}
same_line() # PATTERN: of a run in $TMP/err and of --doctor in $TMP/out
{
	grep -q "$1" "$TMP/err" && grep -q "the default policy: refused" "$TMP/out" && [ "$(last "$TMP/err")" = "$(last "$TMP/out")" ]
}

launch_masked() # ARGS...: under $mask
{
	(umask "$mask" && exec "$SBX" "$@") >"$TMP/got" 2>&1
}

if [ "$(id -u)" = 0 ]; then
	skip 'a limit on processes' 'root is not held by it'
	skip 'a umask that shuts the owner out' 'root is not held by it'
else
	prlimit --nproc=1:1 "$SBX" -- true 2>"$TMP/err"
	prlimit --nproc=1:1 "$SBX" --doctor >"$TMP/out" 2>/dev/null
	check 'no process can be made: run and doctor name the limit' \
		same_line 'E_LIMIT: no process can be made: .*: raise the limit on processes (ulimit -u'

	for mask in 777 700 477; do
		rm -f made
		launch_masked -- sh -c 'umask; : >made; stat -c %a made'
		check "umask $mask: it runs, and the command keeps its umask" \
			[ "$(xargs <"$TMP/got")" = "0$mask $(printf %o $((0666 & ~0$mask)))" ]
		launch_masked -- "$SBX" -q -- sh -c umask
		check "umask $mask: so inside of a run" [ "$(cat "$TMP/got")" = "0$mask" ]
		launch_masked --doctor
		check "umask $mask: the doctor says so" grep -q 'yes the default policy' "$TMP/got"
	done
	check 'nothing of ours is left without a mode' [ -z "$(find "$HOME" "$TMPDIR" -path "$HOME/.local*" -perm 000)" ]
fi

if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	unshare -m sh -c 'mount -t tmpfs -o size=4k t /dev/shm && dd if=/dev/zero of=/dev/shm/full bs=4k 2>/dev/null
		"$1" -- true 2>"$2/err"; "$1" --doctor >"$2/out" 2>/dev/null' - "$SBX" "$TMP"
	check 'a /dev/shm that is full: the remedy' same_line 'E_FLOOR: the lock of moves: .*No space left on device: free room there'
	mkdir -p "$TMP/small"
	unshare -m sh -c 'mount -t tmpfs -o nr_inodes=2 t "$2/small" && : >"$2/small/x"
		TMPDIR=$2/small "$1" -- true 2>"$2/err"' - "$SBX" "$TMP"
	check 'no room for the scratch: the remedy' grep -q 'E_SYSTEM: cannot make a directory in .*No space left on device: free room there' "$TMP/err"
else
	skip 'a file system that is full' 'only root can make one'
fi

# What is missing is named, whatever finds it first, and what is advised cures.
if [ "$(id -u)" = 0 ] && unshare -mp --fork true 2>/dev/null; then
	for way in '' --no-shim; do
		unshare -mp --fork sh -c 'umount -l /proc; "$1" $3 -- true 2>"$2/err"; mount -t proc t /proc && "$1" -q $3 -- echo cured >"$2/out"' - "$SBX" "$TMP" $way
		check "no /proc: it is named${way:+ ($way)}" grep -q '^sbx-launch: E_FLOOR: cannot be enforced: no /proc that shows this process: mount a /proc of this pid namespace$' "$TMP/err"
		check "no /proc: the remedy cures${way:+ ($way)}" [ "$(cat "$TMP/out")" = cured ]
	done
else
	skip 'no /proc' 'only root can take it away'
fi
memfd=319
[ "$(uname -m)" != aarch64 ] || memfd=279
for errno in 1 24 38; do
	"$(dirname "$SBX")/mkhost" --call "$memfd=$errno" "$SBX" -- true >/dev/null 2>"$TMP/err"
	status=$?
	check "memfd_create is refused ($errno): it runs, or says so" sh -c '[ "$1" = 0 ] || grep -q "E_[A-Z]*: .*memfd" "$2"' - "$status" "$TMP/err"
	check "memfd_create is refused ($errno): nothing else is blamed" sh -c '! grep -q "must be mounted" "$1"' - "$TMP/err"
done
