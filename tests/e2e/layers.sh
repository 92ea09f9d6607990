#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Documents beside the user's: a project file tightens, in the kernel too; trust lets it say more;
# no document in use is changed from inside; root's managed policy holds for all.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
export XDG_CONFIG_HOME=$TMP/config

doc() # FILE SPEC
{
	printf 'schemaVersion: 2\nkind: Policy\nmetadata: {name: t}\nspec: %s\n' "$2" >"$1"
	chmod 600 "$1"
}

said() # PATTERN ARGS... : a line of standard error
{
	pattern=$1
	shift
	"$SBX" "$@" >"$TMP/out" 2>"$TMP/err"
	grep -qE -- "$pattern" "$TMP/err" || { cat "$TMP/out" "$TMP/err"; return 1; }
}

mkdir -p src keep && echo key >app.env && echo one >src/a && echo two >keep/b

# A managed policy, in a mount namespace of its own: /etc/sbx-launch is root's.
if [ "$(id -u)" -eq 0 ] && unshare -m true 2>/dev/null; then
	managed() # SPEC COMMAND...
	{
		doc "$TMP/managed.yaml" "$1"
		chmod 644 "$TMP/managed.yaml"
		shift
		unshare -m bash -c 'm=$1 etc=$2; shift 2
			mkdir -p "$etc/up" "$etc/work" && mount -t tmpfs none "$etc" &&
			mkdir "$etc/up" "$etc/work" "$etc/up/sbx-launch" &&
			cp "$m" "$etc/up/sbx-launch/policy.yaml" &&
			mount -t overlay -o "lowerdir=/etc,upperdir=$etc/up,workdir=$etc/work" none /etc &&
			eval "$after" && exec "$@"' - "$TMP/managed.yaml" "$TMP/etc" "$@"
	}
	export after=:
	mkdir "$TMP/etc"
	if managed '{}' test -e /etc/sbx-launch/policy.yaml 2>/dev/null; then
		inside() # TEXT SPEC ARGS...
		{
			want=$1 spec=$2
			shift 2
			got=$(managed "$spec" "$SBX" -q "$@" 2>"$TMP/err")
			[ "$got" = "$want" ] || { echo "got: $got"; cat "$TMP/err"; return 1; }
		}
		check 'what a managed policy denies is denied' \
			inside no '{denyRead: ["**/*.env"]}' -- bash -c 'cat app.env || echo no'
		check 'whatever the options' \
			inside no '{denyRead: ["**/*.env"]}' --read / -- bash -c 'cat app.env || echo no'
		check 'absolute places, too' \
			inside no '{sandbox: {denyRead: [/usr/share/doc]}}' -- \
			bash -c 'ls /usr/share/doc || echo no'
		check 'it takes the network' inside 0 '{sandbox: {network: none}}' --network host -- \
			bash -c 'tail -n +3 /proc/net/dev | grep -vc " lo:"'
		check 'and laxness' inside '' '{sandbox: {strict: true}}' --best-effort \
			--network loopback -- echo ran
		check 'which it says' grep -q -e '--best-effort has no effect\|cannot be enforced' "$TMP/err"
		# A link that leads nowhere, or to where others may write, is no way to switch it off.
		unled() # HOW TEXT
		{
			after="(cd /etc/sbx-launch && $1)" managed '{}' "$SBX" -- echo ran >"$TMP/out" 2>"$TMP/err"
			[ $? -eq 125 ] && [ ! -s "$TMP/out" ] && grep -q "managed policy: $2" "$TMP/err" ||
				{ cat "$TMP/out" "$TMP/err"; return 1; }
		}
		check 'a link in its place is refused' unled 'mv policy.yaml ../p && ln -s ../p policy.yaml' \
			'/etc/sbx-launch/policy.yaml: a symlink, expected a file'
		check 'one that leads nowhere, too' unled 'rm policy.yaml && ln -s ../p policy.yaml' '.*a symlink'
		check 'and one for its directory' unled 'cd .. && mv sbx-launch x && ln -s nowhere sbx-launch' \
			'/etc/sbx-launch: a symlink, expected a directory'
		check 'or a file' unled 'cd .. && mv sbx-launch x && cp x/policy.yaml sbx-launch' \
			'/etc/sbx-launch: not a directory'
		after='rm /etc/sbx-launch/policy.yaml' check 'a directory without one is none' inside ran '{}' -- echo ran
	fi
fi
common || exit 0

doc .sbx-launch.yaml '{denyRead: ["**/*.env"], denyModify: [keep/**]}'
static='cp app.env copy'
check 'what a project file denies to read is denied' out no -- bash -c 'cat app.env || echo no'
check 'by another program, too' out no -- bash -c "$static || echo no"
check 'without the shim' out no --no-shim -- bash -c 'cat app.env || echo no'
check 'what it denies to change is denied' out no --no-shim -- \
	bash -c 'echo x >keep/b || echo no'
check 'a move does not launder it' out no --no-shim -- \
	bash -c 'mv app.env pub.txt 2>/dev/null && cat pub.txt || echo no'
