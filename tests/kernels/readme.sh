#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make check-readme: README's two commands, make run and make check, on a Debian 12 with its own kernel, in
# qemu. The guest's root is a disk with the packages that scripts/setup names (installed in a chroot, kept
# in KERNELS_CACHE). Without hardware virtualisation the second takes hours: LIMIT seconds (four hours),
# CPUS processors, COMMANDS ("run check") says which. Prints what the guest prints; its logs of the tests go to $B/logs/readme.
# Status 0 when each command ended with 0.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
B=${B:-build}
case $B in /*) ;; *) B=$top/$B ;; esac
logs=$B/logs/readme
: "${LIMIT=14400}" "${CPUS=$(nproc)}" "${COMMANDS=run check}"
. "$here/guest.sh"
kernel=6.1

# The packages, once.
need_base()
{
	[ -e "$cache/readme.tar" ] && return
	[ "$(id -u)" = 0 ] || skip 'only root can make the guest'
	local root=$cache/readme
	rm -rf "$root"
	debootstrap --variant=minbase --include=ca-certificates,git,make,procps bookworm "$root" >"$cache/readme.log" 2>&1 ||
		skip "no Debian 12 for the guest: $(tail -n 1 "$cache/readme.log")"
	mkdir "$root/project" && git -C "$top" archive HEAD scripts | tar x -C "$root/project"
	cp /etc/resolv.conf "$root/etc/"
	mount -t proc proc "$root/proc" && chroot "$root" /project/scripts/setup >>"$cache/readme.log" 2>&1
	local rc=$?
	umount "$root/proc"
	[ "$rc" = 0 ] || skip "the packages cannot be had: $(tail -n 1 "$cache/readme.log")"
	rm -rf "$root/project" "$root"/var/cache/apt/archives/*.deb
	tar c -C "$root" . >"$cache/readme.part" && mv "$cache/readme.part" "$cache/readme.tar"
	rm -rf "$root"
}

make_init() # FILE
{
	cat >"$1" <<-END
		#!/bin/bash
		export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb
		mount -o remount,rw /; mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev
		mkdir -p /dev/pts /dev/shm; mount -t devpts -o ptmxmode=666 devpts /dev/pts; mount -t tmpfs shm /dev/shm
		mount -t tmpfs tmp /tmp; mount -t tmpfs run /run; chmod 1777 /tmp /dev/shm; dmesg -n 1
		ln -sf /proc/self/fd /dev/fd; ln -sf fd/0 /dev/stdin; ln -sf fd/1 /dev/stdout; ln -sf fd/2 /dev/stderr
		# SIOCSIFFLAGS, IFF_UP: the guest has no ip(8)
		python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))'
		cd /root/project
		for c in $COMMANDS; do
			printf '\n== %s make %s\n' "\$(uname -r)" \$c
			start=\$SECONDS
			make \$c 2>&1
			echo "= make \$c: status \$?, \$((SECONDS - start)) s"
		done
		echo ALL-DONE; sync; echo o >/proc/sysrq-trigger; sleep 9
	END
	chmod 755 "$1"
}

# virtio's, in the order they need one another
add_modules() # INITRAMFS
{
	local m
	for m in virtio_pci virtio_blk; do
		awk -v m="/$m.ko:" 'index("/" $1, m) { for (i = NF; i > 1; i--) print $i; sub(":", "", $1); print $1 }' \
			"$cache/$kernel/modules/modules.dep"
	done | awk '!seen[$0]++' | while read -r m; do
		cp "$cache/$kernel/modules/$m" "$1/" && echo "/${m##*/}"
	done >"$1/modules"
}

mkdir -p "$cache" "$logs" || exit 2
exec 9>"$cache/lock" && flock 9
need_tools
need_kernel $kernel
need_base
w=$(mktemp -d "$cache/readme.XXXXXX") || exit 2
trap 'rm -rf "$w"' EXIT
mkdir "$w/root" "$w/early"
tar x -C "$w/root" -f "$cache/readme.tar"
git clone -q "$top" "$w/root/root/project" || exit 2
make_init "$w/root/init"
truncate -s 16G "$w/disk" && mkfs.ext4 -q -d "$w/root" "$w/disk" || exit 2
rm -rf "$w/root"
gcc -O2 -static -o "$w/early/init" "$here/guestinit.c" || exit 2
add_modules "$w/early"
(cd "$w/early" && find . | cpio -o -H newc 2>/dev/null) >"$w/initrd"
timeout "$LIMIT" qemu-system-x86_64 -accel tcg,thread=multi -cpu max -m 6000 -smp "$CPUS" -nographic -no-reboot -kernel "$cache/$kernel/vmlinuz" \
	-initrd "$w/initrd" -drive "file=$w/disk,if=virtio,format=raw" -append 'console=ttyS0 loglevel=1 panic=1 mitigations=off rdinit=/init' \
	</dev/null 2>&1 | stdbuf -oL tr -d '\r' | tee "$logs/console"
grep -q '^ALL-DONE' "$logs/console" || echo "not finished within $LIMIT s"
[ "$(grep -c '^= make [a-z]*: status 0' "$logs/console")" = "$(echo "$COMMANDS" | wc -w)" ]
