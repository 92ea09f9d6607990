/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stamp.h - a moment as the record writes it: "2026-11-27T23:24:01.000000000Z", in UTC.
 *
 *	char text[SBX_STAMP_SIZE];
 *	sbx_stamp(time_ns, text);
 *	ns = sbx_stamp_ns(text);		(0 when it is not such a text)
 *
 * Everything here is [AS-safe] [MT-safe] [no-alloc].
 */
#pragma once

#include <stdint.h>

enum { SBX_STAMP_SIZE = sizeof "0000-00-00T00:00:00.000000000Z" };

/* Nanoseconds since 1970 as a text. 2^64 of them end in the year 2554: four digits suffice. */
void sbx_stamp(uint64_t time_ns, char out[SBX_STAMP_SIZE]);
/* The other way, for years from 1700 to 2199. A text with fewer digits of a second, or none, is
 * read as well. */
int64_t sbx_stamp_ns(const char *text);
