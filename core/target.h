/* SPDX-License-Identifier: Apache-2.0 */
/*
 * target.h - what a request of HTTP/1 asks for: one spelling of its path, which rules judge and
 * which is sent on. Two servers may read the same bytes as two paths (`..%2f`, `;x`, `//`, `\`);
 * what is sent is what both read alike. No allocation, no library, no system call. Everything
 * here is [AS-safe] [MT-safe] [no-alloc].
 *
 *	struct sbx_target t;
 *
 *	if (sbx_target_read(text, len, 0, &t) != SBX_TARGET_OK) ... refuse the request ...
 *	judge t.path; send t.path, and behind a '?' t.query
 *
 * Of a path: escapes of characters that need none are undone, once; other characters are escaped,
 * in capitals; what follows a ';' in a segment goes; empty segments and dot segments are resolved.
 * A second reading changes nothing.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SBX_TARGET_PATH_MAX 4096 /* bytes of a path, as it came and as it goes on */

#define SBX_TARGET_KINDS(X)                                                                        \
	X(OK, "a path")                                                                            \
	X(EMPTY_HOST, "a URL without a host")                                                      \
	X(SCHEME, "neither a path nor a URL of http or https")                                     \
	X(USER, "a URL with a user in front of the host")                                          \
	X(CONTROL, "null or control byte")                                                         \
	X(NOT_ASCII, "non-ASCII byte")                                                             \
	X(FRAGMENT, "fragment in request target")                                                  \
	X(ESCAPE, "invalid percent-encoded sequence")                                              \
	X(SLASH, "encoded slash not allowed")                                                      \
	X(BACKSLASH, "backslash")                                                                  \
	X(OVERLONG, "a character in an overlong encoding")                                         \
	X(ABOVE, "traversal above root")                                                           \
	X(HIDDEN_DOTS, "dot segment beside an encoded slash")                                      \
	X(LONG, "path too long")

enum sbx_target_kind {
#define X(name, text) SBX_TARGET_##name,
	SBX_TARGET_KINDS(X)
#undef X
		SBX_TARGET_KIND_COUNT
};
const char *sbx_target_kind_text(enum sbx_target_kind);

#define SBX_TARGET_SLASHES 0x1u /* "%2F" may stand in a segment; it stays as it is */

struct sbx_target {
	size_t len;			    /* of path */
	char path[SBX_TARGET_PATH_MAX + 1]; /* begins with '/'; NUL-terminated */
	bool is_star;			    /* "*", which asks of the server itself: path is "*" */
	bool is_url;			    /* scheme and host were given: `host`, else empty */
	bool is_https;
	bool has_query;
	/* Parts of the text that was read, borrowed: "name:port", and what follows the first '?'.
	 * The query goes on as it came; sbx_query_next() reads it. */
	const char *host;
	size_t host_len;
	const char *query;
	size_t query_len;
};

/* "/path?query", "*", "http://host:port/path?query", or nothing, which is "/". Whatever is not OK
 * is to be refused, and *out is of no use. */
enum sbx_target_kind sbx_target_read(const char *text, size_t len, unsigned flags,
				     struct sbx_target *out);

/* Does the character stand for itself in a path that was read? Others are escaped there, or cut
 * off (';'). */
bool sbx_target_is_plain(unsigned char);

/* One key of a query and its value, both unescaped. */
struct sbx_query_pair {
	const char *key, *value; /* in the caller's buffer; not NUL-terminated */
	size_t key_len, value_len;
};

enum sbx_query_said { SBX_QUERY_END, SBX_QUERY_PAIR, SBX_QUERY_BAD };

/*
 * The pair at *at, and *at behind it; begin with 0. `room` has query_len bytes at least, and is
 * written anew by each call. '+' is a space; a key without '=' has an empty value; empty parts
 * between two '&' are none. BAD: a wrong escape, a null byte, what is no UTF-8 when it is
 * unescaped, or a ';', which some servers take for '&'.
 */
enum sbx_query_said sbx_query_next(const char *query, size_t len, size_t *at, char *room,
				   struct sbx_query_pair *out);
