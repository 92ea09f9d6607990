/* SPDX-License-Identifier: Apache-2.0 */
/* next.c - see next.h. */
#include "shim/next.h"

#include <elf.h>
#include <errno.h>
#include <link.h>

#include "shim/mem.h"
#include "shim/proc.h"

_Atomic(void *) shim_next_found[SHIM_NEXT_COUNT];

/* The loader's list of objects: one of the two names exists, in glibc or in musl. */
extern struct r_debug _r_debug __attribute__((weak));
extern struct r_debug *_dl_debug_addr __attribute__((weak));
extern ElfW(Dyn) _DYNAMIC[] __attribute__((visibility("hidden")));

static const struct link_map *first_object(void)
{
	const struct r_debug *debug = &_r_debug;

	if (!debug && &_dl_debug_addr)
		debug = _dl_debug_addr;
	return debug ? debug->r_map : NULL;
}

static const struct link_map *own_object(void)
{
	const struct link_map *m = first_object();

	while (m && m->l_ld != _DYNAMIC)
		m = m->l_next;
	return m;
}

struct symbols {
	const ElfW(Sym) * sym;
	const char *str;
	const uint32_t *gnu_hash;
	const uint32_t *sysv_hash;
	const ElfW(Half) * version;
	bool is_old; /* look for versions that are not the default */
};

/* glibc writes the final addresses into the dynamic section, except where it is read-only
 * (the vdso); musl never does. An address below the load address was not relocated. */
static const void *dyn_pointer(const struct link_map *m, ElfW(Addr) value)
{
	if (value < m->l_addr)
		value += m->l_addr;
	return (const void *)value;
}

static bool read_symbols(const struct link_map *m, struct symbols *s)
{
	const ElfW(Dyn) * d;

	*s = (struct symbols){0};
	for (d = m->l_ld; d && d->d_tag != DT_NULL; d++) {
		const void *p = dyn_pointer(m, d->d_un.d_ptr);

		if (d->d_tag == DT_SYMTAB)
			s->sym = p;
		else if (d->d_tag == DT_STRTAB)
			s->str = p;
		else if (d->d_tag == DT_GNU_HASH)
			s->gnu_hash = p;
		else if (d->d_tag == DT_HASH)
			s->sysv_hash = p;
		else if (d->d_tag == DT_VERSYM)
			s->version = p;
	}
	return s->sym && s->str && (s->gnu_hash || s->sysv_hash);
}

/* Versions marked hidden (0x8000) are the old ones: the default is ours to call. */
static bool is_match(const struct symbols *s, uint32_t i, const char *name)
{
	const ElfW(Sym) *sym = &s->sym[i];
	unsigned type = ELF64_ST_TYPE(sym->st_info);

	if (sym->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_NOTYPE))
		return false;
	if (s->is_old != (s->version && s->version[i] & 0x8000))
		return false;
	return shim_equal(s->str + sym->st_name, name);
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	while (*name)
		h = h * 33 + (unsigned char)*name++;
	return h;
}

static const ElfW(Sym) * find_gnu(const struct symbols *s, const char *name, uint32_t hash)
{
	uint32_t nbuckets = s->gnu_hash[0], first = s->gnu_hash[1], nbloom = s->gnu_hash[2];
	const ElfW(Addr) *bloom = (const void *)(s->gnu_hash + 4);
	const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + nbloom);
	const uint32_t *chain = buckets + nbuckets;
	enum { BITS = sizeof(ElfW(Addr)) * 8 };
	ElfW(Addr) word = bloom[hash / BITS & (nbloom - 1)];
	uint32_t i;

	if (!(word >> hash % BITS & word >> (hash >> s->gnu_hash[3]) % BITS & 1))
		return NULL;
	i = nbuckets ? buckets[hash % nbuckets] : 0;
	if (i < first)
		return NULL;
	for (;; i++) {
		uint32_t h = chain[i - first];

		if ((h | 1) == (hash | 1) && is_match(s, i, name))
			return &s->sym[i];
		if (h & 1)
			return NULL;
	}
}

/* Objects without a GNU hash table are rare (the vdso of old kernels): all symbols in turn. */
static const ElfW(Sym) * find_linear(const struct symbols *s, const char *name)
{
	uint32_t i, n = s->sysv_hash[1];

	for (i = 0; i < n; i++)
		if (is_match(s, i, name))
			return &s->sym[i];
	return NULL;
}

static void *find_version(const struct link_map *m, const char *name, uint32_t hash, bool is_old)
{
	struct symbols s;
	const ElfW(Sym) * sym;

	if (!read_symbols(m, &s))
		return NULL;
	s.is_old = is_old;
	sym = s.gnu_hash ? find_gnu(&s, name, hash) : find_linear(&s, name);
	return sym ? (void *)(m->l_addr + sym->st_value) : NULL;
}

static void *find_in(const struct link_map *m, const char *name, uint32_t hash)
{
	return find_version(m, name, hash, false);
}

/* The objects loaded at start stand before those of dlopen(), and one of them is the C
 * library, so that the walk ends before the part of the list other threads may change. */
