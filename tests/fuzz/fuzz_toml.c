/* Any bytes as settings of caliban: an error of one shape with a place in it, or a document that is
 * valid and whose rules all have places. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "policy/front/dialect.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	const struct pol_input in = {
		.name = "f", .text = (const char *)data, .len = n, .dialect = POL_DIALECT_caliban};
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
	pol_doc_release(&doc);
	return 0;
}
