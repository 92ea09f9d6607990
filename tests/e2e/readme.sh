#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# README.md: its session, played as a reader would type it, and each command of its other blocks, run as printed.
. "$(dirname "$0")/../support/e2e.sh"
here=$(dirname "$0")
export PATH="${SBX%/*}:$PATH"
unset GIT_DIR

# ---- the session, in a project with a key in the home ----
mkdir -p "$HOME/.ssh" "$HOME/project"
chmod 700 "$HOME/.ssh"
echo key >"$HOME/.ssh/id_ed25519"
git init -q "$HOME/project"
git -C "$HOME/project" config user.name Me
git -C "$HOME/project" config user.email me@example.org
printf 'int main(void) { return 0; }\n' >"$HOME/project/hello.c"
printf 'hello: hello.c\n\t@$(CC) -o $@ hello.c\n' >"$HOME/project/Makefile"
git -C "$HOME/project" add .
{
	# shellcheck disable=SC2016
	printf '```console\n$ cd ~/project\n```\n'
	# cat and the launcher write to one terminal: their lines come in any order, or cut in pieces.
	sed -e 's/^cat: .*/…/' -e 's/^sbx-launch: denied.*/…&\n…/' "$here/README.md"
} >"$TMP/README.md"
python3 "$here/console.py" "$TMP/README.md" | sed "s/^\(not \)\{0,1\}ok - /&$E2E_INNER: /"

# ---- the policies: what each line starts is there, and needs no network ----
for program in report client; do
	printf '#!/bin/sh\necho %s ran\n' $program >$program
	chmod +x $program
done
mkdir "$TMP/bin" "$HOME/mail"
printf '#!/bin/sh\necho claude ran\n' >"$TMP/bin/claude"
chmod 755 "$TMP/bin" "$TMP/bin/claude"
export PATH="$TMP/bin:$PATH"
echo '{"name": "p", "version": "1.0.0", "scripts": {"dev": "echo dev ran"}}' >package.json
echo '{"name": "p", "version": "1.0.0", "lockfileVersion": 3, "packages": {"": {"name": "p", "version": "1.0.0"}}}' >package-lock.json
cat >agent.yaml <<'Y'
schemaVersion: 2
kind: Policy
metadata: {name: agent}
spec: {fsProfiles: {reviewer: {read: ["**"], modify: []}}}
Y
chmod 600 agent.yaml
awk '/^```sh$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$here/README.md" >"$TMP/lines"
check 'README has lines on policies' [ "$(wc -l <"$TMP/lines")" -ge 7 ]
while IFS= read -r line; do
	shown=$(sed 's/ *#.*//' <<<"$line")
	case $shown in
	*--network* | *--connect* | *--publish* | *--preset*)
		# Not every host can: the options are right, and what a host lacks is another test's.
		if ! "$SBX" --connect example.org:443 -- true 2>/dev/null; then
			skip "$shown" 'no rules on endpoints here'
			continue
		fi
		;;
	esac
	case $shown in *npm*) command -v npm >/dev/null || { skip "$shown" 'no npm'; continue; } ;; esac
	timeout -k 1 120 bash -c "$shown" >"$TMP/out" 2>"$TMP/err" </dev/null
	status=$?
	check "$shown" [ $status -eq 0 ]
	[ $status -eq 0 ] || sed 's/^/# /' "$TMP/out" "$TMP/err"
done <"$TMP/lines"

# ---- options that the text names ----
sed '/^```/,/^```/d' "$here/README.md" | grep -oE '`[^`]*`' | grep -oE -e '--[a-z][a-z-]+' | sort -u >"$TMP/options"
"$SBX" --help >"$TMP/help"
cat "$here"/sbx-launch.1 "$here"/sbx-shell.1 >>"$TMP/help"
while IFS= read -r option; do
	case $option in --script-shell) continue ;; esac # npm's
	check "the text names $option" grep -qE -e "(^|[ ,])${option}|Fl -${option#--}" "$TMP/help"
done <"$TMP/options"
exit 0
