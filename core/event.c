/* event.c - names of event.h's enumerations. */
#include "core/event.h"

const char *sbx_exec_class_name(enum sbx_exec_class c)
{
	static const char *const names[] = {
#define X(name, text) [SBX_EXEC_##name] = text,
		SBX_EXEC_CLASSES(X)
#undef X
	};

	return (unsigned)c < SBX_EXEC_CLASS_COUNT ? names[c] : "?";
}

const char *sbx_loss_name(unsigned loss)
{
	static const char *const names[] = {
#define X(name, text) [SBX_LOSS_##name] = text,
		SBX_LOSSES(X)
#undef X
	};

	return loss < SBX_LOSS_COUNT ? names[loss] : "?";
}
