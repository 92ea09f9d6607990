#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# sbx-launch --setup for npm, make, git, cargo and GitHub Actions: what each then does runs confined and is
# recorded, and an undo gives back the same bytes.
. "$(dirname "$0")/../support/e2e.sh"

PATH=$(dirname "$SBX"):$PATH
key=$HOME/.ssh/id_test
mkdir -p "$HOME/.ssh"
echo secret >"$key"
# What a script of somebody else would do: its own work, a theft, and something for later.
act="echo work >made; cat '$key' >&2 || :; echo evil >>'$HOME/.bashrc' || :"

# The home, but for the record of runs and what the tools keep themselves.
homes_files()
{
	(cd "$HOME" && find . -path ./.local/state/sbx-launch/runs -prune -o -path './.cache' -prune -o -path './.npm' -prune \
		-o -path './.local' -prune -o ! -type d -print | sort | xargs -d '\n' sha256sum
		find .local/state/sbx-launch/setup ! -type d 2>/dev/null)
}
confined() # FILE-OF-OUTPUT: the work is done, the rest refused, and a process of it was recorded
{
	[ "$(cat made)" = work ] && ! grep -qx secret "$1" && [ ! -e "$HOME/.bashrc" ] &&
		grep -q 'denied read .*id_test' "$1" && grep -q 'denied modify .*bashrc' "$1" &&
		cat "$HOME"/.local/state/sbx-launch/runs/*/audit.jsonl | grep -q '"op":"modify".*bashrc' && return
	cat "$1"
	return 1
}
set_up() # TOOL ARGS...: shows first, then does it, and a second time nothing
{
	tool=$1
	shift
	launch "$@" --setup "$tool" --dry-run
	check "$tool: --dry-run shows" grep -q '^+.*sbx-launch' "$TMP/out"
	check "$tool: and changes nothing" [ "$(homes_files; cat .npmrc Makefile .github/workflows/* .cargo/config.toml .git/config 2>/dev/null)" = "$before" ]
	launch "$@" --setup "$tool"
	check "$tool: is set up" [ "$status" -eq 0 ]
	launch "$@" --setup "$tool"
	check "$tool: once more changes nothing" grep -q 'nothing to do' "$TMP/out"
}
undone() # ARGS...
{
	launch --setup "$tool" --undo "$@"
	check "$tool: --undo gives the same bytes back" [ "$(homes_files; cat .npmrc Makefile .github/workflows/* .cargo/config.toml .git/config 2>/dev/null)" = "$before" ]
	launch --setup "$tool" --undo "$@"
	check "$tool: once more has nothing to undo" grep -q 'nothing to undo' "$TMP/out"
}
state()
{
	before=$(homes_files; cat .npmrc Makefile .github/workflows/* .cargo/config.toml .git/config 2>/dev/null)
}
again()
{
	fresh
	rm -f "$HOME/.bashrc"
}

# ---- npm ----
again
printf '//registry.example.org/:_authToken=hush\nupdate-notifier=false' >"$HOME/.npmrc"
state
set_up npm
check 'npm: what stands around is not shown' sh -c '! grep -q hush "$1"' - "$TMP/out"
if command -v npm >/dev/null; then
	echo '{"name":"a","version":"1.0.0","scripts":{"hi":"'"$act"'"}}' >package.json
	npm run -s hi >"$TMP/npm" 2>&1
	check 'npm: a script is confined' confined "$TMP/npm"
	again
	launch --deny-read '**/*.env' --setup npm
	echo '{"name":"a","version":"1.0.0","scripts":{"hi":"cat x.env; '"$act"'"}}' >package.json
	echo hush >x.env
	npm run -s hi >"$TMP/npm" 2>&1
	check 'npm: with options' confined "$TMP/npm"
	check 'npm: which hold' grep -q 'denied read .*x.env' "$TMP/npm"
	mv "$HOME/.config/sbx-launch/npm/npm-shell" "$TMP"
	rm made
	npm run -s hi >"$TMP/npm" 2>&1
	check 'npm: without the shell nothing runs' [ $? -ne 0 -a ! -e made ]
	mv "$TMP/npm-shell" "$HOME/.config/sbx-launch/npm"
else
	skip npm 'not installed'
fi
rm -f package.json x.env made
undone
launch --setup npm
echo 'fund=false' >>"$HOME/.npmrc"
launch --setup npm --undo
check 'npm: what came later stays' [ "$(tail -n 2 "$HOME/.npmrc" | xargs)" = 'update-notifier=false fund=false' ]
echo 'script-shell = /bin/bash' >>"$HOME/.npmrc"
cp "$HOME/.npmrc" "$TMP/npmrc"
launch --setup npm
check 'npm: a shell of the user is not replaced' [ "$status $(grep -c 'already sets script-shell' "$TMP/err") $(cmp "$HOME/.npmrc" "$TMP/npmrc" && echo same)" = '125 1 same' ]
rm "$HOME/.npmrc"

# ---- make ----
again
printf 'all: made\nmade:\n\t@%s\n' "$act" >Makefile
state
set_up make
make -s >"$TMP/make" 2>&1
check 'make: a recipe is confined' confined "$TMP/make"
rm -f made
undone
printf 'SHELL := /bin/bash # for pipefail\n.SHELLFLAGS = -eu -o pipefail -c\nall:\n\t@[[ -n x ]] && set -o | grep -c "pipefail.*on"; %s\n' "$act" >Makefile
state
set_up make --deny-read '**/*.env'
make -s >"$TMP/make" 2>&1
check 'make: with the shell that it asks for' grep -qx 1 "$TMP/make"
check 'make: which is confined' confined "$TMP/make"
check 'make: with the options' grep -q -e '--deny-read=\*\*/\*.env -- /bin/bash -eu -o pipefail -c$' Makefile
rm -f made
undone
echo 'SHELL := $(shell which bash)' >Makefile
launch --setup make
check 'make: a computed shell is refused, with what to do' [ "$status $(grep -c 'run make itself inside: sbx-launch make' "$TMP/err")" = '125 1' ]
rm Makefile
launch --setup make
check 'make: without a makefile' [ "$status $(ls)" = '125 ' ]

# ---- git ----
again
printf '[user]\n\tname = n\n\temail = e@example.org\n' >"$HOME/.gitconfig"
git init -q . && printf '#!/bin/sh\n%s\n' "$act" >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit
state
set_up git
git commit -q --allow-empty -m x >"$TMP/git" 2>&1
check 'git: a hook is confined' confined "$TMP/git"
printf '#!/bin/sh\ncat >pushed; exit 3\n' >.git/hooks/pre-push && chmod +x .git/hooks/pre-push
git init -q --bare "$TMP/to.git" && git push -q "$TMP/to.git" HEAD:main >"$TMP/git" 2>&1
check 'git: a hook that refuses does, and reads what git says' [ $? -ne 0 -a "$(cut -c 1-5 pushed)" = 'HEAD ' -a -z "$(git -C "$TMP/to.git" branch)" ]
git worktree add -q "$WS/tree" 2>"$TMP/git"
rm -f made
(cd tree && git commit -q --allow-empty -m y) >"$TMP/git" 2>&1
check 'git: in a worktree, too' [ "$(cat tree/made)" = work ]
git worktree remove --force tree
git branch -q -D tree
rm -f made pushed
git config core.quotepath off
state_=$(cat .git/config)
launch --setup git --undo
check 'git: --undo removes its hooks' [ ! -e "$HOME/.config/sbx-launch" -a "$(cat .git/config)" = "$state_" ]
check 'git: and leaves the configuration as it was' [ "$(cat "$HOME/.gitconfig")" = "$(printf '[user]\n\tname = n\n\temail = e@example.org\n')" ]
rm -f .git/hooks/pre-push
state
set_up git --project
git commit -q --allow-empty -m z >"$TMP/git" 2>&1
check 'git: of one repository' confined "$TMP/git"
rm -f made
undone --project
git config core.hooksPath .husky
launch --setup git --project
check 'git: hooks that have a place already' [ "$status $(grep -c 'already sets hookspath' "$TMP/err")" = '125 1' ]

# ---- cargo ----
again
state
set_up cargo
if command -v cargo >/dev/null; then
	mkdir src
	printf '[package]\nname = "c"\nversion = "0.1.0"\nedition = "2021"\n' >Cargo.toml
	cat >src/main.rs <<R
fn main() { std::process::Command::new("sh").arg("-c").arg("$act").status().unwrap(); }
R
	cargo run -q --offline >"$TMP/cargo" 2>&1
	check 'cargo: what it runs is confined' confined "$TMP/cargo"
	rm -rf src target Cargo.* made "$HOME/.cargo/.package-cache" # its own lock
else
	skip 'cargo' 'not installed'
fi
undone

# ---- GitHub Actions ----
again
mkdir -p .github/workflows
printf 'on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n      - run: echo\n        shell: sh\n' >.github/workflows/a.yml
printf 'on: push\njobs: {}\n' >.github/workflows/b.yaml
state
set_up github --deny-read '**/*.env'
check 'github: all workflows' [ "$(grep -l 'shell: sbx-launch --preset=github --deny-read=\*\*/\*.env -- bash' .github/workflows/* | wc -l)" -eq 2 ]
check 'github: it is YAML' python3 -c 'import sys, yaml
for f in sys.argv[1:]: assert "{0}" in yaml.safe_load(open(f))["defaults"]["run"]["shell"]' .github/workflows/a.yml .github/workflows/b.yaml
# As the runner does it: the line with the name of a script in the place of {0}, and files for its answers.
mkdir -p "$TMP/runner" && : >"$TMP/runner/output" && : >"$TMP/runner/env"
printf '%s\necho "x=1" >>"$GITHUB_OUTPUT"\necho "LD_PRELOAD=evil" >>"$GITHUB_ENV" || true\nfalse | true\necho not here\n' "$act" >"$TMP/runner/step.sh"
words=$(sed -n 's/^ *shell: \(sbx.*\)/\1/p' .github/workflows/b.yaml)
set -f
GITHUB_OUTPUT=$TMP/runner/output GITHUB_ENV=$TMP/runner/env ${words/\{0\}/$TMP/runner/step.sh} >"$TMP/step" 2>&1
status=$?
set +f
check 'github: a step is confined' confined "$TMP/step"
check 'github: and ends where it fails' [ "$status $(grep -c 'not here' "$TMP/step")" = '1 0' ]
check 'github: its output is the next step'"'"'s' [ "$(cat "$TMP/runner/output")" = x=1 ]
check 'github: not its variables' [ ! -s "$TMP/runner/env" ]
rm -f made
undone
printf 'defaults:\n  run:\n    shell: sh\n' >.github/workflows/c.yml
launch --setup github
check 'github: defaults of its own, and no file is changed' [ "$status $(grep -c 'c.yml: it already has' "$TMP/err") $(cat .github/workflows/*.y* | grep -c sbx)" = '125 1 0' ]

# ---- what holds for all ----
again
check 'nothing is left of it beside the runs' [ ! -e "$HOME/.local/state/sbx-launch/setup" -a ! -e "$HOME/.config/sbx-launch" ]
printf 'all:\n' >Makefile
echo x >p.yaml
launch -p p.yaml --setup make
check 'a policy is named by its whole path' grep -q -e "--policy=$WS/.*p.yaml" Makefile
launch --setup npm --hook claude
check 'a tool has no hook' [ "$status" -ne 0 ]
launch --hook npm
check 'and none is answered' [ "$status" -eq 2 ]
exit 0
