#!/bin/bash
# The root of a grant keeps its place: what the next run's grant, or a program outside, would be led
# to by a symlink there is not the command's to choose.
. "$(dirname "$0")/../support/e2e.sh"

out=$(dirname "$WS")/grants
mkdir -p "$out/m/sub" "$out/victim" && echo 1 >"$out/m/f" && echo 1 >"$out/file"
for how in --no-shim ''; do
	refused() # WHAT SCRIPT
	{
		# shellcheck disable=SC2086
		launch $how --modify "$out/m" --modify "$out/new" --modify "$out/file" sh -c "cd '$out' && $2"
		check "$1 is refused $how" [ "$status" -ne 0 -a -d "$out/m/sub" -a ! -L "$out/m" -a ! -L "$out/new" -a ! -L "$out/file" ]
		check "$1: the line says what helps $how" grep -qF "keeps its place, and is no symlink: allow its directory with --modify $out" "$TMP/err"
	}
	refused 'the directory moved away' "mv m '$WS/m'"
	refused 'a symlink moved to a name that is not there' "ln -s victim '$WS/l' && mv '$WS/l' new"
	rm -f "$WS/l"
	refused 'one made there' 'ln -s victim new'
	refused 'one in the place of a file' "ln -s victim '$WS/l' && mv -T '$WS/l' file"
	rm -f "$WS/l"
	refused 'an exchange' "ln -s '$out/victim' '$WS/l' && python3 -c '
import ctypes, sys
sys.exit(ctypes.CDLL(None).renameat2(-100, b\"m\", -100, b\"$WS/l\", 2) != 0)'"
	rm -f "$WS/l"
	refused 'the directory removed' 'rm -r m/* && rmdir m || { mkdir m/sub && echo 1 >m/f && false; }'
	# shellcheck disable=SC2086
	launch -q $how --modify "$out/m" --modify "$out/new" --modify "$out/file" sh -c \
		"cd '$out' && chmod 755 m && touch m && ln -s f m/l && rm m/l && mkdir new && echo 2 >'$WS/t' && mv '$WS/t' file"
	check "all else can be done there $how" [ "$status" -eq 0 -a "$(cat "$out/file")" = 2 ]
	rmdir "$out/new"
done
launch -q --modify '*.o' sh -c 'ln -s a b.o && mv b.o c.o'
check 'what a pattern grants may be a symlink' [ -L c.o ]
