# SPDX-License-Identifier: Apache-2.0
"""What of a run is there at the very moment that its launcher has ended: nothing.

nothing_left.py ROUNDS COMMAND...: as a subreaper that reaps the launcher alone, so that whatever
that leaves behind, living or dead, becomes a child of ours and stays to be seen.
"""
import ctypes
import os
import subprocess
import sys

PR_SET_CHILD_SUBREAPER = 36


def children():
    with open(f"/proc/self/task/{os.getpid()}/children") as f:
        return f.read().split()


def main():
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for i in range(int(sys.argv[1])):
        status = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL).wait()
        left = [open(f"/proc/{pid}/stat").read() for pid in children()]
        if left or status:
            print(f"round {i}: status {status}, left: {left}")
            return 1
    return 0


sys.exit(main())
