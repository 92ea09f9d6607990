/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random rulesets, compiled to macOS profiles, against core/decide: reads, writes, creations,
 * removals, links, and moves of files and directories. What a move may change is found out by
 * looking at every path of a small world below both ends, not by the code under test.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "core/decide.h"
#include "policy/compile/ruleset.h"
#include "sbpl/sbpl.h"

#define NO_STARS 1u /* kinds of rulesets: no glob begins with two of them */
#define LAYERED	 2u /* several documents that must all allow */

#define RULESETS 150
#define MOVES	 250 /* of each ruleset */
#define DEPTH	 4

static const char *const names[] = {"ws", "a", "b", ".env"};
#define NNAMES (sizeof names / sizeof *names)

static const char *const globs[] = {"**/.env", "**/b/**", "**/a/b", "**b",   "**/.e*", "*",
				    "a/*",     "*/b",	  "a/**/b", "*.env", "?",      "a?",
				    "a?/b",    "*/a/**",  "b/**",   "**/a",  ".",      "*/*/.env",
				    "a/.env",  "**",	  "?/b/*",  "a/b/*", ".env/**"};

struct world {
	struct pol_ruleset rs;
	struct sbx_image img;
	void *data;
	struct sbpl_profile prof;
	struct sbpl_program *prog;
	struct b_arena arena;
	const char *paths[400];
	size_t npaths;
};

static unsigned state;

static unsigned pick(unsigned n)
{
	state = state * 1664525u + 1013904223u;
	return (state >> 8) % n;
}

static size_t nchecks;
static int op_read, op_write, op_create, op_unlink, op_link, op_clone;

static void add_paths(struct world *w, const char *dir, unsigned depth)
{
	w->paths[w->npaths++] = *dir ? dir : "/";
	if (depth == DEPTH)
		return;
	for (size_t i = 0; i < NNAMES; i++)
		add_paths(w, b_arena_printf(&w->arena, "%s/%s", dir, names[i]), depth + 1);
}

static const char *random_dir(struct world *w)
{
	const char *dir = "";

	for (unsigned n = pick(4); n > 0; n--)
		dir = b_arena_printf(&w->arena, "%s/%s", dir, names[pick(NNAMES)]);
	return dir;
}

static void add_rule(struct world *w, enum sbx_op op, bool allow, unsigned layer, unsigned kind)
{
	struct pol_rule r = {
		.allow = allow, .layer = (uint8_t)layer, .base_is_root = pick(2), .origin = "t:1"};

	r.shape = pick(5) < 2 ? POL_TREE : pick(4) ? POL_GLOB : POL_EXACT;
	r.base = random_dir(w);
	r.base_len = strlen(r.base);
	if (r.shape == POL_GLOB) {
		do
			r.glob = globs[pick(sizeof globs / sizeof *globs)];
		while (kind & NO_STARS && strncmp(r.glob, "**", 2) == 0);
	}
	r.folds = r.glob && pick(6) == 0;
	if (r.folds) {
		char *big = b_arena_strndup(&w->arena, r.glob, strlen(r.glob));

		for (char *c = big; *c; c++)
			*c = *c >= 'a' && *c <= 'z' ? (char)(*c - 'a' + 'A') : *c;
		r.glob = big;
	}
	r.matched = r.glob ? r.glob : r.base;
	pol_ruleset_add(&w->rs, op, &r);
}

static void add_layer(struct world *w, enum sbx_op op, unsigned layer, unsigned kind)
{
	const struct pol_rule all = {.allow = true,
				     .layer = (uint8_t)layer,
				     .shape = POL_TREE,
				     .base = "",
				     .matched = "/",
				     .origin = "t:0"};

	/* Only the main document may have nothing to say of a path. */
	if (layer != POL_LAYER_MAIN || pick(3) > 0)
		pol_ruleset_add(&w->rs, op, &all);
	for (unsigned n = 1 + pick(layer == POL_LAYER_MAIN ? 6 : 4); n > 0; n--)
		add_rule(w, op, pick(5) < 2, layer, kind);
}

