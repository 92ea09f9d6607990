/* SPDX-License-Identifier: Apache-2.0 */
/*
 * entry.h - one line of a log, read back, and the question whether it is one that was asked for.
 * Pure. A line may have been written by anyone: a value of the wrong type is as good as absent.
 *
 *	struct aud_entry e = {0};
 *	while (... a line ...)
 *		if (aud_entry_parse(&line, &e, &why) == 0) ...
 *	aud_entry_release(&e);			(memory is used again by the next line)
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/fields.h"
#include "core/image.h"

struct aud_line;
struct b_str;

/* A line's fields: texts are never NULL ("" = absent), paths are exact bytes, numbers 0 when absent
 * (count: at least 1). LIST and MAP are texts of JSON. */
#define AUD_MEMBER_INT(m)  int64_t m;
#define AUD_MEMBER_BOOL(m) bool m;
#define AUD_MEMBER_FLAG(m) bool m;
#define AUD_MEMBER_WORD(m) const char *m;
#define AUD_MEMBER_TEXT(m) const char *m;
#define AUD_MEMBER_TIME(m) const char *m;
#define AUD_MEMBER_PATH(m) const char *m;
#define AUD_MEMBER_LIST(m) const char *m;
#define AUD_MEMBER_MAP(m)  const char *m;

struct aud_entry {
#define X(member, key, type, ...) AUD_MEMBER_##type(member)
	AUD_FIELDS(X)
#undef X
	bool has_verdict; /* `allowed` is there */
	bool is_claim;	  /* a program's own word of a change, where a broker makes all changes and
			     says so itself; set by aud_reader_next() */
	uint64_t has;	  /* bits of enum aud_field */
	/* version 1 */
	const char *prev, *parent_event_id;
	char *room; /* of the texts; kept from line to line */
	size_t room_size;
};

/* 0, or -1 with *out_why: not JSON, not an object, no kind. The entry is zero-initialised, or holds
 * an earlier line. */
int aud_entry_parse(const struct aud_line *, struct aud_entry *out, const char **out_why);
void aud_entry_release(struct aud_entry *);
/* Was it refused, or is it what the policy denies but a process did? */
bool aud_entry_is_denied(const struct aud_entry *);

/* The next string of a LIST, into `out` (emptied first): false at the end. *at begins as the list.
 */
bool aud_list_next(const char **at, struct b_str *out);
/* The next pair of a MAP. */
bool aud_map_next(const char **at, struct b_str *key, struct b_str *value);

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
/* Does the glob match the path, which is shown or absolute? */
bool aud_glob_match(const struct aud_filter *, const char *glob, const char *path);
