#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every exported name, allowed and denied; and the situations a preloaded library must survive
# (tests/probe/shim_law.c lists them).
. "$(dirname "$0")/../support/shim.sh"

fresh()
{
	rm -rf ok no top
	mkdir -p ok/dir no
	printf abc >ok/file
	printf abc >no/file
	: >ok/file2
	: >ok/dir/x
	ln -s file ok/link
	ln -s ../no/file ok/to-no
}
policy=(--rule all:/ --rule "all:!$T/no/" --rule "all:!$T/top/in/secret")

fresh
run all "${policy[@]}" -- "$BIN/shim_matrix" "$T"
check 'every name: allowed does, denied does not' [ "$status" -eq 0 ]
printf '%s\n' "$out" | grep '^not ok' | sed 's/^/# /'
matrix=$out
missing=
while read -r _ _ event name; do
	case $event in mkstemp | mkdtemp) object=$name.?????? ;; *) object=$name ;; esac
	case $event in *xattr) err='*' ;; *) err=0 ;; esac # not every file system has them
	has_event "CALL $event * allow $err - * $T/ok/$object*" || missing="$missing $name(allowed)"
	has_event "CALL $event * DENY EACCES * $T/no/$object*" || missing="$missing $name(denied)"
done < <(printf '%s\n' "$matrix" | grep '^# event')
check "every name tells its event${missing:+, but:$missing}" [ -z "$missing" ]

for program in shim_law shim_odd shim_stack; do
	check "$program lists what it tries" [ "$("$BIN/$program" list | wc -l)" -gt 2 ]
done
for law in $("$BIN/shim_law" list | sed 's/^/shim_law:/') $("$BIN/shim_odd" list | sed 's/^/shim_odd:/') \
	$("$BIN/shim_stack" list | sed 's/^/shim_stack:/'); do
	name=${law#*:}
	fresh
	run all "${policy[@]}" -- "$BIN/${law%:*}" "$name" "$T"
	check "law: ${name//_/ }" [ "$status" -eq 0 ]
	case $name in
	raw_fork) event 'a raw fork has its own pid' "CALL open read DENY EACCES - $out $T/no/file" ;;
	walk*)
		event 'in a walk: what is allowed' "CALL open read allow 0 - * $T/ok/file"
		event 'in a walk: what is denied' "CALL open read DENY EACCES - * $T/no/file"
		;;
	argument_list) event 'a list that is too long is told' 'CALL execve exec allow E2BIG *' ;;
	filter_moves) event 'what moved meanwhile has its new name' "CALL openat read allow 0 - * $T/ok/moved/x" ;;
	teardown) check 'the last destructor ran' [ "$out" = 'to the end' ] ;;
	nofile) event 'failures inside are counted' 'TROUBLE*internal=*' ;;
	vfork)
		event 'a vfork child in another directory' "CALL open read allow 0 - * $T/ok/file"
		event 'and its parent, where it was' "CALL open read DENY EACCES - * $T/no/file"
		;;
	esac
done
fresh
run all --deny-on-error "${policy[@]}" -- "$BIN/shim_law" nofile "$T"
check 'an image that denies on failure' [ "$status" -ne 0 ]

# what the shim has no part in comes out as without it
mkdir bare shimmed
(cd bare && "$BIN/shim_same") >"$T.bare" </dev/null
run all "${policy[@]}" -- sh -c "cd shimmed && exec $BIN/shim_same"
check 'outcomes are those of a run without the shim' \
	[ "$out" = "$(cat "$T.bare")" -a "$(wc -l <"$T.bare")" -gt 40 ]
diff "$T.bare" <(printf '%s\n' "$out") | sed 's/^/# /'
