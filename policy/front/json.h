/*
 * json.h - JSON text (RFC 8259) -> a tree of nodes with positions (yaml.h). Comments of both
 * kinds are passed over, as people write them into settings; a comma behind the last value is
 * refused. Hostile input: size, depth and the number of values are limited.
 */
#pragma once

#include <stddef.h>

#include "policy/front/yaml.h"

struct b_err;

/* `name` (borrowed as long as the arena) is how messages call the text. B_POLICY with
 * file:line:col: anything that is not JSON, a key twice, text behind the value. */
int pol_json_parse(struct b_arena *, const char *name, const char *text, size_t len,
		   struct pol_ynode **out, struct b_err *err);
