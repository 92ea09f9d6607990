/* literals.c - rules that are paths, as a hash table: most rules of most policies. To tell them
 * apart an automaton would need a state for each of their bytes. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "policy/back/writer.h"
#include "policy/glob.h"
#include "policy/ruleset.h"

static enum pol_literal joined(const struct pol_rule *r, size_t glob_len, bool is_tree,
			       struct b_str *out)
{
	b_str_addn(out, r->base, r->base_len);
	b_str_addc(out, '/');
	b_str_addn(out, r->glob, glob_len);
	return is_tree ? POL_LITERAL_TREE : POL_LITERAL_EXACT;
}

enum pol_literal pol_rule_literal(const struct pol_rule *r, struct b_str *out)
{
	size_t len = r->shape == POL_GLOB ? strlen(r->glob) : 0;
	bool is_base = r->shape != POL_GLOB || !strcmp(r->glob, ".");

	if (r->shape == POL_GLOB && !strcmp(r->glob, "**") && r->base_is_root) {
		b_str_addn(out, r->base, r->base_len);
		return POL_LITERAL_TREE;
	}
	if (is_base && r->shape == POL_GLOB && !r->base_is_root)
		return POL_LITERAL_NOTHING;
	if (is_base) {
		b_str_addn(out, r->base, r->base_len);
		return r->shape == POL_TREE ? POL_LITERAL_TREE : POL_LITERAL_EXACT;
	}
	if (len == 0) /* the empty glob: the base or nothing */
		return POL_LITERAL_NO;
	if (r->folds)
		return POL_LITERAL_NO;
	if (pol_glob_is_literal(r->glob))
		return joined(r, len, false, out);
	if (len > 3 && !memcmp(r->glob + len - 3, "/**", 3) && strcspn(r->glob, "*?") == len - 2)
		return joined(r, len - 3, true, out);
	return POL_LITERAL_NO;
}

struct table {
	struct sbx_image_literal *v;
	uint32_t n, seed;
};

/* The place of a path; NULL when all that a reader would look at is taken. */
static struct sbx_image_literal *place(const struct table *t, const char *texts, const char *path,
				       size_t len)
{
	uint64_t h = sbx_literal_start(t->seed);
	uint32_t slot;

	for (size_t i = 0; i < len; i++)
		h = sbx_literal_step(h, (unsigned char)path[i]);
	slot = sbx_literal_slot(h);
	for (int i = 0; i < SBX_LITERAL_PROBES; i++) {
		struct sbx_image_literal *l = &t->v[slot++ & (t->n - 1)];

		if ((l->exact == 0 && l->tree == 0) ||
		    (l->path.len == len && !memcmp(texts + l->path.off, path, len)))
			return l;
	}
	return NULL;
}

struct literal {
	enum pol_literal kind;
	uint32_t off, len; /* in `texts` */
};

/* false: too many paths met in one place. */
static bool fill(const struct table *t, const struct literal *rules, size_t n, const char *texts)
{
	memset(t->v, 0, t->n * sizeof *t->v);
	for (size_t i = 0; i < n; i++) {
		const struct literal *r = &rules[i];
		struct sbx_image_literal *l;

		if (r->kind != POL_LITERAL_EXACT && r->kind != POL_LITERAL_TREE)
			continue;
		l = place(t, texts, texts + r->off, r->len);
		if (!l)
			return false;
		if (l->exact == 0 && l->tree == 0)
			l->path = (struct sbx_image_str){r->off, r->len};
		*(r->kind == POL_LITERAL_TREE ? &l->tree : &l->exact) = (uint32_t)i + 1;
	}
	return true;
}

/* Half full at most; where that is not enough, wider, and with another seed. */
static void arrange(struct table *t, const struct literal *rules, size_t n, const char *texts)
{
	uint32_t least = 4;

	while (least < n * 2)
		least *= 2;
	for (t->n = least;; t->seed++, t->n = t->n < least * 8 ? t->n * 2 : t->n) {
		t->v = b_realloc(t->v, t->n, sizeof *t->v);
		if (fill(t, rules, n, texts))
			return;
	}
}

void pol_write_literals(struct pol_writer *w, const struct pol_list *list, struct sbx_image_layer *op)
{
	b_auto_free struct literal *rules = b_calloc(list->n + 1, sizeof *rules);
	b_auto(b_str_release) struct b_str texts = {0};
	struct table t = {0};
	size_t n = 0;

	b_str_addc(&texts, '\0'); /* what free slots point at */
	for (size_t i = 0; i < list->n; i++) {
		rules[i].off = (uint32_t)texts.len;
		rules[i].kind = pol_rule_literal(&list->v[i], &texts);
		rules[i].len = (uint32_t)texts.len - rules[i].off;
		b_str_addc(&texts, '\0');
		n += rules[i].kind != POL_LITERAL_NO;
	}
	if (n == 0) {
		op->literals = pol_writer_append(w, NULL, 0);
		return;
	}
	arrange(&t, rules, list->n, texts.s);
	n = pol_writer_append(w, texts.s, texts.len);
	for (uint32_t i = 0; i < t.n; i++)
		t.v[i].path.off += (uint32_t)n;
	op->literals = pol_writer_append(w, t.v, t.n * sizeof *t.v);
	op->nliterals = t.n;
	op->seed = t.seed;
	free(t.v);
}
