/* SPDX-License-Identifier: Apache-2.0 */
/* The planner on random rules and random trees: the grants, inherited as the kernel does, held
 * against the image. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "core/decide.h"
#include "tests/support/floorplan.h"

#define R POL_GRANT_READ
#define X POL_GRANT_EXEC
#define W POL_GRANT_WRITE

static unsigned rnd_state;

static unsigned rnd(unsigned n)
{
	rnd_state = rnd_state * 1103515245u + 12345u;
	return (rnd_state >> 16) % n;
}

static void random_path(char *out, size_t size, unsigned min_depth)
{
	unsigned depth = min_depth + rnd(4 - min_depth);
	size_t len = 0;

	*out = '\0';
	for (unsigned i = 0; i < depth; i++)
		len += (size_t)snprintf(out + len, size - len, "/%c", 'a' + (int)rnd(3));
}

static const char *random_rules(char (*text)[80], const char **lines)
{
	static const char *const globs[] = {"**/b", "*",  "*c",	 "**/a/**",
					    "a/*",  "**", "?/b", "b/**"};
	static const char ops[] = "aarmm";
	unsigned n = 2 + rnd(5);

	for (unsigned i = 0; i < n; i++) {
		char base[16];
		char op = ops[rnd(5)], sign = rnd(3) ? '+' : '-', shape = "TTEG"[rnd(4)];

		random_path(base, sizeof base, 0);
		snprintf(text[i], sizeof *text, "%c%c %c %s %s", op, sign, shape,
			 *base ? base : "/", shape == 'G' ? globs[rnd(8)] : "");
		lines[i] = text[i];
	}
	lines[n] = "a+ T /tool"; /* or there may be no plan at all */
	lines[n + 1] = NULL;
	return lines[0];
}

/* Every prefix of every file is a directory. */
static void random_tree(char (*text)[24], const char **files)
{
	size_t n = 0;

	for (int a = 0; a < 3; a++) {
		for (int b = 0; b < 3; b++) {
			for (int c = 0; c < 3; c++)
				if (rnd(3)) {
					snprintf(text[n], sizeof *text, "/%c/%c/%c", 'a' + a,
						 'a' + b, 'a' + c);
					files[n] = text[n];
					n++;
				}
			snprintf(text[n], sizeof *text, "/%c/%c/", 'a' + a, 'a' + b);
			files[n] = text[n];
			n++;
		}
		snprintf(text[n], sizeof *text, "/%c/", 'a' + a);
		files[n] = text[n];
		n++;
	}
	files[n++] = "/tool/";
	files[n] = NULL;
}

/* Rights at a path: those of every grant at or above it. */
static unsigned inherited(const char *path, size_t len)
{
	unsigned rights = 0;

	for (size_t i = 0; i < floorplan.ngrants; i++) {
		const struct pol_grant *g = &floorplan.grants[i];
		size_t n = strcmp(g->path, "/") != 0 ? strlen(g->path) : 0;

		if (!g->lax && n <= len && !strncmp(g->path, path, n) &&
		    (n == len || path[n] == '/'))
			rights |= g->rights;
	}
	return rights;
}

static bool decided(enum sbx_op op, const char *path, size_t len)
{
	return sbx_decide(&floorplan_img, op, path, len);
}

static bool fatal_gap(enum sbx_op op)
{
	for (size_t i = 0; i < floorplan.ngaps; i++)
		if (floorplan.gaps[i].op == op && floorplan.gaps[i].fatal)
			return true;
	return false;
}

static void judge_entry(const char *entry, unsigned seed)
{
	size_t len = floorplan_plain_len(entry);
	unsigned rights = inherited(entry, len);
	char fresh[64];
	int fresh_len;

	if (floorplan_type_at(entry) == 'f') {
		cr_expect(!(rights & R) || decided(SBX_READ, entry, len), "%u read %s", seed,
			  entry);
		cr_expect(!(rights & W) || decided(SBX_MODIFY, entry, len), "%u write %s", seed,
			  entry);
		cr_expect(!(rights & X) || decided(SBX_EXEC, entry, len), "%u exec %s", seed,
			  entry);
		cr_expect(rights & R || !decided(SBX_READ, entry, len) || fatal_gap(SBX_READ),
			  "%u no read of %s and no gap", seed, entry);
		cr_expect(rights & W || !decided(SBX_MODIFY, entry, len) || fatal_gap(SBX_MODIFY),
			  "%u no write of %s and no gap", seed, entry);
		return;
	}
	cr_expect(!(rights & R) || decided(SBX_READ, entry, len), "%u list %s", seed, entry);
	fresh_len = snprintf(fresh, sizeof fresh, "%.*s/zz", (int)len, entry);
	cr_expect(!(rights & R) || decided(SBX_READ, fresh, (size_t)fresh_len), "%u %s", seed,
		  fresh);
	cr_expect(!(rights & W) == !decided(SBX_MODIFY, fresh, (size_t)fresh_len) ||
			  (!(rights & W) && fatal_gap(SBX_MODIFY)),
		  "%u creating %s", seed, fresh);
}

Test(policy_floor_random, grants_never_exceed_the_rules_and_what_they_lack_is_a_gap)
{
	for (unsigned seed = 1; seed <= 2000; seed++) {
		char rule_text[12][80], file_text[64][24];
		const char *lines[12], *files[64];

		rnd_state = seed * 2654435761u;
		random_rules(rule_text, lines);
		random_tree(file_text, files);
		floorplan_make(lines, files);
		for (size_t i = 0; files[i]; i++)
			judge_entry(files[i], seed);
		floorplan_release();
	}
}
