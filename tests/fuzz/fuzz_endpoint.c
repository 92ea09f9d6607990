/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_endpoint - text as a host, a range and an entry of `connect`: what is taken has one normal
 * form, which is taken again and means the same.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/mem.h"
#include "policy/compile/endpoints.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_host(const char *text, size_t len)
{
	struct sbx_host h, again;
	char addr[SBX_ADDR_TEXT];

	sbx_host_parse(text, len, &h);
	if (h.kind == SBX_HOST_NAME &&
	    (sbx_host_parse(h.name, h.len, &again) != SBX_HOST_NAME || strcmp(h.name, again.name)))
		abort();
	if (h.kind != SBX_HOST_ADDRESS)
		return;
	if (sbx_host_parse(addr, sbx_addr_text(&h.addr, addr), &again) != SBX_HOST_ADDRESS ||
	    !sbx_addr_equal(&h.addr, &again.addr))
		abort();
	(void)sbx_addr_class(&h.addr);
}

static void check_entry(const char *text, int is_foreign)
{
	int (*const parse)(struct b_arena *, const char *, struct pol_endpoint *, struct b_err *) =
		is_foreign ? pol_endpoint_parse_foreign : pol_endpoint_parse;
	struct b_arena arena = {0};
	struct pol_endpoint e = {.allow = true}, again = {.allow = true};
	struct b_err err;

	if (parse(&arena, text, &e, &err) == 0 &&
	    (parse(&arena, e.matched, &again, &err) < 0 || strcmp(e.matched, again.matched) ||
	     e.shape != again.shape || e.low != again.low || e.high != again.high))
		abort();
	b_arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	check_host(text, size);
	for (int is_foreign = 0; is_foreign < 2; is_foreign++)
		check_entry(text, is_foreign);
	free(text);
	return 0;
}
