/*
 * folded.h - what the policy says where a file system does not tell names apart.
 *
 * There rules that deny match the folded text of a path (fold.h), rules that allow match as ever;
 * the last rule that matches wins. These answers only take away: they are asked about paths that
 * sbx_decide() allows, and of an image without folded denials (hdr->folds) the answer is none.
 * They take a few hundred nanoseconds and no file system is asked: whether one folds is to be found
 * out when a rule objects, which it hardly ever does.
 *
 * Everything here is [AS-safe] [MT-safe] [no-alloc].
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "core/image.h"

/* What the directories of a path may do to names. */
#define SBX_FOLDS_CASE	1u /* names that differ by case or form are one */
#define SBX_FOLDS_ALIAS 2u /* a name may have another beside it: `GIT~1` */

/* The rule that denies the path where directories fold so, or -1. */
int sbx_folded_rule(const struct sbx_image *, enum sbx_op, const char *path, size_t len,
		    unsigned how);
/* A rule that may deny, on any such file system, the path or something below it; -1: there is
 * none, whatever lies there. */
int sbx_folded_near(const struct sbx_image *, enum sbx_op, const char *path, size_t len);
/* Do the same rules deny the same names below the two directories? False: perhaps. */
bool sbx_folded_same(const struct sbx_image *, enum sbx_op, const char *a, size_t a_len,
		     const char *b, size_t b_len);
