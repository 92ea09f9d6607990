/* entry.h - one line of a log, read back; and the questions `sbx-audit show` asks of it. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/image.h"

struct json_t;
struct aud_line;

/* Strings are borrowed from `json`, never NULL ("" = absent); paths are exact bytes. */
struct aud_entry {
	struct json_t *json;
	const char *kind, *op, *path, *path2, *matched_rule, *rule, *call, *exe, *image, *ts,
		*reason;
	char *exact, *exact2;	       /* decoded path_b64, path2_b64: owned */
	int64_t pid, ppid, err, count; /* count: calls the line stands for, at least 1 */
	int64_t lost, corrupt, abandoned;
	bool has_verdict, allowed, disagrees, unverified;
};

/* 0, or -1 with *out_why: not JSON, not an object, no kind. */
int aud_entry_parse(const struct aud_line *, struct aud_entry *out, const char **out_why);
void aud_entry_release(struct aud_entry *);

enum aud_verdict_filter { AUD_ANY_VERDICT = -1, AUD_ONLY_ALLOWED, AUD_ONLY_DENIED };

struct aud_filter {
	int op;			  /* enum sbx_op, -1 = any */
	int verdict;		  /* enum aud_verdict_filter */
	const char *const *globs; /* one must match the path or the second path; none = any */
	size_t nglobs;
	int64_t pid;		       /* -1 = any */
	const char *kind;	       /* NULL = any */
	const char *const *workspaces; /* for absolute globs on paths shown as ./x */
	size_t nworkspaces;
};
bool aud_filter_match(const struct aud_filter *, const struct aud_entry *);
