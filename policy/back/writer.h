/*
 * writer.h - the bytes of an image while they are written. Private to policy/back/.
 */
#pragma once

#include "base/str.h"
#include "core/image.h"

struct b_err;
struct pol_list;
struct pol_rule;

struct pol_writer {
	struct b_str out;
	size_t work; /* steps that its automata took so far, all together */
};

/* Appends n bytes (zeros when p is NULL) at the next multiple of 8; returns their offset. */
uint32_t pol_writer_append(struct pol_writer *, const void *p, size_t n);
/* Appends text (NULL = "") and its NUL. */
struct sbx_image_str pol_writer_text(struct pol_writer *, const char *s);

/* The verdict automaton of a list; B_LIMIT names the rule to blame. */
int pol_write_verdict(struct pol_writer *, const struct pol_list *, struct sbx_dfa *out,
		      struct b_err *);
/* What a rule amounts to when it is one path, or one path and all below it. */
enum pol_literal { POL_LITERAL_NO, POL_LITERAL_EXACT, POL_LITERAL_TREE, POL_LITERAL_NOTHING };
/* *out_path: appended to, where the answer is EXACT or TREE. */
enum pol_literal pol_rule_literal(const struct pol_rule *, struct b_str *out_path);
/* The table of the literal rules of a list: op->literals, nliterals, seed. */
void pol_write_literals(struct pol_writer *, const struct pol_list *, struct sbx_image_layer *op);
/* The attribution automata of the other rules of a list: op->groups and op->ngroups. */
int pol_write_groups(struct pol_writer *, const struct pol_list *, struct sbx_image_layer *op,
		     struct b_err *);
/* foldrules.c: the rules that deny once more, by their folded text: out->folded. */
int pol_write_folded(struct pol_writer *, const struct pol_list *, struct sbx_image_layer *out,
		     struct b_err *);
/* The attribution automata of folded patterns, `label` by pattern: out->folded.groups. */
int pol_write_folded_groups(struct pol_writer *, const struct pol_list *, const uint32_t *label,
			    struct sbx_image_layer *out, struct b_err *);
