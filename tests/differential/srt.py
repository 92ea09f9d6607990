#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs srt itself beside sbx-launch: the same random settings, the same files, path by path.

    srt.py --sbx build/sbx-launch --probe PROBE --srt CLI.JS [--settings N] [--seed N] [--user UID]

Each settings file is tried with every path of a small tree and every operation (srt_probe.c).
Where the two differ, the difference must be one of docs/DIALECTS.md, which srt_known.py can
recognise by its row; anything else is printed and fails the run, above all what srt refuses and
sbx-launch does not.
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import srt_known  # noqa: E402

# Below the home of the run; "ws" is where commands start. A name with "->" is a link.
TREE = """
.tool/z  .tool/deep/k.pem  notes/n  notes/.env  notes/sub/.env  "sp ace/f"  .npm/_logs/l
other/f  other/keys/id  other/keys/id.pub
ws/note ws/.env ws/k.pem ws/f1 ws/f2 ws/f[1] ws/sub/.env ws/sub/a ws/sub/k.pem ws/sub/deep/b
ws/sub/deep/.env ws/secrets/s ws/secrets/open/o ws/secrets/open/deny/d ws/secrets/pub.pem
ws/keys/keys/k ws/keys/pub ws/d1/x ws/d2/x ws/d[1]/x "ws/sp ace/g" ws/out/f ws/empty/
ws/node_modules/p/.vscode/s.json ws/node_modules/p/.mcp.json ws/node_modules/p/i.js
ws/pkg/.vscode/s.json ws/pkg/.bashrc ws/pkg/a/.mcp.json ws/pkg/a/b/.mcp.json ws/.bashrc
ws/.claude/commands/c ws/.claude/other
ws/link->sub/a ws/dlink->sub ws/far->../other/f ws/fardir->../other ws/none->nowhere
"""
NEW = ("new", "new.pem", ".env", ".zshrc", ".vscode", "missing")


def words(text):
    import shlex
    return shlex.split(text)


class Tree:
    """The files of a run, in a directory of their own."""

    def __init__(self, uid):
        self.top = tempfile.mkdtemp(prefix="srt-diff.", dir="/var/tmp")
        self.home = os.path.join(self.top, "home")
        self.ws = os.path.join(self.home, "ws")
        self.uid = uid
        os.chmod(self.top, 0o755)

    def make(self, with_git):
        shutil.rmtree(self.home, ignore_errors=True)
        names = words(TREE)
        if with_git:
            names += ["ws/.git/HEAD", "ws/.git/config", "ws/.git/hooks/h", "ws/.git/objects/",
                      "ws/.git/refs/", "ws/pkg/.git/config", "ws/pkg/.git/hooks/h"]
        for name in names:
            link = None
            if "->" in name:
                name, link = name.split("->")
            path = os.path.join(self.home, name)
            os.makedirs(path if name.endswith("/") else os.path.dirname(path), exist_ok=True)
            if link:
                os.symlink(link, path)
            elif not name.endswith("/"):
                with open(path, "w") as f:
                    f.write(name + "\n")
        if self.uid:
            subprocess.run(["chown", "-Rh", f"{self.uid}:{self.uid}", self.home], check=True)

    def probes(self):
        """(operation, path) for each thing there and each name that could be new."""
        out = []
        for top, dirs, files in os.walk(self.home):
            for name in NEW:
                path = os.path.join(top, name)
                if not os.path.lexists(path):
                    out += [("C", path), ("D", path)]
            out.append(("L", top))
            for name in files + dirs:
                path = os.path.join(top, name)
                if os.path.islink(path):
                    out += [("R", path), ("W", path)]
                elif name in files:
                    out += [("R", path), ("W", path)]
                out += [("M", path), ("U", path)]
        return out

    def remove(self):
        shutil.rmtree(self.top, ignore_errors=True)


# ---- settings ----

NAMES = (".env", "k.pem", "a", "x", "keys", "secrets", "sub", "deep", "open", "pub.pem", ".vscode",
         "f1", "note")
GLOBS = ("**/.env", "*.pem", "**/*.pem", "**/keys", "**/keys/**", "sub/*", "sub/**", "d?/x", "d[12]",
         "f[1]", "d[1]/x", "f?", "secrets/*", "**/deep/**", "*/.env", "~/*/.env", "~/.*", "~/notes/*",
         "secrets/**/*.pem", "[a-k]*", "**/s*", "./pkg/*/.mcp.json", "out/*", "**/open/*")


