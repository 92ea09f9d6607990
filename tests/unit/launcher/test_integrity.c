/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/linux/broker/integrity.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static struct br_integrity *t;

/* A file as it was changed `age` seconds ago. */
static struct br_program file(ino_t ino, off_t size, time_t age, bool connects)
{
	struct stat st = {.st_dev = 1, .st_ino = ino, .st_size = size};
	struct br_program p;

	st.st_ctim.tv_sec = time(NULL) - age;
	br_program_set(&p, &st, connects);
	return p;
}

static enum br_integrity_is ask(const char *key, const struct br_program *p, enum br_reading r,
				const char *hash)
{
	char text[B_SHA256_HEX] = "";

	snprintf(text, sizeof text, "%s", hash ? hash : "");
	return br_integrity_ask(t, key, p, r, text);
}

static void setup(void)
{
	t = br_integrity_new();
}
TestSuite(launcher_integrity, .init = setup);

Test(launcher_integrity, the_first_connection_reads_and_later_ones_do_not)
{
	const struct br_program old = file(1, 10, 100, true);

	cr_expect_eq(ask("/p", &old, BR_READ_NOT, NULL), BR_UNREAD);
	cr_expect_eq(ask("/p", &old, BR_READ, "a"), BR_INTACT);
	cr_expect_eq(ask("/p", &old, BR_READ_NOT, NULL), BR_INTACT);
}

Test(launcher_integrity, each_change_of_the_file_is_read)
{
	const struct br_program was = file(1, 10, 100, true);
	const struct br_program now[] = {file(2, 10, 100, true), file(1, 11, 100, true),
					 file(1, 10, 99, true)};

	cr_expect_eq(ask("/p", &was, BR_READ, "a"), BR_INTACT);
	for (size_t i = 0; i < sizeof now / sizeof *now; i++) {
		cr_expect_eq(ask("/p", &now[i], BR_READ_NOT, NULL), BR_UNREAD);
		cr_expect_eq(ask("/p", &now[i], BR_READ, "b"), BR_REPLACED);
		cr_expect_eq(ask("/p", &now[i], BR_READ_FAILED, NULL), BR_REPLACED);
		cr_expect_eq(ask("/p", &was, BR_READ_NOT, NULL), BR_INTACT, "it is back");
	}
	cr_expect_eq(ask("/p", &now[0], BR_READ, "a"), BR_INTACT, "the same bytes");
	cr_expect_eq(ask("/p", &now[0], BR_READ_NOT, NULL), BR_INTACT);
}

Test(launcher_integrity, a_file_changed_just_now_is_read_each_time)
{
	const struct br_program young = file(1, 10, 0, true);

	cr_expect_eq(ask("/p", &young, BR_READ, "a"), BR_INTACT);
	cr_expect_eq(ask("/p", &young, BR_READ_NOT, NULL), BR_UNREAD);
	cr_expect_eq(ask("/p", &young, BR_READ, "b"), BR_REPLACED, "within one step of the clock");
	cr_expect_eq(ask("/p", &young, BR_READ, "a"), BR_INTACT);
}

Test(launcher_integrity, what_cannot_be_read_is_known_by_its_place)
{
	const struct br_program young = file(1, 10, 0, true), old = file(1, 10, 100, true),
				other = file(2, 10, 100, true);

	cr_expect_eq(ask("/p", &young, BR_READ_FAILED, NULL), BR_REPLACED, "not yet");
	cr_expect_eq(ask("/p", &old, BR_READ_FAILED, NULL), BR_INTACT);
	cr_expect_eq(ask("/p", &old, BR_READ_FAILED, NULL), BR_INTACT);
	cr_expect_eq(ask("/p", &other, BR_READ_NOT, NULL), BR_REPLACED);
	cr_expect_eq(ask("/p", &other, BR_READ, "a"), BR_REPLACED);
}

Test(launcher_integrity, who_only_starts_others_is_read_when_it_must_be)
{
	const struct br_program old = file(1, 10, 100, false), young = file(2, 10, 0, false),
				asks = file(1, 10, 100, true), other = file(3, 10, 100, false);

	cr_expect_eq(ask("/p", &old, BR_READ_NOT, NULL), BR_INTACT);
	cr_expect_eq(ask("/p", &other, BR_READ_NOT, NULL), BR_REPLACED);
	cr_expect_eq(ask("/p", &asks, BR_READ_NOT, NULL), BR_UNREAD);
	cr_expect_eq(ask("/p", &asks, BR_READ, "a"), BR_INTACT);
	cr_expect_eq(ask("/p", &other, BR_READ_NOT, NULL), BR_UNREAD);
	cr_expect_eq(ask("/p", &other, BR_READ, "a"), BR_INTACT);
	cr_expect_eq(ask("/young", &young, BR_READ_NOT, NULL), BR_UNREAD);
}

Test(launcher_integrity, too_many_are_refused_and_none_is_forgotten)
{
	const struct br_program old = file(1, 10, 100, true), other = file(2, 10, 100, true);
	char key[32];

	cr_expect_eq(ask("/p", &old, BR_READ, "a"), BR_INTACT);
	for (int i = 0; i < 8191; i++) {
		snprintf(key, sizeof key, "/%d", i);
		cr_assert_eq(ask(key, &old, BR_READ, "a"), BR_INTACT);
	}
	cr_expect_eq(ask("/more", &old, BR_READ, "a"), BR_REPLACED);
	cr_expect_eq(ask("/p", &other, BR_READ, "b"), BR_REPLACED);
	cr_expect_eq(ask("/p", &old, BR_READ_NOT, NULL), BR_INTACT);
}
