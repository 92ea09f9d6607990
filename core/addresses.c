/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c - what an address is for: the classes of host.h. */
#include "core/host.h"

struct range {
	uint8_t b[16];
	uint8_t bits, class;
};

/* IANA's registries of special addresses, and the metadata services of clouds. The first range with
 * the address counts. */
static const struct range v4[] = {
	{{169, 254, 169, 254}, 32, SBX_ADDR_METADATA},
	{{169, 254, 170, 2}, 32, SBX_ADDR_METADATA},
	{{100, 100, 100, 200}, 32, SBX_ADDR_METADATA},
	{{192, 0, 0, 192}, 32, SBX_ADDR_METADATA},
	{{168, 63, 129, 16}, 32, SBX_ADDR_METADATA},
	{{0}, 8, SBX_ADDR_UNSPECIFIED},
	{{127}, 8, SBX_ADDR_LOOPBACK},
	{{169, 254}, 16, SBX_ADDR_LINK_LOCAL},
	{{224}, 4, SBX_ADDR_MULTICAST},
	{{240}, 4, SBX_ADDR_BROADCAST},
	{{10}, 8, SBX_ADDR_PRIVATE},
	{{172, 16}, 12, SBX_ADDR_PRIVATE},
	{{192, 168}, 16, SBX_ADDR_PRIVATE},
	{{100, 64}, 10, SBX_ADDR_SHARED},
	{{192, 0, 0}, 24, SBX_ADDR_SHARED},
	{{192, 0, 2}, 24, SBX_ADDR_TEST},
	{{198, 51, 100}, 24, SBX_ADDR_TEST},
	{{203, 0, 113}, 24, SBX_ADDR_TEST},
	{{198, 18}, 15, SBX_ADDR_TEST},
};

static const struct range v6[] = {
	{{0xfd, 0, 0x0e, 0xc2, [14] = 0x02, [15] = 0x54}, 128, SBX_ADDR_METADATA},
	{{[15] = 1}, 128, SBX_ADDR_LOOPBACK},
	{{0}, 128, SBX_ADDR_UNSPECIFIED},
	{{0xfe, 0x80}, 10, SBX_ADDR_LINK_LOCAL},
	{{0xff}, 8, SBX_ADDR_MULTICAST},
	{{0xfe, 0xc0}, 10, SBX_ADDR_PRIVATE},
	{{0xfc}, 7, SBX_ADDR_PRIVATE},
	{{0x20, 0x01, 0x0d, 0xb8}, 32, SBX_ADDR_TEST},
	{{0x3f, 0xff}, 20, SBX_ADDR_TEST},
};

static bool begins_with(const uint8_t *b, const uint8_t *prefix, unsigned bits)
{
	unsigned i = 0;

	for (; bits >= 8; bits -= 8, i++)
		if (b[i] != prefix[i])
			return false;
	return bits == 0 || (uint8_t)((b[i] ^ prefix[i]) >> (8 - bits)) == 0;
}

/* Where in an IPv6 address of this prefix the IPv4 address is. */
static const struct {
	uint8_t b[12];
	uint8_t bits, at, is_mapped, is_turned;
} embeddings[] = {
	{{[10] = 0xff, [11] = 0xff}, 96, 12, 1, 0},	      /* v4-mapped */
	{{0}, 96, 12, 0, 0},				      /* v4-compatible */
	{{[8] = 0xff, [9] = 0xff}, 96, 12, 0, 0},	      /* SIIT: ::ffff:0:a.b.c.d */
	{{0x00, 0x64, 0xff, 0x9b}, 96, 12, 0, 0},	      /* NAT64 */
	{{0x00, 0x64, 0xff, 0x9b, 0x00, 0x01}, 48, 12, 0, 0}, /* NAT64 of a network */
	{{0x20, 0x02}, 16, 2, 0, 0},			      /* 6to4 */
	{{0x20, 0x01, 0x00, 0x00}, 32, 12, 0, 1},	      /* Teredo: its bits are turned */
};

/* "::" and "::1" are addresses of their own, not 0.0.0.0 and 0.0.0.1. */
static bool is_own(const uint8_t *b)
{
	for (int i = 0; i < 15; i++)
		if (b[i])
			return false;
	return b[15] <= 1;
}

bool sbx_addr_inside(const struct sbx_addr *a, struct sbx_addr *out, bool *out_is_mapped)
{
	if (!a->is_v6 || is_own(a->b))
		return false;
	for (unsigned i = 0; i < sizeof embeddings / sizeof *embeddings; i++) {
		struct sbx_addr in = {0};

		if (!begins_with(a->b, embeddings[i].b, embeddings[i].bits))
			continue;
		for (int k = 0; k < 4; k++)
			in.b[k] = (uint8_t)(a->b[embeddings[i].at + k] ^
					    (embeddings[i].is_turned ? 0xff : 0));
		*out = in;
		*out_is_mapped = embeddings[i].is_mapped;
		return true;
	}
	return false;
}

/* A network may put the IPv4 address elsewhere in its own NAT64 prefix (RFC 6052, 2.2). The end is
 * then zero, and the address inside is not known. */
static bool is_elsewhere(const struct sbx_addr *a)
{
	static const uint8_t local_nat64[] = {0x00, 0x64, 0xff, 0x9b, 0x00, 0x01};

	return a->is_v6 && begins_with(a->b, local_nat64, 48) && !a->b[13] && !a->b[14] &&
	       !a->b[15];
}

static enum sbx_addr_class class_in(const struct range *v, unsigned n, const uint8_t *b)
{
	for (unsigned i = 0; i < n; i++)
		if (begins_with(b, v[i].b, v[i].bits))
			return (enum sbx_addr_class)v[i].class;
	return SBX_ADDR_PUBLIC;
}

enum sbx_addr_class sbx_addr_class(const struct sbx_addr *a)
{
	struct sbx_addr in;
	bool is_mapped;

	if (is_elsewhere(a))
		return SBX_ADDR_UNSPECIFIED;
	if (sbx_addr_inside(a, &in, &is_mapped))
		a = &in;
	return a->is_v6 ? class_in(v6, sizeof v6 / sizeof *v6, a->b)
			: class_in(v4, sizeof v4 / sizeof *v4, a->b);
}

const char *sbx_addr_class_name(enum sbx_addr_class class)
{
	static const char names[SBX_ADDR_CLASS_COUNT][12] = {
#define X(name, text) [SBX_ADDR_##name] = text,
		SBX_ADDR_CLASSES(X)
#undef X
	};

	return (unsigned)class < SBX_ADDR_CLASS_COUNT ? names[class] : "?";
}
