/* losses.c - see losses.h: strict or best effort. */
#include "launcher/losses.h"

#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/str.h"
#include "launcher/options.h"
#include "launcher/plan.h"
#include "policy/engine.h"

static const char me[] = "sbx-launch";

void lau_say(const char *what, const char *text)
{
	b_auto(b_str_release) struct b_str line = {0};

	b_str_addf(&line, "%s: %s: ", me, what);
	b_str_add_visible(&line, text, strlen(text));
	b_str_addc(&line, '\n');
	(void)b_write_all(STDERR_FILENO, line.s, line.len);
}

/* The last refusal becomes the run's error, those before it are printed here. */
static int refuse(const struct lau_plan *p, struct b_err *err)
{
	size_t left = p->nfatal;

	for (size_t i = 0; i < p->nlosses; i++) {
		if (!p->losses[i].fatal)
			continue;
		b_fail(err, B_FLOOR, 0, "cannot be enforced: %s", p->losses[i].text);
		if (--left)
			(void)b_report(me, err);
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
		return refuse(p, err);
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
