/* SPDX-License-Identifier: Apache-2.0 */
/* tree.c - a document as a tree with positions, and typed access to its keys. */
#include "policy/front/tree.h"

#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "policy/document/model.h"
#include "policy/front/dialect.h"

int pol_cursor_init(struct pol_cursor *c, struct b_arena *a, const char *name, const char *text,
		    size_t len, struct b_err *err)
{
	static const char bom[] = "\xef\xbb\xbf";

	*c = (struct pol_cursor){a, name, text, len, 0, 1, 1, 0, err};
	if (len > POL_MAX_FILE)
		return b_fail(err, B_LIMIT, 0, "%s: larger than %u bytes", name, POL_MAX_FILE);
	if (len >= 3 && memcmp(text, bom, 3) == 0)
		c->at = 3;
	while (c->at < len) {
		unsigned n = b_utf8_len((const unsigned char *)text + c->at, len - c->at);
		struct pol_pos pos = pol_cursor_pos(c);

		if (n == 0)
			return pol_pos_fail(err, &pos, "not UTF-8, expected plain text");
		while (n-- > 0)
			(void)pol_cursor_next(c);
	}
	c->at = len >= 3 && memcmp(text, bom, 3) == 0 ? 3 : 0;
	c->line = c->col = 1;
	return 0;
}

int pol_cursor_peek(const struct pol_cursor *c, size_t n)
{
	return n < c->len - c->at ? (unsigned char)c->text[c->at + n] : -1;
}

int pol_cursor_next(struct pol_cursor *c)
{
	int byte = pol_cursor_peek(c, 0);

	if (byte < 0)
		return -1;
	c->at++;
	if (byte == '\n') {
		c->line++;
		c->col = 1;
	} else if ((pol_cursor_peek(c, 0) & 0xc0) != 0x80 || c->at == c->len) {
		c->col++;
	}
	return byte;
}

bool pol_cursor_take(struct pol_cursor *c, const char *word)
{
	size_t n = strlen(word);

	if (n > c->len - c->at || memcmp(c->text + c->at, word, n) != 0)
		return false;
	while (n-- > 0)
		(void)pol_cursor_next(c);
	return true;
}

struct pol_pos pol_cursor_pos(const struct pol_cursor *c)
{
	return (struct pol_pos){c->name, c->line, c->col};
}

int pol_cursor_expected(struct pol_cursor *c, const char *what)
{
	struct pol_pos pos = pol_cursor_pos(c);
	int byte = pol_cursor_peek(c, 0);

	if (byte < 0)
		return pol_pos_fail(c->err, &pos, "expected %s, found the end of the text", what);
	/* a single CR does not end a line */
	if (byte == '\n' || (byte == '\r' && pol_cursor_peek(c, 1) == '\n'))
		return pol_pos_fail(c->err, &pos, "expected %s, found the end of the line", what);
	if (byte > ' ' && byte < 0x7f)
		return pol_pos_fail(c->err, &pos, "expected %s, found `%c`", what, byte);
	return pol_pos_fail(c->err, &pos, "expected %s, found byte 0x%02x", what, (unsigned)byte);
}

struct pol_ynode *pol_tree_node(struct pol_cursor *c, enum pol_ykind kind, struct pol_pos pos)
{
	struct pol_ynode *n;

	if (++c->nodes > POL_MAX_NODES) {
		b_fail(c->err, B_LIMIT, 0, "%s: more than %d values", c->name, POL_MAX_NODES);
		return NULL;
	}
	n = b_arena_alloc(c->arena, sizeof *n);
	*n = (struct pol_ynode){.kind = kind, .pos = pos, .weight = 1};
	return n;
}

struct pol_ynode *pol_tree_scalar(struct pol_cursor *c, enum pol_ykind kind, struct pol_pos pos,
				  const struct b_str *text)
{
	struct pol_ynode *n = pol_tree_node(c, kind, pos);

	if (!n)
		return NULL;
	n->s = b_arena_strndup(c->arena, b_str_c(text), text->len);
	n->len = text->len;
	return n;
}

