# SPDX-License-Identifier: Apache-2.0
# macOS has its own list: mk/darwin.mk.
launcher_SRCS := $(filter-out launcher/macos/% launcher/linux/filters/gen-filters.c, \
	$(wildcard launcher/*/*.c launcher/linux/*/*.c))

# The seccomp programs are compiled while building, not while launching.
launcher_GEN += filters.c
$(B)/gen-filters: $(B)/obj/launcher/linux/filters/gen-filters.o $(B)/obj/launcher/linux/filters/bpfgraph.o \
		$(B)/obj/launcher/linux/filters/filtercode.o \
		$(B)/obj/policy/plan/seccomp.o $(B)/obj/policy/plan/seccomp.o $(B)/lib/base.a
	$(call say,LD,$@)
	$(call link,$(filter %.o,$^),$(filter %.a,$^),)
$(B)/gen/filters.c: $(B)/gen-filters | $$(@D)/.d
	$(call say,GEN,$@)
	$(Q)$(EMULATOR) $(B)/gen-filters > $@.tmp && mv $@.tmp $@
DEPS += $(B)/obj/launcher/linux/filters/gen-filters.d

# Attacks on the floor, static so that no preload stands before them (tests/escape/run.sh).
launcher_PROBES := selftest/probes.c selftest/files.c selftest/changes.c \
	selftest/races.c \
	selftest/processes.c selftest/system.c \
	selftest/outside.c
ESCAPE_SRCS := tests/escape/probe.c $(launcher_PROBES)
EXTRA_TEST_BINS += $(B)/tests/escape-probe
$(B)/tests/escape-probe: $(ESCAPE_SRCS) selftest/probes.h | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -static -o $@ $(ESCAPE_SRCS) -lpthread

INHERIT_SRCS := tests/escape/inherit.c tests/escape/inherit_sockets.c \
	launcher/linux/confine/inherited.c $(launcher_PROBES)
# with base.a, and static: where that has no sanitizer in it
EXTRA_TEST_BINS += $(if $(SAN),,$(B)/tests/inherit)
$(B)/tests/inherit: $(INHERIT_SRCS) tests/escape/inherit.h launcher/linux/confine/confine_priv.h selftest/probes.h \
		$(B)/lib/base.a | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -static -o $@ $(INHERIT_SRCS) $(B)/lib/base.a -lpthread
