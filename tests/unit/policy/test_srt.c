/* Unit tests of srt's settings: policy/front/srt.c. */
#include "policy/engine.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/own.h"
#include "base/str.h"
#include "policy/front/dialect.h"
#include "tests/support/tsv.h"

static struct b_err err;

static int parse(const char *text, struct pol_doc *out)
{
	const struct pol_input in = {
		.name = "s", .text = text, .len = strlen(text), .dialect = POL_DIALECT_srt};

	return pol_front_parse(&in, out, &err);
}

/* Settings with these values of network, filesystem and the rest. */
static int parse_with(const char *network, const char *filesystem, const char *rest,
		      struct pol_doc *out)
{
	b_auto(b_str_release) struct b_str s = {0};

	b_str_addf(
		&s,
		"{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []%s},\n"
		" \"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": []%s}%s}",
		network, filesystem, rest);
	return parse(b_str_c(&s), out);
}

static void refused(const char *network, const char *filesystem, const char *rest,
		    const char *message)
{
	struct pol_doc doc = {0};

	err.msg[0] = '\0';
	cr_expect_eq(parse_with(network, filesystem, rest, &doc), -1, "%s%s%s", network, filesystem,
		     rest);
	cr_expect(strstr(err.msg, message), "%s", err.msg);
}

Test(policy_srt, what_is_required_and_what_is_unknown)
{
	struct pol_doc doc = {0};

	cr_expect_eq(parse("{\"network\": {}}", &doc), -1);
	cr_expect(strstr(err.msg, "missing field `filesystem`"), "%s", err.msg);
	cr_expect_eq(parse("{\"filesystem\": {}, \"network\": {\"allowedDomains\": []}}", &doc),
		     -1);
	cr_expect(strstr(err.msg, "missing field `denyRead` in filesystem"), "%s", err.msg);
	refused("", ", \"denyWrit\": []", "", "did you mean `denyWrite`?");
	refused(", \"httpProxyPort\": 0", "", "", "expected 1 to 65535");
	refused("", "", ", \"mandatoryDenySearchDepth\": 11", "expected 1 to 10");
	refused("", ", \"allowGitConfig\": \"no\"", "", "is a string, expected a boolean");
	refused("", ", \"allowRead\": [\"\"]", "", "empty, expected some text");
	refused("", ", \"allowRead\": [\"../x\"]", "", "contains `..`");
}

Test(policy_srt, every_key_of_the_rows_is_known)
{
	struct tsv *t = tsv_load("tests/vectors/srt_config.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const char *key = tsv_cell(&t->rows[i], "key");
		b_auto_free char *last = strdup(strrchr(key, '.') ? strrchr(key, '.') + 1 : key);
		b_auto(b_str_release) struct b_str s = {0};
		struct pol_doc doc = {0};

		if (strpbrk(key, " *,")) /* several in a row */
			continue;
		b_str_addf(&s, ", \"%s\": \"!\"", last);
		/* a value that no key takes: which is known complains of that */
		if (strncmp(key, "network.", 8) == 0)
			(void)parse_with(b_str_c(&s), "", "", &doc);
		else if (strncmp(key, "filesystem.", 11) == 0)
			(void)parse_with("", b_str_c(&s), "", &doc);
		else if (!strchr(key, '.'))
			(void)parse_with("", "", b_str_c(&s), &doc);
		cr_expect(!strstr(err.msg, "unknown field"), "%s: %s", key, err.msg);
		pol_doc_release(&doc);
	}
	tsv_free(t);
}

Test(policy_srt, domains_are_judged_as_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/srt_domain_validate.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		b_auto(b_str_release) struct b_str s = {0};
		struct pol_doc doc = {0};
		int rc;

		b_str_addf(&s,
			   "{\"network\": {\"allowedDomains\": [\"%s\"], \"deniedDomains\": []}, "
			   "\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], \"denyWrite\": "
			   "[]}}",
			   tsv_cell(&t->rows[i], "pattern"));
		rc = parse(b_str_c(&s), &doc);
		cr_expect_eq(rc == 0, tsv_is_true(&t->rows[i], "accepted"), "%s: %s",
			     t->rows[i].cells[0], err.msg);
		if (rc == 0)
			cr_expect_eq(doc.foreign.losses.n, 1);
		pol_doc_release(&doc);
	}
	tsv_free(t);
}

