/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of what srt's settings mean: policy/front/srt_values.c, policy/rules/nested.c. */
#include "policy/engine.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "tests/support/srt_settings.h"
#include "tests/support/tsv.h"

/* ---- what the rules mean: an engine of a workspace in a directory of our own ---- */

static char top[] = "/tmp/sbx-srt.XXXXXX";
static struct pol_engine *engine;

/* Names to be there before the engine looks, directories with a slash behind. */
static const char *made = "";

static void make_files(void)
{
	b_auto_free char *names = strdup(made);

	for (char *save, *name = strtok_r(names, " ", &save); name;
	     name = strtok_r(NULL, " ", &save)) {
		b_auto(b_str_release) struct b_str path = {0};

		b_str_addf(&path, "%s/%s", top, name);
		for (char *p = path.s + strlen(top) + 1; (p = strchr(p, '/')); p++) {
			*p = '\0';
			mkdir(path.s, 0755);
			*p = '/';
		}
		if (name[strlen(name) - 1] != '/')
			close(open(path.s, O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
	}
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	(void)at;
	return remove(path);
}

static void open_engine(const char *deny_read, const char *allow_write, const char *deny_write,
			const char *more)
{
	b_auto(b_str_release) struct b_str text = {0}, path = {0};
	const char *policy, *ws = top;
	struct pol_request rq = {.policies = &policy,
				 .npolicies = 1,
				 .workspaces = &ws,
				 .nworkspaces = 1,
				 .managed = "/nonexistent",
				 .with_protected = true};
	FILE *f;

	cr_assert(mkdtemp(top));
	make_files();
	b_str_addf(&text,
		   "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []},\n"
		   "\"filesystem\": {\"denyRead\": [%s], \"allowWrite\": [%s], \"denyWrite\": "
		   "[%s]%s}}\n",
		   deny_read, allow_write, deny_write, more);
	b_str_addf(&path, "%s.json", top);
	f = fopen(b_str_c(&path), "we");
	cr_assert(f);
	fputs(b_str_c(&text), f);
	fclose(f);
	chmod(b_str_c(&path), 0600);
	policy = b_str_c(&path);
	cr_assert_eq(pol_engine_new(&rq, &engine, &srt_err), 0, "%s", srt_err.msg);
	unlink(b_str_c(&path));
}

static void close_engine(void)
{
	pol_engine_free(engine);
	engine = NULL;
	nftw(top, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static bool may(enum sbx_op op, const char *below)
{
	b_auto(b_str_release) struct b_str path = {0};
	struct pol_answer answer;

	b_str_addf(&path, "%s%s%s", *below == '/' ? "" : top, *below == '/' ? "" : "/", below);
	cr_assert_eq(pol_engine_check(engine, op, b_str_c(&path), &answer, &srt_err), 0, "%s",
		     srt_err.msg);
	return answer.allowed;
}

/* One row binds otherwise: a name that is not there yet is protected, too. */
Test(policy_srt, mandatory_denies_are_as_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/srt_mandatory_deny.tsv");

	open_engine("", "\".\"", "", "");
	for (size_t i = 0; i < t->n_rows; i++) {
		const char *path = tsv_cell(&t->rows[i], t->columns[1]);
		const char *write = tsv_cell(&t->rows[i], "write");

		if (strchr(path, ' '))
			continue;
		cr_expect_eq(may(SBX_MODIFY, path), strncmp(write, "allow", 5) == 0, "%s", path);
	}
	cr_expect(may(SBX_MODIFY, "1/2/3/.bashrc"));
	cr_expect(!may(SBX_MODIFY, ".Git/HOOKS/x"));
	cr_expect(!may(SBX_MODIFY, "1/2/.BASHRC"));
	cr_expect(may(SBX_MODIFY, ".BASHRCX"));
	close_engine();
	tsv_free(t);
}

Test(policy_srt, what_may_not_be_read_is_not_changed)
{
	made = "kk/";
	open_engine("\"./k\"", "\".\", \"~/out\", \"./kk\"", "", "");
	cr_expect(!may(SBX_MODIFY, "k"));
	cr_expect(!may(SBX_MODIFY, "k/f"));
	cr_expect(may(SBX_MODIFY, "kk/f"));
	cr_expect(may(SBX_MODIFY, "f"));
	close_engine();
}

Test(policy_srt, git_config_is_open_when_asked_for)
{
	open_engine("", "\".\"", "", ", \"allowGitConfig\": true");
	cr_expect(may(SBX_MODIFY, "sub/.git/config"));
	cr_expect(!may(SBX_MODIFY, "sub/.git/hooks/x"));
	close_engine();
}

static const char *without_root(const char *s)
{
	return strncmp(s, "/w/", 3) == 0 ? s + 3 : s;
}

/* But for two, of a pattern that matches a directory and a path below it: the rows are of 0.0.21,
 * srt of today denies what is below. */
Test(policy_srt, globs_mean_what_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/glob_cross_system.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *path = tsv_cell(row, "path");
		b_auto(b_str_release) struct b_str rule = {0};

		if (strncmp(path, "/w/", 3) != 0 ||
		    strcmp(row->cells[0], "glob_cross_system-006") == 0 ||
		    strcmp(row->cells[0], "glob_cross_system-011") == 0)
			continue;
		b_str_addf(&rule, "\"./%s\"", without_root(tsv_cell(row, "pattern")));
		open_engine("", "\".\"", b_str_c(&rule), "");
		cr_expect_eq(!may(SBX_MODIFY, without_root(path)),
			     tsv_is_true(row, t->columns[t->n_columns - 1]), "%s", row->cells[0]);
		close_engine();
		strcpy(top + strlen(top) - 6, "XXXXXX");
	}
	tsv_free(t);
}

/* Does the expression match the path, or something above it? */
static bool covers(const regex_t *re, const char *path)
{
	b_auto_free char *up = strdup(path);

	for (;;) {
		char *slash = strrchr(up, '/');

		if (regexec(re, up, 0, NULL, 0) == 0)
			return true;
		if (!slash || slash == up)
			return false;
		*slash = '\0';
	}
}

Test(policy_srt, what_a_pattern_closes_is_what_its_expression_matches)
{
	static const char *const paths[] = {"/a/x.ts",
					    "/a/s/x.ts",
					    "/a/s/t/x.ts",
					    "/a/x.tsx",
					    "/a/file1.txt",
					    "/a/file12.txt",
					    "/a/filex.txt",
					    "/a/[x",
					    "/a/x",
					    "/ab",
					    "/a/s/.env",
					    ".env",
					    "s/.env",
					    "s/.envx",
					    "s/.env/f",
					    "/a/{x,y}",
					    NULL};
	struct tsv *t = tsv_load("tests/vectors/srt_glob_regex.tsv");

	cr_assert_gt(t->n_rows, 0);
	for (size_t i = 0; i < t->n_rows; i++) {
		const char *glob = tsv_cell(&t->rows[i], "glob");
		b_auto(b_str_release) struct b_str rule = {0};
		regex_t re;

		cr_assert_eq(regcomp(&re, tsv_cell(&t->rows[i], "regex"), REG_EXTENDED), 0);
		b_str_addf(&rule, "\"%s\"", glob);
		open_engine(b_str_c(&rule), "", "", "");
		for (const char *const *p = paths; *p; p++)
			if ((**p == '/') == (*glob == '/'))
				cr_expect_eq(!may(SBX_READ, *p), covers(&re, *p), "%s: %s",
					     t->rows[i].cells[0], *p);
		close_engine();
		strcpy(top + strlen(top) - 6, "XXXXXX");
		regfree(&re);
	}
	tsv_free(t);
}

Test(policy_srt, a_class_is_all_its_members_or_refused)
{
	struct pol_doc doc = {0};

	open_engine("", "\".\"", "\"f[0-2_].txt\", \"a[x\", \"b{c,d}\"", "");
	cr_expect(!may(SBX_MODIFY, "f0.txt"));
	cr_expect(!may(SBX_MODIFY, "f_.txt"));
	cr_expect(may(SBX_MODIFY, "f3.txt"));
	cr_expect(!may(SBX_MODIFY, "a[x"));
	cr_expect(!may(SBX_MODIFY, "b{c,d}"));
	cr_expect(may(SBX_MODIFY, "bc"));
	cr_expect(!may(SBX_MODIFY, "sub/dir/f1.txt"));
	close_engine();
	srt_refused("", ", \"allowRead\": [\"[^a]\"]", "", "this class cannot be enforced");
	srt_refused("", ", \"allowRead\": [\"[!-~][!-~]\"]", "", "this class cannot be enforced");
	srt_refused("", ", \"allowRead\": [\"[a-z][a-z]\"]", "", "match more than 512 names");
	cr_expect_eq(srt_parse_with("", ", \"allowRead\": [\"[a-c][a-c]\"]", "", &doc), 0, "%s",
		     srt_err.msg);
	cr_expect_eq(doc.settings.roots[POL_ROOTS_allowRead].n, 9);
	pol_doc_release(&doc);
}

/* As a regular expression from end to end would have it: row srt_glob_regex-005. What is opened for
 * reading is opened with all below. */
Test(policy_srt, a_glob_that_opens_something_opens_it_alone)
{
	made = "d/a/f";
	open_engine("\"d\"", "\"[ab]\", \"x*\", \"**/s/**\", \"q*/**\"", "",
		    ", \"allowRead\": [\"d/[ab]\"]");
	cr_expect(may(SBX_MODIFY, "a"));
	cr_expect(!may(SBX_MODIFY, "a/f"));
	cr_expect(!may(SBX_MODIFY, "c"));
	cr_expect(may(SBX_MODIFY, "x1"));
	cr_expect(!may(SBX_MODIFY, "x1/f"));
	cr_expect(may(SBX_MODIFY, "p/s"));
	cr_expect(!may(SBX_MODIFY, "p/s/k"), "glob_cross_system-011");
	cr_expect(!may(SBX_MODIFY, "q1/f"));
	cr_expect(may(SBX_READ, "d/a"));
	cr_expect(may(SBX_READ, "d/a/f"));
	cr_expect(!may(SBX_READ, "d/b"));
	close_engine();
}

Test(policy_srt, a_glob_that_closes_something_closes_what_is_below)
{
	open_engine("", "\".\"", "\"./[ab]\", \"q*/**\"", "");
	cr_expect(!may(SBX_MODIFY, "a/f"));
	cr_expect(!may(SBX_MODIFY, "q1/f"));
	close_engine();
}

Test(policy_srt, denies_win_and_allow_read_opens_again)
{
	made = "d/open/";
	open_engine("\"d\", \"e\"", "\".\"", "\"ro\"", ", \"allowRead\": [\"d/open\"]");
	cr_expect(may(SBX_READ, "x"));
	cr_expect(!may(SBX_READ, "d/x"));
	cr_expect(may(SBX_READ, "d/open/x"));
	cr_expect(!may(SBX_MODIFY, "e/x"));
	cr_expect(!may(SBX_MODIFY, "ro/x"));
	cr_expect(may(SBX_READ, "ro/x"));
	cr_expect(!may(SBX_MODIFY, "/var/x"));
	close_engine();
}

/* ---- entries that lie in each other; what srt 0.0.78 does with the same files ---- */

Test(policy_srt, the_deepest_entry_counts)
{
	made = "secrets/open/deny/d secrets/s sub/.env .env note";
	open_engine("\"./secrets\", \"**/.env\", \"secrets/open/deny\"", "\".\"", "",
		    ", \"allowRead\": [\".\", \"secrets/open\"]");
	cr_expect(may(SBX_READ, "note"));
	cr_expect(!may(SBX_READ, ".env"), "a denial inside a wider opening stays");
	cr_expect(!may(SBX_READ, "sub/.env"));
	cr_expect(!may(SBX_READ, "secrets/s"));
	cr_expect(may(SBX_READ, "secrets/open/o"));
	cr_expect(!may(SBX_READ, "secrets/open/deny/d"));
	cr_expect(!may(SBX_READ, "secrets/open/.env"), "a pattern below an opening");
	cr_expect(!may(SBX_MODIFY, "secrets/open/o"), "what is read again is not modified");
	cr_expect(!may(SBX_MODIFY, "sub/.env"));
	cr_expect(may(SBX_MODIFY, "note"));
	close_engine();
}

Test(policy_srt, the_order_of_entries_is_of_no_account)
{
	made = "a/b/c/f a/b/f";
	open_engine("\"a/b/c\", \"a\"", "\"a/b\", \".\"", "", ", \"allowRead\": [\".\"]");
	cr_expect(!may(SBX_READ, "a/f"));
	cr_expect(may(SBX_READ, "a/b/f"), "what may be written below a denial is read");
	cr_expect(may(SBX_MODIFY, "a/b/f"));
	cr_expect(!may(SBX_READ, "a/b/c/f"));
	cr_expect(!may(SBX_MODIFY, "a/b/c/f"));
	close_engine();
}

/* srt binds what may be written first, and what may be read over it. */
Test(policy_srt, what_is_read_again_covers_what_may_be_written_in_it)
{
	made = "out/ d/w/in/ d/r/w/ .git/objects/";
	open_engine("\".\", \"d\"", "\"~\", \"out\", \".git/objects\", \"d/w\", \"d/r/w\"", "",
		    ", \"allowRead\": [\".\", \"d/w/in\", \"d/r\"]");
	cr_expect(may(SBX_READ, "out/f"));
	cr_expect(!may(SBX_MODIFY, "out/f"));
	cr_expect(!may(SBX_MODIFY, ".git/objects/f"));
	cr_expect(!may(SBX_MODIFY, "d/r/w/f"));
	cr_expect(may(SBX_MODIFY, "d/w/f"), "the deepest denial has its own openings");
	cr_expect(may(SBX_MODIFY, "d/w/in/f"), "what lies in something that may be written");
	close_engine();
}

Test(policy_srt, at_the_same_place_an_opening_counts)
{
	made = "d/f e/f file lifted p1/f";
	open_engine("\"d\", \"e\", \"file\", \"lifted\", \"p*\"", "\".\", \"e\", \"file\"", "",
		    ", \"allowRead\": [\"d\", \"lifted\", \"p1\"]");
	cr_expect(may(SBX_READ, "d/f"));
	cr_expect(!may(SBX_MODIFY, "d/f"));
	cr_expect(may(SBX_READ, "e/f") && may(SBX_MODIFY, "e/f"));
	cr_expect(!may(SBX_READ, "file") && !may(SBX_MODIFY, "file"),
		  "a file is not opened by allowWrite");
	cr_expect(may(SBX_READ, "lifted") && may(SBX_MODIFY, "lifted"));
	cr_expect(may(SBX_READ, "p1/f"));
	cr_expect(!may(SBX_READ, "p2"));
	close_engine();
}

Test(policy_srt, a_pattern_closes_what_is_in_a_directory)
{
	made = "home/.tool/z keys/k";
	open_engine("\"./home/.*\", \"**/keys\"", "", "", "");
	cr_expect(!may(SBX_READ, "home/.tool/z"));
	cr_expect(!may(SBX_READ, "keys/k"));
	cr_expect(!may(SBX_READ, "sub/keys/k"));
	cr_expect(may(SBX_READ, "home/tool"));
	close_engine();
}

Test(policy_srt, a_tree_of_a_pattern_is_each_name_below)
{
	made = "keys/pub keys/sub/f lifted/keys/f";
	open_engine("\"**/keys/**\"", "", "",
		    ", \"allowRead\": [\"keys\", \"keys/sub\", \"lifted/keys/f\"]");
	cr_expect(!may(SBX_READ, "keys/pub"), "deeper than what opens it");
	cr_expect(!may(SBX_READ, "keys/sub/f"));
	cr_expect(may(SBX_READ, "lifted/keys/f"));
	close_engine();
}

Test(policy_srt, patterns_that_open_stand_in_patterns_that_close)
{
	made = "a.pem public.pem public.pem.d/x";
	open_engine("\"**/*.pem\"", "", "", ", \"allowRead\": [\"**/public.pem\", \"**/open\"]");
	cr_expect(!may(SBX_READ, "a.pem"));
	cr_expect(may(SBX_READ, "public.pem"));
	cr_expect(may(SBX_READ, "sub/public.pem"));
	cr_expect(!may(SBX_READ, "x.pem/f"));
	cr_expect(may(SBX_READ, "x.pem/open/f"));
	cr_expect(!may(SBX_READ, "x.pem/open/y.pem"), "closed again below");
	close_engine();
}

Test(policy_srt, brackets_of_an_absolute_path_may_be_a_name)
{
	char dir[64], entry[80], secret[80], path[96];

	snprintf(dir, sizeof dir, "/tmp/srt-q[1]-%d", getpid());
	snprintf(entry, sizeof entry, "\"%s\"", dir);
	snprintf(secret, sizeof secret, "\"%s/secret\"", dir);
	cr_assert_eq(mkdir(dir, 0755), 0);
	open_engine(secret, entry, "", "");
	rmdir(dir);
	snprintf(path, sizeof path, "%s/secret", dir);
	cr_expect(!may(SBX_READ, path), "the name is closed");
	snprintf(path, sizeof path, "%s/w", dir);
	cr_expect(may(SBX_MODIFY, path), "and opened");
	snprintf(path, sizeof path, "/tmp/srt-q1-%d/secret", getpid());
	cr_expect(!may(SBX_READ, path), "so is the pattern closed");
	cr_expect(!may(SBX_MODIFY, path), "but not opened beside the name");
	close_engine();
}

Test(policy_srt, what_is_not_there_is_not_opened)
{
	made = "there/";
	open_engine("", "\"there\", \"missing\"", "", "");
	cr_expect(may(SBX_MODIFY, "there/f"));
	cr_expect(!may(SBX_MODIFY, "missing"));
	cr_expect(!may(SBX_MODIFY, "missing/f"));
	close_engine();
}

Test(policy_srt, packages_are_spared_the_mandatory_denies)
{
	open_engine("", "\".\"", "", "");
	cr_expect(may(SBX_MODIFY, "node_modules/p/.vscode/s.json"));
	cr_expect(may(SBX_MODIFY, "pkg/node_modules/.mcp.json"));
	cr_expect(may(SBX_MODIFY, "node_modules/.bashrc"));
	cr_expect(!may(SBX_MODIFY, "pkg/.vscode/node_modules/x"), "the first name decides");
	cr_expect(!may(SBX_MODIFY, ".idea/node_modules/x"));
	cr_expect(!may(SBX_MODIFY, "node_modulesx/.bashrc"));
	close_engine();
	strcpy(top + strlen(top) - 6, "XXXXXX");
	made = "src/";
	open_engine("", "\"src\"", "\"node_modules/keep\"", "");
	cr_expect(!may(SBX_MODIFY, "node_modules/.bashrc"), "and opens nothing");
	cr_expect(!may(SBX_MODIFY, "node_modules/keep"));
	close_engine();
}

/* allowGitConfig opens it where it is open but for the sets, and no read of it. */
Test(policy_srt, git_config_stays_as_closed_as_it_is)
{
	made = ".git/config .git/HEAD";
	open_engine("\".\"", "", "", ", \"allowGitConfig\": true");
	cr_expect(!may(SBX_READ, ".git/config"));
	cr_expect(!may(SBX_MODIFY, ".git/config"));
	close_engine();
	strcpy(top + strlen(top) - 6, "XXXXXX");
	open_engine("", "\".\"", "", ", \"allowGitConfig\": true");
	cr_expect(may(SBX_MODIFY, ".git/config"));
	close_engine();
}

Test(policy_srt, two_dots_lead_out_by_the_text_alone)
{
	made = "x/";
	open_engine("\"x/../../beside-srt\", \"x/../y\"", "", "", "");
	cr_expect(!may(SBX_READ, "/tmp/beside-srt"));
	cr_expect(!may(SBX_READ, "y"));
	cr_expect(may(SBX_READ, "x"));
	close_engine();
}
