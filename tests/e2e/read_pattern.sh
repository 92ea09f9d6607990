#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a pattern denies reading does not become a program, which the kernel would run by a path that
# it reads after the broker has judged it.
. "$(dirname "$0")/../support/e2e.sh"

echo secret >app.env && chmod 644 app.env
mkdir plain with && cp /bin/true with/prog && echo x >plain/f
under=(--deny-read '**/*.env' --deny-read 'sec/**')

for how in --no-shim ''; do
	tried() # WHAT SCRIPT
	{
		# shellcheck disable=SC2086
		launch "${under[@]}" $how sh -c "$2"
		check "$1 $how" [ "$status" -ne 0 ]
		check "$1: the line names the rule $how" grep -q 'denied read .* (rule .*cli:--deny-read' "$TMP/err"
	}
	tried 'chmod +x of a denied file' 'chmod +x app.env'
	tried 'a new one with an execute bit' 'install -m 755 /dev/null n.env || cp -p /bin/true n.env'
	rm -f n.env
	tried 'a program renamed to a denied name' 'cp /bin/true t && mv t t.env'
	tried 'a program linked to one' 'ln t t.env'
	tried 'a directory with a program moved to a denied place' 'mv with sec'
	check "none of them is there $how" [ ! -x app.env -a ! -e t.env -a ! -e sec -a -e with/prog ]
	# shellcheck disable=SC2086
	launch "${under[@]}" $how sh -c 'mkdir sec && mv plain/f sec && mv t t2 && mv with with2 && mv with2 with && cp t2 dup && ./dup'
	check "what is no program moves there, and programs move elsewhere $how" [ "$status" -eq 0 ]
	mv sec/f plain && rmdir sec && rm -f t2 dup
	# shellcheck disable=SC2086
	launch "${under[@]}" $how sh -c 'echo "int main(void) { return 7; }" >p.c && cc -o p p.c && ./p'
	check "what was just compiled runs $how" [ "$status" -eq 7 ]
	# shellcheck disable=SC2086
	launch "${under[@]}" $how python3 -c '
import os
acl = bytes.fromhex("0200000001000700ffffffff04000700ffffffff20000700ffffffff")
try:
    os.setxattr("app.env", "system.posix_acl_access", acl)
except PermissionError:
    print("refused")'
	check "an access list sets no execute bit $how" [ "$(cat "$TMP/out")" = refused -a ! -x app.env ]
done