/* Rows 018 to 023: what a settings file of today may hold, each taken or refused by name. */
Test(policy_srt, settings_of_today_are_taken)
{
	static const char network[] =
		", \"strictAllowlist\": true, \"allowMachLookup\": [\"com.example.*\"], "
		"\"deniedDomainReasons\": {\"x.example.com:22\": \"why\"}, "
		"\"deniedResolvedAddresses\": [\"10.0.0.0/8\"], \"allowAllDomains\": false";
	static const char rest[] =
		", \"enableWeakerNestedSandbox\": true, \"enableWeakerNetworkIsolation\": true, "
		"\"allowAppleEvents\": true, \"allowPty\": true, \"ripgrep\": {\"command\": "
		"\"rg\", \"args\": [\"-j1\"], \"argv0\": \"rg\"}, \"seccomp\": {\"applyPath\": "
		"\"/opt/apply\", \"argv0\": \"x\"}, \"bwrapPath\": \"/opt/bwrap\", \"socatPath\": "
		"\"/opt/socat\", \"javaAgentJarPath\": \"/opt/a.jar\", \"git\": "
		"{\"safeDirectories\": [\"/w\"]}, \"windows\": {\"sandboxUser\": \"u\"}";
	struct pol_doc doc = {0};

	cr_assert_eq(
		parse_with(network, ", \"disabled\": false, \"allowRead\": [\"a\"]", rest, &doc), 0,
		"%s", err.msg);
	cr_expect_eq(doc.foreign.losses.n, 0);
	cr_expect(doc.foreign.is_nested && !doc.foreign.must_have_bwrap);
	cr_expect_str_eq(doc.foreign.bwrap.s, "/opt/bwrap");
	pol_doc_release(&doc);
	refused("", ", \"disabled\": true", "", "nothing is run without a sandbox");
	refused("", "", ", \"bwrapPath\": \"bwrap\"", "expected an absolute path");
	refused("", "", ", \"seccomp\": {\"bpfPath\": \"/x\"}",
		"unknown field `bpfPath` in seccomp");
	refused("", "", ", \"git\": {\"safeDirectories\": true}", "expected a list");
	refused("", "", ", \"windows\": 1", "windows is an integer");
	refused(", \"deniedDomainReasons\": [1]", "", "", "deniedDomainReasons is a list");
}

Test(policy_srt, what_its_proxy_would_do_is_a_loss)
{
	static const char *const keys[] = {
		", \"allowAllDomains\": true",
		", \"parentProxy\": {\"http\": \"http://p.example.com\"}",
		", \"mitmProxy\": {\"socketPath\": \"/s\", \"domains\": [\"a.example.com\"]}",
		", \"tlsTerminate\": {}",
		", \"filterRequest\": \"f\"",
	};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		struct pol_doc doc = {0};

		cr_assert_eq(parse_with(keys[i], "", "", &doc), 0, "%s: %s", keys[i], err.msg);
		cr_expect_eq(doc.foreign.losses.n, 1, "%s", keys[i]);
		pol_doc_release(&doc);
	}
}

Test(policy_srt, domains_may_have_ports)
{
	struct pol_doc doc = {0};

	cr_assert_eq(
		parse("{\"network\": {\"allowedDomains\": [\"a.example.com:443\", "
		      "\"*.example.com:1\", \"localhost:8080\"], \"deniedDomains\": [\"*\", "
		      "\"*:22\", \"b.example.com:65535\"]}, \"filesystem\": {\"denyRead\": [], "
		      "\"allowWrite\": [], \"denyWrite\": []}}",
		      &doc),
		0, "%s", err.msg);
	pol_doc_release(&doc);
	for (const char *const *bad = (const char *const[]){"a.example.com:0", "a.example.com:",
							    "a.example.com:65536", "*", "*:22",
							    "a.example.com:x", "[::1]:1", NULL};
	     *bad; bad++) {
		b_auto(b_str_release) struct b_str s = {0};

		b_str_addf(&s,
			   "{\"network\": {\"allowedDomains\": [\"%s\"], \"deniedDomains\": []}, "
			   "\"filesystem\": {\"denyRead\": [], \"allowWrite\": [], "
			   "\"denyWrite\": []}}",
			   *bad);
		cr_expect_eq(parse(b_str_c(&s), &doc), -1);
		cr_expect(strncmp(err.msg, "s:1:33: `", 9) == 0, "%s: %s", *bad, err.msg);
	}
}

