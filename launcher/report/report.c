/* SPDX-License-Identifier: Apache-2.0 */
/* report.c - the summary of a run, the plan of --dry-run, and what cannot be enforced. */
#include "launcher/report/report.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "audit/collector.h"
#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options/approve.h"
#include "launcher/options/options.h"
#include "launcher/plan/environment.h"
#include "launcher/plan/plan.h"
#include "launcher/run/os.h"
#include "launcher/run/run.h"
#include "launcher/supervise/supervise.h"
#include "policy/engine.h"

static const char me[] = "sbx-launch: ";

void lau_summary_start(struct lau_plan *p, int lost, struct b_str *out)
{
	const char **list;
	size_t n, i;

	list = lau_plan_mechanisms(p, lost, &n);
	b_str_addf(out, "%spolicy ", me);
	b_str_add_visible(out, p->engine->policy_name, strlen(p->engine->policy_name));
	b_str_addf(out, " (%.12s), confined by ", p->engine->hash);
	for (i = 0; i < n; i++)
		b_str_addf(out, "%s%s", i ? ", " : "", list[i]);
	b_str_addc(out, '\n');
	if (p->nremoved_vars)
		b_str_addf(out, "%senvironment: %s, %zu variable%s removed\n", me, p->env_mode,
			   p->nremoved_vars, p->nremoved_vars == 1 ? "" : "s");
	for (i = 0; i < p->nlosses; i++) {
		if (p->losses[i].fatal || p->losses[i].is_note)
			continue; /* printed already */
		b_str_addf(out, "%slimit: ", me);
		b_str_add_visible(out, p->losses[i].text, strlen(p->losses[i].text));
		b_str_addc(out, '\n');
	}
}

static void add_end(const struct lau_outcome *o, struct b_str *out)
{
	if (o->phase == LAU_PHASE_TIMEOUT)
		b_str_addf(out, "timed out%s", o->was_killed ? ", killed" : "");
	else if (o->signal)
		b_str_addf(out, "ended by signal %d", o->signal);
	else
		b_str_addf(out, "status %d", o->exit_code);
}

void lau_summary_end(const struct lau_record *r, const struct lau_outcome *o, struct b_str *out)
{
	struct aud_counts c;

	b_str_add(out, me);
	add_end(o, out);
	if (!r->collector) {
		b_str_add(out, "; nothing was recorded\n");
		return;
	}
	aud_collector_counts(r->collector, &c);
	b_str_addf(out,
		   "; %" PRIu64 " events, %" PRIu64 " denied; %" PRIu64 " of %" PRIu64
		   " programs witnessed",
		   c.events, c.denied, c.witnessed, c.processes);
	if (c.lost)
		b_str_addf(out, "; %" PRIu64 " events lost", c.lost);
	if (c.broker_lost)
		b_str_addf(out, ", %" PRIu64 " of them the broker's", c.broker_lost);
	if (c.corrupt + c.abandoned)
		b_str_addf(out, "; %" PRIu64 " corrupt: events are missing",
			   c.corrupt + c.abandoned);
	if (c.damaged)
		b_str_addf(out, "; the ring was damaged (%" PRIu64 " pages), events are missing",
			   c.damaged);
	b_str_addc(out, '\n');
	if (r->has_dir) {
		b_str_addf(out, "%srun ", me);
		b_str_add_visible(out, r->dir.path, strlen(r->dir.path));
		b_str_addf(out, ", final hash %s\n", aud_collector_hash(r->collector));
	}
}

/* ---- --dry-run ---- */

static void add_text(struct b_str *out, const char *head, const char *text)
{
	b_str_add(out, head);
	b_str_add_visible(out, text, strlen(text));
	b_str_addc(out, '\n');
}

static void add_policy(const struct pol_engine *e, struct b_str *out)
{
	size_t i;

	add_text(out, "policy: ", e->policy_name);
	if (e->rules.profile)
		add_text(out, "profile: ", e->rules.profile);
	for (i = 0; i < e->rules.nworkspaces; i++)
		add_text(out, "workspace: ", e->rules.workspaces[i]);
	b_str_add(out, "rules:");
	for (i = 0; i < SBX_OP_COUNT; i++)
		b_str_addf(out, " %zu %s%s", e->rules.op[i].n, sbx_op_name((enum sbx_op)i),
			   i + 1 < SBX_OP_COUNT ? "," : "\n");
}

static void add_floor(struct lau_plan *p, struct b_str *out)
{
	const char **list;
	size_t n, i;

	list = lau_plan_mechanisms(p, 0, &n);
	b_str_add(out, "floor:");
	for (i = 0; i < n; i++)
		b_str_addf(out, "%s %s", i ? "," : "", list[i]);
	b_str_addc(out, '\n');
	for (i = 0; i < LAU_BOUND_COUNT; i++)
		if (p->bounds.v[i])
			b_str_addf(out, "%s: %llu, enforced by %s\n",
				   lau_bound_name((enum lau_bound)i),
				   (unsigned long long)p->bounds.v[i],
				   lau_holder_name(p->bounds.by[i]));
	for (i = 0; i < p->nlosses; i++)
		add_text(out, p->losses[i].fatal ? "not enforced: " : "limit: ", p->losses[i].text);
}

