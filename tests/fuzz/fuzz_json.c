/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of srt: tests/fuzz/foreign.h. */
#include "tests/fuzz/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	return fuzz_foreign(POL_DIALECT_srt, data, n);
}
