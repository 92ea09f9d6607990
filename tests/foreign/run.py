# SPDX-License-Identifier: Apache-2.0
"""run.py SBX-LAUNCH [SUITE...]: suites of other projects, each test bare and inside a run. A test that ends otherwise
inside fails here, unless docs/COMPATIBILITY.md says why. Sources are fetched by hand, and named by the environment:

 PJDFSTEST=DIR  a tree of pjdfstest; its program is compiled where it lacks
 LTP=DIR        a tree of the Linux Test Project, built; programs of runtest/syscalls that are there
 GIT_TESTS=DIR  the directory t of a built tree of git
 PYTHON_TESTS   modules of CPython's suite (Debian: libpython3.11-testsuite); the default is MODULES

A suite that is not there is skipped, with a line. ONLY=REGEX: the tests whose name matches."""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = os.path.join(HERE, "..", "..", "docs", "COMPATIBILITY.md")
# The rules that make each path a matter of the broker's, and decide none of the suites' own.
RULES = ["--deny-read", "**/*.never", "--deny-modify", "**/never/**"]
ROOTS = "chown,dac_override,fowner,fsetid,setuid,setgid,dac_read_search,kill"
MODULES = ("test_os test_posix test_shutil test_tempfile test_pathlib test_glob test_subprocess test_socketserver "
           "test_logging test_mmap test_fcntl test_zipfile test_tarfile test_mailbox test_dbm_dumb").split()
LIMIT = 300  # seconds a test file


