/* schema.h - docs/schema/policy.schema.json, compiled in: JSON Schema (2020-12) of a document. */
#pragma once

extern const char pol_schema[];
