#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Signed managed policies: made, required, kept, and refused with the reason.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

bin=${SBX%/*}
policy=$bin/sbx-policy
if [ ! -e "$bin/sbx-bundle" ]; then
	echo "ok - $E2E_INNER: signed policies # SKIP built without OpenSSL"
	exit 0
fi
keys=$TMP/keys
mkdir "$keys"
(umask 077 && openssl genpkey -algorithm ed25519 -out "$keys/key" && openssl genpkey -algorithm ed25519 -out "$keys/other") 2>/dev/null
openssl pkey -in "$keys/key" -pubout -out "$keys/pub"
openssl pkey -in "$keys/other" -pubout -out "$keys/other.pub"

policy_of() # FILE DENIED
{
	printf '%s\n' 'schemaVersion: 2' 'kind: Policy' 'metadata:' '  name: fleet' 'spec:' '  denyModify:' "    - \"$2\"" \
		'  fsProfiles:' '    all:' '      read: ["**"]' '      modify: ["**"]' >"$1"
}
policy_of "$TMP/a.yaml" 'held/**'
policy_of "$TMP/b.yaml" 'also/**'
make_bundle() # FILE VERSION [OPTIONS] POLICY...
{
	local file=$1 version=$2
	shift 2
	"$policy" bundle make --key "$keys/key" --name fleet --bundle-version "$version" --expires "${expires:-2099-01-01}" -o "$file" "$@"
}
launch() # STATUS ARGUMENTS...: the end of its words is the command
{
	local want=$1
	shift
	"$SBX" --require-bundle "$TMP/fleet.bundle" --bundle-key "$keys/pub" "$@" >"$TMP/out" 2>"$TMP/err"
	local got=$?
	[ $got -eq "$want" ] && return
	echo "status $got, not $want: $(cat "$TMP/err")"
	return 1
}
says() { grep -qF -e "$1" "$TMP/err" || { cat "$TMP/err"; return 1; }; }
denied() { launch 0 sh -c '! echo x >held/x && echo x >free' && says "managed:"; }
forget() { rm -f "$HOME"/.local/state/sbx-launch/runs/.bundle-*; }
mkdir held also

check 'a bundle is made' make_bundle "$TMP/fleet.bundle" 3 "$TMP/a.yaml" "$TMP/b.yaml"
check 'and is valid' "$policy" bundle check --key "$keys/pub" "$TMP/fleet.bundle"
shown() { "$policy" bundle show --key "$keys/pub" "$TMP/fleet.bundle" >"$TMP/out" && grep -q 'held/\*\*' "$TMP/out" && grep -q '^fleet version 3' "$TMP/out"; }
check 'show says what is in it' shown
openssl_too() { python3 - "$TMP" <<-X && openssl pkeyutl -verify -pubin -inkey "$keys/pub" -rawin -in "$TMP/signed" -sigfile "$TMP/sig"
	import base64, json, sys
	b = json.load(open(sys.argv[1] + "/fleet.bundle"))
	open(sys.argv[1] + "/signed", "wb").write(b"sbx-bundle 1\n" + base64.b64decode(b["payload"]))
	open(sys.argv[1] + "/sig", "wb").write(base64.b64decode(b["signature"]))
	X
}
check 'openssl itself says that the signature holds' openssl_too

check 'a run has its rules' denied
both() { launch 0 sh -c '! echo x >also/x' && says 'also/**'; }
check 'those of each of its policies' both
recorded() { "$bin/sbx-audit" runs --json | tail -n 1 | grep -qE '"bundle": ?\{"name": ?"fleet", ?"version": ?3, ?"digest": ?"[0-9a-f]{64}"'; }
check 'run.json says which' recorded
lined() { "$bin/sbx-audit" cat | head -n 1 | grep -qE '"bundle":"fleet 3 [0-9a-f]{64}"'; }
check 'and so does the first line of the log' lined
wider() { launch 0 --modify "$PWD/held" sh -c '! echo x >held/x'; }
check 'no option opens what it denies' wider

# ---- refused, and the last good one in force ----
kept() # REASON
{
	launch 0 sh -c '! echo x >held/x' && says "$1" && says 'version 3 of `fleet`, the last good one, is in force'
}
cp "$TMP/fleet.bundle" "$TMP/good"
tamper() { python3 - "$TMP/good" "$TMP/fleet.bundle" "$1" <<-X
	import base64, json, random, sys
	b = json.load(open(sys.argv[1]))
	how = sys.argv[3]
	if how == "text":
	    b["payload"] = base64.b64encode(base64.b64decode(b["payload"]).replace(b"held", b"HELD")).decode()
	elif how == "signature":
	    s = bytearray(base64.b64decode(b["signature"])); s[5] ^= 1
	    b["signature"] = base64.b64encode(s).decode()
	text = json.dumps(b)
	open(sys.argv[2], "w").write(text[:len(text) // 2] if how == "cut" else "" if how == "empty" else text)
	X
}
for row in 'text:the signature does not hold' 'signature:the signature does not hold' 'cut:cut short' 'empty:cut short'; do
	tamper "${row%%:*}"
	check "tampered with (${row%%:*}): refused with the reason, the last good one is in force" kept "${row#*:}"
done
rm "$TMP/fleet.bundle"
check 'no file at all' kept 'No such file'
make_bundle "$TMP/fleet.bundle" 2 "$TMP/b.yaml" >/dev/null
check 'a lower version: rolled back' kept 'rolled back: version 2 of `fleet`, and 3 was in force'
make_bundle "$TMP/fleet.bundle" 3 "$TMP/b.yaml" >/dev/null
check 'the same version with another text' kept 'another text of version 3'
"$policy" bundle make --key "$keys/other" --name fleet --bundle-version 9 --expires 2099-01-01 -o "$TMP/fleet.bundle" "$TMP/b.yaml" >/dev/null
check 'signed with another key' kept 'another key'
"$policy" bundle make --key "$keys/key" --name else --bundle-version 9 --expires 2099-01-01 -o "$TMP/fleet.bundle" "$TMP/b.yaml" >/dev/null
check 'another bundle of this key' kept 'is `else`'
SOURCE_DATE_EPOCH=1000000000 expires=2001-10-01 make_bundle "$TMP/fleet.bundle" 9 "$TMP/b.yaml" >/dev/null
check 'expired' kept 'expired 2001-10-01T00:00:00Z'

# ---- and without a last good one nothing runs ----
none() # REASON
{
	forget
	launch 125 sh -c 'echo x >ran' && says E_POLICY && says "$1" && [ ! -e ran ]
}
check 'expired, and no good one: nothing runs' none 'expired 2001-10-01'
for row in 'text:the signature does not hold' 'cut:cut short'; do
	tamper "${row%%:*}"
	check "tampered with (${row%%:*}), and no good one: nothing runs" none "${row#*:}"
done
cp "$TMP/good" "$TMP/fleet.bundle"
wrong_key() { forget; "$SBX" --require-bundle "$TMP/good" --bundle-key "$keys/other.pub" true 2>"$TMP/err"; [ $? -eq 125 ] && says 'another key'; }
check 'the wrong key: nothing runs' wrong_key
no_key() { forget; "$SBX" --require-bundle "$TMP/good" --bundle-key "$keys/none" true 2>"$TMP/err"; [ $? -eq 125 ] && says 'No such file'; }
check 'no key: nothing runs' no_key
chmod 666 "$keys/pub"
check 'a key that others may write: nothing runs' none 'others may write it'
chmod 644 "$keys/pub"
newer() { denied && make_bundle "$TMP/fleet.bundle" 4 "$TMP/b.yaml" && launch 0 sh -c 'echo x >held/y && ! echo x >also/y'; }
check 'a newer one takes its place' newer
long_gone() { forget; cp "$TMP/good" "$TMP/fleet.bundle" && launch 0 true && tamper cut &&
	faketime 2100-01-01 "$SBX" --require-bundle "$TMP/fleet.bundle" --bundle-key "$keys/pub" true 2>"$TMP/err"
	[ $? -eq 125 ] && says 'cut short' && says 'the last good one'; }
if command -v faketime >/dev/null; then check 'a last good one that has expired is none' long_gone; fi

# ---- what is not made ----
unmade() { "$policy" bundle make "$@" >"$TMP/out" 2>"$TMP/err"; [ $? -eq 2 ]; }
check 'nothing is signed that has expired' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2001-01-01 -o "$TMP/x" "$TMP/a.yaml"
check 'nor on a day that is none' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2099-02-30 -o "$TMP/x" "$TMP/a.yaml"
echo 'kind: [' >"$TMP/bad.yaml"
check 'nor what is no policy' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2099-01-01 -o "$TMP/x" "$TMP/bad.yaml"
chmod 644 "$keys/key"
check 'nor with a key that others may read' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2099-01-01 -o "$TMP/x" "$TMP/a.yaml"
