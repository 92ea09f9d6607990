# SPDX-License-Identifier: Apache-2.0
"""The rows of tests/bench/peers as a table of Markdown: a row a tool, a column a measure. peers.py ROWS"""
import json
import sys

TIMED = ("start", "build", "tree")
COUNTED = ("secrets read", "attacks held")


def time_of(row):
    us = row["median_us"]
    text = f"{us / 1000:.1f} ms" if us < 1e6 else f"{us / 1e6:.2f} s"
    if row["ratio"] != 1:
        text += f", {row['ratio']:.2f}x ({row['q1']:.2f}..{row['q3']:.2f})"
    return text


def main():
    cells, labels, versions = {}, [], {}
    for line in open(sys.argv[1]):
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        label = row["label"]
        if row["name"] == "version":
            versions[label] = row["version"]
            continue
        if label not in labels:
            labels.append(label)
        cells[label, row["name"]] = time_of(row) if row["name"] in TIMED else f"{row['count']} of {row['of']}"
    print("| tool | version | " + " | ".join(TIMED + COUNTED) + " |")
    print("|---|---|" + "---|" * len(TIMED + COUNTED))
    for label in labels:
        print(f"| {label} | {versions.get(label, '')} | " + " | ".join(cells.get((label, c), "-") for c in TIMED + COUNTED) + " |")


main()
