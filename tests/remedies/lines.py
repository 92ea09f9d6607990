# SPDX-License-Identifier: Apache-2.0
"""lines.py - the lines of denials as sbx-launch prints them: what was refused, by whose rule, and the options that are
to open it; and whether these open more than that."""

import collections
import os
import re
import subprocess

# Whose rule it is: a remedy may depend on that.
ORIGINS = (("cli:", "option"), ("preset:secrets", "secrets"), ("preset:protected", "protected"), ("preset:", "preset"),
           ("builtin:filter", "filter"), ("builtin:self", "self"), ("builtin:stdio", "stdio"), ("builtin:", "base"),
           ("outer:", "outer"), ("managed:", "managed"), ("project:", "project"), ("side-root", "option"))
WORD = r"(?:\$'(?:[^'\\]|\\.)*'|'[^']*'|[^\s,]\S*?)"
VALUE = re.compile(rf"(--(?:read|modify|unix|connect)) {WORD}(?=,? or |$|,| )")
BY_RULE = re.compile(r"denied (read|modify|exec|connect) (.*) \(rule (.*), (\S+?)\)(:.*|, or .*|)$")
BY_CALL = re.compile(r"denied (.*?) \(system-call filter\): (.*)$")

Line = collections.namedtuple("Line", "text op path origin remedies kind is_outer is_directory is_git")


def origin_of(rule):
    return next((name for start, name in ORIGINS if rule.startswith(start)), "document")


def shape_of(text):
    text = VALUE.sub(r"\1 X", text)
    text = re.sub(r"--preset \S+", "--preset NAME", text)
    text = re.sub(r": it is .*, where no name", ": it is X, where no name", text)
    return re.sub(r"^: .*: change `http`", ": X: change `http`", text)


def words_of(text):
    """As the shell of whoever types the remedy takes them."""
    p = subprocess.run(["bash", "-c", f"printf '%s\\0' {text}"], stdout=subprocess.PIPE, check=True)
    return [os.fsdecode(w) for w in p.stdout.split(b"\0")[:-1]]


def _remedies(tail):
    """The options behind `allow ... with` and `need`, each way by itself."""
    at = re.search(r"(?:\b(?:with|address with)|\b(?:needs?)) (--.*)$", tail)
    if not at:
        return []
    ways = at.group(1).split(";")[0]
    ways = re.sub(r" the host whose name is looked up$", "", ways)
    if "HOST:PORT" in ways or "--net-" in ways:
        return []  # what to write is the reader's to know
    return re.split(r", or with ", ways)


def parse(text):
    """The line of a denial, or None."""
    body = text.removeprefix("sbx-launch: ")
    m = BY_RULE.match(body)
    if m:
        op, path, _, origin, tail = m.groups()
        if path.startswith(("'", "$'")):  # as a word of a shell
            path = _visible(words_of(path)[0])
    else:
        m = BY_CALL.match(body)
        if not m:
            return None
        op, path, origin, tail = "-", m.group(1), "builtin:filter", ": " + m.group(2)
        if path.startswith("set-id bits of "):
            path = "set-id bits"
    kind = f"{op} {'' if op != '-' else path} {origin_of(origin)}{shape_of(tail)}"
    return Line(text, op, path, origin, _remedies(tail), kind, "in the outer run" in tail,
                "its directory" in tail, "a git directory" in tail)


def _visible(path):
    """As a line shows it."""
    return "".join(c if c.isprintable() else "".join(f"\\x{b:02x}" for b in os.fsencode(c)) for c in path)


def _meets(value, line):
    """Is the value of the option the refused object, or the part of its name that stays?"""
    shown = _visible(value)
    if line.is_directory:
        return line.path.startswith(shown.rstrip("/") + "/")
    if line.is_git:
        return line.path.startswith(shown + "/")
    pattern = re.escape(shown).replace(r"\*/\*\*", ".*").replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(pattern, line.path) is not None or line.path == shown + ".lock"


def _is_inside(path, value, strictly=False):
    base = value.split("*")[0] if "*" in value else value
    if "*" in value:
        return path.startswith(base)
    if "?" in value:
        return re.fullmatch(re.escape(value).replace(r"\?", ".") + "(/.*)?", path) is not None
    return path.startswith(value.rstrip("/") + "/") or (not strictly and path == value)


def more_than(line, words, answer):
    """What the words open besides the refused object: texts, none if all is well. `answer` is that of tests/support/widened."""
    found = []
    if words[0] == "--preset":
        return found  # says of itself that it opens what a tool needs
    value = words[1] if len(words) > 1 else ""
    if words[0] == "--isolate" and value.endswith(",tmp"):  # a /tmp of the run's own opens nothing of the host's
        places = r"/tmp(/.*)?|/dev/shm(/.*)?"
        return [f"{d['op']} {d['path']} ({d['before']['rule']})" for d in answer["differences"]
                if d["change"] == "allowed" and not re.fullmatch(places, d["path"])] or (
            found if line.path.startswith("/tmp/") else [f"{value} is not what was refused"])
    if line.path.startswith("@"):  # no path stands for it alone
        return found if value == "host" and answer["settings"] else [f"{value} is not what opens it"]
    address = re.search(r"it is (\S+), where no name", line.text)
    if address and value.rsplit(":", 1)[0].strip("[]") != address.group(1):
        found.append(f"{value} is not that address")
    if line.op != "-" and not address and words[0] != "--allow" and not _meets(value, line):
        found.append(f"{value} is not what was refused")
    for d in answer["differences"]:
        path, was, now = d["path"], d["before"]["rule"], d["after"]["rule"]
        if d["change"] != "allowed" or now.startswith("builtin:base:"):
            continue
        if path.startswith("./") or path == ".":
            path = os.path.normpath(os.path.join(answer["workspace"], path))
        if line.op == "connect" and path.rsplit(":", 1)[0] == value:
            continue  # a name was refused before any port was known
        if path == value + ".lock" or re.search(r"/sbx-launch-\d+\.\d+$", path):
            continue  # how git saves it; a scratch directory, of which another run may have one
        if value == "namespaces" and re.match(r"/proc/\w+/([ug]id_map|setgroups)$", path):
            continue  # of the namespaces that it makes
        if line.op == "-" or not _is_inside(path, value):
            found.append(f"{d['op']} {path} ({was})")
        elif _is_inside(path, value, True) and origin_of(was) in ("protected", "secrets", "option") and was != line.origin:
            found.append(f"{d['op']} {path}, which another rule closes ({was})")
    if line.op == "-" and not answer["settings"]:
        found.append("the run is the same")
    return found
