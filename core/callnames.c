/* callnames.c - names of the calls that events mention. */
#include "core/callnames.h"

#include <stddef.h>
#include <stdint.h>

#include "core/event.h"

/* Offsets into one block: an array of pointers would cost the shim a relocation each, at every
 * start of a program. */
struct names {
#define X(name) char name_##name[sizeof #name];
	SBX_CALL_NAMES(X)
#undef X
};
static const struct names names = {
#define X(name) #name,
	SBX_CALL_NAMES(X)
#undef X
};
static const uint16_t name_at[] = {
#define X(name) offsetof(struct names, name_##name),
	SBX_CALL_NAMES(X)
#undef X
};

const char *sbx_call_name(unsigned call)
{
	return call < SBX_CALL_COUNT ? (const char *)&names + name_at[call] : "?";
}
