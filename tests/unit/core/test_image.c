/* SPDX-License-Identifier: Apache-2.0 */
/* Unit tests of core/image.c: what is damaged is found, or at least does no harm. */
#include "core/image.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "core/decide.h"
#include "policy/compile/ruleset.h"
#include "tests/support/engine.h"

#define MUTATIONS 25000

static struct engine e;
static struct sbx_image_header *hdr; /* of e.data, for writing */

static void setup(void)
{
	static const char *const rules[] = {"+ /usr/",		"+ /ws **",	  "- /ws **/*.env",
					    "- /ws **/keys/**", "- /ws a/?b*/c",  "- /ws/exact",
					    "+ /ws **/ok/x*",	"- /ws src/*/x.c"};

	static const char *const endpoints[] = {
		"+ **.example.org:443", "+ *.example.org",	  "- a.example.org:1-80",
		"+ 10.0.0.0/12:443",	"+ a*.b.example.org:443", "+ x.internal by usr/bin/*",
		"- 2001:db8::/33",
	};

	engine_init(&e);
	for (size_t i = 0; i < sizeof endpoints / sizeof *endpoints; i++)
		engine_endpoint(&e, endpoints[i]);
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		engine_rule(&e, rules[i]);
		if (i % 2)
			engine_rule_for(&e, SBX_MODIFY, rules[i]);
	}
	engine_compile(&e);
	hdr = e.data;
}

static void teardown(void)
{
	engine_release(&e);
}

TestSuite(core_image, .init = setup, .fini = teardown);

static enum sbx_image_status open_it(bool whole)
{
	struct sbx_image img;

	return sbx_image_open(&img, e.data, e.size, whole);
}

Test(core_image, a_fresh_image_is_fine)
{
	cr_expect_eq(open_it(true), SBX_IMAGE_OK);
	cr_expect_eq(open_it(false), SBX_IMAGE_OK);
}

Test(core_image, headers_that_lie_are_refused)
{
	struct sbx_image img;

	cr_expect_eq(sbx_image_open(&img, e.data, sizeof *hdr - 1, false), SBX_IMAGE_SHORT);
	cr_expect_eq(sbx_image_open(&img, e.data, e.size - 8, false), SBX_IMAGE_SHORT);
	hdr->version++;
	cr_expect_eq(open_it(false), SBX_IMAGE_BAD_VERSION);
	hdr->version--;
	hdr->magic++;
	cr_expect_eq(open_it(false), SBX_IMAGE_BAD_MAGIC);
}

/* One field at a time, with values just too large and far too large. */
Test(core_image, sections_that_lead_outside_are_refused)
{
	struct sbx_dfa *d = &hdr->op[SBX_READ].verdict;
	uint32_t *const fields[] = {&d->start,
				    &d->nstates,
				    &d->nsettled,
				    &d->nclasses,
				    &d->shift,
				    &d->width,
				    &d->scaled,
				    &d->classes,
				    &d->table,
				    &d->flags,
				    &hdr->rules,
				    &hdr->nrules,
				    &hdr->aliases,
				    &hdr->naliases,
				    &hdr->profile.off,
				    &hdr->profile.len,
				    &hdr->op[SBX_READ].layer[0].groups,
				    &hdr->op[SBX_READ].layer[0].literals,
				    &hdr->op[SBX_READ].layer[0].nliterals,
				    &hdr->op[SBX_READ].layer[0].ngroups,
				    &hdr->op[SBX_MODIFY].nrules,
				    &hdr->net.first_rule,
				    &hdr->net.nrules,
				    &hdr->net.facts,
				    &hdr->net.parts,
				    &hdr->net.nparts,
				    &hdr->net.programs,
				    &hdr->net.nprograms,
				    &hdr->net.bys,
				    &hdr->net.nbys,
				    &hdr->net.places,
				    &hdr->net.nplaces,
				    &hdr->net.trusted,
				    &hdr->net.ports,
				    &hdr->net.nports,
				    &hdr->net.nlayers,
				    &hdr->net.layer[0].first_part,
				    &hdr->net.layer[0].nparts};

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		uint32_t old = *fields[i];

		*fields[i] = UINT32_MAX;
		cr_expect_eq(open_it(false), SBX_IMAGE_BAD_BOUNDS, "field %zu", i);
		*fields[i] = (uint32_t)e.size + 8;
		cr_expect_eq(open_it(false), SBX_IMAGE_BAD_BOUNDS, "field %zu", i);
		*fields[i] = old;
	}
	cr_expect_eq(open_it(false), SBX_IMAGE_OK);
}

