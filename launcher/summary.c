/* summary.c - see summary.h. */
#include "launcher/summary.h"

#include <inttypes.h>
#include <string.h>

#include "audit/collector.h"
#include "base/str.h"
#include "launcher/outcome.h"
#include "launcher/plan.h"
#include "launcher/record.h"
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
