/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/rundir.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"

static char top[64], path[128];
static struct aud_rundir run;
static struct aud_infofile f = AUD_INFOFILE_INIT;

static void set_up(void)
{
	strcpy(top, "/tmp/test_infofile.XXXXXX");
	cr_assert(mkdtemp(top));
	run = (struct aud_rundir){.path = top, .dirfd = open(top, O_RDONLY | O_DIRECTORY)};
	cr_assert_geq(run.dirfd, 0);
	snprintf(path, sizeof path, "%s/" AUD_INFO_NAME, top);
}

static void tear_down(void)
{
	aud_infofile_release(&f);
	unlink(path);
	rmdir(top);
	close(run.dirfd);
}

TestSuite(audit_infofile, .init = set_up, .fini = tear_down);

static ino_t put(const char *s)
{
	b_auto(b_str_release) struct b_str text = {0};
	struct b_err err = {0};
	struct stat st;

	b_str_add(&text, s);
	cr_assert_eq(aud_infofile_put(&f, &run, &text, &err), 0, "%s", err.msg);
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600u);
	return st.st_ino;
}

static void expect(const char *s)
{
	b_auto(b_str_release) struct b_str text = {0};

	cr_assert_eq(b_read_file(path, 1 << 20, &text, NULL), 0);
	cr_expect_str_eq(b_str_c(&text), s);
}

Test(audit_infofile, the_end_is_written_over_the_beginning)
{
	ino_t first = put("{\"a\":1}\n");

	expect("{\"a\":1}\n");
	cr_expect_eq(put("{\"a\":1,\"b\":2}\n"), first);
	expect("{\"a\":1,\"b\":2}\n");
}

Test(audit_infofile, a_shorter_text_leaves_nothing_of_a_longer_one)
{
	ino_t first = put("{\"a\":1,\"b\":2}\n");

	cr_expect_eq(put("{\"a\":1}\n"), first);
	expect("{\"a\":1}      \n");
}

Test(audit_infofile, a_text_past_a_page_is_replaced_from_then_on)
{
	b_auto(b_str_release) struct b_str text = {0};
	ino_t first = put("{}\n");

	while (text.len < 5000)
		b_str_add(&text, "[0,1,2,3],");
	cr_expect_neq(put(text.s), first);
	expect(text.s);
	put("{}\n");
	expect("{}\n");
}
