#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The root of a grant keeps its place: what the next run's grant, or a program outside, would be led
# to by a symlink there is not the command's to choose.
. "$(dirname "$0")/../support/e2e.sh"

# Root inside could remove the devices of the host, which it may write to.
if [ "$(id -u)" -eq 0 ]; then
	for how in --no-shim ''; do
		launch $how sh -c 'rm /dev/full; mv /dev/full "$PWD/f"; echo x >n; mv n /dev/full; ln -sf n /dev/full; ln n /dev/zerO
			python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"/dev/full\")"; echo >/dev/full; echo x >/dev/null'
		check "devices keep their names $how" [ -c /dev/full -a -c /dev/null ]
		check "the line says so $how" grep -q 'denied modify /dev/full .*: a device keeps its name$' "$TMP/err"
		[ -c /dev/full ] || { rm -f /dev/full; mknod -m 666 /dev/full c 1 7; }
		mv /dev/full /dev/full.sbx-test
		launch -q $how sh -c 'echo x >/dev/full; mknod /dev/full p; mkdir /dev/full'
		check "and none is made $how" [ ! -e /dev/full ]
		rm -rf /dev/full; mv /dev/full.sbx-test /dev/full
	done
fi
common || exit 0

out=$(dirname "$WS")/grants
stand() # as it is before each try
{
	rm -rf "$out" "$WS/l" "$WS/m"
	mkdir -p "$out/m/sub" "$out/victim" && echo 1 >"$out/m/f" && echo 1 >"$out/file"
}
for how in --no-shim ''; do
	refused() # WHAT NAME SCRIPT
	{
		stand
		# shellcheck disable=SC2086
		launch $how --modify "$out/m" --modify "$out/new" --modify "$out/file" sh -c "cd '$out' && $3"
		check "$1 is refused $how" [ "$status" -ne 0 -a -d "$out/m" -a ! -L "$out/m" -a ! -L "$out/new" -a ! -L "$out/file" ]
		check "$1: the line says what helps $how" grep -qF "stays where it is and cannot become a symlink: allow with --modify '$out/$2*/**'" "$TMP/err"
		stand
		# shellcheck disable=SC2086
		launch $how --modify "$out/m" --modify "$out/new" --modify "$out/file" --modify "$out/$2*/**" sh -c "cd '$out' && $3"
		check "$1: and it does $how" [ "$status" -eq 0 ]
	}
	refused 'the directory moved away' m "mv m '$WS/m'"
	refused 'a symlink moved to a name that is not there' new "ln -s victim '$WS/l' && mv '$WS/l' new"
	refused 'one made there' new 'ln -s victim new'
	refused 'one in the place of a file' file "ln -s victim '$WS/l' && mv -T '$WS/l' file"
	refused 'an exchange' m "ln -s '$out/victim' '$WS/l' && python3 -c '
import ctypes, sys
sys.exit(ctypes.CDLL(None).renameat2(-100, b\"m\", -100, b\"$WS/l\", 2) != 0)'"
	refused 'the directory removed' m 'rm -r m/* && rmdir m'
	stand
	# shellcheck disable=SC2086
	launch -q $how --modify "$out/m" --modify "$out/new" --modify "$out/file" sh -c \
		"cd '$out' && chmod 755 m && touch m && ln -s f m/l && rm m/l && mkdir new && echo 2 >'$WS/t' && mv '$WS/t' file"
	check "all else can be done there $how" [ "$status" -eq 0 -a "$(cat "$out/file")" = 2 ]
	rmdir "$out/new"
done
launch -q --modify '*.o' sh -c 'ln -s a b.o && mv b.o c.o'
check 'what a pattern grants may be a symlink' [ -L c.o ]
exit 0
