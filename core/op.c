#include "core/op.h"

const char *sbx_op_name(enum sbx_op op)
{
	static const char *const names[SBX_OP_COUNT] = {
		[SBX_READ] = "read",
		[SBX_MODIFY] = "modify",
		[SBX_EXEC] = "exec",
		[SBX_CONNECT] = "connect",
	};

	return (unsigned)op < SBX_OP_COUNT ? names[op] : "?";
}
