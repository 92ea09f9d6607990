/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target of sbpl/. The first byte chooses:
 *   even  the rest is profile text: read, run, asked a few questions
 *   odd   the rest is a ruleset: compiled; what compiles has passed its self-check, and what does
 *         not must have a reason other than the self-check
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/compile/ruleset.h"
#include "sbpl/sbpl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void ask(struct sbpl_program *p, const char *path)
{
	static const char *const ops[] = {"file-read-data", "file-write-unlink", "file-link",
					  "network-outbound", "default"};

	for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
		for (int model = SBPL_MODEL_SPECIFIC; model <= SBPL_MODEL_TEXTUAL; model++) {
			struct sbpl_question q = {sbpl_op_find(ops[i]), path, strlen(path),
						  SBPL_V_DIRECTORY, (enum sbpl_model)model};

			(void)sbpl_program_allows(p, &q, NULL);
		}
}

static void run_text(const char *text, size_t len)
{
	static const struct sbpl_param params[] = {{"P0", "/Users/u"}};
	struct sbpl_program *p;
	struct b_err err;

	if (sbpl_program_new(&(struct sbpl_source){"fuzz.sb", text, len, params, 1}, &p, &err) < 0)
		return;
	ask(p, "/");
	ask(p, "/Users/u/a/b.env");
	sbpl_program_free(p);
}

/* A path of the bytes up to a NUL: canonical, since rulesets hold nothing else. */
static char *take_path(struct b_arena *a, const char **p, const char *end, bool is_glob)
{
	size_t n = strnlen(*p, (size_t)(end - *p)), len = 0;
	char *out = b_arena_alloc(a, n + 2);

	for (size_t i = 0; i < n; i++) {
		char c = (*p)[i];

		if (c == '/' && (len == 0 ? is_glob : out[len - 1] == '/'))
			continue;
		if (len == 0 && !is_glob && c != '/')
			out[len++] = '/';
		/* No component "." or "..": names that no rule can be on. */
		if (c == '.' && (len == 0 || out[len - 1] == '/'))
			c = '_';
		out[len++] = c;
	}
	while (len > 0 && out[len - 1] == '/')
		len--;
	out[len] = '\0';
	*p += n + (*p + n < end);
	return out;
}

static void add_rule(struct pol_ruleset *rs, unsigned char how, const char *base, const char *glob)
{
	struct pol_rule r = {
		.allow = how & 1,
		.shape = (enum pol_shape)((how >> 1) % 3),
		.base_is_root = how & 0x20,
		.base = base,
		.base_len = strlen(base),
		.matched = "fuzz",
		.origin = "fuzz:1:1",
	};

	if (r.shape == POL_GLOB) {
		if (!*glob)
			return;
		r.glob = glob;
		r.folds = how & 0x40;
	}
	pol_ruleset_add(rs, (enum sbx_op)((how >> 3) % SBX_OP_COUNT), &r);
}

static void run_rules(const char *p, size_t len)
{
	const char *end = p + len;
	struct sbpl_opts o = sbpl_opts_default();
	struct sbpl_profile prof;
	struct pol_ruleset rs;
	struct b_arena a = {0};
	struct b_err err;

	pol_ruleset_init(&rs);
	if (len == 0 || len > 2048)
		return;
	o.groups = *p & 2 ? o.groups : 0;
	o.inline_paths = *p & 4;
	o.exact_case = *p & 8;
	o.lax_moves = *p & 16;
	o.stat_ancestors = *p & 32;
	o.style = *p++ & 1 ? SBPL_STYLE_ORBIT : SBPL_STYLE_HARDENED;
	for (int n = 0; p < end && n < 24; n++) {
		unsigned char how = (unsigned char)*p++;
		const char *base = take_path(&a, &p, end, false);
		const char *glob = how >> 1 & 2 ? take_path(&a, &p, end, true) : "";

		add_rule(&rs, how, base, glob);
	}
	if (sbpl_compile(&rs, NULL, &o, &prof, &err) == 0)
		sbpl_profile_release(&prof);
	else if (strstr(err.msg, "self-check"))
		b_bug(__FILE__, __LINE__, err.msg);
	pol_ruleset_release(&rs);
	b_arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data + 1;

	if (size == 0)
		return 0;
	if (data[0] % 2)
		run_rules(text, size - 1);
	else
		run_text(text, size - 1);
	return 0;
}
