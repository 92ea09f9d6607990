#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Failures that others' tools are known for: unquoted YAML, broken documents, many patterns over a
# large tree, names that are no text, and programs that must not notice the filter.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
AUDIT=$(dirname "$SBX")/sbx-audit
echo S >.env
p=$TMP/p.yaml

doc() # LINES : spec of the document
{
	printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n%b' "$1" >"$p"
	chmod 600 "$p"
}

refused() # PATTERN : nothing runs, and a line says why
{
	rm -f ran
	"$SBX" -p "$p" -- bash -c 'touch ran; cat .env' >"$TMP/out" 2>"$TMP/err"
	status=$?
	[ "$status" -eq 125 ] && [ ! -e ran ] && [ ! -s "$TMP/out" ] && grep -qE -- "$1" "$TMP/err" ||
		{ echo "status $status"; cat "$TMP/out" "$TMP/err"; return 1; }
}

# An unquoted pattern is YAML: the intended string, or a refusal with its place.
entry() # TEXT
{
	printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n  denyRead:\n    - a\n    - %s\n' \
		"$1" >"$p"
	chmod 600 "$p"
	refused 'p\.yaml:7:'
}
for text in '**/.env' '*.key' '!secrets/**' '~' '{a,b}/**' '[ab].txt' '#tmp/**' 'key: value' '@x' \
	'`x`' '%x' 'a: ' '"!x"' '~/.ssh' ''; do
	check "the entry \`$text\` is refused where it stands" entry "$text"
done
printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n  denyRead:\n    - dir #note\n  fsProfiles: {p: {read: ["**"]}}\n' >"$p"
check 'a comment behind an entry is one' bash -c '"$1" why -p "$2" read dir | grep -q "by rule dir "' - \
	"$POLICY" "$p"

doc '  denyRead: ["**/.env"]\n  denyRead: ["**/*.pem"]\n'
check 'a key given twice is refused' refused 'p\.yaml:6:3: .*denyRead.*(5|twice|again)'
doc '  fsProfiles: {dev: {read: ["**"]}, dev: {read: []}}\n'
check 'a profile given twice is refused' refused 'p\.yaml:5:[0-9]+: .*dev'

for key in denyReads deny_read DenyRead; do
	doc "  $key: []\n"
	check "$key: refused, with what was meant" refused 'p\.yaml:5:3: .*did you mean .denyRead'
done
doc '  fsProfiles: {dev: {modfy: []}}\n'
check 'a typo in a profile, too' refused 'did you mean .modify'
doc '  sandbox: {netwrk: none}\n'
check 'and in the settings' refused 'did you mean .network'
doc '  sandbox: {network: hots}\n'
check 'and in a value' refused 'did you mean .host'

whole() # PRINTF-FORMAT : the document itself
{
	rm -rf "$p"
	# shellcheck disable=SC2059
	printf "$1" >"$p"
	chmod 600 "$p"
}
good='schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n  denyRead: ["**/.env"]\n  fsProfiles: {p: {read: ["**"]}}\n'
for broken in "${good/  denyRead/\\tdenyRead}" "${good/\"]/\",,]}" "${good/\"**\/.env\"/\"**}" \
	"${good}x: \\000\\n" ''; do
	whole "$broken"
	check "broken: $(printf '%q' "${broken:50:40}")" refused 'p\.yaml'
done
whole "$good" && iconv -t UTF-16 "$p" >"$TMP/u" && cat "$TMP/u" >"$p"
check 'UTF-16 is refused' refused 'p\.yaml'
whole "$good" && chmod 0 "$p"
[ "$(id -u)" -eq 0 ] || check 'a file without permissions is refused' refused 'ermission denied'
rm -f "$p" && mkdir "$p"
check 'a directory is refused' refused 'a directory'
rmdir "$p"
check 'a missing file is refused' refused 'No such file'
closed()
{
	[ "$("$SBX" -q -p "$p" -- bash -c 'cat .env 2>/dev/null || echo no')" = no ]
}
whole "${good//\\n/\\r\\n}"
check 'CRLF means the same' closed
whole "\\357\\273\\277$good"
check 'and so does a byte-order mark' closed

