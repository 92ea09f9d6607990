# SPDX-License-Identifier: Apache-2.0
"""hosts.py MKHOST SBX ROUNDS [SEED]: random hosts. What --doctor says of a strict run is what such a
run does, and a run that is made holds what it promises. Prints TAP; the seed is in its first line.

hosts.py --table MKHOST SBX: the rows of docs/HOSTS.md on filters.
hosts.py --places MKHOST SBX: those on what else a container takes away.
hosts.py --into FILE MARK TABLE: puts them between the marks.
"""
import json
import os
import random
import re
import shutil
import subprocess
import sys

LACKS = ["landlock", "namespaces", "unshare", "mounts", "listener", "openat2", "memory", "writing",
         "getfd", "pidfd", "seccomp", "clone3", "admin", "keys", "ptrace", "newer", "killable"]
# Kernels and filters say these two; of some abilities more.
ERRNOS = ["ENOSYS", "EPERM"]
MORE = {"landlock": ["EOPNOTSUPP"], "namespaces": ["ENOSPC"], "listener": ["EBUSY", "EINVAL"]}
# Single calls, as a filter of anybody's may refuse them (x86-64), and forms by an argument.
CALLS = {
    "openat2": 437, "pidfd_getfd": 438, "pidfd_open": 434, "process_vm_readv": 310, "process_vm_writev": 311,
    "statx": 332, "memfd_create": 319, "faccessat2": 439, "close_range": 436, "clone3": 435, "unshare": 272,
    "mount": 165, "setns": 308, "landlock_create_ruleset": 444, "landlock_add_rule": 445,
    "landlock_restrict_self": 446, "seccomp": 317, "prctl": 157, "kcmp": 312, "pidfd_send_signal": 424,
    "execveat": 322, "renameat2": 316, "fchmodat2": 452, "linkat": 265, "ftruncate": 77, "truncate": 76,
    "getrandom": 318, "eventfd2": 290, "signalfd4": 289, "timerfd_create": 283, "prlimit64": 302, "capset": 126,
    "capget": 125, "sendmsg": 46, "recvmsg": 47, "socketpair": 53, "copy_file_range": 326, "fallocate": 285,
    "utimensat": 280, "mknodat": 259, "symlinkat": 266, "fchownat": 260, "setxattr": 188,
    "name_to_handle_at": 303, "pivot_root": 155, "umount2": 166, "setpgid": 109, "waitid": 247, "flock": 73,
    "statfs": 137, "fstatfs": 138, "inotify_init1": 294, "sched_getaffinity": 204, "fchmodat": 268,
    "fchdir": 81, "set_robust_list": 273, "rseq": 334, "tgkill": 234, "mremap": 25, "madvise": 28,
    "getdents64": 217, "readlinkat": 267, "mkdirat": 258, "unlinkat": 263, "newfstatat": 262,
    "sigaltstack": 131, "membarrier": 324, "pipe2": 293, "dup3": 292, "chroot": 161, "setresuid": 117,
    "setgroups": 116, "keyctl": 250, "chdir": 80, "umask": 95, "ptrace": 101, "io_uring_setup": 425,
    "ADDFD": "16:1:1075323139", "RECV": "16:1:3226476800", "a user namespace": "272:0:268435456",
    "a network namespace": "272:0:1073741824", "no new privileges": "157:0:38", "death signal": "157:0:1",
    "F_DUPFD_CLOEXEC": "72:1:1030", "netlink": "41:0:16", "a listener": "317:1:8"}
