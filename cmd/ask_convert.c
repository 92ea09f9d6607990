/* ask_convert.c - sbx-policy convert: a document in another language. */
#include <string.h>

#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/convert.h"
#include "policy/documents.h"
#include "policy/front/dialect.h"

static int convert(const struct ask_opts *o, const char *file, struct b_str *out,
		   struct b_str *named, struct b_err *err)
{
	const struct lau_policy_opts *p = &o->run.policy;
	b_auto(pol_doc_release) struct pol_doc doc = {0};
	const char *name;

	if (pol_documents_load(&file, 1, (enum pol_dialect)p->dialect, &doc, &name, err) < 0)
		return -1;
	return pol_convert(&doc, p->profile, (enum pol_dialect)o->to, out, named, err);
}

int ask_convert(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0}, named = {0};
	struct b_err err;
	size_t len;

	if (n != 1 || o->to == POL_DIALECT_auto || o->run.policy.policies.n > 0) {
		b_fail(&err, B_USAGE, 0,
		       "convert: expected sbx-policy convert --to orbit|openshell|srt|caliban "
		       "FILE");
		return ask_trouble(&err);
	}
	if (convert(o, words[0], &out, &named, &err) < 0)
		return ask_trouble(&err);
	for (const char *line = b_str_c(&named); *line; line += len + 1) {
		b_auto(b_str_release) struct b_str text = {0};

		len = strcspn(line, "\n");
		b_str_addf(&text,
			   "sbx-policy: not in %s: ", pol_dialect_name((enum pol_dialect)o->to));
		b_str_add_visible(&text, line, len);
		b_str_addc(&text, '\n');
		(void)b_write_all(STDERR_FILENO, text.s, text.len);
	}
	return ask_print(&out, named.len ? NO : YES);
}