doc .sbx-launch.yaml '{denyModify: [evil/settings.json]}'
mkdir evil && echo bad >evil/settings.json
"$SBX" -q -- mv evil .claude 2>/dev/null
check 'what it denies makes no name the equal of one that the user protects' [ ! -e .claude ]
rm -rf .claude evil
doc .sbx-launch.yaml '{denyRead: ["**/*.env"], denyModify: [keep/**]}'
check 'nor does an option open it' out no --read app.env -- bash -c 'cat app.env || echo no'
check 'the rest is as before' out onex -- bash -c 'printf %s "$(cat src/a)"; echo x >src/n; cat src/n'
check 'the denial names layer and place' \
	said 'project:.*/\.sbx-launch\.yaml:4:19' -- cat app.env
# one event, as sbx-audit prints it
"$SBX" -q -- cat app.env 2>/dev/null
check 'and so does the log' bash -c '"$1" show --verdict denied | grep -q "project:.*sbx-launch.yaml:4:19" || {
	"$1" show; exit 1; }' - "$(dirname "$SBX")/sbx-audit"
check 'why says the same' bash -c '"$1" why read app.env | grep -qE "denied .*project:" ' - "$POLICY"
check 'it is not changed from inside' out no -- bash -c 'echo x >>.sbx-launch.yaml || echo no'
check 'nor replaced' out no -- \
	bash -c 'echo x >n && mv -f n .sbx-launch.yaml 2>/dev/null || echo no'

doc .sbx-launch.yaml '{fsProfiles: {default: {read: ["**"], modify: ["**"]}}, sandbox: {sideRoots: [~/side]}}'
mkdir -p "$HOME/side"
check 'a project asks for more in vain' out no -- bash -c 'echo x >~/side/f || echo no'
check 'and is told how it could' said 'asks for side roots.*sbx-policy trust' -- true
check 'trust prints what is trusted' bash -c '"$1" trust . | grep -q "  $PWD/.sbx-launch.yaml$"' - "$POLICY"
check 'trusted, it says more' out yes -- bash -c 'echo x >~/side/f && echo yes'
check 'the list of trust is closed from inside' out no --modify "$TMP" -- \
	bash -c 'echo x >>"$XDG_CONFIG_HOME/sbx-launch/trusted" || echo no'
echo '# changed' >>.sbx-launch.yaml
check 'a change ends the trust' out no -- bash -c 'echo x >~/side/f || echo no'
check 'and is told' said 'has changed since it was trusted' -- true
mkdir -p "$TMP/"$'e\e[1m'
cp .sbx-launch.yaml "$TMP/"$'e\e[1m/'
"$POLICY" trust "$TMP/"$'e\e[1m' >"$TMP/out"
"$POLICY" trust >>"$TMP/out"
check 'names are shown as text' sh -c '[ "$(grep -cF "/e\\x1b[1m/" "$1")" = 2 ] && ! grep -q "$(printf "\\033")" "$1"' - "$TMP/out"
"$POLICY" trust . >"$TMP/out" && "$POLICY" distrust .
check 'distrust ends it, too' out no -- bash -c 'echo x >~/side/f || echo no'
doc .sbx-launch.yaml '{denyRead: [secret/**], sandbox: {network: none, unixSockets: none}}'
check 'what an option cannot open is told, with who closes it' \
	said 'note: --network opens less than it asks for: .*/\.sbx-launch\.yaml:4:[0-9]+ closes it' --network host -- true
check 'for sockets, too' said 'note: --unix opens less than it asks for: ' --unix host -- true
quiet() { "$SBX" -- true 2>"$TMP/err"; [ ! -s "$TMP/err" ] || { cat "$TMP/err"; return 1; }; }
check 'and nothing where nothing was asked for' quiet
doc "$WS/p.yaml" '{fsProfiles: {p: {read: ["**"], modify: []}}}'
unwritten() { "$POLICY" lint p.yaml >"$TMP/lint" 2>&1; ! grep -q ':1:1:' "$TMP/lint" || { cat "$TMP/lint"; return 1; }; }
check 'lint speaks of rules that somebody wrote' unwritten
doc "$WS/p.yaml" '{fsProfiles: {p: {read: ["secret/**"], modify: []}}}'
weakened() { "$POLICY" lint p.yaml | grep -q 'p.yaml:4:[0-9]*: .*opens what another document closes'; }
check 'and of one that opens what the project closes' weakened
rm .sbx-launch.yaml

doc "$WS/p.yaml" '{fsProfiles: {p: {read: ["**"], modify: ["**"]}}}'
check 'the policy in use is not changed from inside' out no -p ./p.yaml -- \
	bash -c 'echo x >>p.yaml || echo no'
check 'nor moved away' out no -p ./p.yaml -- bash -c 'mv p.yaml q.yaml 2>/dev/null || echo no'
check 'other files are' out yes -p ./p.yaml -- bash -c 'echo x >q.yaml && echo yes'
exit 0
