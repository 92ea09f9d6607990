/* SPDX-License-Identifier: Apache-2.0 */
/* connect_priv.h - what connect.c and connect_ask.c share: a question as a path (image.h), and what
 * one layer of rules says of it. */
#pragma once

#include "core/connect.h"

/* "/:01bb", "/n", and of each of at most 127 labels the slash beside the letters; or 32 digits with
 * slashes. */
#define PATH_SIZE   (SBX_HOST_MAX + 16)
#define PORT_PREFIX 6

/* A question: the path of a host with the port in front. */
struct asked {
	const struct sbx_image *img;
	uint16_t port;
	const struct sbx_programs *programs; /* NULL: none */
	uint32_t lost; /* by sbx_net_last(): a later rule that allows, but for a program that was
			  replaced; 0 = none */
	size_t len;    /* with the port */
	bool is_name;
	char path[PATH_SIZE];
};

/* A question at this port. */
void sbx_net_begin(struct asked *q, const struct sbx_image *img, uint16_t port,
		   const struct sbx_programs *programs);
/* Puts a name behind the port. False: it is not a name. */
bool sbx_net_ask_name(struct asked *q, const char *name, size_t len);
/* The last rule of the layer that matches: its place in `facts`, counted from 1; 0 = none. */
uint32_t sbx_net_last(struct asked *q, const struct sbx_image_net_layer *l);
/* Does the rule, counted from 0, allow? */
bool sbx_net_allows(const struct sbx_image *img, uint32_t rule);
/* Fills *out and returns whether it is allowed; `last` counts from 1. */
bool sbx_net_answer(const struct sbx_image *img, struct sbx_connect_answer *out, bool allowed,
		    uint32_t last, enum sbx_connect_why why);
/* Of the layers that allow, the main one is named. */
void sbx_net_name_layer(uint32_t last, const struct sbx_image_net_layer *l, uint32_t *named);
/* The layer refuses. A layer that is only watched records this in *would and lets it pass, unless
 * `a` (NULL: a name) is of a class that is never open. */
bool sbx_net_watched(const struct sbx_image *img, const struct sbx_image_net_layer *l,
		     const struct sbx_addr *a, struct sbx_connect_answer *refused,
		     struct sbx_connect_answer *would);
/* All layers allow, or are watched. */
bool sbx_net_finish(const struct sbx_image *img, struct sbx_connect_answer *out, uint32_t named,
		    const struct sbx_connect_answer *would);
/* The properties of the rule besides its text. */
const struct sbx_image_net_rule *sbx_net_facts(const struct sbx_image *img, uint32_t rule);
/* Sets another port. The host must follow, or be there already. */
void sbx_net_put_port(struct asked *q, uint16_t port);
