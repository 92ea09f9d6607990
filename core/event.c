/* SPDX-License-Identifier: Apache-2.0 */
/* event.c - names of event.h's enumerations: offsets into one block each, because an array of
 * pointers would cost the shim a relocation a name, at every start of a program. */
#include "core/event.h"

#include <stddef.h>
#include <stdint.h>

static const struct class_names {
#define X(name, text) char name[sizeof text];
	SBX_EXEC_CLASSES(X)
#undef X
} class_names = {
#define X(name, text) text,
	SBX_EXEC_CLASSES(X)
#undef X
};

const char *sbx_exec_class_name(enum sbx_exec_class c)
{
	static const unsigned char at[] = {
#define X(name, text) offsetof(struct class_names, name),
		SBX_EXEC_CLASSES(X)
#undef X
	};

	return (unsigned)c < SBX_EXEC_CLASS_COUNT ? (const char *)&class_names + at[c] : "?";
}

static const struct loss_names {
#define X(name, text) char name[sizeof text];
	SBX_LOSSES(X)
#undef X
} loss_names = {
#define X(name, text) text,
	SBX_LOSSES(X)
#undef X
};

const char *sbx_loss_name(unsigned loss)
{
	static const unsigned char at[] = {
#define X(name, text) offsetof(struct loss_names, name),
		SBX_LOSSES(X)
#undef X
	};

	return loss < SBX_LOSS_COUNT ? (const char *)&loss_names + at[loss] : "?";
}

/* Names of the calls that events mention. */

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
