/* names.h - what the wrapper of syscall() needs of message queues. */
#pragma once

#include <sys/types.h>

/* mq_open(2), mq_unlink(2): the library has taken the slash off the name. Result and errno are those
 * of syscall(2). */
long shim_mq_by_number(long number, const char *name, int flags, mode_t mode, const void *attr);
