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
 * The library gives the answers of sbx-policy(1) and sbx-launch(1), with the same documents, sets
 * of secret and protected paths, and built-in default policy. It reads links in the file system,
 * changes no file, prints nothing, and has no global state. One thread at a time may use a policy;
 * several threads may use several policies. No call is async-signal-safe. If memory is exhausted
 * the process ends. Linux only, for executables: the objects are compiled with -fPIE, not -fPIC.
 *
 * The policy owns the strings of an answer or a decision. They are valid until the next call with
 * that policy, or until sbx_policy_free().
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

/* An error: a stable code ("E_POLICY", see sbx-launch(1)) and one line of text, cut if longer. */
struct sbx_error {
	char code[16];
	char message[1024];
};

/* The policy to load. All zero: the built-in default policy for the current directory, as in
 * sbx-launch. The library copies the strings. */
struct sbx_load {
	const char *policy;    /* a document's path or a name in the store; NULL = the default */
	const char *profile;   /* NULL: the document's only one */
	const char *workspace; /* a directory; NULL: git's toplevel, or the current one */
};

/* 0 with *out, which the caller frees; or -1 with *err (NULL: not wanted), and *out as it was. */
int sbx_policy_load(const struct sbx_load *, struct sbx_policy **out, struct sbx_error *err);
void sbx_policy_free(struct sbx_policy *); /* NULL is fine */

struct sbx_answer {
	const char *profile;
	enum sbx_policy_operation operation;
	const char *path; /* after links are resolved; in the workspace as "./x" */
	bool allowed;
	const char *matched_rule; /* without its `!`; "<no matching rule>", "[]", ... */
	const char *rule;	  /* its origin: "file:line:column"; never empty */
};

/* `path` is absolute, or relative to the workspace (without ".." and "~"). 0 with *out; or -1 with
 * *err. The caller must treat -1 as denied. */
int sbx_policy_check(struct sbx_policy *, enum sbx_policy_operation, const char *path,
		     struct sbx_answer *out, struct sbx_error *err);

/* The same without following links: for a path that is resolved already, as in a line of a log, or
 * that names a symlink itself. */
int sbx_policy_check_resolved(struct sbx_policy *, enum sbx_policy_operation, const char *path,
			      struct sbx_answer *out, struct sbx_error *err);

/* The answer as one line of JSON with every rule that matches, as `sbx-policy why --all --json`
 * prints it. `floor` is null, because only the launcher knows which mechanism enforces the answer.
 * The policy owns the text. NULL with *err. */
const char *sbx_policy_explain(struct sbx_policy *, enum sbx_policy_operation, const char *path,
			       struct sbx_error *err);

/* For a tool that asks before it acts: allow, or deny with a reason. Every error denies. */
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
