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

void aud_judge(const struct sbx_image *, const struct sbx_event *, const char *path,
	       const char *path2, struct aud_verdict *out);
