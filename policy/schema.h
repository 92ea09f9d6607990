/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - docs/schema, compiled in: JSON Schema of what is read and written. */
#pragma once

#include <stddef.h>

struct pol_schema {
	const char *name; /* of the file, without .schema.json: "policy", "run" ... */
	const char *text;
};
extern const struct pol_schema pol_schemas[];
extern const size_t pol_nschemas;
