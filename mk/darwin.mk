# SPDX-License-Identifier: Apache-2.0
# macOS, built on Linux: clang and lld of Debian, our own headers and symbol lists
# (launcher/macos/sdk). `make darwin` builds both machines, `make darwin-check` looks at what came
# out and runs it through a loader of ours.

DARWIN := $(B)/darwin
DARWIN_SDK := launcher/macos/sdk
DARWIN_MIN := 13.0
DARWIN_ARCHS := x86_64 arm64
DARWIN_CC ?= clang-14
DARWIN_LD ?= ld64.lld-14
DARWIN_LIPO ?= llvm-lipo-14
DARWIN_LIBS := $(DARWIN_SDK)/libSystem.tbd

# The parts of the launcher that know no system, and those of macOS.
DARWIN_LAUNCHER := $(core_SRCS) $(filter-out base/account.c,$(base_SRCS)) $(sbpl_SRCS) \
	$(filter-out policy/plan/mounts.c policy/plan/bwrap.c,$(policy_SRCS)) \
	$(filter-out audit/entry.c audit/filter.c audit/pack.c audit/read_log.c audit/read_run.c audit/schema.c audit/show.c audit/summary.c \
		audit/verify.c,$(audit_SRCS)) \
	$(filter-out launcher/linux/%,$(launcher_SRCS)) \
	$(wildcard launcher/macos/*.c) cmd/sbx-launch.c
DARWIN_SHIM := $(filter-out core/ring_read.c core/event.c,$(core_SRCS)) \
	$(wildcard shim/*.c shim/macos/*.c)

# Each standard header is one line; libyaml's, nettle's and uthash's do not depend on the system.
DARWIN_INCLUDE := $(DARWIN)/include
$(DARWIN_INCLUDE)/.made: $(wildcard $(DARWIN_SDK)/*) mk/darwin.mk
	$(Q)rm -rf $(@D) && mkdir -p $(@D)/nettle
	$(Q)for h in $$(cat $(DARWIN_SDK)/headers.txt); do \
		mkdir -p $$(dirname $(@D)/$$h) && echo '#include <darwin.h>' >$(@D)/$$h.h || exit 1; \
	done
	$(Q)cp $(DARWIN_SDK)/*.h /usr/include/uthash.h /usr/include/yaml.h $(@D)/
	$(Q)cp /usr/include/nettle/sha2.h /usr/include/nettle/nettle-types.h $(@D)/nettle/
	$(Q)touch $@

DARWIN_CFLAGS = -nostdinc -isystem $(DARWIN_INCLUDE) \
	-isystem $(shell $(DARWIN_CC) -print-resource-dir)/include -std=gnu17 -O2 $(WARN) -Werror \
	-I. -I$(B)/gen -fvisibility=hidden -fno-common -DSBX_VERSION='"$(VERSION)"'

define darwin_machine
$(DARWIN)/$(1)/%.o: %.c $(DARWIN_INCLUDE)/.made | $$$$(@D)/.d
	$$(call say,CC,$(1) $$<)
	$$(Q)$(DARWIN_CC) -target $(1)-apple-macos$(DARWIN_MIN) $$(DARWIN_CFLAGS) -MMD -MP -c -o $$@ $$<
$(DARWIN)/$(1)/gen/%.o: $(B)/gen/%.c $(DARWIN_INCLUDE)/.made | $$$$(@D)/.d
	$$(Q)$(DARWIN_CC) -target $(1)-apple-macos$(DARWIN_MIN) $$(DARWIN_CFLAGS) -MMD -MP -c -o $$@ $$<
$(DARWIN)/$(1)/sbx-launch: $$(DARWIN_LAUNCHER:%.c=$(DARWIN)/$(1)/%.o) \
		$$(policy_GEN:%.c=$(DARWIN)/$(1)/gen/%.o)
	$$(call say,LD,$$@)
	$$(Q)$(DARWIN_LD) -arch $(1) -platform_version macos $(DARWIN_MIN) $(DARWIN_MIN) -dead_strip \
		-rpath /opt/homebrew/lib -rpath /usr/local/lib -o $$@ $$^ $(DARWIN_LIBS) \
		$(DARWIN_SDK)/libyaml.tbd $(DARWIN_SDK)/libnettle.tbd
$(DARWIN)/$(1)/libsbx-shim.dylib: $$(DARWIN_SHIM:%.c=$(DARWIN)/$(1)/%.o)
	$$(call say,LD,$$@)
	$$(Q)$(DARWIN_LD) -arch $(1) -platform_version macos $(DARWIN_MIN) $(DARWIN_MIN) -dylib \
		-install_name @rpath/libsbx-shim.dylib -o $$@ $$^ $(DARWIN_LIBS)
DARWIN_DEPS += $$(DARWIN_LAUNCHER:%.c=$(DARWIN)/$(1)/%.d) $$(DARWIN_SHIM:%.c=$(DARWIN)/$(1)/%.d) \
	$$(policy_GEN:%.c=$(DARWIN)/$(1)/gen/%.d)
endef
$(foreach a,$(DARWIN_ARCHS),$(eval $(call darwin_machine,$(a))))

DARWIN_PRODUCTS := sbx-launch libsbx-shim.dylib
$(foreach p,$(DARWIN_PRODUCTS),$(eval $(DARWIN)/$(p): $(DARWIN_ARCHS:%=$(DARWIN)/%/$(p))))
$(DARWIN_PRODUCTS:%=$(DARWIN)/%):
	$(call say,LIPO,$@)
	$(Q)$(DARWIN_LIPO) -create $^ -output $@

$(DARWIN)/sdk.ok: scripts/check-darwin-sdk.py $(wildcard $(DARWIN_SDK)/*) $(wildcard shim/macos/*.c) | $$(@D)/.d
	$(Q)scripts/check-darwin-sdk.py && touch $@

DARWIN_LOADER := $(addprefix tests/darwin/,main.c test_names.c load.c libsystem.c libsystem_macos.c \
	libsystem_process.c)

# The same loader for arm64, for the user mode of qemu: by clang with Debian's C library for that
# machine (libc6-dev-arm64-cross), where both are there.
ARM64_ROOT ?= /usr/aarch64-linux-gnu
QEMU_ARM64 ?= $(firstword $(wildcard /usr/bin/qemu-aarch64 /usr/bin/qemu-aarch64-static))
DARWIN_QEMU_FLAGS := -L $(ARM64_ROOT)
DARWIN_LOAD_ARM64 := $(if $(QEMU_ARM64),$(if $(wildcard $(ARM64_ROOT)/lib/crt1.o),$(DARWIN)/load-arm64))
$(DARWIN)/load-arm64: $(DARWIN_LOADER) $(wildcard tests/darwin/*.h) | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(DARWIN_CC) -target aarch64-linux-gnu -isystem $(ARM64_ROOT)/include -std=gnu17 -D_GNU_SOURCE \
		-I. -O1 -g -nostdlib -fuse-ld=lld-14 -rdynamic -o $@ $(filter %.c,$^) \
		$(addprefix $(ARM64_ROOT)/lib/,crt1.o crti.o libc.so.6 libc_nonshared.a crtn.o) \
		-Wl,--dynamic-linker=/lib/ld-linux-aarch64.so.1

darwin: $(DARWIN)/sdk.ok $(DARWIN_PRODUCTS:%=$(DARWIN)/%)
darwin-check: darwin $(DARWIN)/load $(DARWIN)/probe $(B)/tests/mkchannel $(DARWIN_LOAD_ARM64)
	$(Q)B=$(B) QEMU_ARM64="$(QEMU_ARM64) $(DARWIN_QEMU_FLAGS)" tests/darwin/run.sh
.PHONY: darwin darwin-check

# The loader: every function of the C library must be there to be found by name.
$(DARWIN)/load: $(DARWIN_LOADER) $(wildcard tests/darwin/*.h) | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -rdynamic -o $@ $(filter %.c,$^) -Wl,--no-as-needed -lyaml -lnettle -ldl

# A program for the machine of the tests.
$(DARWIN)/probe: $(DARWIN)/x86_64/tests/darwin/probe.o
	$(call say,LD,$@)
	$(Q)$(DARWIN_LD) -arch x86_64 -platform_version macos $(DARWIN_MIN) $(DARWIN_MIN) -o $@ $^ $(DARWIN_LIBS)
DARWIN_DEPS += $(DARWIN)/x86_64/tests/darwin/probe.d
# mk/rules.mk has read those of its own by now
-include $(DARWIN_DEPS)
