/* store.c - see store.h. */
#include "policy/store.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/orbit.h"
#include "policy/layers.h"
#include "policy/load.h"
#include "policy/model.h"
#include "policy/workspace.h"

#define HOST_DIR  POL_HOST_DIR "/policies"
#define SUFFIX	  ".yaml"
#define NAMES_MAX 10000

enum { HOST, USER };

void pol_store_find(struct b_arena *a, struct pol_store *out)
{
	const char *config = pol_config_dir(a);

	*out = (struct pol_store){.dirs = {[HOST] = HOST_DIR}};
	if (config)
		out->dirs[USER] = b_arena_printf(a, "%s/policies", config);
}

bool pol_store_is_name(const char *text)
{
	return *text && !strpbrk(text, "/.");
}

int pol_store_files(const struct pol_store *store, struct b_arena *a, const char *name,
		    const char *out[POL_STORE_PLACES], size_t *out_n, struct b_err *err)
{
	const char *reason = pol_name_check(name);
	struct stat st;
	size_t n = 0;

	if (reason)
		return b_fail(err, B_POLICY, 0,
			      "policy `%s`: a name %s; a file is written with a slash: ./%s", name,
			      reason, name);
	for (int i = 0; i < POL_STORE_PLACES; i++) {
		const char *path;

		if (!store->dirs[i])
			continue;
		path = b_arena_printf(a, "%s/%s" SUFFIX, store->dirs[i], name);
		/* What is there and cannot be used is for the reader to say. */
		if (lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR))
			out[n++] = path;
	}
	if (n == 0)
		return b_fail(err, B_POLICY, ENOENT,
			      "no policy `%s` in %s%s%s: sbx-policy list names those that are; a "
			      "file is written with a slash: ./%s",
			      name, store->dirs[USER] ? store->dirs[USER] : "",
			      store->dirs[USER] ? " or " : "", store->dirs[HOST], name);
	*out_n = n;
	return 0;
}

/* ---- all names ---- */

struct names {
	const char **v;
	size_t n, cap;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static int add_names(struct b_arena *a, const char *dir, struct names *out, struct b_err *err)
{
	DIR *d = dir ? opendir(dir) : NULL;
	const struct dirent *e;

	if (!d) {
		if (!dir || errno == ENOENT || errno == ENOTDIR)
			return 0;
		return b_fail(err, B_SYSTEM, errno, "%s: %s", dir, strerror(errno));
	}
	while ((e = readdir(d)) && out->n < NAMES_MAX) {
		size_t n = strlen(e->d_name), s = strlen(SUFFIX);

		if (n <= s || strcmp(e->d_name + n - s, SUFFIX) != 0 ||
		    pol_name_check_n(e->d_name, n - s))
			continue;
		b_grow(out->v, out->n, out->cap);
		out->v[out->n++] = b_arena_strndup(a, e->d_name, n - s);
	}
	closedir(d);
	return 0;
}

int pol_store_list(const struct pol_store *store, struct b_arena *a, const char ***out,
		   size_t *out_n, struct b_err *err)
{
	struct names names = {0};
	size_t n = 0;
	int rc = 0;

	for (int i = 0; i < POL_STORE_PLACES && rc == 0; i++)
		rc = add_names(a, store->dirs[i], &names, err);
	if (rc == 0) {
		*out = b_arena_alloc(a, (names.n + 1) * sizeof **out);
		if (names.n)
			qsort(names.v, names.n, sizeof *names.v, by_text);
		for (size_t i = 0; i < names.n; i++)
			if (n == 0 || strcmp((*out)[n - 1], names.v[i]) != 0)
				(*out)[n++] = names.v[i];
		*out_n = n;
	}
	free(names.v);
	return rc;
}

/* ---- adding ---- */

int pol_store_add(const struct pol_store *store, struct b_arena *a, const char *file,
		  const char **out_path, struct b_err *err)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct pol_doc doc = {0};

	if (!store->dirs[USER])
		return b_fail(err, B_SYSTEM, 0,
			      "no home directory: XDG_CONFIG_HOME says where "
			      "policies are kept");
	if (pol_policy_read(file, &text, err) < 0 ||
	    pol_orbit_parse(file, b_str_c(&text), text.len, &doc, err) < 0)
		return -1;
	/* The parser has checked the name: one component, no extension. */
	*out_path = b_arena_printf(a, "%s/%s" SUFFIX, store->dirs[USER], doc.name.s);
	pol_doc_release(&doc);
	if (b_mkdirs(store->dirs[USER], err) < 0)
		return -1;
	return b_write_file(*out_path, 0600, b_str_c(&text), text.len, true, err);
}
