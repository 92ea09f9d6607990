#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs sbx-launch from the tarball that this file lies in, after checking each file; --uninstall
# removes what it has installed.
#
#	./install.sh [--prefix /usr/local] [--uninstall]
set -eu
prefix=/usr/local uninstall=
die()
{
	echo "install.sh: $1" >&2
	exit 1
}
while [ $# -gt 0 ]; do
	case $1 in
	--prefix)
		[ $# -gt 1 ] || die '--prefix: a directory must follow'
		prefix=$2
		shift
		;;
	--prefix=*) prefix=${1#*=} ;;
	--uninstall) uninstall=yes ;;
	*) die "unknown option $1: --prefix DIR, --uninstall" ;;
	esac
	shift
done
case $prefix in
/*) ;;
*) die "--prefix: $prefix is not absolute" ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
[ -f SHA256SUMS ] && [ -f LINKS ] || die 'SHA256SUMS is missing: unpack the whole tarball, and run the install.sh in it'

# the directories of a file below the prefix that are empty now
prune()
{
	dir=$(dirname "$1")
	while [ "$dir" != . ]; do
		rmdir "$prefix/$dir" 2>/dev/null || return 0
		dir=$(dirname "$dir")
	done
}

if [ -n "$uninstall" ]; then
	while read -r sum name; do
		rm -f "$prefix/$name"
		prune "$name"
	done <SHA256SUMS
	while read -r name to; do
		rm -f "$prefix/$name"
		prune "$name"
	done <LINKS
	echo "removed from $prefix"
	exit 0
fi

# busybox's knows no --quiet
damaged=$(cd files && sha256sum -c ../SHA256SUMS 2>&1 | grep -v ': OK$') || :
[ -z "$damaged" ] || die "a file is damaged, nothing was installed: $damaged"
while read -r sum name; do
	mkdir -p "$prefix/$(dirname "$name")"
	# by another name first: a program that runs cannot be written to
	cp "files/$name" "$prefix/$name.new"
	if [ -x "files/$name" ]; then chmod 755 "$prefix/$name.new"; else chmod 644 "$prefix/$name.new"; fi
	mv -f "$prefix/$name.new" "$prefix/$name"
done <SHA256SUMS
while read -r name to; do
	ln -sf "$to" "$prefix/$name"
done <LINKS
echo "installed in $prefix: try $prefix/bin/sbx-launch --doctor"
[ ! -e /proc/sys/kernel/apparmor_restrict_unprivileged_userns ] ||
	[ "$(cat /proc/sys/kernel/apparmor_restrict_unprivileged_userns)" = 0 ] ||
	echo "AppArmor keeps user namespaces back here: $prefix/libexec/sbx-launch/apparmor/sbx-launch says what helps"
