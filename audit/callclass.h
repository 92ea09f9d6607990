/*
 * callclass.h - which calls are one kind of change, whatever the C library or the kernel calls
 * them: fopen(3) makes an openat(2), remove(3) an unlinkat(2). Private to the audit module.
 */
#pragma once

#include <stdbool.h>

/* May a program's call of the one name be the kernel's call of the other? A call that is in no
 * class is like itself alone. */
bool aud_call_is_alike(unsigned call, unsigned other);
