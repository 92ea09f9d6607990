/* op.h - the operations a rule speaks of (DESIGN §3). The order is part of the image format. */
#pragma once

enum sbx_op {
	SBX_READ,    /* open for reading, list a directory, read xattrs */
	SBX_MODIFY,  /* open for writing, create, remove, rename (both ends), metadata, bind */
	SBX_EXEC,    /* execve */
	SBX_CONNECT, /* connect to a socket path */
	SBX_OP_COUNT
};

/* "read", "modify", "exec", "connect": static strings. [AS-safe] */
const char *sbx_op_name(enum sbx_op op);
