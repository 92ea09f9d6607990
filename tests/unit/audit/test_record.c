/* SPDX-License-Identifier: Apache-2.0 */
/* One event as one line. The schema is held by test_collector; here the pure parts. */
#include "audit/collect_priv.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "core/event.h"

static const char *shown(const char *path, const char *const *ws, size_t n)
{
	static char text[256];
	struct b_str s = {0};

	aud_path_shown(path, strlen(path), ws, n, &s);
	snprintf(text, sizeof text, "%s", b_str_c(&s));
	b_str_release(&s);
	return text;
}

Test(audit_record, paths_are_shown_from_the_workspace_they_lie_in)
{
	static const char *const two[] = {"/ws", "/home/u/other"}, *const root[] = {"/"};

	cr_assert_str_eq(shown("/ws/a/b", two, 2), "./a/b");
	cr_assert_str_eq(shown("/ws", two, 2), ".");
	cr_assert_str_eq(shown("/ws2", two, 2), "/ws2");
	cr_assert_str_eq(shown("/home/u/other/x", two, 2), "./x");
	cr_assert_str_eq(shown("/etc", two, 2), "/etc");
	cr_assert_str_eq(shown("/etc", root, 1), "./etc");
	cr_assert_str_eq(shown("/", root, 1), ".");
	cr_assert_str_eq(shown("/", NULL, 0), "/");
	cr_assert_str_eq(shown("", two, 2), "");
}

static json_t *line_of(const struct aud_record *r, const char *profile)
{
	static const char *const ws[] = {"/ws"};
	struct aud_frame f;
	struct b_str s = {0};
	json_t *j;

	aud_frame_init(&f, "20261127T232401Z-1a2b3c", profile, ws, 1);
	aud_record_json(&f, r, &s);
	cr_assert_null(strchr(s.s, '\n'), "one line");
	b_str_addc(&s, '}'); /* the log puts `chain` before it */
	j = json_loadb(s.s, s.len, JSON_REJECT_DUPLICATES, NULL);
	cr_assert_not_null(j, "%s", s.s);
	aud_frame_release(&f);
	b_str_release(&s);
	return j;
}

static const char *str(json_t *j, const char *key)
{
	return json_string_value(json_object_get(j, key));
}

Test(audit_record, strings_from_a_policy_are_escaped)
{
	struct sbx_event ev = {.path_len = 2};
	struct aud_record r = {.kind = AUD_RESULT,
			       .ev = &ev,
			       .path = "/a",
			       .path2 = "",
			       .seq = 1,
			       .matched_rule = "a\"b\n\\",
			       .rule = "my file.yaml:1:\"2",
			       .layer = "shim",
			       .exe = "/bin/\"sh\xff"};
	json_t *j = line_of(&r, "pro\"file\n");

	cr_assert_str_eq(str(j, "matched_rule"), "a\"b\n\\");
	cr_assert_str_eq(str(j, "rule"), "my file.yaml:1:\"2");
	cr_assert_str_eq(str(j, "exe"), "/bin/\"sh\\xff");
	cr_assert_not_null(str(j, "exe_b64"));
	json_decref(j);
}

Test(audit_record, other_rules_are_a_line_whether_they_hold_or_not)
{
	const struct aud_reload held = {.policy = "ab", .closed = 2};
	const struct aud_reload refused = {
		.policy = "ab", .error = "p.yaml:3:1: \"x\"", .closed = 9};
	struct sbx_event ev = {0};
	struct aud_record r = {.kind = AUD_RELOAD, .ev = &ev, .seq = 1, .layer = "launcher"};
	struct aud_frame f;

	aud_frame_init(&f, "20261127T232401Z-1a2b3c", "p", NULL, 0);
	for (int i = 0; i < 2; i++) {
		struct b_str s = {0};
		json_t *j;

		r.reload = i ? &refused : &held;
		aud_record_json(&f, &r, &s);
		b_str_addc(&s, '}');
		j = json_loadb(s.s, s.len, JSON_REJECT_DUPLICATES, NULL);
		cr_assert_not_null(j, "%s", s.s);
		cr_expect_str_eq(str(j, "kind"), "reload");
		cr_expect_str_eq(str(j, "policy"), "ab");
		if (i)
			cr_expect_str_eq(str(j, "error"), refused.error);
		else
			cr_expect_null(json_object_get(j, "error"));
		cr_expect_eq(json_integer_value(json_object_get(j, "closed")), i ? 0 : 2);
		cr_expect_null(json_object_get(j, "pid"), "it is of no process");
		json_decref(j);
		b_str_release(&s);
	}
	aud_frame_release(&f);
}

Test(audit_record, what_the_first_line_says_is_escaped_too)
{
	static char one[] = "a", two[] = "b\"\n\xff";
	static char *const argv[] = {one, two, NULL};
	static const char *const context[] = {"tool=x\"y", "empty="};
	struct aud_origin o = {
		.host = "h\x1b[2J", .tty = "/dev/pts/1", .cwd = "/ws/\xff", .argv = argv};
	struct sbx_event ev = {.pid = 7};
	struct aud_record r = {
		.kind = AUD_RUN, .ev = &ev, .seq = 1, .layer = "launcher", .origin = &o};
	struct aud_frame f;
	struct b_str s = {0};
	json_t *j;

	aud_frame_init(&f, "20261127T232401Z-1a2b3c", "pro\"file\n", NULL, 0);
	aud_frame_context(&f, context, 2);
	aud_record_json(&f, &r, &s);
	b_str_addc(&s, '}');
	cr_assert_null(memchr(s.s, '\x1b', s.len));
	j = json_loadb(s.s, s.len, JSON_REJECT_DUPLICATES, NULL);
	cr_assert_not_null(j, "%s", s.s);
	cr_assert_str_eq(str(j, "profile"), "pro\"file\n");
	cr_assert_str_eq(str(j, "cwd_b64"), "L3dzL/8=");
	cr_assert_str_eq(json_string_value(json_array_get(json_object_get(j, "argv"), 1)),
			 "b\"\n\xef\xbf\xbd");
	cr_assert_str_eq(str(json_object_get(j, "context"), "tool"), "x\"y");
	cr_assert_str_eq(str(json_object_get(j, "context"), "empty"), "");
	aud_frame_release(&f);
	b_str_release(&s);
	json_decref(j);
}

Test(audit_record, the_longest_paths_fit_a_line)
{
	static char path[4096];
	struct sbx_event ev = {.path_len = 4095, .path2_len = 4095, .call = SBX_CALL_rename};
	struct aud_record r = {.kind = AUD_RESULT,
			       .ev = &ev,
			       .path = path,
			       .path2 = path,
			       .seq = 1,
			       .matched_rule = "",
			       .rule = "",
			       .layer = "shim",
			       .exe = path};
	json_t *j;

	memset(path, '\xff', 4095);
	memcpy(path, "/ws/", 4);
	j = line_of(&r, "p");
	cr_assert_eq(strlen(str(j, "path")), 2 + 4 * 4091);
	json_decref(j);
}
