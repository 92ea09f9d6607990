#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Whatever advice sbx-launch and sbx-policy print while the scripts of tests/e2e run is followed, each kind once
# (teller.py): it cures, and opens the refused object alone. The quick form runs the scripts below; REMEDIES=all all of
# them, and tries a kind once in each.
here=$(cd "$(dirname "$0")" && pwd)
B=$(cd "${B:-build}" && pwd) || exit 1
export B
E2E_REMEDIES=$(mktemp -d "${TMPDIR:-/tmp}/sbx-remedies.XXXXXX") || exit 1
export E2E_REMEDIES
trap 'rm -rf "$E2E_REMEDIES"' EXIT
mkdir "$E2E_REMEDIES/kinds"
: >"$E2E_REMEDIES/results.jsonl"
chmod 1777 "$E2E_REMEDIES" "$E2E_REMEDIES/kinds"
chmod 666 "$E2E_REMEDIES/results.jsonl"

quick='refusals secrets caps refused_calls foreseen'
# Where time, processes or terminals are what is tried.
never='kill_storm|stress_log|shim_stress|realwork_kills|connect_kill|connect_agree|terminal.*|agents|hosts_agree|runs|runs_hidden'
if [ -n "${REMEDIES:-}" ]; then
	: >"$E2E_REMEDIES/full"
	# shellcheck disable=SC2046
	set -- $(cd "$here/../e2e" && printf '%s\n' *.sh | sed 's/\.sh$//' | grep -vxE "$never")
else
	# shellcheck disable=SC2086
	set -- $quick
fi
# What the scripts themselves find is not looked at: a program that is another one's child is not what they expect.
collect() # SCRIPT
{
	FULL='' E2E_LOGS=0 timeout -k 5 "${E2E_SECONDS:-300}" bash "$1" >"$E2E_REMEDIES/${1##*/}.out" 2>&1 </dev/null ||
		echo "# $(basename "$1" .sh) ended with status $?"
}
export -f collect
printf "$here/../e2e/%s.sh\0" "$@" | xargs -0 -P "$([ -n "${REMEDIES:-}" ] && nproc || echo 1)" -I{} bash -c 'collect {}'
python3 "$here/judge.py" "$B" "$E2E_REMEDIES" "${REMEDIES:+100}"
