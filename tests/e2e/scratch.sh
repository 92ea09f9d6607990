#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The private directory for temporary files: nobody's but this run's, and no way to other files.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

me=$(id -u)

# The command renames a directory of TMPDIR's path, and leads it to somebody's files.
victim=$E2E_ROOT/victim
mkdir -p "$victim/sbx-launch-$me.0/deep" && chmod 700 "$victim/sbx-launch-$me.0"
echo precious >"$victim/sbx-launch-$me.0/deep/file"
mkdir tt
# by a link, which the host makes: the command may not
(for _ in $(seq 1000); do [ -e tt ] || { ln -s "$victim" tt && break; }; sleep 0.01; done) &
TMPDIR=$WS/tt launch sh -c "touch \"\$TMPDIR/mine\"; mv tt tt.old; ln -s '$victim' tt; for _ in \$(seq 500); do [ ! -L tt ] || break; sleep 0.02; done"
wait $!
check 'the parent was exchanged, and not by the command' eval '[ -L tt ] && grep -q "denied modify .*/tt " "$TMP/err"'
check 'clearing follows no exchanged parent' [ -s "$victim/sbx-launch-$me.0/deep/file" ]
check 'what was really ours is gone' [ ! -e "tt.old/sbx-launch-$me.0" ]

# A process that outlived its supervisor has rights on an inode, which is not used again.
fresh
"$SBX" -- sh -c 'touch "$TMPDIR/left"; echo "$TMPDIR" >first.new; mv first.new first; exec sleep 60' \
	>/dev/null 2>&1 &
victim=$!
for _ in $(seq 400); do
	[ ! -e first ] || break
	sleep 0.02
done
kill -9 $victim
wait $victim 2>/dev/null
first=$(cat first)
check 'a killed run leaves its directory' [ -e "$first/left" ]
exec 7<"$first" # the number of an inode that is held is nobody else's
launch sh -c 'echo "$TMPDIR"; ls -A "$TMPDIR"; stat -c %i "$TMPDIR"'
check 'the next run takes the same name, empty' [ "$(sed '$d' "$TMP/out")" = "$first" ]
check 'and another inode' [ "$(sed '$!d' "$TMP/out")" != "$(stat -Lc %i /dev/fd/7)" ]
exec 7<&-

# Names that are taken.
fresh
for i in $(seq 0 999); do
	: >"$TMPDIR/sbx-launch-$me.$i"
done
launch sh -c 'touch "$TMPDIR/x" && ls -A "$TMPDIR"'
check 'all numbers taken: another name' [ "$(cat "$TMP/out")" = x ]
rm -f "$TMPDIR/sbx-launch-$me".*
if [ "$me" -ne 0 ]; then
	skip 'places that another user took' 'needs root'
	exit 0
fi
# A user number that nobody has, and root was first.
other=$((60000 + $$ % 4000))
place=$(mktemp -d "${SBX%/*}/../squat.XXXXXX") && chmod 1777 "$place"
mkdir -p -m 700 "/dev/shm/sbx-launch-$other" "$place/sbx-launch-$other" \
	"$place/sbx-launch-$other.0" "$place/home" && chown "$other" "$place/home"
mkdir "$place/ws" && chown "$other" "$place/ws"
as_other() # ARGS...
{
	cd "$place/ws" && setpriv --reuid="$other" --regid="$other" --clear-groups \
		env TMPDIR="$place" HOME="$place/home" "$SBX" "$@" >"$TMP/out" 2>"$TMP/err"
}
check 'places that another user took: others are' as_other sh -c '[ -n "$SBX_CHANNEL" ]
	[ "$TMPDIR" = "$1" ]' - "$(realpath "$place")/sbx-launch-$other.1"
check 'the channel too is private' [ "$(stat -c '%u %a' "/dev/shm/sbx-launch-$other-1")" = \
	"$other 700" ]
rm -r "/dev/shm/sbx-launch-$other" "/dev/shm/sbx-launch-$other-1"
rm -r "$place"
exit 0
