# SPDX-License-Identifier: Apache-2.0
# Objects, archives, programs. A module's sources are <module>_SRCS, generated ones
# <module>_GEN (files under $(B)/gen, made by rules in its module.mk).

ARCHIVED := core base policy sbpl audit adopt ship bundle egress launcher
HDRS := $(sort $(foreach d,$(MODULES) selftest tests,$(wildcard $(d)/*.h $(d)/*/*.h $(d)/*/*/*.h)))

define archive_rule
$(1)_OBJS := $$($(1)_SRCS:%.c=$$(B)/obj/%.o) $$($(1)_GEN:%.c=$$(B)/obj/gen/%.o)
$$(B)/lib/$(1).a: $$($(1)_OBJS) | $$$$(@D)/.d
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$($(1)_OBJS)
DEPS += $$($(1)_OBJS:.o=.d)
endef
$(foreach m,$(ARCHIVED),$(eval $(call archive_rule,$(m))))

$(B)/obj/gen/%.o: $(B)/gen/%.c $(FLAGS) | $$(@D)/.d
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_CFLAGS) $(HARDEN_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/obj/%.o: %.c $(FLAGS) | $$(@D)/.d
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_CFLAGS) $(HARDEN_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

%/.d:
	$(Q)mkdir -p $(@D) && touch $@
.PRECIOUS: %/.d $(B)/gen/%.c

lib = $(patsubst %,$(B)/lib/%.a,$(1))
# link: objects, archives, libraries, how when not as a usual pie
link = $(Q)$(CC) $(if $(4),$(filter-out -pie,$(HARDEN_LDFLAGS)) $(4),$(HARDEN_LDFLAGS)) $(LDFLAGS) -o $@ $(1) -Wl,--start-group $(2) -Wl,--end-group $(3)

sbx-launch_PIE = $(if $(STATIC),-static-pie $(RELR))

# RELR: relative relocations packed, two hundred kilobytes less of a program, where linker and C
# library can: tried once.
$(B)/relr.mk: scripts/probe-relr $(FLAGS) | $$(@D)/.d
	$(Q)scripts/probe-relr '$(CC)' $(EMULATOR) >$@
ifeq ($(BUILDS_NOTHING),)
-include $(B)/relr.mk
endif

PROGRAMS := sbx-launch sbx-policy sbx-audit
# Started by the others, no command of its own.
HELPERS := sbx-selftest sbx-adopt sbx-egress $(if $(CURL_H),sbx-ship) $(if $(OPENSSL_H),sbx-bundle)
sbx-adopt_LIBS = $(sbx-launch_LIBS)
sbx-adopt_PIE = $(sbx-launch_PIE)
# with the C library's own getaddrinfo(3), which loads what it needs
sbx-egress_LIBS = $(LIBS_TLS) -lpthread
# what alone needs libcurl; shared, as it brings half of a system with it
sbx-ship_LIBS = $(LIBS_POLICY) $(LIBS_AUDIT) $(call shared,libcurl,-lcurl) -lz -lzstd -lpthread
sbx-bundle_LIBS = $(LIBS_POLICY) $(LIBS_AUDIT) $(LIBS_TLS)
sbx-selftest_SRCS := $(wildcard selftest/*.c)
sbx-selftest_LIBS = $(sbx-launch_LIBS)
sbx-selftest_PIE = $(sbx-launch_PIE)
sbx-launch_LIBS := $(if $(STATIC),$(filter -l%,$(LIBS_POLICY) $(LIBS_AUDIT)),$(LIBS_POLICY) $(LIBS_AUDIT))
sbx-policy_LIBS := $(LIBS_POLICY) $(LIBS_AUDIT)
sbx-audit_LIBS := $(LIBS_POLICY) $(LIBS_AUDIT) -lpcre2-8 -lpthread

# ALL_STATIC=1: for packages, so that they run on each host.
ifneq ($(ALL_STATIC),)
sbx-policy_LIBS := $(filter -l%,$(sbx-policy_LIBS))
sbx-audit_LIBS := $(filter -l%,$(sbx-audit_LIBS))
sbx-policy_PIE = $(sbx-launch_PIE)
sbx-audit_PIE = $(sbx-launch_PIE)
endif

$(PROGRAMS:%=$(B)/%) $(HELPERS:%=$(B)/%): $(B)/%: $(B)/obj/cmd/%.o $$(addprefix $$(B)/obj/,$$($$*_SRCS:.c=.o)) $(call lib,launcher egress adopt ship bundle audit sbpl policy base core) $(FLAGS) $(LINKING)
	$(call say,LD,$@)
	$(call link,$(filter %.o,$^),$(filter %.a,$^),$($*_LIBS) -Wl$(comma)--gc-sections,$($*_PIE))
DEPS += $(patsubst %,$(B)/obj/cmd/%.d,$(PROGRAMS) $(HELPERS)) $(foreach p,$(PROGRAMS) $(HELPERS),$($(p)_SRCS:%.c=$(B)/obj/%.d))

# The launcher by another name: what wants the path of a shell.
$(B)/sbx-shell: | $$(@D)/.d
	$(Q)ln -s sbx-launch $@

all: $(PROGRAMS:%=$(B)/%) $(HELPERS:%=$(B)/%) $(SHIM_PRODUCTS) $(B)/sbx-shell
.DEFAULT_GOAL := all

-include $(DEPS)
