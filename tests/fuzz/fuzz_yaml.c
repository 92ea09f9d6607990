/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a policy document: an error of one shape with a place in it, or a document that
 * is valid, says the same a second time and has every profile. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "policy/front/dialect.h"
#include "policy/document/model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_places(const struct pol_texts *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->v[i].pos.line == 0 || list->v[i].pos.col == 0 || !list->v[i].s)
			abort();
}

static void check_document(struct pol_doc *doc)
{
	struct pol_effective eff;
	struct b_err err;

	if (pol_doc_validate(doc, &err) < 0)
		abort();
	check_places(&doc->deny_read);
	check_places(&doc->deny_modify);
	for (size_t i = 0; i < doc->nprofiles; i++) {
		const struct pol_profile *p = &doc->profiles[i];

		check_places(&p->read);
		check_places(&p->modify);
		if (i >= 16) /* effective profiles copy the denies: quadratic in hostile input */
			continue;
		if (pol_doc_effective(doc, p->name.s, &eff, &err) < 0 ||
		    eff.n[SBX_READ] != p->read.n + doc->deny_read.n ||
		    eff.n[SBX_MODIFY] != p->modify.n + doc->deny_modify.n)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct pol_doc doc;
	struct b_err err = {0};

	if (pol_orbit_parse("f", (const char *)data, n, &doc, &err) < 0) {
		if (err.kind != B_POLICY || strncmp(err.msg, "f:", 2) != 0)
			abort();
		return 0;
	}
	check_document(&doc);
	pol_doc_release(&doc);
	return 0;
}
