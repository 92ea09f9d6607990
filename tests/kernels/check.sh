#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make check-kernels: the kernels people have, in qemu. Boots Debian's own kernels (KERNELS, "6.1 6.12")
# with a small Debian 12 in memory, with and without user namespaces (USERNS, "1 0"; aa: AppArmor restricts
# them, as on Ubuntu 24.04, from 6.7 on), and there runs
# cell.sh for each scope of Yama (YAMA, "0 1 2 3"; 3 comes last, for it cannot be lowered again), as root
# and as an ordinary user (WHO, "root user"). PARTS ("smoke selftest escape agreement e2e") says what;
# hosts, HOSTS_ROUNDS random hosts (8) in each cell, only when it is named.
# Kernels and root are kept in KERNELS_CACHE. With KEEP=1 the results of earlier calls stay, but for the
# parts of cells that are tried again: the matrix can be done in pieces.
# No hardware virtualisation is needed. KERNELS_SUBSET=1: one boot, about two minutes.
#
# Prints each cell; the results go to $B/logs/kernels/results, of which table.awk makes docs/HOSTS.md.
# Status 0 when every cell holds, or is refused where it must be. Without packages: skipped, with a reason.
set -u
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
B=${B:-build}
made=$B # as make was told: another word for it is another set of flags
case $B in /*) ;; *) B=$top/$B ;; esac
logs=$B/logs/kernels
if [ -n "${KERNELS_SUBSET:-}" ]; then
	: "${KERNELS=6.1}" "${USERNS=1}" "${YAMA=1}" "${PARTS=smoke}"
fi
: "${KERNELS=6.1 6.12}" "${USERNS=1 0}" "${YAMA=0 1 2 3}" "${WHO=root user}" "${PARTS=smoke selftest escape agreement e2e}"
: "${LIMIT=1500}" "${JOBS=$(nproc)}"
YAMA=$(printf '%s\n' $YAMA | sort -n | xargs)

. "$here/guest.sh"

need_root()
{
	[ -e "$cache/root.cpio" ] && return
	[ "$(id -u)" = 0 ] || skip 'only root can make the guest'
	rm -rf "$cache/guest"
	debootstrap --variant=minbase --include=git,python3-minimal,python3,procps,make,util-linux,strace bookworm "$cache/guest" \
		>"$cache/debootstrap.log" 2>&1 || skip "no Debian 12 for the guest: $(tail -n 1 "$cache/debootstrap.log")"
	rm -rf "$cache"/guest/var/cache/apt/archives/*.deb "$cache"/guest/var/lib/apt/lists/* "$cache"/guest/usr/share/{doc,locale,man,info,i18n}
	chroot "$cache/guest" useradd -m day || exit 2
	# not packed: to unpack it is what an emulated processor is slow at
	(cd "$cache/guest" && find . -xdev | cpio -o -H newc 2>/dev/null) >"$cache/root.part" && mv "$cache/root.part" "$cache/root.cpio"
	rm -rf "$cache/guest"
}

# ---- what is tested ----

copy_libraries() # FROM-PROGRAM TO: what the guest lacks
{
	mkdir -p "$2"
	ldd "$1" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|ld-linux|libpthread|libdl)\./ {print $3}' | xargs -r cp -Lt "$2"
}

make_product() # DIRECTORY: /opt/sbx of the guest
{
	local d=$1/opt/sbx
	make -C "$top" -s B="$made" install PREFIX="$d" >/dev/null || exit 2
	mkdir -p "$d/tests" "$d/build/tests/agreement" "$d/docs"
	cp -r "$top"/tests/{kernels,escape,e2e,support,vectors} "$d/tests"
	cp -r "$top/docs/schema" "$top/docs/man" "$top/docs/PRELOAD.md" "$d/docs"
	cp "$B"/sbx-* "$B"/libsbx-shim*.so "$d/build" 2>/dev/null
	cp "$B"/tests/{escape-probe,mkhost} "$B"/tests/shim_st[ar]* "$d/build/tests" 2>/dev/null
	cp "$B/tests/agreement/test_broker" "$d/build/tests/agreement"
	copy_libraries "$B/tests/agreement/test_broker" "$d/test-libs"
	strip "$d"/bin/* "$d"/build/sbx-* "$d"/build/tests/agreement/* 2>/dev/null
	rm -rf "$d"/lib/*.a "$d/include" "$d/share"
	chmod -R a+rX "$1/opt"
}

make_init() # FILE USERNS
{
	cat >"$1" <<-END
		#!/bin/bash
		export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 TERM=dumb PARTS='$PARTS' HOSTS_ROUNDS='${HOSTS_ROUNDS:-}' HOSTS_SEED='${HOSTS_SEED:-}'
		mount -t proc proc /proc; mount -t sysfs sys /sys; mount -t devtmpfs dev /dev; mkdir -p /dev/pts /dev/shm
		mount -t devpts -o ptmxmode=666 devpts /dev/pts; mount -t tmpfs shm /dev/shm; mount -t tmpfs tmp /tmp; mount -t tmpfs run /run
		mount -t tmpfs home /home; mkdir /home/day; chown day: /home/day; mount -t tmpfs rooth /root
		mount -t securityfs s /sys/kernel/security; chmod 1777 /tmp /dev/shm; dmesg -n 1
		ln -s /proc/self/fd /dev/fd; ln -s fd/0 /dev/stdin; ln -s fd/1 /dev/stdout; ln -s fd/2 /dev/stderr
		# SIOCSIFFLAGS, IFF_UP: the guest has no ip(8)
		python3 -c 'import fcntl, socket, struct; fcntl.ioctl(socket.socket(), 0x8914, struct.pack("16sh14x", b"lo", 0x41))' || echo "no loopback"
		case $2 in
		0) echo 0 >/proc/sys/user/max_user_namespaces ;;
		aa) echo 1 >/proc/sys/kernel/apparmor_restrict_unprivileged_userns || echo o >/proc/sysrq-trigger ;;
		esac
		abi=\$(/opt/sbx/bin/sbx-launch --doctor | sed -n 's/.*rules about files: ABI \([0-9]*\).*/\1/p')
		for yama in $YAMA; do
			echo \$yama >/proc/sys/kernel/yama/ptrace_scope
			for who in $WHO; do
				printf '\n== %s abi %s yama %s userns $2 %s\n' "\$(uname -r)" "\$abi" \$yama \$who
				case \$who in
				root) cd /root && bash /opt/sbx/tests/kernels/cell.sh ;;
				user) cd /home/day && HOME=/home/day setpriv --reuid day --regid day --init-groups --inh-caps=-all bash /opt/sbx/tests/kernels/cell.sh ;;
				esac 2>&1
			done
		done
		echo; echo ALL-DONE; echo o >/proc/sysrq-trigger; sleep 9
	END
	chmod 755 "$1"
}

