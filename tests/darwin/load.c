/* SPDX-License-Identifier: Apache-2.0 */
/* load.c - see load.h; mach-o/loader.h of XNU. The opcodes of LC_DYLD_INFO are enough: the linker
 * writes chained fixups for newer targets only. */
#include "tests/darwin/load.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct macho *inserted;

enum {
	MH_MAGIC_64 = 0xfeedfacf,
#ifdef __aarch64__
	CPU_HERE = 0x0100000c,
#else
	CPU_HERE = 0x01000007,
#endif
	FAT_MAGIC_BIG = 0xcafebabe,
	LC_SEGMENT_64 = 0x19,
	LC_DYLD_INFO_ONLY = 0x80000022,
	LC_MAIN = 0x80000028,
	SECTION_TYPE = 0xff,
	MOD_INIT = 9
};

struct header {
	uint32_t magic, cpu, subtype, type, ncmds, sizeofcmds, flags, reserved;
};
struct command {
	uint32_t cmd, size;
};
struct macho_segment {
	uint32_t cmd, size;
	char name[16];
	uint64_t addr, vmsize, offset, filesize;
	uint32_t maxprot, initprot, nsects, flags;
};
struct section {
	char name[16], segment[16];
	uint64_t addr, size;
	uint32_t offset, align, reloff, nreloc, flags, r1, r2, r3;
};
struct dyld_info {
	uint32_t cmd, size, rebase_off, rebase_size, bind_off, bind_size, weak_off, weak_size,
		lazy_off, lazy_size, export_off, export_size;
};

static _Noreturn void fail(const char *what, const char *name)
{
	fprintf(stderr, "load: %s%s%s\n", what, name ? ": " : "", name ? name : "");
	_exit(99);
}

static uint32_t big(const char *p)
{
	const unsigned char *u = (const void *)p;

	return (uint32_t)u[0] << 24 | (uint32_t)u[1] << 16 | (uint32_t)u[2] << 8 | u[3];
}

