/* SPDX-License-Identifier: Apache-2.0 */
/* Verdicts of lines, by events whose paths are not whole. */
#include "audit/collect_priv.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/event.h"
#include "core/deep.h"
#include "tests/support/witness.h"

static struct witness w;

static void end(void)
{
	witness_release(&w);
}

static bool flag(size_t line, const char *key)
{
	return json_is_true(json_object_get(witness_line(&w, line), key));
}

/* Whole it is a secret's; the beginning is not. */
static void put_deep(uint32_t rule, uint16_t flags)
{
	char path[5000];
	size_t n = strlen(strcpy(path, "/home/u/.sshd"));
	struct sbx_event ev = {
		.pid = 10, .op = SBX_READ, .call = SBX_CALL_open, .err = EACCES, .flags = flags};

	memset(path + n, 'x', sizeof path - n - 1);
	path[sizeof path - 1] = '\0';
	ev.rule = rule;
	witness_put(&w, ev, path, "");
}

Test(audit_judge, of_a_cut_path_the_rule_is_what_its_writer_found, .fini = end)
{
	const char *whole = "/home/u/.ssh/x", *open = "/etc/x";
	struct sbx_event ev = {.op = SBX_READ};

	witness_start(&w, SBX_AUDIT_ALL);
	put_deep(sbx_deep_rule(&w.image, &ev, whole, strlen(whole), NULL, 0), 0);
	put_deep(sbx_deep_rule(&w.image, &ev, open, strlen(open), NULL, 0), SBX_EVF_ALLOWED);
	put_deep(UINT32_MAX, 0);
	/* nothing is cut: the claim is looked at */
	witness_put(&w,
		    (struct sbx_event){.pid = 10,
				       .op = SBX_READ,
				       .call = SBX_CALL_open,
				       .flags = SBX_EVF_TRUNCATED},
		    "/etc/passwd", "");
	witness_end(&w);
	for (size_t i = 0; i < 3; i++)
		cr_expect(flag(i, "truncated"));
	cr_expect_str_eq(witness_str(&w, 0, "matched_rule"), ".ssh");
	cr_expect_str_eq(witness_str(&w, 0, "rule"), "preset:secrets:3:5");
	cr_expect_not(flag(0, "allowed"));
	cr_expect(flag(1, "allowed"));
	cr_expect_str_neq(witness_str(&w, 1, "rule"), "preset:secrets:3:5");
	cr_expect_str_eq(witness_str(&w, 2, "matched_rule"), "<no matching rule>");
	cr_expect(flag(3, "shim_disagrees"));
}

static void put_move(const char *from, const char *to)
{
	witness_put(&w,
		    (struct sbx_event){.pid = 10,
				       .op = SBX_MODIFY,
				       .call = SBX_CALL_rename,
				       .err = EACCES,
				       .aux = SBX_MODIFY,
				       .flags = SBX_EVF_MOVE},
		    from, to);
}

/* Both ends may be changed: the rule is that of a name below. A symlink has one end. */
Test(audit_judge, of_a_move_the_rule_is_the_one_that_objects, .fini = end)
{
	static const struct {
		const char *from, *to, *rule;
	} t[] = {{"/ws", "/ws/b", "p.yaml:9:3"},
		 {"/ws/b", "/ws", "p.yaml:9:3"},
		 {"/ws", "/ws", "p.yaml:9:3"},
		 {"/ws/locked", "/ws/b", "p.yaml:9:3"},
		 {"/ws/a", "/ws/b", "p.yaml:8:3"}}; /* a lie: nothing objects */

	witness_start(&w, SBX_AUDIT_ALL);
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		put_move(t[i].from, t[i].to);
	witness_judged = true;
	witness_end(&w);
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		cr_expect_not(flag(i, "allowed"));
		cr_expect_str_eq(witness_str(&w, i, "rule"), t[i].rule, "%zu", i);
	}
}

/* No rule speaks of the broker's own: the most that may be read is not. */
Test(audit_judge, what_is_the_supervisors_no_rule_opens, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	witness_put(&w,
		    (struct sbx_event){.pid = 10,
				       .op = SBX_READ,
				       .call = SBX_CALL_open,
				       .err = EACCES,
				       .flags = SBX_EVF_SUPERVISOR},
		    "/proc/7/mem", "");
	/* nor does the mark excuse what was done */
	witness_put(&w,
		    (struct sbx_event){.pid = 10,
				       .op = SBX_READ,
				       .call = SBX_CALL_open,
				       .flags = SBX_EVF_ALLOWED | SBX_EVF_SUPERVISOR},
		    "/home/u/.ssh/x", "");
	witness_end(&w);
	cr_expect_str_eq(witness_str(&w, 0, "matched_rule"), "<supervisor>");
	cr_expect_str_eq(witness_str(&w, 0, "reason"), "supervisor");
	cr_expect_not(flag(0, "allowed"));
	cr_expect_not(flag(0, "shim_disagrees"));
	cr_expect_not(flag(1, "allowed"));
	cr_expect(flag(1, "shim_disagrees"));
}

/* What a hostile program may ask for with every record ends: then the rule at the ends is named. */
Test(audit_judge, of_moves_no_more_is_looked_for_than_there_are_steps)
{
	const char *from = "/ws", *to = "/ws/b";
	const struct sbx_event ev = {.op = SBX_MODIFY,
				     .call = SBX_CALL_rename,
				     .aux = SBX_MODIFY,
				     .flags = SBX_EVF_MOVE,
				     .path_len = 3,
				     .path2_len = 5};
	struct aud_verdict v;
	struct sbx_image image;
	unsigned steps = 20000;
	int named = 0;
	void *data;

	witness_image(&image, &data);
	for (int i = 0; i < 20000; i++) {
		unsigned before = steps;

		aud_judge(&image, &ev, from, to, &steps, &v);
		cr_assert_leq(steps, before);
		cr_assert_not(v.allowed);
		if (strcmp(v.origin, "p.yaml:9:3") == 0)
			named++;
		else
			cr_assert_str_eq(v.origin, "p.yaml:8:3");
	}
	cr_expect_gt(named, 10);
	cr_expect_lt(named, 20000);
	free(data);
}

static void put_first_name(const char *name, uint16_t flags)
{
	witness_put(&w,
		    (struct sbx_event){
			    .pid = 10, .op = SBX_MODIFY, .call = SBX_CALL_linkat, .flags = flags},
		    "", name);
}

/* open(2) with O_TMPFILE, then linkat(2): there is no path that it had before. */
Test(audit_judge, a_file_without_a_name_is_judged_by_the_one_it_gets, .fini = end)
{
	witness_start(&w, SBX_AUDIT_ALL);
	put_first_name("/ws/made", SBX_EVF_ALLOWED);
	put_first_name("/ws/locked/made", 0);
	put_first_name("/ws/locked/made", SBX_EVF_ALLOWED);
	witness_end(&w);
	cr_expect(flag(0, "allowed"));
	cr_expect_not(flag(0, "shim_disagrees"));
	cr_expect_not(flag(1, "allowed"));
	cr_expect_not(flag(1, "shim_disagrees"));
	cr_expect(flag(1, "of_path2"));
	cr_expect_str_neq(witness_str(&w, 1, "matched_rule"), "<no matching rule>");
	cr_expect_not(flag(2, "allowed"));
	cr_expect(flag(2, "shim_disagrees"));
}
