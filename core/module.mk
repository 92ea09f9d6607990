# SPDX-License-Identifier: Apache-2.0
core_SRCS := $(wildcard core/*.c)

# The ring's threads under ThreadSanitizer, run by tests/live/ring_tsan.sh.
TSAN_RING := tests/tsan/ring.c core/ring.c core/ring_read.c
EXTRA_TEST_BINS += $(B)/tests/tsan-ring
$(B)/tests/tsan-ring: $(TSAN_RING) core/ring.h core/ring_priv.h | $$(@D)/.d
	$(call say,TSAN,$@)
	$(Q)$(CC) $(BASE_CFLAGS) -O1 -g -fsanitize=thread -o $@ $(TSAN_RING) -lpthread
