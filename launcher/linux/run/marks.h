/* SPDX-License-Identifier: Apache-2.0 */
/* marks.h - when a run came how far, for tests/bench/steps alone: nothing, unless it is compiled
 * with -DSBX_MARKS. */
#pragma once

#ifdef SBX_MARKS
/* Ends a step of the start, which began at the last mark; `name` is a literal. */
void lau_mark(const char *name);
/* All of them as lines "NAME MICROSECONDS" on standard error. */
void lau_marks_print(void);
#else
static inline void lau_mark(const char *name)
{
	(void)name;
}
static inline void lau_marks_print(void)
{
}
#endif