void pol_nodes_add(struct pol_cursor *c, struct pol_nodes *list, const struct pol_ynode *n)
{
	if (list->n == list->cap) {
		const struct pol_ynode **bigger;

		list->cap = list->cap ? 2 * list->cap : 8;
		bigger = b_arena_alloc(c->arena, list->cap * sizeof *bigger);
		if (list->n)
			memcpy(bigger, list->v, list->n * sizeof *bigger);
		list->v = bigger;
	}
	list->v[list->n++] = n;
}

static const struct pol_ynode *find_key(const struct pol_nodes *list, const struct pol_ynode *key)
{
	for (size_t i = 0; i + 1 < list->n; i += 2)
		if (list->v[i]->len == key->len && memcmp(list->v[i]->s, key->s, key->len) == 0)
			return list->v[i];
	return NULL;
}

const struct pol_ynode *pol_nodes_find(const struct pol_nodes *list, const struct pol_ynode *key)
{
	for (size_t i = 0; i + 1 < list->n; i += 2)
		if (list->v[i]->len == key->len && memcmp(list->v[i]->s, key->s, key->len) == 0)
			return list->v[i + 1];
	return NULL;
}

int pol_nodes_add_pair(struct pol_cursor *c, struct pol_nodes *list, const struct pol_ynode *key,
		       const struct pol_ynode *value)
{
	const struct pol_ynode *first = find_key(list, key);

	if (first)
		return pol_pos_fail(c->err, &key->pos,
				    "key `%s` is there already (line %u), expected it once", key->s,
				    first->pos.line);
	if (list->n / 2 >= POL_MAX_KEYS)
		return pol_pos_fail(c->err, &key->pos, "more than %d keys", POL_MAX_KEYS);
	pol_nodes_add(c, list, key);
	pol_nodes_add(c, list, value);
	return 0;
}

uint32_t pol_cursor_hex(struct pol_cursor *c, unsigned digits)
{
	uint32_t v = 0;

	for (; digits > 0; digits--) {
		int b = pol_cursor_peek(c, 0);

		if (b >= '0' && b <= '9')
			v = v << 4 | (uint32_t)(b - '0');
		else if ((b | 32) >= 'a' && (b | 32) <= 'f')
			v = v << 4 | (uint32_t)((b | 32) - 'a' + 10);
		else
			return UINT32_MAX;
		(void)pol_cursor_next(c);
	}
	return v;
}

bool pol_tree_add_char(struct b_str *out, uint32_t c)
{
	unsigned char s[4];
	size_t n;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	if (c < 0x80) {
		s[0] = (unsigned char)c;
		n = 1;
	} else {
		n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
		for (size_t i = n - 1; i > 0; i--, c >>= 6)
			s[i] = (unsigned char)(0x80 | (c & 0x3f));
		s[0] = (unsigned char)((n == 2 ? 0xc0 : n == 3 ? 0xe0 : 0xf0) | c);
	}
	b_str_addn(out, s, n);
	return true;
}

/* ---- keys ---- */

int pol_front_found(struct pol_front *f)
{
	if (!f->findings)
		return -1;
	b_str_addf(&f->findings->text, "%s\n", f->err->msg);
	f->findings->n++;
	return 0;
}

int pol_front_judge(struct pol_front *f)
{
	const char *text = b_str_c(&f->findings->text);
	int first = (int)strcspn(text, "\n");

	if (f->findings->n < 2)
		return f->findings->n ? b_fail(f->err, B_POLICY, 0, "%.*s", first, text) : 0;
	return b_fail(f->err, B_POLICY, 0, "%.*s; %zu more: sbx-policy check names all", first,
		      text, f->findings->n - 1);
}

