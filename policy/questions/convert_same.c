/* SPDX-License-Identifier: Apache-2.0 */
/* convert_same.c - a document in its own language once more, and what it says beside rules and
 * settings. */
#include <string.h>

#include "base/str.h"
#include "policy/front/tree.h"
#include "policy/questions/convert.h"

/* A document in its own language once more: all that it says, in one shape. What
 * stands in it unread here (rules on the network, programs) is kept as it is. See convert.h.
 */

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

/* What a document says beside its rules and settings: pol_others(), convert.h. */

static void add_word(struct b_str *out, const char *word)
{
	b_str_add(out, out->len ? ", " : "");
	b_str_add(out, word);
}

static void add_texts(struct b_str *out, const struct pol_texts *list)
{
	for (size_t i = 0; i < list->n; i++)
		add_word(out, list->v[i].s);
}

static void of_user(const struct pol_doc *doc, struct b_str *out)
{
	const struct pol_foreign *f = &doc->foreign;

	if (f->user.s)
		b_str_addf(out, "user %s", f->user.s);
	if (f->group.s) {
		add_word(out, "group ");
		b_str_add(out, f->group.s);
	}
}

/* An empty list, an empty mapping and `false` say nothing. */
static bool is_nothing(const struct pol_ynode *n)
{
	return n->kind == POL_Y_NULL ||
	       ((n->kind == POL_Y_SEQ || n->kind == POL_Y_MAP) && n->n == 0) ||
	       (n->kind == POL_Y_BOOL && n->s[0] == 'f');
}

static void add_keys(const struct pol_ynode *map, const char *const *keys, struct b_str *out)
{
	for (; map && *keys; keys++) {
		const struct pol_ynode *n = pol_yaml_get(map, *keys);

		if (!n || is_nothing(n))
			continue;
		add_word(out, *keys);
		b_str_addc(out, ' ');
		cv_put_tree(out, n);
	}
}

/* As written: whether two texts mean the same nobody here can tell. */
static void of_network(const struct pol_doc *doc, struct b_str *out)
{
	static const char *const openshell[] = {"network_policies", "network_middlewares", NULL};
	static const char *const srt[] = {"allowedDomains",
					  "deniedDomains",
					  "httpProxyPort",
					  "socksProxyPort",
					  "strictAllowlist",
					  "parentProxy",
					  "mitmProxy",
					  "allowAllDomains",
					  "tlsTerminate",
					  "filterRequest",
					  "deniedResolvedAddresses",
					  "allowLocalBinding",
					  "allowMachLookup",
					  NULL};
	static const char *const caliban[] = {"allowed_domains", "denied_domains",
					      "http_proxy_port", "socks_proxy_port", NULL};
	const struct pol_ynode *root = doc->foreign.tree;

	if (doc->foreign.dialect == POL_DIALECT_openshell)
		add_keys(root, openshell, out);
	else if (doc->foreign.dialect == POL_DIALECT_srt)
		add_keys(pol_yaml_get(root, "network"), srt, out);
	else if (doc->foreign.dialect == POL_DIALECT_caliban)
		add_keys(pol_yaml_get(pol_yaml_get(root, "sandbox"), "network"), caliban, out);
}

static void of_no_env(const struct pol_doc *doc, struct b_str *out)
{
	add_texts(out, &doc->foreign.no_env);
}

static void of_pass_env(const struct pol_doc *doc, struct b_str *out)
{
	const struct pol_texts *list = &doc->settings.pass_env;

	for (size_t i = 0; i < list->n; i++) {
		add_word(out, list->v[i].s);
		/* `*` is a wildcard in the others */
		if (list->v[i].is_literal && strchr(list->v[i].s, '*'))
			b_str_add(out, " (that very name)");
	}
}

static void of_macos(const struct pol_doc *doc, struct b_str *out)
{
	add_texts(out, &doc->settings.macos);
}

static void of_listed(const struct pol_doc *doc, struct b_str *out)
{
	if (doc->foreign.must_exist)
		add_texts(out, &doc->foreign.listed);
}

static void of_bwrap(const struct pol_doc *doc, struct b_str *out)
{
	const struct pol_foreign *f = &doc->foreign;

	if (f->bwrap.s)
		b_str_addf(out, "%s%s", f->bwrap.s, f->must_have_bwrap ? ", to be trusted" : "");
	if (f->is_nested)
		add_word(out, "inside another sandbox");
}

/* Behind "file:line:column: ". */
static const char *behind_place(const struct pol_text *t)
{
	const char *s = t->s + strlen(t->pos.file);

	for (int i = 0; i < 3; i++)
		s = strchr(s, ':') + 1;
	return s + 1;
}

static void of_losses(const struct pol_doc *doc, struct b_str *out)
{
	const struct pol_foreign *f = &doc->foreign;

	for (size_t i = 0; i < f->losses.n; i++)
		add_word(out, behind_place(&f->losses.v[i]));
}

void pol_others(const struct pol_doc *doc, struct pol_other out[POL_SAID_MAX], size_t *out_n)
{
	static const struct {
		const char *name;
		void (*of)(const struct pol_doc *, struct b_str *out);
	} rows[] = {{"process", of_user},
		    {"network rules", of_network},
		    {"variables taken", of_no_env},
		    {"passEnv", of_pass_env},
		    {"macos", of_macos},
		    {"must be there", of_listed},
		    {"bwrap", of_bwrap},
		    {"not enforced", of_losses}};
	enum { N = sizeof rows / sizeof *rows };

	_Static_assert(N <= POL_SAID_MAX, "room for all");
	for (size_t i = 0; i < N; i++) {
		out[i] = (struct pol_other){.name = rows[i].name};
		rows[i].of(doc, &out[i].value);
		if (out[i].value.len == 0)
			b_str_add(&out[i].value, "none");
	}
	*out_n = N;
}

void pol_others_release(struct pol_other *others, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b_str_release(&others[i].value);
}
