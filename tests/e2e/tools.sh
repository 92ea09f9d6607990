#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tools that open locks to write what they only read, that keep caches in the home, that write beside
# their sources, and that find their interpreter through links.
. "$(dirname "$0")/../support/e2e.sh"

AUDIT=$(dirname "$SBX")/sbx-audit
umask 077
policy() # READ MODIFY [DENY-READ]
{
	cat >"$TMP/p.yaml" <<X
schemaVersion: 2
kind: Policy
metadata: {name: tools}
spec:
  denyRead: [${3:-}]
  fsProfiles:
    dev: {read: [$1], modify: [$2]}
X
}

# ---- a lock in a cache that may only be read ----

policy '"**"' '"proj/**"'
mkdir -p cache proj && : >cache/.lock && echo data >cache/pkg
cat >"$TMP/lock.py" <<'X'
import errno, fcntl, os
def attempt(flags):
    try:
        fd = os.open('cache/.lock', flags, 0o644)
        fcntl.flock(fd, fcntl.LOCK_SH)
        os.close(fd)
        return 'ok'
    except OSError as e:
        return errno.errorcode[e.errno]
print(attempt(os.O_RDONLY), attempt(os.O_RDWR), attempt(os.O_RDWR | os.O_CREAT),
      attempt(os.O_RDONLY | os.O_CREAT))
print(open('cache/pkg').read().strip())
X
lock_errno()
{
	[ "$(python3 "$TMP/lock.py" | head -n 1)" = 'ok ok ok ok' ] || return 1 # without a sandbox
	launch -p "$TMP/p.yaml" --read "$TMP/lock.py" -- python3 "$TMP/lock.py"
	[ "$status" -eq 0 ] && [ "$(head -n 2 "$TMP/out" | tr '\n' ' ')" = 'ok EACCES EACCES ok data ' ] ||
		{ cat "$TMP/out" "$TMP/err"; return 1; }
}
check 'a lock opened to write is EACCES, a shared lock to read works' lock_errno

# ---- package managers and their caches ----

fresh
mkdir pkg crate crate/src
echo '{"name":"p","version":"1.0.0"}' >pkg/package.json
printf '[package]\nname="x"\nversion="0.1.0"\nedition="2021"\n' >crate/Cargo.toml
echo 'fn main(){println!("hi");}' >crate/src/main.rs
tool() # WANT SCRIPT
{
	want=$1
	launch -- sh -c "$2"
	[ "$status" -eq 0 ] && [ "$(tail -n 1 "$TMP/out")" = "$want" ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}
nothing_at_home()
{
	# Ours: the log of runs, compiled policies, the private cache of the workspace.
	made=$(find "$HOME" -mindepth 1 ! -path "$HOME/.local*" ! -path "$HOME/.cache" \
		! -path "$HOME/.cache/sbx-launch*")
	[ -z "$made" ] || { printf '%s\n' "$made"; return 1; }
}
if command -v npm >/dev/null; then
	check 'npm install with its cache where it is' \
		tool npm-ok 'cd pkg && npm install --offline --no-audit --no-fund --no-update-notifier >/dev/null && echo npm-ok'
else
	skip 'npm install with its cache where it is' 'no npm'
fi
if python3 -c 'import venv' 2>/dev/null; then
	check 'python -m venv' tool 1 'python3 -m venv --without-pip v && v/bin/python -c "print(1)"'
else
	skip 'python -m venv' 'no venv'
fi
if command -v cargo >/dev/null; then
	check 'cargo build' tool hi 'cd crate && cargo build --offline -q && ./target/debug/x'
else
	skip 'cargo build' 'no cargo'
fi
# What build tools do: a file beside, renamed over; in the private cache.
check 'a compiler cache is written to the private cache' tool cached \
	'd=${XDG_CACHE_HOME:?}/tool && mkdir -p $d && echo x >$d/.tmp && mv $d/.tmp $d/entry && [ -s $d/entry ] && echo cached'
check 'nothing else is made in the home' nothing_at_home
policy '"**"' '"**"'
refused_cache()
{
	launch -p "$TMP/p.yaml" -- sh -c 'mkdir -p "$HOME/.cache/tool"'
	[ "$status" -ne 0 ] && [ ! -e "$HOME/.cache/tool" ] &&
		grep -qE "denied modify $HOME/.cache.*allow with --modify" "$TMP/err" || { cat "$TMP/err"; return 1; }
}
check 'a cache that is refused is named, with what would open it' refused_cache

# ---- Python beside sources that may only be read ----

fresh
policy '"**"' '"out/**"'
mkdir src out && echo 'x=1' >src/m.py
echo 'import sys; sys.path.insert(0,"src"); import m; print(m.x)' >run.py
no_pycache()
{
	launch -p "$TMP/p.yaml" -- python3 run.py
	[ "$status" -eq 0 ] && [ "$(cat "$TMP/out")" = 1 ] && [ "$(ls src)" = m.py ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}
check 'python goes on without __pycache__' no_pycache
access_agrees()
{
	launch -p "$TMP/p.yaml" -- python3 -c "import os; print(*[os.access(p, os.W_OK) for p in ('src', 'src/m.py', 'out')])"
	[ "$(cat "$TMP/out")" = 'False False True' ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}
check 'access says what a write would do' access_agrees

# ---- an interpreter behind two links, and a configuration that is closed ----

fresh
python3 -c 'import venv' 2>/dev/null || { skip 'a venv behind links' 'no venv'; exit 0; }
mkdir -p interp/cp-3.x/bin proj
ln -s cp-3.x interp/cp-3
ln -s "$(readlink -f "$(command -v python3)")" interp/cp-3.x/bin/python3
python3 -m venv --without-pip proj/venv
ln -sfn "$PWD/interp/cp-3/bin/python3" proj/venv/bin/python3
ln -sfn python3 proj/venv/bin/python
printf '#!%s/proj/venv/bin/python\nimport sys; print(sys.prefix.endswith("proj/venv"))\n' "$PWD" >proj/tool
chmod +x proj/tool
two_links()
{
	launch -p "$TMP/p.yaml" -w . -- sh -c 'cd proj && venv/bin/python -c "import sys; print(sys.prefix.endswith(\"proj/venv\"))" && ./tool'
	[ "$status" -eq 0 ] && [ "$(tr '\n' ' ' <"$TMP/out")" = 'True True ' ] || { cat "$TMP/out" "$TMP/err"; return 1; }
}
policy '"proj/**", "interp/**"' '"proj/**"'
check 'a venv whose interpreter is behind two links' two_links
closed_config()
{
	launch -p "$TMP/p.yaml" -w . -- sh -c 'cd proj && venv/bin/python -c "import sys; print(sys.prefix)"'
	grep -q 'denied read .*pyvenv.cfg (rule proj/venv/pyvenv.cfg, ' "$TMP/err" || { cat "$TMP/out" "$TMP/err"; return 1; }
	"$AUDIT" show --verdict denied --path '**/pyvenv.cfg' last >"$TMP/events" &&
		grep -q 'proj/venv/pyvenv.cfg' "$TMP/events" || { "$AUDIT"; return 1; }
}
policy '"proj/**", "interp/**"' '"proj/**"' '"proj/venv/pyvenv.cfg"'
check 'a venv whose configuration is closed says which rule did it' closed_config
