#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What was built for another machine, under qemu's user mode: unit tests, vectors, the shim in real programs.
#
#	B=build-arm64 EMULATOR='qemu-aarch64 -L ROOT' tests/arm64/run.sh UNIT-TEST...
set -u
B=${B:-build-arm64}
read -ra emulator <<<"$EMULATOR"
tmp=$(mktemp -d "${TMPDIR:-/tmp}/sbx-arm64.XXXXXX") || exit 1
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0
report() # STATUS NAME
{
	n=$((n + 1))
	[ "$1" -eq 0 ] && echo "ok $n - $2" && return
	echo "not ok $n - $2"
	head -n 40 "$tmp/log" | sed 's/^/# /'
	bad=$((bad + 1))
}

# ---- unit tests ----

# These ask what qemu's user mode answers otherwise than a kernel does (memory that a fork wipes, the vDSO, long
# paths, filters), or look at programs of this machine.
others='core_deep: what_the_kernel_knows_is_its_text
core_deep: what_is_kept_saves_the_climb
shim_judge: folding_begins_anew_in_a_forked_child
shim_next: takes_the_default_of_several_versions
shim_next: the_vdso_tells_the_time
shim_next: the_brokers_filter_knows_the_quick_openat2
shim_program: a_dynamic_one
shim_program: an_alias_and_links_are_followed
shim_program: shebangs_of_all_shapes'
tests=0 skipped=0
for t in "$@"; do
	"${emulator[@]}" "$t" >"$tmp/log" 2>&1
	status=$?
	tests=$((tests + $(grep -c '^ok' "$tmp/log")))
	if [ $status = 1 ] && grep -q '^1\.\.' "$tmp/log"; then # it ended, so each failure has its line
		sed -n 's/^not ok [0-9]* - //p' "$tmp/log" | grep -vxF "$others" >"$tmp/failed"
		status=$?
		[ $status = 1 ] && status=0 && skipped=$((skipped + $(grep -c '^not ok' "$tmp/log"))) || status=1
		[ $status = 0 ] || grep -B 3 '^not ok' "$tmp/log" >"$tmp/failed"
		mv "$tmp/failed" "$tmp/log"
	fi
	report $status "${t##*/}"
done
echo "# $tests unit tests passed; $skipped are for a real machine alone"

here=$(cd "$(dirname "$0")/../.." && pwd)
case $B in /*) ;; *) B=$here/$B ;; esac
export HOME=$tmp/home TMPDIR=$tmp
mkdir "$HOME" "$tmp/ws"

# ---- the shim, preloaded into programs of that machine ----

# What --print-env says is for them; qemu itself is a program of this one.
shimmed() # COMMAND...
{
	local vars v pass=()
	vars=$(cd "$tmp/ws" && SBX_PROFILE=default "${emulator[@]}" "$B/sbx-launch" --print-env --audit-level all --deny-read closed 2>"$tmp/log") || return
	eval "$(printf '%s\n' "$vars" | sed 's/^export /declare /')"
	for v in $(printf '%s\n' "$vars" | sed -n 's/^export \([A-Z_a-z]*\)=.*/\1/p'); do pass+=(-E "$v=${!v}"); done
	(cd "$tmp/ws" && "${emulator[@]}" "${pass[@]}" "$@")
}
log() { cat "$HOME"/.local/state/sbx-launch/runs/*/audit.jsonl; }
if [ -x "$B/tests/shim_same" ]; then
	mkdir "$tmp/bare" && (cd "$tmp/bare" && "${emulator[@]}" "$B/tests/shim_same") >"$tmp/bare.out" 2>/dev/null </dev/null
	shimmed "$B/tests/shim_same" >"$tmp/shim.out" 2>"$tmp/log" </dev/null
	# openat2 and execveat are not known to qemu 7.2, nor do these two end as on a kernel bare
	sed -i '/^openat2\|^execveat\|^fexecve: closed\|^exclusively/d' "$tmp/bare.out" "$tmp/shim.out"
	diff "$tmp/bare.out" "$tmp/shim.out" >>"$tmp/log" && [ -s "$tmp/bare.out" ]
	report $? "the shim: $(wc -l <"$tmp/bare.out") calls end as bare"
	log 2>"$tmp/log" | grep -q '"path":"[^"]*/ws/d/f".*"call":"fopen"'
	report $? 'the shim: and they are recorded'
	! log 2>"$tmp/log" | grep '"allowed":true' | grep -q '"path":"/etc/new'
	report $? 'the shim: no change outside is allowed'
fi

# ---- what the programs say is what those of this machine say ----

policy() { "${emulator[@]}" "$B/sbx-policy" "$@"; }
if [ -x "$here/build/sbx-policy" ]; then
	same() # NAME ARGS...
	{
		local name=$1
		shift
		policy "$@" >"$tmp/theirs" 2>&1
		"$here/build/sbx-policy" "$@" >"$tmp/ours" 2>&1
		diff "$tmp/ours" "$tmp/theirs" >"$tmp/log"
		report $? "as on this machine: $name"
	}
	cd "$tmp/ws" || exit 1
	same 'presets' presets
	for preset in $(policy presets | sed -n 's/^\([a-z-]*\).*/\1/p'); do
		policy show "$preset" >/dev/null 2>&1 && same "the preset $preset" show "$preset"
	done
	printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: p}\nspec:\n  fsProfiles: {d: {read: ["**", "!**/*.env"], modify: ["src/**", "a?b*/**"]}}\n' >p.yaml
	chmod 600 p.yaml
	for path in src/x a1b/c aéb2/d .env x/.env src/.env aab ./src .git/config; do
		for op in read modify exec; do
			policy why -p p.yaml $op $path 2>&1 | sed 's/  \[.*//' >"$tmp/theirs"
			"$here/build/sbx-policy" why -p p.yaml $op $path 2>&1 | sed 's/  \[.*//' >"$tmp/ours"
			diff "$tmp/ours" "$tmp/theirs" >"$tmp/log" && [ -s "$tmp/ours" ]
			report $? "as on this machine: why $op $path"
		done
	done
fi
echo "1..$n"
[ $bad -eq 0 ]
