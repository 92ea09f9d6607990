# SPDX-License-Identifier: Apache-2.0
"""foreign_keys.py SBX-POLICY TABLE [-v | SBX-LAUNCH]: a document is made of each line's keys, with values as such files have
them. It loads; or a key is refused with the line at which it stands, is taken out, and the rest is judged: so no refusal
hides keys beside it or in it from the test. What a document must have beside the line's keys is added. With the launcher:
a run refuses what loads where `check` ends with 1, and nowhere else."""

import collections
import json
import os
import re
import subprocess
import sys
import tempfile

# Values by the last part of a key, where "x" is none.
VALUES = {
    "port": 443, "protocol": "rest", "access": "full", "enforcement": "enforce", "tls": "auto",
    "allow_encoded_slash": True, "method": "GET", "host": "example.org", "compatibility": "best_effort",
    "include_workdir": True, "version": 1, "on_error": "fail_closed", "order": 10, "include": ["example.org"],
    "allowed_ips": ["10.0.0.0/8"], "read_only": ["/usr"], "read_write": ["/tmp"], "run_as_user": "sandbox",
    "run_as_group": "sandbox", "httpProxyPort": 8080, "socksProxyPort": 8081, "defaultMode": "acceptEdits",
    "terms": ["x"], "mode": "deny", "disableBypassPermissionsMode": "disable",
}
LISTS = re.compile(r"^(allow|deny|ask|allowWrite|allowRead|denyRead|denyWrite|(allowed|denied)Domains|allowUnixSockets|"
                   r"excludedCommands|additionalDirectories|strictKnownMarketplaces)$")
FLAGS = re.compile(r"^(enable|enabled|allow|failIf|auto)[A-Z]|^enabled$|^strict$")
PATHS = {"binaries": "/usr/bin/curl", "rules": "/v1/*", "endpoints": "/v1/*"}


def value_of(path):
    last = path[-1]
    if last == "path":
        return next((v for k, v in PATHS.items() if k + "[]" in path[-3:] or k + "[]" in path), "/x")
    if last in VALUES:
        return VALUES[last]
    if "ignoreViolations" in path[:-1]:
        return ["x"]
    if LISTS.match(last):
        return []
    if last in ("network_policies", "enabledPlugins", "ignoreViolations"):
        return {}
    return True if FLAGS.search(last) else "x"


def build(keys):
    """Lists have one entry; `*` is a name."""
    root = {}
    for key in sorted(keys):
        if any(k.startswith((key + ".", key + "[]")) for k in keys) or key.endswith("[]"):
            continue  # what is in it says what it is
        at, path = root, key.split(".")
        for part in path[:-1]:
            name = "name" if part == "*" else part.replace("[]", "")
            at = at.setdefault(name, [{}] if part.endswith("[]") else {})
            at = at[0] if isinstance(at, list) else at
        at["name" if path[-1] == "*" else path[-1]] = value_of(path)
    return root


def toml(doc, path=()):
    out, tables = [], []
    for key, value in doc.items():
        if isinstance(value, dict):
            tables += ["[%s]" % ".".join(path + (key,))] + toml(value, path + (key,))
        else:
            out.append("%s = %s" % (key, json.dumps(value)))
    return out + tables


def dump(fmt, doc):
    return "\n".join(toml(doc)) + "\n" if fmt == "toml" else json.dumps(doc, indent=1) + "\n"


def places(fmt, doc):
    """{line: (holder, key, path)} of dump()."""
    found, line = {}, [1 if fmt != "toml" else 0]

    def walk(v, path):
        pairs = v.items() if isinstance(v, dict) else enumerate(v)
        pairs = list(pairs)
        if fmt == "toml":  # plain ones first
            pairs.sort(key=lambda p: isinstance(p[1], dict))
        for k, w in pairs:
            line[0] += 1
            here = path + ([k] if isinstance(v, dict) else ["[]"])
            found[line[0]] = (v, k, here)
            if isinstance(w, dict if fmt == "toml" else (dict, list)):
                walk(w, here)
                line[0] += fmt != "toml" and bool(w)
    walk(doc, [])
    return found


