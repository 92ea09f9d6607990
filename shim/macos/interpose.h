/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpose.h - pairs for dyld: from every image of the process but this one, calls of `name` go
 * to our function. In here `name` is the original.
 */
#pragma once

#include <stdint.h>

#define SHIM_INTERPOSE(ours, name)                                                                 \
	__attribute__((used, section("__DATA,__interpose"))) static const struct {                 \
		const void *replacement, *original;                                                \
	} shim_pair_##name = {(const void *)(uintptr_t) & (ours),                                  \
			      (const void *)(uintptr_t) & (name)}
