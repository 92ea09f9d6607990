/* clock.h - wall-clock time without a system call, by the kernel's vdso. */
#pragma once

#include <stdint.h>

/* CLOCK_REALTIME in nanoseconds. [AS-safe] [MT-safe] */
uint64_t shim_now_ns(void);
/* The same by system call: at the start of a program cheaper than the first touch of the vdso. */
uint64_t shim_now_ns_cold(void);
