#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What an earlier run could write does not lead the start of the next one: the build cache, and the grants that
# begin with a variable of the environment or with the home.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
out=$(dirname "$WS")/elsewhere
mkdir -p "$out/sub" && echo SECRET >"$out/file" || exit 1
hash=$(printf %s "$WS" | sha256sum | cut -c 1-16)
not_led() # WHAT OPTIONS...: the command writes nothing outside, and a line names the variable
{
	local what=$1
	shift
	launch "$@" -- sh -c 'echo x >"$1/got"; echo x >"$1/sub/got"; cat "$1/file"' - "$out"
	[ ! -e "$out/got" ] && [ ! -e "$out/sub/got" ] && grep -qF 'symlink' "$TMP/err" && grep -qF "$what" "$TMP/err"
}

# The cache: below a directory of the workspace, as CI has it.
ways=('')
! full || ways+=(--no-shim '--isolate none')
for how in "${ways[@]}"; do
	export XDG_CACHE_HOME=$WS/.cache
	# shellcheck disable=SC2086
	launch -q $how sh -c 'rm -rf .cache; mkdir -p .cache/sbx-launch; ln -s "$1" ".cache/sbx-launch/$2"' - "$out" "$hash"
	check "an ordinary run plants a link for the cache $how" [ -L ".cache/sbx-launch/$hash" ]
	check "its name leads nowhere $how" not_led "$WS/.cache/sbx-launch/$hash" $how
	check "nor does that of the directory above $how" sh -c 'rm -rf .cache; mkdir .cache; ln -s "$1" .cache/sbx-launch' - "$out"
	check "... $how" not_led "$WS/.cache/sbx-launch" $how
	check "nothing is made there $how" [ ! -e "$out/$hash" ]
	rm -rf .cache; ln -s "$out" .cache
	check "nor the variable's own $how" not_led "$WS/.cache" $how
	check "nothing is made there, either $how" [ ! -e "$out/sbx-launch" ]
	rm -rf .cache
	# shellcheck disable=SC2086
	launch $how sh -c 'echo x >"$XDG_CACHE_HOME/x" && echo "$XDG_CACHE_HOME"'
	check "a cache in the workspace is made $how" [ "$(cat "$TMP/out")" = "$WS/.cache/sbx-launch/$hash" -a -s ".cache/sbx-launch/$hash/x" ]
	check "without a word $how" [ ! -s "$TMP/err" ]
	rm -rf .cache
	unset XDG_CACHE_HOME
done
# For any workspace: a run that may write the usual place.
mkdir -p "$HOME/.cache"
launch -q --modify '~/.cache' -- sh -c 'rm -rf ~/.cache/sbx-launch && mkdir -p ~/.cache/sbx-launch && ln -s "$1" ~/.cache/sbx-launch/'"$hash" - "$out"
check 'a run with the cache open plants one, too' [ -L "$HOME/.cache/sbx-launch/$hash" ]
check 'which the next run does not follow' not_led "$HOME/.cache/sbx-launch/$hash"
rm -rf "$HOME/.cache"
mkdir "$HOME/big" && ln -s big "$HOME/.cache"
launch sh -c 'echo x >"$XDG_CACHE_HOME/x"'
check 'a link of the home itself is its owner'\''s' [ "$status" -eq 0 -a -s "$HOME/big/sbx-launch/$hash/x" -a ! -s "$TMP/err" ]
rm -rf "$HOME/.cache" "$HOME/big"
if [ "$(id -u)" -eq 0 ]; then
	mkdir -p "$HOME/.cache/sbx-launch/$hash" && chown 65534 "$HOME/.cache/sbx-launch/$hash"
	launch sh -c 'echo x >"$XDG_CACHE_HOME/x"; echo "${XDG_CACHE_HOME-none}"'
	check 'nor is a cache used that is another user'\''s' sh -c 'grep -qx none "$1" && grep -q "not a directory of yours" "$2"' - "$TMP/out" "$TMP/err"
	rm -rf "$HOME/.cache"
fi

# Grants of presets and documents that begin with a variable.
cat >"$TMP/p.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: p}
spec:
  fsProfiles: {p: {read: ["**"], modify: ["**"]}}
  sandbox: {scratch: false, sideRoots: ["${TMPDIR}/sub", "${XDG_DATA_HOME}"]}
