# SPDX-License-Identifier: Apache-2.0
"""The differences between srt and sbx-launch that docs/DIALECTS.md documents, by row.

A row says for which entries, operations and paths the two may differ, and in which direction: the
rows of STRICTER are what sbx-launch refuses alone, those of LAXER what srt refuses alone.
"""
import os
import re

ROWS = ("mandatory", "denyWrite-patterns", "denyRead-patterns", "denyRead-missing", "brackets",
        "links-closed", "denyWrite-above", "links-opened", "moves", "mount-points",
        "allowWrite-patterns", "patterns-in-patterns", "slashed", "missing-way", "links-by-name", "patterns-and-links", "listings", "srt-mounts")

MANDATORY = (".gitconfig", ".gitmodules", ".bashrc", ".bash_profile", ".zshrc", ".zprofile",
             ".profile", ".ripgreprc", ".mcp.json", ".vscode", ".idea", ".claude/commands",
             ".claude/agents", ".git/hooks", ".git/config")


def is_glob(text):
    return any(c in text for c in "*?[]")


def glob_regex(pattern):
    """As globToRegex() of srt, with everything below what is matched."""
    out, i = "", 0
    while i < len(pattern):
        if pattern.startswith("**/", i):
            out += "(.*/)?"
            i += 3
        elif pattern.startswith("**", i):
            out += ".*"
            i += 2
        elif pattern[i] == "*":
            out += "[^/]*"
            i += 1
        elif pattern[i] == "?":
            out += "[^/]"
            i += 1
        elif pattern[i] == "[" and "]" in pattern[i:]:
            end = pattern.index("]", i)
            out += pattern[i:end + 1]
            i = end + 1
        else:
            out += re.escape(pattern[i])
            i += 1
    return re.compile("^" + out + "(/.*)?$", re.S)


def refusal(doc, text):
    """The row of a run that one of the two refuses, or None."""
    if text == "both":
        return "neither starts"
    if text.startswith("srt: bwrap: "):
        return "srt-mounts"
    if text.startswith("srt: ") and "ends in a separator" in text:
        return "slashed"
    return None


