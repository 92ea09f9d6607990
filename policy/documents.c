/* documents.c - see documents.h. */
#include "policy/documents.h"

#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/orbit.h"
#include "policy/load.h"
#include "policy/model.h"
#include "policy/presets.h"
#include "policy/store.h"

static int parse(const struct pol_input *in, struct pol_doc *out, struct b_err *err)
{
	struct pol_text file = {.pos = {in->name, 1, 1}};

	if (pol_front_parse(in, out, err) < 0)
		return -1;
	file.s = file.pos.file = b_arena_strndup(&out->arena, in->name, strlen(in->name));
	pol_texts_add(out, &out->files, file);
	return 0;
}

int pol_document_read(const char *path, enum pol_dialect dialect, struct b_str *report,
		      struct pol_doc *out, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_input in = {.name = path, .dialect = dialect, .report = report};

	if (pol_policy_read(path, &text, err) < 0)
		return -1;
	in.text = b_str_c(&text);
	in.len = text.len;
	return parse(&in, out, err);
}

/* What one of another system leaves out has a meaning there, which a second document would
 * change. */
static int check_alone(const struct pol_doc *a, const struct pol_doc *b, struct b_err *err)
{
	const struct pol_doc *foreign = pol_doc_is_foreign(a) ? a : b;

	if (!pol_doc_is_foreign(foreign))
		return 0;
	return b_fail(err, B_POLICY, 0, "%s: a document of %s merges with no other: give it alone",
		      foreign->files.v[0].s, pol_dialect_name(foreign->foreign.dialect));
}

int pol_documents_put(const struct pol_input *in, struct pol_doc *doc, struct b_err *err)
{
	struct pol_doc next = {0}, both = {0};
	int rc;

	if (doc->files.n == 0)
		return parse(in, doc, err);
	if (parse(in, &next, err) < 0)
		return -1;
	rc = check_alone(doc, &next, err);
	if (rc == 0)
		rc = pol_doc_merge(doc, &next, &both, err);
	pol_doc_release(&next);
	if (rc < 0)
		return -1;
	pol_doc_release(doc);
	*doc = both;
	return 0;
}

static int put_on(const char *path, enum pol_dialect dialect, struct pol_doc *doc,
		  struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_input in = {.name = path, .dialect = dialect};

	if (pol_policy_read(path, &text, err) < 0)
		return -1;
	in.text = b_str_c(&text);
	in.len = text.len;
	return pol_documents_put(&in, doc, err);
}

static int put_text(const struct pol_store *store, struct b_arena *a, const char *text,
		    enum pol_dialect dialect, struct pol_doc *doc, struct b_err *err)
{
	const char *files[POL_STORE_PLACES] = {text};
	size_t n = 1;

	if (!*text)
		return b_fail(err, B_USAGE, 0, "--policy: empty, expected a file or a name");
	if (pol_store_is_name(text) && pol_store_files(store, a, text, files, &n, err) < 0)
		return -1;
	for (size_t i = 0; i < n; i++)
		if (put_on(files[i], dialect, doc, err) < 0)
			return -1;
	return 0;
}

const char *pol_documents_name(struct pol_doc *doc)
{
	const char *name = doc->files.v[0].s;

	for (size_t i = 1; i < doc->files.n; i++)
		name = b_arena_printf(&doc->arena, "%s + %s", name, doc->files.v[i].s);
	return name;
}

int pol_documents_load(const char *const *texts, size_t n, enum pol_dialect dialect,
		       struct pol_doc *out, const char **out_name, struct b_err *err)
{
	const struct pol_preset *preset = pol_preset_find("default");
	struct pol_doc doc = {0};
	struct pol_store store;
	struct b_arena a = {0};
	int rc = 0;

	B_ASSERT(preset);
	if (n == 0) {
		*out_name = preset->file;
		return pol_orbit_take(preset->root, out, err);
	}
	pol_store_find(&a, &store);
	for (size_t i = 0; i < n && rc == 0; i++)
		rc = put_text(&store, &a, texts[i], dialect, &doc, err);
	b_arena_release(&a);
	if (rc < 0) {
		pol_doc_release(&doc);
		return -1;
	}
	*out_name = pol_documents_name(&doc);
	*out = doc;
	return 0;
}
