/* foreground.h - which process group may read from the terminal. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* From one group of our session to another: false when `from` does not have it (0 = whoever has),
 * or there is no terminal. [AS-safe] */
bool lau_foreground_give(pid_t from, pid_t to);
