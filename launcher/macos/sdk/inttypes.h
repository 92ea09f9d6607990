/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"
#define PRIuMAX "lu"
