#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""remedy_kinds.py SBX-AUDIT RUNS-DIR [DAMAGED]: the kinds of remedies of the denials of the recorded runs, an instance
each: operation, whose rule, the words with X for what they name. tests/e2e/remedies.sh tries one of each kind."""

import json
import os
import re
import subprocess
import sys

# Whose rule it is: a remedy may depend on that.
ORIGINS = (("cli:", "option"), ("preset:secrets", "secrets"), ("preset:protected", "protected"), ("preset:", "preset"),
           ("builtin:filter", "filter"), ("builtin:supervisor", "supervisor"), ("builtin:self", "self"),
           ("builtin:stdio", "stdio"), ("builtin:", "base"), ("outer:", "outer"), ("managed:", "managed"),
           ("project:", "project"), ("side-root", "option"))
VALUE = re.compile(r"(--(?:read|modify|unix|connect|exec)) (\$'(?:[^'\\]|\\.)*'|'[^']*'|\S+?)(?=,? or |$|,| )")


def origin_of(rule):
    return next((name for start, name in ORIGINS if rule.startswith(start)), "document")


def shape_of(remedy):
    text = VALUE.sub(r"\1 X", remedy)
    text = re.sub(r"--preset \S+", "--preset NAME", text)
    text = re.sub(r"^it is .*, where no name", "it is X, where no name", text)
    text = re.sub(r"^(.*): change `http`", "X: change `http`", text)
    return text


def kinds(audit, run):
    p = subprocess.run([audit, "denials", "--json", run], capture_output=True, text=True, errors="replace", check=False)
    for line in p.stdout.splitlines():
        try:
            d = json.loads(line)
        except ValueError:
            continue
        if "op" in d:
            yield (d["op"], origin_of(d["rule"]), shape_of(d.get("remedy", "none"))), d


def main():
    audit, runs = sys.argv[1:3]
    damaged = set()
    if len(sys.argv) > 3 and os.path.exists(sys.argv[3]):
        damaged = set(open(sys.argv[3], encoding="utf-8").read().split())
    seen = {}
    for run in sorted(os.listdir(runs)):
        log = os.path.join(runs, run, "audit.jsonl")
        if run in damaged or not os.path.exists(log) or b'"kind":"denied"' not in open(log, "rb").read():
            continue
        for kind, d in kinds(audit, run):
            seen.setdefault(kind, d)
    for kind, d in sorted(seen.items()):
        print("\t".join(kind), "//", d["path"][:60].encode("ascii", "backslashreplace").decode(), d["rule"])


if __name__ == "__main__":
    main()
