#!/usr/bin/python3 -B
# SPDX-License-Identifier: Apache-2.0
"""teller.py - stands for sbx-launch and sbx-policy while a script of tests/e2e runs (E2E_REMEDIES, tests/support/e2e.sh):
runs the program, and reads what it prints. Each kind of remedy is then tried once: in a fresh copy of what the command
met (situation.py), as it is printed. It must cure, and open the refused object alone (lines.py). One line of JSON for
each, in results.jsonl; tests/remedies/run.sh judges them.

Beside it: `real`, the programs; `remedies`, where results go; `root`, what situations are copied from."""

import ctypes
import fcntl
import hashlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile

BASE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
sys.path.insert(0, os.path.join(BASE, "teller"))
# pylint: disable=wrong-import-position
import errors  # noqa: E402
import lines  # noqa: E402
from situation import Copy, TooLarge  # noqa: E402

NAME = os.path.basename(sys.argv[0])
REAL = os.path.join(BASE, "real", NAME)
OUT = os.path.join(BASE, "remedies")
SECONDS = 20
PR_SET_PDEATHSIG, MOST_OUTPUT = 1, 1 << 20


def bare():
    os.execv(REAL, [REAL] + sys.argv[1:])


def is_inside():
    """Inside of a run, where nothing may be recorded."""
    with open("/proc/self/status", encoding="ascii", errors="replace") as f:
        return "NoNewPrivs:\t1" in f.read()


def run_told():
    """The program as if it had been called, and what it said; what --doctor prints is meant, too."""
    watched = {1, 2} if "--doctor" in sys.argv else {2}
    pipes = {fd: os.pipe() for fd in watched}
    libc = ctypes.CDLL(None)

    def prepared():
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        for fd, (r, w) in pipes.items():
            os.dup2(w, fd)
            os.close(r)
            os.close(w)
    # pylint: disable=subprocess-popen-preexec-fn
    p = subprocess.Popen([REAL] + sys.argv[1:], close_fds=False, preexec_fn=prepared, restore_signals=False)
    for n in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCONT):
        signal.signal(n, lambda number, frame: p.send_signal(number))
    text = bytearray()
    readers = {r: fd for fd, (r, w) in pipes.items()}
    for _, w in pipes.values():
        os.close(w)
    ended = os.pidfd_open(p.pid)
    is_over = False
    while readers:
        ready = select.select(list(readers) + ([] if is_over else [ended]), [], [], 0 if is_over else None)[0]
        some = [r for r in ready if r in readers]
        for r in some:
            data = os.read(r, 65536)
            text += data if len(text) < MOST_OUTPUT else b""
            if data:
                write_all(readers[r], data)
            else:
                del readers[r]
        if not some and is_over:
            break
        is_over = is_over or ended in ready
    return p.wait(), text.decode("utf-8", "surrogateescape").split("\n")


def write_all(fd, data):
    try:
        while data:
            data = data[os.write(fd, data):]
    except OSError:
        pass


def end(status):
    if status < 0 and status != -signal.SIGSTOP:
        if status != -signal.SIGKILL:
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status if status >= 0 else 125)


def inner():
    """Where the words of the innermost run begin, if it is one inside of others."""
    at = [i for i, word in enumerate(sys.argv) if i and os.path.basename(word) == "sbx-launch"]
    return at[-1] if at else 0