Test(policy_srt, credentials_are_closed)
{
	struct pol_doc doc = {0};

	cr_assert_eq(
		parse_with("", "",
			   ", \"credentials\": {\"files\": [{\"path\": \"~/.netrc\", \"mode\": "
			   "\"deny\"}, {\"path\": \"keys/*.pem\", \"mode\": \"deny\"}], "
			   "\"envVars\": [{\"name\": \"A_TOKEN\", \"mode\": \"deny\"}]}",
			   &doc),
		0, "%s", err.msg);
	cr_expect_eq(doc.foreign.losses.n, 0);
	cr_expect_eq(doc.settings.roots[POL_ROOTS_denyRead].n, 2);
	cr_expect_str_eq(doc.settings.roots[POL_ROOTS_denyRead].v[0].s, "~/.netrc");
	cr_expect_eq(doc.foreign.no_env.n, 1);
	cr_expect_str_eq(doc.foreign.no_env.v[0].s, "A_TOKEN");
	pol_doc_release(&doc);
	/* what is to be masked is closed as well, and that is less than was asked for */
	cr_assert_eq(
		parse_with("", "",
			   ", \"credentials\": {\"allowPlaintextInject\": true, \"files\": "
			   "[{\"path\": \"/t\", \"mode\": \"mask\", \"extract\": \"(x)\", "
			   "\"onExtractNoMatch\": \"deny\", \"decode\": \"jwt\", \"maskClaims\": "
			   "[\"c\"], \"maskDuplicates\": true, \"injectHosts\": "
			   "[\"a.example.com\"]}], \"envVars\": [{\"name\": \"B\", \"mode\": "
			   "\"mask\"}], \"awsPairs\": [{\"accessKeyIdVar\": \"B\", "
			   "\"secretAccessKeyVar\": \"C\"}], \"sigv4\": {\"streaming\": \"deny\"}}",
			   &doc),
		0, "%s", err.msg);
	cr_expect_eq(doc.foreign.losses.n, 2);
	cr_expect_eq(doc.settings.roots[POL_ROOTS_denyRead].n, 1);
	cr_expect_eq(doc.foreign.no_env.n, 3);
	pol_doc_release(&doc);
	refused("", "", ", \"credentials\": {\"injectHosts\": []}", "unknown field `injectHosts`");
	refused("", "", ", \"credentials\": {\"files\": [{\"path\": \"/x\"}]}",
		"missing field `mode`");
	refused("", "", ", \"credentials\": {\"files\": [{\"path\": \"\", \"mode\": \"deny\"}]}",
		"path: empty");
	refused("", "",
		", \"credentials\": {\"envVars\": [{\"name\": \"A=B\", \"mode\": \"deny\"}]}",
		"`A=B` is no name of a variable");
	refused("", "", ", \"credentials\": {\"envVars\": [{\"name\": \"A\", \"mode\": \"hide\"}]}",
		"mode is `hide`, expected one of deny|mask");
}

/* ---- what the rules mean: an engine of a workspace in a directory of our own ---- */

static char top[] = "/tmp/sbx-srt.XXXXXX";
static struct pol_engine *engine;

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
	cr_assert_eq(pol_engine_new(&rq, &engine, &err), 0, "%s", err.msg);
	unlink(b_str_c(&path));
}

static void close_engine(void)
{
	pol_engine_free(engine);
	engine = NULL;
	rmdir(top);
}

static bool may(enum sbx_op op, const char *below)
{
	b_auto(b_str_release) struct b_str path = {0};
	struct pol_answer answer;

	b_str_addf(&path, "%s%s%s", *below == '/' ? "" : top, *below == '/' ? "" : "/", below);
	cr_assert_eq(pol_engine_check(engine, op, b_str_c(&path), &answer, &err), 0, "%s", err.msg);
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

/* But for one: what is denied in every `s` is denied below it, too, where srt means the directory
 * alone. */
Test(policy_srt, globs_mean_what_the_rows_say)
{
	struct tsv *t = tsv_load("tests/vectors/glob_cross_system.tsv");

	for (size_t i = 0; i < t->n_rows; i++) {
		const struct tsv_row *row = &t->rows[i];
		const char *path = tsv_cell(row, "path");
		b_auto(b_str_release) struct b_str rule = {0};

		if (strncmp(path, "/w/", 3) != 0 ||
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
	refused("", ", \"allowRead\": [\"[^a]\"]", "", "a class that cannot be enforced");
	refused("", ", \"allowRead\": [\"[!-~][!-~]\"]", "", "a class that cannot be enforced");
	refused("", ", \"allowRead\": [\"[a-z][a-z]\"]", "", "stand for more than 512 names");
	cr_expect_eq(parse_with("", ", \"allowRead\": [\"[a-c][a-c]\"]", "", &doc), 0, "%s",
		     err.msg);
	cr_expect_eq(doc.settings.roots[POL_ROOTS_allowRead].n, 9);
	pol_doc_release(&doc);
}

/* As a regular expression from end to end would have it: row srt_glob_regex-005. */
Test(policy_srt, a_glob_that_opens_something_opens_it_alone)
{
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
	cr_expect(!may(SBX_READ, "d/a/f"));
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
	open_engine("\"d\", \"e\"", "\".\"", "\"ro\"", ", \"allowRead\": [\"d/open\"]");
	cr_expect(may(SBX_READ, "x"));
	cr_expect(!may(SBX_READ, "d/x"));
	cr_expect(may(SBX_READ, "d/open/x"));
	cr_expect(!may(SBX_MODIFY, "e/x"));
	cr_expect(!may(SBX_MODIFY, "ro/x"));
	cr_expect(may(SBX_READ, "ro/x"));
	cr_expect(!may(SBX_MODIFY, "/var/x"));
	cr_expect(may(SBX_MODIFY, "/tmp/claude/x"));
	close_engine();
}
