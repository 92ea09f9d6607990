# SPDX-License-Identifier: Apache-2.0
"""Does everything that a run has made end when its supervisor is killed?

all_end.py ROUNDS COMMAND...: the command runs tests/probe/lineage.c, whose processes all keep the other end of a pipe
open. It is killed when they have begun; then the pipe has to come to its end.

We are a subreaper that ignores SIGCHLD, so that the kernel buries each orphan at once: a lineage makes thousands a
second, and where the first process of the host is slow to bury them they take all process numbers that there are.
"""
import ctypes
import os
import select
import signal
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
BEGIN, END = 60, 45  # seconds; a guard gives up after 30


def read(fd, seconds):
    """What comes; None: nothing did."""
    return os.read(fd, 99) if select.select([fd], [], [], seconds)[0] else None


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for i in range(int(sys.argv[1])):
        ours, theirs = os.pipe()
        run = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=theirs,
                               preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_DFL))
        os.close(theirs)
        begun = read(ours, BEGIN)
        time.sleep(0.2)
        run.kill()
        left = read(ours, END)
        os.close(ours)  # whoever is left notices, and ends
        if begun != b"ready\n" or left != b"":
            print(f"round {i}: began with {begun}, then {left}")
            return 1
    return 0


sys.exit(main())
