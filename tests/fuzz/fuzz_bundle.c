/* SPDX-License-Identifier: Apache-2.0 */
/* A bundle that anybody may have written: the file, and the signed part of it. What is read of
 * either is what is written again, and keeps to the bounds that --require-bundle builds on. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "base/str.h"
#include "bundle/payload.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void expect(bool ok)
{
	if (!ok)
		abort();
}

static void check_payload(const void *bytes, size_t n)
{
	b_auto(bun_payload_release) struct bun_payload p = {0}, again = {0};
	b_auto(b_str_release) struct b_str out = {0}, twice = {0};
	struct b_err err;

	if (bun_payload_read(bytes, n, &p, &err) < 0)
		return;
	expect(p.version >= 1 && p.n >= 1 && p.n <= BUN_POLICIES_MAX && bun_name_valid(p.name));
	for (size_t i = 0; i < p.n; i++)
		expect(bun_name_valid(p.policies[i].name) &&
		       strlen(p.policies[i].text) == p.policies[i].len);
	bun_payload_write(&p, &out);
	expect(bun_payload_read(out.s, out.len, &again, &err) == 0);
	bun_payload_write(&again, &twice);
	expect(strcmp(out.s, twice.s) == 0 && p.expires == again.expires);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	b_auto(b_str_release) struct b_str text = {0}, payload = {0}, out = {0}, same = {0};
	unsigned char signature[BUN_SIGNATURE], again[BUN_SIGNATURE];
	struct b_err err;

	b_str_addn(&text, data, size);
	if (bun_file_read(&text, &payload, signature, &err) == 0) {
		check_payload(payload.s, payload.len);
		bun_file_write(&payload, signature, &out);
		expect(bun_file_read(&out, &same, again, &err) == 0);
		expect(memcmp(signature, again, sizeof again) == 0 && same.len == payload.len &&
		       memcmp(same.s, payload.s, same.len) == 0);
	}
	check_payload(data, size);
	return 0;
}
