# SPDX-License-Identifier: Apache-2.0
"""errors.py - what the lines of errors and losses advise, as things that can be done: an option more, another or less, a
variable, a command, another spelling."""

import copy
import os
import re
import shlex
import shutil
import subprocess
import tempfile

ERROR = re.compile(r"(sbx-launch|sbx-policy): (E_[A-Z_]+): (.*)$")
PATH = re.compile(r"\$'(?:\\.|[^'])*'|'[^']*/[^']*'|[~/.]?[\w.\-+@*?${}]*/[^\s,;:`)]*")
QUOTED = re.compile(r"`[^`]*`")
OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?:[ =]((?!or\b|and\b|to\b|only\b|with\b|where\b|runs\b|keeps\b|opens\b"
                    r"|passes\b|closes\b|makes\b|that\b|for\b|is\b|are\b|names\b|says\b|in\b|on\b|its\b|gives\b|of\b)[A-Z]+\b|[a-z0-9]+(?![\w ]*`)|`[^`]+`|\.?/\S*|\.))?")
# Options without a value.
FLAGS = {"best-effort", "no-shim", "strict", "auto-allow", "audit-required", "keep-env", "no-scratch", "no-cache", "dry-run", "print-env", "reloadable", "proxy-env"}
# What an option is given where the advice leaves it to the reader.
GIVEN = {"result-json": "/dev/null", "setup": "claude"}
# Advice that nothing here can follow.
ELSEWHERE = (
    ("install", "a package more"),
    ("newer kernel", "another kernel"),
    ("sysctl", "the host's settings"),
    ("in a container, a profile", "the container's profile"),
    ("in a container, a seccomp profile", "the container's profile"),
    ("raise the limit", "the caller's limits"),
    ("free room", "another disk"),
    ("free space", "another disk"),
    ("move it", "the place of the product"),
    ("systemd-run", "a session manager"),
)
ADVICE = re.compile(r"--[a-z]|\b(?<!middlewares )(?:use|set|write|chmod|chown|cd to|leave out|add|did you mean|copy it|instead|quotes|run without|allow)\b")


class Way:
    """The situation with the advice followed."""

    def __init__(self, name, argv, env, cwd):
        self.name, self.argv, self.env, self.cwd = name, list(argv), dict(env), cwd
        self.before = None  # what is to be done first
        self.is_conditional = False  # the advice says where it helps

    def but(self, name):
        way = copy.copy(self)
        way.name, way.argv, way.env = name, list(self.argv), dict(self.env)
        return way


def parse(text):
    """(code, message) of an error's line, or None."""
    m = ERROR.match(text)
    return m and (m.group(2), m.group(3))


def shape_of(message):
    message = QUOTED.sub("`X`", message)
    return re.sub(r"\b\d+\b", "N", PATH.sub("P", message))


def has_advice(message):
    text = re.sub(r"see --help|expected one of .*|\(one of [^)]*\)|\((?:cli|builtin|preset):[^)]*\)|nothing is run without a sandbox", "", advice_of(message.replace(" (another kind: --dialect)", "")))
    return "did you mean" in text or ADVICE.search(QUOTED.sub("", text)) is not None


def why_not_here(message):
    return next((why for word, why in ELSEWHERE if word in advice_of(message)), None)


def advice_of(message):
    """What stands behind the last colon that ends a statement."""
    return message.rsplit(": ", 1)[-1] if ": " in message else message


def _at(argv, name):
    """Where an option stands, in front of the command."""
    for i, word in enumerate(argv):
        if word == "--":
            break
        if word == "--" + name or word.startswith(f"--{name}="):
            return i
    return -1


def without(argv, name):
    i = _at(argv, name)
    if i < 0:
        return None
    return argv[:i] + argv[i + (1 if "=" in argv[i] or name in FLAGS else 2):]


def given(argv, name, value, first):
    """The option with this value, in place of what it had."""
    words = ["--" + name] + ([] if value is None else [value])
    i = _at(argv, name)
    if i < 0 or name in ("read", "modify", "unix", "connect", "allow"):
        return argv[:first] + words + argv[first:]
    return argv[:i] + words + argv[i + (1 if "=" in argv[i] or name in FLAGS else 2):]


def _value(name, word, scratch):
    if name in FLAGS:
        return None
    if word in ("DIR", None) and name in ("workspace", "chdir"):
        return tempfile.mkdtemp(dir=scratch)
    return word.strip("`") if word else None


def _options(advice, way, first, scratch):
    less = set()
    for m in re.finditer(r"\b(?:leave out|without|no|cannot be used with|not with) ((?:--[a-z-]+(?: [a-z]+)?(?:,| or| and)? ?)+)", advice):
        for name in re.findall(r"--([a-z-]+)", m.group(1)):
            less.add(name)
            shorter = without(way.argv, name)
            if shorter is not None:
                found = way.but(f"without --{name}")
                found.argv = shorter
                yield found
    joined = re.search(r"--best-effort --audit-level none", advice)
    for m in OPTION.finditer(advice):
        name, word = m.group(1), m.group(2)
        if name in less or (joined and name == "audit-level"):
            continue
        value = _value(name, word, scratch)
        if value is None and name not in FLAGS:
            continue
        found = way.but(m.group(0))
        found.is_conditional = re.match(r"\s+where\b", advice[m.end():]) is not None
        found.argv = given(way.argv, name, value, first)
        if joined and name == "best-effort":
            found.name, found.argv = joined.group(0), given(found.argv, "audit-level", "none", first)
        yield found


def _others(message, advice, way, scratch):
    m = re.match(r"--([a-z-]+): ", message)
    if m and advice.endswith("leave it out"):
        found = way.but(f"without --{m.group(1)}")
        found.argv = without(way.argv, m.group(1)) or way.argv
        yield found
    m = re.search(r"only together with --([a-z-]+)$", advice)
    if m and m.group(1) in GIVEN:
        found = way.but("with --" + m.group(1))
        found.argv = ["--" + m.group(1), GIVEN[m.group(1)]] + way.argv
        yield found
    m = re.search(r"export it, and use --passenv (\w+)$", advice)
    if m:
        found = way.but(advice)
        found.env[m.group(1)] = "x"
        found.argv = ["--passenv", m.group(1)] + (without(way.argv, "setenv") or way.argv)
        yield found
    m = re.search(r"\bset (XDG_[A-Z_]+)", advice)
    if m:
        found = way.but("set " + m.group(1))
        found.env[m.group(1)] = tempfile.mkdtemp(dir=scratch)
        yield found
    if advice == "leave out one of the two":
        found = way.but("without the open network")
        found.argv = without(way.argv, "network") or way.argv
        m = re.search(r" and (\S+?):\d+:\d+ opens all", message) or re.match(r"(\S+?):\d+:\d+: .* and network: host", message)
        path = os.path.join(way.cwd, m.group(1)) if m else ""
        if os.path.isfile(path):
            found.before = lambda: subprocess.run(["sed", "-i", "s/network: *host/network: none/", path], check=True)
        if found.before or found.argv != way.argv:
            yield found
    if "cd to a project" in advice:
        found = way.but("cd")
        found.cwd = tempfile.mkdtemp(dir=scratch)
        os.mkdir(os.path.join(found.cwd, ".git"))
        yield found
    m = re.search(r"(chmod go-w (\S+))$", advice)
    if m:
        found = way.but(m.group(1))
        found.before = lambda: subprocess.run(["sh", "-c", m.group(1)], check=True)
        yield found
    if advice.endswith("copy it"):
        path = message.split(": ", 1)[0]
        found = way.but("copy it")
        found.argv = [w.replace(path, _copied(path, scratch)) for w in way.argv]
        yield found
    m = re.search(r"`([^`]*)`.* did you mean `([^`]*)`", message)
    if m and any(w == m.group(1) or w.startswith(m.group(1) + "=") for w in way.argv):
        found = way.but(m.group(2))
        found.argv = [m.group(2) + w[len(m.group(1)):] if w.split("=")[0] == m.group(1) else w for w in way.argv]
        yield found
    if advice == "write the home directory in full":
        found = way.but(advice)
        found.argv = [way.env["HOME"] + w[1:] if w.startswith("~/") else w for w in way.argv]
        yield found
    m = re.search(r"policy `([^`]*)`.*a file is written with a slash: (\S+)$", message)
    if m:
        found = way.but(m.group(2))
        found.argv = [m.group(2) if w == m.group(1) else w for w in way.argv]
        yield found


def _copied(path, scratch):
    target = os.path.join(tempfile.mkdtemp(dir=scratch), os.path.basename(path))
    shutil.copyfile(path, target)
    os.chmod(target, 0o600)
    return target


def _quoted(value):
    return b'"' + value.replace(b"\\", b"\\\\").replace(b'"', b'\\"') + b'"'


def _edits(message, way, scratch):
    """Another spelling at a place of a document."""
    m = re.match(r"(.*?):(\d+):(\d+): (.*)$", message)
    if not m or not os.path.isfile(os.path.join(way.cwd, m.group(1))):
        return
    path, row, column, said = os.path.join(way.cwd, m.group(1)), int(m.group(2)), int(m.group(3)), m.group(4)
    with open(path, "rb") as f:
        lines = f.read().split(b"\n")
    line = lines[row - 1]
    rest = line[column - 1:]
    entry = re.match(rb"(\s*- )(.*\S)\s*$", line)
    meant = re.search(r"`([^`]*)`.* (?:did you mean|is it) `(?:--)?([^`]*)`\?", said)
    if meant:
        old, new = (meant.group(2), meant.group(1)) if "is it" in said else meant.groups()
        rest = rest.replace(os.fsencode(old), os.fsencode(new), 1)
    elif said.endswith(": remove it"):
        rest = rest.replace(b",", b"", 1)
    elif "quotes" in said and entry:
        column, rest = len(entry.group(1)) + 1, _quoted(entry.group(2))
    elif "quotes" in said:
        value = re.match(rb"[^,\]}#\n]*[^,\]}#\n\s]", rest)
        if not value:
            return
        rest = _quoted(value.group(0)) + rest[value.end():]
    else:
        return
    lines[row - 1] = line[:column - 1] + rest

    def before():
        with open(path, "wb") as f:
            f.write(b"\n".join(lines))
    found = way.but("spelt so: " + os.fsdecode(lines[row - 1]).strip())
    found.before = before
    yield found


def ways(message, way, first, scratch):
    """Each thing that the message advises, done by itself."""
    advice = advice_of(message)
    yield from _options(advice, way, first, scratch)
    yield from _others(message, advice, way, scratch)
    yield from _edits(message, way, scratch)


def shown(way):
    return shlex.join(way.argv)
