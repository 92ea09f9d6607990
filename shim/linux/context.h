/* context.h - what the wrapper of syscall() needs of the wrappers it stands for. */
#pragma once

#include <stdint.h>

/* A filter of the program's own is about to be put in force: the last moment for system calls
 * the program would not make itself. */
void shim_filter_comes(void);
/* clone(2) with these flags is about to be made. */
void shim_clone_comes(uint64_t flags);
