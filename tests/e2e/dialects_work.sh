#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real work under policies of the shapes that people have: a build, a commit, a script, and what each
# policy keeps closed while they run.
E2E_WHO=user
. "$(dirname "$0")/../support/e2e.sh"
for tool in make gcc git python3; do
	command -v $tool >/dev/null || { echo "ok - $E2E_INNER: no $tool # SKIP"; exit; }
done

file() # NAME: the text is on stdin
{
	cat >"$TMP/$1" && chmod 600 "$TMP/$1"
}
export GIT_AUTHOR_NAME=x GIT_AUTHOR_EMAIL=x@example.com
export GIT_COMMITTER_NAME=x GIT_COMMITTER_EMAIL=x@example.com
mkdir -p "$HOME/.ssh" "$HOME/notes" "$HOME/with blanks" "$HOME/.cache/tool" && echo key >"$HOME/.ssh/id_ed25519"
echo private >"$HOME/notes/n" && echo blank >"$HOME/with blanks/f" && echo '{}' >"$HOME/state.json"
cat >Makefile <<'X'
hello: hello.o
	gcc -o hello hello.o
hello.o: hello.c
	gcc -c -o hello.o hello.c
X
printf '#include <stdio.h>\nint main(void) { return puts("hello") < 0; }\n' >hello.c
printf 'key\n' >server.pem && printf 'TOKEN=1\n' >.env
git init -q . && git add Makefile hello.c && git commit -qm first

