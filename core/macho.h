/* SPDX-License-Identifier: Apache-2.0 */
/*
 * macho.h - which machines a Mach-O file has code for, and whether dyld will insert a library
 * there. Pure: bytes to values. [AS-safe] [no-alloc] Layout: mach-o/loader.h and mach-o/fat.h of
 * XNU; every field is checked against the length.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBX_SLICE_ARM64 0x1u
#define SBX_SLICE_ARM64E                                                                           \
	0x2u /* pointer authentication: an arm64 library inserted there kills it                   \
	      */
#define SBX_SLICE_X86_64 0x4u
#define SBX_SLICE_OTHER	 0x8u

/* SBX_SLICE_* of the first `n` bytes of a file (4,096 hold the table of any real one); 0 = not
 * Mach-O, or damaged. */
unsigned sbx_macho_slices(const void *head, size_t n);

/* The `n` bytes of the file at `at`; false when it does not have them. */
typedef bool sbx_macho_read_fn(void *ctx, uint64_t at, void *to, size_t n);

/* Has the code of `slice` (one of SBX_SLICE_*) the hardened runtime, without the two entitlements
 * that let a library in: allow-dyld-environment-variables, disable-library-validation? False for
 * what is damaged or not signed, which is the kernel's to refuse. Reads a bounded number of times:
 * at most 512 load commands, 32 blobs, 64 KiB of entitlements. */
bool sbx_macho_is_closed(sbx_macho_read_fn *read, void *ctx, unsigned slice);
