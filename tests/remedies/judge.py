#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""judge.py BUILD RESULTS [LEAST]: TAP of what teller.py found, and of two planted remedies that it has to find wrong."""

import json
import os
import shutil
import subprocess
import sys
import tempfile

from lines import more_than, parse

RESULT = {"tried": ("ok", ""), "failed": ("not ok", ""), "unknown": ("not ok", ": advice that nobody knows to follow"),
          "elsewhere": ("ok", " # SKIP it needs "), "untried": ("ok", " # SKIP ")}


def shown(text):
    return text.encode("ascii", "backslashreplace").decode().replace("#", "\\#")


def tell(n, row):
    word, more = RESULT[row["verdict"]]
    print(f"{word} {n} - {row['script']}: {shown(row['line'])}{more}{shown(row['said'][0]) if 'SKIP' in more else ''}")
    if word == "ok":
        return True
    print(f"# {shown(json.dumps(row['argv']))}")
    for text in row["said"]:
        print("# " + shown(text))
    return False


def planted(build):
    """Would one that opens the directory around be found, and one that opens another file?"""
    place = tempfile.mkdtemp()
    os.mkdir(os.path.join(place, ".git"))
    refused = "sbx-launch: denied modify /srv/x/y (rule <outside workspace>, builtin:base:1): allow with "
    for words, found in ((["--modify", "/srv/x"], True), (["--modify", "/srv/x/z"], True), (["--modify", "/srv/x/y"], False)):
        p = subprocess.run([os.path.join(os.path.abspath(build), "tests/widened"), "modify", "/srv/x/y", "2"] + words + ["--", "true"],
                           stdout=subprocess.PIPE, check=True, cwd=place)
        answer = json.loads(p.stdout)
        is_cured = answer["allowed"] == 1
        yield " ".join(words), (bool(more_than(parse(refused + " ".join(words)), words, answer)) or not is_cured) == found
    shutil.rmtree(place)


def main():
    build, out = sys.argv[1:3]
    least = int(sys.argv[3]) if len(sys.argv) > 3 and sys.argv[3] else 12
    with open(os.path.join(out, "results.jsonl"), encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    decided = {row["kind"] for row in rows if row["verdict"] != "untried"}
    rows = [row for row in rows if row["verdict"] != "untried" or row["kind"] not in decided]
    rows = list({(row["verdict"], row["kind"], row["script"]): row for row in rows}.values())
    good = True
    for n, row in enumerate(rows, 1):
        good &= tell(n, row)
    n = len(rows)
    for name, is_right in planted(build):
        n += 1
        good &= is_right
        print(f"{'ok' if is_right else 'not ok'} {n} - planted: {name}")
    tried = sum(row["verdict"] == "tried" for row in rows)
    good &= tried >= least
    print(f"{'ok' if tried >= least else 'not ok'} {n + 1} - {least} remedies are tried, at least: {tried}")
    print(f"1..{n + 1}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
