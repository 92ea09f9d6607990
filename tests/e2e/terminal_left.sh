#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What a command leaves set on the caller's terminal is put back.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
cat >"$TMP/outer.py" <<'EOP'
# Runs the command line in a terminal of its own, then says what it left there.
import fcntl, os, pty, subprocess, sys, termios
def take():
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
master, slave = pty.openpty()
before = fcntl.fcntl(slave, fcntl.F_GETFL)
subprocess.run(sys.argv[1:], stdin=slave, stdout=slave, stderr=slave, preexec_fn=take)
left = []
if fcntl.fcntl(slave, fcntl.F_GETFL) != before: left.append("flags")
try: os.close(os.open(os.ttyname(slave), os.O_RDWR | os.O_NOCTTY))
except OSError: left.append("exclusive")
print(*left or ["nothing"])
EOP
acts='import fcntl, os, termios; fcntl.ioctl(0, termios.TIOCEXCL); fcntl.fcntl(0, fcntl.F_SETFL, fcntl.fcntl(0, fcntl.F_GETFL) | os.O_NONBLOCK | os.O_APPEND)'
check 'control: bare, both stay' [ "$(python3 "$TMP/outer.py" python3 -c "$acts")" = 'flags exclusive' ]
check 'sandboxed, nothing stays' [ "$(python3 "$TMP/outer.py" "$SBX" -q -- python3 -c "$acts")" = nothing ]
check 'nor where a signal ends it' [ "$(python3 "$TMP/outer.py" "$SBX" -q -- python3 -c "$acts; os.kill(os.getpid(), 9)")" = nothing ]
