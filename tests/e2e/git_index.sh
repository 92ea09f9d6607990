#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files of git's that a command may write, read as git reads them: whatever submodule or repository
# git sees, `sbx-policy approve` sees or asks. Git itself is the oracle.
# shellcheck source=tests/support/e2e.sh
. "$(dirname "$0")/../support/e2e.sh"
ask=${SBX%launch}policy

command -v python3 >/dev/null || { skip 'files of git' 'python3 is not installed'; exit 0; }

cat >"$TMP/look.py" <<'PY'
import hashlib, os, random, struct, subprocess, sys
ask, what, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
here = os.getcwd()
blob = bytes.fromhex("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391")
def run(*argv, cwd=here):
    return subprocess.run(argv, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
def answer(cwd=here):
    out = run(ask, "approve", "-w", here, "--", "git", "status", cwd=cwd).stdout
    return out.split(b":")[0].decode()

# ---- the index ----
FILE, LINK = 0o100644, 0o160000
def varint(n):
    out = bytes([n & 127]); n >>= 7
    while n:
        n -= 1; out = bytes([128 | n & 127]) + out; n >>= 7
    return out
def entry(version, before, mode, name, length=None, extended=False, cut=None, pad=b"\0"):
    length = min(len(name), 0xfff) if length is None else length
    b = struct.pack(">10I", 0, 0, 0, 0, 0, 0, mode, 0, 0, 0) + blob
    b += struct.pack(">HH", length | 0x4000, 0x2000) if extended else struct.pack(">H", length)
    if version == 4:
        same = len(os.path.commonprefix([before, name]))
        return b + varint(len(before) - same if cut is None else cut) + name[same:] + b"\0"
    size = (len(b) + len(name) + 8) & ~7
    return (b + name).ljust(size - 1, pad) + pad if pad != b"\0" else (b + name).ljust(size, b"\0")
def ext(key, text): return key + struct.pack(">I", len(text)) + text
def index(version, count, body, exts, end=None, sum_=None):
    head = b"DIRC" + struct.pack(">II", version, count)
    if end is not None:
        h = hashlib.sha1(b"".join(k + struct.pack(">I", len(t)) for k, t in end[1])).digest()
        exts = exts + [(b"EOIE", struct.pack(">I", end[0]) + h)]
    b = head + body + b"".join(ext(k, t) for k, t in exts)
    return b + (hashlib.sha1(b).digest() if sum_ is None else sum_)
def hidden_by_length(version=2):
    one = entry(2, b"", FILE, b"x" * 72)[:62] + b"a\0" + entry(2, b"", FILE, b"b")[:62] + b"b\0"
    two = entry(2, b"", LINK, b"sub0")
    return index(version, 2, one + b"ABCD" + struct.pack(">I", len(two)) + two, [])
def hidden_by_blocks(right):
    names = [b"a%d" % i for i in range(6)]
    ents = [entry(2, b"", FILE, n) for n in names]
    hidden = entry(2, b"", LINK, b"sub0")
    end = 12 + len(b"".join(ents))
    last = 12 + len(b"".join(ents[:5])) if right else end + 8
    exts = [(b"ABCD", hidden), (b"IEOT", struct.pack(">IIIII", 1, 12, 5, last, 1))]
    return index(2, 6, b"".join(ents), exts, (end, exts))
def hidden_by_end():
    ents = entry(2, b"", FILE, b"a") + entry(2, b"", FILE, b"c")
    inner = ext(b"link", b"\0" * 20)
    at = 12 + len(ents) + 8
    return index(2, 2, ents, [(b"ABCD", inner)], (at, [(b"link", b"\0" * 20)]))
def rand(r):
    version = r.choice([2, 3, 4])
    names = sorted(set(r.choice([b"a", b"ab", b"b/c", b"s", b"t" * r.choice([10, 4094, 4095, 4096, 5000])]) for _ in range(3)) |
                   ({b"sub%d" % r.randrange(3)} if r.random() < .5 else set()))
    body, before, at, places = b"", b"", 12, []
    for n in names:
        e = entry(version, before, LINK if n.startswith(b"sub") else FILE, n, extended=version > 2 and r.random() < .3,
                  length=r.choice([1, 3, 72, 0xfff]) if r.random() < .1 else None,
                  cut=r.choice([0, 1, 5]) if version == 4 and r.random() < .1 else None, pad=r.choice([b"\0", b"\0", b"x"]))
        places.append(12 + len(body)); body += e; before = n
    exts = [(r.choice([b"TREE", b"UNTR", b"FSMN", b"ABCD", b"sdir", b"link"]), entry(2, b"", LINK, b"sub0"))] if r.random() < .3 else []
    end = None
    if r.random() < .5:
        split = r.randrange(len(names))
        off = 12 + len(body) + (8 if r.random() < .2 else 0)
        exts.append((b"IEOT", struct.pack(">I", 1) + (struct.pack(">II", 12, split) if split else b"") +
                     struct.pack(">II", places[split] if r.random() < .7 else 12 + len(body) + 8, len(names) - split)))
        end = (off, exts)
    b = bytearray(index(version, len(names), body, exts, end, r.choice([None, b"\0" * 20, b"\1" * 20])))
    for _ in range(r.choice([0, 0, 1, 2])):
        b[r.randrange(12 + 40, len(b))] = r.choice([0, 0, 1, 4, 0xe0, 0xff, 0x73])
    return bytes(b)
def gitlinks():
    seen = set()
    for threads in "1", "2", "4":
        p = run("git", "-c", "index.threads=" + threads, "ls-files", "--stage", "-z")
        for line in p.stdout.split(b"\0"):
            meta, _, name = line.partition(b"\t")
            if meta.startswith(b"160000") and name and os.path.isdir(os.path.join(name, b".git")): seen.add(name)
    return seen
def look_at_indexes():
    links = allowed = 0
    r = random.Random(7)
    some = [hidden_by_length(), hidden_by_blocks(False), hidden_by_blocks(True), hidden_by_end()] + \
           [index(v, 1, entry(v, b"", FILE, b"t" * n), [], None, b"\0" * 20) for v in (2, 3, 4) for n in (1, 4094, 4095, 4096)]
    for i in range(len(some) + rounds):
        data = some[i] if i < len(some) else rand(r)
        open(".git/index", "wb").write(data)
        open(".git/index.lock", "wb").close() if i % 5 == 0 else None
        seen, said = gitlinks(), answer()
        if os.path.exists(".git/index.lock"): os.unlink(".git/index.lock")
        links += bool(seen); allowed += said == "allow"
        if seen and said != "ask": print("index", i, "git sees", seen, "we say", said)
        if i in (2,) + tuple(range(4, 16)) and said != "allow": print("index", i, "is as git writes it, we say", said)
        if i < 2 and not seen: print("index", i, "git sees nothing")
        if i == 3 and said != "ask": print("an end elsewhere:", said)
    if links < 3 or allowed < 12: print("too few:", links, allowed)

# ---- files that lead to a directory ----
def look_at_pointers():
    os.rename("evil/.git", "evil/git\nb")
    os.symlink("git\nb", "evil/.git")
    os.mkdir("evil/sp "); os.symlink("../git\nb", "evil/sp /.git"); os.symlink("git\nb", "evil/cr\rb")
    long = b"../evil/" * 400
    texts = [b"../evil/.git", b"../evil/.git\n", b"../evil/.git\r\n\n\r", b"../evil/git\nb", b"../evil/git\nb\n", b"../evil/cr\rb\r\n", b"../evil/.git\0x\n",
             b"../evil/.git\0", b"../evil/sp /.git", b"../evil/.git ", b" ../evil/.git", b"\n../evil/.git", long + b".git", os.fsencode(here) + b"/evil/git\nb",
             b"", b"\n", b"../chain/.git", b"../none"]
    seen = 0
    os.mkdir("chain"); open("chain/.git", "wb").write(b"gitdir: ../evil/.git\n")
    for how in "gitfile", "link", "commondir":
        for i, text in enumerate(texts):
            d = "%s%d" % (how, i)
            os.mkdir(d)
            if how == "commondir":
                os.mkdir(d + "/.git"); open(d + "/.git/HEAD", "w").write("ref: refs/heads/main\n")
                open(d + "/.git/commondir", "wb").write(text.replace(b"../evil", b"../../evil").replace(b"../chain", b"../../chain"))
            elif how == "gitfile": open(d + "/.git", "wb").write(b"gitdir: " + text)
            else:
                open(d + "/file", "wb").write(b"gitdir: " + text); os.symlink("file", d + "/.git")
            p = run("git", "config", "core.fsmonitor", cwd=d)
            evil, said = p.stdout.startswith(b"/evil"), answer(d)
            seen += evil
            if evil and said != "ask": print(d, text, "git finds it, we say", said)
            if b"\0" in text and said != "ask": print(d, text, said)
    if seen < 20: print("too few:", seen)

look_at_indexes() if what == "index" else look_at_pointers()
PY

git init -q . && git config user.email a@b && git config user.name n
for n in 0 1 2; do
	git init -q sub$n && git -C sub$n -c user.email=a@b -c user.name=n commit -q --allow-empty -m s
done
git init -q evil && git -C evil config core.fsmonitor /evil
check 'a plain repository is looked at' [ "$("$ask" approve -- git status)" = 'allow: read-only' ]
python3 "$TMP/look.py" "$ask" index "$(rounds 20 60)" >"$TMP/out" 2>&1
check 'whatever submodule git sees in an index' [ "$(cat "$TMP/out")" = '' ]
sed 's/^/# /' "$TMP/out" | head -20
rm -f .git/index .git/index.lock
python3 "$TMP/look.py" "$ask" pointers 0 >"$TMP/out" 2>&1
check 'whatever repository git finds by a file' [ "$(cat "$TMP/out")" = '' ]
sed 's/^/# /' "$TMP/out" | head -20
