/* SPDX-License-Identifier: Apache-2.0 */
/*
 * naive.h - the glob language of sbx-policy(5) once more, by trying all ways. It shares nothing
 * with the product.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Does the pattern match the path, relative to the same directory? At most 255 bytes each. */
bool naive_match(const char *glob, const char *path, size_t len, bool folds);
