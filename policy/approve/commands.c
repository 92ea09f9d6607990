/* SPDX-License-Identifier: Apache-2.0 */
/* commands.c - the table of commands that can be read-only, and which commands of git only
 * look. */
#include "policy/approve/approve.h"

#include <string.h>

#include "base/str.h"

/* find(1) takes each predicate whole. Not here: -exec -execdir -ok -okdir -delete -fprint -fprint0
 * -fprintf -fls, and -files0-from, which reads what to search elsewhere. */
static const char find_words[] =
	"-H -L -P -O0 -O1 -O2 -O3 -name -iname -path -ipath -wholename -iwholename -regex -iregex "
	"-regextype -type -xtype -size -mtime -mmin -atime -amin -ctime -cmin -used -newer "
	"-anewer -cnewer -newermt -newerat -newerct -maxdepth -mindepth -depth -d -prune -print "
	"-print0 -printf -ls -empty -readable -writable -executable -user -group -uid -gid -perm "
	"-links -inum -samefile -follow -mount -xdev -true -false -not -and -or -a -o -quit "
	"-nouser -nogroup -lname -ilname -daystart -noleaf -warn -nowarn -fstype -context";

/* The word behind a predicate is judged like one, too: `-name -delete` is refused, and no list of
 * which predicates take a value can be wrong. */
static bool judge_find(char const *const *args, size_t n, struct b_str *why)
{
	for (size_t i = 0; i < n; i++)
		if (args[i][0] == '-' && args[i][1] && !pol_command_has(find_words, args[i]) &&
		    strspn(args[i] + 1, "0123456789") != strlen(args[i] + 1))
			return pol_command_refuse(why, "find", args[i]);
	return true;
}

/* `sed -n 1,20p`: w, e, r and the flags of s need letters that no range has. */
static bool judge_sed(char const *const *args, size_t n, struct b_str *why)
{
	size_t len = n > 1 ? strlen(args[1]) : 0;

	if (n < 2 || strcmp(args[0], "-n") != 0)
		return pol_command_refuse(why, "sed", n ? args[0] : "");
	if (len < 2 || args[1][len - 1] != 'p' || strspn(args[1], "0123456789,$") != len - 1)
		return pol_command_refuse(why, "sed", args[1]);
	for (size_t i = 2; i < n; i++)
		if (args[i][0] == '-')
			return pol_command_refuse(why, "sed", args[i]);
	return true;
}

/* rg: not --pre, --hostname-bin (programs), -z --search-zip (decompressors). */
#define RG_LETTERS "abcFHhiIlLnNoPpqsSuUvVwx0."
#define RG_WITH	   "ABCdEefgjmMrtT"
#define RG_WORDS                                                                                   \
	"--after-context --before-context --context --block-buffered --byte-offset "               \
	"--case-sensitive --color --colors --column --context-separator --count "                  \
	"--count-matches --crlf --debug --no-config --files --files-with-matches "                 \
	"--files-without-match --fixed-strings --follow --glob --iglob "                           \
	"--glob-case-insensitive --heading --no-heading --hidden --ignore-case --ignore-file "     \
	"--include-zero --invert-match --json --line-buffered --line-number --no-line-number "     \
	"--line-regexp --max-columns --max-columns-preview --max-count --max-depth "               \
	"--max-filesize --mmap --no-mmap --multiline --multiline-dotall --no-filename "            \
	"--with-filename --no-ignore --no-ignore-dot --no-ignore-exclude --no-ignore-files "       \
	"--no-ignore-global --no-ignore-messages --no-ignore-parent --no-ignore-vcs "              \
	"--no-messages --no-unicode --null --null-data --one-file-system --only-matching "         \
	"--passthru --path-separator --pcre2 --pre-glob --pretty --quiet --regexp --replace "      \
	"--smart-case --sort --sortr --stats --text --threads --trim --type --type-not "           \
	"--type-list --unrestricted --version --help --vimgrep --word-regexp --file"
