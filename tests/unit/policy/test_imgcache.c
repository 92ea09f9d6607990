/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/compile/imgcache.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "policy/compile/ruleset.h"

static char base[64], dir[96];

static void set_up(void)
{
	strcpy(base, "/tmp/test_imgcache.XXXXXX");
	cr_assert_not_null(mkdtemp(base));
	snprintf(dir, sizeof dir, "%s/a/images", base);
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf %s", base);
	cr_expect_eq(system(command), 0);
}

static void put(const char *key, unsigned n)
{
	char text[32], hash[B_SHA256_HEX];
	int len = snprintf(text, sizeof text, "image %u", n);

	b_sha256_hex(text, (size_t)len, hash);
	pol_imgcache_put(dir, key, text, (size_t)len, hash);
}

static unsigned images(void)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	unsigned n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.' && strncmp(e->d_name, "key-", 4) != 0;
	if (d)
		closedir(d);
	return n;
}

TestSuite(policy_imgcache, .init = set_up, .fini = tear_down);

Test(policy_imgcache, gives_back_what_was_put)
{
	struct pol_cached c;
	struct stat st;

	cr_expect_not(pol_imgcache_get(dir, "k", &c));
	put("k", 1);
	cr_assert(pol_imgcache_get(dir, "k", &c));
	cr_expect_eq(c.size, 7);
	cr_expect_arr_eq(c.map, "image 1", 7);
	cr_expect(strstr(c.path, c.hash));
	cr_assert_eq(stat(c.path, &st), 0);
	cr_expect_eq(st.st_mode & 0777, 0400);
	pol_cached_release(&c);
	cr_expect_not(pol_imgcache_get(dir, "other", &c));
}

Test(policy_imgcache, keeps_few_and_those_in_use)
{
	struct pol_cached used, c;
	unsigned i;

	put("first", 0);
	cr_assert(pol_imgcache_get(dir, "first", &used));
	for (i = 1; i < POL_CACHE_KEEP + 10; i++) {
		char key[16];

		snprintf(key, sizeof key, "%u", i);
		put(key, i);
	}
	cr_expect_eq(images(), POL_CACHE_KEEP);
	cr_expect_eq(access(used.path, F_OK), 0); /* the oldest of all */
	cr_expect_not(pol_imgcache_get(dir, "1", &c));
	pol_cached_release(&used);
}

Test(policy_imgcache, links_elsewhere_are_not_followed)
{
	char path[192];
	struct pol_cached c;

	put("k", 1);
	snprintf(path, sizeof path, "%s/key-evil", dir);
	cr_assert_eq(symlink("../../../../etc/passwd", path), 0);
	cr_expect_not(pol_imgcache_get(dir, "evil", &c));
	snprintf(path, sizeof path, "%s/%064d", dir, 0);
	cr_assert_eq(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof path, "%s/key-evil2", dir);
	cr_assert_eq(
		symlink("0000000000000000000000000000000000000000000000000000000000000000", path),
		0);
	cr_expect_not(pol_imgcache_get(dir, "evil2", &c));
}

static void key_of(const struct pol_rule *r, char out[B_SHA256_HEX])
{
	const struct pol_compile_opts opts = {0};
	struct pol_ruleset rs;

	pol_ruleset_init(&rs);
	pol_ruleset_add(&rs, SBX_READ, r);
	pol_imgcache_key(&rs, &opts, out);
	pol_ruleset_release(&rs);
}

Test(policy_imgcache, any_change_of_a_rule_changes_the_key)
{
	const struct pol_rule first = {.allow = true,
				       .shape = POL_TREE,
				       .base = "/a",
				       .base_len = 2,
				       .matched = "a/**",
				       .origin = "f:1:1"};
	struct pol_rule rules[5];
	char key[B_SHA256_HEX], again[B_SHA256_HEX];
	size_t i;

	for (i = 0; i < 5; i++)
		rules[i] = first;
	rules[0].allow = false;
	rules[1].shape = POL_EXACT;
	rules[2].base = "/b";
	rules[3].origin = "f:2:1";
	rules[4].matched = "a";
	key_of(&first, key);
	key_of(&first, again);
	cr_expect_str_eq(key, again);
	for (i = 0; i < 5; i++) {
		key_of(&rules[i], again);
		cr_expect_str_neq(key, again, "rule %zu", i);
	}
}