def ended(argv, place, **extra):
    """(status, output) of a command in a directory of its own."""
    env = dict(os.environ, TMPDIR=place, LC_ALL="C", **extra)
    try:
        p = subprocess.run(argv, cwd=place, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired as e:
        return 124, (e.stdout or b"").decode(errors="replace")
    return p.returncode, p.stdout.decode(errors="replace")


def tap(out):
    """{number: ok or not} of TAP; a test that is to be done yet counts as it ends."""
    return {m[2]: m[1] for m in re.finditer(r"^(ok|not ok) (\d+)", out, re.M)}


class Pjdfstest:
    section, where, root = "pjdfstest", os.environ.get("PJDFSTEST"), True
    options = ["--caps", ROOTS]
    calls = ("FACCESSAT FCHMODAT FCHOWNAT FSTATAT LINKAT MKDIRAT MKFIFOAT MKNODAT OPENAT POSIX_FALLOCATE READLINKAT "
             "RENAMEAT SYMLINKAT UNLINKAT UTIMENSAT SYS_SYSMACROS_H STRUCT_STAT_ST_ATIM STRUCT_STAT_ST_CTIM "
             "STRUCT_STAT_ST_MTIM").split()

    def prepare(self, folder):
        self.tree = os.path.join(folder, "pjdfstest")
        shutil.copytree(self.where, self.tree)
        if not os.access(self.tree + "/pjdfstest", os.X_OK):
            with open(self.tree + "/config.h", "w", encoding="ascii") as f:
                f.write("#define _GNU_SOURCE 1\n" + "".join("#define HAVE_%s 1\n" % c for c in self.calls))
            subprocess.run(["cc", "-w", "-DHAVE_CONFIG_H", "-I.", "pjdfstest.c", "-o", "pjdfstest"], cwd=self.tree, check=True)
        # device nodes are refused by policy: they leave the lists of types, so that the numbers behind them compare
        subprocess.run("grep -rlZ 'block char' tests | xargs -0 sed -i '/for type in/s/ block char//'", shell=True,
                       cwd=self.tree, check=True)
        files = [os.path.join(d, f) for d, _, fs in os.walk(self.tree + "/tests") for f in fs if f.endswith(".t")]
        return {os.path.relpath(f, self.tree + "/tests")[:-2]: ["sh", f] for f in sorted(files)}

    @staticmethod
    def results(_, out):
        return tap(out)


class Ltp:
    section, where, root = "Linux Test Project", os.environ.get("LTP"), True
    options = ["--caps", ROOTS]

    def prepare(self, _):
        programs = {f: os.path.join(d, f) for d, _, fs in os.walk(self.where) for f in fs
                    if os.access(os.path.join(d, f), os.X_OK) and "." not in f}
        tests = {}
        with open(self.where + "/runtest/syscalls", encoding="utf-8") as f:
            for name, *words in (l.split() for l in f if l.strip() and l[0] != "#"):
                if words and words[0] in programs:
                    tests[name] = [programs[words[0]]] + words[1:]
        return tests

    @staticmethod
    def results(status, out):
        counts = {k: len(re.findall(r"\b%s\b" % k, out)) for k in ("TPASS", "TFAIL", "TBROK", "TCONF")}
        return {"": (status, counts["TPASS"] > 0, counts["TFAIL"], counts["TBROK"], counts["TCONF"] > 0)}


class Git:
    section, where, root = "git", os.environ.get("GIT_TESTS"), False
    options = []

    def prepare(self, _):
        return {f[:-3]: ["sh", "-c", 'cd "$0" && sh "./$1" --root="$TMPDIR"', self.where, f]
                for f in sorted(os.listdir(self.where)) if re.match(r"t\d{4}-.*\.sh$", f)}

    @staticmethod
    def results(_, out):
        return tap(out)


class Python:
    section, root = "CPython", False
    where = next((d for d in ["%s/python3.%d/test" % (os.path.dirname(os.__file__) + "/..", sys.version_info[1])]
                  if os.path.exists(d + "/test_os.py")), None)
    options = []

    @staticmethod
    def prepare(_):
        modules = os.environ.get("PYTHON_TESTS", " ".join(MODULES)).split()
        return {m: [sys.executable, "-m", "unittest", "-v", "test." + m] for m in modules}

    @staticmethod
    def results(_, out):
        line = r"^test\w* \(([\w.]+)\)[^\n]*?(?:\n[^\n]+)?? \.\.\. .*?(ok|FAIL|ERROR|skipped|expected failure)\b"
        return {m[1]: m[2] for m in re.finditer(line, out, re.M)}


def verdicts(section):
    """The names that may differ, as patterns, of a section of the table."""
    with open(TABLE, encoding="utf-8") as f:
        text = f.read().split("\n## ")
    rows = next(t for t in text if t.startswith(section)).split("\n")
    cells = [[c.strip() for c in r.strip().strip("|").split("|")] for r in rows if r.startswith("| ")]
    return [n for c in cells if c[0] in ("policy", "explained") for n in c[-1].split()]


def suite(kind, sbx):
    it, folder = kind(), tempfile.mkdtemp(prefix="sbx-foreign.")
    os.chmod(folder, 0o755)
    name = kind.__name__.lower()
    if not it.where or (it.root and os.getuid() != 0):
        print("ok - %s # SKIP %s" % (name, "wants root" if it.where else "its sources are not here"))
        return True
    may, n, differ, wrong = verdicts(it.section), 0, 0, 0
    for test, argv in it.prepare(folder).items():
        if not re.search(os.environ.get("ONLY", ""), test):
            continue
        got = []
        for how in ([], [sbx, "-qq"] + RULES + it.options + ["--"]):
            place = tempfile.mkdtemp(dir=folder)
            os.chmod(place, 0o755)
            got.append(it.results(*ended(how + argv, place)))
            subprocess.run(["rm", "-rf", place], check=False)
        n += len(got[0])
        for key in sorted(k for k in got[0] | got[1] if got[0].get(k) != got[1].get(k)):
            differ += 1
            if not any(fnmatch.fnmatch(t, p) for p in may for t in (test, key, key.removeprefix("test."))):
                wrong += 1
                print("# %s %s: bare %s, inside %s" % (test, key, got[0].get(key), got[1].get(key)), flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    good = "not ok" if wrong or not n else "ok"
    print("%s - %s: %d tests, %d differ, %d of them without a verdict" % (good, name, n, differ, wrong))
    return not wrong and n > 0


SUITES = {k.__name__.lower(): k for k in (Pjdfstest, Ltp, Git, Python)}
chosen = sys.argv[2:] or list(SUITES)
sys.exit(not all([suite(SUITES[s], os.path.abspath(sys.argv[1])) for s in chosen]))
