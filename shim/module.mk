# SPDX-License-Identifier: Apache-2.0
# The preloaded library. Its own objects, and those of core/ again: no stack protector, no
# fortify, nothing of a C library (shim/mem.h).
shim_SRCS := $(wildcard shim/*.c shim/linux/*.c shim/linux/export/*.c)
# The launcher alone reads rings and Mach-O files, and nobody in the command judges requests.
shim_CORE := $(filter-out core/ring_read.c core/macho.c core/request.c core/target.c core/text_glob.c,$(core_SRCS))
shim_OBJS := $(shim_SRCS:%.c=$(B)/shim-obj/%.o) $(shim_CORE:%.c=$(B)/shim-obj/%.o)
SHIM_PRODUCTS := $(B)/libsbx-shim.so
DEPS += $(shim_OBJS:.o=.d)

# No delete-null-pointer-checks: the C library's headers promise non-null paths, programs pass
# NULL all the same. No-plt: one jump less on every call of a neighbour in libc.
SHIM_GCC_CFLAGS := -fno-tree-loop-distribute-patterns
ifneq ($(findstring clang,$(CC)),)
SHIM_CFLAGS := $(filter-out $(SHIM_GCC_CFLAGS),$(SHIM_CFLAGS))
endif
SHIM_ALL_CFLAGS = $(BASE_CFLAGS) $(CFLAGS) $(SHIM_CFLAGS) -fno-delete-null-pointer-checks \
	-ftls-model=initial-exec -fno-plt

$(B)/shim-obj/%.o: %.c $(FLAGS) | $$(@D)/.d
	$(call say,CC,shim $<)
	$(Q)$(CC) $(SHIM_ALL_CFLAGS) -MMD -MP -c -o $@ $<

# The names of shim/calls.h, and nothing else, are visible.
$(B)/shim-obj/exports.map: shim/exports.in shim/calls.h shim/queries.h shim/calls32.h | $$(@D)/.d
	$(Q)$(CC) -E -P -I. -x c $< | sed 's/^#.*//' >$@
$(B)/shim-obj/exports.list: shim/exports.in shim/calls.h shim/queries.h shim/calls32.h | $$(@D)/.d
	$(Q)$(CC) -E -P -I. -DEXPORTS_LIST -x c $< | tr -s ' ;' '\n\n' | sort -u >$@

SHIM_LDFLAGS := -shared -nostdlib -Wl,-z,initfirst -Wl,-z,now -Wl,-z,norelro -Wl,-z,noexecstack \
	-Wl,-z,noseparate-code -Wl,--hash-style=gnu -Wl,-Bsymbolic -Wl,--gc-sections -Wl,--build-id=sha1

# Without relro: a dozen words it would protect, beside a table of function pointers that must
# stay writable, for a system call at every start of every program.
# -z initfirst: our constructor before every other library's. No libraries and so no
# DT_NEEDED: the same file loads with any C library, and none is dragged in.
$(B)/libsbx-shim.so: $(shim_OBJS) $(B)/shim-obj/exports.map $(B)/shim-obj/exports.list
	$(call say,LD,$@)
	$(Q)$(CC) $(SHIM_LDFLAGS) -Wl,-soname,libsbx-shim.so \
		-Wl,--version-script=$(B)/shim-obj/exports.map -o $@ $(shim_OBJS)

# The same for 32-bit programs in preload-only mode (a floor ends them), where the compiler and its
# headers can make it: gcc-multilib. libgcc has the divisions of 64-bit numbers.
ifeq ($(filter x86_64-%,$(shell $(CC) -dumpmachine 2>/dev/null)),)
M32 :=
else
M32 := $(shell $(CC) -m32 -include stdio.h -x c -fsyntax-only /dev/null 2>/dev/null && echo -m32 -march=i686 -Wno-psabi)
endif
ifneq ($(M32),)
shim32_OBJS := $(shim_SRCS:%.c=$(B)/shim32-obj/%.o) $(shim_CORE:%.c=$(B)/shim32-obj/%.o)
DEPS += $(shim32_OBJS:.o=.d)
SHIM_PRODUCTS += $(B)/libsbx-shim32.so
$(B)/shim32-obj/%.o: %.c $(FLAGS) | $$(@D)/.d
	$(call say,CC,shim32 $<)
	$(Q)$(CC) $(M32) $(SHIM_ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(B)/shim32-obj/exports.map: shim/exports.in shim/calls.h shim/queries.h shim/calls32.h | $$(@D)/.d
	$(Q)$(CC) $(M32) -E -P -I. -x c $< | sed 's/^#.*//' >$@
$(B)/shim32-obj/exports.list: shim/exports.in shim/calls.h shim/queries.h shim/calls32.h | $$(@D)/.d
	$(Q)$(CC) $(M32) -E -P -I. -DEXPORTS_LIST -x c $< | tr -s ' ;' '\n\n' | sort -u >$@
$(B)/libsbx-shim32.so: $(shim32_OBJS) $(B)/shim32-obj/exports.map $(B)/shim32-obj/exports.list
	$(call say,LD,$@)
	$(Q)$(CC) $(M32) $(SHIM_LDFLAGS) -Wl,-soname,libsbx-shim32.so \
		-Wl,--version-script=$(B)/shim32-obj/exports.map -o $@ $(shim32_OBJS) -lgcc
endif

check-abi: $(SHIM_PRODUCTS)
	$(Q)scripts/check-abi $(B)/libsbx-shim.so $(B)/shim-obj/exports.list
	$(if $(M32),$(Q)scripts/check-abi $(B)/libsbx-shim32.so $(B)/shim32-obj/exports.list)

# What the programs of this machine import, against the table.
check-imports: $(B)/libsbx-shim.so
	$(Q)B=$(B) CC='$(CC)' scripts/check-imports
# What strace sees of real programs, against the shim's log: a minute or two.
coverage: all $(B)/tests/mkchannel
	$(Q)B=$(B) tests/coverage/run.sh
# Sixty-four threads that open, rename, fork, exec, are killed and take signals, and no record is
# lost: ten minutes of what `make check` does for seconds.
STRESS_SECONDS ?= 140
stress: tests-build
	$(Q)B=$(B) STRESS_SECONDS=$(STRESS_SECONDS) tests/e2e/shim_stress.sh
	$(Q)B=$(B) STRESS_SECONDS=$(STRESS_SECONDS) tests/e2e/stress_log.sh
.PHONY: check-abi check-imports coverage stress

# Programs the tests of the shim run under it.
SHIM_PROBES := $(B)/tests/shim_matrix $(B)/tests/shim_law $(B)/tests/shim_stress \
	$(B)/tests/shim_stress_check $(B)/tests/shim_odd \
	$(B)/tests/shim_stack $(B)/tests/shim_same
EXTRA_TEST_BINS += $(SHIM_PROBES)
$(SHIM_PROBES): $(B)/tests/%: tests/probe/%.c | $$(@D)/.d
	$(call say,CC,$<)
	$(Q)$(CC) $(BASE_CFLAGS) $(CFLAGS) -Wno-deprecated-declarations -fPIE -pie -o $@ $< -lpthread

# And as 32-bit programs.
ifneq ($(M32),)
SHIM_PROBES32 := $(SHIM_PROBES:$(B)/tests/shim_%=$(B)/tests/shim_32_%)
EXTRA_TEST_BINS += $(SHIM_PROBES32)
$(SHIM_PROBES32): $(B)/tests/shim_32_%: tests/probe/shim_%.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(M32) $(BASE_CFLAGS) $(CFLAGS) -Wno-deprecated-declarations -fPIE -pie -o $@ $< -lpthread
endif

# Unit tests see all but the exported names, which would take the place of the test's own.
SHIM_UNIT := $(patsubst %.c,$(B)/%,$(wildcard tests/unit/shim/test_*.c))
$(B)/lib/shim-unit.a: $(filter $(B)/shim-obj/shim/%,$(filter-out $(B)/shim-obj/shim/linux/export/%,$(shim_OBJS))) | $$(@D)/.d
	$(Q)rm -f $@ && $(AR) rcs $@ $^
$(SHIM_UNIT): $(B)/lib/shim-unit.a
