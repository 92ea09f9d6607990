/* fixed.h - what srt and caliban have without a word in the document: their front-ends add it, and
 * the conversion to them leaves it out. */
#pragma once

#include <stdbool.h>

struct pol_text;
struct pol_texts;

/* Readable in caliban; NULL-terminated. */
extern const char *const pol_caliban_readable[];
/* Writable in srt; NULL-terminated. */
extern const char *const pol_srt_writable[];
/* Not writable in srt, in the workspace and below; `allowGitConfig` takes the last out. */
enum { POL_SRT_DENIED = 15, POL_SRT_GIT_CONFIG = POL_SRT_DENIED - 1 };
extern const char *const pol_srt_denied[POL_SRT_DENIED];

/* Could something of the list be the path, or lie below it? What may not be read in srt is not
 * modified either, unless that is so. */
bool pol_srt_may_hold(const struct pol_text *path, const struct pol_texts *list);