# Around a run, by programs: all but the last two need root.
WHEREABOUTS = {
    "plain": [],
    "no-new-privs": ["setpriv", "--no-new-privs"],
    "no-account": ["sh", "-c", "chmod a+x \"$E2E_ROOT\" && chown -R 54321:54321 . \"$HOME\" && "
                   "TMPDIR=/tmp exec setpriv --reuid 54321 --regid 54321 --clear-groups \"$@\"", "-"],
    "no-proc": ["unshare", "-m", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "-"],
    "masked-proc": ["unshare", "-m", "sh", "-c",
                    # the engines' lists: masked, then read-only
                    "for d in acpi asound scsi interrupts; do mount -t tmpfs -o ro none /proc/$d; done 2>/dev/null\n"
                    "for f in kcore keys latency_stats timer_list timer_stats sched_debug; do "
                    "mount --bind /dev/null /proc/$f; done 2>/dev/null\n"
                    "for d in bus fs irq sys sysrq-trigger; do mount --bind /proc/$d /proc/$d && "
                    "mount -o bind,remount,ro /proc/$d; done 2>/dev/null\n"
                    "exec \"$@\"", "-"],
    "stale-proc": ["unshare", "-pf", "--kill-child"],
    "no-shm": ["unshare", "-m", "sh", "-c", "mount --bind /dev/null /dev/shm 2>/dev/null || mount -t tmpfs "
               "-o ro none /dev/shm; exec \"$@\"", "-"],
    "read-only": ["unshare", "-m", "sh", "-c",
                  "mount --make-rprivate / && mount --rbind \"$PWD\" \"$PWD\" && mount -o remount,bind,ro / && "
                  "cd \"$PWD\"; exec \"$@\"", "-"],
    "read-only-but-home": ["unshare", "-m", "sh", "-c",
                           "mount --make-rprivate / && mount --rbind \"$PWD\" \"$PWD\" && mount --rbind \"$HOME\" \"$HOME\" && "
                           "mount -t tmpfs none /mnt && mount -o remount,bind,ro / && cd \"$PWD\" && TMPDIR=/mnt exec \"$@\"", "-"],
    "cgroup-v2": ["unshare", "-m", "sh", "-c", "mount -t cgroup2 none /sys/fs/cgroup && exec \"$@\"", "-"],
    "cgroup-v2-read-only": ["unshare", "-mC", "sh", "-c",
                            "mount -t cgroup2 -o ro none /sys/fs/cgroup && exec \"$@\"", "-"],
    "cgroup-v1": ["unshare", "-m", "sh", "-c",
                  "mount -t tmpfs none /sys/fs/cgroup && mkdir /sys/fs/cgroup/memory && "
                  "mount -t cgroup -o memory none /sys/fs/cgroup/memory && exec \"$@\"", "-"],
    "tmpfs-home": ["unshare", "-m", "sh", "-c", "mount -t tmpfs none \"$HOME\" && exec \"$@\"", "-"],
    "own-userns": ["unshare", "-Ur"],
    # a user who can make no user namespace: the kernel's own limit, not a filter's word
    "no-userns": ["unshare", "-U", "--map-current-user", "--keep-caps", "sh", "-c",
                  "echo 0 >/proc/sys/user/max_user_namespaces && "
                  "exec setpriv --inh-caps=-all --ambient-caps=-all \"$@\"", "-"],
}
# What is remembered of a host on which siblings can serve, and of one whose Yama lets only ancestors.
SIBLING, PARENT = "\n0 0 0 0 0 0 0 0 0 end", "\n7 1 0 0 0 0 0 0 0 end"
# Where the two once differed.
KNOWN = [([], 0, []), (["--call", "217=38", "--in", "podman"], 2, []), (["--call", "439=22", "--in", "kubernetes"], 3, ["--isolate", "pid,shm"]),
         (["--no", "writing", "--call", "293=38"], 4, []), (["--call", "267=38"], 1, ["--isolate", "pid"]), (["--call", "316=38"], 0, []), (["--call", "319=1"], 1, [])]
ISOLATIONS = [[], [], [], ["--isolate", "none"], ["--isolate", "pid"], ["--isolate", "pid,shm"]]
OPTIONS = [[], ["--deny-read", "**/*.env"], ["--network", "none"], ["--network", "loopback"],
           ["--network", "host"], ["--network", "watch"]]
# What a run that is made holds, by a shell that nobody preloads into: nothing of it is printed.
HOLDS = """cat "$HOME/.ssh/id" 2>/dev/null && echo read
(echo x >"$HOME/made") 2>/dev/null && echo wrote
(echo x >.git/hooks/made) 2>/dev/null && echo hook
mv .git moved 2>/dev/null && echo moved
chmod 777 .git/hooks 2>/dev/null && echo mode
ln "$HOME/.ssh/id" linked 2>/dev/null && cat linked
echo x >in && cat in"""


def fresh():
    home = os.environ["HOME"]
    if os.stat(".").st_uid != os.geteuid():  # of the place without an account
        subprocess.run(["chown", "-R", f"{os.geteuid()}:{os.getegid()}", ".", home], check=True)
    subprocess.run(["chmod", "-R", "u+rwx", ".", home], check=False, stderr=subprocess.DEVNULL)
    for name in os.listdir("."):
        shutil.rmtree(name) if os.path.isdir(name) and not os.path.islink(name) else os.unlink(name)
    shutil.rmtree(home + "/.ssh", ignore_errors=True)
    os.makedirs(home + "/.ssh")
    os.makedirs(".git/hooks")
    with open(home + "/.ssh/id", "w") as f:
        f.write("secret\n")
    if os.path.exists(home + "/made"):
        os.unlink(home + "/made")


