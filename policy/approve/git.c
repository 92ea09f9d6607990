/* git.c - which commands of git only look. */
#include <string.h>

#include "base/str.h"
#include "policy/approve/commands.h"

static const char subcommands[] = "status log diff show ls-files rev-parse blame";

/* Before the subcommand; everything else there may run programs or lead to another repository. */
static const char global_options[] =
	"--no-pager --work-tree --no-optional-locks --no-replace-objects --literal-pathspecs "
	"--glob-pathspecs --noglob-pathspecs --icase-pathspecs";

/* What writes, or starts a program. git takes any unambiguous beginning of a long option
 * (gitcli(7)), so each beginning of these is refused, wherever it stands. */
static const char *const refused[] = {
	"--output",
	"--ext-diff",
	"--textconv",
	"--upload-pack",
	"--receive-pack",
	"--exec-path",
	"--git-dir",
	"--config-env",
	"--show-signature", /* gpg.program */
	"--paginate",
	"--remerge-diff",
	"--diff-merges", /* merge drivers; objects */
	"--submodule",
	"--recurse-submodules", /* git, once more, in there */
	"--open-files-in-pager",
	"--alternate-refs", /* core.alternateRefsCommand */
};

static bool is_refused(const char *word)
{
	size_t len = strcspn(word, "=");

	if (strcmp(word, "-c") == 0)
		return true;
	if (strncmp(word, "--", 2) != 0 || len < 3)
		return false;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (strncmp(refused[i], word, len) == 0)
			return true;
	return false;
}

bool pol_command_git(char const *const *args, size_t n, struct b_str *why)
{
	size_t i;

	for (i = 0; i < n && args[i][0] == '-'; i++)
		if (!pol_command_has(global_options, args[i]) ||
		    (!strncmp(args[i], "--work-tree", 11) && args[i][11] != '='))
			return pol_command_refuse(why, "git", args[i]);
	if (i == n) {
		b_str_add(why, "git: names no command of git");
		return false;
	}
	if (!args[i][0] || strchr(args[i], '=') || !pol_command_has(subcommands, args[i]))
		return pol_command_refuse(why, "git", args[i]);
	for (i++; i < n; i++) /* %G: the signature, which gpg.program checks */
		if (is_refused(args[i]) || strstr(args[i], "%G"))
			return pol_command_refuse(why, "git", args[i]);
	return true;
}
