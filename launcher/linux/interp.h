/* interp.h - what else the kernel starts or maps when it executes a file: execve(2), elf(5). */
#pragma once

#include <limits.h>

/* Interpreters of interpreters that execve(2) follows, and the loader of the last. */
#define LAU_INTERP_DEPTH 6

enum lau_interp { LAU_INTERP_NONE, LAU_INTERP_SCRIPT, LAU_INTERP_LOADER };

/* The interpreter that the open file names: behind "#!", or in PT_INTERP of a 64-bit ELF file
 * (32-bit ones are ended by the filter at their first call). Its path, as written, to `out`. */
enum lau_interp lau_interp_read(int fd, char out[PATH_MAX]);
