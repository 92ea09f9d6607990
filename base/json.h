/* SPDX-License-Identifier: Apache-2.0 */
/* json.h - a JSON writer: streaming, straight into a b_str. Reading is jansson's.
 *
 *	struct b_json j = { .out = &s };
 *	b_json_open(&j, '{');
 *	b_json_key(&j, "op"); b_json_str(&j, "read");
 *	b_json_close(&j, '}');
 *
 * Strings are bytes; what is not clean UTF-8 is written with U+FFFD for each
 * offending byte (b_json_bytes() adds the exact twin). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct b_str;

struct b_json {
	struct b_str *out;
	bool need_comma;
};

void b_json_open(struct b_json *, char bracket);  /* '{' or '[' */
void b_json_close(struct b_json *, char bracket); /* '}' or ']' */
void b_json_key(struct b_json *, const char *key);
/* The same of a literal that needs no escape, without a look at it. */
#define B_JSON_NAME(j, literal) b_json_name((j), "\"" literal "\":", sizeof(literal) + 2)
void b_json_name(struct b_json *, const char *text, size_t n);
void b_json_str(struct b_json *, const char *s);
void b_json_strn(struct b_json *, const void *p, size_t n);
void b_json_u64(struct b_json *, uint64_t v);
void b_json_i64(struct b_json *, int64_t v);
void b_json_bool(struct b_json *, bool v);
void b_json_null(struct b_json *);
/* Key and value; invalid UTF-8: `key` gets \xNN-escaped text and `key_b64` the exact bytes. */
void b_json_bytes(struct b_json *, const char *key, const void *p, size_t n);
