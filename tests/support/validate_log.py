#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""validate_log.py [--unchained] [--own] RUN_DIR | LOG...: every line of a log, and run.json of a run directory, against
docs/schema; sequence and chain of the lines too (of a run directory with the key beside it, of a log alone
with that, the user's, or the key of all zeros that tests use), but of a log that many shims wrote (--unchained) only that no number
comes twice. --own: of a run directory the log that is in it, no shared file. In a file that several runs share, the lines of each are looked at for themselves. Prints what is wrong; exit status 1 then."""

import functools
import hashlib
import hmac
import json
import os
import re
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


class Lines:
    """The schema of a line, asked of many: which fields a line has follows from its kind alone, so the whole schema
    is asked once for each set of fields, and then each field's own, of values that were not met before."""

    def __init__(self, whole):
        self.whole, self.shapes, self.values = whole, set(), set()
        self.fields = {k: jsonschema.Draft7Validator(v) for k, v in whole.schema["properties"].items()}
        self.patterns = {k: re.compile(v["pattern"]) for k, v in whole.schema["properties"].items()
                         if v.get("type") == "string" and set(v) <= {"type", "pattern", "description"} and "pattern" in v}

    def errors(self, event):
        shape = (event.get("kind"), *event) if isinstance(event, dict) else None
        if shape not in self.shapes:
            errors = list(self.whole.iter_errors(event))
            if not errors:
                self.shapes.add(shape)
            return errors
        return [e for k, v in event.items() if not self.is_known(k, v) for e in self.fields[k].iter_errors(v)]

    def is_known(self, key, value):
        if type(value) is str and key in self.patterns:
            return self.patterns[key].search(value) is not None
        known = (key, type(value), value if type(value) in (str, int, bool) else repr(value))
        if known in self.values:
            return True
        if len(self.values) < 1000000 and not any(self.fields[key].iter_errors(value)):
            self.values.add(known)
            return True
        return False


def no_duplicates(pairs):
    names = [k for k, _ in pairs]
    if len(names) != len(set(names)):
        raise ValueError("a key appears twice")
    return dict(pairs)


def mac(key, *texts):
    return hmac.new(key, b"".join(texts), hashlib.sha256).digest()


class Chain:
    """What ties the lines of a run together: audit/chain.h; of version 1, the hash of the line before."""

    def __init__(self, key, run_id):
        self.key = mac(key, run_id.encode())
        self.shown, self.full, self.seq, self.prev = mac(self.key).hex()[:32], "0" * 64, 0, "0" * 64

    def wrong_with(self, line, event):
        self.seq += 1
        if event.get("seq") != self.seq:
            return f"seq is {event.get('seq')}"
        if event.get("schemaVersion") == 1:
            wrong = event.get("prev") != self.prev
            self.prev = self.full = hashlib.sha256(line).hexdigest()
            return "prev is not the hash of the line before" if wrong else None
        text, field, rest = line.rpartition(b',"chain":"')
        self.full = mac(self.key, self.shown.encode(), text).hex()
        self.shown = self.full[:32]
        return None if rest == self.shown.encode() + b'"}' else "chain is not the MAC of the lines so far"


def keys_for(run_dir):
    state = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
    keys = []
    for runs in os.path.join(run_dir, ".."), os.path.join(state, "sbx-launch/runs"):
        try:
            with open(os.path.join(runs, ".key"), "rb") as f:
                keys.append(f.read())
        except OSError:
            pass
    return keys + [bytes(32)]


def chain_of(keys, run_id, line):
    """By the key that the first line was made with; the last one when none fits."""
    for key in keys:
        chain = Chain(key, run_id)
        text, _, rest = line.rpartition(b',"chain":"')
        if mac(chain.key, chain.shown.encode(), text).hex()[:32].encode() == rest[:32]:
            break
    return chain


@functools.lru_cache(maxsize=None)
def lines(name):
    return Lines(validator(name))


def lines_of(event):
    return lines("fs-call-event-1.schema.json" if event.get("schemaVersion") == 1 else "fs-call-event.schema.json")


def check_log(path, wrong, chained=True):
    n, seen, chains, run_id = 0, set(), {}, ""
    keys = keys_for(os.path.dirname(path))
    with open(path, "rb") as f:
        for n, line in enumerate(f, 1):
            if not line.endswith(b"\n"):
                wrong.append(f"{path}:{n}: no newline")
            line = line.rstrip(b"\n")
            if not line:
                continue
            try:
                event = json.loads(line.decode("utf-8"), object_pairs_hook=no_duplicates)
            except ValueError as e:
                wrong.append(f"{path}:{n}: {e}")
                continue
            wrong.extend(f"{path}:{n}: {e.message}" for e in lines_of(event).errors(event))
            if not chained:
                if event.get("seq") in seen:
                    wrong.append(f"{path}:{n}: seq {event.get('seq')} comes twice")
                seen.add(event.get("seq"))
                continue
            run_id = event.get("run_id", run_id)
            if run_id not in chains:
                chains[run_id] = chain_of(keys, run_id, line)
            trouble = chains[run_id].wrong_with(line, event)
            if trouble:
                wrong.append(f"{path}:{n}: {trouble}")
    return n, {r: c.full for r, c in chains.items()}


def check_run(path, wrong):
    """Without an end (its supervisor was killed) a log may stop in the middle of a line."""
    info_path = os.path.join(path, "run.json")
    if "--own" in sys.argv and (not os.path.exists(info_path) or not os.path.getsize(info_path)):
        return 0  # a start that was cut short, or no room for it
    with open(info_path, encoding="utf-8") as f:
        info = json.load(f, object_pairs_hook=no_duplicates)
    check = validator("run.schema.json")
    wrong.extend(f"{info_path}: {e.json_path}: {e.message}" for e in check.iter_errors(info))
    log = os.path.join(path, "audit.jsonl")
    if "--own" not in sys.argv:
        log = info.get("audit_file", log)
    if not os.path.exists(log):
        return 0
    found = []
    alone = os.path.exists(os.path.join(path, "ring"))  # preload-only mode: nobody chains
    n, last = check_log(log, found, not alone)
    wrong.extend(w for w in found if "ended" in info or not w.startswith(f"{log}:{n}:"))
    if "ended" in info and last and info.get("final_hash") != last.get(info["run_id"]):
        wrong.append(f"{info_path}: final_hash is not that of the last line")
    return n


def main():
    wrong, lines = [], 0
    chained = "--unchained" not in sys.argv
    for path in (a for a in sys.argv[1:] if not a.startswith("--")):
        if os.path.isdir(path):
            lines += check_run(path, wrong)
        else:
            lines += check_log(path, wrong, chained)[0]
    for w in wrong[:50]:
        print(w)
    print(f"{lines} lines, {len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
