/*
 * documents.h - the document of a request: which files it means, read, parsed and merged.
 *
 *	struct pol_doc doc = {0};
 *	const char *name;
 *	if (pol_documents_load(rq->policies, rq->npolicies, rq->dialect, &doc, &name, &err) < 0) ...
 *	pol_doc_release(&doc);
 *
 * Each text is a file, or the name of a policy in the store (store.h), which may be two files.
 * Several merge, in order, as Orbit's merged(): pol_doc_merge(). None is the built-in default.
 */
#pragma once

#include <stddef.h>

#include "policy/front/dialect.h"

struct b_err;
struct b_str;
struct pol_doc;

/* *out_name (in the document's arena) is how messages call the whole: the files, or
 * "builtin:default". */
int pol_documents_load(const char *const *texts, size_t n, enum pol_dialect, struct pol_doc *out,
		       const char **out_name, struct b_err *err);
/* One file, with its path in doc->files. `report` as of dialect.h. */
int pol_document_read(const char *path, enum pol_dialect, struct b_str *report, struct pol_doc *out,
		      struct b_err *err);
/* Puts what the text of a file says on what was read before (nothing: as it is). B_POLICY: one of
 * the two is of another system. */
int pol_documents_put(const struct pol_input *, struct pol_doc *doc, struct b_err *err);
/* What messages call the whole, from the files in it; in the document's arena. */
const char *pol_documents_name(struct pol_doc *);
