#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-english.py FILE...: the English of CONTRIBUTING.md, as far as a program can see it.

Reads documents (.md), man pages (.1, .5) and the comments of C files, and prints each sentence that breaks a rule:
FILE:LINE: rule: sentence. Code, names in back quotes and examples are not read. Status 1 when something is printed.
"""
import re
import subprocess
import sys

# Words of one sentence, counted from colon to colon.
LONGEST = 40

RULES = [
    ("names no actor", r"^(Who|Whom|Whose|Whoever|What|Of)\b(?!.*[?:]$)"),
    ("names no actor", r"\b(whoever|whom)\b|(?<=[;:,] )who\b"),
    ("not a, not no", r"(?<![Tt]here )\b(is|are|was|were) no (?!longer\b|more\b|less\b|fewer\b|other\b|such\b|use\b)"),
    ("report, log, print, refuse", r"\b(tell|tells|told)\b"),
    ("whose", r"\bof (ours|theirs)\b"),
    ("is, not stands", r"\b(stands?) (for|in|behind|beside|above|below) (the|a|an|it|its|this|that)\b"),
    ("idiom", r"\bas ever\b|\bamiss\b|\bat hand\b|\bleft to itself\b|\bhad better\b|\bnor is\b|\bnor are\b"),
]
RULES = [(name, re.compile(pattern)) for name, pattern in RULES]
ABBREVIATION = re.compile(r"(?:\b(?:e\.g|i\.e|etc|cf|vs|approx|St|No)|\b[A-Z]|\.\.)\.$")


def sentences(paragraph):
    """(offset, sentence) of a paragraph of plain text."""
    start = 0
    for match in re.finditer(r"[.?!:][)”’\"]*\s+(?=[\"'“(]?[A-Z`\d])|[;]\s+", paragraph):
        text = paragraph[start:match.end()].strip()
        if ABBREVIATION.search(text):
            continue
        if text:
            yield start, text
        start = match.end()
    if paragraph[start:].strip():
        yield start, paragraph[start:].strip()


def plain(line):
    line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
    line = re.sub(r"``.*?``|`[^`]*`", "Code", line)
    return re.sub(r"[*_]{1,2}(\S(?:.*?\S)?)[*_]{1,2}", r"\1", line)


def of_markdown(lines):
    """(line number, text) of each paragraph, item and cell."""
    start, text, fenced = 0, [], False
    for number, line in enumerate(lines, 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = ""
        elif fenced:
            continue
        stripped = line.strip()
        if stripped.startswith("|"):
            if set(stripped) > set("|-: ") or not set(stripped) <= set("|-: "):
                for cell in re.split(r"(?<!\\)\|", stripped.strip("|")):
                    yield number, plain(cell.strip())
            continue
        item = re.match(r"\s*(?:[-*]|\d+\.)\s+(.*)", line)
        if not stripped or stripped.startswith("#") or item or line.startswith("    "):
            if text:
                yield start, plain(" ".join(text))
            start, text = number, [item.group(1)] if item else []
            if line.startswith("    ") and not item and not text:
                continue
        else:
            if not text:
                start = number
            text.append(stripped)
    if text:
        yield start, plain(" ".join(text))


def of_manual(path):
    """A man page by what mandoc makes of it. Lines are those of the source that have the first words."""
    made = subprocess.run(["mandoc", "-T", "markdown", path], capture_output=True, text=True, check=True).stdout
    made = re.sub(r"(?s)# SYNOPSIS.*?(?=\n# )|^.*\n=+\n|\\", "", made)
    source = open(path, encoding="utf-8").read().split("\n")
    for _, text in of_markdown(re.sub(r"(?m)^> ", "", made).split("\n")):
        words = [w for w in re.findall(r"[A-Za-z]{4,}", text)[:5]]
        line = next((n for n, s in enumerate(source, 1) if words and all(w in s for w in words[:3])), 0)
        yield line, text


def of_c(lines):
    start, text = 0, None
    for number, line in enumerate(lines, 1):
        if text is None:
            match = re.search(r"(?:^|\s)/\*+\s?(.*)|//\s?(.*)", re.sub(r'"(?:\\.|[^"\\])*"', '""', line))
            if not match:
                continue
            start, text = number, []
            body = match.group(1) if match.group(1) is not None else match.group(2)
        else:
            body = re.sub(r"^\s*\*+(?!/)\s?", "", line)
        ended = "*/" in body
        body = body.split("*/")[0]
        if text and (not body.strip() or re.match(r"\s*[-*] ", body)):
            yield start, plain(" ".join(t.strip() for t in text))
            start, text = number, []
        if not re.match(r"\t|  {3,}", body) and "\t" not in body.strip():
            text.append(body.strip().lstrip("-"))
        if ended or (text is not None and "//" in line and "/*" not in line):
            yield start, plain(" ".join(text).strip())
            text = None


def paragraphs(path):
    if path.endswith((".1", ".5", ".8")):
        return of_manual(path)
    lines = open(path, encoding="utf-8").read().split("\n")
    return of_markdown(lines) if path.endswith(".md") else of_c(lines)


def faults(path):
    for line, paragraph in paragraphs(path):
        for _, sentence in sentences(paragraph):
            for name, pattern in RULES:
                if pattern.search(sentence):
                    yield line, name, sentence
                    break
            words = max(len(part.split()) for part in re.split(r":\s", sentence))
            if words > LONGEST and not re.search(r"\S  \S", sentence) and re.search(r"\b(the|a|of|to|is|and)\b", sentence):
                yield line, "%d words" % words, sentence


def main():
    bad = 0
    for path in sys.argv[1:]:
        for line, name, sentence in faults(path):
            bad += 1
            print("%s:%d: %s: %s" % (path, line, name, sentence))
    return bad != 0


sys.exit(main())
