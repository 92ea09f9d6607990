/* SPDX-License-Identifier: Apache-2.0 */
/* schema.h - the JSON Schema of a line of the log: docs/schema/fs-call-event.schema.json, made by
 * `sbx-audit schema`. Pure. */
#pragma once

struct b_str;

void aud_schema_json(struct b_str *out);