/* sort: not -o, --compress-program, -T, --files0-from. Large input goes to files in TMPDIR. */
#define SORT_LETTERS "bdfgiMhnRrVcCmsuz"
#define SORT_WORDS                                                                                 \
	"--reverse --numeric-sort --general-numeric-sort --human-numeric-sort --version-sort "     \
	"--month-sort --random-sort --ignore-case --dictionary-order --ignore-leading-blanks "     \
	"--ignore-nonprinting --unique --stable --zero-terminated --check --merge --key "          \
	"--field-separator --sort"
/* diff: not -l, --paginate (pr). */
#define DIFF_LETTERS "qsurNaibBwEZtdpycenT"
#define DIFF_WORDS                                                                                 \
	"--brief --unified --recursive --new-file --text --ignore-case --ignore-all-space "        \
	"--ignore-space-change --ignore-blank-lines --side-by-side --color --minimal --exclude "   \
	"--report-identical-files --no-dereference --label --width --context"
#define UNIQ_WORDS                                                                                 \
	"--count --repeated --unique --ignore-case --zero-terminated --skip-fields --skip-chars "  \
	"--check-chars"

/* Not here, though they look: test and printf, whose operands some shells evaluate (`-v`,
 * subscripts with a command substitution in ksh), and what the rows of others keep out. */
static const struct pol_command commands[] = {
	{.name = "base64"},
	{.name = "basename"},
	{.name = "cat"},
	{.name = "cd"},
	{.name = "cksum"},
	{.name = "cmp"},
	{.name = "comm"},
	{.name = "cut"},
	{.name = "df"},
	{.name = "diff", .letters = DIFF_LETTERS, .letters_with = "UCWxIL", .options = DIFF_WORDS},
	{.name = "dirname"},
	{.name = "du"},
	{.name = "echo"},
	{.name = "expand"},
	{.name = "false"},
	{.name = "find", .judge = judge_find},
	{.name = "fold"},
	{.name = "git", .judge = pol_command_git},
	{.name = "grep"},
	{.name = "head"},
	{.name = "id"},
	{.name = "ls"},
	{.name = "md5sum"},
	{.name = "nl"},
	{.name = "od"},
	{.name = "paste"},
	{.name = "pwd"},
	{.name = "readlink"},
	{.name = "realpath"},
	{.name = "rg", .letters = RG_LETTERS, .letters_with = RG_WITH, .options = RG_WORDS},
	{.name = "sed", .judge = judge_sed},
	{.name = "seq"},
	{.name = "sha256sum"},
	{.name = "sort", .letters = SORT_LETTERS, .letters_with = "ktS", .options = SORT_WORDS},
	{.name = "tail"},
	{.name = "tr"},
	{.name = "true"},
	{.name = "uname"},
	{.name = "uniq",
	 .letters = "cdDuiz",
	 .letters_with = "fsw",
	 .options = UNIQ_WORDS,
	 .max_operands = 1},
	{.name = "wc"},
	{.name = "whoami"},
};

const struct pol_command *pol_command_find(const char *name)
{
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

const char *pol_command_name(size_t i)
{
	return i < sizeof commands / sizeof *commands ? commands[i].name : NULL;
}

bool pol_command_has(const char *list, const char *word)
{
	size_t len = strcspn(word, "="), n;

	if (strcspn(word, " ") < len)
		return false;
	for (const char *p = list; *p; p += n + (p[n] == ' ')) {
		n = strcspn(p, " ");
		if (n == len && memcmp(p, word, n) == 0)
			return true;
	}
	return false;
}

bool pol_command_refuse(struct b_str *why, const char *name, const char *word)
{
	b_str_addf(why, "%s: `", name);
	b_str_add_visible(why, word, strlen(word));
	b_str_add(why, "` is not known to be read-only");
	return false;
}

/* Which commands of git only look. */

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
	"--help",	    /* man, a browser */
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

/* git takes one of "+- " between the sign and the letter; a field of a ref is "%(signature)". */
bool pol_format_asks_gpg(const char *text)
{
	for (const char *at = text; (at = strchr(at, '%'));) {
		at++;
		if (at[strspn(at, "+- ")] == 'G')
			return true;
	}
	return strstr(text, "(signature") || strstr(text, "(*signature");
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
		if (is_refused(args[i]) || pol_format_asks_gpg(args[i]) ||
		    (args[i][0] == '-' && strstr(args[i], "signature")))
			return pol_command_refuse(why, "git", args[i]);
	return true;
}
