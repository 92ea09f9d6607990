/* SPDX-License-Identifier: Apache-2.0 */
#include "launcher/options/options.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <criterion/criterion.h>

#include "base/err.h"
#include "base/str.h"
#include "launcher/run/confine.h"
#include "launcher/report/report.h"
#include "policy/plan/seccomp.h"

static struct lau_options o;
static struct b_err err;

static int parse(const char *line)
{
	static char text[512];
	static char *argv[32];
	int argc = 0;
	char *word;

	strcpy(text, line);
	argv[argc++] = (char[]){"sbx-launch"};
	for (word = strtok(text, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	lau_options_init(&o);
	return lau_options_parse(argc, argv, &o, &err);
}

static void refused(const char *line, const char *part)
{
	cr_expect_eq(parse(line), -1, "%s", line);
	cr_expect_eq(err.kind, B_USAGE);
	cr_expect(strstr(err.msg, part), "%s: %s", line, err.msg);
	lau_options_release(&o);
}

Test(launcher_options, defaults_are_strict_and_closed)
{
	cr_assert_eq(parse("true"), 0);
	for (int i = 0; i < POL_SETTING_COUNT; i++)
		cr_expect_eq(o.policy.said.v[i], POL_UNSAID);
	cr_expect_eq(o.audit_level, SBX_AUDIT_FOLDED);
	cr_expect_neq(o.strictness, LAU_BEST_EFFORT);
	cr_expect_eq(o.status_fd, -1);
	cr_expect_eq(o.timeout_ms, 0);
	cr_expect_eq(o.kill_after_ms, 5000);
	lau_options_release(&o);
}

Test(launcher_options, first_word_that_is_no_option_is_the_command)
{
	cr_assert_eq(parse("-v --network host make -v --policy x"), 0);
	cr_expect_eq(o.verbose, 1);
	cr_expect_eq(o.policy.said.v[POL_SET_network], POL_NET_HOST);
	cr_expect_eq(o.policy.policies.n, 0);
	cr_expect_str_eq(o.argv[0], "make");
	cr_expect_str_eq(o.argv[3], "x");
	cr_expect_null(o.argv[4]);
	lau_options_release(&o);
	cr_assert_eq(parse("-- --odd"), 0);
	cr_expect_str_eq(o.argv[0], "--odd");
	lau_options_release(&o);
}

Test(launcher_options, rules_keep_order_and_are_counted_by_option)
{
	struct pol_request rq;

	cr_assert_eq(parse("--read a --deny-read b --read c --modify d --deny-modify e x"), 0);
	lau_policy_request(&o.policy, &rq);
	cr_assert_eq(rq.nrules, 5);
	cr_expect_str_eq(rq.rules[0].text, "a");
	cr_expect(rq.rules[0].allow);
	cr_expect_eq(rq.rules[0].nth, 1);
	cr_expect_not(rq.rules[1].allow);
	cr_expect_eq(rq.rules[1].nth, 1);
	cr_expect_str_eq(rq.rules[2].option, "--read");
	cr_expect_eq(rq.rules[2].nth, 2);
	cr_expect_eq(rq.rules[3].op, SBX_MODIFY);
	cr_expect_eq(rq.rules[4].op, SBX_MODIFY);
	cr_expect_not(rq.rules[4].allow);
	lau_options_release(&o);
}

Test(launcher_options, levels_are_those_of_the_ring)
{
	static const char *const names[] = {"folded", "all", "modify", "denied", "none"};
	static const int levels[] = {SBX_AUDIT_FOLDED, SBX_AUDIT_ALL, SBX_AUDIT_MODIFY,
				     SBX_AUDIT_DENIED, SBX_AUDIT_NONE};
	char line[64];
	size_t i;

	for (i = 0; i < SBX_AUDIT_LEVEL_COUNT; i++) {
		snprintf(line, sizeof line, "--audit-level=%s x", names[i]);
		cr_assert_eq(parse(line), 0);
		cr_expect_eq(o.audit_level, levels[i]);
		lau_options_release(&o);
	}
}

Test(launcher_options, relaxations_add_up)
{
	cr_assert_eq(parse("--allow debug --allow namespaces --unix host x"), 0);
	cr_expect_eq(o.allow, POL_SC_ALLOW_DEBUG | POL_SC_ALLOW_NAMESPACES);
	cr_expect_eq(o.policy.said.v[POL_SET_unixSockets], POL_UNIX_HOST);
	lau_options_release(&o);
	cr_assert_eq(parse("--unix /run/d.sock x"), 0);
	cr_expect_eq(o.policy.said.v[POL_SET_unixSockets], POL_UNSAID);
	cr_assert_eq(o.policy.nrules, 1);
	cr_expect_eq(o.policy.rules[0].op, SBX_CONNECT);
	cr_expect_str_eq(o.policy.rules[0].text, "/run/d.sock");
	lau_options_release(&o);
}

Test(launcher_options, the_last_isolation_counts)
{
	cr_assert_eq(parse("--isolate pid --isolate shm x"), 0);
	cr_expect_eq(o.isolate, LAU_ISOLATE_SHM);
	cr_expect_eq(o.require, 1u << LAU_NEED_SHM, "what is named is had");
	lau_options_release(&o);
	cr_assert_eq(parse("--isolate pid,tmp x"), 0);
	cr_expect_eq(o.isolate, LAU_ISOLATE_PID | LAU_ISOLATE_TMP);
	cr_expect_eq(o.require, 1u << LAU_NEED_PID | 1u << LAU_NEED_TMP);
	refused("--isolate shm --require private-tmp x",
		"--require private-tmp: --isolate leaves it out");
	cr_assert_eq(parse("--isolate pid,shm --isolate none x"), 0);
	cr_expect_eq(o.require, 0);
	lau_options_release(&o);
	refused("--require pid-namespace --isolate none x",
		"--require pid-namespace: --isolate leaves it out");
	refused("--isolate pid --require private-shm x",
		"--require private-shm: --isolate leaves it out");
	cr_assert_eq(parse("--require pid-namespace --isolate pid x"), 0);
	lau_options_release(&o);
}

Test(launcher_options, bad_lines_are_refused_with_a_reason)
{
	refused("", "no command");
	refused("-v", "no command");
	refused("--strict --best-effort x", "--best-effort: cannot be used with --strict");
	refused("--netwrok host x", "did you mean `--network`");
	refused("--network internet x", "none|loopback|watch|host");
	refused("--timeout never x", "not a duration");
	refused("--keep-fd 99999 x", "descriptor 99999 is not open");
	refused("--keep-fd -1 x", "not a descriptor number");
	refused("--status-fd 98765 x", "not open");
	refused("--allow everything x", "debug|namespaces|setid");
	refused("--json x", "--doctor");
	refused("--audit-required --audit-level none x", "--audit-level none");
	refused("--print-env --require broker", "enforces nothing");
	refused("--print-env --no-shim", "enforces nothing");
	refused("--print-env --mode auto", "enforces nothing");
	refused("--print-env x", "no command may follow");
	refused("--ps --stop last", "--ps: cannot be used with --stop");
	refused("--ps x", "no command may follow");
	refused("--wait last --json", "--json: only together with");
	refused("--stop last --read x", "--read: not with --ps, --stop, --wait or --reload");
	refused("--tee x", "--tee: only together with --result-json");
	refused("--on-error pass x", "--on-error: not with a command");
	refused("--mode auto --best-effort x", "--mode: cannot be used with --best-effort");
	refused("--mode none --json x", "--json: only together with");
	refused("--profile", "needs a value");
	refused("--read !x y", "--deny-read");
	refused("--modify !x y", "./!x");
}

Test(launcher_options, questions_need_no_command)
{
	cr_expect_eq(parse("--help"), 0);
	cr_expect_eq(parse("-V"), 0);
	cr_expect_eq(parse("--doctor --json"), 0);
	cr_expect_eq(parse("--on-error deny --capture-over end --isolate none x"), 0);
	cr_expect_eq(parse("--print-env --on-error pass --isolate none -q"), 0);
	cr_expect_eq(parse("--dry-run"), -1);
}

Test(launcher_options, help_names_every_option)
{
	struct b_str help = {0};
	size_t i, n;
	struct b_opt *table = lau_options_table(&n);

	lau_options_help(&help);
	for (i = 0; i < n; i++)
		cr_expect(strstr(help.s, table[i].name));
	free(table);
	b_str_release(&help);
}

Test(launcher_options, descriptors_are_taken_when_open)
{
	char line[64];
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	snprintf(line, sizeof line, "--keep-fd %d --keep-fd 0 --status-fd %d x", fd, fd);
	cr_assert_eq(parse(line), 0);
	cr_expect_eq(o.nkeep_fds, 2);
	cr_expect_eq(o.keep_fds[0], fd);
	cr_expect_eq(o.status_fd, fd);
	lau_options_release(&o);
	close(fd);
}
