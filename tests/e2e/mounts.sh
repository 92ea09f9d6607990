#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is denied is denied by each name that mounts give it.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"

if [ "$(id -u)" -ne 0 ] || ! unshare -m true 2>/dev/null; then
	skip 'a second mount' 'only root mounts; it tries them as an ordinary user, too'
	exit 0
fi

# In mounts of its own: a home that is mounted again whole, in part, with a blank in the name, and
# from the top of its file system; then the command, as USER.
cat >"$TMP/mounts.sh" <<'END'
set -e
user=$1
shift
mount --make-rprivate /
top=$E2E_ROOT/mounts.$user
mkdir -p "$top/fs" && mount -t tmpfs -o mode=755 fs "$top/fs"
cd "$top"
mkdir -p fs/home/.ssh fs/home/ws fs/home/other fs/home/.local/state/sbx-launch home alias part 'a b' whole
mount --bind fs/home home
mount --bind fs/home alias
mount --bind fs/home/.ssh part
mount --bind fs 'a b'
mkdir fs/all && mount --rbind fs whole
umount fs 2>/dev/null || mount -t tmpfs cover fs # only the others are left to see
for f in .ssh/id_rsa other/file ws/.env; do echo KEY >"home/$f"; done
chown -R "$user:$user" home
chmod -R go+rX home
export HOME=$top/home XDG_STATE_HOME=$top/home/.local/state TMPDIR=$top/home/ws
cd home/ws
exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
END
in_mounts() # USER SCRIPT: which has $top; it may write KEY to say that something was open
{
	E2E_ROOT=$E2E_ROOT SBX=$SBX unshare -m sh "$TMP/mounts.sh" "$1" sh -c "top='$E2E_ROOT/mounts.$1'; $2" >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
	cat "$TMP/out" "$TMP/err"
}
shut() # USER OPTIONS FILE: whichever name
{
	in_mounts "$1" "cat \"\$top/alias/$3\"; for at in home alias 'a b/home' whole/home; do
		[ -r \"\$top/\$at/$3\" ] || { echo missing; exit; }
		\"\$SBX\" -q $2 -- cat \"\$top/\$at/$3\"; \"\$SBX\" -q $2 -- cp \"\$top/\$at/$3\" copy && cat copy; done; echo end"
	[ "$(tr '\n' ' ' <"$TMP/out")" = 'KEY end ' ]
}
part() # USER
{
	in_mounts "$1" "\"\$SBX\" -q -- cat \"\$top/part/id_rsa\"; \"\$SBX\" -q -- ls \"\$top/part\"; echo end"
	[ "$(cat "$TMP/out")" = end ]
}
unmade() # USER: a name that is not there yet
{
	in_mounts "$1" "\"\$SBX\" -q --modify \"\$top/alias/other\" --deny-modify \"\$top/home/other/new\" -- sh -c ': >\"\$0/made\"; : >\"\$0/new\"' \"\$top/alias/other\"; ls \"\$top/home/other\""
	[ "$(tr '\n' ' ' <"$TMP/out")" = 'file made ' ]
}
own() # USER: the record
{
	in_mounts "$1" "\"\$SBX\" -q -- sh -c 'ls \"\$0\"' \"\$top/alias/.local/state/sbx-launch/runs\"; echo end"
	[ "$(cat "$TMP/out")" = end ]
}
again() # USER: what the user opens at the other name is open
{
	in_mounts "$1" "\"\$SBX\" -q --read \"\$top/alias/.ssh\" -- cat \"\$top/alias/.ssh/id_rsa\""
	[ "$(cat "$TMP/out")" = KEY ]
}
chmod 755 "$E2E_ROOT"
for user in 0 "$E2E_UID"; do
	check "$user: a secret" shut "$user" '' .ssh/id_rsa
	full || [ "$user" != 0 ] || continue
	check "$user: a secret, with --network host" shut "$user" '--network host' .ssh/id_rsa
	check "$user: a secret, without namespaces" shut "$user" '--isolate none' .ssh/id_rsa
	check "$user: what --deny-read names" shut "$user" "--deny-read \"\$top/home/other\"" other/file
	check "$user: what it names by the other name" shut "$user" "--deny-read \"\$top/alias/other/file\"" other/file
	check "$user: what a pattern names" shut "$user" "--deny-read '**/.env'" ws/.env
	check "$user: a part of a denied directory" part "$user"
	check "$user: what is made later" unmade "$user"
	check "$user: the record of the run" own "$user"
	check "$user: what is opened at that name is open" again "$user"
done
exit 0