# A build, a commit and a script that all must succeed; then what must not, by name.
cat >"$TMP/job" <<'X'
set -e
make -s clean-all 2>/dev/null || rm -f hello hello.o
make -s hello && ./hello
echo "/* $1 */" >>hello.c && git commit -qam "$1" && git log --format=%s -n 1
python3 -c 'import tempfile; f = tempfile.NamedTemporaryFile(); f.write(b"x"); print("script")'
X
chmod 644 "$TMP/job"
works() # DOCUMENT [OPTION...]
{
	doc=$1
	shift
	got=$("$SBX" "$@" -p "$TMP/$doc" --also-read "$TMP/job" -- bash "$TMP/job" "$doc" 2>"$TMP/err")
	[ "$got" = "hello
$doc
script" ] || { echo "$got"; cat "$TMP/err"; return 1; }
}
closed() # DOCUMENT PATH...: neither read nor written
{
	doc=$1
	shift
	for path; do
		! "$SBX" --best-effort -p "$TMP/$doc" -- cat "$path" >"$TMP/got" 2>&1 || { echo "read $path"; return 1; }
	done
}
unwritten() # DOCUMENT PATH...
{
	doc=$1
	shift
	for path; do
		! "$SBX" --best-effort -p "$TMP/$doc" -- bash -c 'mkdir -p "$(dirname "$1")"; echo x >>"$1"' - "$path" 2>/dev/null ||
			{ echo "wrote $path"; return 1; }
	done
}

# ---- OpenShell ----
file reference.yaml <<'X'
# block style and flow style in one file
version: 1
filesystem_policy:
  include_workdir: true      # where the agent works
  read_only:
    - /usr
    - /lib
    - /bin
    - /lib64
    - /proc
    - /dev/urandom           # not the whole of /dev
    - /etc
  read_write: [/var/tmp, /dev/null]
landlock: { compatibility: best_effort }
process: { run_as_user: no-such-user, run_as_group: no-such-group }
X
check 'openshell: the reference shape' works reference.yaml
check 'openshell: homes are closed' closed reference.yaml "$HOME/notes/n" "$HOME/.ssh/id_ed25519"
check 'openshell: the system is read only' unwritten reference.yaml /usr/x /etc/x
file agents.yaml <<'X'
---
# who may talk to whom – kept, and refused while nothing enforces it
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [/usr, /lib, /bin, /lib64, /etc]
  read_write: [/tmp]
network_policies:
  forge:
    endpoints:
      - { host: api.example.com, port: 443, protocol: sql, access: read-only }
      - { host: "*.pkg.example.org", ports: [80, 443] }
    binaries: [ { path: /usr/bin/git }, { path: "/**/node" } ]


X
check 'openshell: with rules that nothing enforces nothing is run' eval '! works agents.yaml >/dev/null'
check 'openshell: unless losses are accepted' works agents.yaml --best-effort
check 'openshell: and then there is no network' eval \
	'"$SBX" --best-effort -q -p "$TMP/agents.yaml" -- python3 -c "
import socket
try:
    socket.create_connection((\"192.0.2.1\", 80), 2)
except OSError:
    raise SystemExit(0)
raise SystemExit(1)" 2>/dev/null'
# root would have to become a user that is not everywhere, or accept that it does not
hard=hard_requirement
[ "$(id -u)" -ne 0 ] || hard=best_effort
file strict.yaml <<X
version: 1
filesystem_policy:
  include_workdir: true
  read_only: [/usr/, //lib, /bin/., /lib64, /etc, /proc, "$HOME/with blanks"]
  read_write: ["$HOME/.cache/tool"]
landlock:
  compatibility: $hard
X
full && check 'openshell: spellings of paths' works strict.yaml
check 'openshell: a path with a blank' out blank -p "$TMP/strict.yaml" -- cat "$HOME/with blanks/f"
check 'openshell: a cache is written to' out ok -p "$TMP/strict.yaml" -- \
	bash -c 'echo x >"$1/.t" && mv "$1/.t" "$1/f" && echo ok' - "$HOME/.cache/tool"

# ---- srt ----
file personal.json <<'X'
{
	"network": { "allowedDomains": [], "deniedDomains": [], "allowUnixSockets": ["/run/nowhere.sock"] },
  "filesystem": {
    "denyRead": [ "*.pem", "*.key", ".env", "credentials*.json", "~/.ssh/", "~/notes", "~/with blanks", "id_*" ],
    "allowWrite": [ ".", "./build", "/tmp" ],
    "denyWrite": [ "*.pem", "*.key", ".env", "credentials*.json", "~/.ssh/", "~/notes", ".srt-settings.json" ]
  },
  "ignoreViolations": { "*": ["/usr/bin"], "git push": ["/usr/bin/nc"] }
}
X
check 'srt: the long personal list' works personal.json
check 'srt: what it lists is closed' closed personal.json server.pem .env "$HOME/.ssh/id_ed25519" \
	"$HOME/notes/n" "$HOME/with blanks/f"
check 'srt: for writing, too, and where it is not yet' unwritten personal.json server.pem deep/er/new.key \
	.srt-settings.json .git/hooks/pre-commit .bashrc .vscode/tasks.json
file home.json <<X
// every dot entry of every home, for two systems at once; single children back
{
  "network": {"allowedDomains": [], "deniedDomains": []},
  "filesystem": {
    "denyRead": ["/Users/*/.*", "/home/*/.*", "$HOME/.s*", "$HOME/n*/**"],
    "allowRead": ["$HOME/.gitconfig"],
    "allowWrite": ["."],
    "denyWrite": []
  }
}
X
full && check 'srt: the wildcard home' works home.json
check 'srt: its dot entries are closed' closed home.json "$HOME/.ssh/id_ed25519" "$HOME/notes/n"
file single.json <<X
{"enableWeakerNestedSandbox": true,
 "filesystem": {"denyRead": [], "allowWrite": [".", "$HOME/state.json", "$HOME/.cache/"], "denyWrite": ["src/generated/**"], "allowGitConfig": true},
 "network": {"allowedDomains": [], "deniedDomains": []}}
X
full && check 'srt: a file beside directories' works single.json
check 'srt: that file is written, its neighbours are not' eval \
	'"$SBX" -p "$TMP/single.json" -- bash -c "echo {} >\"$HOME/state.json\"" && unwritten single.json "$HOME/other.json" src/generated/x'
check 'srt: git may configure itself' eval '"$SBX" -p "$TMP/single.json" -- git config user.name y'

# ---- caliban ----
file project.toml <<'X'
[sandbox]
enabled = true
fail_if_unavailable = true
auto_allow_bash_if_sandboxed = true
allow_unsandboxed_commands = ["git", "gh"]
[sandbox.filesystem]
allow_write = ["${WORKSPACE}"]
deny_read = ["${HOME}/.ssh", "${WORKSPACE}/.env"]
deny_write = ["${WORKSPACE}/.git/hooks"]
X
check 'caliban: a project' works project.toml
check 'caliban: what it hides' closed project.toml "$HOME/.ssh/id_ed25519" .env "$HOME/notes/n"
check 'caliban: and protects' unwritten project.toml .git/hooks/pre-commit .env /opt/x
file settings.toml <<'X'
# the sub-table before its parent, among much else
[model]
name = "large"          # not ours
limits = { tokens = 200_000, ratio = 0.5 }

[sandbox.filesystem]
allow_read = ["/"]
allow_write = [
  "${WORKSPACE}",
  "/tmp",               # and a comma at the end
]
deny_read = ['~/notes']

[projects."/home/me/a project"]
trust = "full"

[sandbox]
enabled = true
fail_if_unavailable = false
X
full && check 'caliban: among other settings' works settings.toml
check 'caliban: all is read but what is hidden' eval \
	'[ "$("$SBX" -p "$TMP/settings.toml" -- cat "$HOME/state.json")" = {} ] && closed settings.toml "$HOME/notes/n" "$HOME/.ssh/id_ed25519"'
file caches.toml <<'X'
sandbox.enabled = true
sandbox.fail_if_unavailable = true
sandbox.enable_weaker_nested_sandbox = true
sandbox.network = { allow_local_binding = true }
sandbox.filesystem.allow_read = ["${HOME}/with blanks", "${XDG_DATA_HOME}"]
sandbox.filesystem.allow_write = ["${WORKSPACE}", "${XDG_CACHE_HOME}/tool"]
X
full && check 'caliban: dotted keys and caches' works caches.toml
check 'caliban: a cache is written to' out blank -p "$TMP/caches.toml" -- \
	bash -c 'echo x >"$HOME/.cache/tool/f" && cat "$HOME/with blanks/f"'
check 'caliban: a server of its own' out ok -p "$TMP/caches.toml" -- python3 -c '
import socket
s = socket.create_server(("127.0.0.1", 0))
c = socket.create_connection(s.getsockname())
s.accept()[0].sendall(b"ok")
print(c.recv(2).decode())'
