#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Packages of this build: each is made twice with the same bytes, installed into a place of its own, used
# there, and removed with nothing left.
set -u
cd "$(dirname "$0")/../.." || exit 1
B=${B:-build}
built=$(cd "$B" && pwd) || exit 1
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
check 'with completions, manuals and the profile' cp "$TMP/prefix/libexec/sbx-launch/apparmor/sbx-launch" "$TMP/prefix.profile"
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

# ---- a root as Alpine has it: musl, busybox, and nothing of glibc ----
# The recipe of docs/RECIPES.md: unpacked below /opt, installed, used, removed.
musl=$TMP/musl
loader=/lib/ld-musl-$(uname -m).so.1
make_musl()
{
	mkdir -p "$musl"/bin "$musl"/usr/bin "$musl"/lib "$musl"/opt "$musl"/proc "$musl"/dev "$musl"/tmp "$musl"/root/.ssh "$musl"/ws "$musl"/etc "$musl"/old &&
		cp "$(command -v busybox)" "$musl/bin/busybox" && cp -L "$loader" "$musl$loader" &&
		for a in $("$musl/bin/busybox" --list); do [ "$a" = busybox ] || ln -sf busybox "$musl/bin/$a"; done &&
		echo 'root:x:0:0:root:/root:/bin/sh' >"$musl/etc/passwd" && echo secret >"$musl/root/.ssh/id" &&
		echo '#include <stdio.h>
int main(void) { FILE *f = fopen("made", "w"); return f && fputs("by musl", f) >= 0 && fclose(f) == 0 && !fopen("/root/.ssh/id", "r") ? 0 : 1; }' >"$TMP/m.c" &&
		musl-gcc -o "$musl/bin/by-musl" "$TMP/m.c" && cp "$TMP"/one/sbx-launch-*-linux-*.tar.gz "$musl/opt"
}
cat >"$TMP/enter" <<-'X'
	set -e
	mount --bind "$1" "$1"
	mount --rbind /dev "$1/dev"
	mount -t proc proc "$1/proc"
	cd "$1"
	pivot_root . old
	exec /bin/busybox env -i HOME=/root PATH=/usr/local/bin:/bin:/usr/bin /bin/busybox sh -ec "/bin/busybox umount -l /old; cd /ws; $2"
X
in_musl() # SCRIPT
{
	local map=-Ur
	[ "$(id -u)" -ne 0 ] || map=
	unshare $map -mpf --propagation private sh "$TMP/enter" "$musl" "$1"
}
if [ -e "$loader" ] && command -v busybox >/dev/null && busybox --list | grep -qx sha256sum && make_musl && in_musl true 2>"$TMP/out"; then
	check 'musl: installed' in_musl 'cd /opt && tar -xzf sbx-launch-*.tar.gz && rm *.tar.gz && sbx-launch-*/install.sh && rm -r sbx-launch-*'
	check 'musl: --doctor' in_musl 'sbx-launch --doctor | grep "^The floor holds here"'
	check 'musl: a run, with a program that is linked with musl' in_musl 'sbx-launch -- by-musl 2>err && grep -q "by musl" made && grep -q "denied read /root/.ssh/id " err && ! sbx-launch -- cat /root/.ssh/id'
	check 'musl: which is witnessed' in_musl 'cat /root/.local/state/sbx-launch/runs/*/run.json | grep "\"by-musl\"" | grep -q "\"processes\":1,\"witnessed\":1,"'
	check 'musl: a shell and a hook' in_musl '[ "$(sbx-shell -c "echo \$((6 * 7))")" = 42 ] && echo "{\"tool_name\":\"Bash\",\"tool_input\":{\"command\":\"ls\"}}" | sbx-launch --hook claude | grep -q updatedInput'
	if ldd "$built/sbx-audit" >/dev/null 2>&1; then
		skip 'musl: the other programs' 'only make release makes them without shared objects'
	else
		check 'musl: the other programs' in_musl 'sbx-audit | grep -q coverage && sbx-policy why modify made | grep -q "^allowed"'
	fi
	cp "$TMP"/one/sbx-launch-*-linux-*.tar.gz "$musl/opt"
	check 'musl: removed' in_musl 'cd /opt && tar -xzf sbx-launch-*.tar.gz && sbx-launch-*/install.sh --uninstall'
	# but records, and what in /tmp waits empty for the next run
	check 'musl: nothing is left' [ "$(cd "$musl" && find . \( -path ./opt -o -path ./tmp \) -prune -o \( -iname '*sbx*' ! -path './root/.local/state/*' ! -path './root/.cache/*' \) -print)" = '' ]
	in_musl 'chmod -R u+w /root /ws' 2>/dev/null
else
	skip 'musl: a root of its own' 'no musl, no busybox, or no mounts for this user'
fi

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
	check '.deb: the profile lies where the doctor says' cmp "$TMP/prefix.profile" "$root/usr/libexec/sbx-launch/apparmor/sbx-launch"
	# a parser that knows the profile, one that does not, and one that sees what an administrator has changed
	mkdir -p "$TMP/tools" && printf '#!/bin/sh\n' >"$TMP/tools/aa-enabled" && chmod 755 "$TMP/tools/aa-enabled"
	profiled() # STATUS-OF-PARSER
	{
		printf '#!/bin/sh\nexit %s\n' "$1" >"$TMP/tools/apparmor_parser" && chmod 755 "$TMP/tools/apparmor_parser"
		DPKG_ROOT=$root PATH=$TMP/tools:$PATH sh "$root/var/lib/dpkg/info/sbx-launch.postinst" configure
	}
	none_for_an_old_parser() { rm -f "$root/etc/apparmor.d/sbx-launch" && profiled 1 && [ ! -e "$root/etc/apparmor.d/sbx-launch" ]; }
	one_for_a_new_parser() { profiled 0 && cmp "$TMP/prefix.profile" "$root/etc/apparmor.d/sbx-launch"; }
	changes_stay() { echo '# mine' >>"$root/etc/apparmor.d/sbx-launch" && profiled 0 && tail -n 1 "$root/etc/apparmor.d/sbx-launch" | grep -q mine; }
	check '.deb: AppArmor that does not know the profile gets none' none_for_an_old_parser
	check '.deb: one that does has it' one_for_a_new_parser
	check '.deb: and what an administrator changes there stays' changes_stay
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
