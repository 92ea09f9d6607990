#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hosts that lack something, simulated by tests/support/mkhost.c: what --strict refuses and what
# --best-effort loses, --require, and that what remains promised holds.
. "$(dirname "$0")/../support/e2e.sh"

HOST=$(dirname "$SBX")/mkhost
if ! [ -x "$HOST" ] || ! "$HOST" --abi 3 true 2>/dev/null; then
	skip 'hosts that lack something' 'mkhost cannot make them here'
	exit 0
fi
mkdir -p "$HOME/.ssh"
echo secret >"$HOME/.ssh/id"

on() # LACK ARGS...: as launch, on a host without
{
	local lack=$1
	shift
	rm -f ran
	# shellcheck disable=SC2086
	"$HOST" $lack "$SBX" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
}

refused() # NAME LACK TEXT ARGS...
{
	local name=$1 lack=$2 text=$3
	shift 3
	on "$lack" "$@" touch ran
	if [ "$status" = 125 ] && [ ! -e ran ] && grep -q "^sbx-launch: E_FLOOR: .*$text" "$TMP/err"; then
		ok "$name"
	else
		{ echo "status $status"; cat "$TMP/err"; } | not_ok "$name"
	fi
}

runs() # NAME LACK TEXT-IN-RUN.JSON ARGS...
{
	local name=$1 lack=$2 text=$3 run
	shift 3
	on "$lack" "$@" touch ran
	run=$(ls -td "$HOME"/.local/state/sbx-launch/runs/* | head -n 1)
	if [ "$status" = 0 ] && [ -e ran ] && grep -q "$text" "$run/run.json"; then
		ok "$name"
	else
		{ echo "status $status"; cat "$TMP/err" "$run/run.json"; } | not_ok "$name"
	fi
}

# What every one of these hosts promises, by a shell that nobody preloads into.
holds() # NAME LACK ARGS...
{
	local name=$1 lack=$2
	shift 2
	rm -f "$HOME/made"
	on "$lack" -q "$@" -- sh -c '
		cat "$HOME/.ssh/id" 2>/dev/null && echo read
		(echo x >"$HOME/made") 2>/dev/null && echo wrote
		mv "$HOME/.ssh" ./moved 2>/dev/null && echo moved
		ln "$HOME/.ssh/id" ./linked 2>/dev/null && cat ./linked
		cat /proc/'$$'/environ >/dev/null 2>&1 && echo looked
		echo x >in && cat in'
	if [ "$(cat "$TMP/out")" = x ] && [ ! -e "$HOME/made" ] && [ -e "$HOME/.ssh/id" ]; then
		ok "$name"
	else
		{ echo "status $status"; cat "$TMP/out" "$TMP/err"; } | not_ok "$name"
	fi
}

for why in $(first 1 ENOSYS EOPNOTSUPP EPERM); do
	refused "no Landlock ($why): refused" "--no landlock=$why" 'no Landlock'
	runs "no Landlock ($why): best effort" "--no landlock=$why" '"losses":\[.*no Landlock' --best-effort
	check 'says the loss in a line' [ "$(grep -c '^sbx-launch: loss:' "$TMP/err")" = 1 ]
done
on '--no landlock' -q --best-effort -- sh -c 'cat "$HOME/.ssh/id"'
check 'and the shim still refuses' [ "$status" != 0 ]
on '--no landlock' -q --best-effort -- sh -c 'grep -E "^(NoNewPrivs|Seccomp):" /proc/self/status; cat /proc/net/dev'
check 'and filter and network hold' [ "$(grep -cE 'NoNewPrivs:.1|Seccomp:.2|^ *lo:' "$TMP/out")" = 3 ]

# What such a kernel does not see, the broker does, for as long as a call can be held (Linux 5.19).
refused 'ABI 1 without the broker: refused' '--abi 1 --no killable' 'EXDEV.*there is no broker to check it: Linux .* does not have a call that the broker needs, or a filter refuses it: Linux 5.19'
refused 'ABI 2 without the broker: refused' '--abi 2 --no listener' 'truncation.*there is no broker to check it: no listener for system calls'
for lack in '--abi 1 --no killable' '--abi 2 --no listener'; do
	runs "$lack: best effort" "$lack" '"losses":\[.*nothing is recorded' --best-effort
	holds "$lack: what remains holds" "$lack" --best-effort --no-shim
done
runs 'ABI 1: runs, and says that the broker has no domain' '--abi 1' '"losses":\[.*no Landlock domain of its own'
runs 'ABI 2: runs, and nothing is lost of moves and truncation' '--abi 2' '"landlock abi 2","broker"'
check 'no line about truncation, none about moves' sh -c "! grep -q 'EXDEV\|truncation' '$TMP/err'"
for abi in 3 4 5; do
	runs "ABI $abi: runs and says what is lost" "--abi $abi" '"losses":\[.*Linux 6.12' --isolate none --network host
done
for abi in 1 2 3 4 5; do
	holds "ABI $abi holds" "--abi $abi" --no-shim
	[ $abi -gt "$(rounds 1 5)" ] || holds "ABI $abi holds with read patterns" "--abi $abi" --deny-read '**/*.no'
done

# Moves, and truncation in every form: what may be written can be cut, nothing else can.
cut_by='
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
def how(flags, size=24):
    return (ctypes.c_ulonglong * 4)(flags, 0, 0, 0), size
def openat2(path, flags, size=24):
    h, n = how(flags, size)
    return libc.syscall(437, -100, path.encode(), h, ctypes.c_size_t(n))
path = sys.argv[1]
ways = {
    "truncate": lambda: os.truncate(path, 0),
    "read": lambda: os.open(path, os.O_RDONLY | os.O_TRUNC),
    "write": lambda: os.open(path, os.O_WRONLY | os.O_TRUNC),
    "creat": lambda: os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
    "openat2": lambda: openat2(path, os.O_RDONLY | os.O_TRUNC),
    "quick": lambda: openat2(path, os.O_RDONLY | os.O_TRUNC, 32),
    "reopen": lambda: os.open("/proc/self/fd/%d" % os.open(path, os.O_RDONLY), os.O_RDONLY | os.O_TRUNC),
    "ftruncate": lambda: os.ftruncate(os.open(path, os.O_RDWR), 0),
}
for name, cut in ways.items():
    try:
        os.path.getsize(path) or open(path, "w").write("content")
        cut()
    except OSError as e:
        pass
    if os.path.getsize(path) == 0:
        print(name)
'
# The ring may be opened, past the shim by instructions of our own.
cut_ring='
import ctypes, mmap, os, sys
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("4889f84889f74889d64889ca4d89c20f05c3"))
raw = ctypes.CFUNCTYPE(*[ctypes.c_long] * 6)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
def text(s):
    b = ctypes.create_string_buffer(s.encode())
    texts.append(b)
    return ctypes.addressof(b)
texts = []
ring = text(sys.argv[1])
how = (ctypes.c_ulonglong * 4)(os.O_RDWR | os.O_TRUNC, 0, 0, 0)
fd = raw(2, ring, os.O_RDWR, 0, 0)
size = os.fstat(fd).st_size
raw(77, fd, 0, 0, 0)
raw(76, ring, 0, 0, 0)
raw(2, ring, os.O_RDWR | os.O_TRUNC, 0, 0)
raw(2, ring, os.O_RDONLY | os.O_TRUNC, 0, 0)
raw(437, -100, ring, ctypes.addressof(how), 24)
raw(437, -100, ring, ctypes.addressof(how), 32)
raw(2, text("/proc/self/fd/%d" % fd), os.O_RDWR | os.O_TRUNC, 0, 0)
raw(2, text("/dev/fd/%d" % fd), os.O_RDONLY | os.O_TRUNC, 0, 0)
print(size > 0 and os.fstat(fd).st_size == size)
'
for lack in '--abi 1' '--abi 2' '--abi 7'; do
	[ "$lack" != '--abi 2' ] || full || continue
	echo secret >"$HOME/kept"
	for more in '' --no-shim "--deny-read=**/*.no"; do
		[ "$lack$more" != '--abi 7' ] && [ "$lack$more" != '--abi 1--no-shim' ] || full || continue
		# shellcheck disable=SC2086
		on "$lack" -q ${more/=/ } -- python3 -c "$cut_by" "$HOME/kept"
		check "$lack $more: nothing outside is cut" [ "$(cat "$HOME/kept")$(cat "$TMP/out")" = secret ]
		echo mine >mine
		# shellcheck disable=SC2086
		on "$lack" -q ${more/=/ } -- python3 -c "$cut_by" mine
		# "quick" is the kernel's own to answer where that sees truncation
		check "$lack $more: what may be written is cut in seven ways" [ "$(grep -vc quick "$TMP/out")" = 7 ]
		# shellcheck disable=SC2086
		on "$lack" -q ${more/=/ } -- sh -c 'mkdir -p p/q r && echo x >p/q/f && mv p/q r/ && ln r/q/f p/g && cat p/g; rm -r p r'
		check "$lack $more: moves and links between directories" [ "$(cat "$TMP/out")" = x ]
	done
	on "$lack" -q --audit-level all -- sh -c 'python3 -c "$1" "$SBX_CHANNEL/ring" && cat /etc/hostname' sh "$cut_ring"
	check "$lack: the run's ring is not cut" [ "$(cat "$TMP/out")" = "True
$(cat /etc/hostname)" ]
	run=$(ls -td "$HOME"/.local/state/sbx-launch/runs/* | head -n 1)
	check "$lack: and the record goes on behind it" grep -q /etc/hostname "$run/audit.jsonl"
done
# Abstract sockets: where neither a scope nor a namespace keeps them apart, none is connected to.
on '--abi 5' -q --network host -- python3 -c '
import socket
s = socket.socket(socket.AF_UNIX); s.bind("\0sbx-e2e-inside"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("\0sbx-e2e-inside")'
check "ABI 5 on the host's network: abstract sockets are closed" grep -q 'Operation not permitted' "$TMP/err"
runs 'ABI 6: runs' '--abi 6' 'landlock abi 6'
holds 'ABI 6 holds' '--abi 6' --no-shim

for why in $(first 1 EBUSY EPERM ENOSYS); do
	refused "no listener ($why): a rule that needs the broker is refused" "--no listener=$why" \
		'modify rule `\*\*/\*.env` (cli:--deny-modify:1)' --deny-modify '**/*.env'
	runs "no listener ($why): best effort" "--no listener=$why" '"losses":\[.*\*\*/\*.env' \
		--best-effort --deny-modify '**/*.env'
done
check 'the loss is told' grep -q '^sbx-launch: loss: modify rule' "$TMP/err"
# What the broker needs is tried, not believed: refused, or served whole.
lacks_broker() # LACK CAUSE
{
	refused "$1: refused, with the cause" "--no $1" "the protected set .*need the broker: $2"
	refused "$1: so is a pattern that denies reading" "--no $1" "read rule \`\*\*/\*.env" --deny-read '**/*.env'
	holds "$1: what remains holds" "--no $1" --best-effort --no-shim
	case $1 in listener*) ;; *) full || return ;; esac # all of it once
	runs "$1: best effort" "--no $1" '"losses":\[.*the protected set' --best-effort
	refused "$1: required" "--no $1" "broker: this host does not have it: $2" --require broker --best-effort
	mkdir -p .git/hooks
	on "--no $1" -q --best-effort -- sh -c '(echo x >.git/hooks/x) 2>/dev/null; echo y >out'
	check "$1: the shim keeps the protected set" [ -e out -a ! -e .git/hooks/x ]
	rm -rf .git out
	on "--no $1" -p "$TMP/reader.yaml" -- cat given
	check "$1: what writes nowhere needs none" [ "$status:$(cat "$TMP/out")" = 0:g ] 
}
cat >"$TMP/reader.yaml" <<'Y'
schemaVersion: 2
kind: Policy
metadata: {name: reader}
spec:
  fsProfiles:
    default: {read: ["**"], modify: []}
Y
chmod 600 "$TMP/reader.yaml"
echo g >given
for why in $(first 1 EBUSY EPERM ENOSYS); do
	lacks_broker "listener=$why" 'no listener for system calls'
done
for why in $(first 1 ENOSYS EPERM); do
	lacks_broker "openat2=$why" 'openat2(2) is refused'
	lacks_broker "memory=$why" 'process_vm_readv(2) is refused'
	lacks_broker "writing=$why" 'process_vm_writev(2) is refused'
	runs "no getfd ($why): runs" "--no getfd=$why" '"losses":\[.*sockets can be neither bound nor connected'
	check 'and says what fails' grep -q '^sbx-launch: note: sockets can be neither .*pidfd_getfd' "$TMP/err"
	holds "no getfd ($why): what remains holds" "--no getfd=$why" --no-shim --deny-read '**/*.no'
	runs "no pidfd ($why): runs" "--no pidfd=$why" '"losses":\[.*sockets can be neither bound nor connected'
done

# Each line of a refusal names the cause; what a run says of itself, the doctor says.
on '--no memory' --deny-read '**/*.env' true
check 'each line of a refusal names the cause' [ "$(grep -c 'E_FLOOR: .*process_vm_readv(2) is refused' "$TMP/err")" = 2 ]
on '--no getfd' --doctor
check 'the doctor has the notes of a run' grep -q '^ *note: sockets can be neither .*pidfd_getfd' "$TMP/out"
on '--no pidfd' --doctor --json
check 'and names the call that is refused' grep -q '"notes":\["sockets can be neither[^"]*pidfd_open(2)' "$TMP/out"
on '--call 47=1' true
check 'recvmsg(2) is named' grep -q 'sendmsg(2) or recvmsg(2) is refused' "$TMP/err"
no_files() { (ulimit -f 0; exec "$SBX" --doctor 2>&1) | cat >"$TMP/out"; grep -q '^The floor ' "$TMP/out"; }
check 'no file may be written: the doctor still says what it sees' no_files
if unshare -m true 2>/dev/null; then
	mkdir -p "$TMP/ro"
	unshare -m sh -c 'mount -t tmpfs t "$1" && mount -o remount,ro "$1" && HOME=$1 "$2" -- true' - "$TMP/ro" "$SBX" 2>"$TMP/err"
	check 'a home that is read-only: the remedy' grep -q 'E_AUDIT: .*Read-only file system: set XDG_STATE_HOME or use --audit-level none' "$TMP/err"
	unshare -m sh -c 'mount -t tmpfs t /dev && "$1" --doctor --json' - "$SBX" >"$TMP/out" 2>&1
	check 'no /dev/null: the doctor prints its answer alone' python3 -c 'import json, sys; json.load(open(sys.argv[1]))["verdicts"]' "$TMP/out"
	mkdir -p "$TMP/full"
	unshare -m sh -c 'mount -t tmpfs -o size=16k t "$1" && cat /dev/zero >"$1/f" 2>/dev/null; HOME=$1 "$2" --doctor >"$3"; HOME=$1 "$2" -- true' - \
		"$TMP/full" "$SBX" "$TMP/out" 2>"$TMP/err"
	check 'a home that is full: the remedy' grep -q 'E_AUDIT: .*No space left on device: set XDG_STATE_HOME or use --audit-level none' "$TMP/err"
	check 'and the doctor says so' grep -q 'E_AUDIT: .*No space left on device: set XDG_STATE_HOME' "$TMP/out"
	mkdir -p "$TMP/ro2/.local/state/sbx-launch/runs"
	unshare -m sh -c 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && HOME=$1 "$2" -- true' - "$TMP/ro2" "$SBX" 2>"$TMP/err"
	check 'so where the directory of runs is there' grep -q 'E_AUDIT: .*Read-only file system: set XDG_STATE_HOME or use --audit-level none' "$TMP/err"
fi
lock_free() { TMPDIR=$TMP/locks on '--call 73=38' -- true; [ "$status" = 125 ] && [ -z "$(ls -A "$TMP/locks")" ] && grep -q 'flock(2)' "$TMP/err"; }
mkdir -p "$TMP/locks"
check 'no locks: refused, and nothing is left' lock_free

for why in $(first 1 EPERM ENOSPC); do
	runs "no namespaces ($why): runs with the filter" "--no namespaces=$why" \
		'"network filter".*no network-namespace.*no pid-namespace.*no private-shm'
	holds "no namespaces ($why): what remains holds" "--no namespaces=$why" --no-shim
done
# as a container's filter, which looks at no flag
runs 'no unshare: runs with the filter' '--no unshare' '"network filter".*no network-namespace.*no pid-namespace.*no private-shm'
holds 'no unshare: what remains holds, the broker with it' '--no unshare' --no-shim --deny-read '**/*.no'
made=$(rounds 10 40)
on '--no unshare' -q --no-shim --deny-modify '**/*.no' -- bash -c '
	# callers that block leave the broker with several threads
	mkfifo fifo
	for i in 1 2 3 4 5 6; do cat >fifo <>/dev/null & (exec 3>fifo) & done
	for mask in 000 002 022 027 077; do
		(umask $mask; for i in $(seq '"$made"'); do : >f.$mask.$i; mkdir d.$mask.$i; done) &
	done
	exec 4<fifo
	wait
	: >x.no
	stat -c "%a %n" f.* d.* | sed "s/ \(.\)\.\(...\).*/ \1 \2/" | sort | uniq -c | xargs -n 4 | sort -k 3'
want=',40 777 d 000,40 775 d 002,40 755 d 022,40 750 d 027,40 700 d 077,40 666 f 000,40 664 f 002,40 644 f 022,40 640 f 027,40 600 f 077,'
check 'and each has its own umask' [ ",$(tr '\n' , <"$TMP/out")" = "${want//,40 /,$made }" ]
runs 'no mounts: runs without' '--no mounts' 'no pid-namespace.*no private-shm'
holds 'no mounts: what remains holds' '--no mounts' --no-shim
closed_shm() # LACK
{
	echo secret >"/dev/shm/sbx-e2e.$$"
	on "$1" -q -- sh -c "
		(: >/dev/shm/sbx-e2e-there) 2>/dev/null && echo made
		ls /dev/shm 2>/dev/null; cat /dev/shm/sbx-e2e.$$ 2>/dev/null
		echo x >/dev/shm/sbx-e2e.$$"
	set -- "$(cat "/dev/shm/sbx-e2e.$$")"
	rm -f "/dev/shm/sbx-e2e.$$"
	[ "$1" = secret ] && [ ! -s "$TMP/out" ] && [ "$status" != 0 ]
}
check "no namespaces: the host's /dev/shm is closed" closed_shm '--no namespaces'
check "no mounts: the host's /dev/shm is closed" closed_shm '--no mounts'
# A document that relies on a /tmp of its own, and may do without: what its rules open there is not the host's.
printf '[sandbox]\nenabled = true\nfail_if_unavailable = false\n[sandbox.filesystem]\nallow_write = ["${WORKSPACE}"]\n' >"$TMP/lax.toml"
chmod 600 "$TMP/lax.toml"
closed_tmp() # LACK
{
	echo host >"/tmp/sbx-e2e.$$"
	on "$1" -q -p "$TMP/lax.toml" "${@:2}" -- sh -c "
		(: >/tmp/sbx-e2e-there) 2>/dev/null && echo made; ls /tmp 2>/dev/null; cat /tmp/sbx-e2e.$$ 2>/dev/null
		mv made /tmp/sbx-e2e-moved 2>/dev/null; (echo x >/tmp/sbx-e2e.$$) 2>/dev/null; echo w >made && cat made"
	set -- "$(cat "/tmp/sbx-e2e.$$")"
	rm -f "/tmp/sbx-e2e.$$"
	[ "$1" = host ] && [ "$(cat "$TMP/out")" = w ] && [ "$status" = 0 ] && [ ! -e /tmp/sbx-e2e-there ] && [ ! -e /tmp/sbx-e2e-moved ]
}
check "no namespaces: the host's /tmp is closed, but for what stays" closed_tmp '--no namespaces'
check "no mounts, and no shim: likewise" closed_tmp '--no mounts' --no-shim
sed '/^fail_if/d' "$TMP/lax.toml" >"$TMP/strict.toml" && chmod 600 "$TMP/strict.toml"
on '--no namespaces' -q -- bash -c 'echo >/dev/tcp/127.0.0.1/1'
check 'and there is no network' grep -qi 'permission denied\|not permitted\|not supported' "$TMP/err"

refused 'required: landlock' '--no landlock' 'landlock: this host does not have it: .*lsm=' --require landlock --best-effort
refused 'required: an ABI' '--abi 5' 'landlock=6: this host does not have it: Linux 6.12' --require landlock=6 --best-effort
refused 'required: the shim' '--abi 2 --no listener' 'shim: this host does not have it: ' --require shim --best-effort
remedy='allow user namespaces' # which helps no root: its namespaces are made without one
[ "$(id -u)" != 0 ] || remedy='grant root CAP_SYS_ADMIN, start as an ordinary user'
refused 'a document that relies on a /tmp of its own' '--no namespaces' "required: .*$remedy" -p "$TMP/strict.toml"
for need in $(first 1 network-namespace pid-namespace private-shm private-tmp); do
	refused "required: $need" '--no namespaces' "required: $need: .*$remedy" \
		--require $need --best-effort
done
refused 'named by --isolate is required' '--no namespaces' 'required: pid-namespace: ' --isolate pid --best-effort
refused 'a network namespace without network none' '--abi 7' 'network-namespace: the command uses the host' \
	--network host --require network-namespace
runs 'a host that has all' '--abi 7' 'pid namespace' --require landlock --require landlock=6 --require broker \
	--require network-namespace --require pid-namespace --require private-shm --require shim
on '--abi 7' --require magic true
check 'an unknown ability is a usage error' grep -q 'E_USAGE: .*unknown ability `magic`' "$TMP/err"
