/* SPDX-License-Identifier: Apache-2.0 */
/* Mach-O files made byte by byte: heads, tables of slices, signatures. */
#include "core/macho.h"

#include <string.h>

#include <criterion/criterion.h>

enum { X86_64 = 0x01000007, ARM64 = 0x0100000c, ARM64E = 2, RUNTIME = 0x10000 };

static unsigned char file[8192];
static size_t size;

static void little32(size_t at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		file[at + i] = (unsigned char)(v >> 8 * i);
	size = at + 4 > size ? at + 4 : size;
}

static void big32(size_t at, uint32_t v)
{
	for (unsigned i = 0; i < 4; i++)
		file[at + i] = (unsigned char)(v >> 8 * (3 - i));
	size = at + 4 > size ? at + 4 : size;
}

static void clear(void)
{
	memset(file, 0, sizeof file);
	size = 0;
}

static void thin(size_t at, uint32_t cpu, uint32_t subtype)
{
	little32(at, 0xfeedfacf);
	little32(at + 4, cpu);
	little32(at + 8, subtype);
	little32(at + 28, 0);
}

static void fat(uint32_t n, bool is_64, const uint32_t (*slices)[3])
{
	big32(0, is_64 ? 0xcafebabf : 0xcafebabe);
	big32(4, n);
	for (uint32_t i = 0; i < n; i++) {
		size_t at = 8 + i * (is_64 ? 32 : 20);

		big32(at, slices[i][0]);
		big32(at + 4, slices[i][1]);
		big32(at + (is_64 ? 12 : 8), slices[i][2]);
		big32(at + (is_64 ? 28 : 16), 0);
	}
}

/* A head at `at` whose second command is a signature, 512 bytes behind. */
static void sign(size_t at, uint32_t flags, const char *entitlements)
{
	size_t sig = at + 512, directory = sig + 64, text = sig + 128, n = strlen(entitlements);

	little32(at + 16, 2);
	little32(at + 20, 24 + 16);
	little32(at + 32, 0x1b); /* LC_UUID */
	little32(at + 36, 24);
	little32(at + 56, 0x1d);
	little32(at + 60, 16);
	little32(at + 64, 512);
	little32(at + 68, 128 + 8 + (uint32_t)n);
	big32(sig, 0xfade0cc0);
	big32(sig + 8, 2);
	big32(sig + 16, 64);
	big32(sig + 20, 5);
	big32(sig + 24, 128);
	big32(directory, 0xfade0c02);
	big32(directory + 12, flags);
	big32(text, 0xfade7171);
	big32(text + 4, 8 + (uint32_t)n);
	memcpy(file + text + 8, entitlements, n);
	size = text + 8 + n + 8;
}

static bool read_at(void *ctx, uint64_t at, void *to, size_t n)
{
	(void)ctx;
	if (at > size || n > size - at)
		return false;
	memcpy(to, file + at, n);
	return true;
}

static bool closed(unsigned slice)
{
	return sbx_macho_is_closed(read_at, NULL, slice);
}

#define DYLD "<key>com.apple.security.cs.allow-dyld-environment-variables</key>\n\t<true/>"
#define LIBS "<key>com.apple.security.cs.disable-library-validation</key><true/>"

TestSuite(core_macho, .init = clear);

Test(core_macho, thin_files_have_one_slice)
{
	thin(0, X86_64, 3);
	cr_expect_eq(sbx_macho_slices(file, size), SBX_SLICE_X86_64);
	thin(0, ARM64, 0);
	cr_expect_eq(sbx_macho_slices(file, size), SBX_SLICE_ARM64);
	thin(0, ARM64, 0x80000000u | ARM64E);
	cr_expect_eq(sbx_macho_slices(file, size), SBX_SLICE_ARM64E);
	thin(0, 18, 0);
	cr_expect_eq(sbx_macho_slices(file, size), SBX_SLICE_OTHER);
}

