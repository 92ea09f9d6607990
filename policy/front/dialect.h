/*
 * dialect.h - a document in whatever language it is written: Orbit's and OpenShell's YAML, the
 * JSON settings of srt, the `[sandbox]` TOML of caliban. Never touches the file system.
 *
 *	const struct pol_input in = {.name = "p.yaml", .text = text, .len = len};
 *	if (pol_front_parse(&in, &doc, &err) < 0) ...
 *
 * The language is told by the content: an object in braces is JSON unless its keys are those of a
 * YAML document; a text whose first line is a `[table]` or `key =` is TOML; YAML with a key that
 * only OpenShell has, or a `version` and neither `kind` nor `schemaVersion`, is OpenShell's; all
 * else is Orbit's.
 */
#pragma once

#include <stddef.h>

#include "policy/model.h"

struct b_err;
struct b_str;

struct pol_input {
	const char *name, *text;
	size_t len;
	enum pol_dialect dialect; /* POL_DIALECT_auto: by the content */
	/* Gets all that is wrong, a line each, where the language lists more than the first thing;
	 * NULL = not asked. */
	struct b_str *report;
};

/* B_POLICY, B_LIMIT. */
int pol_front_parse(const struct pol_input *, struct pol_doc *out, struct b_err *err);
/* What the text looks like, before it is read: srt, caliban, or auto, for all that is YAML. */
enum pol_dialect pol_front_guess(const char *text, size_t len);
/* What --dialect calls it, and a person. */
const char *pol_dialect_word(enum pol_dialect);
const char *pol_dialect_name(enum pol_dialect);
/* Is it of another system? Such a document stands alone. */
bool pol_doc_is_foreign(const struct pol_doc *);
