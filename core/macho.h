/*
 * macho.h - which machines a Mach-O file has code for. Pure: bytes to values.
 * Layout: mach-o/loader.h and mach-o/fat.h of XNU; every field is checked against the length.
 */
#pragma once

#include <stddef.h>

#define SBX_SLICE_ARM64	 0x1u
#define SBX_SLICE_ARM64E 0x2u /* pointer authentication: an arm64 library inserted there kills it  \
			       */
#define SBX_SLICE_X86_64 0x4u
#define SBX_SLICE_OTHER	 0x8u

/* SBX_SLICE_* of the first `n` bytes of a file (4,096 hold the table of any real one); 0 = not
 * Mach-O, or damaged. */
unsigned sbx_macho_slices(const void *head, size_t n);
