#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the shim judges and tells: canonical paths, errno, levels, moves.
. "$(dirname "$0")/../support/shim.sh"

mkdir ok no
echo hello >ok/f
echo secret >no/f
ln -s ../no/f ok/to-no
ln -s no lnk
ln -s "$T/no/new" ok/dangling
ln -s ok/f to-ok
policy=(--rule all:/ --rule "all:!$T/no/")

# ---- one object, many names ----
run all "${policy[@]}" -- cat ok/f
check 'an allowed file is read' [ "$out" = hello ]
event 'the read is told' "CALL open read allow 0 - * $T/ok/f"
event 'the program says hello' 'HELLO start exec allow 0 - * /*bin/cat'

for name in no/f "$T/no/f" ok/../no/f lnk/f ok/to-no lnk/../no/f ./no//f /proc/self/cwd/no/f \
	"/proc/self/root$T/no/f" "/proc/thread-self/root$T/lnk/f"; do
	run all "${policy[@]}" -- cat "$name"
	check "denied: ${name/$T/DIR}" [ "$status$out" = 1 ]
	event "told by its own path: ${name/$T/DIR}" "CALL open read DENY EACCES - * $T/no/f"
done
run all "${policy[@]}" -- bash -c 'exec 9<no; cat /dev/fd/9/f'
check 'denied: through a descriptor of its directory' [ "$status$out" = 1 ]
run all "${policy[@]}" -- bash -c 'cd no && cat f'
check 'denied: from inside the directory' [ "$status$out" = 1 ]
run all --rule all:/ --rule "all:!$T/lnk/" -- cat lnk/f
check 'a rule on a symlink says nothing of its target' [ "$out" = secret ]
run all --rule all:/ --rule "all:!$T/to-ok" -- cat to-ok
check 'nor does a denied name deny the object behind it' [ "$out" = hello ]
run all --rule all:/ --alias "$T/lnk=$T/no" --rule "all:!$T/no/f" -- cat lnk/f
check 'an alias leads to the object' [ "$status$out" = 1 ]
run all "${policy[@]}" -- cat /proc/self/comm
check '/proc/self is read' [ "$out" = cat ]
printf piped >ok/p
run all "${policy[@]}" -- bash -c 'cat <(cat ok/p) | cat /dev/stdin'
check 'pipes have no rules' [ "$out" = piped ]
new=$'ok/line\nfeed \xff'
run all "${policy[@]}" -- bash -c 'echo x >"$1" && cat "$1"' - "$new"
check 'any bytes but NUL make a name' [ "$out" = x ]

# ---- writing and creating ----
run all "${policy[@]}" -- bash -c 'echo x >no/new'
check 'creating in a denied directory fails' [ "$status" -ne 0 -a ! -e no/new ]
event 'and is told' "CALL open modify DENY EACCES - * $T/no/new"
run all "${policy[@]}" -- bash -c 'echo x >ok/dangling'
check 'nor through a dangling symlink' [ "$status" -ne 0 -a ! -e no/new ]
event 'told by the name it would have had' "CALL open modify DENY EACCES - * $T/no/new"
run all "${policy[@]}" -- bash -c 'echo x >no/f'
check 'a denied file is not truncated' [ "$(cat no/f)" = secret ]
run all "${policy[@]}" -- bash -c 'echo more >>ok/new && cat ok/new'
check 'an allowed one is made' [ "$out" = more ]
run all --rule all:/ --rule 'modify:!/' -- bash -c 'cat ok/f && { echo x >>ok/f; }'
check 'read and modify are two things' [ "$out" = hello -a "$(cat ok/f)" = hello ]

# ---- the kernel's own answers ----
run all "${policy[@]}" -- bash -c 'cat no/missing; mkdir no; rmdir no/missing; mkdir no/x/y; rm no/missing'
check 'ENOENT and EEXIST come before EACCES' [ "$(grep -cE 'No such file|File exists' "$T.err")" = 5 ]
no_event 'and are no denials at level denied' 'CALL * DENY EACCES *'

# ---- moves ----
run all "${policy[@]}" -- mv ok ok2
check 'a directory may be renamed' [ -e ok2/f ]
event 'both ends are told' "CALL rename* modify allow 0 - * $T/ok $T/ok2"
mv ok2 ok
run all --rule all:/ --rule "read:!$T/no/" -- mv no pub
check 'not where its denied content would be allowed' [ -e no/f -a ! -e pub ]
event 'the operation that objects is told' "CALL rename* modify DENY EACCES read * $T/no $T/pub"
run all --rule all:/ --rule "read:!$T/no/" -- ln no/f ok/hard
check 'nor by a hard link' [ ! -e ok/hard ]

