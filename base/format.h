/* SPDX-License-Identifier: Apache-2.0 */
/* format.h - vsnprintf(3) for the few conversions that the launch path uses, several times as
 * fast; all others are vsnprintf's own. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* As vsnprintf(3), to the byte. %s, %.*s, %c, %d, %u, %lu, %zu and %% are done here. */
int b_vformat(char *out, size_t room, const char *fmt, va_list ap)
	__attribute__((format(printf, 3, 0)));
