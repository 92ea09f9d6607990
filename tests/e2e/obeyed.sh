#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names that agents, shells and git obey later: under every agent's preset and the default policy
# none is changed, made, removed, moved, linked over or led elsewhere, by a static program and by one
# with the shim, in the home and in the workspace.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
[ -n "${E2E_INNER:-}" ] || exit 1 # it cleans a home: only the harness has one for that

cat >"$TMP/attack.c" <<'X'
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

static char path[4096], part[4096], up[4096], lure[] = "lure";
static const char *home, *ws;
static char lead[4096]; /* a directory where all of it could be made */

/* Bare, the homes of the test stay where they are. */
static int may_move(void) { return !home || (strcmp(up, home) && strcmp(up, ws)); }

static int wrote(void)
{
	int fd = open(path, O_WRONLY | O_TRUNC);
	return fd < 0 ? -1 : write(fd, "evil", 4) < 0 ? -1 : close(fd);
}
static int appended(void)
{
	int fd = open(path, O_RDWR | O_APPEND | O_CREAT, 0777);
	return fd < 0 ? -1 : write(fd, "evil", 4) < 0 ? -1 : close(fd);
}
static int made(void) { int fd = open(path, O_CREAT | O_EXCL | O_WRONLY, 0777); return fd < 0 ? -1 : close(fd); }
static int emptied(void) { return truncate(path, 0); }
static int moved_over(void) { return rename(lure, path); }
static int moved_away(void) { return rename(path, "stolen"); }
static int linked_over(void) { return link(lure, path); }
static int led(void) { return symlink(lead, path); }
static int removed(void) { return unlink(path); }
static int timed(void) { return utime(path, NULL); }
static int marked(void) { return chmod(path, 0777); }
static int dir_made(void) { return mkdir(path, 0777); }
static int node_made(void) { return mknod(path, S_IFIFO | 0777, 0); }
static int exchanged(void) { return renameat2(AT_FDCWD, lure, AT_FDCWD, path, 2); }
static int by_temporary(void)
{
	int fd = open(part, O_CREAT | O_WRONLY | O_TRUNC, 0777);
	if (fd >= 0) { (void)!write(fd, "evil", 4); close(fd); }
	return rename(part, path);
}
/* A directory without the name in it may go; another may not come, nor a link. */
static int parent_moved(void) { return may_move() && access(path, F_OK) == 0 ? rename(up, "stolen.dir") : -1; }
static int parent_led(void)
{
	int rc, moved;
	if (!may_move()) return -1;
	moved = rename(up, "stolen.dir") == 0;
	rc = symlink(lead, up);
	if (moved && rc < 0) rename("stolen.dir", up);
	return rc;
}
static int parent_brought(void)
{
	char file[64];
	int rc, moved, fd;
	if (!may_move()) return -1;
	mkdir("brought", 0777);
	snprintf(file, sizeof file, "brought/%.40s", strrchr(path, '/') + 1);
	fd = open(file, O_CREAT | O_WRONLY, 0777);
	(void)!write(fd, "evil", 4);
	close(fd);
	moved = rename(up, "stolen.dir") == 0;
	rc = rename("brought", up);
	if (moved && rc < 0) rename("stolen.dir", up);
	unlink(file);
	return rc;
}
static int by_descriptor(void)
{
	int dir = open(up, O_RDONLY | O_DIRECTORY);
	int fd = openat(dir, strrchr(path, '/') + 1, O_WRONLY | O_CREAT, 0777);
	return fd < 0 ? -1 : write(fd, "evil", 4) < 0 ? -1 : close(fd);
}
static const struct { const char *name; int (*go)(void); } acts[] = {
	{"wrote", wrote}, {"appended", appended}, {"made", made}, {"emptied", emptied},
	{"moved over", moved_over}, {"exchanged", exchanged}, {"linked over", linked_over},
	{"led", led}, {"by a temporary file", by_temporary}, {"by descriptor", by_descriptor},
	{"dir made", dir_made}, {"node made", node_made}, {"timed", timed}, {"marked", marked},
	{"moved away", moved_away}, {"removed", removed}, {"parent moved", parent_moved},
	{"parent led", parent_led}, {"parent brought", parent_brought},
};

