#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names in a workspace that programs outside obey without being asked are closed, whatever is there at the
# start; those that builds write are open. (The acts by which a name is made: obeyed.sh.)
. "$(dirname "$0")/../support/e2e.sh"

closed='.dir-locals.el .dir-locals-2.el a.code-workspace .code-workspace a.sublime-project .vscode/settings.json .vscode/tasks.json
.vscode/launch.json .vscode/extensions.json .vscode/c_cpp_properties.json .vscode/cmake-kits.json .vscode/mcp.json
.devcontainer/devcontainer.json .devcontainer.json .vim/coc-settings.json .nvim.lua .nvimrc .exrc .vimrc .lvimrc .lazy.lua
.idea/workspace.xml .run/a.run.xml .fleet/run.json .zed/tasks.json .helix/languages.toml .externalToolBuilders/a.launch .vs/tasks.vs.json
.envrc .mise.toml mise.toml .mise/config.toml .config/mise/config.toml .tool-versions .pre-commit-config.yaml lefthook.yml .lefthook.yml
.lefthook-local.yml .overcommit.yml .hg/hgrc .jj/repo/config.toml _darcs/prefs/defaults .Rprofile .irbrc .pryrc .ghci .pdbrc
.envrc.local .iex.exs .ocamlinit .psysh.php jupyter_server_config.py jupyter_config.py
.mcp.json .claude/settings.json .cursor/mcp.json .cursor/worktrees.json .gemini/settings.json .codex/config.toml .opencode/plugins/p.js
.aider.conf.yml .windsurf/hooks.json .continue/config.yaml .clinerules/hooks/x .roo/mcp.json .qwen/settings.json .kiro/settings/mcp.json
.grok/settings.json .github/hooks/h.json crush.json .junie/mcp/mcp.json
.claude/launch.json .kilocode/mcp.json .amazonq/mcp.json .openhands/setup.sh .pi/extensions/e.ts .vibe/config.toml .codebuddy/settings.json
.qoder/settings.json .iflow/settings.json .rovodev/mcp.json .tabnine/mcp_servers.json .sl/config .git/sl/config .pijul/config .pijul/hooks/record
.kilo/kilo.json kilo.jsonc .goose/skills/s .agent/rules/r .theia/tasks.json .github/agents/a.agent.md .autoenv.zsh
.config/lefthook.yml lefthook.jsonc .lefthook.jsonc .config/lefthook-local.json lefthook-local.toml .lefthook/pre-commit/a.sh
.lefthook-local/pre-push/a.sh .github/lsp.json .github/mcp.json .github/copilot/settings.json mise/config.toml mise.dev.toml
mise.dev.local.toml .mise.dev.toml mise/config.dev.toml mise/conf.d/a.toml .config/mise.dev.toml .claude/statusline.sh
.claude/agent-memory/a/MEMORY.md .claude/agent-memory-local/a/MEMORY.md .opencode.json .crushrc crushrc'
# closed where they are at the start: to make the repository itself writes them
made='.jj/repo/store/git_target .jj/repo/store/git/config .jj/repo/store/git/hooks/pre-push .bzr/branch/branch.conf'
open='package.json package-lock.json Makefile Justfile CMakeLists.txt .npmrc .yarnrc .yarnrc.yml .pnp.cjs node_modules/.bin/x .env .ruby-version
.python-version .nvmrc .husky/pre-commit .venv/bin/activate .cargo/config.toml .gdbinit .gitignore .gitattributes .editorconfig
.github/workflows/ci.yml src/mise.dev.toml mise.d/x .config/lefthook.d/x .github/dependabot.yml src/.envrc src/a.code-workspace a.code-workspace.d/x .vscode/README AGENTS.md'
# Each name is written, moved to, and brought by its directory.
cat >"$TMP/make.py" <<'PY'
import contextlib, os, shutil, sys
def write(name):
    with open(name, "w") as f: f.write("evil\n")
names = sys.argv[1].split()
for name in names:
    top = os.path.dirname(name) or "."
    for act in (lambda: os.makedirs(top, exist_ok=True), lambda: write(name), lambda: write("t"), lambda: os.rename("t", name),
                lambda: os.unlink("t")):
        with contextlib.suppress(OSError): act()
for name in names:
    os.mkdir("d")
    with contextlib.suppress(OSError): write("d/" + os.path.basename(name))
    first = name.split("/")[0]
    if first != name and not os.path.lexists(first):
        with contextlib.suppress(OSError): os.rename("d", first)
    shutil.rmtree("d", ignore_errors=True)
