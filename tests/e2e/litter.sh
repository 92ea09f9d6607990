#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What runs leave outside of the records: nothing, but what stays on purpose. That lies in
# directories that say what they are for, --doctor counts it, and `sbx-audit prune` removes it.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"

me=$(id -u)
if [ "$me" -ne 0 ] || ! unshare -m true 2>/dev/null; then
	skip 'what is left in /tmp and /dev/shm' 'needs root, who may mount a /tmp of its own'
	exit 0
fi

# All kinds of runs, with a /tmp, a /var/tmp and a /dev/shm in which nobody else makes anything.
cat >"$TMP/all" <<-'END'
	left()
	{
		(cd "$1" && find . -mindepth 1 | sed 's/[0-9a-zA-Z]\{6\}\(\/\|$\)/X\1/' | sort | tr '\n' ' ')
	}
	# where this test lies itself
	mount -t tmpfs t /mnt && mkdir /mnt/bin /mnt/root && mount --bind "${SBX%/*}" /mnt/bin &&
		mount --bind "$E2E_ROOT" /mnt/root && mkdir -p /mnt/root/litter && cd /mnt/root/litter || exit 9
	export SBX=/mnt/bin/sbx-launch HOME=/mnt/root
	audit=/mnt/bin/sbx-audit
	for d in /tmp /var/tmp /dev/shm; do mount -t tmpfs t "$d" && chmod 1777 "$d" || exit 9; done
	unset TMPDIR XDG_RUNTIME_DIR
	export XDG_STATE_HOME=$HOME/state
	for options in '' --no-shim '--isolate none' '--network host' '--audit-level none' '--timeout 9'; do
		"$SBX" -q $options -- sh -c 'echo x >"$TMPDIR/x"; mkdir "$TMPDIR/closed"; chmod 0 "$TMPDIR/closed"'
	done
	"$SBX" -q -- "$SBX" -q -- true
	"$SBX" -q --result-json result -- true
	"$SBX" -q -- sh -c 'kill -9 $PPID'
	"$SBX" -q -- true &
	"$SBX" -q -- true & wait
	SBX_PROFILE=default "$SBX" --print-env >env && (. ./env; sh -c 'echo x >"$TMPDIR/x"')
	"$SBX" --doctor | grep -A9 '^Files that runs left' >doctor
	"$SBX" --doctor --json | jq -r '.left[] | "\(.n) \(.in)"' >doctor.json
	left /tmp >tmp; left /var/tmp >vartmp; left /dev/shm >shm
	cp -r "$XDG_STATE_HOME" state
	"$SBX" -q -- sh -c 'touch "$TMPDIR/mine"; touch started; while [ ! -e pruned ]; do sleep 0.05; done; cat "$TMPDIR/mine" && echo held' >held &
	for _ in $(seq 600); do [ ! -e started ] || break; sleep 0.05; done
	"$audit" prune; left /tmp >tmp.live; left /dev/shm >shm.live; touch pruned; wait
	"$audit" prune --keep-runs 1; left /tmp >tmp.pruned; left /dev/shm >shm.pruned
	"$SBX" -q -- true; echo $? >after
	# a session has a place of its own for channels
	"$audit" prune --keep-runs 1; mkdir -m 700 /mnt/runtime && export XDG_RUNTIME_DIR=/mnt/runtime
	for options in '' --no-shim '--isolate none'; do
		"$SBX" -q $options -- sh -c 'echo x >"$TMPDIR/x"; echo "$SBX_CHANNEL"' >>channels
	done
	"$SBX" -q -- sh -c 'kill -9 $PPID'; "$SBX" -q -- true
	left /tmp >tmp.runtime; left /dev/shm >shm.runtime; left /mnt/runtime >runtime
	"$audit" prune --keep-runs 1; left /tmp >tmp.runtime.pruned
END
unshare -m --propagation private bash "$TMP/all" >"$TMP/out" 2>"$TMP/err"
cd "$E2E_ROOT/litter" || exit 1
is() # FILE PATTERN: the one line that it has
{
	[[ "$(cat "$1")" =~ ^$2\ ?$ ]] || { cat "$1"; cat "$TMP/err"; false; }
}
kept="./sbx-launch-0.empty-for-next-run( ./sbx-launch-0.empty-for-next-run/sbx-launch-0.[0-7])+"
printed='./sbx-print-env-0 ./sbx-print-env-0/X ./sbx-print-env-0/X/run ./sbx-print-env-0/X/tmp ./sbx-print-env-0/X/tmp/x'
check '/tmp has two directories that say what they are for' is tmp "$kept $printed"
check '/var/tmp has nothing' is vartmp ''
check '/dev/shm has the lock of moves' is shm './sbx-launch-0 ./sbx-launch-0/moves-1'
check '--doctor counts them' [ "$(grep -cE '[0-9] in /(tmp/sbx-launch-0.empty-for-next-run|tmp/sbx-print-env-0|dev/shm/sbx-launch-0) ' doctor)" = 3 ]
check 'for programs too' [ "$(cut -d' ' -f2 doctor.json | sort | tr '\n' ' ')" = '/dev/shm/sbx-launch-0 /tmp/sbx-launch-0.empty-for-next-run /tmp/sbx-print-env-0 ' ]
check 'prune leaves what a run uses, and what a record names' is tmp.live "./sbx-launch-0.0 ./sbx-launch-0.0/mine $printed"
check 'and its channel and lock' is shm.live './sbx-launch-0 ./sbx-launch-0/X ./sbx-launch-0/X/ctl ./sbx-launch-0/X/image ./sbx-launch-0/X/ring ./sbx-launch-0/moves-1'
check 'the run goes on' is held held
check 'prune leaves nothing when the records go' is tmp.pruned ''
check 'and in /dev/shm the lock alone' is shm.pruned './sbx-launch-0 ./sbx-launch-0/moves-1'
check 'and the next run starts' is after 0
check 'with XDG_RUNTIME_DIR channels lie there' grep -q '^/mnt/runtime/sbx-launch/' channels
check 'and nothing of them stays' is runtime './sbx-X' # `left` takes six letters for a made-up name
check 'in /dev/shm the lock alone' is shm.runtime './sbx-launch-0 ./sbx-launch-0/moves-1'
check '/tmp has the one directory' is tmp.runtime "$kept"
check 'which prune removes there as well' is tmp.runtime.pruned ''
