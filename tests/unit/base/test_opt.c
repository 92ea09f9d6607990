/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of base/opt.c and base/opt_help.c. */
#include "base/opt.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/str.h"

#define N(a) (sizeof(a) / sizeof *(a))

enum { ACT_NONE, ACT_DOCTOR, ACT_SELFTEST };

struct options {
	bool quiet, force;
	unsigned verbose;
	const char *policy;
	struct b_strlist deny;
	int network, action, kind;
	uint64_t timeout, fd;
	char called[64];
};

static int call(void *target, const char *value, struct b_err *err)
{
	struct options *o = target;

	if (value && strcmp(value, "bad") == 0)
		return b_fail(err, B_POLICY, 0, "cannot be read");
	strncat(o->called, value ? value : "(none)", sizeof o->called - strlen(o->called) - 1);
	return 0;
}

#define AT(field) .offset = offsetof(struct options, field)

static const struct b_opt table[] = {
	{"quiet", 'q', NULL, B_OPT_FLAG, AT(quiet), .help = "Say nothing."},
	{"force", 'f', NULL, B_OPT_FLAG, AT(force), .help = "Do it."},
	{"verbose", 'v', NULL, B_OPT_COUNT, AT(verbose), .help = "Say more."},
	{"policy", 'p', "FILE", B_OPT_STR, AT(policy), .group = "Policy", .help = "The policy."},
	{"deny-read", 'd', "RULE", B_OPT_LIST, AT(deny), .group = "Policy", .help = "A rule."},
	{"network", 0, "NET", B_OPT_ENUM, AT(network), .values = "none|loopback|host",
	 .help = "Which network."},
	{"kind", 0, "KIND", B_OPT_ENUM, AT(kind), .values = "|one|two"},
	{"timeout", 't', "TIME", B_OPT_MS, AT(timeout), .help = "How long."},
	{"keep-fd", 0, "N", B_OPT_U64, AT(fd), .help = "A descriptor."},
	{"doctor", 0, NULL, B_OPT_FLAG, AT(action), .value = ACT_DOCTOR},
	{"selftest", 0, NULL, B_OPT_FLAG, AT(action), .value = ACT_SELFTEST},
	{"call", 'c', "WORD", B_OPT_CALL, .call = call},
	{"bare-call", 'b', NULL, B_OPT_CALL, .call = call},
};

/* Parses the words of a line parted by single blanks; `''` is the empty word. */
struct run {
	struct options o;
	struct b_strlist words;
	struct b_err err;
	int rc, rest, argc;
	char text[256], *argv[32];
};

