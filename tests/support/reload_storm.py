# SPDX-License-Identifier: Apache-2.0
"""Rules that change again and again, with connections that go on and one that is denied after each.

    reload_storm.py client HOLD ALLOWED          the command: opens HOLD connections, then answers each
                                                 line "NAME" by "open", or "shut", and "held" by how many live
    reload_storm.py drive SBX RUN POLICY TIMES HELD
                                                 descriptors 7 and 8 lead to the client; POLICY.a and
                                                 POLICY.b take turns: a opens a.example.net and not
                                                 b.example.net, b the reverse. Prints "LEAKS WRONG PER-SECOND LIVE"
"""
import os
import select
import socket
import subprocess
import sys
import time


def client(hold, allowed):
    held = [socket.create_connection((allowed, 80), 30) for _ in range(int(hold))]
    known = {}
    print("ready", flush=True)
    for line in iter(sys.stdin.readline, ""):
        name = line.strip()
        if name == "held":
            poll = select.poll()
            for s in held:
                poll.register(s, select.POLLIN | select.POLLRDHUP)
            print(len(held) - len(poll.poll(0)), flush=True)
            continue
        said = "shut"
        for of in (name, known.get(name)):  # by the address that it had as well
            try:
                s = socket.create_connection((of, 80), 30)
                if of == name:
                    known[name] = socket.gethostbyname(name)
                s.sendall(b"GET / HTTP/1.0\r\n\r\n")
                if s.recv(1):
                    said = "open"
                s.close()
            except (OSError, TypeError):
                pass
        print(said, flush=True)


def drive(sbx, run, policy, times, held):
    to, back = os.fdopen(7, "w"), os.fdopen(8)

    def ask(name):
        print(name, file=to, flush=True)
        return back.readline().strip()

    leaks = wrong = 0
    begun = time.monotonic()
    for i in range(int(times)):
        which = "ab"[i % 2]
        os.link("%s.%s" % (policy, which), policy + ".new")
        os.rename(policy + ".new", policy)
        subprocess.run([sbx, "--reload", run], check=True, stderr=subprocess.DEVNULL)
        leaks += ask(("b" if which == "a" else "a") + ".example.net") != "shut"
        wrong += ask(which + ".example.net") != "open"
    print(leaks, wrong, int(int(times) / (time.monotonic() - begun)), ask("held"))


{"client": client, "drive": drive}[sys.argv[1]](*sys.argv[2:])