static void make(struct world *w, unsigned seed, unsigned kind)
{
	struct sbpl_opts o = sbpl_opts_default();
	struct b_err err;
	size_t size;

	*w = (struct world){0};
	state = seed;
	pol_ruleset_init(&w->rs);
	add_paths(w, "", 0);
	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		for (unsigned layer = POL_LAYER_MANAGED; layer <= POL_LAYER_PROJECT; layer++)
			if (layer == POL_LAYER_MAIN || (kind & LAYERED && pick(3) > 0))
				add_layer(w, (enum sbx_op)op, layer, kind);
	o.groups = 0;
	cr_assert_eq(pol_compile(&w->rs, NULL, &w->data, &size, &err), 0, "%s", err.msg);
	cr_assert_eq(sbx_image_open(&w->img, w->data, size, true), SBX_IMAGE_OK);
	cr_assert_eq(sbpl_compile(&w->rs, &w->img, &o, &w->prof, &err), 0, "seed %u: %s", seed,
		     err.msg);
	cr_assert_eq(sbpl_program_new(&(struct sbpl_source){"p", w->prof.text, w->prof.len,
							    w->prof.params, w->prof.nparams},
				      &w->prog, &err),
		     0, "%s", err.msg);
}

static void drop(struct world *w)
{
	sbpl_program_free(w->prog);
	sbpl_profile_release(&w->prof);
	free(w->data);
	pol_ruleset_release(&w->rs);
	b_arena_release(&w->arena);
}

static bool asks(struct world *w, int op, const char *path, enum sbpl_vnode vnode)
{
	struct sbpl_question q = {.op = op, .path = path, .len = strlen(path), .vnode = vnode};
	bool specific = sbpl_program_allows(w->prog, &q, NULL);

	q.model = SBPL_MODEL_TEXTUAL;
	cr_assert_eq(specific, sbpl_program_allows(w->prog, &q, NULL),
		     "two readings differ: %s on %s\n%s", sbpl_op_name(op), path, w->prof.text);
	nchecks++;
	return specific;
}

static bool decides(struct world *w, enum sbx_op op, const char *path)
{
	return sbx_decide(&w->img, op, path, strlen(path));
}

/* A deny that begins with two stars holds in other writable trees, too. */
static bool may_be_widened(const struct world *w, enum sbx_op op, const char *path)
{
	for (size_t i = 0; i < w->rs.op[op].n; i++) {
		const struct pol_rule *r = &w->rs.op[op].v[i];

		if (!r->allow && r->shape == POL_GLOB && strncmp(r->glob, "**", 2) == 0 &&
		    (r->folds ? pol_glob_match_folded : pol_glob_match)(r->glob, path + 1,
									strlen(path) - 1))
			return true;
	}
	return false;
}

static void same_verdict(struct world *w, enum sbx_op op, int asked, const char *path,
			 unsigned seed)
{
	bool is = asks(w, asked, path, SBPL_V_REGULAR_FILE), should = decides(w, op, path);

	if (is != should)
		cr_assert(!is && may_be_widened(w, op, path), "seed %u: %s of %s: %d, not %d\n%s",
			  seed, sbpl_op_name(asked), path, is, should, w->prof.text);
}

/* Is the path a directory that some rule stands below, or a name that single rules allow? */
static bool has_rule_below(const struct world *w, const char *path)
{
	size_t len = strcmp(path, "/") == 0 ? 0 : strlen(path);

	for (int op = SBX_READ; op <= SBX_MODIFY; op++)
		for (size_t i = 0; i < w->rs.op[op].n; i++) {
			const struct pol_rule *r = &w->rs.op[op].v[i];
			b_auto_free char *full = NULL;

			cr_assert(asprintf(&full, "%s/%s", r->base,
					   r->shape == POL_GLOB ? r->glob : "") > 0);
			if (!r->allow && strlen(full) > len && strncmp(full, path, len) == 0 &&
			    full[len] == '/' && (full[len + 1] || r->shape == POL_GLOB))
				return true;
		}
	return false;
}

static const char kept[] = "directories that cannot be ";