# ---- levels ----
work='for i in 1 2 3; do :; done <ok/f; cat ok/f ok/f no/f no/f; echo x >ok/w; echo x >ok/w'
run folded "${policy[@]}" -- bash -c "$work"
check 'folded: a read once per process' [ "$(count_events "CALL open read allow 0 - * $T/ok/f")" = 2 ]
check 'folded: every denial' [ "$(count_events "CALL open read DENY * $T/no/f")" = 2 ]
check 'folded: every modify' [ "$(count_events "CALL open modify allow 0 - * $T/ok/w")" = 2 ]
run all "${policy[@]}" -- bash -c "$work"
check 'all: every read' [ "$(count_events "CALL open read allow 0 - * $T/ok/f")" = 3 ]
run modify "${policy[@]}" -- bash -c "$work"
no_event 'modify: no reads' 'CALL open read allow *'
event 'modify: modifies' 'CALL open modify allow *'
run denied "${policy[@]}" -- bash -c "$work"
no_event 'denied: nothing allowed' 'CALL * allow *'
event 'denied: denials' 'CALL open read DENY *'
run none "${policy[@]}" -- bash -c "$work"
no_event 'none: no calls' 'CALL *'
event 'none: programs' 'HELLO *'
check 'the verdicts are the same at every level' grep -q 'Permission denied' "$T.err"

# ---- without a channel ----
out=$(LD_PRELOAD=$shim cat no/f)
check 'no channel: inert' [ "$out" = secret ]
out=$(LD_PRELOAD=$shim SBX_CHANNEL=/nonexistent cat no/f)
check 'an unreadable channel: inert' [ "$out" = secret ]
mkdir bad && head -c 5000 /dev/zero >bad/image && cp bad/image bad/ring
out=$(LD_PRELOAD=$shim SBX_CHANNEL=$T/bad cat no/f)
check 'a broken channel: inert' [ "$out" = secret ]

# ---- questions ----
mkdir -p ok/sub
run all "${policy[@]}" -- bash -c 'test -r no/f; echo $?; test -r ok/f; echo $?; test -w no; echo $?; test -e no/f; echo $?; test -x ok/sub; echo $?; test -r ok/to-no; echo $?'
check 'access is answered from the policy, existence is free' \
	[ "$out" = $'1\n0\n1\n0\n0\n1' ]
run all --rule all:/ --rule 'modify:!/' --rule "modify:$T/ok/sub/*.txt" -- \
	bash -c 'test -w ok/sub; echo $?; test -w ok; echo $?; test -w no; echo $?'
check 'a directory is writable where something may be made in it' [ "$out" = $'0\n0\n1' ]
run all "${policy[@]}" -- stat no/f
check 'stat is free' [ "$status" -eq 0 ]
event 'and told at the level all' "QUERY statx read allow 0 - * $T/no/f"
run all "${policy[@]}" -- stat no/missing
event 'with the kernel'"'"'s answer' "QUERY statx read allow ENOENT - * $T/no/missing"
run folded "${policy[@]}" -- bash -c 'stat no/f; test -r no/f'
no_event 'at no other' 'QUERY *'
run all "${policy[@]}" -- sh -c 'ls -l no/f 2>&1'
check 'attributes of labels and access lists are free' \
	[ "${out##* }" = no/f -a "${out#*denied}" = "$out" ]
run folded "${policy[@]}" -- ls -l ok
no_event 'attributes that are not there were not read' 'CALL getxattr *'

# ---- what the library does by itself ----
run all "${policy[@]}" -- python3 -Ec 'import tempfile, multiprocessing.shared_memory as m
s = m.SharedMemory(create=True, size=64); s.close(); s.unlink()'
event 'shared memory has a path' 'CALL shm_open modify allow 0 - * /dev/shm/psm_*'
event 'and loses it' 'CALL shm_unlink modify allow 0 - * /dev/shm/psm_*'
run all --rule all:/ --rule 'modify:!/dev/shm/*' -- python3 -Ec 'import _multiprocessing as m
try: m.SemLock(1, 1, 1, "/sbx-test", True)
except PermissionError: print("EACCES")'
check 'a semaphore is a file of /dev/shm' [ "$out" = EACCES ]
event 'told by its path' 'CALL sem_open modify DENY EACCES - * /dev/shm/sem.sbx-test'
run all "${policy[@]}" -- python3 -Ec 'import ctypes, os
print(ctypes.CDLL(None, mode=os.RTLD_DEEPBIND | os.RTLD_NOW) is not None)
ctypes.CDLL("libm.so.6", mode=os.RTLD_DEEPBIND | os.RTLD_NOW)'
event 'a library bound past every preload is a loss' 'LOSS dlopen * allow 0 deepbind * libm.so.6'
run all "${policy[@]}" -- python3 -Ec 'import ctypes
print(ctypes.CDLL(None).open(b"no/f", 0))
ctypes.CDLL("libc.so.6")'
check 'a name looked up in the whole program is the shim'"'"'s' [ "$out" = -1 ]
event 'the C library by its own handle is a loss' 'LOSS dlopen * allow 0 libc-handle * libc.so.6'
run all "${policy[@]}" -- python3 -Ec 'import ctypes
f = ctypes.CDLL(None).dlmopen; f.argtypes = [ctypes.c_long, ctypes.c_char_p, ctypes.c_int]
f.restype = ctypes.c_void_p; print(f(-1, b"libm.so.6", 2) is not None)'
check 'a namespace of its own works' [ "$out" = True ]
event 'and is a loss too' 'LOSS dlmopen * allow 0 namespace * libm.so.6'
