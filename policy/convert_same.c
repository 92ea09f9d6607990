/* convert_same.c - a document in its own language once more: all that it says, in one shape. What
 * stands in it unread here (rules on the network, programs) is kept as it is. See convert_priv.h.
 */
#include <string.h>

#include "base/str.h"
#include "policy/convert_priv.h"
#include "policy/front/yaml.h"

/* As JSON, which YAML reads too, and TOML as far as its values here go. */
static void put(struct b_str *out, const struct pol_ynode *n)
{
	bool is_map = n->kind == POL_Y_MAP;

	switch (n->kind) {
	case POL_Y_NULL:
		b_str_add(out, "null");
		return;
	case POL_Y_BOOL:
		b_str_add(out, n->s[0] == 't' || n->s[0] == 'T' ? "true" : "false");
		return;
	case POL_Y_INT:
	case POL_Y_FLOAT:
		b_str_addn(out, n->s, n->len);
		return;
	case POL_Y_STR:
		cv_quote(out, n->s);
		return;
	case POL_Y_SEQ:
	case POL_Y_MAP:
	case POL_Y_COUNT:
		break;
	}
	b_str_addc(out, is_map ? '{' : '[');
	for (size_t i = 0; i < n->n; i++) {
		b_str_add(out, i ? ", " : "");
		if (is_map) {
			cv_quote(out, n->v[2 * i]->s);
			b_str_add(out, ": ");
		}
		put(out, is_map ? n->v[2 * i + 1] : n->v[i]);
	}
	b_str_addc(out, is_map ? '}' : ']');
}

void cv_put_tree(struct b_str *out, const struct pol_ynode *node)
{
	put(out, node);
}

/* The mappings of a document are its sections. */
static bool is_section(const struct pol_ynode *n)
{
	return n->kind == POL_Y_MAP && n->n > 0;
}

static void put_json(struct b_str *out, const struct pol_ynode *map, const char *indent)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct pol_ynode *value = map->v[2 * i + 1];

		b_str_addf(out, "%s\n%s", i ? "," : "{", indent);
		cv_quote(out, map->v[2 * i]->s);
		b_str_add(out, ": ");
		if (is_section(value) && indent[2] == '\0') {
			put_json(out, value, "    ");
			b_str_addf(out, "\n%s}", indent);
		} else {
			put(out, value);
		}
	}
}

static void put_yaml(struct b_str *out, const struct pol_ynode *map, const char *indent)
{
	for (size_t i = 0; i < map->n; i++) {
		const struct pol_ynode *key = map->v[2 * i], *value = map->v[2 * i + 1];

		b_str_add(out, indent);
		if (*indent) /* a name that may be any text */
			cv_quote(out, key->s);
		else
			b_str_add(out, key->s);
		b_str_addc(out, ':');
		if (is_section(value) && !*indent) {
			b_str_addc(out, '\n');
			put_yaml(out, value, "  ");
			continue;
		}
		b_str_addc(out, ' ');
		put(out, value);
		b_str_addc(out, '\n');
	}
}

/* Values first: behind the head of a table they would be that one's. */
static void put_toml(struct b_str *out, const struct pol_ynode *table, const char *name)
{
	b_str_addf(out, "[%s]\n", name);
	for (size_t i = 0; i < table->n; i++) {
		if (table->v[2 * i + 1]->kind == POL_Y_MAP)
			continue;
		b_str_addf(out, "%s = ", table->v[2 * i]->s);
		put(out, table->v[2 * i + 1]);
		b_str_addc(out, '\n');
	}
	for (size_t i = 0; i < table->n; i++) {
		struct b_str below = {0};

		if (table->v[2 * i + 1]->kind != POL_Y_MAP)
			continue;
		b_str_addf(&below, "%s.%s", name, table->v[2 * i]->s);
		b_str_addc(out, '\n');
		put_toml(out, table->v[2 * i + 1], b_str_c(&below));
		b_str_release(&below);
	}
}

void cv_same(struct cv *c)
{
	const struct pol_ynode *root = c->doc->foreign.tree;

	if (c->to == POL_DIALECT_openshell) {
		put_yaml(c->out, root, "");
	} else if (c->to == POL_DIALECT_caliban) {
		/* other tables are of other matters */
		put_toml(c->out, pol_yaml_get(root, "sandbox"), "sandbox");
	} else {
		put_json(c->out, root, "  ");
		b_str_add(c->out, "\n}\n");
	}
}
