/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of the keys of srt's settings: policy/front/srt.c, srt_credentials.c. */
#include "policy/front/dialect.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "tests/support/srt_settings.h"
#include "tests/support/tsv.h"

Test(policy_srt_keys, what_is_required_and_what_is_unknown)
{
	struct pol_doc doc = {0};

	cr_expect_eq(srt_parse("{\"network\": {}}", &doc), -1);
	cr_expect(strstr(srt_err.msg, "missing field `filesystem`"), "%s", srt_err.msg);
	cr_expect_eq(srt_parse("{\"filesystem\": {}, \"network\": {\"allowedDomains\": []}}", &doc),
		     -1);
	cr_expect(strstr(srt_err.msg, "missing field `denyRead` in filesystem"), "%s", srt_err.msg);
	srt_refused("", ", \"denyWrit\": []", "", "did you mean `denyWrite`?");
	srt_refused(", \"httpProxyPort\": 0", "", "", "expected 1 to 65535");
	srt_refused("", "", ", \"mandatoryDenySearchDepth\": 11", "expected 1 to 10");
	srt_refused("", ", \"allowGitConfig\": \"no\"", "", "is a string, expected a boolean");
	srt_refused("", ", \"allowRead\": [\"\"]", "", "empty, expected some text");
	srt_refused("", ", \"allowRead\": [\"~/../x\"]", "", "contains `..`");
}

Test(policy_srt_keys, every_key_of_the_rows_is_known)
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
			(void)srt_parse_with(b_str_c(&s), "", "", &doc);
		else if (strncmp(key, "filesystem.", 11) == 0)
			(void)srt_parse_with("", b_str_c(&s), "", &doc);
		else if (!strchr(key, '.'))
			(void)srt_parse_with("", "", b_str_c(&s), &doc);
		cr_expect(!strstr(srt_err.msg, "unknown field"), "%s: %s", key, srt_err.msg);
		pol_doc_release(&doc);
	}
	tsv_free(t);
}

Test(policy_srt_keys, domains_are_judged_as_the_rows_say)
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
		rc = srt_parse(b_str_c(&s), &doc);
		cr_expect_eq(rc == 0, tsv_is_true(&t->rows[i], "accepted"), "%s: %s",
			     t->rows[i].cells[0], srt_err.msg);
		if (rc == 0)
			cr_expect_eq(doc.foreign.net_losses.n, 1);
		pol_doc_release(&doc);
	}
	tsv_free(t);
}

/* Rows 018 to 023: what a settings file of today may hold, each taken or refused by name. */
Test(policy_srt_keys, settings_of_today_are_taken)
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

	cr_assert_eq(srt_parse_with(network, ", \"disabled\": false, \"allowRead\": [\"a\"]", rest,
				    &doc),
		     0, "%s", srt_err.msg);
	cr_expect_eq(doc.foreign.losses.n, 0);
	cr_expect(doc.foreign.is_nested && !doc.foreign.must_have_bwrap);
	cr_expect_str_eq(doc.foreign.bwrap.s, "/opt/bwrap");
	pol_doc_release(&doc);
	srt_refused("", ", \"disabled\": true", "", "runs nothing without a sandbox");
	srt_refused("", "", ", \"bwrapPath\": \"bwrap\"", "expected an absolute path");
	srt_refused("", "", ", \"seccomp\": {\"bpfPath\": \"/x\"}",
		    "unknown field `bpfPath` in seccomp");
	srt_refused("", "", ", \"git\": {\"safeDirectories\": true}", "expected a list");
	srt_refused("", "", ", \"windows\": 1", "windows is an integer");
	srt_refused(", \"deniedDomainReasons\": [1]", "", "", "deniedDomainReasons is a list");
}

Test(policy_srt_keys, what_its_proxy_would_do_is_a_loss)
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

		cr_assert_eq(srt_parse_with(keys[i], "", "", &doc), 0, "%s: %s", keys[i],
			     srt_err.msg);
		cr_expect_eq(doc.foreign.losses.n, 1, "%s", keys[i]);
		pol_doc_release(&doc);
	}
}

