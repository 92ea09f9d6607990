/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_image - a sound image with bytes changed: the reader refuses it or stays in bounds.
 *
 * The input is one byte of flags (1: put the checksum right, so that the check of tables is
 * reached; 2: write into the header only) and then writes, five bytes each: place and value.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/decide.h"
#include "tests/support/engine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use(const struct sbx_image *img)
{
	static const char *const paths[] = {"/", "/ws/a/b.env", "/usr/lib/x", "/ws/keys/\303\251"};
	struct sbx_verdict v;

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		for (int op = 0; op < SBX_OP_COUNT; op++) {
			size_t len = strlen(paths[i]);

			sbx_explain(img, (enum sbx_op)op, paths[i], len, &v);
			if (strlen(v.origin) == 0 || strlen(v.matched) > img->size)
				abort();
			sbx_subtree(img, (enum sbx_op)op, paths[i], len);
		}
	sbx_move_allowed(img, "/ws/a", 5, "/ws/b", 5, true, NULL);
	engine_ask_endpoints(img);
}

static const struct engine *sound(void)
{
	static struct engine e;
	static const char *const rules[] = {"+ /usr/",	   "+ /ws **",	      "- /ws **/*.env",
					    "- /ws/keys/", "- /ws **/?b*/**", "- /ws src/*/x.c"};
	static const char *const endpoints[] = {
		"+ **.example.org:443", "+ *.example.org",	  "- a.example.org:1-80",
		"+ 10.0.0.0/12:443",	"+ a*.b.example.org:443", "+ x.internal by usr/bin/*",
		"- 2001:db8::/33",
	};

	if (e.data)
		return &e;
	engine_init(&e);
	for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
		engine_endpoint(&e, endpoints[i]);
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		engine_rule(&e, rules[i]);
		if (i % 2)
			engine_rule_for(&e, SBX_MODIFY, rules[i]);
	}
	engine_compile(&e);
	return &e;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct engine *e = sound();
	unsigned char *copy = malloc(e->size);
	struct sbx_image_header *h = (void *)copy;
	struct sbx_image img;

	memcpy(copy, e->data, e->size);
	for (size_t i = 1; i + 5 <= size; i += 5) {
		uint32_t at;

		memcpy(&at, data + i, sizeof at);
		copy[at % (data[0] & 2 ? sizeof *h : e->size)] = data[i + 4];
	}
	if (size > 0 && data[0] & 1)
		h->checksum = sbx_image_checksum(copy, e->size);
	for (int whole = 0; whole < 2; whole++)
		if (sbx_image_open(&img, copy, e->size, whole) == SBX_IMAGE_OK)
			use(&img);
	free(copy);
	return 0;
}
