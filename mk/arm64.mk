# SPDX-License-Identifier: Apache-2.0
# For arm64, on another machine: clang and lld compile against a Debian root of arm64, and qemu's user mode
# runs what the build itself runs, and the tests that need no kernel of that machine: unit tests, vectors
# of the engine, the shim. Landlock, seccomp and the broker only a real machine shows.
# gcc-aarch64-linux-gnu would do, and takes gcc-multilib away.
ARM64 := build-arm64
ARM64_ALL = $(ARM64)/debian/root
ARM64_CC = clang --target=aarch64-linux-gnu --sysroot=$(CURDIR)/$(ARM64_ALL) -fuse-ld=lld -Wno-unused-command-line-argument
ARM64_QEMU = $(QEMU_ARM64) -L $(CURDIR)/$(ARM64_ALL)
ARM64_ENV = env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL -u MAKEOVERRIDES SETUP=no AR=llvm-ar LD_R=ld.lld OBJCOPY=llvm-objcopy \
	STRIP=llvm-strip PKG_CONFIG=false CC='$(ARM64_CC)' EMULATOR='$(ARM64_QEMU)' MACHINE=aarch64
# config.mk of whoever builds may name another compiler: on the command line this one counts
ARM64_MAKE = $(ARM64_ENV) $(MAKE) -j$(JOBS) B=$(ARM64) CC='$(ARM64_CC)'
# libcriterion starts tests by execve(2), which is the kernel's (tests/arm64/alone.c)
ARM64_TEST_LIBS = $(ARM64)/obj/tests/arm64/alone.o $(filter-out -lcriterion,$(TEST_LIBS))
ARM64_UNITS = $(patsubst %.c,$(ARM64)/%,$(wildcard $(foreach m,core base policy audit sbpl views shim,tests/unit/$(m)/test_*.c)))

$(ARM64_ALL)/ready: scripts/foreign-root
	$(Q)scripts/foreign-root arm64 $(ARM64)/debian
arm64: $(ARM64_ALL)/ready
	$(Q)$(ARM64_MAKE) all
check-arm64: arm64
	$(Q)$(ARM64_MAKE) $(ARM64)/obj/tests/arm64/alone.o
	$(Q)$(ARM64_MAKE) TEST_LIBS='$(ARM64_TEST_LIBS)' $(ARM64_UNITS) $(ARM64)/tests/shim_same
	$(Q)B=$(ARM64) EMULATOR='$(ARM64_QEMU)' tests/arm64/run.sh $(ARM64_UNITS)
# The packages, beside those of this machine.
ARM64_RELEASE = $(ARM64_ENV) ALL_STATIC=1 CFLAGS='-O2 -g -ffile-prefix-map=$(CURDIR)=.' B=$(ARM64)-release
release-arm64: $(ARM64_ALL)/ready
	$(Q)$(ARM64_RELEASE) $(MAKE) -j$(JOBS) CC='$(ARM64_CC)' all
	$(Q)rm -rf $(RELEASE)-arm64 && $(ARM64_RELEASE) scripts/release $(RELEASE)-arm64
	$(Q)cat $(RELEASE)-arm64/SHA256SUMS
.PHONY: arm64 check-arm64 release-arm64
