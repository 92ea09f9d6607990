#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A program that a rule on endpoints names is the one that it was when it was seen first (S29): one
# that was replaced between two connections is refused, whatever way it was replaced.
. "$(dirname "$0")/../support/e2e.sh"
. "$(dirname "$0")/connect.sh"

AUDIT=${SBX%/*}/sbx-audit
CURL=$(readlink -f "$(command -v curl)")
BASH_PROGRAM=$(readlink -f "$(command -v bash)")

# The body of a run: `ask` is a connection by ./prog, which is curl; each says what came of it.
cat >"$TMP/body.sh" <<P
ask() { \${1:-./prog} -sS -m 20 http://localhost:8080/x >out 2>err && echo reached || { cat err >&2; echo refused; }; }
another() { cp $CURL \$1 && printf x >>\$1; }
cp $CURL prog
P
policy() # NAME RULES: with the directory of the run in place of @
{
	printf '%s\n' "schemaVersion: 2
kind: Policy
metadata: {name: $1}
spec:
  sandbox: {}
  fsProfiles:
    dev: {read: ['**'], modify: ['**'], connect: [$2]}" >"$TMP/$1.yaml"
}
policy pattern "{to: 'localhost:8080', by: ['@/pro*']}"
policy file "{to: 'localhost:8080', by: ['@/prog']}"
policy open "'localhost:8080', {to: 'b.example.net:80', by: ['@/pro*']}"
policy shut "'localhost:8080', {to: '!localhost:8080', by: ['@/pro*']}"
policy all "{to: 'localhost:8080', by: ['/**']}"
policy shell "{to: 'localhost:8080', by: ['$BASH_PROGRAM']}"

# A run in a directory of its own, in which prog is; the lines that it prints, joined, are $1.
run() # EXPECTED POLICY BODY [OPTIONS...]
{
	expected=$1 name=$2 body=$3
	shift 3
	[ "$w" = me ] && at=$TMP/at || at=$PLACE/ws/at
	rm -rf "$at" && mkdir "$at"
	cp "$TMP/body.sh" "$at/body.sh"
	printf '%s\n' "$body" >>"$at/body.sh"
	sed "s,@,$at,g" "$TMP/$name.yaml" >"$at/p.yaml"
	cp "$CURL" "$at/prog"
	if [ "$w" = me ]; then
		(cd "$at" && "$SBX" -p p.yaml "$@" -- bash body.sh) >"$TMP/out" 2>"$TMP/err"
	else
		chown -R "$E2E_UID" "$at"
		(cd "$at" && HOME=$PLACE/home TMPDIR=$PLACE/tmp setpriv --reuid=$E2E_UID --regid=$E2E_UID \
			--clear-groups "$SBX" -p p.yaml "$@" -- bash body.sh) >"$TMP/out" 2>"$TMP/err"
	fi
	[ "$(tr '\n' ' ' <"$TMP/out")" = "$expected " ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}
says_why() # the line for people has OpenShell's words, and the rule
{
	grep -qE 'denied connect .*:8080 .*Binary integrity violation.*p.yaml:7:.*start the run anew' "$TMP/err" ||
		{ cat "$TMP/err"; return 1; }
}

for w in $WHO; do
	for p in pattern file; do
		check "$w: $p: a program is trusted on first use" run 'reached reached' $p 'ask; ask'
		check "$w: $p: written in place it is refused" run 'reached refused' $p 'ask; printf x >>prog; ask'
		check "$w: $p: and the reason is named" says_why
		check "$w: $p: written in place and back it is the same" run 'reached reached' $p \
			"ask; printf x >>prog; truncate -s -1 prog; ask"
		check "$w: $p: with other access bits, too" run 'reached reached' $p 'ask; chmod 700 prog; ask'
		check "$w: $p: put in its place it is refused" run 'reached refused' $p \
			'ask; another new; mv new prog; ask'
		check "$w: $p: and the reason is named" says_why
		check "$w: $p: many times" run 'reached refused refused reached' $p \
			'ask; mv prog old; another prog; ask; printf y >>prog; ask; mv old prog; ask'
		check "$w: $p: where the size stays" run 'reached refused' $p \
			'ask; printf x | dd of=prog bs=1 seek=$(($(stat -c %s prog) - 1)) conv=notrunc status=none; ask'
		check "$w: $p: with the old times" run 'reached refused' $p \
			'touch -r prog t; ask; printf x >>prog; touch -r t prog; ask'
	done
	check "$w: the same bytes put in its place are the same program" run 'reached reached' pattern \
		"ask; cp $CURL new; mv new prog; ask"
	check "$w: each program by its own path" run 'reached reached refused' pattern \
		'ask; another prot; ask ./prot; cp prot prog; ask'
	check "$w: a file under another name is the same file" run 'reached refused' file \
		'ask; ln prog other; printf x >>other; ask ./other'

	check "$w: what is open to everybody stays open" run 'reached reached' open 'ask; printf x >>prog; ask'
	check "$w: what is denied stays denied" run 'refused refused' shut 'ask; printf x >>prog; ask'
	check "$w: a pattern of all programs names none" run 'reached reached' all 'ask; printf x >>prog; ask'
	check "$w: a program that only starts others" run 'reached refused' pattern "
		cp $BASH_PROGRAM prog; ask '$CURL' >/dev/null; through() { ./prog -c '$CURL -sS -m 20 http://localhost:8080/x; true' | grep -q x && echo reached || echo refused; }
		through; printf x >>prog; through"
	check "$w: it is the interpreter that is a script's program" run 'reached reached' shell "
		printf '#!$BASH_PROGRAM\n$CURL -sS -m 20 http://localhost:8080/x' >s; chmod +x s; ask ./s; echo ' # other' >>s; ask ./s"
	check "$w: one that has removed itself is still the file" run 'reached' file \
		"cat $BASH_PROGRAM >prog; ./prog -c 'rm prog; exec 3<>/dev/tcp/localhost/8080' && echo reached || echo refused"
	check "$w: and no path leads to it" run 'refused' pattern \
		"cp $BASH_PROGRAM prog; ./prog -c 'rm prog; exec 3<>/dev/tcp/localhost/8080' 2>/dev/null && echo reached || echo refused"
	check "$w: a process goes on as what it was" run 'reached reached refused' pattern "
		cp $BASH_PROGRAM prog
		./prog -c 'go() { exec 3<>/dev/tcp/localhost/8080 && echo reached || echo refused; }; go; mv prog old; cp $CURL prog; go' 2>/dev/null
		ask"
	if unshare -Urm true 2>/dev/null; then
		check "$w: another one mounted over it is refused" run 'reached refused' pattern \
			"ask; another new; unshare -Urm sh -c 'mount --bind new prog && exec ./prog -sS -m 20 http://localhost:8080/x' >/dev/null 2>&1 && echo reached || echo refused" --allow namespaces
	fi
	# 1.5 GiB is more than is read; 500 MiB are read while others are served
	check "$w: what is too large to read is known by its place, when it has been there a while" run 'refused reached refused' pattern \
		"truncate -s 1500M prog; ask; sleep 3.5; ask; printf x >>prog; ask"
	check "$w: nobody waits for a program that is read" run 'small large' pattern "
		truncate -s 500M prog; cp $CURL prot
		(./prog -sS -m 60 http://localhost:8080/x >/dev/null 2>&1; echo large) &
		sleep 0.1; ./prot -sS -m 60 http://localhost:8080/x >/dev/null 2>&1; echo small; wait"
done

# ---- the record, and the proxy's way ----

w=me
run 'reached refused' pattern 'ask; printf x >>prog; ask' >/dev/null
"$AUDIT" show --json last >"$TMP/shown"
check 'the record has the decision, with the program, and the rule that would allow' sh -c '
	grep "\"allowed\":false" "$1" | grep -F "\"matched_rule\":\"<Binary integrity violation>\"" | grep -E "\"rule\":\"p.yaml:7:" |
		grep -qE "\"program\":\"[^\"]*/at/prog\"" || { cat "$1"; exit 1; }' - "$TMP/shown"
check 'through a proxy it is refused likewise' run 'reached refused' pattern \
	'ask() { http_proxy=$HTTP_PROXY ./prog -fsS -m 20 http://localhost:8080/x >out 2>err && echo reached || { cat err >&2; echo refused; }; }
	ask; printf x >>prog; ask' --proxy-env