print("tried")
PY
spoilt() # NAMES: those that are as the attack would have them
{
	# shellcheck disable=SC2086
	grep -ls evil -- $1
	true
}
launch -q -- python3 "$TMP/make.py" "$closed"
check 'what outsiders obey is closed' [ -z "$(spoilt "$closed")" -a "$(cat "$TMP/out")" = tried ]
spoilt "$closed" | sed 's/^/# open: /'
fresh
for f in $closed $made; do mkdir -p "$(dirname "$f")" && echo good >"$f"; done
launch -q -- sh -c 'python3 "$1" "$2"; rm -rf .jj/repo .bzr/branch; mv .jj j; mv .bzr b' - "$TMP/make.py" "$closed $made"
check 'also where it is there' [ -z "$(spoilt "$closed $made")" ]
check 'and stays' [ "$(cat $closed $made | sort -u)" = good ]
fresh
launch -q -- python3 "$TMP/make.py" "$open $made"
check 'what builds write is open' [ "$(spoilt "$open $made" | wc -l)" -eq "$(echo $open $made | wc -w)" ]
for f in $open $made; do grep -qs evil "$f" || echo "# closed: $f"; done
launch --modify .pre-commit-config.yaml -- sh -c 'echo mine >.pre-commit-config.yaml'
check 'the user opens one by name, and is told who obeys' sh -c '[ "$(cat .pre-commit-config.yaml)" = mine ] && grep -q "obeyed outside by the managers of git hooks" "$1"' - "$TMP/err"

# An agent that is started below the top of the repository obeys what lies where it is, and between.
fresh
git init -q . && mkdir -p app/web && cd app/web || exit 2
# what lies in a repository that is not there cannot be tried
here=$(echo "$closed" | tr -s ' \n' '\n\n' | grep -v '^\.jj/[^r]\|^\.git/' | tr '\n' ' ')
launch -q -- python3 "$TMP/make.py" "$here"
check 'also in the directory where the run begins' [ -z "$(spoilt "$here")" -a "$(cat "$TMP/out")" = tried ]
spoilt "$here" | sed 's/^/# open: /'
launch -- sh -c 'echo x >../.mcp.json; mkdir ../.claude && echo x >../.claude/settings.json; echo x >../../mcp.json'
check 'and between it and the top' [ ! -e ../.mcp.json -a ! -e ../.claude/settings.json -a -e ../../mcp.json ]
check 'with the name as the workspace has it' grep -q 'denied modify .*/app/.mcp.json (rule app/.mcp.json, preset:protected:' "$TMP/err"
launch -- git init -q .
check 'no repository comes to be there' [ ! -e .git ]
launch -- git init -q new
check 'but below it' [ "$status" -eq 0 -a -d new/.git/refs ]
rm -rf .git
check 'sbx-policy why says the same' sh -c '"$1" why modify "$PWD/.claude/settings.json" | grep -q "^denied .*rule app/web/.claude/settings.json"' - "$(dirname "$SBX")/sbx-policy"
launch --modify app/web/.vscode -- sh -c 'mkdir .vscode; echo x >.vscode/tasks.json'
check 'the user opens one by name' [ -e .vscode/tasks.json ]
launch --setup claude --project
cp .claude/settings.json "$TMP/hooked"
launch -q -- sh -c 'echo {} >.claude/settings.json; rm -f .claude/settings.json; mv .claude c'
check 'a command cannot take its own hook away' cmp -s .claude/settings.json "$TMP/hooked"

# What is obeyed in the home, and an environment of python's anywhere outside.
mkdir -p "$HOME/mine/bin" "$HOME/.vnc" "$HOME/bin" && : >"$HOME/mine/pyvenv.cfg" && : >"$HOME/mine/bin/activate"
for f in .vnc/xstartup .xbindkeysrc .cpan/CPAN/MyConfig.pm .mongorc.js .fetchmailrc .config/conky/conky.conf .config/pipewire/pipewire.conf \
	.pryrc .ghci .perldb .jdbrc .iex.exs .ocamlinit .psysh.php .envrc.local mine mine/bin/activate mine/lib/python3/site-packages; do
	launch -q --modify "$HOME/$f" -- true
	check "$f: a line" grep -q 'opens .*, run or obeyed outside by ' "$TMP/err"
done
: >"$HOME/bin/activate"
launch -q --modify "$HOME/plain" -- true
check 'a home with a program `activate` is none' [ ! -s "$TMP/err" ]
rm -rf "$HOME/mine" "$HOME/bin" "$HOME/.vnc"

# What another list of the document closes is not said to be open.
fresh
mkdir -p sub/.git/objects sub/.git/refs && echo 'ref: refs/heads/main' >sub/.git/HEAD
echo '{"filesystem":{"denyRead":[],"allowWrite":["."],"denyWrite":[]},"network":{"allowedDomains":[],"deniedDomains":[]}}' >"$TMP/srt.json"
launch -p "$TMP/srt.json" -- sh -c 'echo x >sub/.git/hooks/x; mkdir sub/.claude && echo x >sub/.claude/settings.json'
opens=$(grep -o 'opens `[^`]*`' "$TMP/err" | cut -d '`' -f 2)
check 'what a note says is open, is' sh -c 'case $1 in */hooks/*|*/.vscode/*|"") exit 1 ;; esac' - "$opens"
exit 0
