/* SPDX-License-Identifier: Apache-2.0 */
#include "base/account.h"

#include <criterion/criterion.h>
#include <pwd.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/str.h"

Test(base_account, lines_are_found_by_name_and_by_number)
{
	struct b_str line = {0};

	cr_assert(b_account_line("passwd", "root", &line));
	cr_expect(strncmp(line.s, "root:", 5) == 0, "%s", line.s);
	b_str_reset(&line);
	cr_assert(b_account_line("group", "0", &line));
	cr_expect(strncmp(line.s, "root:", 5) == 0, "%s", line.s);
	b_str_reset(&line);
	cr_expect_not(b_account_line("passwd", "no-such-user-of-ours", &line));
	cr_expect_not(b_account_line("passwd", "", &line));
	cr_expect_not(b_account_line("passwd", "--version", &line));
	cr_expect_not(b_account_line("passwd", "4000000123", &line));
	cr_expect_eq(line.len, 0);
	b_str_release(&line);
}

Test(base_account, the_home_is_what_the_user_database_says)
{
	b_auto(b_str_release) struct b_str home = {0};
	struct passwd *root = getpwuid(0);

	cr_assert(root);
	cr_expect(b_account_home(0, &home));
	cr_expect_str_eq(b_str_c(&home), root->pw_dir);
}

Test(base_account, others_than_the_file_are_asked_where_they_are_named)
{
	char ldap[] = "# x\ngroup: ldap\n passwd:\tfiles [NOTFOUND=continue] ldap\n";
	char files[] = "passwd: compat files # ldap\ngroup: sss\n", none[] = "group: sss\n";
	char sss[] = "passwd:sss files\n", empty[] = "";

	cr_expect(b_account_asks_others(ldap));
	cr_expect(b_account_asks_others(sss));
	cr_expect_not(b_account_asks_others(files));
	cr_expect_not(b_account_asks_others(none));
	cr_expect_not(b_account_asks_others(empty));
}

Test(base_account, nobody_has_no_number_that_is_not_given)
{
	b_auto(b_str_release) struct b_str home = {0};

	cr_assert_null(getpwuid(4000000123u));
	cr_expect_not(b_account_home(4000000123u, &home));
	cr_expect_eq(home.len, 0u);
}

Test(base_account, only_whole_lines_with_an_absolute_home_count)
{
	char good[] = "u:x:7:7:a name:/home/u:/bin/sh", no_shell[] = "u:x:7:7::/home/u:";
	char relative[] = "u:x:7:7::home:/bin/sh", cut[] = "u:x:7:7::/home/u", empty[] = "",
	     other[] = "u:x:7:7::/home/u:/bin/sh";

	cr_expect_str_eq(b_account_home_of(good, 7), "/home/u");
	cr_expect_str_eq(b_account_home_of(no_shell, 7), "/home/u");
	cr_expect_null(b_account_home_of(relative, 7));
	cr_expect_null(b_account_home_of(cut, 7));
	cr_expect_null(b_account_home_of(empty, 7));
	cr_expect_null(b_account_home_of(other, 8));
}
