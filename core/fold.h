/*
 * fold.h - a path without what some file systems do not tell apart: case, the form of accents, code
 * points that show nothing, `\` for `/`; where it is asked for also dots and blanks at the end of
 * a name, and names of streams.
 *
 * Denials are judged on this text where a file system folds names (folded.h), so it folds more than
 * any of them: two names that one of them takes for one have one folded text, but two names may
 * have one folded text and be two. No case of marks: an accent is dropped, `é` is `e`.
 *
 * Everything here is [AS-safe] [MT-safe] [no-alloc].
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBX_FOLD_MAX 3u /* a folded text is at most so many times as long as its text */

#define SBX_FOLD_TRIMS 1u /* dots and blanks at the end of a name are nothing (vfat, NTFS) */
#define SBX_FOLD_CUTS  2u /* what follows a ':' in a name is the name of a stream (NTFS) */

/* A walk along the folded text of a path or a pattern, byte by byte. */
struct sbx_fold {
	const char *at, *end;
	const char *kept_to; /* dots and blanks before this are not at the end of their name */
	unsigned flags;	     /* SBX_FOLD_* */
	bool slash_due;
	bool has_tail; /* a name so far ends in a dot or a blank */
	uint32_t last; /* code point of the name */
	/* The name before the slash that was just given, or before the end, may be another name of
	 * something: `GIT~1` of vfat, `:0067` for a letter. */
	bool is_alias;
	bool is_wild; /* so, where it is not UTF-8: its letters may be any */
	bool may_be_alias, is_broken;
	uint8_t part, chars, digits, extension; /* of a short name */
	uint8_t out[12], nout, given;
};

void sbx_fold_start(struct sbx_fold *, const char *text, size_t len, unsigned flags);
/* The next byte, -1 = the end. "/a//b/" gives "/a/b"; "/" gives nothing. */
int sbx_fold_next(struct sbx_fold *);

/* The whole folded text, NUL-terminated: its length, or SIZE_MAX when it does not fit. Patterns
 * keep their wildcards. */
size_t sbx_fold_text(char *buf, size_t size, const char *text, size_t len, unsigned flags);
