/* SPDX-License-Identifier: Apache-2.0 */
/* schema.c - the JSON Schema of a line, from the table of its fields. */
#include "audit/schema.h"

#include <string.h>

#include "audit/collect_priv.h"
#include "audit/fields.h"
#include "base/str.h"

enum type { INT, BOOL, FLAG, WORD, TEXT, TIME, PATH, LIST, MAP };

static const struct field {
	const char *key;
	enum type type;
	unsigned always, sometimes;
	const char *text;
} fields[] = {
#define X(member, key, type, always, sometimes, text) {key, type, always, sometimes, text},
	AUD_FIELDS(X)
#undef X
};
enum { FIELDS = sizeof fields / sizeof *fields };

#define DAY   "[0-9]{4}-[0-9]{2}-[0-9]{2}"
#define CLOCK "[0-9]{2}:[0-9]{2}:[0-9]{2}"
static const char *const types[] = {
	[INT] = "\"type\": \"integer\", \"minimum\": 0",
	[BOOL] = "\"type\": \"boolean\"",
	[FLAG] = "\"const\": true",
	[WORD] = "\"type\": \"string\", \"minLength\": 1",
	[TEXT] = "\"type\": \"string\", \"minLength\": 1",
	[TIME] = "\"type\": \"string\", \"pattern\": \"^" DAY "T" CLOCK "\\\\.[0-9]{9}Z$\"",
	[PATH] = "\"type\": \"string\"",
	[LIST] = "\"type\": \"array\", \"items\": {\"type\": \"string\"}",
	[MAP] = "\"type\": \"object\", \"additionalProperties\": {\"type\": \"string\"}",
};

static void add_word(struct b_str *out, const char *word, bool *more)
{
	b_str_addf(out, "%s\"%s\"", *more ? ", " : "", word);
	*more = true;
}

/* What only some values of a type can be. */
static bool add_values(struct b_str *out, const char *key)
{
	static const char *const fixed[][2] = {
		{"schemaVersion", "\"const\": 2"},
		{"seq", "\"type\": \"integer\", \"minimum\": 1"},
		{"run_id",
		 "\"type\": \"string\", \"pattern\": \"^[0-9]{8}T[0-9]{6}Z-[0-9a-f]{6}$\""},
		{"op", "\"enum\": [\"read\", \"modify\", \"exec\", \"connect\"]"},
		{"against", "\"enum\": [\"read\", \"modify\", \"exec\", \"connect\"]"},
		{"layer", "\"enum\": [\"shim\", \"broker\", \"kernel\", \"proxy\", \"launcher\"]"},
		{"errno", "\"type\": \"integer\""},
		{"chain", "\"type\": \"string\", \"pattern\": \"^[0-9a-f]{32}$\""},
		{"reason",
		 "\"enum\": [\"move\", \"move-unseen\", \"grant-root\", \"git-link\", \"set-id\", "
		 "\"current-directory\", "
		 "\"supervisor\", \"filter\""},
	};
	bool more = false;
	size_t i;

	for (i = 0; i < sizeof fixed / sizeof *fixed; i++)
		if (strcmp(key, fixed[i][0]) == 0)
			b_str_add(out, fixed[i][1]);
	if (strcmp(key, "reason") == 0) {
		more = true;
		for (i = 0; i < SBX_LOSS_COUNT; i++)
			add_word(out, sbx_loss_name((unsigned)i), &more);
		b_str_addc(out, ']');
	} else if (strcmp(key, "kind") == 0) {
		b_str_add(out, "\"enum\": [");
		for (i = 0; i < AUD_KIND_COUNT; i++)
			add_word(out, aud_kind_name((enum aud_kind)i), &more);
		b_str_addc(out, ']');
	} else if (strcmp(key, "image") == 0) {
		b_str_add(out, "\"enum\": [");
		for (i = 0; i < SBX_EXEC_CLASS_COUNT; i++)
			add_word(out, sbx_exec_class_name((enum sbx_exec_class)i), &more);
		b_str_addc(out, ']');
	}
	return out->s[out->len - 1] != '{';
}

/* The texts of the table have backslashes and quotes of C alone. */
static void add_text(struct b_str *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			b_str_addc(out, '\\');
		b_str_addc(out, *text);
	}
}

static void add_properties(struct b_str *out)
{
	const struct field *f;

	for (f = fields; f < fields + FIELDS; f++) {
		b_str_addf(out, "%s\n\t\t\"%s\": {", f == fields ? "" : ",", f->key);
		if (!add_values(out, f->key))
			b_str_add(out, types[f->type]);
		b_str_add(out, ",\n\t\t\t\"description\": \"");
		add_text(out, f->text);
		b_str_add(out, "\"}");
		if (f->type == PATH)
			b_str_addf(
				out,
				",\n\t\t\"%s_b64\": {\"type\": \"string\", \"pattern\": "
				"\"^[A-Za-z0-9+/]*={0,2}$\",\n\t\t\t\"description\": \"the exact "
				"bytes of %s, only when that is escaped\"}",
				f->key, f->key);
	}
}

static void add_kind(struct b_str *out, unsigned kind)
{
	const struct field *f;
	bool more = false;

	b_str_addf(
		out,
		"%s\n\t\t{\"if\": {\"properties\": {\"kind\": {\"const\": \"%s\"}}, \"required\": "
		"[\"kind\"]},\n\t\t \"then\": {\"required\": [",
		kind ? "," : "", aud_kind_name((enum aud_kind)kind));
	for (f = fields; f < fields + FIELDS; f++)
		if (f->always >> kind & 1)
			add_word(out, f->key, &more);
	b_str_add(out, "],\n\t\t  \"propertyNames\": {\"enum\": [");
	for (f = fields, more = false; f < fields + FIELDS; f++) {
		if (!((f->always | f->sometimes) >> kind & 1))
			continue;
		add_word(out, f->key, &more);
		if (f->type == PATH)
			b_str_addf(out, ", \"%s_b64\"", f->key);
	}
	b_str_add(out, "]}}}");
}

void aud_schema_json(struct b_str *out)
{
	unsigned k;

	b_str_add(out,
		  "{\n\t\"$schema\": \"http://json-schema.org/draft-07/schema#\",\n"
		  "\t\"$id\": \"fs-call-event.schema.json\",\n\t\"title\": \"FsCallEvent\",\n"
		  "\t\"description\": \"One line of audit.jsonl of sbx-launch. Fields follow from "
		  "`kind`. Made by `sbx-audit schema`.\",\n\t\"type\": \"object\",\n"
		  "\t\"properties\": {");
	add_properties(out);
	b_str_add(out, "\n\t},\n\t\"required\": [\"schemaVersion\", \"seq\", \"ts\", \"kind\"],\n"
		       "\t\"additionalProperties\": false,\n\t\"allOf\": [");
	for (k = 0; k < AUD_KIND_COUNT; k++)
		add_kind(out, k);
	b_str_add(out, "\n\t]\n}\n");
}
