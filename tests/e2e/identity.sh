#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `process` of an OpenShell policy: root becomes somebody else for good, others are told.
. "$(dirname "$0")/../support/e2e.sh"

policy() # NAME USER GROUP
{
	cat >"$TMP/$1.yaml" <<X
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [/usr, /bin, /lib, /lib64, /etc, /proc]
process: {run_as_user: "$2", run_as_group: "$3"}
X
	chmod 600 "$TMP/$1.yaml"
}
policy number 61234 61235
policy nobody nobody nogroup
policy missing no-such-user nogroup
policy gone nobody no-such-group
policy rootgroup nobody root-too
for name in none empty hard; do
	policy $name x x
	sed -i /^process/d "$TMP/$name.yaml"
done
echo 'process: {}' >>"$TMP/empty.yaml"
echo 'landlock: {compatibility: hard_requirement}' >>"$TMP/hard.yaml"
for bad in root 0 00 +0 ' 0' 0x0 -1 'root ' 1_001 01001; do
	policy bad "$bad" nogroup
	"$SBX" -p "$TMP/bad.yaml" -- touch ran 2>"$TMP/err"
	check "run_as_user '$bad' is refused" [ $? -eq 125 -a ! -e ran ]
done
told() # TEXT NAME: the command runs as who started it, after one line
{
	got=$("$SBX" -p "$TMP/$2.yaml" -- id -u 2>"$TMP/err")
	[ "$got" = "$(id -u)" ] && [ "$(grep -cF "loss: $TMP/$2.yaml:5:" "$TMP/err")" -eq 1 ] &&
		grep -qF -- "$1" "$TMP/err" || { echo "$got"; cat "$TMP/err"; return 1; }
}

if [ "$(id -u)" -ne 0 ]; then
	check 'who is not root is told' told 'only root can change to it' number
	for name in none empty hard; do
		check "but not of a user that nobody named ($name)" eval \
			'[ "$("$SBX" -p "$TMP/$name.yaml" -- id -u 2>"$TMP/err")" = "$(id -u)" ] && [ ! -s "$TMP/err" ]'
	done
	exit
fi
check 'a user that is not there is told' told 'there is no user no-such-user' missing
gone()
{
	got=$("$SBX" -p "$TMP/gone.yaml" -- bash -c 'echo $(id -u) $(id -g)' 2>"$TMP/err")
	[ "$got" = "$(id -u nobody) $(id -g nobody)" ] &&
		grep -qF "there is no group no-such-group: its group is the user's own" "$TMP/err" ||
		{ echo "$got"; cat "$TMP/err"; return 1; }
}
strictly() # NAME TEXT
{
	"$SBX" --strict -p "$TMP/$1.yaml" -- touch ran 2>"$TMP/err"
	[ $? -eq 125 ] && [ ! -e ran ] && grep -qF -- "$2" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
check 'when strict, it is refused' strictly missing 'there is no user no-such-user: make it, or accept with --best-effort'
check 'and a group' strictly gone 'there is no group no-such-group'
check 'and the user that root becomes where nobody is named' strictly none 'there is no user sandbox'
check 'or the section says nothing' strictly empty 'there is no user sandbox'
"$SBX" -p "$TMP/hard.yaml" -- touch ran 2>"$TMP/err"
hard=$?
check 'with hard_requirement, too' [ $hard -eq 125 -a ! -e ran ]
check 'unless that is accepted' out 0 --best-effort -p "$TMP/hard.yaml" -- id -u
check 'else it is told' eval '[ "$("$SBX" -p "$TMP/none.yaml" -- id -u 2>"$TMP/err")" = 0 ] &&
	grep -qF "loss: $TMP/none.yaml:1:1: run as sandbox: there is no user sandbox" "$TMP/err"'
chmod 711 "$E2E_ROOT" "$TMPDIR" && chown 61234:61235 "$WS" && chmod 700 "$WS"
chmod a+x "$(dirname "$WS")" "$(dirname "$(dirname "$WS")")" 2>/dev/null
check 'a group that is not there is told' gone
check 'user and group are taken on' out '61234 61235 61235' -p "$TMP/number.yaml" -- \
	bash -c 'echo $(id -u) $(id -g) $(id -G)'
check 'and nothing of root in the variables' out '/ 61234 61234' -p "$TMP/number.yaml" -- \
	bash -c 'echo $HOME $USER $LOGNAME'
# where there is a user `sandbox`, and a group that is root's by another name
(cat /etc/passwd; echo 'sandbox:x:61234:61235::/:/bin/sh') >"$TMP/passwd"
(cat /etc/group; echo 'root-too:x:0:') >"$TMP/group"
with() # COMMAND...
{
	unshare -m bash -c 'mount --bind "$1" /etc/passwd && mount --bind "$2" /etc/group && shift 2 && exec "$@"' - \
		"$TMP/passwd" "$TMP/group" "$@"
}
if with true 2>/dev/null; then
	for name in none empty hard; do
		check "root is the user sandbox where nobody is named ($name)" eval \
			'[ "$(with "$SBX" -p "$TMP/$name.yaml" -- bash -c "echo \$(id -u) \$(id -g)" 2>"$TMP/err")" = "61234 61235" ] ||
			{ cat "$TMP/err"; false; }'
	done
	check "root's group by number is refused at its place" eval \
		'! with "$SBX" -p "$TMP/rootgroup.yaml" -- touch ran 2>"$TMP/err" &&
		grep -qF "rootgroup.yaml:5:48: run as root-too: this number is root: name another group" "$TMP/err" ||
		{ cat "$TMP/err"; false; }'
else
	skip 'a host with a user sandbox' 'no mounts here'
fi
check 'by name as well' out "$(id -u nobody) $(id -g nobody)" -p "$TMP/nobody.yaml" -- \
	bash -c 'echo $(id -u) $(id -g)'
check 'real, effective and saved, without a capability' out '61234 61234 61234 61234 0' \
	-p "$TMP/number.yaml" -- bash -c \
	'echo $(grep Uid: /proc/self/status | cut -f2-5) $((16#$(grep CapBnd: /proc/self/status | cut -f2)))'
check 'there is no way back' out '1 1 1' -p "$TMP/number.yaml" -- python3 -c '
import os
def no(f, *a):
    try:
        f(*a)
    except OSError as e:
        return str(e.errno)
    return "done"
print(no(os.setuid, 0), no(os.setgid, 0), no(os.setgroups, [0]))'
check 'what is made belongs to it' out '61234:61235 61234' -p "$TMP/number.yaml" -- \
	bash -c 'mkdir d && echo x >d/a && mv d/a b && echo $(stat -c %u:%g b) $(stat -c %u "$TMPDIR")'
echo root >root.txt && chmod 600 root.txt
check 'and what is not its own stays closed' out 'no no' -p "$TMP/number.yaml" -- \
	bash -c '{ cat root.txt || echo no; chown 0 b || echo no; } 2>/dev/null | xargs'
check 'nothing of the scratch directory is left' out 61234 -p "$TMP/number.yaml" -- \
	bash -c 'mkdir -p "$TMPDIR/x/y" && chmod 0 "$TMPDIR/x" && id -u'
check 'nor another user'"'"'s' [ -z "$(find "$TMPDIR" -maxdepth 1 -uid 61234)" ]
