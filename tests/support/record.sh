# SPDX-License-Identifier: Apache-2.0
# record.sh - sourced after e2e.sh: ways for a sandboxed program to write a line of the record or give it to
# somebody else, and to hide what the broker did or refused. Each ends with two acts: the directory `real`
# is made, and a file in .git/hooks is refused. Whatever was tried, the broker's line of the first is there, a
# line of the second, the chain holds, and no line of ours says what was forged.
#
#	attack 'the log is removed' "rm -rf $RUNS; $ACT" [OPTIONS...]
bin=${SBX%/*}
AUDIT=$bin/sbx-audit liar=$bin/ring_liar hidden=$bin/hidden_act
RUNS=$HOME/.local/state/sbx-launch/runs
ACT='mkdir real; (: >.git/hooks/evil) 2>/dev/null; echo tried'

cat >"$TMP/sound.py" <<'EOP'
# sound.py RUNS WORKSPACE [real] [evil | evil-or-gap]: what the logs of all runs there say about what stands in
# the workspace
import json, os, sys
runs, ws, need = sys.argv[1], sys.argv[2], sys.argv[3:]
done, refused, wrong, is_gap = set(), set(), [], False
for run in sorted(os.listdir(runs)):
    if not run[0].isdigit():
        continue
    path = os.path.join(runs, run, "audit.jsonl")
    info = json.load(open(os.path.join(runs, run, "run.json")))
    path = info.get("audit_file", path)
    for n, line in enumerate(open(path, "rb") if os.path.exists(path) else (), 1):
        e = json.loads(line)
        ours = e.get("layer") in ("broker", "kernel", "launcher")
        if ours and e["kind"] not in ("run", "hello", "exec") and ("forged" in e.get("path", "") or "forged" in str(e.get("call"))):
            wrong.append("forged: %r" % line)
        if "parent_run_id" not in info and e.get("context") != {"who": "outer"}:
            wrong.append("context: %r" % line)
        if e.get("layer") == "broker" and e["kind"] == "result" and e.get("allowed") and not e.get("errno"):
            done.update((e["path"], e.get("path2")))
        # the shim alone refuses: a program that fills the ring drops the line, and the log reports a gap
        is_gap |= e["kind"] == "gap" and e["corrupt"] + e["lost"] + e["abandoned"] > 0
        if e["kind"] == "denied":
            refused.add(e["path"])
for name in os.listdir(ws):
    if name.startswith("real") and "./" + name not in done:
        wrong.append("%r stands there, and no line of the broker's" % name)
if "real" in need and not os.path.isdir(os.path.join(ws, "real")):
    wrong.append("control: the act was not done")
if "evil-or-gap" in need and is_gap:
    refused.add("./.git/hooks/evil")
if ("evil" in need or "evil-or-gap" in need) and "./.git/hooks/evil" not in refused:
    wrong.append("no line of the refusal: %r" % sorted(refused))
if os.path.exists(os.path.join(ws, ".git/hooks/evil")):
    wrong.append("the file was made")
print("\n".join(wrong))
sys.exit(bool(wrong))
EOP

begin()
{
	fresh
	git init -q . && mkdir -p .git/hooks
	rm -rf "$RUNS"/2*
}
outer() # the run that is inside of none
{
	grep -L '"parent_run_id":' "$RUNS"/2*/run.json | head -n 1 | sed 's,.*/\(2[^/]*\)/run.json,\1,'
}
sound() # NEEDS...
{
	python3 "$TMP/sound.py" "$RUNS" "$WS" "$@" && "$AUDIT" verify "$(outer)" | grep -q 'hold together, and are all'
}
attack() # NAME SCRIPT [OPTIONS...]; TOLD=evil-or-gap where the ring may lose the refusal
{
	name=$1 script=$2
	shift 2
	begin
	launch -q --context who=outer "$@" -- bash -c "$script"
	check "$name: was tried" grep -qx tried "$TMP/out"
	check "$name: hides nothing, forges nothing" sound real "${TOLD:-evil}"
}
show()
{
	cat "$RUNS/$(outer)/audit.jsonl"
}