/* Does a note list the path among what cannot be made? */
static bool is_told(const struct world *w, const char *path)
{
	for (size_t i = 0; i < w->prof.nnotes; i++) {
		b_auto_free char *note = b_strdup(w->prof.notes[i]);
		char *save = NULL, *list = strstr(note, "denied: ");

		if (strncmp(note, kept, strlen(kept)) != 0 || !strstr(note, "be made"))
			continue;
		for (char *s = strtok_r(list + 8, ", ", &save); s; s = strtok_r(NULL, ", ", &save))
			if (pol_glob_match_folded(s + 1, path + 1, strlen(path + 1)))
				return true;
	}
	return false;
}

/* Does the profile do more than keep directories where they are? */
static bool says_more(const struct world *w)
{
	for (size_t i = 0; i < w->prof.nnotes; i++)
		if (strncmp(w->prof.notes[i], kept, strlen(kept)) != 0)
			return true;
	return false;
}

static void each_path(struct world *w, unsigned seed)
{
	for (size_t i = 0; i < w->npaths; i++) {
		const char *p = w->paths[i];
		bool known = decides(w, SBX_READ, p) && decides(w, SBX_MODIFY, p);
		bool readable, unlinks;

		same_verdict(w, SBX_READ, op_read, p, seed);
		same_verdict(w, SBX_MODIFY, op_write, p, seed);
		readable = asks(w, op_read, p, SBPL_V_REGULAR_FILE);
		unlinks = asks(w, op_unlink, p, SBPL_V_REGULAR_FILE);
		cr_assert(!unlinks || (known && readable), "seed %u: unlink of %s\n%s", seed, p,
			  w->prof.text);
		/* Siblings stay removable. */
		if (known && !unlinks)
			cr_assert(has_rule_below(w, p) || may_be_widened(w, SBX_READ, p) ||
					  may_be_widened(w, SBX_MODIFY, p),
				  "seed %u: %s cannot be removed\n%s", seed, p, w->prof.text);
		if (asks(w, op_link, p, SBPL_V_REGULAR_FILE))
			cr_assert(known && readable, "seed %u: link of %s", seed, p);
		cr_assert_eq(asks(w, op_clone, p, SBPL_V_REGULAR_FILE), readable,
			     "seed %u: clone of %s", seed, p);
		cr_assert_not(asks(w, op_clone, p, SBPL_V_DIRECTORY), "seed %u: clone of %s", seed,
			      p);
		if (asks(w, op_create, p, SBPL_V_REGULAR_FILE))
			cr_assert(decides(w, SBX_MODIFY, p), "seed %u: create %s", seed, p);
		else if (decides(w, SBX_MODIFY, p))
			cr_assert(is_told(w, p) || may_be_widened(w, SBX_MODIFY, p),
				  "seed %u: %s cannot be made\n%s", seed, p, w->prof.text);
	}
}

static bool inside(const char *path, const char *dir)
{
	size_t n = strlen(dir);

	return strncmp(path, dir, n) == 0 && (path[n] == '/' || !path[n]);
}

/* The planting of names that a deny through wildcards protects is a stated limit. */
static bool says_planting(const struct world *w)
{
	for (size_t i = 0; i < w->prof.nnotes; i++)
		if (strstr(w->prof.notes[i], "a directory moved in may carry names"))
			return true;
	return false;
}

static void one_continuation(struct world *w, const char *from, const char *to, const char *more,
			     unsigned seed)
{
	b_auto_free char *a = NULL, *b = NULL;
	bool wa, wb;

	cr_assert(asprintf(&a, "%s%s", from, more) > 0 && asprintf(&b, "%s%s", to, more) > 0);
	cr_assert(asks(w, op_read, a, SBPL_V_REGULAR_FILE) ||
			  !asks(w, op_read, b, SBPL_V_REGULAR_FILE),
		  "seed %u: moving %s to %s makes %s readable as %s\n%s", seed, from, to, a, b,
		  w->prof.text);
	wa = asks(w, op_write, a, SBPL_V_REGULAR_FILE);
	wb = asks(w, op_write, b, SBPL_V_REGULAR_FILE);
	cr_assert(wa || !wb, "seed %u: moving %s to %s makes %s writable as %s\n%s", seed, from, to,
		  a, b, w->prof.text);
	cr_assert(!wa || wb || says_planting(w), "seed %u: moving %s to %s plants %s\n%s", seed,
		  from, to, b, w->prof.text);
}

