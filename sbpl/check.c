/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check.c - a profile before it is believed: read back, run, asked under both readings of
 * precedence, compared with core/decide on paths in and around every rule.
 *
 * The profile may allow less than the rules in two known ways, each recognised here by other
 * means than those that wrote it: a deny that matches the other case, and a deny repeated in
 * another tree. It never allows more.
 */
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "sbpl/emit.h"

#define MAX_AT_LENGTH 250 /* rules: larger rulesets are checked with fewer paths a rule */

struct check {
	struct sbpl_emit *e;
	struct sbpl_program *p;
	struct b_str lower_a, lower_b;
	bool briefly; /* a large ruleset: one path a rule, the side questions for every fourth */
	size_t nth;
	int op[SBX_OP_COUNT], create, bind, unlink, clone; /* as the profile calls them */
};

static const char *const asked[SBX_OP_COUNT] = {
	[SBX_READ] = "file-read-data",
	[SBX_MODIFY] = "file-write-data",
	[SBX_EXEC] = "process-exec*",
	[SBX_CONNECT] = "network-outbound",
};

const char *sbpl_op_of(enum sbx_op op)
{
	return asked[op];
}

static void lower(struct b_str *out, const char *s)
{
	b_str_reset(out);
	for (; *s; s++)
		b_str_addc(out, (char)(*s >= 'A' && *s <= 'Z' ? *s + 32 : *s));
}

/* Does the rule match when the case of its glob part is forgotten? */
static bool matches_folded(struct check *c, const struct pol_rule *r, const char *path, size_t len)
{
	struct pol_rule folded = *r;

	if (r->shape != POL_GLOB || len < r->base_len || memcmp(path, r->base, r->base_len) != 0)
		return false;
	lower(&c->lower_a, r->glob);
	lower(&c->lower_b, path + r->base_len);
	folded.glob = b_str_c(&c->lower_a);
	folded.base = "";
	folded.base_len = 0;
	return pol_rule_matches(&folded, b_str_c(&c->lower_b), c->lower_b.len);
}

static bool is_known_difference(struct check *c, enum sbx_op op, const char *path, size_t len)
{
	const struct sbpl_emit *e = c->e;
	const struct pol_list *list = &e->rs->op[op];

	for (size_t i = 0; i < e->nwidened; i++)
		/* The list of exec may be that of read, and stand in one block with it. */
		if ((e->widened[i].op == op || op == SBX_EXEC) &&
		    (pol_rule_matches(&e->widened[i].rule, path, len) ||
		     matches_folded(c, &e->widened[i].rule, path, len)))
			return true;
	for (size_t i = 0; i < list->n && !e->o->exact_case; i++)
		if (!list->v[i].allow && matches_folded(c, &list->v[i], path, len))
			return true;
	return false;
}

static int differ(const struct check *c, const struct pol_rule *r, const char *path,
		  const char *what)
{
	b_auto(b_str_release) struct b_str shown = {0};

	b_str_add_visible(&shown, path, strlen(path));
	return b_fail(c->e->err, B_POLICY, 0,
		      "sbpl: self-check: %s on `%s`, tried for rule `%s` (%s); please report this",
		      what, b_str_c(&shown), r->matched, r->origin);
}

static bool ask(struct check *c, int op, const char *path, size_t len, enum sbpl_model model)
{
	struct sbpl_question q = {.op = op, .path = path, .len = len, .model = model};

	c->e->prof->nchecks++;
	return sbpl_program_allows(c->p, &q, NULL);
}

static int compare(struct check *c, enum sbx_op op, const struct pol_rule *r, const char *path,
		   bool is)
{
	size_t len = strlen(path);

	if (c->e->o->style == SBPL_STYLE_ORBIT || is == sbx_decide(c->e->img, op, path, len) ||
	    (!is && is_known_difference(c, op, path, len)))
		return 0;
	return differ(c, r, path,
		      is ? "the profile allows what the rules deny"
			 : "the profile denies what the rules allow");
}

/* Operations of their own beside the one asked about. */
static int check_leaves(struct check *c, enum sbx_op op, const struct pol_rule *r, const char *path,
			bool is)
{
	size_t len = strlen(path);

	if (op == SBX_MODIFY && is != ask(c, c->bind, path, len, SBPL_MODEL_SPECIFIC))
		return differ(c, r, path, "sockets are not made where files are");
	if (op == SBX_MODIFY && !is && ask(c, c->create, path, len, SBPL_MODEL_SPECIFIC))
		return differ(c, r, path, "a name that is denied may be made");
	if (op == SBX_MODIFY && ask(c, c->unlink, path, len, SBPL_MODEL_SPECIFIC) &&
	    !(is && sbx_decide(c->e->img, SBX_READ, path, len)))
		return differ(c, r, path, "a name that is denied may be moved away");
	if (op == SBX_READ && is != ask(c, c->clone, path, len, SBPL_MODEL_SPECIFIC))
		return differ(c, r, path, "clones are not allowed where reads are");
	return 0;
}

static int check_path(struct check *c, enum sbx_op op, const struct pol_rule *r, const char *path)
{
	size_t len = strlen(path);
	bool is = ask(c, c->op[op], path, len, SBPL_MODEL_SPECIFIC);

	if (len > 1 && path[len - 1] == '/')
		return 0; /* below the root: no path */
	if (compare(c, op, r, path, is) < 0)
		return -1;
	if (c->briefly && c->nth % 4 != 0)
		return 0;
	if (is != ask(c, c->op[op], path, len, SBPL_MODEL_TEXTUAL))
		return differ(c, r, path, "two readings of precedence differ");
	return c->e->o->style == SBPL_STYLE_HARDENED ? check_leaves(c, op, r, path, is) : 0;
}

