/* ask_approve.c - sbx-policy approve: may a harness run this command without asking? */
#include "base/err.h"
#include "base/mem.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "launcher/approve.h"

/* What the policy promises and this host lacks: strict refuses to run, and a lax policy runs
 * without. Inside a run the outer one holds whatever the inner one lacks. */
static const char *lacking(const struct lau_plan *p)
{
	for (size_t i = 0; i < p->nlosses; i++)
		if (p->losses[i].fatal && p->losses[i].text != lau_inside_text)
			return p->losses[i].text;
	return NULL;
}

int ask_approve(struct ask_opts *o, char const *const *words, size_t n)
{
	b_auto(asked_release) struct asked a = ASKED_NONE;
	b_auto(b_str_release) struct b_str why = {0}, out = {0};
	struct lau_leave leave = {
		.listed = o->listed.v, .nlisted = o->listed.n, .sandboxed = o->auto_allow};
	enum lau_approval answer;
	struct b_err err;

	if (n == 0) {
		b_fail(&err, B_USAGE, 0,
		       "approve: expected sbx-policy approve [options] -- COMMAND...");
		return ask_trouble(&err);
	}
	if ((o->auto_allow ? ask_run : ask_policy)(o, &a, &err) < 0)
		return ask_trouble(&err);
	leave.bare = lacking(&a.plan);
	b_auto_free const char **argv = b_calloc(n + 1, sizeof *argv);
	for (size_t i = 0; i < n; i++)
		argv[i] = words[i];
	answer = lau_approve(a.plan.engine, o->run.mode, &leave, argv, &why);
	if (o->json)
		lau_approval_json(answer, b_str_c(&why), argv, &out);
	else
		b_str_addf(&out, "%s: %s\n", lau_approval_name(answer), b_str_c(&why));
	return ask_print(&out, answer == LAU_ALLOW ? YES : NO);
}
