/* SPDX-License-Identifier: Apache-2.0 */
/*
 * imgcache.h - compiled policies by the rules they were compiled from.
 *
 * Equal rules give equal images, so what was compiled once need not be compiled at the next
 * start. The directory is private, and no sandboxed command may touch it: what lies there is
 * believed. Nothing here fails: without the cache the policy is compiled.
 *
 * DIR/HASH is an image, by its content; DIR/key-KEY is a link to the image of these rules. The
 * oldest images beyond POL_CACHE_KEEP that no run uses are dropped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"

struct pol_compile_opts;
struct pol_ruleset;

#define POL_CACHE_KEEP 32

/* Names the rules, as compiled by this very program. */
void pol_imgcache_key(const struct pol_ruleset *, const struct pol_compile_opts *,
		      char out[B_SHA256_HEX]);

/* The same, as compiled by any build of this version. */
void pol_imgcache_rules_key(const struct pol_ruleset *, const struct pol_compile_opts *,
			    char out[B_SHA256_HEX]);

/* An image in use: while `fd` is open it is not dropped. */
struct pol_cached {
	int fd;
	char *path; /* malloc'ed */
	void *map;  /* read-only */
	size_t size;
	char hash[B_SHA256_HEX]; /* SHA-256 of the image, its name */
};

/* False: not there. */
bool pol_imgcache_get(const char *dir, const char *key, struct pol_cached *out);
void pol_imgcache_put(const char *dir, const char *key, const void *image, size_t size,
		      const char hash[B_SHA256_HEX]);
void pol_cached_release(struct pol_cached *);