static void *find_after(const struct link_map *m, const char *name, const struct link_map **owner)
{
	uint32_t hash = gnu_hash(name);

	for (m = m ? m->l_next : NULL; m; m = m->l_next) {
		void *fn = find_in(m, name, hash);

		if (fn) {
			*owner = m;
			return fn;
		}
	}
	return NULL;
}

/* ---- names ---- */

/* Offsets into one block: an array of pointers would cost a relocation each at every start. */
struct names {
#define X(name, ...) char name_##name[sizeof #name];
	SHIM_EXPORTS(X) SHIM_BORROWED(X)
#undef X
};
static const struct names names = {
#define X(name, ...) #name,
	SHIM_EXPORTS(X) SHIM_BORROWED(X)
#undef X
};
static const uint16_t name_at[] = {
#define X(name, ...) offsetof(struct names, name_##name),
	SHIM_EXPORTS(X) SHIM_BORROWED(X)
#undef X
};

static const char *name_of(enum shim_next_id id)
{
	return (const char *)&names + name_at[id];
}

static long missing(void)
{
	shim_set_errno(ENOSYS);
	return -1;
}

static void *missing_pointer(void)
{
	shim_set_errno(ENOSYS);
	return NULL;
}

static void *stand_in(enum shim_next_id id)
{
	if (id == NEXT_canonicalize_file_name || id == NEXT_fts_open || id == NEXT_fts64_open)
		return (void *)missing_pointer;
	return (void *)missing;
}

/* musl from 1.2.4 on has no names in 64: the plain ones are meant. */
static bool plain_name(const char *name, char *buf, size_t size)
{
	size_t n = strlen(name);

	if (n < 3 || n >= size || !shim_equal(name + n - 2, "64"))
		return false;
	memcpy(buf, name, n - 2);
	buf[n - 2] = '\0';
	return true;
}

static void *find(enum shim_next_id id, const struct link_map **owner)
{
	const struct link_map *own = own_object();
	const char *name = name_of(id);
	char plain[40];
	void *fn = find_after(own, name, owner);

	if (!fn && plain_name(name, plain, sizeof plain))
		fn = find_after(own, plain, owner);
	return fn;
}

void *shim_next_find(enum shim_next_id id)
{
	const struct link_map *owner;
	void *fn = find(id, &owner);

	if (!fn)
		return stand_in(id);
	atomic_store_explicit(&shim_next_found[id], fn, memory_order_relaxed);
	return fn;
}

void *shim_next_old(enum shim_next_id id)
{
	const struct link_map *owner;
	const char *name = name_of(id);

	return find(id, &owner) ? find_version(owner, name, gnu_hash(name), true) : NULL;
}

bool shim_next_is_foreign(enum shim_next_id id)
{
	const struct link_map *owner = NULL, *libc = NULL;

	if (!find(id, &owner) || !find_after(own_object(), "__errno_location", &libc))
		return false;
	/* before 2.34 glibc's libpthread had wrappers of its own */
	return owner != libc && !shim_has_prefix(shim_basename(owner->l_name), "libpthread");
}

const char *shim_own_path(void)
{
	const struct link_map *m = own_object();

	return m && m->l_name ? m->l_name : "";
}

static bool is_vdso(const struct link_map *m)
{
	return m->l_name && (shim_has_prefix(m->l_name, "linux-vdso") ||
			     shim_has_prefix(m->l_name, "linux-gate"));
}

void *shim_vdso(const char *name)
{
	const struct link_map *m = first_object();

	for (; m; m = m->l_next)
		if (is_vdso(m))
			return find_in(m, name, gnu_hash(name));
	return NULL;
}

/* ---- who stands before us ---- */

#define X(...) +1
enum { EXPORTED = 0 SHIM_EXPORTS(X) };
#undef X

static bool defines_ours(const struct link_map *m)
{
	unsigned id;

	for (id = 0; id < EXPORTED; id++)
		if (find_in(m, name_of(id), gnu_hash(name_of(id))))
			return true;
	return false;
}

/* By asking the loader who is next, or by number, which is asked of us. A symbol table with a GNU
 * hash has what is undefined at its beginning. */
static bool can_hand_on(const struct link_map *m)
{
	struct symbols s;
	uint32_t i, n;

	if (!read_symbols(m, &s))
		return false;
	n = s.gnu_hash ? s.gnu_hash[1] : s.sysv_hash[1];
	for (i = 1; i < n; i++) {
		const char *name = s.str + s.sym[i].st_name;

		if (s.sym[i].st_shndx == SHN_UNDEF &&
		    (shim_equal(name, "dlsym") || shim_equal(name, "dlvsym") ||
		     shim_equal(name, "syscall")))
			return true;
	}
	return false;
}

const char *shim_next_usurper(void)
{
	const struct link_map *own = own_object(), *m = first_object();

	/* the first is the program: what it defines itself it does itself */
	for (m = m && own ? m->l_next : NULL; m && m != own; m = m->l_next)
		if (!is_vdso(m) && defines_ours(m) && !can_hand_on(m))
			return m->l_name ? m->l_name : "";
	return NULL;
}