boot() # SERIES USERNS: its output to a file of $logs
{
	local w out=$logs/$1-userns$2
	w=$(mktemp -d "$cache/boot.XXXXXX") || exit 2
	mkdir "$w/over"
	make_init "$w/over/init" "$2"
	{ cat "$cache/root.cpio" "$cache/product.$$"; (cd "$w/over" && find . | cpio -o -H newc 2>/dev/null); } >"$w/initrd"
	timeout "$LIMIT" qemu-system-x86_64 -accel tcg -cpu max -m 2500 -smp 1 -nographic -no-reboot -kernel "$cache/$1/vmlinuz" -initrd "$w/initrd" \
		-append 'console=ttyS0 loglevel=1 panic=1 mitigations=off rdinit=/init' </dev/null 2>&1 | tr -d '\r' | tee "$out.console" | sed -n '/^== /,$p' | tee "$out"
	grep -q '^ALL-DONE' "$out" || echo "== $1 userns $2: not finished within $LIMIT s" | tee -a "$out"
	rm -rf "$w"
}

mkdir -p "$cache" "$logs" || exit 2
exec 9>"$cache/lock" && flock 9
need_tools
for k in $KERNELS; do need_kernel "$k"; done
need_root
product=$(mktemp -d) && chmod 755 "$product" || exit 2
trap 'rm -rf "$product" "$cache/product.$$"' EXIT
make_product "$product"
(cd "$product" && find . | cpio -o -H newc 2>/dev/null) >"$cache/product.$$"
rm -f "$logs"/*-userns* "$logs"/*.console
[ -n "${KEEP:-}" ] && [ -e "$logs/results" ] || : >"$logs/results"
mv "$logs/results" "$logs/earlier"
for k in $KERNELS; do
	for u in $USERNS; do
		while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
		boot "$k" "$u" &
	done
done
wait
cat "$logs"/*-userns{0,1,aa} 2>/dev/null | tee "$logs/output" | awk -f "$here/results.awk" >"$logs/new"
awk -F '\t' -f "$here/merge.awk" "$logs/new" "$logs/earlier" >"$logs/results"
awk -f "$here/refused.awk" -f "$here/verdict.awk" "$logs/results"
