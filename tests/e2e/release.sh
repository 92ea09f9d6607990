#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of this build: each is made twice with the same bytes, installed into a place of its own, used
# there, and removed with nothing left.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
TMP=$(mktemp -d "${TMPDIR:-/tmp}/sbx-release-test.XXXXXX") || exit 1
trap 'rm -rf "$TMP"' EXIT
export HOME=$TMP/home SOURCE_DATE_EPOCH=1700000000
[ -n "${FULL:-}" ] || export RELEASE_XZ=0 # large, and soon there
mkdir "$HOME" "$TMP/ws"
n=0 bad=0

check() # NAME COMMAND...
{
	local name=$1
	shift
	n=$((n + 1))
	if "$@" >"$TMP/out" 2>&1; then
		echo "ok - $name"
	else
		bad=1
		echo "not ok - $name"
		{ echo "failed: $*"; head -n 30 "$TMP/out"; } | sed 's/^/# /'
	fi
}
skip()
{
	n=$((n + 1))
	echo "ok - $1 # SKIP $2"
}

# A run with these programs, and its record.
used() # BIN-DIRECTORY
{
	(cd "$TMP/ws" && rm -rf made &&
		"$1/sbx-launch" -- sh -c 'echo x >made; echo x >"$HOME/out"' 2>err
		grep -q 'denied modify' err && [ -s made ] && [ ! -e "$HOME/out" ] &&
		"$1/sbx-audit" | grep -q '^coverage  *[1-9][0-9]* of ' &&
		"$1/sbx-policy" why modify made | grep -q '^allowed' &&
		[ "$("$1/sbx-shell" -c 'echo "$((6 * 7))"')" = 42 ] &&
		echo '{"tool_name":"Bash","tool_input":{"command":"ls"}}' | "$1/sbx-launch" --hook claude | grep -q updatedInput)
}
files_of() # DIRECTORY: what has to come along everywhere
{
	local f
	for f in bash-completion/completions/sbx-launch fish/vendor_completions.d/sbx-audit.fish man/man1/sbx-shell.1 man/man5/sbx-policy.5; do
		ls "$1/$f"* || return 1
	done
	ls "$1"/zsh/*/_sbx-launch
}

check 'the packages are made' scripts/release "$TMP/one"
check 'and once more' scripts/release "$TMP/two"
check 'with the same bytes' diff -r "$TMP/one" "$TMP/two"
check 'checksums of all' sh -c 'cd "$1" && sha256sum --quiet -c SHA256SUMS && [ "$(wc -l <SHA256SUMS)" -eq "$(($(ls | wc -l) - 1))" ]' - "$TMP/one"
cd "$TMP" || exit 1

# ---- the tarball ----
tar -xzf "$TMP"/one/sbx-launch-*-linux-*.tar.gz && cd "$TMP"/sbx-launch-*/ || exit 1
check 'install.sh installs' ./install.sh --prefix "$TMP/prefix"
check 'what it has installed works' used "$TMP/prefix/bin"
check 'with completions, manuals and the profile' sh -c 'ls "$1"/libexec/sbx-launch/apparmor/sbx-launch' - "$TMP/prefix"
check 'with all of them' files_of "$TMP/prefix/share"
check 'sbx.pc names the place' grep -qx 'libdir=${prefix}/lib' "$TMP/prefix/lib/pkgconfig/sbx.pc"
check 'install.sh once more' ./install.sh --prefix="$TMP/prefix"
check 'which still works' used "$TMP/prefix/bin"
echo other >"$TMP/prefix/share/other"
check 'install.sh removes' ./install.sh --prefix "$TMP/prefix" --uninstall
check 'all of it, and nothing else' [ "$(cd "$TMP/prefix" && find . ! -type d)" = ./share/other ]
printf x >>files/bin/sbx-audit
check 'a damaged file: nothing is installed' sh -c '! ./install.sh --prefix "$1/none" && [ ! -e "$1/none" ]' - "$TMP"
check 'a prefix that is not absolute' sh -c '! ./install.sh --prefix none'
cd "$TMP" || exit 1

# ---- .deb ----
root=$TMP/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/tmp"
: >"$root/var/lib/dpkg/status"
# As root into a root of its own; as another user the same without changing owners.
as_root=
[ "$(id -u)" -eq 0 ] || as_root=fakeroot
debian() # ARGUMENTS...
{
	$as_root dpkg --root="$root" --force-script-chrootless --force-depends --force-not-root --log=/dev/null "$@"
}
if command -v dpkg >/dev/null && { [ -z "$as_root" ] || command -v fakeroot >/dev/null; }; then
	check '.deb: installed' debian -i "$TMP"/one/*.deb
	check '.deb: works' used "$root/usr/bin"
	check '.deb: completions and manuals' files_of "$root/usr/share"
	check '.deb: the profile is a file of configuration' [ "$(debian -s sbx-launch 2>/dev/null | grep -c '^ /etc/apparmor.d/sbx-launch ')" = 1 ]
	check '.deb: checksums' debian --verify sbx-launch sbx-launch-shim libsbx-dev
	check '.deb: removed' debian -P sbx-launch sbx-launch-shim libsbx-dev
	check '.deb: nothing is left' [ "$(cd "$root" && find . ! -type d ! -path './var/*')" = '' ]
else
	skip '.deb' 'no dpkg, or no fakeroot for this user'
fi
if command -v lintian >/dev/null; then
	check '.deb: lintian has nothing to say' sh -c 'said=$(lintian --allow-root --fail-on none "$@" 2>&1 | grep "^[EWI]:"); [ -z "$said" ] || { echo "$said"; exit 1; }' - "$TMP"/one/*.deb
else
	skip '.deb: lintian' 'not installed'
fi

# ---- npm ----
if command -v npm >/dev/null; then
	mkdir app && cd app || exit 1
	echo '{"name":"app","version":"1.0.0"}' >package.json
	check 'npm: no install script' sh -c 'for p in "$1"/*.tgz; do tar -xzOf "$p" package/package.json | grep -E "install\"|scripts" && exit 1; done; exit 0' - "$TMP/one"
	check 'npm: installed' npm install --offline --no-audit --no-fund --ignore-scripts "$TMP"/one/sbx-launch-linux-*.tgz "$TMP"/one/sbx-launch-[0-9]*.tgz
	check 'npm: works' used "$TMP/app/node_modules/.bin"
	node_modules/.bin/sbx-launch -C "$TMP/ws" -- sh -c 'exit 7'
	check 'npm: the status' [ $? -eq 7 ]
	node_modules/.bin/sbx-launch -C "$TMP/ws" -- sh -c 'kill -TERM $$'
	check 'npm: a signal' [ $? -eq 143 ]
	rm -r node_modules/sbx-launch-linux-*
	node_modules/.bin/sbx-launch -- true 2>err
	check 'npm: without the package of this machine' [ "$? $(grep -c '^sbx-launch: E_SYSTEM: ' err)" = '125 1' ]
else
	skip 'npm' 'not installed'
fi
echo "1..$n"
exit $bad
