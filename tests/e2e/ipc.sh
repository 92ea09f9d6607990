#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# System V IPC of the host is out of reach, whatever --network and --isolate say.
. "$(dirname "$0")/../support/e2e.sh"

if ! command -v python3 >/dev/null; then
	skip 'System V IPC' 'there is no python3'
	exit 0
fi

# make: a segment, a semaphore and a queue of the host, with their keys; look: reaches for each of
# them and prints what it got; then one of its own, which a namespace gives and the filter does not.
cat >"$TMP/ipc.py" <<'PY'
import ctypes, sys
c = ctypes.CDLL(None, use_errno=True)
c.shmat.restype = ctypes.c_void_p
key, what = int(sys.argv[2]), sys.argv[1]
CREAT, RMID = 0o1000, 0
class Message(ctypes.Structure):
    _fields_ = [("type", ctypes.c_long), ("text", ctypes.c_char * 16)]
m = Message(1, b"HOST")
if what == "make":
    shm, sem, msg = c.shmget(key, 4096, CREAT | 0o600), c.semget(key, 1, CREAT | 0o600), c.msgget(key, CREAT | 0o600)
    ctypes.memmove(c.shmat(shm, None, 0), b"HOST\0", 5)
    c.msgsnd(msg, ctypes.byref(m), 16, 0)
    print(shm, sem, msg)
elif what == "look":
    shm, sem, msg = map(int, sys.argv[3:6])
    for ident in {c.shmget(key, 4096, 0), shm} - {-1}:
        at = c.shmat(ident, None, 0)
        if at not in (None, ctypes.c_void_p(-1).value):
            print("segment", ctypes.string_at(at, 4))
            ctypes.memmove(at, b"LOST\0", 5)
        if c.shmctl(ident, RMID, None) == 0: print("segment removed")
    for ident in {c.semget(key, 1, 0), sem} - {-1}:
        if c.semctl(ident, 0, RMID, 0) == 0: print("semaphore removed")
    for ident in {c.msgget(key, 0), msg} - {-1}:
        if c.msgrcv(ident, ctypes.byref(m), 16, 0, 0o4000) >= 0: print("message", m.text)
    own = c.shmget(0, 4096, CREAT | 0o600)
    print("own" if own >= 0 and c.shmctl(own, RMID, None) == 0 else "none")
else:
    shm, sem, msg = map(int, sys.argv[3:6])
    at = c.shmat(shm, None, 0)
    kept = at not in (None, ctypes.c_void_p(-1).value) and ctypes.string_at(at, 4) == b"HOST"
    kept = kept and c.semctl(sem, 0, 12, 0) >= 0 and c.msgrcv(msg, ctypes.byref(m), 16, 0, 0o4000) >= 0
    c.shmctl(shm, RMID, None); c.semctl(sem, 0, RMID, 0); c.msgctl(msg, RMID, None)
    sys.exit(0 if kept else 1)
PY

key=$((0x5b000000 + ($$ & 0xffff) * 16))
apart() # WANTED OPTION...: what the command may have of its own, as a pattern
{
	local want=$1 ids
	shift
	key=$((key + 1))
	ids=$(python3 "$TMP/ipc.py" make $key) || return
	# shellcheck disable=SC2086
	launch --reads broad --read "$TMP" "$@" -- python3 "$TMP/ipc.py" look $key $ids
	cat "$TMP/out" "$TMP/err"
	# shellcheck disable=SC2086
	python3 "$TMP/ipc.py" kept $key $ids && [[ $(cat "$TMP/out") == $want ]]
}

launch -v true
any=own
grep -q 'pid namespace, private /dev/shm' "$TMP/err" || any='@(own|none)' # none can be made here
shopt -s extglob
# Where no namespace can be made the filter stands in, and a line says so.
if [ "$(id -u)" -eq 0 ] && command -v unshare setpriv >/dev/null; then
	fewer()
	{
		SBX="$TMP/fewer" apart none --network host -v &&
			grep -q 'no IPC namespace' "$TMP/err"
	}
	printf '#!/bin/sh\nexec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin %s "$@"\n' "$SBX" >"$TMP/fewer"
	chmod 755 "$TMP/fewer"
	check 'a root without CAP_SYS_ADMIN' fewer
fi
networks='none host'
common || networks=host # where root has namespaces unasked
for network in $networks; do
	for isolate in auto pid shm pid,shm none; do
		want=$any
		[ $network-$isolate != host-none ] || want=none
		[ $network-$isolate != host-auto ] || [ "$(id -u)" -eq 0 ] || want=none
		check "--network $network --isolate $isolate" apart "$want" --network $network --isolate $isolate
	done
done
exit 0
