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
	MAX_SLICES = 30	   /* a Java class has the same magic and a version of 45 and up here */
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