static void add_environment(const struct lau_plan *p, const struct lau_environment *env,
			    struct b_str *out)
{
	b_str_addf(out, "environment: %s%s\n", p->env_mode, p->nremoved_vars ? ", without" : "");
	for (size_t i = 0; i < p->nremoved_vars; i++)
		add_text(out, "  - ", p->removed_vars[i]);
	lau_environment_show(env, out);
}

void lau_dryrun_show(const struct lau_options *o, struct lau_plan *p,
		     const struct lau_environment *env, const char *program, struct b_str *shown)
{
	b_auto(lau_secrets_release) struct lau_secrets secrets = {0};
	b_auto(b_str_release) struct b_str text = {0};
	struct b_str *out = &text;
	char **argv;
	size_t i;

	lau_hide_collect(o, lau_os_environ(), false, &secrets);
	add_policy(p->engine, out);
	add_floor(p, out);
	if (p->nfatal && !p->engine->effect.lax)
		b_str_add(out, "would be refused: not every rule can be enforced (--best-effort "
			       "runs the command without those rules)\n");
	add_environment(p, env, out);
	if (o->timeout_ms)
		b_str_addf(out, "timeout: %llu ms, killed %llu ms later\n",
			   (unsigned long long)o->timeout_ms, (unsigned long long)o->kill_after_ms);
	add_text(out, "program: ", program);
	b_str_add(out, "command:");
	/* before what is not printable is escaped, and the rest of the text as it is */
	argv = lau_hide_words(&secrets, o->argv, &p->arena);
	for (i = 0; argv[i]; i++) {
		b_str_addc(out, ' ');
		b_str_add_visible(out, argv[i], strlen(argv[i]));
	}
	b_str_addc(out, '\n');
	lau_hide_text(&secrets, b_str_c(&text), shown);
}

/* Strict or best effort. */

static const char losses_me[] = "sbx-launch";

void lau_say(const char *what, const char *text)
{
	b_auto(b_str_release) struct b_str line = {0};

	b_str_addf(&line, "%s: %s: ", losses_me, what);
	b_str_add_visible(&line, text, strlen(text));
	b_str_addc(&line, '\n');
	(void)b_write_all(STDERR_FILENO, line.s, line.len);
}

/* Up to what it says of --best-effort, which --mode excludes. */
static size_t without_laxness(const char *text)
{
	const char *at = strstr(text, "--best-effort");
	size_t n = at ? (size_t)(at - text) : strlen(text);

	if (n > 3 && at && strncmp(at - 3, "or ", 3) == 0)
		n -= 3;
	while (at && n && strchr(" ,:", text[n - 1]))
		n--;
	return n;
}

/* The last refusal becomes the run's error, those before it are printed here. */
static int refuse(const struct lau_options *o, const struct lau_plan *p, struct b_err *err)
{
	size_t left = p->nfatal;

	for (size_t i = 0; i < p->nlosses; i++) {
		if (!p->losses[i].fatal)
			continue;
		b_fail(err, B_FLOOR, 0, "cannot be enforced: %.*s",
		       (int)(o->mode == LAU_MODE_NONE ? strlen(p->losses[i].text)
						      : without_laxness(p->losses[i].text)),
		       p->losses[i].text);
		if (--left)
			(void)b_report(losses_me, err);
	}
	return -1;
}

void lau_losses_foreign(const struct lau_options *o, const struct lau_plan *p)
{
	const struct pol_engine *e = p->engine;

	for (size_t i = 0; !o->quiet && i < e->nnotices; i++)
		lau_say("note", e->notices[i]);
	for (size_t i = 0; e->effect.lax && i < e->nlosses; i++)
		lau_say("loss", e->losses[i]);
}

int lau_losses_tell(const struct lau_options *o, const struct lau_plan *p, struct b_err *err)
{
	if (p->nfatal && !p->engine->effect.lax)
		return refuse(o, p, err);
	/* set rules re-opened by an option, links not followed */
	for (size_t i = 0; !o->quiet && i < p->engine->nnotices; i++)
		lau_say("note", p->engine->notices[i]);
	/* no denial, and nothing that the command does says it again */
	for (size_t i = 0; o->quiet && i < p->engine->nopened; i++)
		lau_say("note", p->engine->opened[i].line);
	for (size_t i = 0; i < p->nlosses; i++) {
		bool is_loss = p->losses[i].fatal || p->losses[i].is_loss;

		if (is_loss || (p->losses[i].is_note && !o->quiet))
			lau_say(is_loss ? "loss" : "note", p->losses[i].text);
	}
	return 0;
}
