/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/options/shell.h"

#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/mem.h"
#include "base/str.h"

/* The words of sbx-launch for those of sbx-shell, with blanks between. */
static const char *words(const char *line, bool *out_is_bare)
{
	static struct b_str out;
	char text[256], *argv[16], **made;
	int argc = 0, made_argc;

	strcpy(text, line);
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc] = NULL;
	made_argc = argc;
	made = lau_shell_words(&made_argc, argv, out_is_bare);
	b_str_reset(&out);
	for (int i = 0; i < made_argc; i++)
		b_str_addf(&out, "%s%s", i ? " " : "", made[i]);
	cr_expect_null(made[made_argc]);
	free(made);
	return b_str_c(&out);
}

Test(launcher_shell, is_told_by_the_name)
{
	cr_expect(lau_shell_is_asked("sbx-shell"));
	cr_expect(lau_shell_is_asked("-sbx-shell"));
	cr_expect(lau_shell_is_asked("/usr/bin/sbx-shell"));
	cr_expect_not(lau_shell_is_asked("sbx-launch"));
	cr_expect_not(lau_shell_is_asked("sbx-shell/sbx-launch"));
	cr_expect_not(lau_shell_is_asked("my-sbx-shell"));
	cr_expect_not(lau_shell_is_asked(""));
	cr_expect_not(lau_shell_is_asked(NULL));
}

Test(launcher_shell, options_of_sh_are_sh_s)
{
	bool bare;

	cr_expect_str_eq(words("sbx-shell -lec x", &bare), "sbx-shell -- /bin/sh -lec x");
	cr_expect(bare);
	cr_expect_str_eq(words("sbx-shell", &bare), "sbx-shell -- /bin/sh");
	cr_expect_str_eq(words("sbx-shell f --policy=x", &bare),
			 "sbx-shell -- /bin/sh f --policy=x");
	cr_expect(bare);
	cr_expect_str_eq(words("-sbx-shell -i", &bare), "-sbx-shell -- /bin/sh -l -i");
}

Test(launcher_shell, ours_stand_in_front_with_two_dashes)
{
	bool bare;

	cr_expect_str_eq(words("sbx-shell --preset=npm --quiet -c --strict", &bare),
			 "sbx-shell --preset=npm --quiet -- /bin/sh -c --strict");
	cr_expect_not(bare);
	/* sh skips the first `--`, too */
	cr_expect_str_eq(words("sbx-shell --quiet -- f", &bare),
			 "sbx-shell --quiet -- /bin/sh -- f");
	cr_expect_str_eq(words("sbx-shell -- --quiet", &bare), "sbx-shell -- /bin/sh -- --quiet");
	cr_expect(bare);
}

Test(launcher_shell, a_command_has_its_operands)
{
	char name[] = "name", one[] = "1";
	char *operands[] = {name, one, NULL};
	b_auto_free char **argv = lau_shell_command("echo $1", operands);
	b_auto_free char **none = lau_shell_command("", operands + 2);

	cr_expect_str_eq(argv[0], "/bin/sh");
	cr_expect_str_eq(argv[1], "-c");
	cr_expect_str_eq(argv[2], "echo $1");
	cr_expect_eq(argv[LAU_SHELL_FRONT], name);
	cr_expect_eq(argv[4], one);
	cr_expect_null(argv[5]);
	cr_expect_str_eq(none[2], "");
	cr_expect_null(none[LAU_SHELL_FRONT]);
}
