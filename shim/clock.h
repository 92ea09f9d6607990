/* clock.h - wall-clock time without a system call, by the kernel's vdso. */
#pragma once

#include <stdint.h>

/* CLOCK_REALTIME in nanoseconds. [AS-safe] [MT-safe] */
uint64_t shim_now_ns(void);
