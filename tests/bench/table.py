# SPDX-License-Identifier: Apache-2.0
"""Rows of JSON as a table; those of goals.tsv with their goal. table.py ROWS [GOALS]"""
import json
import sys

UNITS = (("median_us", "us"), ("ns", "ns"), ("shim_ns", "ns"), ("ms", "ms"), ("kib", "KiB"), ("median", "/s"))


def goals(path):
    rows = (line.rstrip("\n").split("\t") for line in open(path) if not line.startswith("#"))
    return {(what, how): float(goal) for what, how, goal in rows}


def verdict(row, goal):
    """A goal within the spread counts as missed."""
    if goal is None or "ratio" not in row:
        return ""
    return ("met" if row.get("q3", row["ratio"]) <= goal else "missed") + f" (goal {goal:g}x)"


def main():
    wanted = goals(sys.argv[2]) if len(sys.argv) > 2 else {}
    print(f"{'what':34} {'how':28} {'figure':>12} {'ratio':>8}  {'quartiles':13}  goal")
    for line in open(sys.argv[1]):
        if not line.startswith("{"):
            continue
        row = json.loads(line)
        name = row.get("name", row.get("bench", ""))
        how = " ".join(str(row[k]) for k in ("label", "rules", "call") if k in row)
        figure = next((f"{row[k]:.1f} {unit}" for k, unit in UNITS if k in row), "")
        ratio = f"{row['ratio']:.2f}x" if "ratio" in row else ""
        spread = f"{row['q1']:.2f}..{row['q3']:.2f}" if "q1" in row and row["ratio"] != 1 else ""
        print(f"{name:34} {how:28} {figure:>12} {ratio:>8}  {spread:13}  {verdict(row, wanted.get((name, how)))}")


main()
