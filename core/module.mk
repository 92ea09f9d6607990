core_SRCS := core/event.c core/ring.c core/ring_read.c