X
chmod 600 "$TMP/p.yaml"
of_variable() # VARIABLE PRESET: the variable's directory in the workspace, replaced by a link
{
	rm -rf .d; ln -s "$out" .d
	env "$1=$WS/.d" "$SBX" --preset "$2" -- sh -c 'echo x >"$1/got"; echo x >"$1/x/got"; for d in projects sessions registry; do echo x >"$1/$d/got"; done' - "$out" >"$TMP/out" 2>"$TMP/err"
	grep -qF "\${$1}" "$TMP/err" && grep -q 'symlink' "$TMP/err" && [ -z "$(find "$out" -name got)" ] &&
		[ "$(ls -A "$out" | sort | tr '\n' ' ')" = 'file sub ' ]
}
for v in npm_config_cache:npm PIP_CACHE_DIR:pip UV_CACHE_DIR:uv CARGO_HOME:cargo CLAUDE_CONFIG_DIR:claude CODEX_HOME:codex; do
	check "${v%:*}: what replaces its directory leads nowhere" of_variable ${v%:*} ${v#*:}
done
mkdir -p "$HOME/.claude" && echo TOKEN >"$HOME/.claude/.credentials.json"
rm -f .d && ln -s "$HOME/.claude" .d
CLAUDE_CONFIG_DIR=$WS/.d "$SBX" --preset claude cat "$HOME/.claude/.credentials.json" >"$TMP/out" 2>"$TMP/err"
check 'no login is read by way of one' sh -c '! grep -q TOKEN "$1"' - "$TMP/out"
rm -f .d && ln -s "$out" .d
TMPDIR=$WS/.d XDG_DATA_HOME=$WS/.d "$SBX" -p "$TMP/p.yaml" -- sh -c 'echo x >"$1/got"; echo x >"$1/sub/got"' - "$out" 2>"$TMP/err"
check 'nor does a document'\''s' [ -z "$(find "$out" -name got)" -a "$(grep -c symlink "$TMP/err")" -eq 2 ]
HOME=$WS/.d launch --modify '~/sub' -- sh -c 'echo x >"$1/sub/got"' - "$out"
check 'nor a home in the workspace' [ -z "$(find "$out" -name got)" ]
rm -f .d
mkdir -p "$HOME/.cache" && ln -s "$out" "$HOME/.cache/pip"
launch --preset pip -- sh -c 'echo x >"$1/got"' - "$out"
check 'the usual place of a variable is like a document'\''s' sh -c '[ ! -e "$1/got" ] && grep -q symlink "$2"' - "$out" "$TMP/err"
rm -rf "$HOME/.cache"
# What works.
mkdir -p .d/real "$HOME/dot" && ln -s real .d/l && ln -s dot "$HOME/.npm"
npm_config_cache=$WS/.d/l launch --preset npm --deny-modify .d -- sh -c 'echo x >.d/real/x'
check 'a link within the workspace is followed' [ -s .d/real/x -o "$status" -ne 0 ]
launch --preset npm -- sh -c 'echo x >~/.npm/x'
check 'and one of the home' [ -s "$HOME/dot/x" -a ! -s "$TMP/err" ]
npm_config_cache=$WS/.d/l "$POLICY" show --preset npm >"$TMP/out" 2>&1
check 'show has the place it leads to' grep -q "$WS/.d/real" "$TMP/out"

# Compiled policies and trust: an earlier run that had them elsewhere could write what this one would believe.
launch true
check 'compiled policies are stored' [ -d "$HOME/.local/state/sbx-launch/images" ]
XDG_STATE_HOME=$WS/.state launch true
check 'none that lies in the workspace is used' [ "$status" -eq 0 -a -d .state/sbx-launch/runs -a ! -e .state/sbx-launch/images ]
cat >.sbx-launch.yaml <<X
schemaVersion: 2
kind: Policy
metadata: {name: p}
spec:
  fsProfiles: {p: {read: ["**"], modify: ["**"]}}
  sandbox: {sideRoots: ["$out/sub"]}
X
chmod 600 .sbx-launch.yaml
mkdir -p .cfg/sbx-launch && echo "$(sha256sum <.sbx-launch.yaml | cut -c 1-64)  $WS/.sbx-launch.yaml" >.cfg/sbx-launch/trusted && chmod 600 .cfg/sbx-launch/trusted
XDG_CONFIG_HOME=$WS/.cfg launch sh -c 'echo x >"$1/sub/got"' - "$out"
check 'trust in the workspace does not count' sh -c '[ ! -e "$1/sub/got" ] && grep -q "trust that it lists does not count" "$2"' - "$out" "$TMP/err"
mv .cfg "$TMP/cfg"
XDG_CONFIG_HOME=$TMP/cfg launch sh -c 'echo x >"$1/sub/got"' - "$out"
check 'elsewhere it does' [ -e "$out/sub/got" ]
rm -rf .sbx-launch.yaml "$out/sub/got" .state

# A cache where outsiders run or obey everything is closed.
mkdir -p "$HOME/.config/fish/conf.d"
XDG_CACHE_HOME=$HOME/.config/fish launch sh -c 'echo x >"$XDG_CACHE_HOME/x"'
check 'a cache in what a shell obeys stays closed' [ -z "$(find "$HOME/.config/fish" -type f)" ]
exit 0
