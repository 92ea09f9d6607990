/* SPDX-License-Identifier: Apache-2.0 */
/* Policies of OpenShell: tests/fuzz/foreign.h. */
#include "tests/fuzz/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	return fuzz_foreign(POL_DIALECT_openshell, data, n);
}
