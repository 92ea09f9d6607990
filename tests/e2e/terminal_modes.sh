#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Mode and owner of terminals: those of outside stay as they are, the run's own are its own.
. "$(dirname "$0")/../support/e2e.sh"

cat >"$TMP/acts.py" <<'EOP'
import os, sys
name, fd = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else -1
uid, gid = os.getuid(), os.getgid()
acts = {
    "chmod": lambda: os.chmod(name, 0o666),
    "chown": lambda: os.chown(name, uid, gid),
    "utime": lambda: os.utime(name, (1, 1)),
    "xattr": lambda: os.setxattr(name, "user.x", b"x"),
}
if fd >= 0:
    acts["fchmod"] = lambda: os.fchmod(fd, 0o666)
    acts["fchown"] = lambda: os.fchown(fd, uid, gid)
def tried(act):
    try:
        act()
        return True
    except OSError: # attributes: there are none, whoever asks
        return False
print(" ".join(n for n, act in acts.items() if tried(act)))
EOP
cat >"$TMP/outside.py" <<'EOP'
# A terminal outside; the run's standard input when asked for. Prints what was done, and its mode.
import os, subprocess, sys
sbx, acts, uid, given = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4] == "given"
m, s = os.openpty()
name = os.ttyname(s)
known_as = os.environ.get("AT", "/dev/pts") + name[len("/dev/pts"):]
os.chmod(name, 0o620)
if uid >= 0:
    os.chown(name, uid, -1)
was = os.stat(name)
done = subprocess.run([sbx, "-q", *sys.argv[5:], "--", "python3", acts, known_as] + ["0"] * given,
                      stdin=s if given else subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
now = os.stat(name)
same = (was.st_mode, was.st_uid, was.st_gid) == (now.st_mode, now.st_uid, now.st_gid)
print(done.stdout.strip(), "same" if same else oct(now.st_mode))
EOP
cat >"$TMP/inside.py" <<'EOP'
import os, subprocess, sys
m, s = os.openpty()
done = subprocess.run(["python3", sys.argv[1], os.ttyname(s), str(s)], pass_fds=[s], stdout=subprocess.PIPE, text=True)
print(done.stdout.strip(), oct(os.fstat(s).st_mode & 0o777))
EOP
is() # WANTED COMMAND...
{
	want=$1
	shift
	got=$("$@" 2>&1)
	[ "$got" = "$want" ] || { echo "$got"; return 1; }
}
cp "$TMP"/*.py .
for how in '' --no-shim; do
	# shellcheck disable=SC2086
	check "a terminal of the caller's keeps mode and owner $how" is ' same' python3 outside.py "$SBX" acts.py -1 no $how
	# shellcheck disable=SC2086
	check "so does the one that is given $how" is ' same' python3 outside.py "$SBX" acts.py -1 given $how
	if [ "$(id -u)" -eq 0 ]; then
		# shellcheck disable=SC2086
		check "and another user's $how" is ' same' python3 outside.py "$SBX" acts.py 65533 no $how
	fi
	# shellcheck disable=SC2086
	check "one that is made inside has those it gets $how" is 'chmod chown utime fchmod fchown 0o666' \
		"$SBX" -q $how -- python3 inside.py acts.py
done

# devpts once more, in the workspace: the same terminals by another name; and one of its own.
if [ "$(id -u)" -eq 0 ] && mkdir pts other && unshare -m sh -c 'mount --bind /dev/pts pts && mount -t devpts -o newinstance,ptmxmode=666 none other' 2>/dev/null; then
	for how in '' --no-shim; do
		# shellcheck disable=SC2016
		check "a second mount of devpts makes them nobody's $how" is ' same' \
			unshare -m sh -c 'mount --bind /dev/pts pts && AT=$PWD/pts exec python3 outside.py "$@"' - "$SBX" acts.py -1 no $how
		# shellcheck disable=SC2016
		check "nor are those of another devpts the run's $how" is '' \
			unshare -m sh -c 'mount -t devpts -o newinstance,ptmxmode=666 none other && exec 3<>other/ptmx && "$@"' - "$SBX" -q $how -- python3 acts.py other/0
	done
else
	skip 'a second mount of devpts' 'only root mounts one'
fi
exit 0
