core_SRCS := core/callnames.c core/event.c core/ring.c core/ring_read.c
