# SPDX-License-Identifier: Apache-2.0
# foreign_keys.py SBX-POLICY TABLE: a document is made of each line's keys, with values of the kinds that
# are asked for. It loads, or is refused with file, line and column.
import json, re, subprocess, sys, tempfile, os
policy, table = sys.argv[1:3]
def build(keys):
    root = {}
    for key in keys:
        at = root
        parts = key.split(".")
        for i, part in enumerate(parts):
            lists = part.count("[]"); name = part.replace("[]", "") or "x"
            name = "name" if name == "*" else name
            if not isinstance(at, dict): break
            nxt = at.get(name)
            if not isinstance(nxt, (dict, list)): nxt = [{}] if lists else {}
            if lists and isinstance(nxt, dict): nxt = [nxt]
            at[name] = nxt
            at = nxt[0] if isinstance(nxt, list) else nxt
    def leaves(v):
        if isinstance(v, dict): return {k: leaves(w) for k, w in v.items()} if v else "x"
        return [leaves(w) for w in v] if isinstance(v, list) else v
    return leaves(root)
def toml(v, path=()):
    out, tables = [], []
    for k, w in v.items():
        if isinstance(w, dict): tables += ["[%s]" % ".".join(path + (k,))] + toml(w, path + (k,))
        else: out.append("%s = %s" % (k, json.dumps(w)))
    return out + tables
# What a key of the table may hold, from what is said of a value that it may not.
def value_for(said):
    if "must be absolute" in said: return '"/x"'
    m = re.search(r"expected one of ([\w-]+)", said) or re.search(r"expected (a|an) (\w+)", said)
    if not m: return None
    return {"boolean": "true", "integer": "1", "number": "1", "list": '["example.org"]', "mapping": "{}"}.get(m[m.lastindex], '"%s"' % m[1] if "one of" in said else None)
bad = n = loads = 0
d = tempfile.mkdtemp()
for line in open(table):
    if line.startswith("#"): continue
    fmt, keys = line.rstrip("\n").split("\t")
    doc = build(keys.split())
    name = os.path.join(d, "d." + fmt)
    text = "\n".join(toml(doc)) + "\n" if fmt == "toml" else json.dumps(doc, indent=1) + "\n"
    for _ in range(200):
        with open(name, "w") as f: f.write(text)
        os.chmod(name, 0o600)
        p = subprocess.run([policy, "check", name], capture_output=True, text=True)
        m = re.search(r"d\.%s:(\d+):(\d+): (.*)" % fmt, p.stderr) if p.returncode else None
        value = m and value_for(m[3])
        lines = text.split("\n")
        old = value and next((o for o in ('"x"', '"example.org"', '"read"') if o in lines[int(m[1]) - 1] and o != value), None)
        if not old: break
        lines[int(m[1]) - 1] = lines[int(m[1]) - 1].replace(old, value)
        text = "\n".join(lines)
    n += 1
    loads += p.returncode == 0
    ok = p.returncode == 0 or (p.returncode in (1, 2) and re.search(r"d\.%s:\d+:\d+: " % fmt, p.stderr))
    if not ok:
        bad += 1
        print(p.returncode, p.stderr.strip()[:200], "//", keys[:150])
    elif "-v" in sys.argv: print(p.returncode, p.stderr.strip()[:160])
print(n, "documents,", loads, "load,", bad, "bad")
sys.exit(bad > 0 or loads < n // 2)
