# SPDX-License-Identifier: Apache-2.0
"""Is each row of tests/vectors judged? A row that says something else must make a test fail.

rows_judged.py BUILD LEAST [FILE...]: TAP. Each unit test that reads a file runs on a copy of it in which all rows say otherwise, and
names those that it finds wrong. What it does not name, because it stopped or does not say which, is tried row by row: the
first and the last LEAST of them in a file (0 = all). Rows that scripts of tests/e2e read have a function each
there (`rows` of tests/support/e2e.sh), and fail without.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

# A row of the seed does not bind where one of today asks the same: in all but these columns.
ANSWERS = {"id", "era", "allowed", "matched_rule", "src"}
OTHER = {"T": "F", "F": "T", "contains": "not_contains", "not_contains": "contains", "allow": "deny", "deny": "allow"}
# Not rows of verdicts that a unit test reads: lists for scripts and other programs, and rows with a function each.
SCRIPTS = {"unread", "foreign_keys", "smuggling", "shell_runner", "exec_contract", "policy_merge"}
# Rows that no other text in their place could show, and what judges them.
SENTENCES = {
    "caliban_seatbelt_assert": ("a form that is none stays none", "007 008 009"),
    "exec_constants": ("what leaks, lies in a file, or is found by a path of its own is not imitated", "003 006 007 008"),
    "glob_cross_system": ("of srt 0.0.21; test_srt has what srt of today does", "006 011"),
    "openshell_baseline": ("a rule in words (test_openshell), the workspace, and devices of GPUs, which rules open here",
                           "008 010 011 012 013 014 015 016 017 018 019"),
    "openshell_ssrf_policy": ("in words: test_network_rows, behind the rows", "017 019 021"),
    "protected_paths": ("the workspace itself, and what is closed to every command here", "019 030"),
    "sbpl_compile": ("of every profile: looked for in each, and found in none", "013 015"),
    "srt_config": ("several keys: foreign_keys.tsv has each", "020 021 022 023"),
    "srt_mandatory_deny": ("in words: test_srt, behind the rows", "023 024 025"),
    "srt_network_decision": ("on asking, and on answers of srt's own proxy", "005 007 008 009 010"),
}


def rows_of(path):
    with open(path, encoding="utf-8") as f:
        lines = f.read().split("\n")
    return lines[0], [line.split("\t") for line in lines[1:] if line]


def readers_of(stem):
    """The unit tests whose source names the file."""
    found = []
    for directory, _, names in os.walk("tests/unit"):
        for name in names:
            path = os.path.join(directory, name)
            with open(path, encoding="utf-8") as f:
                if name.endswith(".c") and re.search(rf'\b{stem}(\.tsv)?"', f.read()):
                    found.append(path[:-2])
    return found


def otherwise(cells, only=None):
    """The row, with verdicts turned round; with `only` this cell alone."""
    if only is not None:
        return [OTHER.get(c, c + "~") if i == only else c for i, c in enumerate(cells)]
    if any(c in OTHER for c in cells[1:]):
        return [OTHER.get(c, c) if i else c for i, c in enumerate(cells)]
    return cells[:1] + [c if c in ("-", "") else c + "~" for c in cells[1:]]


class Tree:
    """Everything as it is, but for the rows."""

    def __init__(self, build):
        self.top, self.build = tempfile.mkdtemp(prefix="sbx-rows."), os.path.abspath(build)
        for place in (".", "tests"):
            os.makedirs(os.path.join(self.top, place), exist_ok=True)
            for name in os.listdir(place):
                if (place, name) not in ((".", "tests"), ("tests", "vectors")):
                    os.symlink(os.path.abspath(os.path.join(place, name)), os.path.join(self.top, place, name))
        shutil.copytree("tests/vectors", os.path.join(self.top, "tests/vectors"))

    def ends(self, reader, stem, head, rows):
        """(passed, output) with these rows."""
        with open(os.path.join(self.top, "tests/vectors", stem + ".tsv"), "w", encoding="utf-8") as f:
            f.write("\n".join([head] + ["\t".join(cells) for cells in rows]) + "\n")
        try:
            p = subprocess.run([os.path.join(self.build, reader), "--quiet", "-j1", "--tap=/dev/stdout"], cwd=self.top, timeout=300,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        except subprocess.TimeoutExpired:
            return False, ""
        return p.returncode == 0, p.stdout.decode(errors="replace")


def outdated(head, rows):
    """The ids of rows of the seed that another one of today takes the place of."""
    names = head.lstrip("#").split("\t")
    asked = [(dict(zip(names, cells)), tuple(c for n, c in zip(names, cells) if n not in ANSWERS)) for cells in rows]
    today = {question for row, question in asked if row.get("era") == "head"}
    return {row["id"] for row, question in asked if row.get("era") == "seed" and question in today}


def is_judged(tree, readers, stem, head, rows, i):
    columns = sorted(range(1, len(rows[i])), key=lambda k: (rows[i][k] not in OTHER, -k))
    for k in columns:
        changed = [otherwise(cells, k) if j == i else cells for j, cells in enumerate(rows)]
        if rows[i][k] not in ("-", "") and not all(tree.ends(r, stem, head, changed)[0] for r in readers):
            return True
    return False


def unjudged(tree, stem, readers, least):
    head, rows = rows_of(f"tests/vectors/{stem}.tsv")
    if not all(tree.ends(r, stem, head, rows)[0] for r in readers):
        return ["the test fails on the rows as they are"]
    named = set()
    for reader in readers:
        passed, text = tree.ends(reader, stem, head, [otherwise(cells) for cells in rows])
        named |= set() if passed else set(re.findall(rf"\b{stem}-[\w-]+", text))
    named |= {f"{stem}-{n}" for n in SENTENCES.get(stem, ("", ""))[1].split()} | outdated(head, rows)
    rest = [i for i, cells in enumerate(rows) if cells[0] not in named]
    if least and len(rest) > 2 * least:
        rest = rest[:least] + rest[-least:]
    wrong = [rows[i][0] for i in rest if not is_judged(tree, readers, stem, head, rows, i)]
    for reader in readers:
        tree.ends(reader, stem, head, rows)  # put back
    return wrong


def main():
    build, least = sys.argv[1], int(sys.argv[2])
    stems = sys.argv[3:] or sorted(f[:-4] for f in os.listdir("tests/vectors") if f.endswith(".tsv") and f[:-4] not in SCRIPTS)
    tree = Tree(build)
    n = 0
    good = True
    for stem in stems:
        readers = readers_of(stem)
        if not readers:
            continue  # a script's
        n += 1
        wrong = unjudged(tree, stem, readers, least)
        good &= not wrong
        print(f"{'not ok' if wrong else 'ok'} {n} - each row of {stem}.tsv is judged", flush=True)
        for text in wrong:
            print("# " + text)
    shutil.rmtree(tree.top)
    print(f"1..{n}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
