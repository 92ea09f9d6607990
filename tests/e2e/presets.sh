#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Presets: each is tried by its tool, or by a stand-in that does the tool's own file calls,
# temporary files and renames included, and opens nothing beside.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy

# As programs replace a file: a temporary one beside it, synced, renamed.
replace='r() { d=${1%/*}; mkdir -p "$d" && echo new >"$1.tmp.$$.1" && mv -f "$1.tmp.$$.1" "$1"; }; '
# The same in a directory that is written as a whole.
within='w() { mkdir -p "$1" && echo new >"$1/.t$$" && mv "$1/.t$$" "$1/f" && rm "$1/f" && : >"$1/f"; }; '

every()
{
	for p in $("$POLICY" presets); do
		"$POLICY" presets "$p" | grep -qE "^(  name: $p|version: 1)$" || { echo "$p"; return 1; }
		"$POLICY" show --preset "$p" >/dev/null 2>"$TMP/err" || { cat "$TMP/err"; return 1; }
	done
}
check 'each is printed, and can be put under a policy' every
check 'an unknown one is refused' bash -c '"$1" why --preset npn read x 2>&1 | grep -q "no preset .npn."' - "$POLICY"

check 'readonly: nothing is changed' out no --preset readonly -- bash -c 'echo x >f || echo no'
check 'readonly: all is read' out ok --preset readonly -- bash -c 'ls . >/dev/null && echo ok'
check 'workspace: changed at will' out ok --preset workspace -- bash -c "$within w d && echo ok"
check 'offline-build: builds, with a cache, without a network' out 'ok 0' --preset offline-build -- \
	bash -c "$within"'w d && w "$XDG_CACHE_HOME/x" && echo "ok $(tail -n +3 /proc/net/dev |
		grep -vc " lo:")"'
check 'secrets: a key is closed' out no --preset secrets -- \
	bash -c 'mkdir -p ~/.ssh; cat ~/.ssh/id 2>/dev/null || echo no'
check 'protected: hooks are closed' out no --preset protected -- \
	bash -c 'mkdir -p .git && { echo x >.git/config; } 2>/dev/null || echo no'

places='npm:.npm npm:.cache/node-gyp pip:.cache/pip cargo:.cargo/registry cargo:.cargo/git
	go:go/pkg/mod go:go/pkg/sumdb go:.cache/go-build codex:.codex/sessions claude:.claude/projects
	gemini:.gemini/tmp grok:.grok/sessions qwen:.qwen/projects opencode:.local/share/opencode/storage
	opencode:.local/state/opencode cursor-agent:.cursor/chats aider:.aider/caches pnpm:.local/share/pnpm/store/v10
	pnpm:.cache/pnpm yarn:.cache/yarn yarn:.yarn/berry/cache uv:.cache/uv poetry:.cache/pypoetry maven:.m2/repository
	gradle:.gradle/caches gradle:.gradle/daemon rustup:.cargo/registry jupyter:.local/share/jupyter/runtime orbit:.orbit/tasks orbit:.orbit/state/logs'
