/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/target.c. */
#include "core/target.h"

#include <criterion/criterion.h>
#include <string.h>

#include "tests/support/tsv.h"

static struct sbx_target target;

static enum sbx_target_kind reads(const char *text, unsigned flags)
{
	return sbx_target_read(text, strlen(text), flags, &target);
}

/* What is sent is read once more by whoever gets it: it must mean the same. */
static void expect_settled(const char *of, unsigned flags)
{
	static struct sbx_target again;

	cr_expect_eq(sbx_target_read(target.path, target.len, flags, &again), SBX_TARGET_OK, "%s",
		     of);
	cr_expect_str_eq(again.path, target.path, "%s", of);
}

Test(core_target, targets_are_as_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/openshell_path_canonical.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *want = tsv_cell(row, "result"), *query = tsv_cell(row, "query");
		unsigned flags =
			strcmp(tsv_cell(row, "flags"), "slashes") == 0 ? SBX_TARGET_SLASHES : 0;
		enum sbx_target_kind kind = reads(tsv_cell(row, "target"), flags);

		if (strncmp(want, "ERR ", 4) == 0) {
			cr_expect_neq(kind, SBX_TARGET_OK, "%s", row->cells[0]);
			cr_expect(strstr(sbx_target_kind_text(kind), want + 4), "%s: %s",
				  row->cells[0], sbx_target_kind_text(kind));
			continue;
		}
		cr_expect_eq(kind, SBX_TARGET_OK, "%s", row->cells[0]);
		cr_expect_str_eq(target.path, want, "%s", row->cells[0]);
		cr_expect_eq(target.has_query, strcmp(query, "-") != 0, "%s", row->cells[0]);
		if (target.has_query)
			cr_expect(strlen(query) == target.query_len &&
					  memcmp(query, target.query, target.query_len) == 0,
				  "%s", row->cells[0]);
		expect_settled(row->cells[0], flags);
	}
	tsv_free(t);
}

static const struct {
	const char *in, *out;
	unsigned flags;
} ONE[] = {
	{"/repos/../admin/x", "/admin/x", 0},
	{"/repos//../admin/x", "/admin/x", 0},
	{"/%61dmin/x", "/admin/x", 0},
	{"/a/..", "/", 0},
	{"/a/b/..", "/a/", 0},
	{"/...", "/...", 0},
	{"/a/.../b", "/a/.../b", 0},
	{"/a;x", "/a", 0},
	{"/;x/b", "/b", 0},
	{"/a;x%3By/b;z", "/a/b", 0},
	{"/a%3Bb/c", "/a/c", 0},
	{"/a{b}|\"c", "/a%7Bb%7D%7C%22c", 0},
	{"/~a_b-c.d!$&'()*+,=:@", "/~a_b-c.d!$&'()*+,=:@", 0},
	{"/A/a", "/A/a", 0},
	{"/x%e9", "/x%E9", 0},
	{"/a?/../b", "/a", 0},
	{"/@scope%2fname", "/@scope%2Fname", SBX_TARGET_SLASHES},
	{"http://a.example.net", "/", 0},
	{"HTTPS://a.example.net:8443/a/./b?c", "/a/b", 0},
};
static const struct {
	const char *in;
	enum sbx_target_kind kind;
	unsigned flags;
} BAD[] = {
	{"/repos\\..\\admin", SBX_TARGET_BACKSLASH, 0},
	{"/repos/..%5cadmin", SBX_TARGET_BACKSLASH, 0},
	{"/a;x\\..", SBX_TARGET_BACKSLASH, 0},
	{"/a;x%00/b", SBX_TARGET_CONTROL, 0},
	{"/a;%2f../b", SBX_TARGET_SLASH, 0},
	{"/a;%2/b", SBX_TARGET_ESCAPE, 0},
	{"/a%2", SBX_TARGET_ESCAPE, 0},
	{"/a%", SBX_TARGET_ESCAPE, 0},
	{"/a b", SBX_TARGET_CONTROL, 0},
	{"/%c0%ae%c0%ae/x", SBX_TARGET_OVERLONG, 0},
	{"/%e0%80%af", SBX_TARGET_OVERLONG, 0},
	{"/%f0%80%80%af", SBX_TARGET_OVERLONG, 0},
	{"/a/..%2Fb", SBX_TARGET_HIDDEN_DOTS, SBX_TARGET_SLASHES},
	{"/a%2F../b", SBX_TARGET_HIDDEN_DOTS, SBX_TARGET_SLASHES},
	{"/a%2F%2e%2e;x/b", SBX_TARGET_HIDDEN_DOTS, SBX_TARGET_SLASHES},
	{"/a%2F.%2Fb", SBX_TARGET_HIDDEN_DOTS, SBX_TARGET_SLASHES},
	{"a/b", SBX_TARGET_SCHEME, 0},
	{"**", SBX_TARGET_SCHEME, 0},
	{"ftp://a.example.net/", SBX_TARGET_SCHEME, 0},
	{"http:/a.example.net/", SBX_TARGET_SCHEME, 0},
	{"http:///a", SBX_TARGET_EMPTY_HOST, 0},
	{"http://?a", SBX_TARGET_EMPTY_HOST, 0},
	{"http://u@a.example.net/", SBX_TARGET_USER, 0},
	{"/a?b#c", SBX_TARGET_FRAGMENT, 0},
	{"/a?b\xc3\xa9", SBX_TARGET_NOT_ASCII, 0},
};

