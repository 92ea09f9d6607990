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

def check(name, text):
    with open(name, "w") as f: f.write(text)
    os.chmod(name, 0o600)
    p = subprocess.run([policy, "check", name], capture_output=True, text=True)
    lines = [l for l in p.stderr.split("\n") if ": note: " not in l and ": loss: " not in l]
    m = next((m for m in (re.search(r"/d\.\w+:(\d+):(\d+): (.*)", l) for l in lines) if m), None)
    return p, m if p.returncode == 2 else None

# Without the key or entry that begins there: its place, "a.b[].c".
def without(doc, line, text):
    at = [0]
    hit = []
    def walk(v, path):
        if isinstance(v, dict):
            for k in list(v):
                at[0] += 1
                mine, here = at[0], path + ([k] if k else [])
                if mine == line - 1 and not hit: hit.append((v, k, here)); return
                walk(v[k], here)
                if isinstance(v[k], (dict, list)) and v[k]: at[0] += 1
        elif isinstance(v, list):
            for i, w in enumerate(v):
                at[0] += 1
                mine = at[0]
                if mine == line - 1 and not hit: hit.append((v, i, path + ["[]"])); return
                walk(w, path + ["[]"])
                if isinstance(w, (dict, list)) and w: at[0] += 1
    walk(doc, [])
    if not hit: return None
    holder, key, path = hit[0]
    del holder[key]
    return ".".join(path).replace(".[]", "[]")

def dump(fmt, doc):
    return "\n".join(toml(doc)) + "\n" if fmt == "toml" else json.dumps(doc, indent=1) + "\n"

bad = n = loads = keys_seen = keys_refused = 0
d = tempfile.mkdtemp()
for line in open(table):
    if line.startswith("#"): continue
    fmt, keys = line.rstrip("\n").split("\t")
    doc = build(keys.split())
    name = os.path.join(d, "d." + fmt)
    refused, wrong = [], None
    for _ in range(400):
        text = dump(fmt, doc)
        p, m = check(name, text)
        if p.returncode != 2: break
        if not m: wrong = p.stderr.strip(); break
        value = value_for(m[3])
        lines = text.split("\n")
        number = int(m[1])
        old = value and next((o for o in ('"x"', '"example.org"', '"read"') if o in lines[number - 1] and o != value), None)
        if old and fmt != "toml":
            lines[number - 1] = lines[number - 1].replace(old, value)
            try: doc = json.loads("\n".join(lines)); continue
            except ValueError: pass
        gone = without(doc, number, text) if fmt != "toml" else None
        if gone is None: refused.append("(the document)"); break # told with its place, as a whole
        refused.append(gone)
    n += 1
    loads += p.returncode != 2
    keys_seen += len(keys.split())
    keys_refused += len(refused)
    if wrong:
        bad += 1
        print(wrong[:200], "//", keys[:150])
    elif "-v" in sys.argv: print(p.returncode, refused)
print(n, "documents,", keys_seen, "keys,", loads, "documents load,", keys_refused, "keys are refused with their place,", bad, "bad")
sys.exit(bad > 0 or loads < n * 3 // 4)