for place in $places; do mkdir -p "$HOME/${place#*:}"; done
# shellcheck disable=SC2086
for place in $(first 4 $places); do
	preset=${place%%:*} dir=${place#*:}
	unset npm_config_cache XDG_CACHE_HOME
	check "$preset: ~/$dir is the tool's" out yes --preset "$preset" -- \
		bash -c "$within w '$HOME/$dir/sub' && echo yes"
	check "$preset: without it, it is not" out no --preset readonly -- \
		bash -c "{ echo x >'$HOME/$dir/n'; } 2>/dev/null || echo no"
	check "$preset: the home is not" out no --preset "$preset" -- \
		bash -c '{ echo x >~/other; } 2>/dev/null || echo no'
done

for row in $(first 3 claude:.claude/projects/x codex:.codex/sessions/x gemini:.gemini/tmp/x qwen:.qwen/projects/x \
	opencode:.local/share/opencode/storage/x aider:.aider/caches/x pnpm:.local/share/pnpm/store/x uv:.cache/uv/x \
	maven:.m2/repository/x gradle:.gradle/caches/x cargo:.cargo/registry/x npm:.npm/_cacache); do
	launch -- bash -c ': 2>/dev/null >"$1"' - "$HOME/${row#*:}"
	check "${row%%:*}: a denial without it names the preset" grep -q -e "or with --preset ${row%%:*}\$" "$TMP/err"
done
for row in $(first 3 .local/share/pnpm/pnpm .local/share/pnpm/global/5/x .qwen/settings.json .gradle/init.d/x .rustup/toolchains/x/bin/rustc \
	.cargo/bin/rustc .m2/settings.xml .jupyter/jupyter_notebook_config.py .local/share/uv/tools/x .aider.conf.yml .cursor/hooks.json \
	.config/opencode/plugins/x.js .local/share/opencode/storage/permission/p.json .local/share/opencode/storage/project/p.json \
	.local/share/opencode/repos/r/.git/hooks/post-checkout .local/share/jupyter/nbsignatures.db .local/share/opencode/snapshot/id/config .local/share/opencode/snapshot/a/b/hooks/post-checkout \
	.cache/node/corepack/v1/yarn/1/bin/yarn.js .cache/pypoetry/virtualenvs/e/bin/activate .cache/uv/environments-v2/e/bin/ruff .cache/pnpm/dlx/a/bin/x \
	go/pkg/mod/golang.org/toolchain@v1/bin/go .gradle/native/a/linux-amd64/libnative-platform.so); do
	mkdir -p "$HOME/$(dirname "$row")"
	check "all of them: ~/$row stays as it is" out no --preset pnpm --preset yarn --preset uv --preset poetry --preset maven --preset go \
		--preset gradle --preset rustup --preset jupyter --preset qwen --preset opencode --preset cursor-agent --preset aider -- \
		bash -c '{ echo x >"$1"; } 2>/dev/null || echo no' - "$HOME/$row"
done

check 'cargo: its locks at the top, not its configuration' out 'yes no' --preset cargo -- \
	bash -c 'echo x >~/.cargo/.package-cache && { echo x >~/.cargo/config.toml; } 2>/dev/null &&
		echo yes || echo yes no'
echo old >"$HOME/.claude.json"
check 'claude: its login is replaced by a temporary file' out new --preset claude -- \
	bash -c 'f=$CLAUDE_SECURESTORAGE_CONFIG_DIR/.credentials.json; echo new >$f.tmp.ab12 && mv $f.tmp.ab12 $f && cat $f'
check 'and is the one of the host' grep -qx new "$HOME/.claude/.credentials.json"
check 'claude: its settings are a copy of the run' out 'old new' --preset claude -- \
	bash -c "$replace"'f=$CLAUDE_CONFIG_DIR/.claude.json; printf "%s " "$(cat $f)" && r $f && cat $f'
check 'and those of the host stay' grep -qx old "$HOME/.claude.json"
export CLAUDE_CONFIG_DIR=$HOME/cc
mkdir -p "$CLAUDE_CONFIG_DIR"
check 'claude: with a directory of its own, in that alone' out 'yes no no' --preset claude -- \
	bash -c "$within"'w ~/cc/projects/p && printf "yes " && { echo x >~/cc/.claude.json; } 2>/dev/null || printf "no "
		{ echo x >~/.claude/projects/n; } 2>/dev/null || echo no'
unset CLAUDE_CONFIG_DIR
echo login >"$HOME/.codex/auth.json"
check 'codex: its login is opened, and replaced' out new --preset codex -- \
	bash -c "$replace"'cat $CODEX_HOME/auth.json >/dev/null && r $CODEX_HOME/auth.json && cat $CODEX_HOME/auth.json'
check 'and the new one is the host'\''s' grep -qx new "$HOME/.codex/auth.json"
check 'but not one that a rule closes' out x --preset codex --deny-modify '~/.codex/auth.json' -- \
	bash -c 'rm $CODEX_HOME/auth.json; echo evil >$CODEX_HOME/auth.json; echo x'
check 'which stays' grep -qx new "$HOME/.codex/auth.json"
check 'nor by way of a link' out x --preset codex -- \
	bash -c 'rm $CODEX_HOME/auth.json; ln -s /etc/passwd $CODEX_HOME/auth.json; echo x'
check 'which stays as well' grep -qx new "$HOME/.codex/auth.json"
echo secret >"$HOME/.netrc"
ln -s ../.netrc "$HOME/.codex/planted"
check 'codex: no copy of a secret that a link leads to' out no --preset codex -- \
	bash -c 'cat $CODEX_HOME/planted 2>/dev/null || echo no'
rm "$HOME/.codex/planted"
check 'codex: its directory does not lie where temporary files do' out yes --preset codex -- \
	bash -c 'case $CODEX_HOME in "$TMPDIR"/*) ;; *) echo yes ;; esac'
mkdir -p .orbit/resources .orbit/tasks .orbit/state/audit .orbit/other
echo k >x.env
check 'orbit: its runtime writes, the rest of .orbit stays closed' out 'yes no no' --preset orbit -- \
	bash -c "$within"'w .orbit/tasks && w .orbit/state/audit && w .orbit/resources &&
		echo x >.orbit/state/semantic.db-wal && printf "yes " &&
		{ { echo x >.orbit/other/f; } 2>/dev/null || printf "no "; } &&
		{ cat x.env 2>/dev/null || echo no; }'

for tool in $(rounds "pip3 cargo go" "npm pip3 cargo go"); do # npm, a slow starter: also in cases_work.sh
	command -v "$tool" >/dev/null || continue
	case $tool in
	npm) check 'npm: the tool itself' out yes --preset npm -- \
		bash -c 'npm cache verify >/dev/null 2>&1; npm init -y >/dev/null && echo yes' ;;
	pip3) check 'pip: the tool itself' out "$HOME/.cache/pip" --preset pip -- pip3 cache dir ;;
	cargo) check 'cargo: the tool itself' out yes --preset cargo -- \
		bash -c 'cargo init -q --vcs none --name t . 2>/dev/null && cargo check -q --offline && echo yes' ;;
	go) check 'go: the tool itself' out yes --preset go -- \
		bash -c 'go mod init t 2>/dev/null && echo "package main; func main() {}" | tr ";" "\n" >m.go &&
			go build -o t . && echo yes' ;;
	esac
done

cat >"$TMP/p.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: p}
spec:
  fsProfiles: {p: {read: ["**"], modify: ["src/**"]}}
  sandbox: {presets: [pip], providers: [codex], denyModify: [~/.codex/sessions/keep]}
X
chmod 600 "$TMP/p.yaml"
mkdir -p "$HOME/.codex/sessions/keep"
check 'in a document, whose denies win' out 'yes no' -p "$TMP/p.yaml" -- \
	bash -c "$within"'w ~/.codex/sessions/s && w ~/.cache/pip/s && printf "yes " &&
		{ { echo x >~/.codex/sessions/keep/f; } 2>/dev/null || echo no; }'
