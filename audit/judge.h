/* judge.h - what the policy says of an event, whatever the event says of itself. Pure. Private
 * to the audit module. */
#pragma once

#include <stdbool.h>

#include "core/decide.h"
#include "core/event.h"

struct aud_verdict {
	bool allowed;
	bool disagrees; /* the event claims otherwise, and can be checked */
	bool second;	/* the verdict is that of the second path */
	const char *matched, *origin;
};

/* Steps of the automata until the next drain, for naming what objects below a move: a hostile
 * program may ask for that with every record. When they are used up the rule at the ends is named.
 */
#define AUD_STEPS 1000000u
void aud_judge(const struct sbx_image *, const struct sbx_event *, const char *path,
	       const char *path2, unsigned *steps, struct aud_verdict *out);
