/* SPDX-License-Identifier: Apache-2.0 */
/* embed.c - the public face, policy/sbx.h, on the engine. */
#include "policy/sbx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "policy/engine.h"
#include "policy/questions/explain.h"

struct sbx_policy {
	struct pol_engine *engine;
	struct b_arena answer; /* of the last question */
	struct b_str text;     /* likewise */
};

_Static_assert((int)SBX_POLICY_READ == SBX_READ && (int)SBX_POLICY_MODIFY == SBX_MODIFY &&
		       (int)SBX_POLICY_EXEC == SBX_EXEC && (int)SBX_POLICY_CONNECT == SBX_CONNECT,
	       "the operations are the engine's");

static int fail(const struct b_err *from, struct sbx_error *to)
{
	if (!to)
		return -1;
	snprintf(to->code, sizeof to->code, "%s", b_kind_code(from->kind));
	snprintf(to->message, sizeof to->message, "%s", from->msg);
	return -1;
}

int sbx_policy_load(const struct sbx_load *how, struct sbx_policy **out, struct sbx_error *err)
{
	const struct pol_request rq = {
		.policies = &how->policy,
		.npolicies = how->policy != NULL,
		.profile = how->profile,
		.workspaces = &how->workspace,
		.nworkspaces = how->workspace != NULL,
		.with_protected = true,
	};
	struct pol_engine *engine;
	struct b_err e;

	if (pol_engine_new(&rq, &engine, &e) < 0)
		return fail(&e, err);
	*out = b_calloc(1, sizeof **out);
	(*out)->engine = engine;
	return 0;
}

void sbx_policy_free(struct sbx_policy *p)
{
	if (!p)
		return;
	pol_engine_free(p->engine);
	b_arena_release(&p->answer);
	b_str_release(&p->text);
	free(p);
}

static int ask(struct sbx_policy *p, enum sbx_policy_operation op, const char *path,
	       bool is_resolved, struct pol_answer *out, struct b_err *err)
{
	if (!p)
		return b_fail(err, B_USAGE, 0, "no policy");
	b_arena_release(&p->answer);
	b_str_reset(&p->text);
	if (!path)
		return b_fail(err, B_USAGE, 0, "no path");
	if ((unsigned)op >= SBX_OP_COUNT)
		return b_fail(err, B_USAGE, 0, "there is no operation %d", (int)op);
	return (is_resolved ? pol_engine_check_resolved : pol_engine_check_in)(
		p->engine, &p->answer, (enum sbx_op)op, path, out, err);
}

static int check(struct sbx_policy *p, enum sbx_policy_operation op, const char *path,
		 bool is_resolved, struct sbx_answer *out, struct sbx_error *err)
{
	struct pol_answer a;
	struct b_err e;

	if (ask(p, op, path, is_resolved, &a, &e) < 0)
		return fail(&e, err);
	*out = (struct sbx_answer){
		.profile = p->engine->rules.profile,
		.operation = op,
		.path = a.path,
		.allowed = a.allowed,
		.matched_rule = a.matched,
		.rule = a.origin,
	};
	return 0;
}

int sbx_policy_check(struct sbx_policy *p, enum sbx_policy_operation op, const char *path,
		     struct sbx_answer *out, struct sbx_error *err)
{
	return check(p, op, path, false, out, err);
}

int sbx_policy_check_resolved(struct sbx_policy *p, enum sbx_policy_operation op, const char *path,
			      struct sbx_answer *out, struct sbx_error *err)
{
	return check(p, op, path, true, out, err);
}

const char *sbx_policy_explain(struct sbx_policy *p, enum sbx_policy_operation op, const char *path,
			       struct sbx_error *err)
{
	struct pol_answer a;
	struct b_err e;

	if (ask(p, op, path, false, &a, &e) < 0) {
		fail(&e, err);
		return NULL;
	}
	pol_explain_json(&a, NULL, p->engine, &p->text);
	return b_str_c(&p->text);
}

struct sbx_decision sbx_policy_decide(struct sbx_policy *p, enum sbx_policy_operation op,
				      const char *path)
{
	struct pol_answer a;
	struct b_err e;

	if (ask(p, op, path, false, &a, &e) < 0) {
		if (!p)
			return (struct sbx_decision){.reason = "cannot be judged: no policy"};
		b_str_addf(&p->text, "cannot be judged: %s", e.msg);
	} else if (a.allowed) {
		return (struct sbx_decision){.allow = true};
	} else {
		b_str_addf(&p->text, "denied by rule `%s` (%s)", a.matched, a.origin);
	}
	return (struct sbx_decision){.reason = b_str_c(&p->text)};
}

const char *sbx_policy_version(void)
{
	return SBX_VERSION;
}
