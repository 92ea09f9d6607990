#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""validate_log.py [--unchained] RUN_DIR | LOG...: every line of a log, and run.json of a run directory, against
docs/schema; sequence and chain of the lines too, but of a log
that many shims wrote (--unchained) only that no number comes twice. Prints what is wrong; exit status 1 then."""

import hashlib
import json
import os
import sys

import jsonschema

HERE = os.path.dirname(os.path.abspath(__file__))


def validator(name):
    path = os.path.join(HERE, name)  # copied beside this script, or in the source tree
    if not os.path.exists(path):
        path = os.path.join(HERE, "../../docs/schema", name)
    with open(path, encoding="utf-8") as f:
        schema = json.load(f)
    jsonschema.Draft7Validator.check_schema(schema)
    return jsonschema.Draft7Validator(schema)


def no_duplicates(pairs):
    names = [k for k, _ in pairs]
    if len(names) != len(set(names)):
        raise ValueError("a key appears twice")
    return dict(pairs)


def check_log(path, wrong, chained=True):
    check = validator("fs-call-event.schema.json")
    prev, n, seen = "0" * 64, 0, set()
    with open(path, "rb") as f:
        for n, line in enumerate(f, 1):
            if not line.endswith(b"\n"):
                wrong.append(f"{path}:{n}: no newline")
            line = line.rstrip(b"\n")
            try:
                event = json.loads(line.decode("utf-8"), object_pairs_hook=no_duplicates)
            except ValueError as e:
                wrong.append(f"{path}:{n}: {e}")
                continue
            wrong.extend(f"{path}:{n}: {e.message}" for e in check.iter_errors(event))
            if not chained:
                if event.get("seq") in seen:
                    wrong.append(f"{path}:{n}: seq {event.get('seq')} comes twice")
                seen.add(event.get("seq"))
                continue
            if event.get("seq") != n:
                wrong.append(f"{path}:{n}: seq is {event.get('seq')}")
            if event.get("prev") != prev:
                wrong.append(f"{path}:{n}: prev is not the hash of the line before")
            prev = hashlib.sha256(line).hexdigest()
    return n, prev


def check_run(path, wrong):
    info_path = os.path.join(path, "run.json")
    with open(info_path, encoding="utf-8") as f:
        info = json.load(f, object_pairs_hook=no_duplicates)
    check = validator("run.schema.json")
    wrong.extend(f"{info_path}: {e.message}" for e in check.iter_errors(info))
    log = info.get("audit_file", os.path.join(path, "audit.jsonl"))
    if not os.path.exists(log):
        return 0
    n, last = check_log(log, wrong)
    if "ended" in info and info.get("final_hash") != last:
        wrong.append(f"{info_path}: final_hash is not that of the last line")
    return n


def main():
    wrong, lines = [], 0
    chained = "--unchained" not in sys.argv
    for path in (a for a in sys.argv[1:] if a != "--unchained"):
        if os.path.isdir(path):
            lines += check_run(path, wrong)
        else:
            lines += check_log(path, wrong, chained)[0]
    for w in wrong[:50]:
        print(w)
    print(f"{lines} lines, {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
