#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A variable of the environment that puts another place in the place of one below the home moves what the
# sets say of it: secrets are closed there, and so is what outsiders run or obey.
. "$(dirname "$0")/../support/e2e.sh"

POLICY=$(dirname "$SBX")/sbx-policy
out=$(dirname "$WS")/moved
mkdir -p "$out" || exit 1
# variable, its value, the secret
directories='XDG_CONFIG_HOME config gh/hosts.yml
XDG_CONFIG_HOME config containers/auth.json
XDG_DATA_HOME data keyrings/login.keyring
XDG_CACHE_HOME cache huggingface/token
XDG_RUNTIME_DIR runtime containers/auth.json
GNUPGHOME gnupg private-keys-v1.d/key
DOCKER_CONFIG docker config.json
CARGO_HOME cargo credentials.toml
CODEX_HOME codex auth.json
CLAUDE_CONFIG_DIR claude .credentials.json
CLAUDE_CONFIG_DIR claude .claude.json
CLOUDSDK_CONFIG gcloud credentials.db
PASSWORD_STORE_DIR pass mail.gpg
AZURE_CONFIG_DIR azure msal_token_cache.json
GH_CONFIG_DIR gh hosts.yml
GRADLE_USER_HOME gradle gradle.properties'
files='AWS_SHARED_CREDENTIALS_FILE AWS_CONFIG_FILE KUBECONFIG PGPASSFILE NPM_CONFIG_USERCONFIG NETRC TF_CLI_CONFIG_FILE
GOOGLE_APPLICATION_CREDENTIALS HISTFILE VAULT_CLIENT_KEY ANSIBLE_VAULT_PASSWORD_FILE'
set_all() # DIR
{
	local v d s
	while read -r v d s; do
		mkdir -p "$1/$d/$(dirname "$s")" && echo SECRET >"$1/$d/$s" && echo "$1/$d/$s"
		export "$v=$1/$d"
	done <<<"$directories"
	mkdir -p "$1/files"
	for v in $files; do
		echo SECRET >"$1/files/$v" && echo "$1/files/$v"
		export "$v=$1/files/$v"
	done
	echo SECRET >"$1/files/k2" && echo SECRET >"$1/files/krb" && echo "$1/files/k2" && echo "$1/files/krb"
	export KUBECONFIG="$KUBECONFIG::relative:$1/files/k2" KRB5CCNAME="FILE:$1/files/krb"
	chmod 700 "$1/runtime"
}
unset_all()
{
	local v d s
	while read -r v d s; do unset "$v"; done <<<"$directories"
	# shellcheck disable=SC2086
	unset $files KRB5CCNAME
}
for place in "$out" "$WS/in"; do
	set_all "$place" >"$TMP/list"
	cp "$TMP/list" list
	echo open >"$place/files/other"; echo open >"$place/docker/other"
	launch -q -- sh -c 'while read -r f; do cat "$f" && echo "$f"; echo x >"$f"; done <list 2>/dev/null; cat "$1/files/other" "$1/docker/other"' - "$place"
	check "nothing that a variable moves is read ($place)" [ "$(cat "$TMP/out")" = "open
open" ]
	sed 's/^/# /' "$TMP/out"
	check 'nor written' [ "$(xargs -d '\n' sort -u <"$TMP/list" | sort -u)" = SECRET ]
	"$POLICY" show >"$TMP/show" 2>&1
	for v in $files; do
		grep -qF "\${$v}" "$TMP/show" || echo "# not shown: $v"
	done >"$TMP/missing"
	check 'show has each with its variable' [ ! -s "$TMP/missing" ]
	cat "$TMP/missing"
	check 'why names it' sh -c '"$1" why read "$2/files/k2" | grep -qF "rule \${KUBECONFIG} (preset:secrets:"' - "$POLICY" "$place"
	launch --read "$place/files/k2" -- cat "$place/files/k2"
	check 'the user opens one by name' [ "$(cat "$TMP/out")" = SECRET ]
	unset_all
	launch -q -- cat "$place/files/k2"
	check 'without the variables nothing of it is closed' [ "$(cat "$TMP/out")" = SECRET ]
	rm -rf "$place"
done
HISTFILE=$HOME/.zhist launch sh -c 'cat ~/.zhist; echo x >>~/.zhist'
check 'a history is closed quietly wherever it is' sh -c '[ ! -e "$1" ] && ! grep -q "denied .*zhist" "$2"' - "$HOME/.zhist" "$TMP/err"
KUBECONFIG=/dev/null HISTFILE=/dev/null NETRC='' AWS_CONFIG_FILE=relative launch sh -c 'echo x >/dev/null && cat /dev/null'
check 'a value that is nowhere closes nothing' [ "$status" -eq 0 -a ! -s "$TMP/err" ]
mkdir -p "$HOME/.config/gh" && echo SECRET >"$HOME/.config/gh/hosts.yml"
XDG_CONFIG_HOME=$HOME/.config "$POLICY" show 2>&1 | cat >"$TMP/with"
"$POLICY" show 2>&1 | cat >"$TMP/without"
check 'the usual place is not said twice' cmp -s "$TMP/with" "$TMP/without"
diff "$TMP/with" "$TMP/without" | sed 's/^/# /'
PASSWORD_STORE_DIR=$HOME launch -- sh -c 'echo x >y && cat y'
check 'a home is not closed by one' sh -c 'grep -qx x "$1" && grep -q "not closed there" "$2"' - "$TMP/out" "$TMP/err"
krb=/tmp/krb5cc_$(id -u)
if [ ! -e "$krb" ]; then
	echo SECRET >"$krb"
	launch -q -- cat "$krb"
	check 'the usual cache of Kerberos is closed where it is' sh -c '! grep -q SECRET "$1"' - "$TMP/out"
	rm -f "$krb"
fi

# What outsiders run, below what presets open.
obeyed() # PRESETS VARIABLE DIR NAME
{
	rm -rf "${out:?}"; mkdir -p "$out"
	env "$2=$out" "$SBX" -q $1 -- sh -c 'mkdir -p "$(dirname "$1/$2")"; echo evil >"$1/$2"; mkdir -p "$1/$3" && echo good >"$1/$3/x"' - "$out" "$4" "$3" >"$TMP/out" 2>"$TMP/err"
	[ ! -e "$out/$4" ] && grep -qx good "$out/$3/x"
}
check 'poetry: a moved environment stays closed' obeyed '--preset poetry' XDG_CACHE_HOME pypoetry/cache pypoetry/virtualenvs/v/bin/python
check 'uv: a moved tool, too' obeyed '--preset uv' XDG_CACHE_HOME uv/simple-v1 uv/environments-v2/x/bin/ruff
check 'uv: by its own variable' obeyed '--preset uv' UV_CACHE_DIR simple-v1 environments-v2/x/bin/ruff
# An agent with its directory elsewhere reads what it needs there.
mkdir -p "$out/c" && echo '{"a":1}' >"$out/c/.claude.json" && echo TOKEN >"$out/c/.credentials.json"
CLAUDE_CONFIG_DIR=$out/c launch --preset claude -- sh -c 'cat "$CLAUDE_CONFIG_DIR/.claude.json" "$CLAUDE_CONFIG_DIR/.credentials.json"'
check 'claude: its preset opens them' [ "$(tr -d '\n' <"$TMP/out")" = '{"a":1}TOKEN' ]
exit 0
