#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""ship_runs.py make ROOT FIRST LAST EVENTS: records as runs of the hosts FIRST to LAST-1 leave them, with chains that hold.
ship_runs.py grow ROOT EVENTS SECONDS: one that goes on, in writes that end anywhere, until it ends."""
import fcntl
import hashlib
import hmac
import json
import os
import random
import sys
import time

PATHS = ["/usr/include/stdio.h", "./src/main.c", "./src/util.c", "/usr/lib/gcc/x86_64-linux-gnu/12/cc1", "/etc/passwd",
         "/usr/share/locale/locale.alias", "./build/obj/main.o", "./docs/\\u00e9.md"]
SECRETS = ["/home/u/.ssh/id_ed25519", "/home/u/.aws/credentials", "/home/u/.netrc"]
PEERS = ["pypi.org", "registry.npmjs.org", "github.com", "203.0.113.9"]


def key_of(root):
    path = os.path.join(root, ".key")
    if not os.path.exists(path):
        os.makedirs(root, 0o700, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        os.write(fd, bytes(range(32)))
        os.close(fd)
    with open(path, "rb") as f:
        return f.read()


class Chain:
    """audit/chain.h"""

    def __init__(self, root, run):
        self.own = hmac.new(key_of(root), run.encode(), hashlib.sha256).digest()
        self.base = hmac.new(self.own, digestmod=hashlib.sha256)
        self.full = self.base.hexdigest()

    def line(self, text):
        h = self.base.copy()
        h.update((self.full[:32] + text).encode())
        self.full = h.hexdigest()
        return '%s,"chain":"%s"}\n' % (text, self.full[:32])


def event(dice, host, run, seq, policy):
    """The text of a line up to its chain."""
    head = '{"schemaVersion":2,"seq":%d,"ts":"2026-11-27T%02d:%02d:%02d.%09dZ",' % (
        seq, seq // 3600 % 24, seq // 60 % 60, seq % 60, seq)
    if seq == 1:
        return head + '"run_id":"%s","kind":"run","host":"%s","layer":"launcher","pid":1,"uid":1000,"cwd":"/ws","profile":"p%d"' % (
            run, host, policy)
    if seq % 250 == 2:
        return head + ('"kind":"exec","op":"exec","path":"/usr/bin/cc","allowed":true,"matched_rule":"**","rule":"builtin:base:3",'
                       '"call":"execve","image":"dynamic","pid":7,"ppid":1,"exe":"/usr/bin/make"')
    tail = ',"pid":7,"proc":2'
    what = dice.random()
    if what < 0.004:
        return head + '"kind":"denied","op":"read","path":"%s","allowed":false,"matched_rule":".ssh","rule":"preset:secrets:%d:5","call":"openat","errno":13%s' % (
            dice.choice(SECRETS), dice.randrange(3, 6), tail)
    if what < 0.006:
        return head + '"kind":"denied","op":"modify","path":"./.git/hooks/pre-commit","allowed":false,"matched_rule":".git/hooks/**","rule":"preset:protected:9:5","call":"openat","errno":13' + tail
    if what < 0.007:
        return head + '"kind":"unwitnessed","path":"/opt/tool","image":"static","pid":9,"ppid":7'
    if what < 0.012:
        peer = dice.choice(PEERS)
        return head + '"kind":"result","op":"connect","path":"%s:443","host":"%s","port":443,"allowed":true,"matched_rule":"%s","rule":"p.yaml:3:5","call":"connect","layer":"broker"%s' % (
            peer, peer, peer, tail)
    if what < 0.0121:
        return head + '"kind":"gap","lost":3,"corrupt":0,"abandoned":0'
    return head + '"kind":"result","op":"%s","path":"%s","allowed":true,"matched_rule":"**","rule":"builtin:base:%d","call":"openat"%s' % (
        "modify" if what > 0.8 else "read", dice.choice(PATHS), dice.randrange(1, 5), tail)


def info(run, policy, lines, lost, final=None):
    d = {"schemaVersion": 2, "run_id": run, "version": "0.1.0", "pid": 1, "started": "2026-11-27T00:00:00.000000000Z",
         "argv": ["make"], "cwd": "/ws", "policy": "/etc/p.yaml", "policy_hash": "%064x" % policy, "profile": "p%d" % policy,
         "workspaces": ["/ws"], "floor": [], "losses": [], "audit_level": "folded"}
    if final:
        d.update({"ended": "2026-11-27T00:10:00.000000000Z", "final_hash": final, "exit": {"status": 0, "timed_out": False},
                  "counts": {"events": lines - 1, "lost": lost}})
    return json.dumps(d) + "\n"


def write(path, text):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.write(fd, text.encode())
    os.close(fd)


def hidden(root, run):
    """A run is named when it is locked, or whole: one that is neither, and has no lines, has ended without any."""
    d = os.path.join(root, "." + run)
    os.makedirs(d, 0o700)
    return d


def make(root, first, last, events):
    for h in range(first, last):
        dice = random.Random(h)
        run = "20261127T%02d%02d%02dZ-%06x" % (h // 3600 % 24, h // 60 % 60, h % 60, h)
        policy = 1 if h % 100 else 2
        chain = Chain(root, run)
        lines = [chain.line(event(dice, "host-%05d" % h, run, i, policy)) for i in range(1, events + 1)]
        lost = 3 * sum('"kind":"gap"' in line for line in lines)
        d = hidden(root, run)
        write(os.path.join(d, "audit.jsonl"), "".join(lines))
        write(os.path.join(d, "run.json"), info(run, policy, events, lost, chain.full))
        os.rename(d, os.path.join(root, run))


def grow(root, events, seconds):
    run = "20261128T000000Z-%06x" % (os.getpid() & 0xffffff)
    dice, chain = random.Random(1), Chain(root, run)
    d = hidden(root, run)
    fd = os.open(d, os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    write(os.path.join(d, "run.json"), info(run, 1, 0, 0))
    os.rename(d, os.path.join(root, run))
    d = os.path.join(root, run)
    print(run, flush=True)
    log = os.open(os.path.join(d, "audit.jsonl"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    time.sleep(seconds / 20)  # nothing is written yet
    text = "".join(chain.line(event(dice, "live", run, i, 1)) for i in range(1, events + 1)).encode()
    at = 0
    while at < len(text):
        n = dice.randrange(1, 2 * len(text) // 40)
        os.write(log, text[at:at + n])
        at += n
        time.sleep(seconds / 40)
    write(os.path.join(d, "run.json"), info(run, 1, events, 0, chain.full))


if sys.argv[1] == "make":
    make(sys.argv[2], *map(int, sys.argv[3:6]))
else:
    grow(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
