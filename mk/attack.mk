# SPDX-License-Identifier: Apache-2.0
# The model-based attacker of the wall: tests/escape/attacker.

ATTACK_SRCS := $(wildcard tests/escape/attacker/*.c) core/ring.c
ATTACK_HDRS := $(wildcard tests/escape/attacker/*.h)
EXTRA_TEST_BINS += $(B)/tests/attacker $(B)/tests/attack-host
$(B)/tests/attacker: $(ATTACK_SRCS) $(ATTACK_HDRS) | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -static -o $@ $(ATTACK_SRCS) -lpthread
# Counts nothing, whatever the product is built with: its counters would go where the broker's are.
$(B)/tests/attack-host: tests/support/mkhost.c | $$(@D)/.d
	$(call say,CC,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -static -o $@ $<

# COUNT_BROKER=1: a product whose broker counts its lines in a mapped file, which clang's profile
# runtime makes before anything is confined. Never what is installed or tested.
ifneq ($(COUNT_BROKER),)
$(B)/obj/launcher/linux/broker/%.o: override CFLAGS += -fprofile-instr-generate -fcoverage-mapping \
	-mllvm -runtime-counter-relocation
override LDFLAGS += -fprofile-instr-generate -Wl,-u,__llvm_profile_runtime
endif

# All policies, with and without namespaces, as root and as an ordinary user, for so many seconds in all,
# of which each combination gets an equal part. Less than 90 % of the broker's lines: nothing is shown (status 3).
ATTACK_SECONDS ?= 3600
attack: attack-build
	$(Q)B=build-cov COUNT=1 tests/escape/attack $(ATTACK_SECONDS)
attack-build: setup
	$(Q)LLVM_PROFILE_FILE=/dev/null $(MAKE) -j$(JOBS) B=build-cov CC=clang STATIC= CFLAGS='-O1 -g' COUNT_BROKER=1 all build-cov/tests/attacker build-cov/tests/attack-host
# Each of tests/escape/planted opens a hole in a copy of the product: the attacker must find it.
attack-planted: setup all $(B)/tests/attacker $(B)/tests/attack-host
	$(Q)B=$(B) tests/escape/attack-planted
.PHONY: attack attack-build attack-planted