/* The rule's own path or paths, one below, the directory above, and a neighbour. */
static int check_rule(struct check *c, enum sbx_op op, const struct pol_rule *r)
{
	unsigned variants = c->briefly ? 1 : SBPL_SAMPLES;
	b_auto(b_str_release) struct b_str path = {0};
	size_t len;

	for (unsigned v = 0; v < variants; v++) {
		sbpl_sample(r, v, &path);
		if (check_path(c, op, r, b_str_c(&path)) < 0)
			return -1;
	}
	c->nth++;
	if (c->briefly)
		return 0;
	len = path.len;
	b_str_add(&path, len > 1 ? "/sbx~z" : "sbx~z");
	if (check_path(c, op, r, b_str_c(&path)) < 0)
		return -1;
	path.s[len] = 'x';
	path.s[len + 1] = '\0';
	if (check_path(c, op, r, b_str_c(&path)) < 0)
		return -1;
	path.s[len] = '\0';
	while (len > 1 && path.s[--len] != '/')
		;
	path.s[len > 0 ? len : 1] = '\0';
	return check_path(c, op, r, b_str_c(&path));
}

static int check_all(struct check *c)
{
	size_t total = 0;

	c->clone = sbpl_op_find("file-clone");
	c->bind = sbpl_op_find("network-bind");
	c->create = sbpl_op_find("file-write-create");
	c->unlink = sbpl_op_find("file-write-unlink");
	for (int op = 0; op < SBX_OP_COUNT; op++)
		c->op[op] = sbpl_op_find(asked[op]);
	for (int op = 0; op < SBX_OP_COUNT; op++)
		total += c->e->rs->op[op].n;
	c->briefly = total > MAX_AT_LENGTH;
	for (int op = 0; op < SBX_OP_COUNT; op++) {
		const struct pol_list *list = &c->e->rs->op[op];

		for (size_t i = 0; i < list->n; i++)
			if (check_rule(c, (enum sbx_op)op, &list->v[i]) < 0)
				return -1;
	}
	return 0;
}

static int check_text(const struct sbpl_emit *e)
{
	for (size_t i = 0; i < e->prof->len; i++) {
		unsigned char b = (unsigned char)e->prof->text[i];

		if ((b < ' ' && b != '\n') || b > '~')
			return b_fail(e->err, B_POLICY, 0,
				      "sbpl: self-check: not ASCII at byte %zu", i);
	}
	return 0;
}

int sbpl_self_check(struct sbpl_emit *e)
{
	struct sbpl_source source = {"profile", e->prof->text, e->prof->len, e->prof->params,
				     e->prof->nparams};
	struct check c = {.e = e};
	int rc;

	if (check_text(e) < 0)
		return -1;
	if (sbpl_program_new(&source, &c.p, e->err) < 0)
		return b_wrap(e->err, "sbpl: self-check");
	rc = sbpl_program_rules(c.p) == e->nrules
		     ? check_all(&c)
		     : b_fail(e->err, B_POLICY, 0, "sbpl: self-check: %zu rules written, %zu read",
			      e->nrules, sbpl_program_rules(c.p));
	sbpl_program_free(c.p);
	b_str_release(&c.lower_a);
	b_str_release(&c.lower_b);
	return rc;
}

/* ---- sample paths of a rule ---- */

/* What stands for each kind of wildcard: the second variant takes the shortest. */
static const struct {
	const char *star, *stars, *dirs, *one;
} stand_ins[SBPL_SAMPLES] = {
	{"sbx~a", "sbx~b", "sbx~c/", "q"},
	{"", "", "", "\xc3\xa9"},
	{".sbx", "sbx~d/.sbx", "sbx~e/sbx~f/", "_"},
	{"S B", "a/b/c", "", "~"},
};

static void sample_glob(const char *glob, unsigned variant, struct b_str *out)
{
	size_t len = strlen(glob);
	bool covers = len >= 3 && memcmp(glob + len - 3, "/**", 3) == 0;
	const char *p = glob, *end = glob + len - (covers ? 3 : 0);

	while (p < end) {
		if (end - p >= 3 && memcmp(p, "**/", 3) == 0) {
			b_str_add(out, stand_ins[variant].dirs);
			p += 3;
		} else if (end - p >= 2 && memcmp(p, "**", 2) == 0) {
			b_str_add(out, stand_ins[variant].stars);
			p += 2;
		} else if (*p == '*' || *p == '?') {
			b_str_add(out,
				  *p == '*' ? stand_ins[variant].star : stand_ins[variant].one);
			p++;
		} else {
			b_str_addc(out, *p++);
		}
	}
	if (covers && variant % 2 == 0)
		b_str_addf(out, "%s%s", p > glob ? "/" : "", stand_ins[variant].stars);
}

/* Wildcards that took nothing may have left "//" or a "/" at the end: no path. */
static void tidy(struct b_str *path)
{
	size_t n = 0;

	for (size_t i = 0; i < path->len; i++)
		if (path->s[i] != '/' || n == 0 || path->s[n - 1] != '/')
			path->s[n++] = path->s[i];
	while (n > 1 && path->s[n - 1] == '/')
		n--;
	path->len = n;
	path->s[n] = '\0';
}

void sbpl_sample(const struct pol_rule *r, unsigned variant, struct b_str *out)
{
	b_str_reset(out);
	b_str_addn(out, r->base, r->base_len);
	if (r->shape == POL_GLOB && strcmp(r->glob, ".") != 0) {
		b_str_addc(out, '/');
		sample_glob(r->glob, variant, out);
	} else if (r->shape == POL_TREE && variant % 2 == 0) {
		b_str_addf(out, "/%s", stand_ins[variant].stars);
	} else if (r->base_len == 0) {
		b_str_addc(out, '/');
	}
	tidy(out);
}
