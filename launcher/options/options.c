/* SPDX-License-Identifier: Apache-2.0 */
/* options.c - see options.h. */
#include "launcher/options/options.h"

#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/approve.h"
#include "launcher/options/grida_call.h"
#include "launcher/options/shell.h"
#include "launcher/report/report.h"
#include "launcher/run/confine.h"
#include "launcher/run/run.h"
#include "policy/rules/workspace.h"

const char *const lau_agent_names[] = {NULL,  "claude", "codex", "gemini", "cursor", "opencode",
				       "npm", "make",	"git",	 "cargo",  "github"};

struct b_opt *lau_options_join(const struct b_opt *a, size_t na, const struct b_opt *b, size_t nb)
{
	struct b_opt *all = b_calloc(na + nb, sizeof *all);

	memcpy(all, a, na * sizeof *a);
	memcpy(all + na, b, nb * sizeof *b);
	return all;
}

struct b_opt *lau_options_table(size_t *out_n)
{
	struct b_opt *all = lau_options_join(lau_policy_table, lau_policy_table_n, lau_option_table,
					     lau_option_table_n);
	size_t n = 0;

	for (size_t i = 0; i < lau_policy_table_n + lau_option_table_n; i++)
		if (!(all[i].where & LAU_ELSEWHERE))
			all[n++] = all[i];
	*out_n = n;
	return all;
}

/* ---- life ---- */

void lau_options_init(struct lau_options *o)
{
	*o = (struct lau_options){.policy.said = pol_said_nothing(),
				  .kill_after_ms = LAU_KILL_AFTER_MS,
				  .status_fd = -1,
				  .anchor_fd = -1,
				  .completion = -1};
}

void lau_options_release(struct lau_options *o)
{
	lau_policy_opts_release(&o->policy);
	b_strlist_release(&o->pass_env);
	b_strlist_release(&o->set_env);
	b_strlist_release(&o->context);
	b_opt_uses_release(&o->uses);
	free(o->keep_fds);
	free(o->sh_argv);
	free(o->left);
	lau_options_init(o);
}

/* ---- checks ---- */

/* What --isolate names must be had. After the last one: it replaces those before it. */
static void require_isolation(struct lau_options *o)
{
	if (o->isolate & LAU_ISOLATE_SHM)
		o->require |= 1u << LAU_NEED_SHM;
	if (o->isolate & LAU_ISOLATE_PID)
		o->require |= 1u << LAU_NEED_PID;
	if (o->isolate & LAU_ISOLATE_TMP)
		o->require |= 1u << LAU_NEED_TMP;
}

/* Is an ability required that --isolate leaves out? */
static bool contradicts(const struct lau_options *o, enum lau_need need, unsigned part)
{
	return o->isolate_given && !(o->isolate & part) && o->require >> need & 1;
}

static int check_abilities(const struct lau_options *o, struct b_err *err)
{
	if (contradicts(o, LAU_NEED_PID, LAU_ISOLATE_PID))
		return b_fail(err, B_USAGE, 0, "--require pid-namespace: --isolate leaves it out");
	if (contradicts(o, LAU_NEED_SHM, LAU_ISOLATE_SHM))
		return b_fail(err, B_USAGE, 0, "--require private-shm: --isolate leaves it out");
	if (contradicts(o, LAU_NEED_TMP, LAU_ISOLATE_TMP))
		return b_fail(err, B_USAGE, 0, "--require private-tmp: --isolate leaves it out");
	return 0;
}

static int check_command(const struct lau_options *o, unsigned where, struct b_err *err)
{
	if (where == LAU_OPT_RUN && (o->hook || o->setup))
		return o->argv ? b_fail(err, B_USAGE, 0, "--hook, --setup: no command may follow")
			       : 0;
	if (where == LAU_OPT_RUN && !o->argv)
		return b_fail(err, B_USAGE, 0,
			      "no command: sbx-launch [options] [--] command [args]; see --help");
	if (where != LAU_OPT_RUN && o->argv)
		return b_fail(err, B_USAGE, 0, "%s: no command may follow",
			      o->print_env ? "--print-env" : "--ps, --stop, --wait, --reload");
	return 0;
}

static int check(const struct lau_options *o, const struct b_opt *table, size_t n,
		 struct b_err *err)
{
	unsigned where = LAU_OPT_RUN;
	const char *place = "a command";

	if (o->help || o->version || o->completion >= 0 || o->doctor || o->selftest)
		return 0;
	if (o->ps || o->stop || o->wait || o->reload) {
		where = LAU_OPT_ASK;
		place = "--ps, --stop, --wait or --reload";
	} else if (o->print_env) {
		where = LAU_OPT_PRINT_ENV;
		place = "--print-env, which starts no command and enforces nothing by the kernel";
	}
	if (b_opt_check(table, n, &o->uses, where, place, err) < 0 ||
	    check_command(o, where, err) < 0)
		return -1;
	return check_abilities(o, err);
}

