/* SPDX-License-Identifier: Apache-2.0 */
/* hardlinks.c - see hardlinks.h. */
#include "policy/questions/hardlinks.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "policy/engine.h"

enum { DEPTH_MAX = 64 };

struct look {
	const struct pol_engine *engine;
	const struct pol_rule *rule;
	enum sbx_op op;
	size_t left; /* names that may still be looked at */
	dev_t dev;   /* of the rule's directory */
	void (*each)(void *ctx, const struct pol_linked *);
	void *ctx;
};

/* The rule's, and denied in the end: a later rule may open it, or deny it whose finding it is. */
static bool is_denied(const struct look *l, const char *path, size_t len)
{
	const struct sbx_image *image = &l->engine->image;
	const struct pol_list *list = &l->engine->rules.op[l->op];
	int rule;

	if (!pol_rule_matches(l->rule, path, len))
		return false;
	if (l->op == SBX_MODIFY && !sbx_decide(image, SBX_READ, path, len))
		return false; /* told of reading */
	rule = sbx_attribute(image, l->op, path, len) - (int)image->hdr->op[l->op].first_rule;
	return rule >= 0 && &list->v[rule] == l->rule;
}

static void look_at(struct look *l, const struct b_str *path, const struct stat *st)
{
	struct pol_linked found = {path->s, (unsigned long)st->st_nlink - 1, l->op, l->rule};

	if (S_ISREG(st->st_mode) && st->st_nlink > 1 && is_denied(l, path->s, path->len))
		l->each(l->ctx, &found);
}

/* The entries of the directory `path`, and of those below it. */
static void walk(struct look *l, struct b_str *path, unsigned depth)
{
	size_t len = path->len;
	const struct dirent *entry;
	DIR *dir = opendir(len ? path->s : "/");

	while (dir && l->left && (entry = readdir(dir))) {
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		l->left--;
		b_str_addf(path, "/%s", entry->d_name);
		if (lstat(path->s, &st) == 0 && st.st_dev == l->dev) {
			look_at(l, path, &st);
			if (S_ISDIR(st.st_mode) && depth < DEPTH_MAX)
				walk(l, path, depth + 1);
		}
		path->len = len;
		path->s[len] = '\0';
	}
	if (dir)
		closedir(dir);
}

static void look_along(struct look *l)
{
	b_auto(b_str_release) struct b_str path = {0};
	struct stat st;

	b_str_addn(&path, l->rule->base, l->rule->base_len);
	if (lstat(path.len ? path.s : "/", &st) < 0 || !l->left)
		return;
	l->left--;
	l->dev = st.st_dev;
	look_at(l, &path, &st);
	/* patterns below the root directory are of whole hosts: no walk finds an end there */
	if (S_ISDIR(st.st_mode) && l->rule->shape != POL_EXACT && path.len)
		walk(l, &path, 0);
}

bool pol_hardlinks(const struct pol_engine *engine, size_t max,
		   void (*each)(void *ctx, const struct pol_linked *), void *ctx)
{
	struct look l = {.engine = engine, .left = max, .each = each, .ctx = ctx};

	for (int op = SBX_READ; op <= SBX_MODIFY; op++) {
		const struct pol_list *list = &engine->rules.op[op];

		l.op = (enum sbx_op)op;
		for (size_t i = 0; i < list->n; i++) {
			l.rule = &list->v[i];
			if (!l.rule->allow && l.rule->tier != POL_TIER_BASE)
				look_along(&l);
		}
	}
	return l.left > 0;
}