def spelled(rng, tree, path):
    """A path below the home as a person may write it."""
    rel_home = os.path.relpath(path, tree.home)
    rel_ws = os.path.relpath(path, tree.ws)
    forms = [path, "~" if rel_home == "." else "~/" + rel_home]
    if not rel_ws.startswith(".."):
        forms += [rel_ws, "./" + rel_ws if rel_ws != "." else "."] * 2
    text = rng.choice(forms)
    return text + rng.choice(["", "", "", "", "/", "/**"])


def entry(rng, tree, paths, with_globs):
    kind = rng.random()
    if with_globs and kind < 0.35:
        text = rng.choice(GLOBS)
        if rng.random() < 0.2 and not text.startswith("~"):
            text = os.path.join(tree.ws, text)
        return text
    if kind < 0.45:
        return rng.choice([".", ".", "~", "./missing", "missing/deep/x", "~/missing", "sub/missing",
                           "..", "/var/tmp/nothing"][:8])
    return spelled(rng, tree, rng.choice(paths))


def settings(rng, tree, paths, with_globs):
    fs = {}
    for key, most in (("denyRead", 4), ("allowRead", 3), ("allowWrite", 3), ("denyWrite", 3)):
        fs[key] = [entry(rng, tree, paths, with_globs) for _ in range(rng.randint(0, most))]
    if rng.random() < 0.7 and "." not in fs["allowWrite"]:
        fs["allowWrite"].insert(rng.randint(0, len(fs["allowWrite"])), ".")
    if not fs["allowRead"] and rng.random() < 0.5:
        del fs["allowRead"]
    doc = {"network": {"allowedDomains": [], "deniedDomains": []}, "filesystem": fs}
    if rng.random() < 0.2:
        fs["allowGitConfig"] = True
    for key, value in (("_comment", "x"), ("enableWeakerNestedSandbox", False), ("allowPty", True),
                       ("ignoreViolations", {"*": ["/usr/bin"]}), ("mandatoryDenySearchDepth", 2)):
        if rng.random() < 0.1:
            doc[key] = value
    return doc


# ---- running ----

# What ends srt for reasons that are the machine's.
FOREIGN = ("dependencies not available", "not found in PATH", "EADDRINUSE")


class Runner:
    def __init__(self, args, tree):
        self.args, self.tree = args, tree
        self.settings = os.path.join(tree.top, "settings.json")
        self.list = os.path.join(tree.top, "list")
        self.probe = os.path.join(tree.top, "probe")
        shutil.copy(args.probe, self.probe)
        self.state = os.path.join(tree.top, "state")
        os.makedirs(self.state, exist_ok=True)
        if tree.uid:
            os.chown(tree.top, tree.uid, tree.uid)
            os.chown(self.state, tree.uid, tree.uid)
        self.env = {"PATH": os.environ["PATH"], "HOME": tree.home, "XDG_STATE_HOME": self.state,
                    "LANG": "C.UTF-8", "TMPDIR": tree.top}  # srt leaves sockets there

    def write(self, doc, probes):
        with open(self.settings, "w") as f:
            json.dump(doc, f)
        os.chmod(self.settings, 0o644)
        with open(self.list, "w") as f:
            f.write("".join(op + path + "\n" for op, path in probes))
        if self.tree.uid:
            os.chown(self.settings, self.tree.uid, self.tree.uid)

    def run(self, what):
        device = str(os.stat(self.tree.home).st_dev)
        probe = [self.probe, device, self.list]
        argv = {"srt": ["node", self.args.srt, "-s", self.settings] + probe,
                "ours": [self.args.sbx, "-q", "--best-effort", "--audit-level", "none", "-w",
                         self.tree.ws, "-p", self.settings, "--"] + probe}[what]
        if self.tree.uid:
            argv = ["setpriv", f"--reuid={self.tree.uid}", f"--regid={self.tree.uid}",
                    "--clear-groups"] + argv
        for _ in range(3):
            done = subprocess.run(argv, cwd=self.tree.ws, env=self.env, input="",
                                  capture_output=True, text=True, timeout=120)
            # a machine that is used by others: programs that are there are not found
            if not any(text in done.stderr for text in FOREIGN):
                break
            time.sleep(5)
        return done.stdout.split("\n")[:-1], done.stderr, done.returncode


