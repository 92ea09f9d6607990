/* SPDX-License-Identifier: Apache-2.0 */
/* image.h - a policy and a ring for unit tests of the shim: everything is allowed but what
 * lies at or below `denied`. */
#pragma once

#include <criterion/criterion.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "core/ring.h"
#include "policy/compile/ruleset.h"
#include "shim/proc.h"

enum { TEST_RING = 64 << 10 };

static struct sbx_ring_reader test_reader;
static void *test_image;

static inline void test_policy(const char *denied, const char *alias_from, const char *alias_to,
			       enum sbx_audit_level level)
{
	struct pol_ruleset rs;
	struct pol_rule all = {
		.allow = true, .shape = POL_TREE, .base = "", .matched = "/", .origin = "t:1"};
	struct pol_rule no = {.shape = POL_TREE,
			      .base = denied,
			      .base_len = strlen(denied),
			      .matched = denied,
			      .origin = "t:2"};
	struct pol_alias alias = {alias_from, alias_to};
	struct pol_compile_opts opts = {.aliases = &alias, .naliases = alias_from ? 1 : 0};
	struct b_err err = {0};
	enum sbx_op op;
	size_t size;

	free(test_image);
	free(shim.ring);
	pol_ruleset_init(&rs);
	rs.profile = "test";
	for (op = 0; op < SBX_OP_COUNT; op++) {
		pol_ruleset_add(&rs, op, &all);
		pol_ruleset_add(&rs, op, &no);
	}
	cr_assert_eq(pol_compile(&rs, &opts, &test_image, &size, &err), 0, "%s", err.msg);
	cr_assert_eq(sbx_image_open(&shim.image, test_image, size, true), SBX_IMAGE_OK);
	pol_ruleset_release(&rs);
	shim.ring = aligned_alloc(64, sbx_ring_bytes(TEST_RING));
	memset(shim.ring, 0, sbx_ring_bytes(TEST_RING));
	sbx_ring_init(shim.ring, TEST_RING, level);
	cr_assert(sbx_ring_check(shim.ring, sbx_ring_bytes(TEST_RING), &shim.ring_size));
	sbx_ring_reader_init(&test_reader, shim.ring, TEST_RING);
	shim.level = level;
	if (alias_from) {
		unsigned char c = (unsigned char)alias_from[1];

		shim.alias_first[c / 32] |= 1u << c % 32;
	}
	atomic_store(&shim.is_ready, true);
}

/* Next event; false = none. */
static inline bool test_event(struct sbx_event *ev, const char **path, const char **path2)
{
	static _Alignas(8) unsigned char buf[SBX_RING_FRAME_MAX];

	return sbx_ring_read(&test_reader, buf, 1, false, ev, path, path2) == 1;
}
