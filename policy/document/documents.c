/* SPDX-License-Identifier: Apache-2.0 */
/* documents.c - reads policy files, checks who can have written them, and finds policies by
 * name. */
#include "policy/document/documents.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/document/layers.h"
#include "policy/document/model.h"
#include "policy/front/dialect.h"
#include "policy/front/presets.h"
#include "policy/rules/workspace.h"

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
		return pol_orbit_take(pol_preset_root(preset), out, err);
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

/* ---- reading a file ---- */

typedef int check_fn(const char *path, const struct stat *, struct b_err *);

static int check_kind(const char *path, const struct stat *st, size_t limit, struct b_err *err)
{
	if (S_ISDIR(st->st_mode))
		return b_fail(err, B_POLICY, EISDIR, "%s: a directory, expected a file", path);
	if (!S_ISREG(st->st_mode))
		return b_fail(err, B_POLICY, 0, "%s: not a regular file, expected one", path);
	if (st->st_size > (off_t)limit)
		return b_fail(err, B_POLICY, 0, "%s: larger than %zu bytes", path, limit);
	return 0;
}

static int check_writers(const char *path, const struct stat *st, struct b_err *err)
{
	if (st->st_mode & (S_IWGRP | S_IWOTH))
		return b_fail(err, B_POLICY, 0, "%s: writable by %s: chmod go-w %s", path,
			      st->st_mode & S_IWOTH ? "others" : "its group", path);
	return 0;
}

static int check_own(const char *path, const struct stat *st, struct b_err *err)
{
	if (st->st_uid != 0 && st->st_uid != getuid())
		return b_fail(
			err, B_POLICY, 0,
			"%s: owned by uid %u, expected root or yourself: chown it, or copy it",
			path, (unsigned)st->st_uid);
	return check_writers(path, st, err);
}

static int check_roots(const char *path, const struct stat *st, struct b_err *err)
{
	if (st->st_uid != 0)
		return b_fail(err, B_POLICY, 0, "%s: owned by uid %u, expected root: chown it",
			      path, (unsigned)st->st_uid);
	return check_writers(path, st, err);
}

static int check_nothing(const char *path, const struct stat *st, struct b_err *err)
{
	(void)path;
	(void)st;
	(void)err;
	return 0;
}

static int fail_sys(const char *path, struct b_err *err)
{
	return b_fail(err, B_POLICY, errno, "%s: %s", path, strerror(errno));
}

/* O_NONBLOCK: opening a FIFO must not wait for a writer. */
static int open_it(int at, const char *path, int flags)
{
	return openat(at, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
}

static int read_it(int fd, const char *path, check_fn *check, size_t limit, struct b_str *out,
		   struct b_err *err)
{
	struct stat st;
	size_t want;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fail_sys(path, err);
	if (check_kind(path, &st, limit, err) < 0 || check(path, &st, err) < 0)
		return -1;
	/* One byte more than there was: a file that grows meanwhile is noticed. */
	want = (size_t)st.st_size + 1;
	n = b_read_full(fd, b_str_room(out, want), want);
	if (n < 0)
		return fail_sys(path, err);
	if ((size_t)n == want)
		return b_fail(err, B_POLICY, 0, "%s: grew while it was read", path);
	b_str_advance(out, (size_t)n);
	return 0;
}

int pol_trusted_read(const char *path, size_t limit, struct b_str *out, struct b_err *err)
{
	b_auto_fd int fd = open_it(AT_FDCWD, path, 0);

	return read_it(fd, path, check_own, limit, out, err);
}

int pol_policy_read(const char *path, struct b_str *out, struct b_err *err)
{
	return pol_trusted_read(path, POL_MAX_FILE, out, err);
}

static int fail_link(const char *path, const char *kind, struct b_err *err)
{
	return b_fail(err, B_POLICY, ELOOP, "%s: a symlink, expected %s", path, kind);
}

/* A symlink itself, and no permission to read what is opened; macOS knows the first only. */
#ifdef O_PATH
enum { OPEN_ITSELF = O_PATH | O_NOFOLLOW | O_CLOEXEC };
#else
enum { OPEN_ITSELF = O_SYMLINK | O_CLOEXEC };
#endif

/* The directory, which must be root's: who may write to it could put another file in its place.
 * -1 with `*out_there` false: there is none. */
static int open_directory(const char *path, bool *out_there, struct b_err *err)
{
	b_auto(b_str_release) struct b_str dir = {0};
	struct stat st;
	int fd;

	b_str_addn(&dir, path, (size_t)(strrchr(path, '/') - path));
	fd = open(b_str_c(&dir), OPEN_ITSELF);
	*out_there = fd >= 0 || errno != ENOENT;
	if (!*out_there)
		return -1;
	if (fd < 0 || fstat(fd, &st) < 0)
		fail_sys(b_str_c(&dir), err);
	else if (S_ISLNK(st.st_mode))
		fail_link(b_str_c(&dir), "a directory", err);
	else if (!S_ISDIR(st.st_mode))
		b_fail(err, B_POLICY, ENOTDIR, "%s: not a directory, expected one", b_str_c(&dir));
	else if (check_roots(b_str_c(&dir), &st, err) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* No link leads to it: where one leads may be anybody's, and one that leads nowhere would switch
 * the policy off without a word. */
int pol_managed_read(const char *path, struct b_str *out, bool *out_there, struct b_err *err)
{
	b_auto_fd int dir = open_directory(path, out_there, err), fd = -1;

	if (dir < 0)
		return *out_there ? b_wrap(err, "managed policy") : 0;
	fd = open_it(dir, strrchr(path, '/') + 1, O_NOFOLLOW);
	*out_there = fd >= 0 || errno != ENOENT;
	if (!*out_there)
		return 0;
	if (fd < 0 && errno == ELOOP)
		fail_link(path, "a file", err);
	else if (read_it(fd, path, check_roots, POL_MAX_FILE, out, err) == 0)
		return 0;
	return b_wrap(err, "managed policy");
}

int pol_project_read(const char *path, struct b_str *out, bool *out_there, struct b_err *err)
{
	b_auto_fd int fd = open_it(AT_FDCWD, path, O_NOFOLLOW);

	*out_there = fd >= 0 || (errno != ENOENT && errno != ENOTDIR);
	if (!*out_there)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return fail_link(path, "a file", err);
	return read_it(fd, path, check_nothing, POL_MAX_FILE, out, err);
}

/* ---- policies by name ---- */

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
		return b_fail(
			err, B_SYSTEM, 0,
			"no home directory: set XDG_CONFIG_HOME to the directory of policies");
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
