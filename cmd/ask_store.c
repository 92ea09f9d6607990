/* ask_store.c - sbx-policy list and add: policies by name; presets: those compiled in; trust and
 * distrust: project files. */
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/documents.h"
#include "policy/layers.h"
#include "policy/load.h"
#include "policy/presets.h"
#include "policy/store.h"
#include "policy/trust.h"
#include "policy/workspace.h"

int ask_list(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct pol_store store;
	const char **names;
	struct b_err err;
	size_t n_names;

	(void)o;
	if (n > 0) {
		b_fail(&err, B_USAGE, 0, "list: `%s`, expected nothing behind it", words[0]);
		return ask_trouble(&err);
	}
	pol_store_find(&a, &store);
	if (pol_store_list(&store, &a, &names, &n_names, &err) < 0)
		return ask_trouble(&err);
	for (size_t i = 0; i < n_names; i++)
		b_str_addf(&out, "%s\n", names[i]);
	return ask_print(&out, YES);
}

int ask_add(struct ask_opts *o, char const *const *files, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct pol_store store;
	struct b_err err;
	const char *path;

	(void)o;
	if (n == 0) {
		b_fail(&err, B_USAGE, 0, "add: no file, expected sbx-policy add FILE...");
		return ask_trouble(&err);
	}
	pol_store_find(&a, &store);
	for (size_t i = 0; i < n; i++) {
		if (pol_store_add(&store, &a, files[i], &path, &err) < 0)
			return ask_trouble(&err);
		b_str_add_visible(&out, path, strlen(path));
		b_str_addc(&out, '\n');
	}
	return ask_print(&out, YES);
}

int ask_presets(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(b_str_release) struct b_str out = {0};
	struct b_err err;

	(void)o;
	for (unsigned i = 0; n == 0 && i < pol_presets_n; i++)
		b_str_addf(&out, "%s\n", pol_presets[i].name);
	for (size_t i = 0; i < n; i++) {
		const struct pol_preset *p = pol_preset_find(words[i]);

		if (!p) {
			b_fail(&err, B_USAGE, 0, "presets: no `%s`; without a name all are listed",
			       words[i]);
			return ask_trouble(&err);
		}
		b_str_addn(&out, p->text, p->len);
	}
	return ask_print(&out, YES);
}

/* The project file that is meant: it, or the one in that directory. Canonical; need not be there.
 */
static int find_project(struct b_arena *a, const char *text, const char **out, struct b_err *err)
{
	const char *slash = strrchr(text, '/'), *name = slash ? slash + 1 : text, *dir = text;

	if (strcmp(name, POL_PROJECT_FILE) == 0)
		dir = slash == text ? "/"
		      : slash	    ? b_arena_strndup(a, text, (size_t)(slash - text))
				    : ".";
	if (pol_file_given(a, dir, &dir, err) < 0)
		return -1;
	*out = b_arena_printf(a, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, POL_PROJECT_FILE);
	return 0;
}

static int trust_one(struct b_arena *a, const char *text, bool trust, struct b_str *out,
		     struct b_err *err)
{
	b_auto(b_str_release) struct b_str content = {0};
	struct pol_doc doc = {0};
	char hash[B_SHA256_HEX];
	const char *path;
	bool is_there;
	struct pol_input in = {.dialect = POL_DIALECT_orbit};

	if (find_project(a, text, &path, err) < 0)
		return -1;
	if (!trust)
		return pol_trust_set(pol_config_dir(a), path, NULL, err);
	in.name = path;
	/* What is hashed is what was found valid. */
	if (pol_project_read(path, &content, &is_there, err) < 0)
		return -1;
	if (!is_there)
		return b_fail(err, B_POLICY, 0, "%s: there is no such file", path);
	in.text = b_str_c(&content);
	in.len = content.len;
	if (pol_documents_put(&in, &doc, err) < 0)
		return -1;
	pol_doc_release(&doc);
	b_sha256_hex(content.s, content.len, hash);
	if (pol_trust_set(pol_config_dir(a), path, hash, err) < 0)
		return -1;
	b_str_addf(out, "%s  ", hash);
	b_str_add_visible(out, path, strlen(path));
	b_str_addc(out, '\n');
	return 0;
}

static int trust_all(char const *const *files, size_t n, bool trust)
{
	b_auto(b_str_release) struct b_str out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	struct b_err err;

	for (size_t i = 0; i < n; i++)
		if (trust_one(&a, files[i], trust, &out, &err) < 0)
			return ask_trouble(&err);
	return ask_print(&out, YES);
}

/* Names of files are anybody's: a line of the list is shown as any other line with one. */
int ask_trust(struct ask_opts *o, char const *const *files, size_t n)
{
	b_auto(b_str_release) struct b_str list = {0}, out = {0};
	b_auto(b_arena_release) struct b_arena a = {0};
	const char *line;

	(void)o;
	if (n > 0)
		return trust_all(files, n, true);
	pol_trust_list(pol_config_dir(&a), &list);
	for (line = b_str_c(&list); *line;) {
		size_t len = strcspn(line, "\n");

		b_str_add_visible(&out, line, len);
		b_str_addc(&out, '\n');
		line += len + (line[len] == '\n');
	}
	return ask_print(&out, YES);
}

int ask_distrust(struct ask_opts *o, char const *const *files, size_t n)
{
	struct b_err err;

	(void)o;
	if (n > 0)
		return trust_all(files, n, false);
	b_fail(&err, B_USAGE, 0, "distrust: no file, expected sbx-policy distrust FILE...");
	return ask_trouble(&err);
}
