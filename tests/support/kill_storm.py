# SPDX-License-Identifier: Apache-2.0
"""kill_storm.py ROUNDS JOBS [SEED] - runs under sbx-launch whose processes are killed at random.

Each round starts one run (of five kinds), waits a random while, which can be before the command
is there, and kills -9 one or two of launcher, broker, first process of the pid namespace, timer,
command and what the command started. Afterwards no process of the run may be left, sbx-audit
verifies what is recorded, and the next run finds no litter of it. Some rounds run on a terminal
below an interactive shell, which must have it back as it was. Prints what went wrong; status 1
then. Works below the current directory; what the run keeps elsewhere is below $XDG_RUNTIME_DIR
(memory), which is ours alone.
"""
import os
import random
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from terminal import Terminal

SBX = os.environ["SBX"]
AUDIT = os.path.join(os.path.dirname(SBX), "sbx-audit")
MARK = "SBX_STORM_ROUND"

# files made, moved and refused; children, daemons that left the session, one that ignores TERM
WORK = r"""
trap '' HUP
setsid sh -c 'trap "" TERM; while :; do echo x >d.tmp; mv d.tmp d; done' >/dev/null 2>&1 &
(setsid sleep 1000 &) >/dev/null 2>&1
(while :; do cat secret.env; (exec ls -l); done) >/dev/null 2>&1 &
while :; do echo y >c.tmp; mv c.tmp c; sh -c ': >e'; rm e; done 2>/dev/null
"""
KINDS = [
    [],
    ["--deny-read", "**/*.env"],
    ["--timeout", "100", "--audit-level", "all"],
    ["--deny-read", "**/*.env", "--audit-required", "--no-shim"],
    ["--isolate", "none", "--network", "host"],
    ["--", SBX, "-q"],  # a run inside a run
]


def environment(mark):
    return dict(os.environ, **{MARK: mark})


def marked(mark):
    """{pid: name} of the living processes that have the mark in their environment."""
    found, want = {}, f"{MARK}={mark}".encode()
    for pid in os.listdir("/proc"):
        if not pid.isdigit() or int(pid) == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                if want not in f.read().split(b"\0"):
                    continue
            with open(f"/proc/{pid}/stat") as f:
                head, tail = f.read().rsplit(")", 1)
            if tail.split()[0] not in "ZX":
                found[int(pid)] = head.split("(", 1)[1]
        except OSError:
            continue
    return found


def below(pid):
    """Descendants of the process, itself first."""
    out, i = [pid], 0
    while i < len(out):
        try:
            for task in os.listdir(f"/proc/{out[i]}/task"):
                with open(f"/proc/{out[i]}/task/{task}/children") as f:
                    out += [int(c) for c in f.read().split()]
        except OSError:
            pass
        i += 1
    return out


def look(pid):
    """What the processes of a run that does not end are doing."""
    out = []
    for p in below(pid):
        text = []
        for name in "comm", "wchan", "syscall", "stat":
            try:
                with open(f"/proc/{p}/{name}") as f:
                    text.append(f.read().strip()[:60])
            except OSError as e:
                text.append(str(e.errno))
        out.append((p, text))
    return out


def kill(pid, signo=signal.SIGKILL):
    try:
        os.kill(pid, signo)
    except ProcessLookupError:
        pass


def within(seconds, ready):
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.005)
    return True