Test(core_target, what_servers_read_in_two_ways_is_refused_or_one)
{
	for (size_t i = 0; i < sizeof ONE / sizeof *ONE; i++) {
		cr_expect_eq(reads(ONE[i].in, ONE[i].flags), SBX_TARGET_OK, "%s", ONE[i].in);
		cr_expect_str_eq(target.path, ONE[i].out, "%s", ONE[i].in);
		expect_settled(ONE[i].in, ONE[i].flags);
	}
	for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++)
		cr_expect_eq(reads(BAD[i].in, BAD[i].flags), BAD[i].kind, "%s", BAD[i].in);
	cr_expect_eq(sbx_target_read("/a\0b", 4, 0, &target), SBX_TARGET_CONTROL);
}

Test(core_target, a_url_says_its_host_and_a_star_is_no_path)
{
	cr_expect_eq(reads("https://A.example.net:1?q", 0), SBX_TARGET_OK);
	cr_expect(target.is_url && target.is_https);
	cr_expect_eq(target.host_len, strlen("A.example.net:1"));
	cr_expect_arr_eq(target.host, "A.example.net:1", target.host_len);
	cr_expect_eq(target.query_len, 1);
	cr_expect_eq(reads("/http://a", 0), SBX_TARGET_OK);
	cr_expect_not(target.is_url);
	cr_expect_eq(reads("*", 0), SBX_TARGET_OK);
	cr_expect(target.is_star);
	cr_expect_eq(reads("/*", 0), SBX_TARGET_OK);
	cr_expect_not(target.is_star);
}

Test(core_target, a_path_is_long_as_it_comes_or_as_it_goes_on)
{
	static char text[2 * SBX_TARGET_PATH_MAX];

	memset(text, 'a', sizeof text);
	text[0] = '/';
	cr_expect_eq(sbx_target_read(text, SBX_TARGET_PATH_MAX, 0, &target), SBX_TARGET_OK);
	cr_expect_eq(target.len, SBX_TARGET_PATH_MAX);
	cr_expect_eq(sbx_target_read(text, SBX_TARGET_PATH_MAX + 1, 0, &target), SBX_TARGET_LONG);
	text[SBX_TARGET_PATH_MAX] = '?';
	cr_expect_eq(sbx_target_read(text, sizeof text, 0, &target), SBX_TARGET_OK,
		     "a query is no part of it");
	memset(text + 1, '|', sizeof text - 1);
	cr_expect_eq(sbx_target_read(text, SBX_TARGET_PATH_MAX / 2, 0, &target), SBX_TARGET_LONG);
}

/* "a=b a=c" of a query: what it says, or BAD in front of where it goes wrong. */
static const char *pairs(const char *query)
{
	static char out[256], room[256];
	struct sbx_query_pair p;
	enum sbx_query_said said;
	size_t at = 0, n = 0;

	while ((said = sbx_query_next(query, strlen(query), &at, room, &p)) == SBX_QUERY_PAIR)
		n += (size_t)snprintf(out + n, sizeof out - n, "%.*s=%.*s|", (int)p.key_len, p.key,
				      (int)p.value_len, p.value);
	snprintf(out + n, sizeof out - n, "%s", said == SBX_QUERY_BAD ? "BAD" : "");
	return out;
}

Test(core_target, a_query_is_pairs)
{
	cr_expect_str_eq(pairs("tag=a&tag=b"), "tag=a|tag=b|");
	cr_expect_str_eq(pairs("slug=my%2Fskill&name=Foo+Bar"), "slug=my/skill|name=Foo Bar|");
	cr_expect_str_eq(pairs("q=a%2Bb"), "q=a+b|");
	cr_expect_str_eq(pairs("verbose"), "verbose=|");
	cr_expect_str_eq(pairs("q=caf%C3%A9"), "q=caf\xc3\xa9|");
	cr_expect_str_eq(pairs("&&a=1&&b==2=&"), "a=1|b==2=|");
	cr_expect_str_eq(pairs("=x&%61=%3b"), "=x|a=;|");
	cr_expect_str_eq(pairs(""), "");
	cr_expect_str_eq(pairs("a=1&b=%zz&c=3"), "a=1|BAD");
	cr_expect_str_eq(pairs("a=%00"), "BAD");
	cr_expect_str_eq(pairs("a=%C0%AF"), "BAD");
	cr_expect_str_eq(pairs("a=%ED%A0%80"), "BAD");
	cr_expect_str_eq(pairs("a=1;b=2"), "BAD");
	cr_expect_str_eq(pairs("a=%2"), "BAD");
}
