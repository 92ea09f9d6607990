/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text_glob.h - wildcards on texts other than file paths: paths and queries of requests. What
 * policy/compile/text_glob.c has made of a pattern is walked here, once, whatever it is: steps are
 * at most pattern times text. No allocation, no library, no system call. Everything here is
 * [AS-safe] [MT-safe] [no-alloc].
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBX_GLOB_OPS 1023u /* of one pattern without braces */

/* An operation is its kind in the highest byte and an operand in the others. */
enum sbx_glob_kind {
	SBX_GLOB_CHAR,	 /* this character (Unicode) */
	SBX_GLOB_ANY,	 /* one that is not the separator */
	SBX_GLOB_CLASS,	 /* one of ranges, or of none of them; operand: below */
	SBX_GLOB_STAR,	 /* any number that are not the separator */
	SBX_GLOB_ALL,	 /* any number */
	SBX_GLOB_ENTRY,	 /* what follows, or what follows the next */
	SBX_GLOB_INSIDE, /* any number, and then one separator */
	SBX_GLOB_KINDS
};

#define SBX_GLOB_OP(kind, operand) ((uint32_t)(kind) << 24 | (uint32_t)(operand))
#define SBX_GLOB_KIND(op)	   ((op) >> 24)
#define SBX_GLOB_OPERAND(op)	   ((op)&0xffffffu)
/* CLASS: ranges of the pattern from `first`, `n` of them. */
#define SBX_GLOB_NEGATED      0x800000u
#define SBX_GLOB_CLASS_N(op)  ((op) >> 12 & 0x7ffu)
#define SBX_GLOB_CLASS_AT(op) ((op)&0xfffu)
#define SBX_GLOB_RANGES_N     0x7ffu /* of a class */
#define SBX_GLOB_RANGES	      0xfffu /* of a pattern */

struct sbx_glob_range {
	uint32_t low, high; /* characters, both included */
};

struct sbx_glob {
	const uint32_t *op;
	uint32_t nops;
	uint32_t separator; /* a character; 0 = none */
	const struct sbx_glob_range *range;
	uint32_t nranges;
};

/* Is it one that sbx_glob_match() can walk? For what was not made in this process. */
bool sbx_glob_check(const struct sbx_glob *);
/* Does the pattern match the whole text? A byte that is not part of valid UTF-8 counts as one
 * character. */
bool sbx_glob_match(const struct sbx_glob *, const char *text, size_t len);