Test(policy_srt_keys, domains_may_have_ports)
{
	struct pol_doc doc = {0};

	cr_assert_eq(
		srt_parse("{\"network\": {\"allowedDomains\": [\"a.example.com:443\", "
			  "\"*.example.com:1\", \"localhost:8080\"], \"deniedDomains\": [\"*\", "
			  "\"*:22\", \"b.example.com:65535\"]}, \"filesystem\": {\"denyRead\": [], "
			  "\"allowWrite\": [], \"denyWrite\": []}}",
			  &doc),
		0, "%s", srt_err.msg);
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
		cr_expect_eq(srt_parse(b_str_c(&s), &doc), -1);
		cr_expect(strncmp(srt_err.msg, "s:1:33: `", 9) == 0, "%s: %s", *bad, srt_err.msg);
	}
}

Test(policy_srt_keys, credentials_are_closed)
{
	struct pol_doc doc = {0};

	cr_assert_eq(
		srt_parse_with("", "",
			       ", \"credentials\": {\"files\": [{\"path\": \"~/.netrc\", \"mode\": "
			       "\"deny\"}, {\"path\": \"keys/*.pem\", \"mode\": \"deny\"}], "
			       "\"envVars\": [{\"name\": \"A_TOKEN\", \"mode\": \"deny\"}]}",
			       &doc),
		0, "%s", srt_err.msg);
	cr_expect_eq(doc.foreign.losses.n, 0);
	cr_expect_eq(doc.settings.roots[POL_ROOTS_denyRead].n, 2);
	cr_expect_str_eq(doc.settings.roots[POL_ROOTS_denyRead].v[0].s, "~/.netrc");
	cr_expect_eq(doc.foreign.no_env.n, 1);
	cr_expect_str_eq(doc.foreign.no_env.v[0].s, "A_TOKEN");
	pol_doc_release(&doc);
	/* what is to be masked is closed as well, and that is less than was asked for */
	cr_assert_eq(
		srt_parse_with(
			"", "",
			", \"credentials\": {\"allowPlaintextInject\": true, \"files\": "
			"[{\"path\": \"/t\", \"mode\": \"mask\", \"extract\": \"(x)\", "
			"\"onExtractNoMatch\": \"deny\", \"decode\": \"jwt\", \"maskClaims\": "
			"[\"c\"], \"maskDuplicates\": true, \"injectHosts\": "
			"[\"a.example.com\"]}], \"envVars\": [{\"name\": \"B\", \"mode\": "
			"\"mask\"}], \"awsPairs\": [{\"accessKeyIdVar\": \"B\", "
			"\"secretAccessKeyVar\": \"C\"}], \"sigv4\": {\"streaming\": \"deny\"}}",
			&doc),
		0, "%s", srt_err.msg);
	cr_expect_eq(doc.foreign.losses.n, 2);
	cr_expect_eq(doc.settings.roots[POL_ROOTS_denyRead].n, 1);
	cr_expect_eq(doc.foreign.no_env.n, 3);
	pol_doc_release(&doc);
	srt_refused("", "", ", \"credentials\": {\"injectHosts\": []}",
		    "unknown field `injectHosts`");
	srt_refused("", "", ", \"credentials\": {\"files\": [{\"path\": \"/x\"}]}",
		    "missing field `mode`");
	srt_refused("", "",
		    ", \"credentials\": {\"files\": [{\"path\": \"\", \"mode\": \"deny\"}]}",
		    "path: empty");
	srt_refused("", "",
		    ", \"credentials\": {\"envVars\": [{\"name\": \"A=B\", \"mode\": \"deny\"}]}",
		    "`A=B` is not the name of a variable");
	srt_refused("", "",
		    ", \"credentials\": {\"envVars\": [{\"name\": \"A\", \"mode\": \"hide\"}]}",
		    "mode is `hide`, expected one of deny|mask");
}

Test(policy_srt_keys, keys_that_are_comments_are_passed_over)
{
	struct pol_doc doc = {0};

	cr_assert_eq(srt_parse_with(", \"_why\": 1", ", \"$note\": []",
				    ", \"_comment\": \"x\", \"$schema\": \"y\"", &doc),
		     0, "%s", srt_err.msg);
	cr_expect_eq(doc.foreign.notes.n, 4);
	pol_doc_release(&doc);
	srt_refused("", ", \"denyReed\": []", "", "did you mean `denyRead`?");
}
