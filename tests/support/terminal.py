# SPDX-License-Identifier: Apache-2.0
"""terminal.py - drives a program on a pseudo-terminal, as a person at a keyboard would.

	t = Terminal(["bash", "--norc", "-i"], env)
	t.expect("$ "); t.send("sleep 100\\n"); t.send(CTRL_Z); t.expect("Stopped")

Every wait is for something to appear, at most `limit` seconds.
"""
import fcntl
import os
import re
import select
import struct
import termios
import time

CTRL_C, CTRL_D, CTRL_Z, CTRL_BACKSLASH = b"\x03", b"\x04", b"\x1a", b"\x1c"


class Terminal:
    def __init__(self, argv, env, limit=60):
        self.limit = limit
        self.text = ""  # all that was shown
        self.at = 0  # what was expected already ends here
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            os.execvpe(argv[0], argv, env)

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, data):
        os.write(self.fd, data if isinstance(data, bytes) else data.encode())

    def read_some(self, seconds):
        if not select.select([self.fd], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # EIO: the last one closed it
            return None
        self.text += data.decode(errors="replace").replace("\r", "")
        return bool(data) or None

    def expect(self, pattern):
        """Waits for the pattern after what was expected before; returns the match."""
        end = time.monotonic() + self.limit
        while True:
            found = re.compile(pattern).search(self.text, self.at)
            if found:
                self.at = found.end()
                return found
            more = self.read_some(max(0, end - time.monotonic()))
            if more is None or time.monotonic() > end:
                raise AssertionError(f"no {pattern!r} in {self.text[self.at:]!r}")

    def status(self):
        """Reads to the end; the exit status as a shell reports it."""
        end = time.monotonic() + self.limit
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                code = os.waitstatus_to_exitcode(status)
                return code if code >= 0 else 128 - code
            self.read_some(0.05)
        raise AssertionError("does not end: " + repr(self.text[-500:]))