static void one_move(struct world *w, const char *from, const char *to, bool is_dir, unsigned seed)
{
	enum sbpl_vnode v = is_dir ? SBPL_V_DIRECTORY : SBPL_V_REGULAR_FILE;
	enum sbx_op against = SBX_OP_COUNT;
	size_t flen = strlen(from), tlen = strlen(to);

	if (strcmp(from, "/") == 0 || strcmp(to, "/") == 0 || inside(to, from) || inside(from, to))
		return;
	if (!asks(w, op_unlink, from, v) || !asks(w, op_create, to, v))
		return;
	one_continuation(w, from, to, "", seed);
	if (is_dir) {
		one_continuation(w, from, to, "/zz", seed);
		one_continuation(w, from, to, "/zz/.env", seed);
		for (size_t i = 1; i < w->npaths; i++)
			if (strlen(w->paths[i]) < 12)
				one_continuation(w, from, to, w->paths[i], seed);
	}
	/* a directory that comes to where it may not be read is for the shim to refuse */
	if (!says_more(w))
		cr_assert(sbx_move_allowed(&w->img, from, flen, to, tlen,
					   is_dir ? SBX_MOVES_DIR : 0, &against) ||
				  (is_dir && against == SBX_READ),
			  "seed %u: the engine refuses %s to %s\n%s", seed, from, to, w->prof.text);
}

static size_t allowed_by_engine, refused_by_profile;

static void count_refusals(struct world *w, const char *from, const char *to)
{
	if (inside(to, from) || inside(from, to) || !decides(w, SBX_MODIFY, from) ||
	    !decides(w, SBX_MODIFY, to) ||
	    !sbx_move_allowed(&w->img, from, strlen(from), to, strlen(to), 0, NULL))
		return;
	allowed_by_engine++;
	if (!asks(w, op_unlink, from, SBPL_V_REGULAR_FILE) ||
	    !asks(w, op_create, to, SBPL_V_REGULAR_FILE))
		refused_by_profile++;
}

static void setup(void)
{
	op_read = sbpl_op_find("file-read-data");
	op_write = sbpl_op_find("file-write-data");
	op_create = sbpl_op_find("file-write-create");
	op_unlink = sbpl_op_find("file-write-unlink");
	op_link = sbpl_op_find("file-link");
	op_clone = sbpl_op_find("file-clone");
}

TestSuite(agreement_sbpl, .init = setup);

/* AGREEMENT_ROUNDS=20 tries twenty times as many. */
static unsigned rounds(void)
{
	const char *s = getenv("AGREEMENT_ROUNDS");
	unsigned long long n = 1;

	return s && b_parse_u64(s, 10000, &n) == 0 ? (unsigned)n : 1;
}

static void run(unsigned first, unsigned n, unsigned kind)
{
	n *= rounds();
	for (unsigned seed = first; seed < first + n; seed++) {
		struct world w;

		make(&w, seed, kind);
		each_path(&w, seed);
		for (unsigned i = 0; i < MOVES; i++) {
			const char *from = w.paths[pick((unsigned)w.npaths)];
			const char *to = w.paths[pick((unsigned)w.npaths)];

			one_move(&w, from, to, i % 3 != 0, seed);
			count_refusals(&w, from, to);
		}
		drop(&w);
	}
}

Test(agreement_sbpl, profile_and_engine_agree_and_no_move_launders)
{
	run(1, RULESETS, 0);
	cr_expect_geq(nchecks, 100000);
	/* Denying every move would be easy. */
	cr_expect_lt(refused_by_profile, allowed_by_engine / 4 * 3, "%zu of %zu",
		     refused_by_profile, allowed_by_engine);
}

Test(agreement_sbpl, verdicts_are_equal_where_no_deny_begins_with_two_stars)
{
	run(100001, RULESETS / 3, NO_STARS);
	cr_expect_geq(nchecks, 100000);
}

Test(agreement_sbpl, of_several_documents_all_must_allow)
{
	run(200001, RULESETS / 2, LAYERED);
	run(300001, RULESETS / 3, LAYERED | NO_STARS);
	cr_expect_geq(nchecks, 200000);
}