Test(core_macho, fat_files_have_several)
{
	static const uint32_t slices[][3] = {{X86_64, 3, 64}, {ARM64, ARM64E, 128}, {7, 3, 256}};

	for (int is_64 = 0; is_64 < 2; is_64++) {
		clear();
		fat(3, is_64, slices);
		cr_expect_eq(sbx_macho_slices(file, size),
			     SBX_SLICE_X86_64 | SBX_SLICE_ARM64E | SBX_SLICE_OTHER);
		for (size_t n = 0; n < size; n++)
			cr_expect_eq(sbx_macho_slices(file, n), 0, "cut at %zu", n);
	}
}

Test(core_macho, what_is_no_such_file_has_none)
{
	static const uint32_t none[1][3];

	cr_expect_eq(sbx_macho_slices("#!/bin/sh\nexit 1\n", 17), 0);
	cr_expect_eq(sbx_macho_slices("\177ELF\2\1\1\0\0\0\0\0\0\0", 14), 0);
	fat(0, false, none);
	cr_expect_eq(sbx_macho_slices(file, sizeof file), 0);
	big32(4, 52); /* a Java class */
	cr_expect_eq(sbx_macho_slices(file, sizeof file), 0);
}

Test(core_macho, the_hardened_runtime_keeps_libraries_out)
{
	thin(0, ARM64, 0);
	sign(0, RUNTIME, "<dict></dict>");
	cr_expect(closed(SBX_SLICE_ARM64));
	cr_expect_not(closed(SBX_SLICE_X86_64));
	sign(0, 0, "<dict></dict>");
	cr_expect_not(closed(SBX_SLICE_ARM64));
}

Test(core_macho, both_entitlements_let_them_in)
{
	thin(0, ARM64, 0);
	sign(0, RUNTIME, "<dict>" DYLD LIBS "</dict>");
	cr_expect_not(closed(SBX_SLICE_ARM64));
	sign(0, RUNTIME, "<dict>" DYLD "</dict>");
	cr_expect(closed(SBX_SLICE_ARM64));
	sign(0, RUNTIME, "<dict>" LIBS "</dict>");
	cr_expect(closed(SBX_SLICE_ARM64));
	sign(0, RUNTIME,
	     "<dict>" LIBS "<key>com.apple.security.cs.allow-dyld-environment-variables</key>"
	     "<false/></dict>");
	cr_expect(closed(SBX_SLICE_ARM64));
}

Test(core_macho, an_entitlement_is_found_wherever_it_lies)
{
	char text[3000];

	for (size_t pad = 700; pad < 2200; pad += 13) {
		clear();
		memset(text, ' ', sizeof text);
		memcpy(text + pad, DYLD, sizeof DYLD - 1);
		memcpy(text + pad + 200, LIBS, sizeof LIBS - 1);
		text[pad + 500] = '\0';
		thin(0, ARM64, 0);
		sign(0, RUNTIME, text);
		cr_expect_not(closed(SBX_SLICE_ARM64), "behind %zu", pad);
	}
}

Test(core_macho, each_slice_has_a_signature_of_its_own)
{
	static const uint32_t slices[][3] = {{X86_64, 3, 1024}, {ARM64, 0, 4096}};

	for (int is_64 = 0; is_64 < 2; is_64++) {
		clear();
		fat(2, is_64, slices);
		thin(1024, X86_64, 3);
		sign(1024, 0, "");
		thin(4096, ARM64, 0);
		sign(4096, RUNTIME, "");
		cr_expect(closed(SBX_SLICE_ARM64));
		cr_expect_not(closed(SBX_SLICE_X86_64));
		cr_expect_not(closed(SBX_SLICE_ARM64E));
	}
}

Test(core_macho, a_cut_or_senseless_signature_is_none)
{
	size_t whole;

	thin(0, ARM64, 0);
	sign(0, RUNTIME, "");
	whole = size;
	for (size = 0; size < 512 + 64 + 16; size++)
		cr_expect_not(closed(SBX_SLICE_ARM64), "cut at %zu", size);
	size = whole;
	cr_expect(closed(SBX_SLICE_ARM64));
	little32(36, 4); /* a command shorter than its head */
	cr_expect_not(closed(SBX_SLICE_ARM64));
	little32(36, 0xffffffff);
	cr_expect_not(closed(SBX_SLICE_ARM64));
	little32(36, 24);
	little32(64, 0xfffffff0); /* a signature past the end */
	cr_expect_not(closed(SBX_SLICE_ARM64));
}