static void split(struct run *r, const char *line)
{
	char *word, *save = NULL;

	r->argv[r->argc++] = strcpy(r->text, "prog");
	strcpy(r->text + 8, line);
	for (word = strtok_r(r->text + 8, " ", &save); word; word = strtok_r(NULL, " ", &save))
		r->argv[r->argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
}

static struct run *parse(const char *line, bool permute)
{
	struct run *r = calloc(1, sizeof *r);

	split(r, line);
	r->rest = -7;
	r->rc = b_opt_parse(table, N(table), r->argc, r->argv, &r->o, permute ? &r->words : NULL,
			    &r->rest, &r->err);
	return r;
}

static void done(struct run *r)
{
	b_strlist_release(&r->words);
	b_strlist_release(&r->o.deny);
	free(r);
}

static void refused(const char *line, const char *message)
{
	struct run *r = parse(line, false);

	cr_assert_eq(r->rc, -1, "`%s` was taken", line);
	cr_expect_eq(r->err.kind, B_USAGE, "`%s`", line);
	cr_expect_str_eq(r->err.msg, message);
	cr_expect_eq(r->rest, -7, "written on failure");
	done(r);
}

Test(base_opt, every_spelling_of_a_value)
{
	static const char *const rows[] = {"--policy a=b", "--policy=a=b", "-p a=b",
					   "-pa=b",	   "-qp a=b",	   "-qfvpa=b"};
	size_t i;

	for (i = 0; i < N(rows); i++) {
		struct run *r = parse(rows[i], false);

		cr_assert_eq(r->rc, 0, "`%s`: %s", rows[i], r->err.msg);
		cr_expect_str_eq(r->o.policy, "a=b", "`%s`", rows[i]);
		cr_expect_eq(r->rest, r->argc, "`%s`", rows[i]);
		done(r);
	}
}

Test(base_opt, a_value_may_be_empty_or_look_like_an_option)
{
	static const char *const rows[][2] = {{"--policy=", ""}, {"--policy ''", ""},
					      {"-p ''", ""},	 {"--policy --", "--"},
					      {"-p -q", "-q"},	 {"--policy --quiet", "--quiet"},
					      {"-p=x", "=x"},	 {"-p-", "-"}};
	size_t i;

	for (i = 0; i < N(rows); i++) {
		struct run *r = parse(rows[i][0], false);

		cr_assert_eq(r->rc, 0, "`%s`: %s", rows[i][0], r->err.msg);
		cr_expect_str_eq(r->o.policy, rows[i][1], "`%s`", rows[i][0]);
		cr_expect_not(r->o.quiet);
		done(r);
	}
}

Test(base_opt, letters_can_be_grouped)
{
	struct run *r = parse("-qvvf -v", false);

	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	cr_expect(r->o.quiet && r->o.force);
	cr_expect_eq(r->o.verbose, 3);
	done(r);
}

Test(base_opt, the_first_word_ends_the_options)
{
	struct run *r = parse("-q make -v --nonsense", false);

	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	cr_expect_eq(r->rest, 2);
	cr_expect_eq(r->o.verbose, 0);
	done(r);
	r = parse("- -v", false); /* a dash alone is a word */
	cr_expect_eq(r->rest, 1);
	cr_expect_eq(r->o.verbose, 0);
	done(r);
	r = parse("'' -v", false); /* so is nothing */
	cr_expect_eq(r->rest, 1);
	done(r);
}

Test(base_opt, two_dashes_end_the_options)
{
	struct run *r = parse("-q -- -v --", false);

	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	cr_expect_eq(r->rest, 3);
	cr_expect_eq(r->o.verbose, 0);
	done(r);
	r = parse("-q --", false);
	cr_expect_eq(r->rest, r->argc);
	done(r);
}

Test(base_opt, no_arguments_at_all)
{
	char *none[] = {NULL};
	struct options o = {0};
	struct b_err err;
	int rest;

	cr_assert_eq(b_opt_parse(table, N(table), 0, none, &o, NULL, &rest, &err), 0);
	cr_expect_eq(rest, 0);
	cr_assert_eq(b_opt_parse(table, 0, 0, none, &o, NULL, NULL, &err), 0);
}

Test(base_opt, permuted_words_are_collected_in_order)
{
	static const char *const want[] = {"check", "-", "a", "-v", "--", "b"};
	struct run *r = parse("check -q - --policy x a -- -v -- b", true);
	size_t i;

	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	cr_expect(r->o.quiet);
	cr_expect_str_eq(r->o.policy, "x");
	cr_expect_eq(r->o.verbose, 0);
	cr_assert_eq(r->words.n, N(want));
	for (i = 0; i < N(want); i++)
		cr_expect_str_eq(r->words.v[i], want[i]);
	cr_expect_eq(r->rest, r->argc);
	done(r);
}

Test(base_opt, lists_keep_their_order)
{
	struct run *r = parse("-da --deny-read=b -d c --deny-read d", false);
	char all[8] = "";
	size_t i;

	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	for (i = 0; i < r->o.deny.n; i++)
		strcat(all, r->o.deny.v[i]);
	cr_expect_str_eq(all, "abcd");
	done(r);
}

Test(base_opt, typed_values_are_converted)
{
	struct run *r = parse("--network host -t1.5s --keep-fd=18446744073709551615", false);

	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	cr_expect_eq(r->o.network, 2);
	cr_expect_eq(r->o.timeout, 1500);
	cr_expect_eq(r->o.fd, UINT64_MAX);
	done(r);
	r = parse("--network host -t1 --network none -t 2 --kind one", false); /* the last counts */
	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	cr_expect_eq(r->o.kind, 1); /* 0: not given */
	cr_expect_eq(r->o.network, 0);
	cr_expect_eq(r->o.timeout, 2000);
	done(r);
}

Test(base_opt, bad_values_are_named)
{
	refused("--network hots", "--network: unknown value `hots`; did you mean `host`? "
				  "(one of none|loopback|host)");
	refused("--kind none",
		"--kind: unknown value `none`; did you mean `one`? (one of one|two)");
	refused("--kind 3", "--kind: unknown value `3` (one of one|two)");
	refused("--network=", "--network: unknown value `` (one of none|loopback|host)");
	refused("--network no", "--network: unknown value `no` (one of none|loopback|host)");
	refused("--network none|host",
		"--network: unknown value `none|host` (one of none|loopback|host)");
	refused("-t 5x", "--timeout: `5x` is not a duration (such as 250ms, 1.5s, 90, 5m, 2h)");
	refused("--keep-fd -1", "--keep-fd: `-1` is not a whole number in range");
	refused("--keep-fd=18446744073709551616",
		"--keep-fd: `18446744073709551616` is not a whole number in range");
}

Test(base_opt, missing_and_surplus_values_are_errors)
{
	refused("--policy", "--policy: needs a value: --policy FILE");
	refused("-q -p", "--policy: needs a value: --policy FILE");
	refused("-qp", "--policy: needs a value: --policy FILE");
	refused("--quiet=yes", "--quiet: takes no value");
	refused("--quiet=", "--quiet: takes no value");
	refused("--verbose=2", "--verbose: takes no value");
	refused("--bare-call=x", "--bare-call: takes no value");
}

Test(base_opt, a_string_given_twice_is_an_error)
{
	refused("--policy a -p b", "--policy: given twice");
	refused("--policy= --policy=", "--policy: given twice");
}

Test(base_opt, a_default_string_is_not_a_first_one)
{
	struct options o = {.policy = "default"};
	char *argv[] = {NULL, NULL, NULL};
	struct run r = {0};

	split(&r, "-p mine");
	memcpy(argv, r.argv, sizeof argv);
	cr_assert_eq(b_opt_parse(table, N(table), 3, argv, &o, NULL, NULL, &r.err), 0);
	cr_expect_str_eq(o.policy, "mine");
}

Test(base_opt, exclusive_flags)
{
	struct run *r = parse("--selftest --selftest", false);

	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	cr_expect_eq(r->o.action, ACT_SELFTEST);
	done(r);
	refused("--doctor --selftest", "--selftest: cannot be used with --doctor");
	refused("--selftest -q --doctor", "--doctor: cannot be used with --selftest");
}

Test(base_opt, calls_get_their_value_and_errors_their_name)
{
	struct run *r = parse("-c1 --call=2 --bare-call -c 3 -b", false);

	cr_assert_eq(r->rc, 0, "%s", r->err.msg);
	cr_expect_str_eq(r->o.called, "12(none)3(none)");
	done(r);
	r = parse("-q --call bad", false);
	cr_assert_eq(r->rc, -1);
	cr_expect_eq(r->err.kind, B_POLICY, "the kind is the call's");
	cr_expect_str_eq(r->err.msg, "--call: cannot be read");
	done(r);
}

Test(base_opt, unknown_options_come_with_what_was_meant)
{
	refused("--polcy x", "unknown option `--polcy`; did you mean `--policy`?");
	refused("--polciy=x", "unknown option `--polciy`; did you mean `--policy`?");
	refused("--Quiet", "unknown option `--Quiet`; did you mean `--quiet`?");
	refused("--denyraed", "unknown option `--denyraed`; did you mean `--deny-read`?");
	refused("-quiet", "unknown option `-quiet`; did you mean `--quiet`?");
	refused("-network=none", "unknown option `-network=none`; did you mean `--network`?");
}

Test(base_opt, nothing_is_suggested_that_is_not_near)
{
	refused("--zzz", "unknown option `--zzz`");
	refused("--calendar", "unknown option `--calendar`");
	refused("--pol", "unknown option `--pol`"); /* no abbreviations */
	refused("--policyfile x", "unknown option `--policyfile`");
	refused("--=x", "unknown option `--`");
	refused("---", "unknown option `---`");
	refused("-x", "unknown option `-x`");
	refused("-qx", "unknown option `-x` in `-qx`");
	refused("-\xc3\xa9", "unknown option `-\xc3\xa9`");
}

Test(base_opt, names_of_any_length_are_survived)
{
	char line[240] = "--";

	memset(line + 2, 'q', sizeof line - 3);
	line[sizeof line - 1] = '\0';
	struct run *r = parse(line, false);
	cr_expect_eq(r->rc, -1);
	cr_expect_eq(r->err.kind, B_USAGE);
	done(r);
}

Test(base_opt, rows_of_any_length_are_survived)
{
	struct b_opt row = {.name = NULL, .arg = NULL, .kind = B_OPT_COUNT};
	char name[200], typed[203] = "--", *argv[] = {name, typed, NULL};
	unsigned count = 0;
	struct b_err err;

	memset(name, 'n', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	row.name = name;
	strcpy(typed + 2, name);
	cr_assert_eq(b_opt_parse(&row, 1, 2, argv, &count, NULL, NULL, &err), 0);
	cr_expect_eq(count, 1);
	strcpy(typed + 2, "near");
	cr_assert_eq(b_opt_parse(&row, 1, 2, argv, &count, NULL, NULL, &err), -1);
	cr_expect_str_eq(err.msg, "unknown option `--near`");
}

/* ---- help ---- */

Test(base_opt, help_is_grouped_aligned_and_wrapped)
{
	static const struct b_opt rows[] = {
		{"alpha", 'a', NULL, B_OPT_FLAG, .group = "First", .help = "Short."},
		{"beta", 0, "FILE", B_OPT_STR, .group = "Second",
		 .help = "A text that is long enough to need a second line, since the first one "
			 "holds fifty-two columns only."},
		{"a-name-that-is-rather-long", 0, "VALUE", B_OPT_STR, .group = "First",
		 .help = "Stands on the next line."},
		{"hidden", 0, NULL, B_OPT_FLAG, .group = "Secret"},
	};
	struct b_str s = {0};

	b_opt_help(rows, N(rows), &s);
	cr_expect_str_eq(
		s.s,
		"First:\n"
		"  -a, --alpha               Short.\n"
		"      --a-name-that-is-rather-long VALUE\n"
		"                            Stands on the next line.\n"
		"\n"
		"Second:\n"
		"      --beta FILE           A text that is long enough to need a second line,\n"
		"                            since the first one holds fifty-two columns only.\n");
	b_str_release(&s);
}

Test(base_opt, rows_without_a_group_are_options)
{
	struct b_str s = {0};

	b_opt_help(table, N(table), &s);
	cr_expect(b_has_prefix(s.s, "Options:\n  -q, --quiet "), "%s", s.s);
	cr_expect_not_null(strstr(s.s, "\n\nPolicy:\n  -p, --policy FILE "), "%s", s.s);
	cr_expect_null(strstr(s.s, "doctor"), "a row without help was shown");
	b_str_release(&s);
}

Test(base_opt, a_hidden_row_does_not_hide_its_group)
{
	static const struct b_opt rows[] = {
		{"hidden", 0, NULL, B_OPT_FLAG, .group = "One"},
		{"shown", 0, NULL, B_OPT_FLAG, .group = "One", .help = "Shown."},
	};
	struct b_str s = {0};

	b_opt_help(rows, N(rows), &s);
	cr_expect_str_eq(b_str_c(&s), "One:\n      --shown               Shown.\n");
	b_str_release(&s);
}

Test(base_opt, a_line_of_help_may_be_80_wide)
{
	struct b_opt row = {.name = "wide", .kind = B_OPT_FLAG};
	int last;

	for (last = 1; last <= 2; last++) { /* 28 columns, 50 of text, blank, one or two more */
		struct b_str s = {0}, help = {0};

		b_str_addf(&help, "%050d %0*d", 0, last, 0);
		row.help = help.s;
		b_opt_help(&row, 1, &s);
		cr_expect_eq(strcspn(strchr(s.s, '\n') + 1, "\n"), last == 1 ? 80 : 78, "%s", s.s);
		b_str_release(&s);
		b_str_release(&help);
	}
}

/* Words of all lengths: no line is too wide. */
Test(base_opt, no_line_of_help_is_wider_than_80)
{
	struct b_opt row = {.name = "wide", .letter = 'w', .arg = "X", .kind = B_OPT_STR};
	struct b_str s = {0}, help = {0};
	const char *line;
	int len;

	for (len = 1; len <= 52; len += 3)
		b_str_addf(&help, "%0*d%s", len, 0, len % 2 ? " " : " \t");
	row.help = help.s;
	b_opt_help(&row, 1, &s);
	for (line = s.s; *line; line += strcspn(line, "\n") + 1) {
		cr_expect_leq(strcspn(line, "\n"), 80);
		cr_expect_neq(line[strcspn(line, "\n") - 1], ' ', "a blank at the end");
	}
	b_str_release(&s);
	b_str_release(&help);
}

Test(base_opt, a_word_too_long_for_a_line_stands_alone)
{
	struct b_opt row = {.name = "wide", .letter = 'w', .arg = "X", .kind = B_OPT_STR};
	struct b_str s = {0}, help = {0};

	b_str_addf(&help, "a %060d b", 0);
	row.help = help.s;
	b_opt_help(&row, 1, &s);
	cr_expect_not_null(strstr(s.s, "  a\n"), "%s", s.s);
	cr_expect_not_null(strstr(s.s, "0\n                            b\n"), "%s", s.s);
	b_str_release(&s);
	b_str_release(&help);
}
