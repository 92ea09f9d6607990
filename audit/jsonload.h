/*
 * jsonload.h - JSON that was written by others: numbers of any size are read.
 *
 * jansson refuses a text whose integers exceed 64 bits. A number out of range is a lie or a
 * fault, and no reason to show nothing of a run: such a text is read again with reals.
 */
#pragma once

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

/* NULL with *out_why when it is no JSON. */
json_t *aud_json_load(const char *s, size_t len, json_error_t *out_why);
/* A number as the integer next to it within int64_t; `fallback` when it is none. NULL will do. */
int64_t aud_json_int(const json_t *, int64_t fallback);
