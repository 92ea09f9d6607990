/* ask_compile.c - sbx-policy compile: a policy in one file, for sbx-launch --image. */
#include "base/err.h"
#include "base/io.h"
#include "base/own.h"
#include "base/str.h"
#include "cmd/ask.h"
#include "policy/bundle.h"
#include "policy/engine.h"

static int compile(struct ask_opts *o, struct b_err *err)
{
	b_auto(b_str_release) struct b_str file = {0};
	b_auto(asked_release) struct asked a = ASKED_NONE;
	struct pol_request rq;

	if (o->run.policy.presets.n)
		return b_fail(err, B_USAGE, 0,
			      "compile: --preset is not kept: name it in sandbox.presets");
	/* It is a document in use of the runs to come: the rules compiled are theirs. */
	o->run.policy.also_used = o->output;
	if (ask_policy(o, &a, err) < 0)
		return -1;
	ask_notices(a.plan.engine);
	lau_policy_request(&o->run.policy, &rq);
	if (pol_bundle_write(&rq, a.plan.engine, &file, err) < 0)
		return -1;
	return b_replace_file(o->output, NULL, b_str_c(&file), file.len, err);
}

int ask_compile(struct ask_opts *o, char const *const *words, size_t n)
{
	struct b_err err;

	for (size_t i = 0; i < n; i++)
		b_strlist_add(&o->run.policy.policies, words[i]);
	if (!o->output || o->run.policy.image) {
		b_fail(&err, B_USAGE, 0,
		       "compile: expected sbx-policy compile -o IMAGE [options] [NAME | FILE...]");
		return ask_trouble(&err);
	}
	return compile(o, &err) < 0 ? ask_trouble(&err) : YES;
}
