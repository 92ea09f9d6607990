/* fds.h - which descriptors a command inherits. */
#pragma once

#include <stddef.h>

/* Closes what is above 2, but for pipes and `keep`. In a child. [AS-safe] */
void lau_fds_close(const int *keep, size_t nkeep);