int main(int argc, char **argv)
{
	FILE *list = fopen(argv[1], "r");
	unsigned tries = 0;
	if (!getcwd(lead, sizeof lead - 8))
		return 1;
	strcat(lead, "/evil.d");
	mkdir(lead, 0777);
	if (argc > 3) {
		home = argv[2];
		ws = argv[3];
	}
	while (fgets(path, sizeof path, list)) {
		path[strcspn(path, "\n")] = 0;
		snprintf(part, sizeof part, "%s.tmp.1.2", path);
		snprintf(up, sizeof up, "%s", path);
		*strrchr(up, '/') = 0;
		for (unsigned i = 0; i < sizeof acts / sizeof *acts; i++, tries++) {
			int fd = open(lure, O_CREAT | O_WRONLY, 0777);
			close(fd);
			if (acts[i].go() == 0)
				printf("%s: %s\n", acts[i].name, path);
		}
	}
	printf("tries %u\n", tries);
	return 0;
}
X
gcc -D_GNU_SOURCE -w -static -o "$TMP/attack-static" "$TMP/attack.c" && gcc -D_GNU_SOURCE -w -o "$TMP/attack-shim" "$TMP/attack.c" || exit 1

in_home='.claude.json .claude/settings.json .claude/settings.local.json .claude/hooks/pre.sh .claude/commands/go.md
.claude/agents/a.md .claude/skills/s/SKILL.md .claude/plugins/installed_plugins.json .claude/CLAUDE.md
.claude/shell-snapshots/s.sh .claude/projects/p/memory/MEMORY.md .claude/output-styles/o.md .claude/rules/r.md
.codex/config.toml .codex/AGENTS.md .codex/hooks.json .codex/prompts/p.md .codex/skills/s/SKILL.md
.codex/packages/standalone/current .codex/rules/default.rules .codex/memories/m.md .codex/state_5.sqlite
.gemini/settings.json .gemini/GEMINI.md .gemini/commands/c.toml .gemini/extensions/e/gemini-extension.json
.gemini/trustedFolders.json .gemini/policies/p.toml .gemini/history/p/.git/config .gemini/tmp/bin/rg
.grok/user-settings.json .grok/hooks/h.sh .config/opencode/opencode.json .cursor/mcp.json .agents/skills/s/SKILL.md
.bashrc .profile .zshrc .config/fish/config.fish .local/bin/ls bin/ls .cargo/bin/cargo .cargo/config.toml
.gitconfig .config/git/config .config/systemd/user/a.service .config/autostart/a.desktop
.local/share/applications/a.desktop .config/nvim/init.lua .vimrc .emacs.d/init.el .tmux.conf
.p10k.zsh .fzf.bash .zprezto/init.zsh .config/nix/nix.conf .linuxbrew/bin/ls .gdbearlyinit .xmonad/xmonad.hs
.config/awesome/rc.lua .config/xmonad/xmonad.hs .config/lxsession/LXDE/autostart .kde/Autostart/a.sh .config/crush/crushrc .antigravity/x .trae/x
.local/lib/python3/site-packages/a.pth .local/share/direnv/allow/x .vscode/extensions/e/package.json .npm/_npx/x/a'
in_ws='.mcp.json .claude/settings.json .claude/settings.local.json .claude/hooks/h.sh .claude/commands/c.md
.claude/agents/a.md .claude/skills/s/SKILL.md .codex/config.toml .codex/hooks.json .codex/skills/s/SKILL.md
.agents/skills/s/SKILL.md .gemini/settings.json .gemini/commands/c.toml .gemini/extensions/e/x.json .gemini/.env
.cursor/mcp.json .cursor/hooks.json .cursor/rules/r.mdc .opencode/plugins/p.js opencode.json .vscode/tasks.json
.vscode/settings.json .devcontainer/devcontainer.json .idea/workspace.xml .envrc .git/hooks/pre-commit .git/config
.git/info/attributes .git/commondir .zed/tasks.json .nvim.lua .dir-locals.el .config/lefthook.yml .lefthook/pre-commit/a.sh mise.dev.toml mise/config.toml
.opencode.json .github/lsp.json .claude/statusline.sh .claude/agent-memory/a/m.md'