class Trials:
    def __init__(self, met, copies, status):
        self.met, self.copies, self.status = met, copies, status
        with open(os.path.join(BASE, "script"), encoding="utf-8") as f:
            self.script = f.read().strip()

    def claim(self, kind):
        """True: nobody tried it. The quick form tries a kind once, the full one once for each script."""
        key = hashlib.sha256(((self.script if os.path.exists(os.path.join(OUT, "full")) else "") + kind).encode(
            "utf-8", "surrogateescape")).hexdigest()
        try:
            os.mkdir(os.path.join(OUT, "kinds", key))
        except FileExistsError:
            return None
        return os.path.join(OUT, "kinds", key)

    def tell(self, verdict, kind, text, said=()):
        row = {"verdict": verdict, "script": self.script, "kind": kind, "line": text, "argv": sys.argv[1:], "said": list(said)}
        fd = os.open(os.path.join(OUT, "results.jsonl"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        os.write(fd, (json.dumps(row) + "\n").encode())
        os.close(fd)

    def again(self, argv, env=None, cwd=None, before=None):
        """(status, lines) of the program in the situation that the first run met."""
        self.met.put_back()
        if before:
            before()
        try:
            p = subprocess.run([REAL] + argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return None, []
        return p.returncode, p.stdout.decode("utf-8", "surrogateescape").split("\n")

    def denial(self, line):
        if inner():
            return "untried", ["of a run inside of a run: both may deny it (tests/e2e/nested.sh)"]
        for text in line.remedies:
            words = lines.words_of(text)
            asked = subprocess.run([os.path.join(BASE, "real", "widened"), line.op, words[1] if len(words) > 1 else "-",
                                    str(len(words))] + words + sys.argv[1:], capture_output=True, text=True, check=False)
            if asked.returncode != 0:
                return "untried", [asked.stderr.strip()]
            answer = json.loads(asked.stdout)
            argv = sys.argv[1:answer["at"] + 1] + words + sys.argv[answer["at"] + 1:]
            status, said = self.again(argv)
            if status is None:
                return "untried", ["it takes too long"]
            wrong = self.not_cured(line, text, status, said)
            if answer["allowed"] == 0 and "*" not in words[1] and line.path == words[1]:
                wrong.append(f"{text}: the policy still denies it")
            wrong += [f"{text} opens more: {x}" for x in lines.more_than(line, words, answer)]
            if wrong:
                return "failed", wrong + [x for x in said if x.startswith("sbx-launch: ")][:5]
        return "tried", []

    def not_cured(self, line, text, status, said):
        if status == 125 and self.status != 125:
            return [f"{text}: the run is refused"]
        for other in (lines.parse(x) for x in said if x.startswith("sbx-launch: denied ")):
            if other and other.kind == line.kind and (other.path == line.path or other.remedies == line.remedies):
                return [f"{text} does not cure"]
        return []

    def error(self, message, kind):
        """What the message advises, done in the innermost run, or else in this one: which of them says it nobody knows."""
        if errors.why_not_here(message):
            return "elsewhere", [errors.why_not_here(message)]
        found = self.error_at(inner(), message, kind)
        return self.error_at(0, message, kind) if inner() and found[0] != "tried" else found

    def error_at(self, at, message, kind):
        way = errors.Way("", sys.argv[at + 1:], os.environ, os.getcwd())
        done, failed = [], None
        for found in errors.ways(message, way, 1 if NAME == "sbx-policy" else 0, tempfile.mkdtemp(dir=self.copies)):
            argv = sys.argv[1:at + 1] + found.argv
            status, said = self.again(argv, found.env, found.cwd, found.before)
            if status is None:
                return "untried", ["it takes too long"]
            if not any(e and errors.shape_of(e[1]) == kind for e in (errors.parse(x) for x in said)):
                done.append(found.name)
                continue
            failed = "failed", [f"{found.name} does not cure: {errors.shown(found)}"] + said[:4]
            if not found.is_conditional:
                return failed
        return ("tried", done) if done else failed or ("unknown", [])

    def all(self, texts):
        for text in dict.fromkeys(texts):
            line = lines.parse(text) if text.startswith("sbx-launch: denied ") else None
            error = errors.parse(text)
            if line and line.remedies:
                self.one(line.kind, text, lambda line=line: self.denial(line))
            elif text.startswith("remedy: "):
                why = errors.why_not_here(text)
                self.one("doctor " + errors.shape_of(text), text, lambda w=why: ("elsewhere", [w]) if w else ("unknown", []))
            elif error and errors.has_advice(error[1]):
                kind = errors.shape_of(error[1])
                self.one(f"{NAME} {error[0]} {kind}", text, lambda m=error[1], k=kind: self.error(m, k))

    def one(self, kind, text, trial):
        claimed = self.claim(kind)
        if not claimed:
            return
        verdict, said = trial()
        if verdict == "untried":
            os.rmdir(claimed)  # another place may show it
        self.tell(verdict, kind, text, said)


def situation_of():
    """The directory of this user's whole situation, and a lock that nobody else has while a copy is used."""
    root = os.path.join(BASE, os.environ.get("E2E_INNER", "-"))
    if not os.path.isdir(root):
        import pwd
        root = os.path.join(BASE, pwd.getpwuid(os.getuid()).pw_name)
    lock = os.open(root + "/.teller", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    return root, lock


def main():
    if is_inside() or os.isatty(2):
        bare()
    copies = met = None
    try:
        root, lock = situation_of()
        fcntl.flock(lock, fcntl.LOCK_SH)
        copies = tempfile.mkdtemp(dir=os.path.join(BASE, "copies"))
        met = Copy(root, copies + "/met")
    except (OSError, TooLarge) as e:
        if copies is None:
            bare()
        why = str(e)
    status, texts = run_told()
    # what --doctor advises is about the host; its refusals are those that runs have (tests/e2e/hosts_agree.sh)
    texts = [x.lstrip() for x in texts if x.startswith(("sbx-launch: ", "sbx-policy: ")) or x.startswith(" ") and "remedy: " in x]
    trials = Trials(met, copies, status)
    try:
        if texts and not met:
            trials.tell("untried", "", texts[0], [why])
        elif texts:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left = Copy(root, copies + "/left")
            trials.all(texts)
            left.put_back()
    except (OSError, TooLarge) as e:
        trials.tell("untried", "", texts[0], [str(e)])
    subprocess.run(["chmod", "-R", "u+rwx", copies], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(copies, ignore_errors=True)
    end(status)


if __name__ == "__main__":
    main()
