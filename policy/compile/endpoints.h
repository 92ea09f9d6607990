/* SPDX-License-Identifier: Apache-2.0 */
/*
 * endpoints.h - rules on endpoints of the network: names or addresses, ports, programs. One
 * ordered list; within a layer the last rule that matches wins. Beside the rules on paths in a
 * ruleset; core/connect.h walks what is compiled here.
 *
 *	struct pol_endpoint e = {.allow = true, .tier = POL_TIER_PROFILE, .origin = "p.yaml:7:9"};
 *
 *	if (pol_endpoint_parse(&rs->arena, "*.example.net:443", &e, &why, &err) < 0) ...
 *	pol_endpoints_add(rs, &e);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/connect.h"

struct b_arena;
struct b_err;
struct b_sha256;
struct b_str;
struct pol_http_rules;
struct pol_past;
struct pol_ruleset;
struct pol_writer;

enum pol_host_shape {
	POL_HOST_NAME,	/* api.example.net */
	POL_HOST_ONE,	/* *.example.net: one label in front */
	POL_HOST_DEEP,	/* **.example.net: one or more */
	POL_HOST_GLOB,	/* other wildcards, in labels or as labels; only from other languages */
	POL_HOST_RANGE, /* addresses */
	POL_HOST_NAMES, /* any name; of dialects alone */
	POL_HOST_ALL	/* any name and any address; only from other languages */
};

/* A program of a rule's `by`: a file, or a pattern of paths (glob language of ruleset.h). */
struct pol_program {
	const char *text;  /* as events show it: canonical where it is a path */
	const char *glob;  /* pattern below the root, NULL = a file */
	uint64_t dev, ino; /* of the file; 0 = there is none, and no program meets the rule */
};

struct pol_programs {
	const struct pol_program *v;
	size_t n; /* 0 = all programs */
};

struct pol_endpoint {
	bool allow;
	uint8_t layer;
	uint8_t tier; /* enum pol_tier (ruleset.h) */
	bool is_shut; /* opens no address of a class that is never open */
	enum pol_host_shape shape;
	const char *host;      /* normal form; of ONE and DEEP what is behind the wildcard */
	struct sbx_cidr range; /* RANGE */
	uint16_t low, high;    /* ports; 0 and 65535 = any */
	struct pol_programs by;
	/* Not NULL: what a name resolves to must lie in one of these. */
	const struct sbx_cidr *places;
	size_t nplaces;
	/* Not NULL: requests are inspected, and these rules decide them. */
	const struct pol_http_rules *requests;
	const char *matched, *origin; /* as in struct pol_rule */
};

#define POL_ANY_PORT(e) ((e)->low == 0 && (e)->high == 65535)

struct pol_endpoints {
	struct pol_endpoint *v; /* by layer, as the lists of a ruleset */
	size_t n, cap;
	/* The documents that must all allow: their numbers, and whether one leaves the network
	 * open. Layers that rules are of must be here. */
	struct {
		uint8_t number;
		bool is_open;
		bool is_watched; /* what it denies is recorded, and passes */
	} layer[SBX_LAYERS_MAX];
	size_t nlayers;
	const struct sbx_cidr *trusted; /* as good as public */
	size_t ntrusted;
};

/*
 * Reads "HOST", "HOST:PORT", "HOST:PORT-PORT", "[ADDRESS]:PORT", "RANGE", "RANGE:PORT" into shape,
 * host, range, low, high and matched (the normal form). -1: B_POLICY without a place in front,
 * words that say what is wrong and what is expected.
 */
int pol_endpoint_parse(struct b_arena *, const char *text, struct pol_endpoint *out,
		       struct b_err *err);
/* The same in a dialect: `*` is every name and address, wildcards may stand anywhere in a name. */
int pol_endpoint_parse_foreign(struct b_arena *, const char *text, struct pol_endpoint *out,
			       struct b_err *err);
/* Parses the "HOST:PORT" of a question. 0 with *out_host of kind NAME or ADDRESS, or -1 with
 * B_USAGE. */
int pol_endpoint_question(const char *text, struct sbx_host *out_host, uint16_t *out_port,
			  struct b_err *err);
/* Whether an entry of `connect` is the path of a socket, not an endpoint. */
bool pol_is_socket_path(const char *text);
/* The normal form of host and ports, as `matched`. Appends. */
void pol_endpoint_text(const struct pol_endpoint *, struct b_str *out);
/* One pattern of programs: *is_glob set where the text has wildcards. */
bool pol_program_is_glob(const char *text);

/* Appends; strings, programs and places are copied. */
void pol_endpoints_add(struct pol_ruleset *, const struct pol_endpoint *);
/* Makes the layer known, once. */
void pol_endpoints_layer(struct pol_ruleset *, uint8_t number, bool is_open);
/* Marks a known layer as only watched. */
void pol_endpoints_watch(struct pol_ruleset *, uint8_t number);

/* ---- naive judgement, for explanations and tests ---- */

struct pol_who {
	const struct sbx_exe *v; /* the caller, then its ancestors */
	size_t n;
};
/* Does the rule match a name (NULL: an address)? */
bool pol_endpoint_matches(const struct pol_endpoint *, const char *name,
			  const struct sbx_addr *addr, uint16_t port, const struct pol_who *);
/* Index of the last rule of the layer that matches, or -1. */
int pol_endpoints_last(const struct pol_endpoints *, uint8_t layer, const char *name,
		       const struct sbx_addr *addr, uint16_t port, const struct pol_who *);

/* ---- for policy/compile/ ---- */

/* All that the image needs to know, for the key of a cache. */
void pol_endpoints_hash(struct b_sha256 *, const struct pol_endpoints *);
/* network.c: the section `net` of an image. Programs have the bits that `past` says. */
int pol_write_net(struct pol_writer *, const struct pol_endpoints *, const struct pol_past *past,
		  struct sbx_image_net *out, struct b_err *err);