class Host:
    def __init__(self, mkhost, sbx, where, lacks):
        self.mkhost, self.sbx, self.where, self.lacks = mkhost, sbx, where, lacks

    def __str__(self):
        return " ".join([self.where] + self.lacks)

    def run(self, words):
        return self.run_bare([self.sbx] + words)

    def run_bare(self, words):
        try:
            return subprocess.run(WHEREABOUTS[self.where] + ([self.mkhost] + self.lacks if self.lacks else []) +
                                  words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  timeout=120, check=False)
        except subprocess.TimeoutExpired:
            return None

    def verdicts(self):
        done = self.run(["--doctor", "--json"])
        if not done or done.returncode or not done.stdout.startswith("{"):
            return None
        return json.loads(done.stdout)["verdicts"]


def why(text):
    lines = [line[len("sbx-launch: "):] for line in text.splitlines() if line.startswith("sbx-launch: E_")]
    return lines[-1] if lines else ""


def notes(text):
    mark = "sbx-launch: note: "
    return [line[len(mark):] for line in text.splitlines() if line.startswith(mark)]


def holds(host, options):
    """None, or what a run that is made lets through, or lets fail that works outside."""
    fresh()
    works = "echo x >in && cat in"
    bare = host.run_bare(["sh", "-c", works])
    fresh()
    done = host.run(["-q", "--strict", "--no-shim"] + options + ["--", "sh", "-c", HOLDS])
    if not done or os.path.exists(os.environ["HOME"] + "/made") or set(done.stdout.split()) - {"x"}:
        return f"does not hold: {done}"
    if bare and bare.stdout == "x\n" and done.stdout != "x\n":
        return f"what works outside fails: {done}"
    return None


def isolated(host, options):
    """With --isolate: refused with a cause, or it holds."""
    fresh()
    done = host.run(["--strict"] + options + ["--", "true"])
    if done and done.returncode == 125:
        return None if why(done.stderr) else f"refused without a word: {done}"
    return holds(host, options) or below_yama(host, options) if done else "a run does not end"


def differs(host, which, isolation=()):
    """None, or what the doctor says against what a run does."""
    fresh()
    if isolation:
        return isolated(host, OPTIONS[which] + isolation)
    verdicts = host.verdicts()
    if verdicts is None:
        done = host.run(OPTIONS[which] + ["--strict", "--", "true"])
        return None if done and done.returncode not in (0, 125) else "the doctor says nothing, and a run is made"
    said = verdicts[which]
    done = host.run(["--strict"] + OPTIONS[which] + ["--", "true"])
    if not done:
        return "a run does not end"
    bare = host.run_bare(["true"])
    if bare and bare.returncode:
        return None  # nothing runs here
    if said["runs"] != (done.returncode == 0) or (not said["runs"] and done.returncode != 125):
        return f"doctor: {said}; a run: {done.returncode} {done.stderr}"
    if not said["runs"]:
        own = [re.sub(r"sbx-launch-\d+/\w+|runs/\S+", "", text)[:470] for text in (why(done.stderr), said["why"])]
        return None if own[0] == own[1] else \
            f"doctor: {said['why']}; a run: {done.stderr}"
    if notes(done.stderr) != said["notes"]:
        return f"doctor: {said['notes']}; a run: {done.stderr}"
    return holds(host, OPTIONS[which]) or below_yama(host, OPTIONS[which])


def below_yama(host, options):
    """None, or how a run differs that believes itself on a host whose Yama lets only ancestors look into
    a process: it is made as it was before, and holds. Where nothing is remembered there is nothing to try."""
    memory = os.environ["HOME"] + "/.local/state/sbx-launch/host"
    fresh()
    before = host.run(["--strict"] + options + ["--", "true"])
    try:
        with open(memory) as f:
            text = f.read()
    except OSError:
        return None
    if SIBLING not in text or not before or before.returncode:
        return None
    below_yama.tried += 1
    with open(memory, "w") as f:
        f.write(text.replace(SIBLING, PARENT))
    done = host.run(["--strict"] + options + ["--", "true"])
    if not done or done.returncode or notes(done.stderr) != notes(before.stderr):
        return f"with the broker as parent: {done}; as a sibling: {before}"
    found = holds(host, options)
    host.run(["--doctor"])  # which tries anew
    return found and "with the broker as parent: " + found


below_yama.tried = 0


def can(where):
    done = subprocess.run(WHEREABOUTS[where] + ["true"], capture_output=True, check=False)
    return done.returncode == 0


