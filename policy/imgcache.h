/*
 * imgcache.h - compiled policies by the rules they were compiled from.
 *
 * Equal rules give equal images, so what was compiled once need not be compiled at the next
 * start. The directory is private, and no sandboxed command may touch it: what lies there is
 * believed. Nothing here fails: without the cache the policy is compiled.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/sha256.h"
#include "policy/compile.h"

struct pol_ruleset;

#define POL_CACHE_KEEP 32 /* images */

/* Names the image of these rules, compiled by this very program. */
void pol_imgcache_key(const struct pol_ruleset *, const struct pol_compile_opts *,
		      char out[B_SHA256_HEX]);
/* Maps the image read-only (munmap() *out_map, *out_map_size); it is the first *out_size bytes.
 * `out_hash` is its SHA-256. False: not there. */
bool pol_imgcache_get(const char *dir, const char *key, void **out_map, size_t *out_map_size,
		      size_t *out_size, char out_hash[B_SHA256_HEX]);
/* Makes the directory when it is missing, and drops the oldest images beyond POL_CACHE_KEEP. */
void pol_imgcache_put(const char *dir, const char *key, const void *image, size_t size,
		      const char hash[B_SHA256_HEX]);
