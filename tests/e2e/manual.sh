#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The policy that sbx-policy(5) prints, run as printed under --strict, and the questions it shows.
. "$(dirname "$0")/../support/e2e.sh"

awk '/^\.Bd/ { inside = 1; next } /^\.Ed/ { exit } inside' "$(dirname "$0")/sbx-policy.5" >"$TMP/policy.yaml"
POLICY=$(dirname "$SBX")/sbx-policy
mkdir -p src/generated .github docs
echo secret >a.env
echo text >docs/page

as() # PROFILE SCRIPT
{
	launch --strict --policy "$TMP/policy.yaml" --profile "$1" sh -c "$2"
}
check 'the page has a policy' grep -q '^  fsProfiles:' "$TMP/policy.yaml"
check 'it is valid' "$POLICY" check "$TMP/policy.yaml"
as implementer 'cat docs/page; echo x >src/a; mkdir src/d; mv src/a src/d/b; exit 3'
check 'it runs' [ "$status" -eq 3 ]
check 'reads' grep -qx text "$TMP/out"
check 'and changes what it names' [ -s src/d/b ]
as implementer 'cat a.env; cp a.env src/pub; mv a.env src/pub; cat src/pub'
check 'denyRead holds' [ "$(grep -c secret "$TMP/out")" -eq 0 ]
as implementer 'echo x >src/generated/y; mv src/d src/generated/d; echo x >.github/w; echo x >docs/new; mv .github g'
check 'an exception, denyModify and the rest of the workspace hold' \
	[ "$(ls src/generated .github docs)" = "$(printf '.github:\n\ndocs:\npage\n\nsrc/generated:')" ]
as reviewer 'cat docs/page src/d/b; echo x >src/new; rm -r src/d'
check 'the other profile reads' [ "$(wc -l <"$TMP/out")" -eq 2 ]
check 'and changes nothing' [ -s src/d/b ]
check 'nor makes anything' [ ! -e src/new ]
launch --policy "$TMP/policy.yaml" true
check 'one of them has to be named' grep -q '^sbx-launch: E_PROFILE: .*implementer, reviewer' "$TMP/err"

# $ sbx-policy ...: each question of the page gets an answer
grep '^\$ sbx-policy ' "$(dirname "$0")/sbx-policy.5" | sed 's/^\$ sbx-policy //' >"$TMP/asked"
check 'the page asks' [ -s "$TMP/asked" ]
cp "$TMP/policy.yaml" .
while read -r question; do
	# shellcheck disable=SC2086
	"$POLICY" $question >"$TMP/out" 2>"$TMP/err" || [ $? -eq 1 ]
	answered=$?
	check "answered: $question" [ "$answered" -eq 0 -a ! -s "$TMP/err" ]
done <"$TMP/asked"
exit 0