def rounds(mkhost, sbx, n, seed):
    rng = random.Random(seed)
    filters = subprocess.run([mkhost, "--filters"], capture_output=True, text=True, check=True).stdout.split()
    places = [w for w in WHEREABOUTS if can(w)]
    bad = 0
    print(f"# seed {seed}, {', '.join(places)}")
    hosts = [(Host(mkhost, sbx, "plain", lacks), which, isolation) for lacks, which, isolation in KNOWN if n]
    for _ in range(n):
        lacks = []
        for name in rng.sample(LACKS, rng.choice([0, 0, 1, 1, 1, 2, 3])):
            lacks += ["--no", name + rng.choice(["", "=" + rng.choice(ERRNOS + MORE.get(name, []))])]
        for name in rng.sample(sorted(CALLS), rng.choice([0, 1, 1, 2])):
            lacks += ["--call", f"{CALLS[name]}={rng.choice([1, 38, 38, 22, 13])}"]
        if rng.random() < 0.4:
            lacks += ["--in", rng.choice(filters)]
        if rng.random() < 0.3:
            lacks += ["--abi", str(rng.randint(1, 7))]
        isolation = rng.choice(ISOLATIONS)
        hosts.append((Host(mkhost, sbx, rng.choice(places), lacks), rng.randrange(len(OPTIONS)), isolation))
    for i, (host, which, isolation) in enumerate(hosts):
        found = differs(host, which, isolation)
        bad += found is not None
        print(f"{'not ok' if found else 'ok'} - {os.environ['E2E_INNER']}: {i} {host} "
              f"{' '.join(OPTIONS[which] + isolation)}", flush=True)
        if found:
            print("# " + found.replace("\n", "\n# "))
    if n:
        few = not below_yama.tried and not os.path.exists("/proc/sys/kernel/yama")
        bad += few
        print(f"{'not ok' if few else 'ok'} - {os.environ['E2E_INNER']}: {below_yama.tried} with the broker as parent, too")
    return bad


def cell(verdict):
    return "runs" if verdict["runs"] else "refused"


def table(mkhost, sbx):
    filters = subprocess.run([mkhost, "--filters"], capture_output=True, text=True, check=True).stdout.split()
    print("| filter | default policy | a pattern that denies reading | `--network host` | what is said |")
    print("|---|---|---|---|---|")
    for name in filters:
        fresh()
        host = Host(mkhost, sbx, "plain", ["--in", name])
        v = host.verdicts()
        held = all(not differs(host, i) for i in ((0, 1, 4) if os.environ.get("FULL") else (0,)))
        said = next((x["why"] for x in v if not x["runs"] and "loopback" not in x["options"]), "")
        if not said:
            done = host.run(["--", "true"])
            said = " ".join(line[len("sbx-launch: "):] for line in done.stderr.splitlines() if "note:" in line)
        print(f"| {name} | {cell(v[0])} | {cell(v[1])} | {cell(v[4])} | {said.replace('|', '/')}"
              f"{'' if held else ' **DIFFERS**'} |")


def memory_by(host):
    """Where --memory would be held here: in "the run's cgroup", by "each process"; "-": no run is planned."""
    fresh()
    done = host.run(["--dry-run", "--memory", "1G", "--", "true"])
    held = re.search(r"^memory: \d+, held by (\w+)$", done.stdout, re.M) if done else None
    return {"cgroup": "the run's cgroup", "rlimit": "each process"}[held[1]] if held else "-"


def places(mkhost, sbx):
    """Each place alone and below Docker's filter: the default policy."""
    print("| where | alone | below Docker's filter | `--memory` is held by | what is said |")
    print("|---|---|---|---|---|")
    for name in WHEREABOUTS:
        if not can(name):
            print(f"| {name} | cannot be made here | | | |")
            continue
        fresh()
        hosts = [Host(mkhost, sbx, name, []), Host(mkhost, sbx, name, ["--in", "docker"])]
        said = [(host.verdicts() or [{"runs": False, "why": "", "notes": []}])[0] for host in hosts]
        differ = [differs(host, i) for host in hosts for i in (0, 1, 4)]
        text = said[0].get("why") or " ".join("note: " + note for note in said[0]["notes"])
        print(f"| {name} | {cell(said[0])} | {cell(said[1])} | {memory_by(hosts[0])} | {text.replace('|', '/')}"
              f"{' **DIFFERS**' if any(differ) else ''} |")
        for found in filter(None, differ):
            print("# " + found, file=sys.stderr)


def put_into(file, name, rows):
    mark, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    with open(file) as f:
        text = f.read()
    with open(rows) as f:
        table_text = f.read()
    before, rest = text.split(mark)
    with open(file, "w") as f:
        f.write(before + mark + table_text + end + rest.split(end)[1])


if __name__ == "__main__":
    if sys.argv[1] == "--into":
        put_into(*sys.argv[2:5])
    elif sys.argv[1] == "--places":
        places(*sys.argv[2:4])
    elif sys.argv[1] == "--table":
        table(*sys.argv[2:4])
    else:
        SEED = int(sys.argv[4]) if len(sys.argv) > 4 and sys.argv[4] else random.randrange(1 << 30)
        sys.exit(rounds(sys.argv[1], sys.argv[2], int(sys.argv[3]), SEED) != 0)
