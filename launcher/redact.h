/*
 * redact.h - what must not be shown: which variables hold secrets, and their values taken out of
 * text that passes by in pieces. Pure.
 *
 *	struct lau_secrets secrets = {0};
 *	lau_secrets_from(&secrets, environ);
 *	struct lau_redact r = {.secrets = &secrets};
 *	while ((n = read(fd, buf, sizeof buf)) > 0)
 *		lau_redact_feed(&r, buf, n, &shown);
 *	lau_redact_end(&r, &shown);
 *
 * A value that is cut in two by the end of a piece is found all the same: what could be the
 * beginning of one is kept back until more has come, so at most the longest value's length. Where
 * values overlap, all of their bytes go.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct b_err;

#define LAU_REDACTED	   "[REDACTED]"	    /* in place of the value of such a name */
#define LAU_REDACTED_VALUE "[REDACTED_ENV]" /* in place of such a value in a text */
#define LAU_SECRET_MIN	   4 /* shorter values are no secrets, and would be found everywhere */

/* By the name alone, whatever its case: SECRET, TOKEN, PASSWORD ... in it, or _KEY at its end.
 * Rather too many than too few: SSH_AUTH_SOCK counts. */
bool lau_name_is_secret(const char *name, size_t n);

struct lau_secrets {
	struct lau_secret {
		const char *s; /* borrowed */
		size_t len;
	} * v; /* the longest first */
	size_t n, cap;
	bool first[256]; /* bytes that one of them begins with */
};
void lau_secrets_release(struct lau_secrets *);
/* The values of variables ("NAME=value") whose names say so; they are borrowed. */
void lau_secrets_from(struct lau_secrets *, char *const *envp);

struct lau_redact {
	const struct lau_secrets *secrets; /* none in it, or NULL: everything passes */
	struct b_str kept;		   /* may be the beginning of a value */
	size_t covered;			   /* bytes of it that belong to a value already told */
};
void lau_redact_release(struct lau_redact *);
/* Appends to *out what can be shown by now. */
void lau_redact_feed(struct lau_redact *, const void *p, size_t n, struct b_str *out);
/* Nothing more comes: the rest. */
void lau_redact_end(struct lau_redact *, struct b_str *out);

/* The message without values of these variables: it may repeat words of the user's. */
void lau_redact_error(struct b_err *, char *const *envp);
