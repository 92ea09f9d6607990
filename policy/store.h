/*
 * store.h - policies by name: NAME.yaml in the directory of the host and in that of the user.
 *
 *	struct pol_store store;
 *	pol_store_find(&arena, &store);
 *	if (pol_store_is_name(text))
 *		pol_store_files(&store, &arena, text, files, &n, &err);
 *
 * Where both have the name, the host's comes first and the user's is merged on it
 * (pol_doc_merge()). Only the user's is ever written.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/mem.h"

struct b_err;

#define POL_STORE_PLACES 2

struct pol_store {
	const char *dirs[POL_STORE_PLACES]; /* host, user; NULL = none (no home) */
};

/* /etc/sbx-launch/policies, $XDG_CONFIG_HOME/sbx-launch/policies (~/.config). Arena. */
void pol_store_find(struct b_arena *, struct pol_store *out);

/* Is the text of --policy a name? A file is written with a slash or a dot: a name has neither, so
 * no file that lies about in the current directory is ever taken for one. */
bool pol_store_is_name(const char *text);

/* The files of that name, in the order of merging. B_POLICY: it is no name (checked before any
 * path is built), or there is none of it. */
int pol_store_files(const struct pol_store *, struct b_arena *, const char *name,
		    const char *out[POL_STORE_PLACES], size_t *out_n, struct b_err *err);
/* All names, once each, sorted. Entries that are no names are left out. Arena. */
int pol_store_list(const struct pol_store *, struct b_arena *, const char ***out, size_t *out_n,
		   struct b_err *err);
/* Puts a valid document into the user's directory, under its metadata.name, over what was there.
 * *out_path (arena) is where. */
int pol_store_add(const struct pol_store *, struct b_arena *, const char *file,
		  const char **out_path, struct b_err *err);