Test(core_image, a_changed_byte_breaks_the_checksum)
{
	unsigned char *p = e.data;
	int bad_sums = 0;
	struct draw d;

	draw_seed(&d, 21);
	for (int i = 0; i < 200; i++) {
		size_t at = sizeof *hdr + draw(&d, (unsigned)(e.size - sizeof *hdr));
		unsigned char old = p[at];

		p[at] ^= (unsigned char)(1 + draw(&d, 255));
		/* What describes a group of rules is looked at before the checksum. */
		cr_expect_neq(open_it(true), SBX_IMAGE_OK, "byte %zu", at);
		bad_sums += open_it(true) == SBX_IMAGE_BAD_CHECKSUM;
		p[at] = old;
	}
	cr_expect_gt(bad_sums, 150);
}

Test(core_image, entries_that_lead_nowhere_are_found_with_a_right_checksum)
{
	struct sbx_dfa *d = &hdr->op[SBX_READ].verdict;
	uint16_t *table = (uint16_t *)(void *)((unsigned char *)e.data + d->table);

	cr_assert_eq(d->width, 2);
	table[1] = UINT16_MAX;
	hdr->checksum = sbx_image_checksum(e.data, e.size);
	cr_expect_eq(open_it(true), SBX_IMAGE_BAD_BOUNDS);
	cr_expect_eq(open_it(false), SBX_IMAGE_OK);
}

Test(core_image, texts_outside_are_empty)
{
	struct sbx_image_str s = {(uint32_t)e.size - 1, 100};

	cr_expect_str_eq(sbx_image_text(&e.image, s), "");
	s = (struct sbx_image_str){UINT32_MAX, UINT32_MAX};
	cr_expect_str_eq(sbx_image_text(&e.image, s), "");
}

Test(core_image, every_status_has_a_text)
{
	for (int i = SBX_IMAGE_OK; i <= SBX_IMAGE_BAD_CHECKSUM; i++)
		cr_expect_str_neq(sbx_image_status_text((enum sbx_image_status)i), "?");
	cr_expect_str_eq(sbx_image_status_text((enum sbx_image_status)99), "?");
}

/* Everything a process may ask of an image. */
static void use(const struct sbx_image *img)
{
	static const char *const paths[] = {"/", "/ws/a/\303\251b1/c", "/ws/x/keys/y",
					    "/usr/lib/\xf0\x9f\x98\x80", "/ws/src/long-name/x.c"};
	struct sbx_verdict v;

	for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
		for (int op = 0; op < SBX_OP_COUNT; op++) {
			size_t len = strlen(paths[i]);

			sbx_explain(img, (enum sbx_op)op, paths[i], len, &v);
			cr_assert(v.matched && v.origin && v.origin[0]);
			sbx_subtree(img, (enum sbx_op)op, paths[i], len);
		}
	sbx_move_allowed(img, "/ws/a", 5, "/ws/keys", 8, true, NULL);
	engine_ask_endpoints(img);
}

/* With AddressSanitizer (`make check-san`) this proves that the walker stays in bounds: the
 * copy ends where its allocation ends. */
static void mutate(unsigned seed, int n)
{
	unsigned char *copy = malloc(e.size);
	unsigned opened = 0;
	struct draw d;

	draw_seed(&d, seed);
	for (int i = 0; i < n; i++) {
		/* Mostly in the header, where it hurts. */
		unsigned range = draw(&d, 3) ? (unsigned)sizeof *hdr : (unsigned)e.size;
		struct sbx_image img;

		memcpy(copy, e.data, e.size);
		for (unsigned k = 1 + draw(&d, 4); k > 0; k--) {
			unsigned char *p = copy + draw(&d, range);

			*p = draw(&d, 2) ? (unsigned char)draw(&d, 256)
					 : (unsigned char)(*p + 1 - 2 * draw(&d, 2));
		}
		if (sbx_image_open(&img, copy, e.size, false) == SBX_IMAGE_OK) {
			opened++;
			use(&img);
		}
	}
	free(copy);
	cr_expect_gt(opened, (unsigned)n / 20, "%u", opened);
}

Test(core_image, mutations_do_no_harm_first_half)
{
	mutate(22, MUTATIONS / 2);
}

Test(core_image, mutations_do_no_harm_second_half)
{
	mutate(23, MUTATIONS / 2);
}
