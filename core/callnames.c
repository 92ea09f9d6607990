/* callnames.c - names of the calls that events mention. */
#include "core/callnames.h"

#include "core/event.h"

const char *sbx_call_name(unsigned call)
{
	static const char *const names[] = {
#define X(name) [SBX_CALL_##name] = #name,
		SBX_CALL_NAMES(X)
#undef X
	};

	return call < SBX_CALL_COUNT ? names[call] : "?";
}
