/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sbx.h - the policy engine of sbx-launch as a library: load a policy, ask what it says, and why.
 *
 *	#include <sbx.h>
 *
 *	struct sbx_load how = {.policy = "agent.yaml", .profile = "writer"};
 *	struct sbx_policy *p;
 *	struct sbx_error err;
 *	if (sbx_policy_load(&how, &p, &err) < 0)
 *		errx(1, "%s: %s", err.code, err.message);
 *	struct sbx_answer a;
 *	if (sbx_policy_check(p, SBX_POLICY_MODIFY, "src/main.c", &a, &err) == 0)
 *		printf("%s by %s (%s)\n", a.allowed ? "allowed" : "denied", a.matched_rule, a.rule);
 *	sbx_policy_free(p);
 *
 *	cc example.c $(pkg-config --cflags --libs sbx)
 *
 * Rules, order and answers are those of sbx-policy(1) and sbx-launch(1): documents, the sets of
 * secret and protected paths, and the built-in default policy. The library asks the file system
 * where links lead, and changes nothing. It prints nothing, and holds no global state: a policy
 * may be used by one thread at a time, several policies by several threads. Where memory is
 * exhausted the process ends. Linux; for executables (the objects are position-independent
 * executables', not shared libraries').
 *
 * Strings in an answer or a decision are good until the next call with that policy.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

struct sbx_policy;

enum sbx_policy_operation {
	SBX_POLICY_READ,    /* open for reading, list a directory */
	SBX_POLICY_MODIFY,  /* write, create, remove, rename, change attributes */
	SBX_POLICY_EXEC,    /* execute */
	SBX_POLICY_CONNECT, /* connect to a Unix socket */
};

/* What went wrong: a stable code ("E_POLICY", sbx-launch(1)) and a line for a person. */
struct sbx_error {
	char code[16];
	char message[1024];
};

/* Zeroed: the built-in default policy for the current directory, as sbx-launch has it. */
struct sbx_load {
	const char *policy;    /* a document's path or a name in the store; NULL = the default */
	const char *profile;   /* NULL: the document's only one */
	const char *workspace; /* a directory; NULL: git's toplevel, or the current one */
};

/* 0 and *out, to be freed; or -1 and *err (may be NULL). */
int sbx_policy_load(const struct sbx_load *, struct sbx_policy **out, struct sbx_error *err);
void sbx_policy_free(struct sbx_policy *); /* NULL is fine */

struct sbx_answer {
	const char *profile;
	enum sbx_policy_operation operation;
	const char *path; /* where it leads; inside the workspace as "./x" */
	bool allowed;
	const char *matched_rule; /* without its `!`; "<no matching rule>", "[]", ... */
	const char *rule;	  /* where it stands: "file:line:column"; never empty */
};

/* A path relative to the workspace (no "..", no "~"), or an absolute one. 0 with *out; or -1 with
 * *err: a path that cannot be judged is not allowed. */
int sbx_policy_check(struct sbx_policy *, enum sbx_policy_operation, const char *path,
		     struct sbx_answer *out, struct sbx_error *err);

/* The same for a path that is resolved already, as a line of a log has it, or that names a symlink
 * itself: links that stand there now are not followed. */
int sbx_policy_check_resolved(struct sbx_policy *, enum sbx_policy_operation, const char *path,
			      struct sbx_answer *out, struct sbx_error *err);

/* The answer as one line of JSON with every rule that matches, as `sbx-policy why --all --json`
 * prints it (`floor` is null: what holds it is the launcher's to know). NULL with *err. */
const char *sbx_policy_explain(struct sbx_policy *, enum sbx_policy_operation, const char *path,
			       struct sbx_error *err);

/* Allow, or deny for a reason: what a tool asks before it acts. Whatever goes wrong denies. */
struct sbx_decision {
	bool allow;
	const char *reason; /* NULL when allowed: "denied by rule `x` (file:line:column)" */
};
struct sbx_decision sbx_policy_decide(struct sbx_policy *, enum sbx_policy_operation,
				      const char *path);

/* "0.1.0" */
const char *sbx_policy_version(void);

#ifdef __cplusplus
}
#endif
