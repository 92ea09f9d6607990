/* SPDX-License-Identifier: Apache-2.0 */
/* sys.h - system calls of this system in one spelling: results are the kernel's, -errno on
 * failure; errno is never touched. */
#pragma once

#ifdef __APPLE__
#include "shim/sys_macos.h"
#else
#include "shim/sys_linux.h"
#endif