static int fail_unknown(struct pol_front *f, const struct pol_ynode *key, const char *where,
			const struct pol_key *rows, size_t n)
{
	struct b_near near = B_NEAR_INIT;
	struct b_str known = {0};

	for (size_t i = 0; i < n; i++) {
		b_near_offer(&near, key->s, key->len, rows[i].name, strlen(rows[i].name));
		b_str_addf(&known, "%s%s", known.len ? ", " : "", rows[i].name);
	}
	if (near.text)
		pol_pos_fail(f->err, &key->pos, "unknown field `%s` in %s, did you mean `%s`?",
			     key->s, where, near.text);
	else
		pol_pos_fail(f->err, &key->pos, "unknown field `%s` in %s, expected one of %s",
			     key->s, where, b_str_c(&known));
	b_str_release(&known);
	return -1;
}

static const struct pol_key *keys_find_key(const struct pol_key *rows, size_t n,
					   const struct pol_ynode *key)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(rows[i].name) == key->len && memcmp(rows[i].name, key->s, key->len) == 0)
			return &rows[i];
	return NULL;
}

/* A key that is there, and may be meant. */
static void fail_missing(struct pol_front *f, const struct pol_ynode *map, const char *where,
			 const struct pol_key *rows, size_t n, const char *name)
{
	struct b_near near = B_NEAR_INIT;

	for (size_t i = 0; i < map->n; i++) {
		const struct pol_ynode *key = map->v[2 * i];

		if (!keys_find_key(rows, n, key))
			b_near_offer(&near, name, strlen(name), key->s, key->len);
	}
	if (near.text)
		pol_pos_fail(f->err, &map->pos, "missing field `%s` in %s, is it `%s`?", name,
			     where, near.text);
	else
		pol_pos_fail(f->err, &map->pos, "missing field `%s` in %s", name, where);
}

int pol_front_map(struct pol_front *f, const struct pol_ynode *map, const char *where, bool strict,
		  const struct pol_key *rows, size_t n)
{
	if (pol_yaml_expect(map, POL_Y_MAP, where, f->err) < 0)
		return pol_front_found(f);
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].required || pol_yaml_get(map, rows[i].name))
			continue;
		fail_missing(f, map, where, rows, n, rows[i].name);
		if (pol_front_found(f) < 0)
			return -1;
	}
	for (size_t i = 0; i < map->n; i++) {
		const struct pol_ynode *key = map->v[2 * i];
		const struct pol_key *row = keys_find_key(rows, n, key);

		if (row ? row->take(f, key, map->v[2 * i + 1]) == 0 : !strict)
			continue;
		if (!row && f->passes_comments && (key->s[0] == '_' || key->s[0] == '$')) {
			pol_foreign_note(f->doc, &key->pos, "`%s` is ignored", key->s);
			continue;
		}
		if (!row)
			fail_unknown(f, key, where, rows, n);
		if (pol_front_found(f) < 0)
			return -1;
	}
	return 0;
}

int pol_front_rules(struct pol_front *f, const struct pol_ynode *key, const struct pol_ynode *list,
		    struct pol_texts *out)
{
	if (pol_yaml_expect(list, POL_Y_SEQ, key->s, f->err) < 0)
		return -1;
	for (size_t i = 0; i < list->n; i++) {
		const struct pol_ynode *item = list->v[i];

		if (item->kind == POL_Y_INT || item->kind == POL_Y_FLOAT ||
		    item->kind == POL_Y_BOOL)
			return pol_pos_fail(f->err, &item->pos,
					    "an entry of %s is %s, expected a string: a name that "
					    "reads as a %s needs quotes",
					    key->s, pol_yaml_kind_name(item->kind),
					    item->kind == POL_Y_BOOL ? "boolean" : "number");
		if (item->kind != POL_Y_STR)
			return pol_pos_fail(f->err, &item->pos,
					    "an entry of %s is %s, expected a string: rules that "
					    "start with * ! # { [ & ~ @ %% need quotes",
					    key->s, pol_yaml_kind_name(item->kind));
		if (pol_yaml_expect(item, POL_Y_STR, "a rule", f->err) < 0)
			return -1;
		if (++f->nrules > POL_MAX_RULES)
			return pol_pos_fail(f->err, &item->pos, "more than %d rules",
					    POL_MAX_RULES);
		pol_texts_add(f->doc, out, (struct pol_text){.s = item->s, .pos = item->pos});
	}
	return 0;
}
