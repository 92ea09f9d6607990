/* keys.c - see keys.h. */
#include "policy/front/keys.h"

#include <string.h>

#include "base/err.h"
#include "base/opt.h"
#include "base/str.h"
#include "policy/front/foreign.h"
#include "policy/front/yaml.h"
#include "policy/model.h"

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

static const struct pol_key *find_key(const struct pol_key *rows, size_t n,
				      const struct pol_ynode *key)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(rows[i].name) == key->len && memcmp(rows[i].name, key->s, key->len) == 0)
			return &rows[i];
	return NULL;
}

int pol_front_map(struct pol_front *f, const struct pol_ynode *map, const char *where, bool strict,
		  const struct pol_key *rows, size_t n)
{
	if (pol_yaml_expect(map, POL_Y_MAP, where, f->err) < 0)
		return pol_front_found(f);
	for (size_t i = 0; i < n; i++) {
		if (!rows[i].required || pol_yaml_get(map, rows[i].name))
			continue;
		pol_pos_fail(f->err, &map->pos, "missing field `%s` in %s", rows[i].name, where);
		if (pol_front_found(f) < 0)
			return -1;
	}
	for (size_t i = 0; i < map->n; i++) {
		const struct pol_ynode *key = map->v[2 * i];
		const struct pol_key *row = find_key(rows, n, key);

		if (row ? row->take(f, key, map->v[2 * i + 1]) == 0 : !strict)
			continue;
		if (!row && f->passes_comments && (key->s[0] == '_' || key->s[0] == '$')) {
			pol_foreign_note(f->doc, &key->pos, "`%s` is passed over", key->s);
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
