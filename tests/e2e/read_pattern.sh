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
# What else is executed for a program: the interpreter that it names, what a loader is told to load.
ld=$(readelf -l /bin/true 2>/dev/null | sed -n 's/.*interpreter: \(.*\)].*/\1/p')
echo 'int main(void) { return 7; }' >p.c
cp /bin/true prog.env && printf '#!%s/prog.env\n' "$PWD" >script && printf '#!%s/script\n' "$PWD" >script2 && chmod 755 script script2 prog.env
for bits in 64 32; do
	loader=$ld
	[ "$bits" = 64 ] || loader=/lib/ld-linux.so.2
	runs=0
	[ -e "$loader" ] && gcc -m$bits -o "p$bits" p.c 2>/dev/null && { "./p$bits" 2>/dev/null; runs=$?; }
	if [ "$runs" -ne 7 ]; then
		skip "loaders of $bits bits" 'no compiler, or no kernel, for them'
		continue
	fi
	cp "$loader" "ld$bits.env" && gcc -m$bits -Wl,--dynamic-linker="$PWD/ld$bits.env" -o "other$bits" p.c && cp "p$bits" "p$bits.env"
	"./other$bits"
	check "a program of $bits bits with a loader of its own ($bits)" [ "$?" -eq 7 ]
	launch "${under[@]}" -- sh -c "./other$bits"
	check "not one that may not be read ($bits)" [ "$status" -eq 126 ]
	check "and the line says so ($bits)" grep -q "denied \(exec\|read\) .*/ld$bits.env" "$TMP/err"
	launch "${under[@]}" -- "./other$bits"
	check "nor as the command itself ($bits)" [ "$status" -eq 126 ]
	launch "${under[@]}" -- sh -c "$loader ./p$bits.env"
	check "a loader loads no program that may not be read ($bits)" [ "$status" -ne 7 -a "$status" -ne 0 ]
done
if [ -n "$ld" ]; then
	launch "${under[@]}" -- "$ld" ./p64
	check 'a loader started by its name runs what may be read' [ "$status" -eq 7 ]
	chmod -x p64
	launch "${under[@]}" -- "$ld" ./p64
	check 'with an execute bit or without: as THREAT-MODEL has it' [ "$status" -eq 7 ]
	launch "${under[@]}" -- "$ld" --preload ./prog.env /bin/true
	check 'nor does it preload what may not be read' grep -qi 'denied\|cannot open\|cannot be preloaded' "$TMP/err"
fi
launch "${under[@]}" -- sh -c ./script
check 'an interpreter that may not be read' [ "$status" -eq 126 ]
launch "${under[@]}" -- sh -c ./script2
check 'nor one of an interpreter' [ "$status" -eq 126 ]