def check(name, text):
    with open(name, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(name, 0o600)
    p = subprocess.run([policy, "check", name], capture_output=True, text=True, check=False)
    lines = [l for l in p.stderr.split("\n") if ": note: " not in l and ": loss: " not in l]
    return p, next((m for m in (re.search(r"/d\.\w+:(\d+):(\d+): (.*)", l) for l in lines) if m), None)


def complete(holder, said):
    """What is missing beside the keys of the line, and what different entries of the file have."""
    missing = re.search(r"missing field `(\w+)` in", said)
    if missing:
        name = missing[1]
        holder[name] = {} if name in ("filesystem", "network") else []
        return True
    if "mutually exclusive" in said:
        holder.pop("access")
        return "access"
    if "protocol requires rules or access" in said:
        holder["protocol"] = "tcp"
        return True
    return False


def text_of(path):
    return ".".join(path).replace(".[]", "[]")


def judge(fmt, keys, name):
    """(keys that are refused with their place, what is wrong)."""
    doc, refused, apart = build(keys), [], []
    for _ in range(200):
        p, m = check(name, dump(fmt, doc))
        if p.returncode != 2:
            return refused, apart, None
        if not m:
            return refused, apart, "no place: " + p.stderr.strip()
        holder, key, path = places(fmt, doc).get(int(m[1]), (None, None, []))
        inner = doc if holder is None else holder[key]
        done = False
        for at in (inner, holder):  # the place of a mapping is its own or its first key's
            if isinstance(at, dict) and not done:
                done = ("missing" in m[3] or at is inner or "exclusive" in m[3] or "protocol requires" in m[3]) and complete(at, m[3])
        if done == "access":
            apart.append("access")
        if done:
            continue
        if holder is None:
            return refused, apart, "as a whole: " + m[3]
        if "`%s`" % key not in m[3] and key not in str(m[3]):
            return refused, apart, "%s is not what is said: %s" % (text_of(path), m[3])
        del holder[key]
        refused.append(text_of(path))
    return refused, apart, "does not end"


def as_run(name):
    """What is wrong with the answer of `check`, as a strict run has it."""
    p, _ = check(name, open(name, encoding="utf-8").read())
    run = subprocess.run([launcher, "-p", name, "--dry-run", "--", "true"], capture_output=True, text=True, check=False)
    refused = run.returncode == 125 or "would be refused" in run.stdout + run.stderr
    if (p.returncode == 1) != refused:
        return "check ends with %d, the run: %s" % (p.returncode, (run.stderr or run.stdout).strip())
    return None


def main():
    total, bad = collections.Counter(), 0
    folder = tempfile.mkdtemp()
    for line in open(table, encoding="utf-8"):
        if line.startswith("#"):
            continue
        fmt, keys = line.rstrip("\n").split("\t")
        keys = [k.replace("credentials.*", "credentials.envVars[]") for k in keys.split()]
        refused, apart, wrong = judge(fmt, keys, os.path.join(folder, "d." + fmt))
        if launcher and not wrong:
            wrong = as_run(os.path.join(folder, "d." + fmt))
        total.update(documents=1, keys=len(keys), refused=len(refused), whole=not refused)
        if wrong:
            bad += 1
            print("not ok:", wrong[:300], "//", " ".join(keys)[:150])
        elif "-v" in sys.argv:
            print("refused:", refused, apart)
    print("%(documents)d documents, %(keys)d keys; %(whole)d load as they are, from the others %(refused)d keys are refused "
          "with their place" % total, bad, "bad")
    return bad > 0 or total["documents"] < 40


policy, table = sys.argv[1:3]
launcher = next((a for a in sys.argv[3:] if a != "-v"), None)
sys.exit(main())
