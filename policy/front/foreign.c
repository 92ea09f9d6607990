/* foreign.c - see foreign.h. */
#include "policy/front/foreign.h"

#include <stdarg.h>
#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "policy/vars.h"

struct pol_profile *pol_foreign_begin(struct pol_doc *doc, const struct pol_ynode *root,
				      enum pol_dialect dialect)
{
	const struct pol_text name = {.s = pol_dialect_word(dialect), .pos = root->pos};

	doc->foreign.dialect = dialect;
	doc->foreign.tree = root;
	doc->name = name;
	/* The document says itself what may be written. */
	pol_foreign_set(doc, POL_SET_cache, false, root->pos);
	return pol_doc_add_profile(doc, (struct pol_text){.s = "default", .pos = root->pos});
}

void pol_foreign_rule(struct pol_doc *doc, struct pol_texts *list, const char *rule,
		      struct pol_pos pos)
{
	pol_texts_add(doc, list, (struct pol_text){.s = rule, .pos = pos});
}

void pol_foreign_set(struct pol_doc *doc, enum pol_setting s, int value, struct pol_pos pos)
{
	doc->settings.value[s] = (struct pol_setting_value){true, value, pos};
}

int pol_foreign_root(struct pol_front *f, enum pol_root_list list, const char *text,
		     struct pol_pos pos, bool is_literal)
{
	const struct pol_text t = {.s = text, .pos = pos, .is_literal = is_literal};

	if (++f->nrules > POL_MAX_RULES)
		return pol_pos_fail(f->err, &pos, "more than %d rules", POL_MAX_RULES);
	if (pol_root_check(&t, "a path", f->err) < 0)
		return -1;
	pol_texts_add(f->doc, &f->doc->settings.roots[list], t);
	return 0;
}

static __attribute__((format(printf, 4, 0))) void add_line(struct pol_doc *doc,
							   struct pol_texts *list,
							   const struct pol_pos *pos,
							   const char *fmt, va_list ap)
{
	struct b_str s = {0};

	b_str_addf(&s, "%s:%u:%u: ", pos->file, pos->line, pos->col);
	b_str_addfv(&s, fmt, ap);
	pol_texts_add(doc, list,
		      (struct pol_text){.s = b_arena_strndup(&doc->arena, b_str_c(&s), s.len),
					.pos = *pos});
	b_str_release(&s);
}

void pol_foreign_loss(struct pol_doc *doc, const struct pol_pos *pos, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(doc, &doc->foreign.losses, pos, fmt, ap);
	va_end(ap);
}

static __attribute__((format(printf, 4, 5))) void add_text(struct pol_doc *doc,
							   struct pol_texts *list,
							   const struct pol_pos *pos,
							   const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(doc, list, pos, fmt, ap);
	va_end(ap);
}

void pol_foreign_host_loss(struct pol_doc *doc, const struct pol_pos *pos, const char *key)
{
	add_text(doc, &doc->foreign.host_losses, pos,
		 "%s: rules on the network cannot be enforced yet, and the command has all of it",
		 key);
}

void pol_foreign_note(struct pol_doc *doc, const struct pol_pos *pos, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_line(doc, &doc->foreign.notes, pos, fmt, ap);
	va_end(ap);
}

int pol_foreign_strings(struct pol_front *f, const struct pol_ynode *list, const char *what,
			int (*take)(struct pol_front *, const struct pol_ynode *item))
{
	if (pol_yaml_expect(list, POL_Y_SEQ, what, f->err) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_ynode *item = list->v[i];
		int rc = pol_yaml_expect(item, POL_Y_STR, what, f->err);

		if (rc == 0 && item->len == 0)
			rc = pol_pos_fail(f->err, &item->pos, "%s: empty, expected some text",
					  what);
		if (rc == 0)
			rc = take(f, item);
		if (rc < 0 && pol_front_found(f) < 0)
			return -1;
	}
	return 0;
}

int pol_foreign_bool(struct pol_front *f, const struct pol_ynode *value, const char *what,
		     bool *out)
{
	if (pol_yaml_expect(value, POL_Y_BOOL, what, f->err) < 0)
		return -1;
	*out = value->s[0] == 't' || value->s[0] == 'T';
	return 0;
}

int pol_foreign_number(struct pol_front *f, const struct pol_ynode *value, const char *what,
		       unsigned long long min, unsigned long long max, unsigned long long *out)
{
	unsigned long long v;

	if (pol_yaml_expect(value, POL_Y_INT, what, f->err) < 0)
		return -1;
	if (b_parse_u64(value->s, max, &v) < 0 || v < min)
		return pol_pos_fail(f->err, &value->pos, "%s is %s, expected %llu to %llu", what,
				    value->s, min, max);
	*out = v;
	return 0;
}

int pol_foreign_word(struct pol_front *f, const struct pol_ynode *value, const char *what,
		     const char *words, int *out)
{
	struct b_near near = B_NEAR_INIT;
	int i = 0;

	if (pol_yaml_expect(value, POL_Y_STR, what, f->err) < 0)
		return -1;
	for (const char *w = words; *w; i++) {
		size_t n = strcspn(w, "|");

		if (n == value->len && memcmp(w, value->s, n) == 0) {
			*out = i;
			return 0;
		}
		b_near_offer(&near, value->s, value->len, w, n);
		w += n + (w[n] == '|');
	}
	if (near.text)
		return pol_pos_fail(f->err, &value->pos, "%s is `%s`, did you mean `%.*s`?", what,
				    value->s, (int)near.len, near.text);
	return pol_pos_fail(f->err, &value->pos, "%s is `%s`, expected one of %s", what, value->s,
			    words);
}

static int pass(struct pol_front *f, const struct pol_ynode *item)
{
	(void)f;
	(void)item;
	return 0;
}

int pol_foreign_texts(struct pol_front *f, const struct pol_ynode *key,
		      const struct pol_ynode *value)
{
	return pol_foreign_strings(f, value, key->s, pass);
}

int pol_foreign_host_rules(struct pol_front *f, const struct pol_ynode *key,
			   const struct pol_ynode *value)
{
	if (pol_foreign_texts(f, key, value) < 0)
		return -1;
	if (value->n > 0)
		pol_foreign_host_loss(f->doc, &key->pos, key->s);
	return 0;
}

int pol_foreign_either(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	bool ignored;

	return pol_foreign_bool(f, value, key->s, &ignored);
}

int pol_foreign_string(struct pol_front *f, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	return pol_yaml_expect(value, POL_Y_STR, key->s, f->err);
}
