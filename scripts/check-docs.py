#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-docs.py: what the documents name exists.

For each document in git: a relative link leads to a file, a heading that a link names is there, a path in back quotes
is a file of the repository, and `make TARGET` is a target. For each source: a document that it cites exists.
Prints FILE:LINE: what is wrong; status 1 when something is.
"""
import os
import re
import subprocess
import sys

FILES = subprocess.run(["git", "ls-files"], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]
TRACKED = set(FILES)
FOLDERS = {os.path.dirname(f)[:n] for f in FILES for n in [len(os.path.dirname(f))]}
FOLDERS |= {p for f in list(FOLDERS) for p in ("/".join(f.split("/")[:n]) for n in range(1, f.count("/") + 1))}
TOP = {f.split("/")[0] for f in FILES if "/" in f}
MAKE = "\n".join(open(f, encoding="utf-8").read() for f in FILES if f.endswith(".mk") or f == "GNUmakefile")
TARGETS = {t for line in re.findall(r"(?m)^([a-z][\w. -]*):(?!=)", MAKE) for t in line.split()}


def is_there(path):
    path = path.rstrip("/")
    return path in TRACKED or path in FOLDERS


def headings(path):
    for line in open(path, encoding="utf-8"):
        if line.startswith("#"):
            yield re.sub(r"[^\w -]", "", line.lstrip("#").strip().lower()).replace(" ", "-")


def without_fences(text):
    return re.sub(r"(?ms)^```.*?^```", lambda m: "\n" * m.group().count("\n"), text)


def numbered(text, pattern):
    for match in re.finditer(pattern, text):
        yield text.count("\n", 0, match.start()) + 1, match


def of_document(path):
    text = without_fences(open(path, encoding="utf-8").read())
    for line, match in numbered(text, r"\]\(([^)\s]+)\)"):
        target, _, anchor = match.group(1).partition("#")
        if ":" in target:
            continue
        to = os.path.normpath(os.path.join(os.path.dirname(path), target)) if target else path
        if not is_there(to):
            yield line, "a link to %s, which does not exist" % match.group(1)
        elif anchor and anchor not in headings(to):
            yield line, "a link to %s, a heading that does not exist" % match.group(1)
    for line, match in numbered(text, r"`([\w.-]+(?:/[\w.-]+)+/?)`"):
        name = match.group(1)
        if name.split("/")[0] in TOP and not is_there(name) and not is_there(os.path.splitext(name)[0]) and \
                not any(f.startswith(name + ".") for f in FILES):
            yield line, "`%s` does not exist" % name
    for line, match in numbered(text, r"`make ([a-z][a-z0-9-]*)"):
        if match.group(1) not in TARGETS:
            yield line, "`make %s`: not a target" % match.group(1)


def of_source(path):
    text = open(path, encoding="utf-8", errors="replace").read()
    for line, match in numbered(text, r"\bdocs/([A-Za-z][\w/-]*(?:\.(?:md|txt|json|[15])\b)?)"):
        name = match.group(0)
        if is_there(name) or is_there(name + ".md") or any(f.startswith(name) for f in FILES):
            continue
        yield line, "%s does not exist" % name


def main():
    bad = 0
    for path in FILES:
        if path == "CHANGELOG.md" or os.path.islink(path):
            continue
        if path.endswith(".md"):
            found = of_document(path)
        elif path.endswith((".c", ".h", ".mk", ".1", ".5")) and not path.startswith("tests/"):
            found = of_source(path)
        else:
            continue
        for line, what in found:
            bad += 1
            print("%s:%d: %s" % (path, line, what))
    return bad != 0


sys.exit(main())
