#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is remembered of a host, and what a filter refuses that its attempt did not see: a run is made
# whole, or ends with a line that names what is refused; and what fails under one filter is nothing to
# the next.
. "$(dirname "$0")/../support/e2e.sh"

HOST=$(dirname "$SBX")/mkhost
if ! [ -x "$HOST" ] || ! "$HOST" --call 166=38 true 2>/dev/null; then
	skip 'hosts that lack something' 'mkhost cannot make them here'
	exit 0
fi
git init -q . 2>/dev/null
memory=$HOME/.local/state/sbx-launch/host
other='--call 166=38' # one filter, which refuses nothing that a run needs: umount2(2)

on() # FILTER ARGS...: what works everywhere, inside
{
	local filter=$1
	shift
	# shellcheck disable=SC2086
	timeout 60 "$HOST" $filter "$SBX" "$@" -- sh -c 'echo a >f && mkdir d && mv f d/g && ln d/g h && rm d/g && cat h; rm -r d h' \
		>"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
}

believe() # a yes, tried under the other filter
{
	on "$other"
	[ -e "$memory" ] || on "$other" # the first makes the directory
	[ "$status" = 0 ] && grep -q '^0 0 0 ' "$memory"
}

# ioctl(2) of a listener: ADDFD, RECV; then single calls. BELIEVED takes more of them.
for call in ${BELIEVED:-16:1:1075323139=38 16:1:3226476800=38 316=38 263=1 319=1 47=1 76=1 157:0:1396857943=22}; do
	check "$call: first there is a yes" believe
	on "--call $call"
	first=$status why=$(sed -n 's/^sbx-launch: E_//p' "$TMP/err" | tail -n 1)
	if { [ "$first" = 0 ] && [ "$(cat "$TMP/out")" = a ]; } || { [ "$first" = 125 ] && [ "$why" ] && [ ! -s "$TMP/out" ]; }; then
		ok "$call: whole, or refused with a cause"
	else
		{ echo "status $first"; cat "$TMP/out" "$TMP/err"; } | not_ok "$call: whole, or refused with a cause"
	fi
	# the causes that the finder saw: of something else, or none
	check "$call: the cause is no consequence" sh -c '! grep -E "the broker died|must be mounted|E_NOEXEC|no listener" "$1"' - "$TMP/err"
	on "$other"
	check "$call: nothing of it is believed under another filter" [ "$status:$(cat "$TMP/out")" = 0:a ]
done

# What ends by the wrong yes, and what the doctor says.
believe
on '--call 16:1:1075323139=38'
check 'a wrong yes: the line names the step' grep -q 'the broker cannot serve this run: a call cannot be answered with a descriptor' "$TMP/err"
check 'and is remembered no longer' [ ! -e "$memory" ]
believe
"$HOST" --call 16:1:1075323139=38 "$SBX" --doctor >"$TMP/doctor" 2>&1
check 'the doctor tries, whatever is remembered' grep -q 'error: a call cannot be answered with a descriptor' "$TMP/doctor"
check 'and says of the default policy what a run does' grep -q 'the default policy: refused' "$TMP/doctor"
on '--call 16:1:1075323139=38' --best-effort
check 'best effort does without the broker' [ "$status:$(cat "$TMP/out")" = 0:a ]
# A later caller is no command that greets.
cat >greet.py <<'P'
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.prctl(0x53425847, 0, 0, 0, 0), ctypes.get_errno())
P
launch -q -- python3 greet.py
check 'the greeting is the command'"'"'s alone' grep -qE '^-1 (22|38|1)$' "$TMP/out"
