/* SPDX-License-Identifier: Apache-2.0 */
/* How processes end, and the path that was asked for: what a shim may say of them. */
#include "audit/collect_priv.h"

#include <criterion/criterion.h>
#include <string.h>

#include "core/event.h"
#include "tests/support/witness.h"

static struct witness w;

static void end(void)
{
	witness_release(&w);
}
TestSuite(audit_ends, .fini = end);

static void ends(uint32_t pid, uint32_t status)
{
	witness_put(&w, (struct sbx_event){.kind = SBX_EV_EXIT, .pid = pid, .aux = status}, "", "");
}

static int64_t number(size_t i, const char *key)
{
	return json_integer_value(json_object_get(witness_line(&w, i), key));
}

static bool has(size_t i, const char *key)
{
	return json_object_get(witness_line(&w, i), key) != NULL;
}

Test(audit_ends, an_image_tells_its_status_once)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_hello(&w, 10, "/bin/sh");
	ends(10, 3);
	ends(10, 4);
	witness_hello(&w, 10, "/bin/next"); /* the number is another process's now */
	ends(10, 0);
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 4);
	cr_expect_str_eq(witness_str(&w, 1, "kind"), "exit");
	cr_expect_eq(number(1, "status"), 3);
	cr_expect_eq(number(1, "pid"), 10);
	cr_expect(has(3, "status"));
	cr_expect_eq(number(3, "status"), 0);
	cr_expect_not(has(1, "layer"), "a shim's word");
	cr_expect_eq(w.counts.corrupt, 0);
}

Test(audit_ends, nobody_ends_who_did_not_begin_nor_by_what_is_no_status)
{
	witness_start(&w, SBX_AUDIT_ALL);
	ends(11, 0);
	witness_hello(&w, 12, "/bin/sh");
	ends(12, 256);
	witness_end(&w);
	cr_assert_eq(json_array_size(w.lines), 2);
	cr_expect_str_eq(witness_str(&w, 1, "kind"), "gap");
	cr_expect_eq(w.counts.corrupt, 1);
}

/* ---- the kernel's word ---- */

static struct {
	uint32_t watched[8], n;
	uint32_t pid[8];
	int status[8];
	size_t next, told;
} kernel;

static void watch(void *ctx, uint32_t pid)
{
	(void)ctx;
	kernel.watched[kernel.n++] = pid;
}

static bool next(void *ctx, uint32_t *out_pid, int *out_status)
{
	(void)ctx;
	if (kernel.next == kernel.told)
		return false;
	*out_pid = kernel.pid[kernel.next];
	*out_status = kernel.status[kernel.next++];
	return true;
}

static void kernel_says(uint32_t pid, int status)
{
	kernel.pid[kernel.told] = pid;
	kernel.status[kernel.told++] = status;
}

Test(audit_ends, the_kernel_tells_the_ends_that_nobody_else_told)
{
	witness_start(&w, SBX_AUDIT_ALL);
	aud_collector_watch(w.c, &(const struct aud_ends){watch, next, NULL});
	witness_hello(&w, 10, "/bin/a");
	witness_hello(&w, 11, "/bin/b");
	witness_exec(&w, 12, SBX_EXEC_STATIC, "/bin/static");
	ends(10, 1);
	kernel_says(10, 1 << 8);
	kernel_says(11, 9);
	kernel_says(12, 2 << 8);
	kernel_says(13, 0); /* of whom nothing is known */
	witness_end(&w);
	cr_assert_eq(kernel.n, 3);
	cr_assert_eq(json_array_size(w.lines), 7, "hello, hello, exec, three ends, unwitnessed");
	cr_expect_eq(number(3, "status"), 1);
	cr_expect_eq(number(4, "signal"), 9);
	cr_expect_not(has(4, "status"));
	cr_expect_str_eq(witness_str(&w, 4, "layer"), "kernel");
	cr_expect_eq(number(5, "pid"), 12);
	cr_expect_eq(number(5, "status"), 2);
}

/* ---- what was asked for ---- */

static void asked(uint32_t pid, enum sbx_op op, unsigned flags, const char *path, const char *text)
{
	witness_put(&w,
		    (struct sbx_event){.pid = pid,
				       .op = (uint16_t)op,
				       .call = SBX_CALL_open,
				       .flags = (uint16_t)(flags | SBX_EVF_ASKED),
				       .err = flags & SBX_EVF_ALLOWED ? 0 : 13},
		    path, text);
}

Test(audit_ends, what_was_asked_for_stands_beside_what_was_judged)
{
	witness_start(&w, SBX_AUDIT_FOLDED);
	asked(10, SBX_READ, SBX_EVF_ALLOWED, "/etc/hosts", "link");
	asked(10, SBX_READ, 0, "/home/u/.ssh/id", "../\xff/k\n");
	asked(10, SBX_READ, 0, "/home/u/.ssh/id", "another");
	asked(10, SBX_READ, SBX_EVF_ALLOWED | SBX_EVF_ARGV, "/etc/hosts", "words");
	witness_end(&w);
	cr_expect_str_eq(witness_str(&w, 0, "asked"), "link");
	cr_expect_not(has(0, "path2"));
	cr_expect_str_eq(witness_str(&w, 1, "asked_b64"), "Li4v/y9rCg==");
	cr_expect_not(has(2, "asked"));
	cr_expect_eq(number(3, "count"), 1, "equal denials, however they were asked for");
}

/* ---- words, and where a program begins ---- */

static void words(uint32_t pid, const char *text, size_t len, size_t cwd)
{
	witness_put(&w,
		    (struct sbx_event){.kind = SBX_EV_HELLO,
				       .pid = pid,
				       .flags = SBX_EVF_ARGV,
				       .count = (uint32_t)cwd << 16,
				       .path2_len = (uint16_t)len},
		    "/bin/sh", text);
}

Test(audit_ends, a_program_says_its_words_and_where_it_begins)
{
	witness_start(&w, SBX_AUDIT_FOLDED);
	words(10, "sh\x1f-c\x1f/tmp/\xff", 12, 6);
	words(11, "sh\x1f", 3, 0);
	words(12, "sh\x1f", 3, 4); /* more than there are */
	words(13, "/tmp", 4, 4);
	witness_end(&w);
	cr_expect_str_eq(
		json_string_value(json_array_get(json_object_get(witness_line(&w, 0), "argv"), 1)),
		"-c");
	cr_expect_eq(json_array_size(json_object_get(witness_line(&w, 0), "argv")), 2);
	cr_expect_str_eq(witness_str(&w, 0, "cwd_b64"), "L3RtcC//");
	for (size_t i = 1; i < 3; i++) {
		cr_expect_not(has(i, "cwd"), "%zu", i);
		cr_expect_eq(json_array_size(json_object_get(witness_line(&w, i), "argv")), 1);
	}
	cr_expect_str_eq(witness_str(&w, 3, "cwd"), "/tmp");
	cr_expect_eq(json_array_size(json_object_get(witness_line(&w, 3), "argv")), 0);
}
