/* op.c - see op.h. */
#include "core/op.h"

/* By value, as a pointer each would be a relocation in the shim. */
const char *sbx_op_name(enum sbx_op op)
{
	static const char names[SBX_OP_COUNT][8] = {
		[SBX_READ] = "read",
		[SBX_MODIFY] = "modify",
		[SBX_EXEC] = "exec",
		[SBX_CONNECT] = "connect",
	};

	return (unsigned)op < SBX_OP_COUNT ? names[op] : "?";
}
