#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The shim tells the broker whole paths: nothing comes out otherwise where the current directory is
# gone, closed from above, moved by the run or by the host, or has a long name.
. "$(dirname "$0")/../support/e2e.sh"

# In-process (the shell's own opens) and by other programs; stderr is compared as well, but where no
# name can be: of a directory that is gone the shim says EACCES.
act='echo x >f; echo "open $?"; mkdir g; echo "mkdir $?"; mv f h; echo "mv $?"; ln -s h s; echo "ln $?"
	cp h i; echo "cp $?"; rm h i s; echo "rm $?"; rmdir g; echo "rmdir $?"; ls -A'

same 'in a directory that is gone' "mkdir d; cd d; echo x >f; rm f; rmdir ../d; exec 2>/dev/null; $act"
same 'in one that is gone, and another has its name' \
	"mkdir d; cd d; echo x >f; rm f; rmdir ../d; mkdir ../d; exec 2>/dev/null; $act; ls -A ../d"
same 'below a closed directory' \
	"mkdir -p a/b; cd a/b; echo x >f; chmod 0 ..; $act; chmod 700 .."
same 'below one that may be entered, and not read' \
	"mkdir -p a/b; cd a/b; chmod 100 ..; $act; chmod 700 .."
same 'in one that may not be entered any more' "mkdir d; cd d; chmod 0 .; $act; chmod 700 ."
same 'in one that another program has moved' \
	"mkdir d; cd d; echo x >f; rm f; mv ../d ../e; mkdir ../d; $act; echo z >z; ls -A ../d ../e"
same 'in one whose parent was moved' \
	"mkdir -p a/d; cd a/d; echo x >f; rm f; (cd ../..; mv a b; mkdir -p a/d); $act; echo z >z; find ../.. | sort"
same 'under a long name' \
	'n=$(printf %0200d 0); mkdir -p $n/$n/$n; cd $n/$n/$n; '"$act"
same 'at the depth where paths end' \
	'n=$(printf %0200d 0); for i in {1..21}; do mkdir $n && cd $n || exit; done; echo x >f; echo $?; mv f h; echo $?; rm h; echo $?'

# The host moves it, and puts another in its place, while the program is in it.
cat >"$TMP/in.sh" <<'S'
cd d && echo x >first && rm first && touch ready
while [ ! -e "$1/go" ]; do sleep 0.05; done
echo x >opened; mkdir made; mv ready moved; ln -s x linked; chmod 600 opened
S
host_moves() # PREPARE-AFTER-THE-MOVE
{
	fresh
	rm -f "$TMP/go"
	mkdir d
	"$SBX" -q --also-read "$TMP" -- bash "$TMP/in.sh" "$TMP" &
	local pid=$!
	for _ in {1..200}; do [ ! -e d/ready ] || break; sleep 0.05; done
	mv d e && $1 && touch "$TMP/go"
	wait $pid
}
another() { mkdir d && touch d/ready; }
host_moves another
check 'the host moves it and makes another: what is made is where the program is' \
	[ "$(ls e | xargs) $(ls d | xargs)" = 'linked made moved opened ready' ]
host_moves :
check 'the host moves it: the same' [ "$(ls e | xargs)" = 'linked made moved opened' ]

# Each change is one line of the record.
fresh
"$SBX" -q --audit-level all -- bash -c 'echo x >fine; mv fine finer; rm finer' 2>/dev/null
"${SBX%/*}/sbx-audit" cat >"$TMP/lines"
check 'a change is recorded once' [ "$(grep '"result"' "$TMP/lines" | grep -c '"./fine"') $(grep '"result"' "$TMP/lines" | grep -c '"./finer"')" = '2 2' ]
