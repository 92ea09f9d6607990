#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-policy on real files: check, why, show, and their statuses.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy

cat >"$TMP/p.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: docs}
spec:
  denyRead: ["**/*.env"]
  denyModify: [".orbit/**", "!.orbit/open/**"]
  fsProfiles:
    writer: {read: ["**"], modify: ["docs/**", "!docs/drafts/**"]}
    compute: {}
X
chmod 600 "$TMP/p.yaml"

has() # STATUS PATTERN ARGS... : a line of the output matches
{
	want=$1 pattern=$2
	shift 2
	"$POLICY" "$@" >"$TMP/out" 2>&1 </dev/null
	status=$?
	[ "$status" -eq "$want" ] && grep -qE -- "$pattern" "$TMP/out" || {
		echo "status $status"
		cat "$TMP/out"
		return 1
	}
}

o="--policy $TMP/p.yaml --profile writer"
check 'check is silent about a valid policy' answers 0 '' check "$TMP/p.yaml"
# shellcheck disable=SC2086
{
check 'allowed, by the rule of the profile' has 0 \
	'^allowed  modify   ./docs/a  by rule docs/\*\* \(.*p.yaml:8:37\)' why $o modify docs/a
check 'the last rule that matches decides' has 1 \
	'^denied .* by rule docs/drafts/\*\* \(.*:8:48\), against docs/\*\*' why $o modify docs/drafts/x
check 'a global deny is last' has 1 'by rule \*\*/\*\.env \(.*:5:14\)' why $o read docs/a.env
check 'denyRead does not deny changes' has 0 '^allowed' why $o modify docs/a.env
check 'no rule matches' has 1 'by rule <no matching rule>' why $o modify src/x
check 'an exception grants nothing' has 1 'by rule <no matching rule>|by rule \.orbit' \
	why $o modify .orbit/open/x
check 'a profile without rules' has 1 'by rule \[\]' \
	why --policy "$TMP/p.yaml" --profile compute read x
check 'outside every workspace' has 1 'by rule <outside workspace>' why $o modify /etc/passwd
check 'one denied of many is status 1' has 1 '^allowed' why $o read a b.env
check 'an option overrides the document' has 0 'cli:--read:1' why $o --read b.env read b.env
check 'JSON has all keys' answers 1 "$(printf '{"op":"modify","path":"./docs/drafts/x","allowed":false,"matched_rule":"docs/drafts/**","rule":"%s:8:48","overrode":{"matched_rule":"docs/**","rule":"%s:8:37"},"floor":"broker"}' "$TMP/p.yaml" "$TMP/p.yaml")" \
	why --json $o modify docs/drafts/x
}

if [ "$(id -u)" -ne 0 ]; then
	check 'what only permissions hold is said' has 1 '\[file permissions\]' why read /etc/shadow
fi
nul() # paths from stdin, newline and all
{
	printf 'a\nb\0c.env\0docs' | "$POLICY" why -0 --json --policy "$TMP/p.yaml" --profile writer \
		read >"$TMP/out" || [ $? -eq 1 ] || return 1
	[ "$(wc -l <"$TMP/out")" -eq 3 ] && grep -q '"./a\\nb"' "$TMP/out" &&
		[ "$(grep -c '"allowed":true' "$TMP/out")" -eq 2 ]
}
check 'paths ended by NUL from standard input' nul

mkdir -p real "$HOME/.ssh" && ln -s real link && ln -s "$HOME/.ssh" keys
check 'a linked prefix is shown with its real path' has 0 'real/\*\*  as link/\*\*.*by its real path' \
	show --deny-read link
check 'a link is judged where it leads' has 1 'by rule ~/.ssh/\*\* \(preset:secrets' \
	why read keys/id
ln -s "$TMP" planted
check 'a relative path is not followed out of the workspace, and told' \
	has 1 'planted/\*\*. passes through a symlink .*not followed: name the target itself' \
	why --modify planted modify planted/x
check 'a workspace that is a link out of here is refused' \
	has 2 'the symlink .*/planted leads out of .*, and an earlier run could have made it: name that itself' \
	why -w planted modify x
rm planted
check 're-opening a secret is told' has 0 'note: --read ~/.ssh/id re-opens .~/.ssh/\*\*. for read' \
	why --read '~/.ssh/id' read "$HOME/.ssh/id"
check 'show prints tier and origin of each rule' has 0 'deny   set .*\(preset:secrets:13:7\)' show
check 'show --effective prints the document' has 0 '  except  .orbit/open/\*\*  \(global' \
	show --effective --profile writer "$TMP/p.yaml"
check 'show --floor names what the broker performs' has 0 'opens to read: all' \
	show --floor --profile writer "$TMP/p.yaml"
check 'show --plan landlock of another kernel' has 0 '^landlock abi 3$' \
	show --plan landlock --abi 3
check 'ioctls are those of a list' has 0 '^ioctl  *ENOTTY  *# ' show --plan seccomp
device=$(find /dev -maxdepth 1 -type c -name '[chk]*' 2>/dev/null | head -n 1)
check 'where a rule opens a device, its own too' has 0 '^ioctl  *ENOTTY  *when arg1 & 0xff00 == 0x9400' \
	show --plan seccomp --modify "$device"
check 'show --plan seccomp' has 0 '^mount  *EPERM' show --plan seccomp
check 'help' has 0 '^sbx-policy check FILE' --help
check 'version' has 0 '^sbx-policy [0-9]' --version

wrote_nothing()
{
	[ -z "$(find "$HOME" -mindepth 1 ! -path "$HOME/.ssh")" ] || { find "$HOME"; return 1; }
}
check 'asking writes nothing' wrote_nothing

# The store: HOME is ours alone.
export XDG_CONFIG_HOME=$TMP/config
store=$XDG_CONFIG_HOME/sbx-launch/policies
check 'an empty store lists nothing of ours' bash -c '! "$1" list | grep -q docs' - "$POLICY"
check 'add puts a document into the store, and says where' answers 0 "$store/docs.yaml" \
	add "$TMP/p.yaml"
check 'list names it' has 0 '^docs$' list
check 'show NAME shows it' has 0 "policy +$store/docs.yaml" show --profile writer docs
check '--policy NAME takes it' has 1 'by rule \*\*/\*.env' \
	why --policy docs --profile writer read x.env
cat >"$TMP/more.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: more}
spec:
  denyRead: [closed]
  fsProfiles: {writer: {read: [src/**, closed/x]}}
X
chmod 600 "$TMP/more.yaml"
check 'a later document adds its denies' has 1 'by rule closed \(.*more.yaml:5:14\)' \
	why --policy docs --policy "$TMP/more.yaml" --profile writer read closed
check 'and replaces a profile' has 1 'by rule <no matching rule>' \
	why --policy docs --policy "$TMP/more.yaml" --profile writer read other
check 'but never removes a deny' has 1 'by rule \*\*/\*.env' \
	why --policy docs --policy "$TMP/more.yaml" --profile writer read src/x.env
sed 's/closed\]/"!closed"]/' "$TMP/more.yaml" >"$TMP/bad.yaml" && chmod 600 "$TMP/bad.yaml"
check 'an invalid document is not added' has 2 'bad.yaml:5:14: .*cannot be an exception' \
	add "$TMP/bad.yaml"
check 'a name is validated before a path is built' has 2 'must not contain separators' \
	show --policy 'a:b'
check 'a name that none has' has 2 'no policy .nowhere. in' why --policy nowhere read x
check 'the store is read by a run' bash -c '[ "$("$1" -q --network host --policy docs --profile writer -- echo ran)" = ran ]' - "$SBX"
unset XDG_CONFIG_HOME