int lau_options_parse(int argc, char **argv, struct lau_options *out, struct b_err *err)
{
	size_t n;
	b_auto_free struct b_opt *table = lau_options_table(&n);
	int rest;

	if (b_opt_parse_uses(table, n, argc, argv, out, &out->uses, &rest, err) < 0)
		return -1;
	out->argv = rest < argc ? argv + rest : NULL;
	if (out->command)
		out->argv = out->sh_argv = lau_shell_command(out->command, argv + rest);
	out->own_argv = argv;
	out->own_argc = rest;
	require_isolation(out);
	if (check(out, table, n, err) < 0)
		return -1;
	/* A question about the host needs no policy. */
	if (!out->argv)
		return out->print_env ? lau_policy_settle(&out->policy, err) : 0;
	if (out->chdir)
		out->left = getcwd(NULL, 0);
	if (lau_call_settle(out, err) < 0 ||
	    (out->chdir &&
	     pol_refuse_led(out->is_call ? "cwd-not-in-workspace: --chdir" : "--chdir", out->chdir,
			    B_WORKSPACE, err) < 0) ||
	    lau_parts_chdir(out, err) < 0 || lau_mode_settle(out, err) < 0)
		return -1;
	return lau_policy_settle(&out->policy, err);
}

/* ---- a run inside a run ---- */

int lau_options_send(const struct lau_options *o, struct b_arena *a, struct b_strlist *out,
		     struct b_err *err)
{
	size_t n;
	b_auto_free struct b_opt *table = lau_options_table(&n);

	b_strlist_add(out, "sbx-launch");
	for (size_t i = 0; i < n; i++)
		if (table[i].where & LAU_OPT_NOT_NESTED && b_opt_given(&table[i], &o->uses))
			return b_fail(err, B_USAGE, 0, "--%s: not in a run inside a run",
				      table[i].name);
	for (const struct b_opt_use *use = o->uses.v; use < o->uses.v + o->uses.n; use++)
		for (size_t i = 0; i < n; i++)
			if (table[i].where & LAU_OPT_SENT && strcmp(table[i].name, use->name) == 0)
				b_strlist_add(out, b_arena_printf(a, "--%s%s%s", use->name,
								  use->value ? "=" : "",
								  use->value ? use->value : ""));
	return 0;
}

int lau_options_receive(char **words, struct lau_options *out, struct b_err *err)
{
	size_t n, sent = 0;
	b_auto_free struct b_opt *table = lau_options_table(&n);
	int argc = 0, rest;

	for (size_t i = 0; i < n; i++)
		if (table[i].where & LAU_OPT_SENT)
			table[sent++] = table[i];
	while (words[argc])
		argc++;
	if (b_opt_parse_uses(table, sent, argc, words, out, &out->uses, &rest, err) < 0)
		return -1;
	if (rest < argc)
		return b_fail(err, B_FORMAT, 0, "the request of the inner run is damaged");
	require_isolation(out);
	if (check_abilities(out, err) < 0)
		return -1;
	return lau_mode_settle(out, err);
}

/* ---- macOS ---- */

/* `shim` is an ability of both systems; the rest are Linux's. */
static int check_required(const struct lau_options *o, struct b_err *err)
{
	for (int need = 0; need < LAU_NEED_COUNT; need++)
		if (o->require >> need & 1 && need != LAU_NEED_SHIM)
			return b_fail(err, B_FLOOR, 0,
				      "required: %s: macOS does not have it: leave it out, or run "
				      "on Linux",
				      lau_needs[need].name);
	if (o->require >> LAU_NEED_SHIM & 1 && o->no_shim)
		return b_fail(err, B_FLOOR, 0, "required: shim: leave out --no-shim");
	return 0;
}

int lau_macopts_check(const struct lau_options *o, struct b_str *notes, struct b_err *err)
{
	for (size_t i = 0; i < lau_option_table_n; i++) {
		const struct b_opt *row = &lau_option_table[i];

		if (!row->macos || !b_opt_given(row, &o->uses))
			continue;
		if (!(row->where & LAU_OPT_MACOS_NOTE))
			return b_fail(err, B_FLOOR, 0, "--%s: %s", row->name, row->macos);
		b_str_addf(notes, "--%s %s\n", row->name, row->macos);
	}
	return check_required(o, err);
}

/* ---- texts ---- */

void lau_options_complete(enum b_shell shell, struct b_str *out)
{
	size_t n;
	b_auto_free struct b_opt *table = lau_options_table(&n);
	const struct b_completion c = {"sbx-launch", table, n, NULL, true};

	b_complete(&c, shell, out);
}

void lau_options_help(struct b_str *out)
{
	static const char head[] =
		"Usage: sbx-launch [options] [--] command [args]\n"
		"Runs a command under a policy that the kernel enforces. Records what it did.\n\n";
	static const char tail[] =
		"\n"
		"Exit status: the command's own; 128+n when signal n ended it; 124 timed out; 137 "
		"had to\n"
		"be killed; 125 sbx-launch failed; 126 not executable or refused; 127 not "
		"found.\n\n"
		"Examples:\n"
		"  sbx-launch make -j2                    build; writes stay in the workspace\n"
		"  sbx-launch --network host npm install  writes as above, and the whole network\n"
		"  sbx-launch -c 'make && ./report'       a line for the shell; see sbx-shell(1)\n"
		"  sbx-launch -p agent.yaml --profile review -- claude\n"
		"  sbx-launch --deny-read '~/mail' --modify /srv/out -v ./report\n"
		"  sbx-audit                              what the last run did\n";
	size_t n;
	b_auto_free struct b_opt *table = lau_options_table(&n);
	struct b_str rows = {0};

	b_opt_help(table, n, &rows);
	b_str_add(out, head);
	b_str_add(out, b_str_c(&rows));
	b_str_add(out, tail);
	b_str_release(&rows);
}