# Half of them are there, half are not.
lay()
{
	[ -d "$HOME" ] && [ ! -L "$HOME" ] && [ ! -L "$WS" ] || exit 1 # never clean what a link leads to
	rm -rf "${HOME:?}"/.[!.]* "$HOME"/* lure stolen* 2>/dev/null
	fresh
	git init -q . && mkdir -p .git/info
	(cd "$HOME" && mkdir -p .claude/projects .codex/sessions .gemini/tmp .grok/sessions .npm .cargo/registry)
	local n=0 all=() name
	for name in $in_home; do all+=("$HOME/$name"); done
	for name in $in_ws; do all+=("$WS/$name"); done
	mkdir -p "${all[@]%/*}"
	for name in "${all[@]}"; do
		n=$((n + 1))
		[ $((n % 2)) -eq 0 ] || [ -e "$name" ] || echo kept >"$name"
	done
	printf '%s\n' "${all[@]}" >"$TMP/list"
	(cd "$HOME" && find . -not -path './.local/state/*' -not -path './.cache/*' -printf '%p %y %s %m %l\n' | sort) >"$TMP/before"
	find . -name 'lure*' -prune -o -printf '%p %y %s %m %l\n' | sort >"$TMP/before.ws"
	cp "$TMP/list" names
}
whole() # nothing of the list is as the attack would have it
{
	xargs -d '\n' grep -ls evil <"$TMP/list" >"$TMP/changed"
	while read -r name; do
		if [ -L "$name" ] || { [ -e "$name" ] && [ ! -s "$name" ] && [ ! -d "$name" ]; }; then
			echo "changed: $name"
		fi
	done <"$TMP/list" >>"$TMP/changed"
	! [ -s "$TMP/changed" ] || { cat "$TMP/changed"; return 1; }
	(cd "$HOME" && find . -not -path './.local/state/*' -not -path './.cache/*' -printf '%p %y %s %m %l\n' | sort) >"$TMP/after"
	# directories that outlive runs may have come, the rest is as it was
	diff "$TMP/before" "$TMP/after" | grep '^[<>]' | grep -vE '^[<>] \./?(\.local|\.cache|\.(claude|codex|gemini|grok))?(/(state|todos|tasks|file-history|projects|sessions|archived_sessions|generated_images|log|logs|tmp))? d ' && return 1
	return 0
}
attack() # KIND OPTIONS...
{
	lay
	kind=$1
	shift
	cp "$TMP/attack-$kind" ./attack
	"$SBX" -q --strict "$@" -- ./attack names >"$TMP/out" 2>"$TMP/err" </dev/null
	grep -q "^tries $(($(wc -l <"$TMP/list") * 19))\$" "$TMP/out" || { cat "$TMP/out" "$TMP/err"; return 1; }
	grep -v '^tries' "$TMP/out" && return 1
	whole
}
check 'the list is long enough' [ "$(echo $in_home | wc -w)" -ge 50 -a "$(echo $in_ws | wc -w)" -ge 30 ]
all='--preset claude --preset codex --preset gemini --preset grok --preset npm --preset cargo'
for kind in $(first 1 static shim); do
	check "default: nothing of it is changed, $kind" attack $kind
done
for kind in $(first 1 shim static); do
	check "all presets together: nothing of it is changed, $kind" attack $kind $all
done
for each in $(first 1 claude:static codex:shim gemini:static grok:shim); do
	check "$each: nothing of it is changed" attack ${each#*:} --preset ${each%:*}
done
lay
cp "$TMP/attack-static" ./attack
(cd "$WS" && ./attack names "$HOME" "$WS" >"$TMP/out" 2>&1)
check 'the attack works where nobody looks' [ "$(grep -vc '^tries' "$TMP/out")" -gt 300 ]

# What the user opens stays open, and is said at the start, by lint and by show.
lay
launch --modify '~/.claude' -- sh -c 'echo new >~/.claude/settings.json'
check 'the user'\''s own word opens' grep -qx new "$HOME/.claude/settings.json"
check 'and a line names path, who obeys, and the rule' grep -qE \
	'^sbx-launch: note: --modify .~/.claude/\*\*. opens .~/.claude/[^ ]*., run or obeyed outside by claude \(preset:protected:[0-9]+:[0-9]+\), and [0-9]+ more' "$TMP/err"
cat >"$TMP/p.yaml" <<'X'
schemaVersion: 2
kind: Policy
metadata: {name: p}
spec:
  fsProfiles: {p: {read: ["**"], modify: ["src/**"]}}
  sandbox: {sideRoots: [~/.config]}
X
chmod 600 "$TMP/p.yaml"
POLICY=$(dirname "$SBX")/sbx-policy
"$POLICY" lint "$TMP/p.yaml" >"$TMP/out" 2>&1
check 'lint names a document'\''s' grep -q 'p.yaml:6:.*rule .~/.config/\*\*. opens .*\[obeyed-outside\]' "$TMP/out"
"$POLICY" show --policy "$TMP/p.yaml" >"$TMP/out" 2>"$TMP/err"
check 'so does show' sh -c 'grep -q "^opened, although programs outside run or obey it" "$1" && grep -q "~/.config/.*run or obeyed outside by" "$1"' - "$TMP/out"
# Places of the system, another project, documents of other systems; also where nobody wants denial lines.
sed 's,~/.config,/etc/cron.d\, /usr/local/bin,' "$TMP/p.yaml" >"$TMP/system.yaml"
chmod 600 "$TMP/system.yaml"
"$POLICY" lint "$TMP/system.yaml" >"$TMP/out" 2>&1
check 'lint names places of the system' [ "$(grep -cE 'opens ./(etc/cron.d|usr/local/bin)/\*\*., run or obeyed outside by (cron|shells).*\[obeyed-outside\]' "$TMP/out")" = 2 ]
for dir in /etc/cron.d /usr/local/bin /etc/profile.d /var/spool; do
	launch -q --modify "$dir" -- true
	check "$dir: a line, though quiet" grep -q '^sbx-launch: note: --modify .* opens ./.* run or obeyed outside by' "$TMP/err"
done
# What the environment names stays open, and is said; a place inside the workspace could always be written.
mkdir -p "$HOME/tools/bin" "$WS/build" "$HOME/.npm/_cacache/bin"
for v in $(first 2 PATH ZDOTDIR BASH_ENV GIT_CONFIG_GLOBAL PYTHONPATH LD_LIBRARY_PATH); do
	was=$PATH
	export "$v=$WS/build:$HOME/tools/bin:$HOME/.npm/_cacache/bin$([ "$v" = PATH ] && echo ":$PATH")"
	launch -q --modify '~/tools' -- sh -c 'echo 1 >~/tools/bin/x; echo 1 >build/x'
	check "$v: a grant that reaches it is said" grep -qF "opens \`$HOME/tools/bin\`, run or obeyed outside by" "$TMP/err"
	check "$v: of one place, with its name" sh -c 'grep -qF "(\$$2)" "$1" && [ "$(wc -l <"$1")" = 1 ]' - "$TMP/err" "$v"
	check "$v: and stays open" test -s "$HOME/tools/bin/x" -a -s "$WS/build/x"
	rm -f "$HOME/tools/bin/x" "$WS/build/x"
	launch -q --modify build -- true
	check "$v: what the run always could write is not" [ ! -s "$TMP/err" ]
	launch -q --preset npm -- true
	check "$v: a preset that reaches it is said" grep -q "preset:npm.* opens .*/.npm/_cacache/bin.*([$]$v)" "$TMP/err"
	sed 's,~/.config,~/tools,' "$TMP/p.yaml" >"$TMP/tools.yaml"
	chmod 600 "$TMP/tools.yaml"
	"$POLICY" lint "$TMP/tools.yaml" >"$TMP/out" 2>&1
	check "$v: lint names it" grep -qF "(\$$v)" "$TMP/out"
	"$POLICY" show --policy "$TMP/tools.yaml" >"$TMP/out" 2>&1
	check "$v: show names it" grep -qF "(\$$v)" "$TMP/out"
	unset "$v"
	PATH=$was
done
mkdir -p "$HOME/proj/.git" "$HOME/plain"
launch -q --modify '~/proj' -- true
check 'another project: a line, and who obeys' grep -q 'opens .*/proj/.*more of: .*direnv; .*claude; .*vscode' "$TMP/err"
launch -q --modify '~/proj/.envrc' -- true
check 'one name of it' grep -q 'opens .*/proj/.envrc., run or obeyed outside by direnv' "$TMP/err"
launch -q --modify '~/plain' -- true
check 'a directory that is none: no line' [ ! -s "$TMP/err" ]
rm -rf "$HOME/proj"
mkdir -p "$HOME/.claude"
echo '{"filesystem":{"denyRead":[],"allowWrite":[".","~"],"denyWrite":[]},"network":{"allowedDomains":[],"deniedDomains":[]}}' >"$TMP/srt.json"
printf 'version: 1\nfilesystem_policy:\n  include_workdir: true\n  read_only: [/usr, /lib, /etc, /proc, /bin, /lib64]\n  read_write: [%s, /dev/null]\n' "$HOME" >"$TMP/shell.yaml"
chmod 600 "$TMP/srt.json" "$TMP/shell.yaml"
for p in srt.json shell.yaml; do
	rm -f "$HOME/.claude/settings.json"
	launch -q -p "$TMP/$p" -- /bin/sh -c 'echo x >"$HOME/.claude/settings.json"; echo x >.claude/settings.json'
	check "$p: a wide entry opens what that program leaves open" [ -e "$HOME/.claude/settings.json" -a ! -e .claude/settings.json ]
	check "$p: a line says who obeys, though quiet" grep -q 'note: .* opens .~/.*more of: shells.*; .*' "$TMP/err"
	launch -q -p "$TMP/$p" -- /bin/sh -c 'mkdir -p .git/hooks; echo x >.git/hooks/pre-commit; cat "$HOME/.ssh/id_x"'
	check "$p: the sets stay closed" [ ! -e .git/hooks/pre-commit ]
done
# Files beside repositories hide none of them; more directories than are looked at are an error.
many=$E2E_ROOT/many
mkdir -p "$many/proj/.git/hooks" "$many/.hidden/.git/hooks" && echo '[core]' >"$many/proj/.git/config" && cp "$many/proj/.git/config" "$many/.hidden/.git" &&
	for r in proj .hidden; do echo 'ref: refs/heads/x' >"$many/$r/.git/HEAD"; mkdir "$many/$r/.git/objects" "$many/$r/.git/refs"; done
(cd "$many" && seq 1 12000 | sed s/^/f/ | xargs touch)
launch -q --modify "$many" -- sh -c 'cd "$0" && for r in proj .hidden; do echo x >$r/.git/hooks/pre-commit; echo x >>$r/.git/config; done; echo x >proj/f' "$many"
check 'files beside repositories hide none' [ "$(cat "$many"/*/.git/config "$many/.hidden/.git/config" | sort -u)" = '[core]' -a ! -e "$many/proj/.git/hooks/pre-commit" -a ! -e "$many/.hidden/.git/hooks/pre-commit" -a -e "$many/proj/f" ]
(cd "$many" && seq 1 10100 | sed s/^/d/ | xargs mkdir)
launch -q --modify "$many" -- true
check 'too many directories are an error' [ "$status" -eq 125 ]
"$POLICY" show >"$TMP/out" 2>"$TMP/err"
check 'and of the default policy nothing' sh -c '! grep -q "though programs outside" "$1"' - "$TMP/out"
exit 0
