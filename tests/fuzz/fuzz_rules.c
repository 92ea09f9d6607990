/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of rules, the last line a path: normal forms are fixed points, and the compiled image
 * decides and attributes as the naive matcher does. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/decide.h"
#include "core/path.h"
#include "policy/rules/build.h"
#include "policy/compile/ruleset.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { MAX_RULES = 6, MAX_INPUT = 300 };

#define WS "/no-such-place/ws"

static const char *normal(struct b_arena *a, const char *raw, bool *negated)
{
	struct b_err err;
	const char *s = pol_rule_normalise(a, raw, "rule", negated, &err), *again;
	bool twice;

	if (!s)
		return NULL;
	/* What begins with `!` here is a name; a second reading would take it off. White space at
	 * an end can stand there only behind a `!` or `./`. */
	if (s[0] == '!' || s[0] == ' ' || pol_path_normalise(a, s, NULL) == NULL)
		return s;
	again = pol_rule_normalise(a, s, "rule", &twice, &err);
	if (again && strlen(again) == strlen(s) && strcmp(again, s) != 0)
		abort();
	return s;
}

static void compare(const struct pol_ruleset *rs, const char *path, size_t len)
{
	const struct pol_list *list = &rs->op[SBX_MODIFY];
	int want = pol_list_last_match(list, list->n, path, len), got;
	struct sbx_image image;
	struct b_err err;
	void *data;
	size_t size;

	if (pol_compile(rs, NULL, &data, &size, &err) < 0) {
		if (err.kind != B_LIMIT)
			abort();
		return;
	}
	if (sbx_image_open(&image, data, size, true) != SBX_IMAGE_OK)
		abort();
	got = sbx_attribute(&image, SBX_MODIFY, path, len);
	if (got >= 0)
		got -= (int)image.hdr->op[SBX_MODIFY].first_rule;
	if (got != want)
		abort();
	if (sbx_decide(&image, SBX_MODIFY, path, len) != (want >= 0 && list->v[want].allow))
		abort();
	free(data);
}

/* Rules become profile rules, or from the third on global denies; `!` there is an exception. */
static size_t take_rules(struct b_arena *a, char *text, struct pol_eff_rule *v)
{
	size_t n = 0;

	for (char *line = strtok(text, "\n"); line && n < MAX_RULES; line = strtok(NULL, "\n")) {
		struct pol_eff_rule *r = &v[n];
		size_t len;
		bool below;

		*r = (struct pol_eff_rule){.pos = {"f", 1, (unsigned)n + 1}};
		r->rule = normal(a, line, &r->negated);
		if (!r->rule)
			continue;
		r->is_global_deny = n >= 3;
		if (r->is_global_deny) {
			r->is_exception =
				r->negated && pol_rule_is_subtree(r->rule, &len, &below) && len > 0;
			r->negated = !r->is_exception;
		}
		n++;
	}
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct pol_ruleset rs;
	struct pol_request rq = {0};
	struct pol_build b = {.rs = &rs, .rq = &rq};
	struct pol_eff_rule rules[MAX_RULES];
	struct pol_effective eff = {.name = "p", .v = {NULL, rules}};
	const char *ws[] = {WS}, *last;
	char text[MAX_INPUT + 1], path[SBX_PATH_MAX];
	unsigned flags;
	size_t len;

	if (n > MAX_INPUT)
		return 0;
	memcpy(text, data, n);
	text[n] = '\0';
	last = strrchr(text, '\n');
	len = sbx_path_join(path, sizeof path, WS, strlen(WS), last ? last + 1 : "", &flags);
	if (len == 0)
		return 0;
	pol_ruleset_init(&rs);
	rs.workspaces = ws;
	rs.nworkspaces = 1;
	eff.n[SBX_MODIFY] = take_rules(&rs.arena, text, rules);
	if (pol_build_profile(&b, &eff, NULL) == 0)
		compare(&rs, path, len);
	pol_ruleset_release(&rs);
	return 0;
}
