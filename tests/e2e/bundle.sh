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
for row in 'text:the signature is wrong' 'signature:the signature is wrong' 'cut:truncated' 'empty:truncated'; do
	tamper "${row%%:*}"
	check "tampered with (${row%%:*}): refused with the reason, the last good one is in force" kept "${row#*:}"
done
rm "$TMP/fleet.bundle"
check 'no file at all' kept 'No such file'
make_bundle "$TMP/fleet.bundle" 2 "$TMP/b.yaml" >/dev/null
check 'a lower version: rolled back' kept 'rolled back: it is version 2 of `fleet`, but version 3 was already in force'
make_bundle "$TMP/fleet.bundle" 3 "$TMP/b.yaml" >/dev/null
check 'the same version with another text' kept 'differs from the one that was in force as version 3'
"$policy" bundle make --key "$keys/other" --name fleet --bundle-version 9 --expires 2099-01-01 -o "$TMP/fleet.bundle" "$TMP/b.yaml" >/dev/null
check 'signed with another key' kept 'a key other than'
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
for row in 'text:the signature is wrong' 'cut:truncated'; do
	tamper "${row%%:*}"
	check "tampered with (${row%%:*}), and no good one: nothing runs" none "${row#*:}"
done
cp "$TMP/good" "$TMP/fleet.bundle"
wrong_key() { forget; "$SBX" --require-bundle "$TMP/good" --bundle-key "$keys/other.pub" true 2>"$TMP/err"; [ $? -eq 125 ] && says 'a key other than'; }
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
	[ $? -eq 125 ] && says 'truncated' && says 'the last good one'; }
if command -v faketime >/dev/null; then check 'a last good one that has expired is none' long_gone; fi

# ---- attacks ----
forget
chmod 644 "$keys/pub"
cp "$TMP/good" "$TMP/fleet.bundle"
launch 0 true
early() { faketime 2020-01-01 "$SBX" --require-bundle "$TMP/good" --bundle-key "$keys/pub" true 2>"$TMP/err"
	[ $? -eq 125 ] && says 'was made 2' && says 'the clock says 2020-01-01T'; }
if command -v faketime >/dev/null; then check 'a clock that was put back before the bundle was made: nothing runs' early; fi
# a signature, or a text, of another bundle of the same version
mixed() { make_bundle "$TMP/other" 3 "$TMP/b.yaml" >/dev/null && python3 - "$TMP/good" "$TMP/other" "$TMP/fleet.bundle" <<-X
	import json, sys
	a, b = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
	json.dump({**a, "signature": b["signature"]}, open(sys.argv[3], "w"))
	X
}
mixed
check 'the signature of another bundle of this version' kept 'the signature is wrong'
signed() # PAYLOAD of python: a bundle whose signature holds
{
	rm -f "$TMP/fleet.bundle"
	python3 - "$TMP" "$1" <<-X && openssl pkeyutl -sign -inkey "$keys/key" -rawin -in "$TMP/signed" -out "$TMP/sig" && python3 - "$TMP" <<-Y
		import json, sys
		d = dict(schemaVersion=1, name="fleet", version=9, created="2026-01-01T00:00:00Z", expires="2099-01-01T00:00:00Z",
		         policies=[dict(name="a.yaml", text=open(sys.argv[1] + "/a.yaml").read())])
		exec(sys.argv[2])
		open(sys.argv[1] + "/payload", "w").write(json.dumps(d))
		open(sys.argv[1] + "/signed", "wb").write(b"sbx-bundle 1\n" + json.dumps(d).encode())
	X
		import base64, json, sys
		def b(name): return base64.b64encode(open(sys.argv[1] + name, "rb").read()).decode()
		json.dump({"sbx_bundle": 1, "payload": b("/payload"), "signature": b("/sig")}, open(sys.argv[1] + "/fleet.bundle", "w"))
	Y
}
for row in 'two policies of one name:d["policies"] *= 2' 'a name that is a path:d["policies"][0]["name"] = "../a.yaml"' \
	'no policy:d["policies"] = []' 'five policies:d["policies"] = [dict(name="%d.yaml" % i, text="") for i in range(5)]' \
	'a version that is text:d["version"] = "9"' 'a version below 1:d["version"] = 0' 'no expiry:del d["expires"]' \
	'another schema:d["schemaVersion"] = 2' 'a NUL in a text:d["policies"][0]["text"] += "\0"'; do
	crafted() { signed "${row#*:}" && kept 'this version does not understand'; }
	check "signed, but ${row%%:*}" crafted
