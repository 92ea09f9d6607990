# SPDX-License-Identifier: Apache-2.0
# cases.sh - bash, sourced after e2e.sh by tests/e2e/cases_*.sh: failures that others' tools are known
# for, as documents and scripts (tests/cases.tsv says which case is which test).
#
#	held NAME SETUP DOC SCRIPT WANT	what SCRIPT prints sandboxed; bare it prints something
#					else, or the test proves nothing
#	works NAME SETUP DOC SCRIPT WANT	the sandbox must not break this
#
# Each runs with the shim and without. SETUP is a function, or `:`; DOC are the arguments of doc(),
# quoted for the shell, or a call of srt or own, which the file defines.

POLICY=$(dirname "$SBX")/sbx-policy
DOC=$TMP/p.yaml
# shellcheck disable=SC2034
all="\"read: ['**'], modify: ['**']\""

doc() # DENY-READ DENY-MODIFY PROFILE: the document; lists in flow style
{
	DOC=$TMP/p.yaml
	printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec:\n  denyRead: [%s]\n  denyModify: [%s]\n  fsProfiles: {p: {%s}}\n' \
		"$1" "$2" "$3" >"$DOC"
	chmod 600 "$DOC"
}

# With a document: SCRIPT's output.
inside() # ARGS... SCRIPT
{
	"$SBX" -q -w "$WS" -p "$DOC" "${@:1:$#-1}" -- bash -c "${!#}" 2>"$TMP/err" </dev/null
}

held()
{
	fresh
	$2
	bash -c "$4" >"$TMP/bare" 2>/dev/null </dev/null
	if [ "$(cat "$TMP/bare")" = "$5" ]; then
		echo 'bare it ends alike' | not_ok "$1"
		return
	fi
	works "$@"
}

works()
{
	local how
	case $3 in srt* | own*) eval "$3" ;; *) eval "doc $3" ;; esac
	for how in '' --no-shim; do
		fresh
		$2
		inside "${CASE_ARGS[@]}" ${how:+"$how"} "$4" >"$TMP/out"
		[ "$(cat "$TMP/out")" = "$5" ] && continue
		{ echo "with ${how:-the shim}:"; diff <(echo "$5") "$TMP/out"; cat "$TMP/err"; } | not_ok "$1"
		return
	done
	ok "$1"
}
CASE_ARGS=()
