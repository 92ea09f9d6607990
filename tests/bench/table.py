# SPDX-License-Identifier: Apache-2.0
"""Rows of JSON as a table; those of goals.tsv with their goal. table.py ROWS [GOALS [JSON]]

With JSON, the rows with their goals and verdicts are written there as well."""
import json
import sys

UNITS = (("median_us", "us"), ("ns", "ns"), ("shim_ns", "ns"), ("ms", "ms"), ("kib", "KiB"), ("median", "/s"))


def goals(path):
    wanted = {}
    for line in open(path):
        if not line.startswith("#"):
            what, how, goal = line.rstrip("\n").split("\t")
            wanted.setdefault((what, how), []).append(goal)
    return wanted


def verdict(row, goal, rows):
    """A goal within the spread counts as missed; None: this run cannot say."""
    if goal.startswith("<"):
        other = next((r for r in rows if r["name"] == row["name"] and r.get("label") == goal[1:]), None)
        return None if other is None else row["q3"] < other["ratio"]
    if goal.endswith("us"):
        return row["added_q3"] <= float(goal[:-2]) if "added_q3" in row else None
    return row.get("q3", row["ratio"]) <= float(goal[:-1]) if "ratio" in row else None


def judge(rows, wanted):
    for row in rows:
        said = {}
        for goal in wanted.get((row.get("name"), row.get("label")), ()):
            met = verdict(row, goal, rows)
            if met is not None:
                said[goal] = "met" if met else "missed"
        if said:
            row["goals"] = said


def show(row):
    name = row.get("name", row.get("bench", ""))
    how = " ".join(str(row[k]) for k in ("label", "rules", "call") if k in row)
    figure = next((f"{row[k]:.1f} {unit}" for k, unit in UNITS if k in row), "")
    goal = ", ".join(f"{said} ({goal})" for goal, said in row.get("goals", {}).items())
    ratio, spread = "", ""
    if any(g.endswith("us") for g in row.get("goals", {})):
        ratio = f"+{row['added_us']:.0f} us"
        spread = f"{row['added_q1']:.0f}..{row['added_q3']:.0f}"
    elif "ratio" in row:
        ratio = f"{row['ratio']:.2f}x"
        spread = f"{row['q1']:.2f}..{row['q3']:.2f}" if "q1" in row and row["ratio"] != 1 else ""
    print(f"{name:34} {how:28} {figure:>12} {ratio:>9}  {spread:13}  {goal}".rstrip())


def main():
    rows = [json.loads(line) for line in open(sys.argv[1]) if line.startswith("{")]
    if len(sys.argv) > 2:
        judge(rows, goals(sys.argv[2]))
    print(f"{'what':34} {'how':28} {'figure':>12} {'today':>9}  {'quartiles':13}  goal")
    for row in rows:
        show(row)
    if len(sys.argv) > 3:
        with open(sys.argv[3], "w") as out:
            json.dump(rows, out, indent=1)


main()