def split(probes):
    """What changes nothing that stays, and what takes away."""
    return [p for p in probes if p[0] in "RLWCD"], [p for p in probes if p[0] in "MU"]


def compare(runner, tree, doc, with_git, probes):
    """What differs, as (op, path, srt's, ours), and all that srt said; or a string: which of the
    two did not run, and why."""
    found, said = [], {}
    for part in split(probes):
        answers = {}
        for what in ("srt", "ours"):
            tree.make(with_git)
            runner.write(doc, part)
            lines, err, status = runner.run(what)
            if len(lines) != len(part):
                answers[what] = None
                answers[what + " says"] = err.strip()[-300:]
            else:
                answers[what] = lines
        if answers["srt"] is None or answers["ours"] is None:
            if answers["srt"] is None and answers["ours"] is None:
                return "both"
            who = "srt" if answers["srt"] is None else "ours"
            return f"{who}: {answers[who + ' says']}"
        stuck = []  # moved, and could not be moved back: what was below is elsewhere
        for (op, path), a, b in zip(part, answers["srt"], answers["ours"]):
            said[op, path] = a[0]
            if a[0] != b[0] and not any(path.startswith(s + "/") or path == s for s in stuck):
                found.append((op, path, a[0], b[0]))
            if len(a) + len(b) > 2:
                stuck.append(path)
    return found, said


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--sbx")
    p.add_argument("--probe")
    p.add_argument("--srt")
    p.add_argument("--settings", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--user", type=int, default=0)
    p.add_argument("--no-globs", action="store_true")
    p.add_argument("--doc", help="these settings alone, of a file")
    p.add_argument("-v", "--verbose", action="store_true")
    p.add_argument("--rows", action="store_true", help="the names of the known differences")
    args = p.parse_args()
    if args.rows:
        print("\n".join(srt_known.ROWS))
        return 0
    if not (args.sbx and args.probe and args.srt):
        p.error("--sbx, --probe and --srt are required")
    args.sbx, args.srt = os.path.abspath(args.sbx), os.path.abspath(args.srt)
    tree = Tree(args.user)
    runner = Runner(args, tree)
    known, bad, refused, verdicts = Counter(), [], Counter(), 0
    try:
        for i in range(1 if args.doc else args.settings):
            seed = args.seed + i
            rng = random.Random(seed)
            with_git = rng.random() < 0.5
            tree.make(with_git)
            probes = tree.probes()
            paths = sorted({path for _, path in probes if os.path.lexists(path)})
            doc = settings(rng, tree, paths, not args.no_globs)
            if args.doc:
                doc = json.load(open(args.doc))
            result = compare(runner, tree, doc, with_git, probes)
            if isinstance(result, str):
                row = srt_known.refusal(doc, result)
                refused[row or result] += 1
                if not row:
                    bad.append((seed, doc, [("run", result, "", "")]))
                    print(f"seed {seed}: {result}\n  {json.dumps(doc['filesystem'])}", flush=True)
                continue
            verdicts += len(probes)
            found, said = result
            tree.make(with_git)
            judge = srt_known.Judge(doc, tree, said)
            unknown = []
            for op, path, theirs, ours in found:
                row = judge.row(op, path, theirs, ours)
                known[row] += 1
                if not row:
                    unknown.append((op, path, theirs, ours))
                elif args.verbose:
                    print(f"  {row}: {op} {os.path.relpath(path, tree.home)} srt {theirs} ours {ours}")
            if unknown:
                bad.append((seed, doc, unknown))
                print(f"seed {seed} git {with_git}: {json.dumps(doc)}")
                for op, path, theirs, ours in unknown[:12]:
                    print(f"  {'LAXER' if ours == 'y' else 'stricter'}: {op} "
                          f"{os.path.relpath(path, tree.home)}: srt {theirs}, ours {ours}")
                if len(unknown) > 12:
                    print(f"  and {len(unknown) - 12} more")
                sys.stdout.flush()
    finally:
        tree.remove()
    print(f"{args.settings} settings, {verdicts} verdicts, {sum(known.values())} differ")
    for row, n in sorted(known.items(), key=str):
        print(f"  {row or 'NOT DOCUMENTED'}: {n}")
    for row, n in sorted(refused.items(), key=str):
        print(f"  refused to run: {row}: {n}")
    print(f"{len(bad)} settings with a difference that is not documented")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
