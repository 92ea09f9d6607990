/*
 * writer.h - the bytes of an image while they are written. Private to policy/back/.
 */
#pragma once

#include "base/str.h"
#include "core/image.h"

struct b_err;
struct pol_list;

struct pol_writer {
	struct b_str out;
};

/* Appends n bytes (zeros when p is NULL) at the next multiple of 8; returns their offset. */
uint32_t pol_writer_append(struct pol_writer *, const void *p, size_t n);
/* Appends text (NULL = "") and its NUL. */
struct sbx_image_str pol_writer_text(struct pol_writer *, const char *s);

/* The verdict automaton of a list; B_LIMIT names the rule to blame. */
int pol_write_verdict(struct pol_writer *, const struct pol_list *, struct sbx_dfa *out,
		      struct b_err *);
/* The attribution automata of a list: op->groups and op->ngroups. */
int pol_write_groups(struct pol_writer *, const struct pol_list *, struct sbx_image_op *op,
		     struct b_err *);