done
for how in fifo directory loop large zero; do
	rm -rf "$TMP/fleet.bundle"
	case $how in
	fifo) mkfifo "$TMP/fleet.bundle" && why='not a regular file' ;;
	directory) mkdir "$TMP/fleet.bundle" && why='is a directory' ;;
	loop) ln -s fleet.bundle "$TMP/fleet.bundle" && why='symbolic links' ;;
	large) truncate -s 20G "$TMP/fleet.bundle" && why='larger than' ;;
	zero) ln -s /dev/zero "$TMP/fleet.bundle" && why='not a regular file' ;;
	esac
	check "in place of the file: $how" kept "$why"
done
rm -rf "$TMP/fleet.bundle"
(cat "$TMP/good"; echo '{}') >"$TMP/fleet.bundle"
check 'something behind its end' kept 'not a bundle'
cp "$TMP/good" "$TMP/fleet.bundle"
store=$HOME/.local/state/sbx-launch/runs
hurt() # CONTENT: of the last good one
{
	local file
	file=$(echo "$store"/.bundle-*[0-9a-f])
	cp "$file" "$TMP/kept" && printf %s "$1" >"$file"
	launch 125 true && says 'is damaged (remove it to begin anew)' && cp "$TMP/kept" "$file"
}
check 'the last good one is damaged: not taken for none' hurt '{}'
unwritable()
{
	make_bundle "$TMP/fleet.bundle" 5 "$TMP/b.yaml" >/dev/null && chmod 500 "$store" &&
		launch 125 --audit-level none true && says 'cannot be stored' &&
		cp "$TMP/good" "$TMP/fleet.bundle" && launch 0 --audit-level none true
	local rc=$?
	chmod 700 "$store"
	return $rc
}
check 'a newer one that cannot be kept: nothing runs; the one in force does' unwritable
together() # two files at once, whichever comes first: the newer one is kept
{
	local i pids
	make_bundle "$TMP/five" 5 "$TMP/a.yaml" >/dev/null && make_bundle "$TMP/six" 6 "$TMP/b.yaml" >/dev/null || return 1
	for i in $(seq "$(rounds 8 40)"); do
		forget
		pids=
		for file in five six five six; do
			XDG_RUNTIME_DIR= "$bin/sbx-bundle" --key "$keys/pub" take "$TMP/$file" >/dev/null 2>>"$TMP/err" &
			pids="$pids $!"
		done
		for pid in $pids; do wait "$pid" || return 1; done
		"$bin/sbx-bundle" --key "$keys/pub" take "$TMP/five" | grep -q '"version":6.*rolled back' || return 1
	done
}
check 'two at once: the higher version stays' together

# ---- what is not made ----
mkdir "$TMP/twin" && cp "$TMP/a.yaml" "$TMP/twin/"
unmade() { "$policy" bundle make "$@" >"$TMP/out" 2>"$TMP/err"; [ $? -eq 2 ]; }
check 'nothing is signed that has expired' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2001-01-01 -o "$TMP/x" "$TMP/a.yaml"
check 'nor on a day that is none' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2099-02-30 -o "$TMP/x" "$TMP/a.yaml"
check 'nor two policies of one name' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2099-01-01 -o "$TMP/x" "$TMP/a.yaml" "$TMP/twin/a.yaml"
echo 'kind: [' >"$TMP/bad.yaml"
check 'nor what is no policy' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2099-01-01 -o "$TMP/x" "$TMP/bad.yaml"
chmod 644 "$keys/key"
check 'nor with a key that others may read' unmade --key "$keys/key" --name f --bundle-version 1 --expires 2099-01-01 -o "$TMP/x" "$TMP/a.yaml"
