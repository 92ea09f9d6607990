/*
 * identity.h - whom the command runs as, when a policy names somebody (OpenShell's `process`;
 * where it is left out, the user `sandbox`) and the launcher is root. Found before the fork; the
 * child changes to it for good (confine.h).
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct b_arena;
struct b_err;
struct lau_environment;
struct pol_foreign;

#define LAU_GROUPS_MAX 64

struct lau_identity {
	bool is_set;
	uid_t uid;
	gid_t gid;
	gid_t groups[LAU_GROUPS_MAX]; /* all, the first one too */
	int ngroups;
	const char *name, *home; /* NULL: a number that passwd does not know. Arena. */
};

/* Does the document say it? Where nobody is named, root alone is concerned. */
bool lau_identity_is_asked(const struct pol_foreign *);
/* Of the two that one is left out follows from the other: the user's own group; the user
 * `sandbox`, as with OpenShell. *out_loss (arena) says what is missing: we are not root, or there
 * is no such user, and the command runs as the launcher does; or no such group, and it has the
 * user's own; `is_refused`: for who is refused because of it. NULL: it is as asked, or nobody
 * asked. B_POLICY: the name is another one for root. */
int lau_identity_find(const struct pol_foreign *, bool is_refused, struct b_arena *,
		      struct lau_identity *out, const char **out_loss, struct b_err *err);
/* HOME, USER, LOGNAME: of a number that passwd does not know, "/" and the number. */
void lau_identity_export(const struct lau_identity *, struct lau_environment *);
