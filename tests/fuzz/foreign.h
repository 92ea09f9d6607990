/* SPDX-License-Identifier: Apache-2.0 */
/* foreign.h - any bytes as a document of another system: an error of one shape with a place in it,
 * or a document that is valid, whose rules all have places, and that can be read again in every
 * language it is converted to. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"
#include "policy/questions/convert.h"
#include "policy/front/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static inline void fuzz_conversions(struct pol_doc *doc)
{
	for (int to = POL_DIALECT_orbit; to <= POL_DIALECT_caliban; to++) {
		struct b_str out = {0}, named = {0};
		struct pol_input in = {.name = "c", .dialect = (enum pol_dialect)to};
		struct pol_doc again;
		struct b_err err;

		if (pol_convert(doc, NULL, in.dialect, &out, &named, &err) < 0)
			abort();
		in.text = b_str_c(&out);
		in.len = out.len;
		if (pol_front_parse(&in, &again, &err) < 0) {
			fprintf(stderr, "%s\n%s\n", err.msg, in.text);
			abort();
		}
		pol_doc_release(&again);
		b_str_release(&out);
		b_str_release(&named);
	}
}

static inline int fuzz_foreign(enum pol_dialect dialect, const uint8_t *data, size_t n)
{
	const struct pol_input in = {
		.name = "f", .text = (const char *)data, .len = n, .dialect = dialect};
	struct pol_doc doc;
	struct b_err err = {0};

	if (pol_front_parse(&in, &doc, &err) < 0) {
		if ((err.kind != B_POLICY && err.kind != B_LIMIT) || strncmp(err.msg, "f:", 2) != 0)
			abort();
		return 0;
	}
	if (pol_doc_validate(&doc, &err) < 0 || !pol_doc_is_foreign(&doc))
		abort();
	for (int i = 0; i < POL_ROOT_LIST_COUNT; i++)
		for (size_t k = 0; k < doc.settings.roots[i].n; k++) {
			const struct pol_text *t = &doc.settings.roots[i].v[k];

			if (!t->s || !*t->s || t->pos.line == 0 || t->pos.col == 0)
				abort();
		}
	fuzz_conversions(&doc);
	pol_doc_release(&doc);
	return 0;
}
