#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Engine, broker and relay on random rules, programs, hosts and ports: what connect(2) and the proxy of a
# run answer is asked of the same policy by `sbx-policy test`. AGREE_SETS=N for more.
E2E_WHO=root
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

ask=${SBX%/*}/netask
[ -x "$ask" ] || { skip 'agreement on endpoints' 'netask was not built'; exit 0; }
cp "$ask" p1 && cp "$ask" p2 && chmod 755 p1 p2
cat >"$TMP/agree.py" <<'P'
"""agree.py make SEED | judge SEED [flip]: a policy with questions for two programs, twice each; then the
policy with the answers as its tests."""
import random, sys
r = random.Random(int(sys.argv[2]))
KNOWN = ["a.example.net", "b.example.net", "six.example.net", "other.example.net", "w.wild.example.org",
         "x.y.wild.example.org"]
TOPS = ["example.net", "wild.example.org", "example.org", "y.wild.example.org"]
MADE = ["%s.%s" % (a, t) for a in ("m", "n-1", "o_2", "p.q") for t in TOPS]
ADDRESSES = ["93.184.216.34", "93.184.216.35", "10.9.9.9", "10.1.2.3", "8.8.8.8", "2a00:1450::5", "2001:db8::1",
             "169.254.169.254", "64:ff9b::808:808", "100.64.0.1", "198.18.0.0"]
RANGES = ["93.184.216.0/24", "10.0.0.0/8", "10.9.0.0/16", "8.8.8.8", "2a00:1450::/32", "2001:db8::/33",
          "169.254.0.0/16", "0.0.0.0/0", "[2a00:1450::5]", "100.64.0.0/10", "64:ff9b::/96"]
PORTS = [80, 81, 443, 5000, 5007, 8080, 65535]
here = sys.argv[3]
def rule():
    kind = r.randrange(4)
    host = (r.choice(KNOWN), "*." + r.choice(TOPS), "**." + r.choice(TOPS), r.choice(RANGES))[kind]
    port = r.choice(["", "", ":%d" % r.choice(PORTS), ":%d" % r.choice(PORTS), ":81-5003", ":5000-65535"])
    # what the names lead to stays open: a proxy refuses for an address, too, of which a question knows nothing
    no = r.random() < 0.35 and host not in ("93.184.216.0/24", "0.0.0.0/0", "2a00:1450::/32", "[2a00:1450::5]")
    to = ("!" if no else "") + host + port
    if "/" in host and ":" in host: # a range of IPv6 has no port here
        to = ("!" if no else "") + host
    by = r.choice([None, None, None, here + "/p1", "/**/p2", here + "/p*"])
    return '{to: "%s"%s}' % (to, ', by: ["%s"]' % by if by else "")
rules = [rule() for _ in range(1 + r.randrange(14))]
questions = {}
for who in ("p1", "p2"):
    for way in ("direct", "proxy"):
        questions[who, way] = [(r.choice(KNOWN + MADE + ADDRESSES * 2), r.choice(PORTS)) for _ in range(625)]
policy = """schemaVersion: 2
kind: Policy
metadata: {name: agree}
spec:
  fsProfiles:
    dev:
      read: ["**"]
      modify: ["**"]
      connect:
%s
""" % "\n".join("        - " + x for x in rules + ["192.0.2.9:9"])
if sys.argv[1] == "make":
    open("agree.yaml", "w").write(policy)
    for (who, way), q in questions.items():
        open("q-%s-%s" % (who, way), "w").write("".join("%s %d\n" % x for x in q))
    sys.exit()
policy += "tests:\n"
seen = set()
for (who, way), q in questions.items():
    answers = open("a-%s-%s" % (who, way)).read().split()
    assert len(answers) == len(q), (who, way, len(answers))
    for (host, port), said in zip(q, answers):
        if len(sys.argv) > 4:
            said, sys.argv[4:] = "10"[int(said)], []
        seen.add(said)
        policy += '  - {op: connect, path: "%s:%d", exe: %s/%s, allowed: %s}\n' % (
            "[%s]" % host if ":" in host else host, port, here, who, "true" if said == "1" else "false")
open("agree.yaml", "w").write(policy)
print(*sorted(seen))
P

agrees() # SEED
{
	python3 "$TMP/agree.py" make "$1" "$PWD" || return 1
	"$SBX" -qq --audit-level none --proxy-env -p agree.yaml -- sh -c '
		for p in p1 p2; do for w in direct proxy; do ./$p $w <q-$p-$w >a-$p-$w || exit; done; done' </dev/null >"$TMP/out" 2>&1 ||
		{ cat "$TMP/out"; return 1; }
	python3 "$TMP/agree.py" judge "$1" "$PWD" >>"$TMP/both" || return 1
	"${SBX%/*}/sbx-policy" test agree.yaml >"$TMP/said" 2>&1 || { grep -v '^ok' "$TMP/said" | head -5; return 1; }
	asked=$((asked + $(grep -c '^ok' "$TMP/said")))
}
all() # SETS
{
	local n
	for n in $(seq "$1"); do
		agrees "$n" || { echo "set $n"; return 1; }
	done
}
asked=0
: >"$TMP/both"
sets=${AGREE_SETS:-$(rounds 2 8)}
check "engine, broker and relay agree, $sets policies of 2500 questions" all "$sets"
check 'each question was asked' [ "$asked" -eq $((sets * 2500)) ]
check 'some pass and some do not' grep -q '0 1' "$TMP/both"
flipped()
{
	python3 "$TMP/agree.py" judge "$sets" "$PWD" flip >/dev/null && ! "${SBX%/*}/sbx-policy" test agree.yaml >"$TMP/said"
}
check 'one answer that differs is found' flipped