static void read_file(struct macho *m, const char *file)
{
	char *image;

	int fd = open(file, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		fail("cannot open", file);
	image = m->image = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (image == MAP_FAILED)
		fail("cannot map", file);
	if (big(image) != FAT_MAGIC_BIG)
		return;
	for (uint32_t i = 0; i < big(image + 4); i++)
		if (big(image + 8 + 20 * i) == CPU_HERE) {
			m->image = image + big(image + 16 + 20 * i);
			return;
		}
	fail("no slice for this machine", file);
}

typedef void each_fn(struct macho *, const void *command);

static void each_command(struct macho *m, uint32_t cmd, each_fn *each)
{
	const struct header *h = (const void *)m->image;
	const char *p = m->image + sizeof *h;

	for (uint32_t i = 0; i < h->ncmds; i++) {
		const struct command *c = (const void *)p;

		if (c->cmd == cmd)
			each(m, c);
		p += c->size;
	}
}

static void note_segment(struct macho *m, const void *command)
{
	if (m->nsegments == MACHO_SEGMENTS)
		fail("too many segments", NULL);
	m->segments[m->nsegments++] = command;
}

static bool is_mapped(const struct macho_segment *s)
{
	return strcmp(s->name, "__PAGEZERO") != 0;
}

static void map_segments(struct macho *m)
{
	uint64_t low = UINT64_MAX, high = 0;

	for (size_t i = 0; i < m->nsegments; i++) {
		const struct macho_segment *s = m->segments[i];

		if (!is_mapped(s))
			continue;
		low = s->addr < low ? s->addr : low;
		high = s->addr + s->vmsize > high ? s->addr + s->vmsize : high;
	}
	m->base =
		mmap(NULL, high - low, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (m->base == MAP_FAILED)
		fail("no memory", NULL);
	m->slide = (uint64_t)(uintptr_t)m->base - low;
	for (size_t i = 0; i < m->nsegments; i++) {
		const struct macho_segment *s = m->segments[i];

		if (is_mapped(s))
			memcpy((char *)(uintptr_t)(s->addr + m->slide), m->image + s->offset,
			       s->filesize);
	}
}

static uint64_t uleb(const uint8_t **p)
{
	uint64_t v = 0;

	for (unsigned shift = 0;; shift += 7) {
		uint8_t byte = *(*p)++;

		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
}

static void skip_sleb(const uint8_t **p)
{
	while (*(*p)++ & 0x80)
		;
}

static uint64_t *place(const struct macho *m, unsigned segment, uint64_t offset)
{
	if (segment >= m->nsegments)
		fail("no such segment", NULL);
	return (uint64_t *)(uintptr_t)(m->segments[segment]->addr + offset + m->slide);
}

static void rebase(const struct macho *m, const uint8_t *p, const uint8_t *end)
{
	uint64_t at = 0, n, skip;
	unsigned segment = 0;

	while (p < end) {
		unsigned op = *p & 0xf0, imm = *p & 0x0f;

		p++;
		n = 0;
		skip = 0;
		switch (op) {
		case 0x00: /* done; padding may follow */
			return;
		case 0x10: /* type: a pointer is the only one */
			continue;
		case 0x20:
			segment = imm;
			at = uleb(&p);
			continue;
		case 0x30:
			at += uleb(&p);
			continue;
		case 0x40:
			at += imm * 8ull;
			continue;
		case 0x50:
			n = imm;
			break;
		case 0x60:
			n = uleb(&p);
			break;
		case 0x70:
			n = 1;
			skip = uleb(&p);
			break;
		case 0x80:
			n = uleb(&p);
			skip = uleb(&p);
			break;
		default:
			fail("unknown rebase opcode", NULL);
		}
		for (; n--; at += 8 + skip)
			*place(m, segment, at) += m->slide;
	}
}

static void place_symbol(uint64_t *at, const char *symbol)
{
	void *found = inserted ? macho_replacement(inserted, symbol) : NULL;

	if (!found)
		found = libsystem_find(symbol);
	if (!found)
		fail("libSystem here has no", symbol);
	*at = (uint64_t)(uintptr_t)found;
}

static void bind(const struct macho *m, const uint8_t *p, const uint8_t *end, bool is_lazy)
{
	uint64_t at = 0, n, skip;
	const char *symbol = "";
	unsigned segment = 0;

	while (p < end) {
		unsigned op = *p & 0xf0, imm = *p & 0x0f;

		p++;
		n = 0;
		skip = 0;
		switch (op) {
		case 0x00:
			if (!is_lazy)
				return;
			continue; /* between two lazy ones */
		case 0x10:	  /* which library: there is one name space here */
		case 0x30:
		case 0x50:
			continue;
		case 0x20:
			uleb(&p);
			continue;
		case 0x40:
			symbol = (const char *)p;
			p += strlen(symbol) + 1;
			continue;
		case 0x60:
			skip_sleb(&p);
			continue;
		case 0x70:
			segment = imm;
			at = uleb(&p);
			continue;
		case 0x80:
			at += uleb(&p);
			continue;
		case 0x90:
			n = 1;
			break;
		case 0xa0:
			n = 1;
			skip = uleb(&p);
			break;
		case 0xb0:
			n = 1;
			skip = imm * 8ull;
			break;
		case 0xc0:
			n = uleb(&p);
			skip = uleb(&p);
			break;
		default:
			fail("unknown bind opcode", NULL);
		}
		for (; n--; at += 8 + skip)
			place_symbol(place(m, segment, at), symbol);
	}
}

static void fix_up(struct macho *m, const void *command)
{
	const struct dyld_info *d = command;
	const uint8_t *p = (const uint8_t *)m->image;

	rebase(m, p + d->rebase_off, p + d->rebase_off + d->rebase_size);
	bind(m, p + d->bind_off, p + d->bind_off + d->bind_size, false);
	bind(m, p + d->lazy_off, p + d->lazy_off + d->lazy_size, true);
}

static const struct section *find_section(const struct macho *m, unsigned type, const char *name)
{
	for (size_t i = 0; i < m->nsegments; i++) {
		const struct section *s = (const void *)(m->segments[i] + 1);

		for (uint32_t k = 0; k < m->segments[i]->nsects; k++, s++)
			if (name ? strncmp(s->name, name, sizeof s->name) == 0
				 : (s->flags & SECTION_TYPE) == type)
				return s;
	}
	return NULL;
}

static void protect(const struct macho *m)
{
	for (size_t i = 0; i < m->nsegments; i++)
		if (is_mapped(m->segments[i]))
			mprotect((void *)(uintptr_t)(m->segments[i]->addr + m->slide),
				 m->segments[i]->vmsize, (int)(m->segments[i]->initprot & 7));
}

void macho_load(const char *file, struct macho *out)
{
	const struct section *pairs;

	*out = (struct macho){.file = file};
	read_file(out, file);
	if (((const struct header *)(const void *)out->image)->magic != MH_MAGIC_64 ||
	    ((const struct header *)(const void *)out->image)->cpu != CPU_HERE)
		fail("not for this machine", file);
	each_command(out, LC_SEGMENT_64, note_segment);
	map_segments(out);
	each_command(out, LC_DYLD_INFO_ONLY, fix_up);
	protect(out);
	pairs = find_section(out, 0, "__interpose");
	if (pairs) {
		out->interpose = (char *)(uintptr_t)(pairs->addr + out->slide);
		out->npairs = pairs->size / 16;
	}
}

void macho_construct(const struct macho *m, int argc, char **argv, char **envp)
{
	const struct section *s = find_section(m, MOD_INIT, NULL);
	typedef void init_fn(int, char **, char **);

	for (uint64_t i = 0; s && i < s->size / 8; i++)
		((init_fn **)(uintptr_t)(s->addr + m->slide))[i](argc, argv, envp);
}

static void note_entry(struct macho *m, const void *command)
{
	m->entry = *(const uint64_t *)(const void *)((const char *)command + 8);
}

int macho_main(struct macho *m, int argc, char **argv, char **envp)
{
	typedef int main_fn(int, char **, char **, char **);
	char *apple[] = {NULL};

	each_command(m, LC_MAIN, note_entry);
	if (!m->entry)
		fail("no entry", m->file);
	return ((main_fn *)(uintptr_t)(m->base + m->entry))(argc, argv, envp, apple);
}

void *macho_replacement(const struct macho *m, const char *name)
{
	void **pair = (void *)m->interpose;

	for (size_t i = 0; i < m->npairs; i++, pair += 2)
		if (pair[1] == libsystem_find(name))
			return pair[0];
	return NULL;
}

void macho_insert(const struct macho *library)
{
	inserted = library;
}
