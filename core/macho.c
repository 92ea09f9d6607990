/* SPDX-License-Identifier: Apache-2.0 */
/* macho.c - see macho.h. */
#include "core/macho.h"

#include <stdint.h>
#include <string.h>

enum {
	MH_MAGIC_64 = 0xfeedfacf,
	FAT_MAGIC = 0xcafebabe,
	FAT_MAGIC_64 = 0xcafebabf,
	CPU_ARM64 = 0x0100000c,
	CPU_X86_64 = 0x01000007,
	SUBTYPE_MASK = 0x00ffffff, /* above: capability bits */
	SUBTYPE_ARM64E = 2,
	FAT_ENTRY = 20,	   /* sizeof(struct fat_arch) */
	FAT_ENTRY_64 = 32, /* sizeof(struct fat_arch_64) */
	MH_HEADER = 32,	   /* sizeof(struct mach_header_64) */
	LC_CODE_SIGNATURE = 0x1d,
	CS_RUNTIME = 0x10000, /* flags of a code directory: cs_blobs.h of XNU */
	MAX_COMMANDS = 512,
	MAX_BLOBS = 32,
	MAX_ENTITLEMENTS = 65536,
	MAX_SLICES = 30 /* a Java class has the same magic and a version of 45 and up here */
};

static uint32_t little(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static uint32_t big(const unsigned char *p)
{
	return (uint32_t)p[3] | (uint32_t)p[2] << 8 | (uint32_t)p[1] << 16 | (uint32_t)p[0] << 24;
}

static unsigned slice(uint32_t cpu, uint32_t subtype)
{
	if (cpu == CPU_X86_64)
		return SBX_SLICE_X86_64;
	if (cpu != CPU_ARM64)
		return SBX_SLICE_OTHER;
	return (subtype & SUBTYPE_MASK) == SUBTYPE_ARM64E ? SBX_SLICE_ARM64E : SBX_SLICE_ARM64;
}

unsigned sbx_macho_slices(const void *head, size_t n)
{
	const unsigned char *p = head;
	unsigned slices = 0;
	uint32_t count;
	size_t entry;

	if (n < 12)
		return 0;
	if (little(p) == (uint32_t)MH_MAGIC_64)
		return slice(little(p + 4), little(p + 8));
	if (big(p) != (uint32_t)FAT_MAGIC && big(p) != (uint32_t)FAT_MAGIC_64)
		return 0;
	count = big(p + 4);
	entry = big(p) == (uint32_t)FAT_MAGIC ? FAT_ENTRY : FAT_ENTRY_64;
	if (count == 0 || count > MAX_SLICES || n < 8 + count * entry)
		return 0;
	for (uint32_t i = 0; i < count; i++)
		slices |= slice(big(p + 8 + i * entry), big(p + 12 + i * entry));
	return slices;
}

/* ---- the signature ---- */

#define MAGIC_SIGNATURE	   0xfade0cc0u
#define MAGIC_DIRECTORY	   0xfade0c02u
#define MAGIC_ENTITLEMENTS 0xfade7171u

struct file {
	sbx_macho_read_fn *read;
	void *ctx;
};

static bool get(const struct file *f, uint64_t at, void *to, size_t n)
{
	return f->read(f->ctx, at, to, n);
}

/* Where the slice begins; false = it is not there. */
static bool find_slice(const struct file *f, unsigned want, uint64_t *out_base)
{
	unsigned char head[12], e[FAT_ENTRY_64];
	bool is_64;

	if (!get(f, 0, head, sizeof head))
		return false;
	*out_base = 0;
	if (little(head) == (uint32_t)MH_MAGIC_64)
		return slice(little(head + 4), little(head + 8)) == want;
	is_64 = big(head) == (uint32_t)FAT_MAGIC_64;
	if ((!is_64 && big(head) != (uint32_t)FAT_MAGIC) || big(head + 4) > MAX_SLICES)
		return false;
	for (uint32_t i = 0, n = is_64 ? FAT_ENTRY_64 : FAT_ENTRY; i < big(head + 4); i++) {
		if (!get(f, 8 + (uint64_t)i * n, e, n))
			return false;
		if (slice(big(e), big(e + 4)) != want)
			continue;
		*out_base = is_64 ? (uint64_t)big(e + 8) << 32 | big(e + 12) : big(e + 8);
		return *out_base < UINT64_MAX / 2;
	}
	return false;
}

static bool find_signature(const struct file *f, uint64_t base, uint64_t *out_at, uint32_t *out_len)
{
	unsigned char h[MH_HEADER], c[16];
	uint64_t at = base + MH_HEADER, end;
	uint32_t n;

	if (!get(f, base, h, sizeof h) || little(h) != (uint32_t)MH_MAGIC_64)
		return false;
	n = little(h + 16);
	end = at + little(h + 20);
	for (uint32_t i = 0; i < n && i < MAX_COMMANDS && end - at >= sizeof c; i++) {
		if (!get(f, at, c, sizeof c))
			return false;
		if (little(c) == LC_CODE_SIGNATURE) {
			*out_at = base + little(c + 8);
			*out_len = little(c + 12);
			return true;
		}
		if (little(c + 4) < 8 || little(c + 4) > end - at)
			return false;
		at += little(c + 4);
	}
	return false;
}

/* "KEY</key> <true/>" at `p`, of which `n` bytes are there. */
static bool is_true(const char *p, size_t n, const char *key, size_t len)
{
	static const char close[] = "</key>", yes[] = "<true/>";

	if (n < len + sizeof close - 1 || memcmp(p, key, len) != 0 ||
	    memcmp(p + len, close, sizeof close - 1) != 0)
		return false;
	p += len + sizeof close - 1;
	n -= len + sizeof close - 1;
	for (; n && (*p == ' ' || *p == '\n' || *p == '\t' || *p == '\r'); p++, n--)
		;
	return n >= sizeof yes - 1 && memcmp(p, yes, sizeof yes - 1) == 0;
}

/* Searches one window at a time. Each begins with the end of the one before. */
static bool is_entitled(const struct file *f, uint64_t at, uint32_t len, const char *key)
{
	enum { WINDOW = 1024, OVERLAP = 160 };
	const size_t key_len = strlen(key);
	char buf[WINDOW];

	for (uint32_t pos = 0; pos < len && pos < MAX_ENTITLEMENTS; pos += WINDOW - OVERLAP) {
		size_t n = len - pos < WINDOW ? len - pos : WINDOW;

		if (!get(f, at + pos, buf, n))
			return false;
		for (size_t i = 0; i < n; i++)
			if (buf[i] == 'c' && is_true(buf + i, n - i, key, key_len))
				return true;
	}
	return false;
}

bool sbx_macho_is_closed(sbx_macho_read_fn *read, void *ctx, unsigned want)
{
	const struct file f = {read, ctx};
	bool is_hardened = false, lets_in = false;
	unsigned char head[12], e[8], b[16];
	uint64_t base, at;
	uint32_t len;

	if (!find_slice(&f, want, &base) || !find_signature(&f, base, &at, &len) ||
	    !get(&f, at, head, sizeof head) || big(head) != MAGIC_SIGNATURE)
		return false;
	for (uint32_t i = 0; i < big(head + 8) && i < MAX_BLOBS; i++) {
		uint64_t blob;

		if (!get(&f, at + sizeof head + 8 * (uint64_t)i, e, sizeof e))
			return false;
		blob = at + big(e + 4);
		if (big(e + 4) >= len || !get(&f, blob, b, sizeof b))
			continue;
		if (big(b) == MAGIC_DIRECTORY)
			is_hardened |= (big(b + 12) & CS_RUNTIME) != 0;
		else if (big(b) == MAGIC_ENTITLEMENTS)
			lets_in = is_entitled(&f, blob, big(b + 4),
					      "com.apple.security.cs."
					      "allow-dyld-environment-variables") &&
				  is_entitled(&f, blob, big(b + 4),
					      "com.apple.security.cs.disable-library-validation");
	}
	return is_hardened && !lets_in;
}
