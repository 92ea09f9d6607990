# SPDX-License-Identifier: Apache-2.0
# Objects, archives, programs. A module's sources are <module>_SRCS, generated ones
# <module>_GEN (files under $(B)/gen, made by rules in its module.mk).

ARCHIVED := core base policy sbpl audit launcher
HDRS := $(sort $(foreach d,$(MODULES) selftest tests,$(wildcard $(d)/*.h $(d)/*/*.h $(d)/*/*/*.h)))

define archive_rule
$(1)_OBJS := $$($(1)_SRCS:%.c=$$(B)/obj/%.o) $$($(1)_GEN:%.c=$$(B)/obj/gen/%.o)
$$(B)/lib/$(1).a: $$($(1)_OBJS) | $$$$(@D)/.d
	$$(call say,AR,$$@)
	$$(Q)rm -f $$@ && $$(AR) rcs $$@ $$($(1)_OBJS)
DEPS += $$($(1)_OBJS:.o=.d)
endef
$(foreach m,$(ARCHIVED),$(eval $(call archive_rule,$(m))))

$(B)/obj/gen/%.o: $(B)/gen/%.c | $$(@D)/.d
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_CFLAGS) $(HARDEN_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/obj/%.o: %.c | $$(@D)/.d
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_CFLAGS) $(HARDEN_CFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

%/.d:
	$(Q)mkdir -p $(@D) && touch $@
.PRECIOUS: %/.d $(B)/gen/%.c

lib = $(patsubst %,$(B)/lib/%.a,$(1))
# link: objects, archives, libraries, how when not as a usual pie
link = $(Q)$(CC) $(if $(4),$(filter-out -pie,$(HARDEN_LDFLAGS)) $(4),$(HARDEN_LDFLAGS)) $(LDFLAGS) -o $@ $(1) -Wl,--start-group $(2) -Wl,--end-group $(3)

# The launcher without shared objects, where there are archives of them all: ld.so takes a quarter
# of a millisecond, half of what executing a program takes. STATIC= links it as the others.
STATIC ?= $(if $(SAN),,$(if $(wildcard $(shell $(CC) -print-file-name=libc.a)),$(wildcard $(shell $(CC) -print-file-name=rcrt1.o))))
sbx-launch_PIE := $(if $(STATIC),-static-pie)

PROGRAMS := sbx-launch sbx-policy sbx-audit
# Started by the others, no command of its own.
HELPERS := sbx-selftest
sbx-selftest_SRCS := $(wildcard selftest/*.c)
sbx-selftest_LIBS = $(sbx-launch_LIBS)
sbx-selftest_PIE = $(sbx-launch_PIE)
sbx-launch_LIBS := $(if $(STATIC),$(filter -l%,$(LIBS_POLICY) $(LIBS_AUDIT)),$(LIBS_POLICY) $(LIBS_AUDIT))
sbx-policy_LIBS := $(LIBS_POLICY)
sbx-audit_LIBS := $(LIBS_POLICY) $(LIBS_AUDIT)

$(PROGRAMS:%=$(B)/%) $(HELPERS:%=$(B)/%): $(B)/%: $(B)/obj/cmd/%.o $$(addprefix $$(B)/obj/,$$($$*_SRCS:.c=.o)) $(call lib,launcher audit sbpl policy base core)
	$(call say,LD,$@)
	$(call link,$(filter %.o,$^),$(filter %.a,$^),$($*_LIBS),$($*_PIE))
DEPS += $(patsubst %,$(B)/obj/cmd/%.d,$(PROGRAMS) $(HELPERS)) $(foreach p,$(PROGRAMS) $(HELPERS),$($(p)_SRCS:%.c=$(B)/obj/%.d))

all: $(PROGRAMS:%=$(B)/%) $(HELPERS:%=$(B)/%) $(SHIM_PRODUCTS)
.DEFAULT_GOAL := all

-include $(DEPS)
