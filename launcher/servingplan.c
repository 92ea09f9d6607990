/* servingplan.c - what a plan knows of the broker on this host: whether it can serve, and what it
 * then cannot do. See launcher/serving.h. */
#include "launcher/plan.h"

#include <string.h>

#include "base/mem.h"
#include "base/str.h"
#include "launcher/dirs.h"
#include "launcher/host.h"

/* The state directory, which holds the runs. */
static const char *state_of(const struct lau_dirs *dirs, struct lau_plan *p)
{
	const char *end = dirs->runs ? strrchr(dirs->runs, '/') : NULL;

	return end ? b_arena_strndup(&p->arena, dirs->runs, (size_t)(end - dirs->runs)) : NULL;
}

void lau_plan_serving(struct lau_host *host, const struct lau_dirs *dirs, struct lau_plan *p)
{
	b_auto(b_str_release) struct b_str why = {0};

	lau_host_settle(host, state_of(dirs, p),
			p->isolate || dirs->layers.effect.network != POL_NET_HOST);
	if (host->has_broker || p->is_wrapped)
		return;
	lau_host_no_broker(host, &why);
	p->no_broker = b_arena_strndup(&p->arena, b_str_c(&why), why.len);
}

void lau_plan_serving_failed(const struct lau_dirs *dirs, struct lau_plan *p)
{
	lau_serving_forget(state_of(dirs, p));
}