class Storm:
    def __init__(self, name, seed):
        self.random = random.Random(seed)
        self.roots = []
        for var in "TMPDIR", "XDG_RUNTIME_DIR", "XDG_STATE_HOME":
            base = os.getcwd() if var != "XDG_RUNTIME_DIR" else os.environ[var]
            os.environ[var] = os.path.join(base, f"{var}-{name}")
            os.mkdir(os.environ[var], 0o700)
        self.roots = [os.environ["TMPDIR"], os.environ["XDG_RUNTIME_DIR"]]
        self.runs = os.path.join(os.environ["XDG_STATE_HOME"], "sbx-launch", "runs")
        os.mkdir(name)
        os.chdir(name)
        self.wrong = []
        self.killed = {}

    def fail(self, n, text):
        self.wrong.append(text)
        print(f"round {n}: {text}", flush=True)

    def strike(self, launcher):
        """Kills one or two at random; says whom."""
        some = below(launcher)
        # the processes of the run itself and those of the command get the same share
        own = some[:6] if self.random.random() < 0.7 else some
        whom = self.random.sample(own, min(len(own), self.random.choice([1, 1, 2])))
        for pid in whom:
            try:
                with open(f"/proc/{pid}/comm") as f:
                    name = "launcher" if pid == launcher else f.read().strip()
            except OSError:
                name = "gone"
            self.killed[name] = self.killed.get(name, 0) + 1
            kill(pid)
            whom[whom.index(pid)] = (pid, name)
        return whom

    def end(self, n, mark):
        if not within(20, lambda: not marked(mark)):
            self.fail(n, f"left running: {marked(mark)}")
            for pid in marked(mark):
                kill(pid)

    def plain(self, n, mark):
        kind = self.random.randrange(len(KINDS))
        run = subprocess.Popen(
            [SBX, "-q", "--kill-after", "0.2", *KINDS[kind], "--", "sh", "-c", WORK],
            env=environment(mark), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        time.sleep(self.random.choice([0.01, 0.05, 0.15]) * self.random.random() * 2)
        whom = self.strike(run.pid)
        # it may live on: what was killed was none of those it cannot do without
        time.sleep(0.01)
        kill(run.pid, signal.SIGTERM)
        try:
            run.wait(20)
        except subprocess.TimeoutExpired:
            self.fail(n, f"kind {kind}: the launcher does not end: killed {whom}, {look(run.pid)}")
            run.kill()
            run.wait()
        if {"launcher", "sbx-guard"} <= {name for _, name in whom}:
            for pid in marked(mark):  # who was to end them is dead, too
                kill(pid)
        self.end(n, mark)

    def terminal(self, n, mark):
        """The command has the terminal raw, and asks the shell above for none of it."""
        t = Terminal(["bash", "--norc", "--noprofile", "--noediting", "-i"],
                     dict(environment(mark), PS1="ready> ", TERM="dumb"))
        t.expect("ready> ")
        t.send("stty -a >before\n")
        t.expect("ready> ")
        t.send(f"{SBX} -q -- sh -c 'stty raw -echo; echo up; (sleep 1000 &); exec sleep 1000'\n")
        t.expect(r"\nup")
        launcher = below(t.pid)[1]
        self.strike(launcher)
        kill(launcher, signal.SIGTERM)
        try:
            t.expect("ready> ")
            t.send("stty -a >after; echo done-$?\n")
            t.expect("done-0")
            t.send("exit\n")
            t.status()
            with open("before") as a, open("after") as b:
                if a.read() != b.read():
                    self.fail(n, "the terminal is not as it was")
        except AssertionError as e:
            self.fail(n, f"terminal: {e}")
            kill(t.pid)
        os.close(t.fd)
        self.end(n, mark)

    def recorded(self):
        """Nothing at first: all launchers so far may have been killed before they made the directory."""
        return os.listdir(self.runs) if os.path.isdir(self.runs) else []

    def verify(self, n):
        for run in sorted(self.recorded()):
            if run.startswith("."):
                continue  # never began: for a later run to remove
            path = os.path.join(self.runs, run)
            if not os.path.exists(os.path.join(path, "run.json")):
                self.fail(n, f"{run}: no run.json")
            done = subprocess.run([AUDIT, "verify", run], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
            if done.returncode != 0:
                self.fail(n, f"{run}: {os.listdir(path)} {done.stdout.strip()}")
            for name in os.listdir(path):
                # inside-RUN_ID: the run made that one
                if name not in ("audit.jsonl", "run.json") and not name.startswith("inside-"):
                    self.fail(n, f"{run}: {name} is left")
            for name in os.listdir(path):
                os.unlink(os.path.join(path, name))
            os.rmdir(path)

    def litter(self, n):
        """A run that ends well has swept what the killed ones left: at the latest the third, as
        a process that is dying has no environment any more, and still its locks."""
        for _ in range(3):
            subprocess.run([SBX, "-q", "--", "true"], check=True)
            # the places of all runs stay
            left = [os.path.join(where, name) for root in self.roots
                    for where, dirs, files in os.walk(root) for name in dirs + files
                    if not re.search(r"/sbx-launch(-[0-9]+)?$|/images(/|$)", os.path.join(where, name))]
            if not left:
                break
            time.sleep(0.05)
        for path in left:
            self.fail(n, f"left: {path}")
        left = [f for f in os.listdir(".") if f not in
                ("secret.env", "c", "c.tmp", "d", "d.tmp", "e", "before", "after", ".git")]
        if left:
            self.fail(n, f"left in the workspace: {left}")

    def sweep(self, n):
        """What a start that was cut short left of its record: one run in sixteen looks for it."""
        for _ in range(400):
            if not [run for run in self.recorded() if run.startswith(".") and run != ".key"]:
                return
            subprocess.run([SBX, "-q", "--no-shim", "--", "true"], check=True)
        self.fail(n, f"left: {os.listdir(self.runs)}")

    def rounds(self, rounds):
        with open("secret.env", "w"):
            pass
        for n in range(rounds):
            mark = f"{os.getpid()}.{n}"
            (self.terminal if n % 5 == 4 else self.plain)(n, mark)
            if n % 5 == 4 or n == rounds - 1:
                self.verify(n)
                self.litter(n)
        self.sweep(rounds)
        return len(self.wrong)


def main():
    rounds, jobs = int(sys.argv[1]), int(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else int.from_bytes(os.urandom(3), "big")
    print(f"{rounds} rounds, seed {seed}", flush=True)
    workers = []
    for i in range(jobs):
        pid = os.fork()
        if pid == 0:
            storm = Storm(f"job{i}", seed * jobs + i)
            wrong = storm.rounds((rounds + jobs - 1 - i) // jobs)
            print(f"job{i}: {wrong} wrong, killed {dict(sorted(storm.killed.items()))}", flush=True)
            os._exit(1 if wrong else 0)
        workers.append(pid)
    return 1 if sum(os.waitpid(pid, 0)[1] != 0 for pid in workers) else 0


sys.exit(main())