class Judge:
    """Recognises what differs under one settings file."""

    def __init__(self, doc, tree, answers):
        self.tree, self.doc, self.answers = tree, doc, answers
        fs = doc["filesystem"]
        self.depth = doc.get("mandatoryDenySearchDepth", 3)
        self.lists = {key: [self.parse(text) for text in fs.get(key, [])]
                      for key in ("denyRead", "allowRead", "allowWrite", "denyWrite")}
        self.closed_dirs = [p for p, g in self.lists["denyRead"] if not g]

    def parse(self, text):
        """(absolute text, its regex or None)."""
        text = re.sub(r"/\*\*$", "", text) or "/"
        bare = "/" not in text and is_glob(text)
        if text == "~" or text.startswith("~/"):
            full = self.tree.home + text[1:]
        else:
            full = os.path.normpath(os.path.join(self.tree.ws, text))
        full = full.rstrip("/") or "/"
        if not is_glob(text):
            return os.path.normpath(full), None
        if bare:
            full = os.path.join(self.tree.ws, "**", text)
        return full, glob_regex(full)

    def patterns(self, key):
        return [g for _, g in self.lists[key] if g]

    def literals(self, key):
        return [p for p, g in self.lists[key] if not g]

    # ---- stricter ----

    def is_mandatory(self, path):
        """Has it a name in it that is always denied, not below node_modules?"""
        rel = os.path.relpath(path, self.tree.ws)
        if rel.startswith(".."):
            return False
        names = rel.lower().split("/")
        for i in range(len(names)):
            if "node_modules" in names[:i]:
                return False
            for name in MANDATORY:
                parts = name.split("/")
                if names[i:i + len(parts)] == parts:
                    return True
        return False

    def matches(self, keys, path):
        return any(g.match(path) for key in keys for g in self.patterns(key))

    def is_bracket_name(self, path, keys):
        """`/**` at the end is taken away first, by both."""
        names = [os.path.normpath(text.removesuffix("/**"))
                 for key in keys for text in self.doc["filesystem"].get(key, [])
                 if "[" in text and text.startswith("/")]
        return any(path == p or path.startswith(p + "/") for p in names)

    def is_missing_deny(self, path):
        return any(path == p or path.startswith(p + "/") for p in self.literals("denyRead")
                   if not os.path.exists(p))

    def is_link_named(self, path):
        return any(path == p and os.path.islink(p)
                   for key in ("denyRead", "denyWrite") for p in self.literals(key))

    def is_below_closed(self, path):
        """Below or at an entry of denyRead: srt's own empty directory, where all may be done."""
        return any(os.path.realpath(path).startswith(os.path.realpath(p)) for p in self.closed_dirs)

    def may_be_renamed_only_there(self, path):
        """A move to where the depth of what is always denied, or its exemption, ends."""
        if os.path.islink(path):
            return True
        if os.path.isdir(path) and self.patterns("denyRead") + self.patterns("denyWrite"):
            return True
        for top, dirs, files in os.walk(path):
            for name in dirs + files:
                if name.lower() in {part for m in MANDATORY for part in m.split("/")}:
                    return True
        return False

    def is_above_write(self, path):
        """Below an entry of denyWrite that lies in no entry of allowWrite: srt leaves it out."""
        writes = [os.path.realpath(p) for p in self.literals("allowWrite") if os.path.exists(p)]
        writes += [os.path.join(self.tree.home, d) for d in (".npm/_logs", ".claude/debug")]
        for p in self.literals("denyWrite"):
            p = os.path.realpath(p)
            if (path == p or path.startswith(p + "/")) and \
                    not any(p == w or p.startswith(w + "/") for w in writes):
                return True
        return False

    def is_link_opened(self, path):
        return os.path.islink(path) and (
            any(path == p for key in ("allowRead", "allowWrite") for p in self.literals(key)) or
            self.matches(["allowRead"], path))

    # ---- laxer ----

    def is_mount(self, path):
        return path == os.path.join(self.tree.home, ".npm/_logs") or any(
            path == p or os.path.realpath(p) == path for key in ("allowWrite", "allowRead")
            for p in self.literals(key))

    def holds_denied(self, path):
        """A directory with a place below it that srt has a mount on."""
        places = [p for key in ("denyRead", "denyWrite") for p in self.literals(key)]
        if any(os.path.realpath(p).startswith(path + "/") for p in places):
            return True
        for top, dirs, files in os.walk(path):
            for name in dirs + files:
                below = os.path.join(top, name)
                if self.is_mandatory(below) or self.matches(["denyRead"], below) or \
                        self.is_linked_match(below):
                    return True
        return False

    def goes_through_link(self, path):
        return os.path.realpath(path) != path

    def is_linked_match(self, path):
        """A pattern of denyRead matches a link that leads to it, or to what it is below."""
        real = os.path.realpath(path)
        for top, dirs, files in os.walk(self.tree.home):
            for name in dirs + files:
                link = os.path.join(top, name)
                if not os.path.islink(link):
                    continue
                target = os.path.realpath(link)
                for g in self.patterns("denyRead"):
                    if (real == target or real.startswith(target + "/")) and \
                            g.match(link + real[len(target):]):
                        return True
                    if target.startswith(real + "/") or real == target:
                        if g.match(link):
                            return True
        return False

    def is_opened_below(self, path):
        """A pattern of allowRead with /** behind it is of what is below, bound piece by piece."""
        return any(g and text.endswith("/**") and g.match(path) for (_, g), text in
                   zip(self.lists["allowRead"], self.doc["filesystem"].get("allowRead", [])))

    def is_missing_way(self, path):
        """The first missing name on the way to a denied path that is not there."""
        for key in ("denyWrite",):
            for p in self.literals(key):
                if p.startswith(path + "/") and not os.path.exists(p):
                    return True
        return False

    def row(self, op, path, theirs, ours):
        changes = op in "WCDMU"
        real = os.path.realpath(path)
        if ours == "n":
            rows = (
                ("mandatory", changes and self.is_mandatory(path)),
                ("denyWrite-patterns", changes and (self.matches(["denyWrite"], path) or
                                                    self.matches(["denyWrite"], real))),
                ("denyRead-patterns", self.matches(["denyRead"], path) or
                 self.matches(["denyRead"], real)),
                ("patterns-in-patterns", self.patterns("denyRead") and
                 self.matches(["allowRead"], real)),
                ("denyRead-missing", self.is_missing_deny(path)),
                ("brackets", self.is_bracket_name(path, ("denyRead", "denyWrite"))),
                ("links-closed", op in "MU" and self.is_link_named(path)),
                ("denyWrite-above", changes and self.is_above_write(path)),
                ("links-opened", self.is_link_opened(path)),
                ("moves", op == "M" and self.may_be_renamed_only_there(path)),
            )
        else:
            rows = (
                ("mount-points", op in "MU" and self.is_mount(path)),
                ("moves", op == "M" and self.holds_denied(path)),
                ("allowWrite-patterns", self.matches(["allowWrite"], os.path.realpath(path)) or
                 self.matches(["allowWrite"], path)),
                ("brackets", self.is_bracket_name(path, ("allowRead", "allowWrite"))),
                ("listings", op == "L" and self.is_opened_below(path)),
                ("missing-way", op in "CDMU" and self.is_missing_way(path)),
                ("links-by-name", op in "RWL" and self.goes_through_link(path) and
                 self.answers.get((op, os.path.realpath(path))) == "y"),
                ("patterns-and-links", op in "RLWCDMU" and self.is_linked_match(path)),
            )
        for name, holds in rows:
            if holds:
                return name
        return None
