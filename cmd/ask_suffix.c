/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ask_suffix.c - public suffixes, under which everybody can register a name (co.uk, github.io). The
 * list is libpsl's, which the program loads when it needs it. On a host without libpsl it prints
 * nothing.
 */
#include <dlfcn.h>
#include <string.h>

#include "cmd/ask.h"

/* libpsl.h, whose library need not be there when this is built */
typedef const void *psl_builtin_fn(void);
typedef int psl_is_public_suffix_fn(const void *psl, const char *domain);

static struct {
	const void *list;
	psl_is_public_suffix_fn *is_suffix;
} psl;

/* ISO C has no conversion from a pointer to data, which POSIX demands of dlsym(). */
static void find(void *library, const char *name, void *out_function)
{
	void *at = dlsym(library, name);

	memcpy(out_function, &at, sizeof at);
}

static void load(void)
{
	static const char *const names[] = {"libpsl.so.5", "libpsl.5.dylib"};
	psl_builtin_fn *builtin = NULL;
	void *library = NULL;

	for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return;
	find(library, "psl_builtin", &builtin);
	find(library, "psl_is_public_suffix", &psl.is_suffix);
	psl.list = builtin && psl.is_suffix ? builtin() : NULL;
}

bool ask_is_public_suffix(const char *name)
{
	static bool is_loaded;

	if (!is_loaded)
		load();
	is_loaded = true;
	return psl.list && psl.is_suffix(psl.list, name);
}
