/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of policy/engine.c: where the compiled image lies. */
#include "policy/engine.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

static char top[] = "/tmp/sbx-test-image-XXXXXX", dir[64], ws[64];
static struct pol_request rq;
static struct pol_engine *engine;
static struct b_err err;

static void setup(void)
{
	cr_assert(mkdtemp(top));
	snprintf(dir, sizeof dir, "%s/images", top);
	snprintf(ws, sizeof ws, "%s/ws", top);
	setenv("HOME", top, 1);
	cr_assert_eq(mkdir(ws, 0700) | chdir(ws), 0);
}

static void teardown(void)
{
	char command[64];

	pol_engine_free(engine);
	cr_assert_eq(chdir("/"), 0);
	snprintf(command, sizeof command, "rm -rf %s", top);
	cr_assert_eq(system(command), 0);
}

TestSuite(policy_engine_image, .init = setup, .fini = teardown);

static void make(void)
{
	pol_engine_free(engine);
	engine = NULL;
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
}

/* The image that a run has compiled is not copied either. */
Test(policy_engine_image, what_was_compiled_is_used_from_its_file)
{
	char first[65];
	struct stat st;

	rq.image_cache = dir;
	make();
	cr_assert_not_null(engine->cached.map);
	cr_expect_eq(engine->image_data, engine->cached.map);
	cr_expect_eq((const void *)engine->image.base, engine->cached.map);
	cr_assert_eq(stat(engine->cached.path, &st), 0);
	cr_expect_eq((size_t)st.st_size, engine->image.size);
	strcpy(first, engine->hash);
	make();
	cr_expect_str_eq(engine->hash, first);
	/* where no file can be made it is in memory */
	rq.image_cache = "/proc/no-images";
	make();
	cr_expect_null(engine->cached.map);
	cr_expect_str_eq(engine->hash, first);
	cr_expect(sbx_decide(&engine->image, SBX_READ, "/usr", 4));
}
