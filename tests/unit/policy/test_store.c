/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/document/documents.c and documents.c: policies by name, in two directories.
 */
#include "policy/document/documents.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/document/model.h"
#include "tests/support/tsv.h"

static struct b_arena arena;
static char top[] = "/tmp/sbx-test-store-XXXXXX";
static struct pol_store store;
static struct b_err err;
static const char *files[POL_STORE_PLACES], **names;
static size_t n;

static void put(const char *dir, const char *name, const char *resource)
{
	const char *path = b_arena_printf(&arena, "%s/%s", dir, name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	cr_assert(fd >= 0, "%s", path);
	cr_assert(dprintf(fd,
			  "schemaVersion: 2\nkind: Policy\nmetadata: {name: %s}\n"
			  "spec: {description: %s}\n",
			  resource, dir) > 0);
	close(fd);
}

static void setup(void)
{
	cr_assert(mkdtemp(top));
	store.dirs[0] = b_arena_printf(&arena, "%s/host", top);
	store.dirs[1] = b_arena_printf(&arena, "%s/config/sbx-launch/policies", top);
	cr_assert_eq(mkdir(store.dirs[0], 0700), 0);
	setenv("XDG_CONFIG_HOME", b_arena_printf(&arena, "%s/config", top), 1);
}

static void teardown(void)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	b_str_addf(&cmd, "rm -rf '%s'", top);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
	b_arena_release(&arena);
}

TestSuite(policy_store, .init = setup, .fini = teardown);

static void user_dir(void)
{
	b_auto(b_str_release) struct b_str cmd = {0};

	b_str_addf(&cmd, "mkdir -p '%s'", store.dirs[1]);
	cr_assert_eq(system(b_str_c(&cmd)), 0);
}

static void find(const char *name)
{
	cr_assert_eq(pol_store_files(&store, &arena, name, files, &n, &err), 0, "%s", err.msg);
}

/* policy_merge-012, -013 */
Test(policy_store, the_only_one_is_taken_as_it_is)
{
	user_dir();
	put(store.dirs[0], "a.yaml", "a");
	put(store.dirs[1], "b.yaml", "b");
	find("a");
	cr_expect_eq(n, 1);
	cr_expect_str_eq(files[0], b_arena_printf(&arena, "%s/a.yaml", store.dirs[0]));
	find("b");
	cr_expect_eq(n, 1);
	cr_expect_str_eq(files[0], b_arena_printf(&arena, "%s/b.yaml", store.dirs[1]));
}

Test(policy_store, of_two_the_users_is_put_on_the_hosts)
{
	user_dir();
	put(store.dirs[0], "a.yaml", "a");
	put(store.dirs[1], "a.yaml", "a");
	find("a");
	cr_expect_eq(n, 2);
	cr_expect(strstr(files[0], "/host/") && strstr(files[1], "/config/"));
}

/* policy_merge-014 */
Test(policy_store, names_of_both_are_listed_once_and_sorted)
{
	user_dir();
	put(store.dirs[0], "b.yaml", "b");
	put(store.dirs[0], "c.yaml", "c");
	put(store.dirs[1], "c.yaml", "c");
	put(store.dirs[1], "a.yaml", "a");
	put(store.dirs[1], "v1.2.yaml", "x");
	put(store.dirs[1], "README", "x");
	cr_assert_eq(pol_store_list(&store, &arena, &names, &n, &err), 0);
	cr_assert_eq(n, 3);
	cr_expect_str_eq(names[0], "a");
	cr_expect_str_eq(names[1], "b");
	cr_expect_str_eq(names[2], "c");
}

/* policy_merge-015 */
Test(policy_store, what_is_added_is_the_users_alone)
{
	const char *path, *file = b_arena_printf(&arena, "%s/new.txt", top);

	put(top, "new.txt", "a");
	cr_assert_eq(pol_store_add(&store, &arena, file, &path, &err), 0, "%s", err.msg);
	cr_expect_str_eq(path, b_arena_printf(&arena, "%s/a.yaml", store.dirs[1]));
	find("a");
	cr_expect_eq(n, 1);
	/* and again, over it */
	cr_assert_eq(pol_store_add(&store, &arena, file, &path, &err), 0, "%s", err.msg);
}

Test(policy_store, no_store_is_an_empty_one)
{
	rmdir(store.dirs[0]);
	cr_assert_eq(pol_store_list(&store, &arena, &names, &n, &err), 0);
	cr_expect_eq(n, 0);
	cr_expect_eq(pol_store_files(&store, &arena, "a", files, &n, &err), -1);
	cr_expect(strstr(err.msg, "no policy `a` in"), "%s", err.msg);
	cr_expect(strstr(err.msg, "./a"), "%s", err.msg);
}

Test(policy_store, what_has_a_slash_or_a_dot_is_a_file)
{
	cr_expect(pol_store_is_name("agent"));
	cr_expect(pol_store_is_name("my agent"));
	cr_expect_not(pol_store_is_name("agent.yaml"));
	cr_expect_not(pol_store_is_name("./agent"));
	cr_expect_not(pol_store_is_name("/a"));
	cr_expect_not(pol_store_is_name(".."));
	cr_expect_not(pol_store_is_name(""));
}

Test(policy_store, names_are_validated_before_a_path_is_built)
{
	struct tsv *t = tsv_load("tests/vectors/name_validator.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];

		/* control characters are written <U+0001> there: see policy_normalise */
		if (tsv_is_true(row, "ok") || strchr(tsv_cell(row, "name"), '<'))
			continue;
		cr_expect_eq(
			pol_store_files(&store, &arena, tsv_cell(row, "name"), files, &n, &err), -1,
			"%s", row->cells[0]);
		cr_expect_null(strstr(err.msg, store.dirs[1]), "%s", err.msg);
	}
	tsv_free(t);
}

Test(policy_store, the_user_has_one_by_xdg)
{
	struct pol_store s;

	pol_store_find(&arena, &s);
	cr_expect_str_eq(s.dirs[0], "/etc/sbx-launch/policies");
	cr_expect_str_eq(s.dirs[1], store.dirs[1]);
	setenv("XDG_CONFIG_HOME", "relative", 1);
	setenv("HOME", top, 1);
	pol_store_find(&arena, &s);
	cr_expect(strstr(s.dirs[1], "/.config/sbx-launch/policies"), "%s", s.dirs[1]);
}

Test(policy_store, several_documents_become_one_in_their_order)
{
	const char *texts[3];
	struct pol_doc doc = {0};
	const char *title;

	user_dir();
	put(store.dirs[1], "mine.yaml", "mine");
	put(top, "one.yaml", "one");
	put(top, "two.yaml", "two");
	texts[0] = b_arena_printf(&arena, "%s/one.yaml", top);
	texts[1] = "mine";
	texts[2] = b_arena_printf(&arena, "%s/two.yaml", top);
	cr_assert_eq(pol_documents_load(texts, 3, POL_DIALECT_auto, &doc, &title, &err), 0, "%s",
		     err.msg);
	cr_expect_str_eq(doc.name.s, "two");
	cr_assert_eq(doc.files.n, 3);
	cr_expect_str_eq(doc.files.v[2].s, texts[2]);
	cr_expect_str_eq(title, b_arena_printf(&arena, "%s + %s/mine.yaml + %s", texts[0],
					       store.dirs[1], texts[2]));
	pol_doc_release(&doc);
}
