#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One cell of the matrix, inside the guest, as whoever runs it: smoke, selftest, escape, agreement, e2e, hosts,
# those of $PARTS. Prints "= PART OK FAILED SKIPPED SECONDS" for each, failures as they are, and
# "= refused CAUSE" when a strict run is refused here.
here=$(cd "$(dirname "$0")" && pwd)
export PATH=/opt/sbx/bin:$PATH B=/opt/sbx/build SBX=/opt/sbx/bin/sbx-launch SBX_RACE_MS=100 FULL=1
export LD_LIBRARY_PATH=/opt/sbx/test-libs LC_ALL=C.UTF-8
log=$(mktemp) || exit 2

count() # PART SECONDS-AT-START: of the TAP lines in $log
{
	ok=$(grep -c '^ok' "$log") failed=$(grep -c '^not ok' "$log") skipped=$(grep -ci '^ok.*# skip' "$log")
	grep -A 3 '^not ok' "$log" | cut -c 1-300
	[ $((ok + failed)) -gt 0 ] || { failed=1; tail -n 5 "$log"; }
	echo "= $1 $((ok - skipped)) $failed $skipped $((SECONDS - $2))"
}

smoke()
{
	sh "$here/smoke.sh" >"$log" 2>&1
}

selftest() # its lines as TAP
{
	sbx-launch --selftest 2>&1 | sed -n 's/^held  /ok /p; s/^skipped */ok # skip /p; s/^THROUGH\|^untested/not ok &/p' >"$log"
}

escape()
{
	bash "$here/../escape/run.sh" --as-me 0 >"$log" 2>&1
}

agreement() # 20,000 calls, each a test
{
	# from Yama's scope 2 on an ordinary user's broker serves in a user namespace, and so here
	local apart=
	[ "$(id -u)" = 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope)" -lt 2 ] || apart='unshare --user --keep-caps --map-current-user'
	if timeout 900 $apart "$B/tests/agreement/test_broker" --filter 'agreement_broker/engine*' >"$log" 2>&1; then
		yes ok | head -n 20000 >"$log"
	else
		tail -n 12 "$log" | cut -c 1-300 | sed 's/^/# /' # the cause stands above the name
		sed -i 's/^\[FAIL\]/not ok/' "$log"
	fi
}

e2e()
{
	for t in ${E2E:-status stdio secrets scratch refusals}; do
		E2E_AS_ME=1 timeout 600 bash "$here/../e2e/$t.sh" 2>&1
	done >"$log"
}

hosts() # random filters and places on this kernel, under this scope: --doctor against runs
{
	(mkdir -p "$HOME/hosts" && cd "$HOME/hosts" && TMPDIR=/tmp E2E_INNER=$(id -un) E2E_ROOT=$HOME \
		python3 "$here/../support/hosts.py" "$B/tests/mkhost" "$SBX" "${HOSTS_ROUNDS:-8}" "${HOSTS_SEED:-}") >"$log" 2>&1
}

mkdir -p "$HOME/try" && cd "$HOME/try" || exit 2
if ! why=$(sbx-launch -qq -- true 2>&1); then
	echo "= refused $(printf '%s' "$why" | tail -n 1 | cut -c 1-400)"
	exit
fi
for part in $PARTS; do
	start=$SECONDS
	"$part"
	count "$part" "$start"
done