# Fifteen patterns cost the same over many files as over none: system calls, not seconds.
doc '  denyRead: ["**/.env", "**/id_rsa*", "**/*.key", "**/*.pem", "**/*.p12", "**/.npmrc", "**/.netrc", "**/*.pfx", "**/*.jks", "**/secrets/**", "**/*.kdbx", "**/.pgpass", "**/*.asc", "**/*.gpg", "**/token*"]\n  fsProfiles: {p: {read: ["**"], modify: ["**"]}}\n'
mkdir -p big
(cd big && for a in 1 2 3 4 5 6 7 8 9 10; do mkdir -p "$a"/{1..10} && touch "$a"/{1..10}/{1..20}; done)
if command -v strace >/dev/null && strace -f -c -o "$TMP/calls" true 2>/dev/null; then
	cheap()
	{
		n=$(strace -f -e trace=openat,getdents64,newfstatat,statx -o /dev/stdout "$POLICY" \
			show -w big -p "$p" --floor 2>/dev/null | grep -c 'big/[0-9]')
		[ "$n" -le 40 ] || { echo "$n looks into the tree"; return 1; }
	}
	check 'many patterns do not walk the tree' cheap
fi

# Names that are no text, in the log.
odd=$(printf 'n\303\244 \377\n\033[31m')
printf x >"$odd"
"$SBX" -qq --audit-level all -- cat "$odd" >/dev/null 2>&1
recovered()
{
	"$AUDIT" show --json >"$TMP/log" || return 1
	python3 - "$TMP/log" "$odd" <<'X'
import base64, json, os, sys
want, found = os.fsencode(sys.argv[2]), False
for line in open(sys.argv[1], 'rb'):
    event = json.loads(line.decode('utf-8'))
    if 'path_b64' in event:
        found |= base64.b64decode(event['path_b64']).endswith(want)
sys.exit(not found)
X
}
check 'a path of any bytes is valid JSON, and can be recovered' recovered
check 'and is shown without raw control bytes' bash -c '! "$1" show | LC_ALL=C grep -q "$(printf "\033")"' - "$AUDIT"

# The filter answers so that programs fall back.
check 'threads start' bash -c '"$1" -q -- python3 -c "
import threading
t = threading.Thread(target=print, args=(\"ok\",)); t.start(); t.join()" | grep -q ok' - "$SBX"
check 'shells fork, ls and cp copy' bash -c '"$1" -q -- sh -c "true & wait; ls -l / >/dev/null; cp /etc/hostname h && echo ok" |
	grep -q ok' - "$SBX"
check 'no_new_privs holds' bash -c '"$1" -q -- grep -q "NoNewPrivs:.1" /proc/self/status' - "$SBX"

# Truncation, and rules of one file.
mkdir -p ro rw out
echo data >ro/f
doc '  fsProfiles: {p: {read: ["**"], modify: ["rw/**"]}}\n'
"$SBX" -q -p "$p" -- python3 -c 'import os; os.truncate("ro/f", 0)' 2>/dev/null
check 'truncation is a change' [ "$(cat ro/f)" = data ]
echo r >only.txt && echo no >other.txt
doc '  fsProfiles: {p: {read: [only.txt, out/report.json], modify: [out/report.json]}}\n'
check 'a rule of one file reads that' bash -c '[ "$("$1" -q -p "$2" -- cat only.txt)" = r ]' - "$SBX" "$p"
check 'and no other' bash -c '! "$1" -q -p "$2" -- cat other.txt 2>/dev/null' - "$SBX" "$p"
check 'it can be created' bash -c '"$1" -q -p "$2" -- sh -c "echo {} >out/report.json" && [ "$(wc -c <out/report.json)" -eq 3 ]' - "$SBX" "$p"
"$SBX" -q -p "$p" -- sh -c 'echo x >out/other' 2>/dev/null
check 'another beside it is not left, not even empty' [ ! -e out/other ]

if [ "$(id -u)" -ne 0 ] && command -v sudo >/dev/null; then
	check 'a set-uid helper gains nothing' bash -c '! "$1" -q -- sudo -n true 2>/dev/null' - "$SBX"
fi
