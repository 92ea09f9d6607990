# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
# What the guests of tests/kernels need of Debian's packages, kept in KERNELS_CACHE. Sourced.
cache=${KERNELS_CACHE:-/var/tmp/sbx-kernels}

skip() # REASON
{
	echo "1..0 # SKIP $1"
	exit 0
}

need_tools()
{
	mkdir -p "$cache" || exit 2
	# of several words command(1) says yes when one is there
	command -v qemu-system-x86_64 >/dev/null && command -v debootstrap >/dev/null && command -v cpio >/dev/null && return
	[ "$(id -u)" = 0 ] || skip 'qemu-system-x86, debootstrap and cpio are not installed, and only root can'
	{ apt-get update -qq && apt-get install -y -qq --no-install-recommends qemu-system-x86 debootstrap cpio; } \
		>"$cache/apt.log" 2>&1 || skip "qemu-system-x86, debootstrap and cpio cannot be had: $(tail -n 1 "$cache/apt.log")"
}

need_kernel() # SERIES
{
	[ -e "$cache/$1/modules" ] && return
	apt-get update -qq >/dev/null 2>&1
	local package
	package=$(apt-cache search "^linux-image-$1\\.[0-9].*-cloud-amd64\$" | awk '{print $1}' | grep -v unsigned | sort -V | tail -n 1)
	[ -n "$package" ] || skip "no kernel package of series $1 (backports among the sources?)"
	mkdir -p "$cache/$1.part" && (
		cd "$cache/$1.part" && apt-get download -qq "$package" 2>/dev/null && dpkg-deb -x ./*.deb x &&
			mv x/boot/vmlinuz-* vmlinuz && mv x/lib/modules/* modules && rm -rf x ./*.deb
	) || skip "the package $package cannot be had"
	rm -rf "${cache:?}/$1" && mv "$cache/$1.part" "$cache/$1"
}
